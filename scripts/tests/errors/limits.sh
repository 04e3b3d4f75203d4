#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# timeout: 900
#
# Limits of QPs, CQs and SRQs can be reached, and not exceeded: limits.py.

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
python limits.py "$DEV_A"
none_left() { [ "$(rdma resource show "$1" link "$DEV_A" 2> /dev/null | grep -c ' pid ')" = 0 ]; }
for kind in qp cq pd; do
	wait_check 60 "no $kind is left behind" none_left $kind
done
finish
