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
wait_check 60 "nothing is left behind" no_objects "$DEV_A"
finish
