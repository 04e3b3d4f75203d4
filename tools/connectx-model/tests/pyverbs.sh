#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rdma-core's own pyverbs tests. Every test is a line; a skip needs its reason
# in pyverbs-skips.txt, so that nothing falls away unseen.
#
# usage: pyverbs.sh [PATTERN...]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")

provoked="too many outstanding CQEs"
check bring-up bring_up 10.7.0.1
mkdir "$work/tests"
cp /usr/share/doc/rdma-core/tests/* "$work/tests"
gunzip -f "$work"/tests/*.gz
cd "$work" || exit 1
PYTHONPATH=$work/tests:$work timeout $((RHCA_TIMEOUT - 60)) /usr/bin/python3 "$here/pyverbs-run.py" \
	"$here/pyverbs-skips.txt" --dev "$rdma" --gid "$gid" -- "$@" || failed=1
finish
