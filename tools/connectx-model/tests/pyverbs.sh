#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rdma-core's own pyverbs tests. Every test is a line; a skip needs its reason
# in pyverbs-skips.txt, so that nothing falls away unseen; what roce_hca_mlx5 leaves
# out besides is in pyverbs-skips-ours.txt.
#
# usage: pyverbs.sh [--ours] [PATTERN...]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
cp "$here/pyverbs-skips.txt" "$work/skips"
if [ "${1-}" = --ours ]; then
	shift
	# shellcheck disable=SC2034 # for guest-lib.sh
	driver=roce_hca_mlx5
	cat "$here/pyverbs-skips-ours.txt" >> "$work/skips"
fi

provoked="too many outstanding CQEs"
check bring-up bring_up 10.7.0.1
mkdir "$work/tests"
cp /usr/share/doc/rdma-core/tests/* "$work/tests"
gunzip -f "$work"/tests/*.gz
cd "$work" || exit 1
PYTHONPATH=$work/tests:$work timeout $((RHCA_TIMEOUT - 60)) /usr/bin/python3 "$here/pyverbs-run.py" \
	"$work/skips" --dev "$rdma" --gid "$gid" -- "$@" || failed=1
finish
