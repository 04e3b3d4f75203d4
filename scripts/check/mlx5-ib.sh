#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check that the patches for mlx5_ib (tools/mlx5_ib) apply, without fuzz, to the source of
# each kernel that is here, and pass checkpatch; that a build without the source fails and
# says what to install. Of a kernel only the files that they change are unpacked, once.
#
# usage: scripts/check/mlx5-ib.sh
set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
. scripts/setup/cache-lib.sh
tool=tools/mlx5_ib/source
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
skipped=0

. scripts/check/count-lib.sh

# changed PATCH...: existing files that they change
changed() {
	grep -hA1 '^--- a/' "$@" | sed -n 's,^+++ b/,,p' | sort -u |
		grep -vxF "$(grep -hA1 '^--- /dev/null' "$@" | sed -n 's,^+++ b/,,p')"
}

# unpack_changed TARBALL FOLDER FILE...: stops after the last of them
unpack_changed() {
	local tarball=$1 folder=$2 name

	shift 2
	[ ! -d "$folder" ] || return 0
	name=$(basename "$tarball")
	mkdir -p "${folder%/*}"
	rm -rf "$folder.new"
	mkdir "$folder.new"
	tar -C "$folder.new" -xf "$tarball" --strip-components=1 --occurrence=1 \
		"${@/#/${name%.tar.*}/}" && mv "$folder.new" "$folder"
}

# copy_changed TREE FOLDER FILE...
copy_changed() {
	local tree=$1 folder=$2

	shift 2
	mkdir -p "$folder"
	(cd "$tree" && cp --parents "$@" "$folder")
}

# applies FOLDER PATCH...: to a copy
applies() {
	local folder=$1 patch

	shift
	rm -rf "$out/tree"
	cp -r "$folder" "$out/tree"
	for patch; do
		patch -f -p1 -F0 -d "$out/tree" < "$patch" || return 1
	done
	# The profiles of main.c are similar, and a hunk may match the wrong one.
	sed -n '/ pf_profile = {$/,/^}/p' "$out/tree/drivers/infiniband/hw/mlx5/main.c" |
		grep MLX5_IB_STAGE_FORCE
}

# series_applies SERIES SOURCE: a tar file or a tree
series_applies() {
	local series=$1 source=$2 patches files folder

	mapfile -t patches < <("$tool" --patches "$series")
	mapfile -t files < <(changed "${patches[@]}")
	if [ -d "$source" ]; then
		folder=$out/$series
		copy_changed "$source" "$folder" "${files[@]}"
	else
		folder=$cache/mlx5-ib/$(basename "$source")-$(stat -c %s-%Y "$source")-$(
			printf '%s\n' "${files[@]}" | sha256sum | cut -c1-8)
		unpack_changed "$source" "$folder" "${files[@]}" || return 1
	fi
	applies "$folder" "${patches[@]}"
}

check_series() {
	local series=$1 source=$2

	if [ -z "$source" ]; then
		echo "skip  $series: its source is not installed (apt-get install linux-source-$series)"
		skipped=$((skipped + 1))
	else
		step "the series applies to $series" series_applies "$series" "$source"
	fi
}

# The source of User-Mode Linux is the newest kernel's
newest_tree() {
	local makefile

	for makefile in "$cache"/uml/source-????????????/Makefile; do
		if [ -e "$makefile" ] && [ "$(sed -n -e 's/^VERSION = //p' -e 's/^PATCHLEVEL = //p' \
			"$makefile" | paste -sd.)" = "$1" ]; then
			dirname "$makefile"
			return
		fi
	done
}

# checkpatch PATCH...: on copies, as it takes files known to git for source files
checkpatch() {
	mkdir -p "$out/patches"
	cp --parents "$@" "$out/patches"
	cd "$out/patches"
	perl "$newest/scripts/checkpatch.pl" --no-tree --strict --quiet --no-summary --terse \
		--show-types --ignore FILE_PATH_CHANGES,BAD_SIGN_OFF,NO_AUTHOR_SIGN_OFF "$@"
}

# A command that must fail must also print these words.
fails_saying() { # fails_saying WORDS COMMAND...
	local words=$1 said

	shift
	! said=$("$@" 2>&1) || return 1
	echo "$said"
	[[ $said == *"$words"* ]]
}

for series in 6.1 6.12; do
	check_series $series "$(compgen -G "/usr/src/linux-source-$series.tar.*" || :)"
done
# A kernel that Debian has packaged meanwhile may need its own series.
wanted=$(scripts/newest series)
newest=$(newest_tree "$wanted")
if [ -n "$newest" ] && [ ! -d "tools/mlx5_ib/patches/$wanted" ] &&
	! series_applies "$wanted" "$newest" > /dev/null 2>&1; then
	echo "skip  $wanted: the newest series is for an older kernel, and does not apply"
	skipped=$((skipped + 1))
else
	check_series "$wanted" "$newest"
fi
if [ -n "$newest" ]; then
	mapfile -t all < <(find tools/mlx5_ib/patches -name '*.patch' | sort)
	step "the patches pass checkpatch" checkpatch "${all[@]}"
fi
step "each patch leaves the sign-off to who sends it" \
	test "$(grep -L "^Signed-off-by: SUBMITTER'S NAME" -r tools/mlx5_ib/patches | wc -l)" -eq 0
step "no source: it says what to install" fails_saying \
	'apt-get install linux-source-9.99' tools/mlx5_ib/build 9.99.0-1-amd64 "$out" "$out/built"
step "no source: it says where" fails_saying "there is no $out/none" \
	env "LINUX_SOURCE=$out/none" tools/mlx5_ib/build 6.12.0-1-amd64 "$out" "$out/built"
step "another source: it says which patch" fails_saying \
	"$(basename "$($tool --patches 6.12 | head -n 1)") does not apply" \
	env "LINUX_SOURCE=$out/other" bash -c "mkdir -p $out/other/drivers/infiniband/hw/mlx5 &&
		tools/mlx5_ib/build 6.12.0-1-amd64 $out $out/built"
step "a kernel that is too old: it says so" fails_saying 'older than 6.1' \
	env "LINUX_SOURCE=$out/other" tools/mlx5_ib/build 5.15.0-1-amd64 "$out" "$out/built"
total ", $skipped skipped"
