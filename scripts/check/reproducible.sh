#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The same sources give the same packages, byte by byte: those of roce-hca, and roce-lab
# with its archive, are built in two clones of this commit, in folders with other names, at
# another hour and with another language, umask and file order.
#
# The lab's kernel comes from the cache for both, if it is there, as its build takes a quarter
# of an hour. With --kernel it is built for each anew, in a cache of its own.
#
# usage: scripts/check/reproducible.sh [--kernel] [--out DIR]

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
kernel=
out=build/reproducible
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=1 ;;
	--out) out=$2; shift ;;
	*) sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2 ;;
	esac
	shift
done
rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
# Others may commit here meanwhile.
commit=$(git -c 'safe.directory=*' rev-parse HEAD)

# build_in FOLDER: make a clone there, and build all packages in it
build_in() {
	[ -z "$kernel" ] || export ROCE_HCA_CACHE=$1/cache
	git -c 'safe.directory=*' clone -q . "$1/tree"
	git -C "$1/tree" checkout -q --detach "$commit"
	(
		cd "$1/tree" && make -s deb && make -s lab && make -s lab-deb
	) > "$1.log" 2>&1 || {
		tail -n 40 "$1.log"
		echo "FAIL  the build in $1"
		return 1
	}
}

# The files to distribute. Of those that dpkg-buildpackage leaves, .buildinfo and .changes
# describe the build itself.
packages() {
	(cd "$1/tree/build" && sha256sum deb/*.{deb,dsc,tar.xz} lab/*.{deb,tar.zst})
}

mkdir "$out/one"
(
	umask 022
	export TZ=UTC LC_ALL=C.UTF-8
	build_in "$out/one"
)
sleep 2		# archives store even seconds only
mkdir "$out/another-with-a-longer-name"
(
	umask 077
	export TZ=Pacific/Kiritimati LC_ALL=C
	build_in "$out/another-with-a-longer-name"
)
packages "$out/one" > "$out/one.sums"
packages "$out/another-with-a-longer-name" > "$out/another.sums"
failed=$(comm -3 <(sort "$out/one.sums") <(sort "$out/another.sums") | awk '{ print $2 }' | sort -u)
for file in $failed; do
	echo "FAIL  $file is not the same twice"
done
passed=$(comm -12 <(sort "$out/one.sums") <(sort "$out/another.sums") | wc -l)
echo "$passed passed, $(wc -w <<< "$failed") failed"
[ -z "$failed" ]
