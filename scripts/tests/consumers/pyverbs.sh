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
sed -i -f "$HERE/pyverbs-patience.sed" "$WORK"/tests/{utils,base}.py

index=$(gid_index "$DEV_A" v2 $IP4_A)
mac=$(in_a cat "/sys/class/net/$IF_A/address")
series=$(uname -r | cut -d. -f1,2)
IN=in_a LIMIT=1100 python pyverbs-run.py "$WORK/tests" "$DEV_A" "$index" $IP4_A "$mac" "$series" "$@"
finish
