#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# timeout: 900
#
# Limits of QPs, CQs and SRQs can be reached, and not exceeded: limits.py. Nor can their queues be
# in memory that the process names: own-memory.py.

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
python limits.py "$DEV_A"
! ours || python own-memory.py "$DEV_A"
wait_check 60 "nothing is left behind" no_objects "$DEV_A"
finish
