#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: core
# spread: yes
# timeout: 1200
#
# rdma-core's pyverbs tests: all that pass on the in-tree software driver must pass here
# (pyverbs-required.txt), and a skip must be listed (pyverbs-skips.txt).
#
#   a (ra$$): the device under test, talking to itself

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
source=/usr/share/doc/rdma-core/tests
[ -d $source ] || die "no $source: install rdma-core with its documentation"
cp -r $source "$WORK/tests" && gunzip -f "$WORK"/tests/*.gz || die "cannot unpack $source"
# Their time limits are for bare metal: a completion in 10 s, a process that has reached its
# next step in 15 s, a test in 30 s.
sed -i 's/^POLL_CQ_TIMEOUT = 10\b/POLL_CQ_TIMEOUT = 60/' "$WORK/tests/utils.py"
sed -i 's/timeout=15)/timeout=120)/;s/repeat_times=150 /repeat_times=1200 /' "$WORK/tests/base.py"

index=$(gid_index "$DEV_A" v2 $IP4_A)
mac=$(in_a cat "/sys/class/net/$IF_A/address")
series=$(uname -r | cut -d. -f1,2)
IN=in_a LIMIT=1100 python pyverbs-run.py "$WORK/tests" "$DEV_A" "$index" $IP4_A "$mac" "$series" "$@"
finish
