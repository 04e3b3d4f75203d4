#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 600
#
# A completion queue overruns: its events, and the state of its QPs. See cq-overrun.py.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

setup_pair 1500
index_a=$(gid_index "$DEV_A" v2 $IP4_A) index_b=$(gid_index "$DEV_B" v2 $IP4_B)
LIMIT=500 python cq-overrun.py "$DEV_A" "$index_a" "$DEV_B" "$index_b"
finish
