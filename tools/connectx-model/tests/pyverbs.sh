#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rdma-core's own pyverbs tests. Every test is a line; a skip needs a reason in
# pyverbs-skips.txt, so that none is skipped unnoticed; additional skips for roce_hca_mlx5 are
# in pyverbs-skips-ours.txt. With --debian13 the tests, pyverbs and libmlx5 are those of Debian
# 13, in its folder (scripts/setup/setup-debian13.sh); additional skips of those tests are in
# pyverbs-skips-13.txt and pyverbs-skips-13-ours.txt.
#
# usage: pyverbs.sh [--debian13] [--ours] [PATTERN...]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
tree=$(realpath "$here/../../..")
root=/
drivers=('')
while [[ ${1-} == --* ]]; do
	case $1 in
	--debian13)
		root=$("$tree/scripts/setup/setup-debian13.sh" pyverbs path)
		[ -d "$root" ] || { echo "FAIL folder (none: run scripts/setup/setup.sh)"; exit 1; }
		;;
	--ours)
		# shellcheck disable=SC2034 # for guest-lib.sh
		driver=roce_hca_mlx5
		drivers+=(-ours)
		;;
	esac
	shift
done

# The folder has this machine's devices, and $work as its /mnt.
mount_into_folder() {
	local folder

	for folder in proc sys dev; do
		mount --rbind /$folder "$root/$folder" || return 1
	done
	mount --bind "$work" "$root/mnt"
}

provoked="too many outstanding CQEs"
check bring-up bring_up 10.7.0.1
cp -r "$root/usr/share/doc/rdma-core/tests" "$work/tests" || exit 1
gunzip -f "$work"/tests/*.gz
cp "$here/pyverbs-run.py" "$work"
versions=('')
! grep -q test_qp_ex_rc_flush "$work/tests/test_qpex.py" || versions+=(-13)
for version in "${versions[@]}"; do
	for list in "${drivers[@]}"; do
		cat "$here/pyverbs-skips$version$list.txt"
	done
done > "$work/skips"
folder=$work
if [ "$root" != / ]; then
	check folder mount_into_folder
	folder=/mnt
fi
# shellcheck disable=SC2016
timeout $((RHCA_TIMEOUT - 60)) chroot "$root" env "PYTHONPATH=$folder/tests:$folder" \
	sh -c 'cd "$1" && shift && exec "$@"' sh "$folder" \
	/usr/bin/python3 pyverbs-run.py skips --dev "$rdma" --gid "$gid" -- "$@" || failed=1
finish
