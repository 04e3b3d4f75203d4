#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A folder with a minimal Debian, the headers of the newest kernel from its backports and their
# compiler: modules for that kernel are built here, as its tools may need a newer C library than
# this machine has. Nothing boots there.
#
# usage: scripts/setup/setup-newest.sh                    make it, print its path
#        scripts/setup/setup-newest.sh build [--kind KIND] [MAKE-ARG...]
#                                                     build build/newest in it, and the
#                                                     modules of tests and of the bench
#                                                     in folders there; for a kernel of
#                                                     KIND in build/newest-KIND
#        scripts/setup/setup-newest.sh headers KIND         of that kernel, cloud or rt
#        scripts/setup/setup-newest.sh modules FOLDER [MAKE-ARG...]
#                                                     build those of FOLDER, in a copy of it
#                                                     in there, and bring them back

set -eu
shopt -s inherit_errexit

tree=$(realpath "$(dirname "$0")/../..")
newest=$tree/scripts/newest
suite=$("$newest" suite)
headers=$("$newest" package linux-headers)

. "$tree/scripts/setup/root-lib.sh"
. "$tree/scripts/setup/folder-lib.sh"

# inside FOLDER COMMAND...: as in folder-lib.sh, with a /proc of its own, which objtool reads
inside() {
	# The root of a container may not be a mount, and cannot be made private then.
	# shellcheck disable=SC2016
	as_root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive unshare --mount --propagation unchanged \
		sh -c 'mount --make-rprivate / 2> /dev/null
			mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$@"
}

make_folder() {
	local new=$folder.new mirror

	command -v debootstrap > /dev/null ||
		as_root apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends debootstrap
	mirror=$("$newest" mirror)
	as_root rm -rf "$new"
	as_root mkdir -p "$cache"
	as_root debootstrap --variant=minbase "$suite" "$new" "$mirror"
	echo "deb $mirror $suite-backports main" |
		as_root tee "$new/etc/apt/sources.list.d/backports.list"
	inside "$new" apt-get update -q
	inside "$new" apt-get install -y -q --no-install-recommends make gcc "$headers"
	inside "$new" apt-get clean
	as_root mv "$new" "$folder"
}

# Named after the headers' version and the way it is made.
folder=$cache/newest-$({
	echo "$suite" "$headers" "$("$newest" version "$headers")"
	declare -f make_folder
} | folder_key)

# Modules besides ours, PLACE=FOLDER; each has the name of its folder
others=(bench=scripts/bench/rhca_bench stay_awake=scripts/vm/stay_awake
	ask_firmware=tools/user/ask_firmware
	subfunction=tools/connectx-model/tests/subfunction
	pieces=tools/connectx-model/tests/pieces queues=tools/connectx-model/tests/queues)

headers_of() { "$newest" package linux-headers "$1"; }

add_headers() {
	local package

	package=$(headers_of "$1")
	if [ -z "$package" ]; then
		echo "setup-newest.sh: $suite has no $1 headers of the newest kernel" >&2
		return
	fi
	[ ! -e "$folder/usr/src/$package/Makefile" ] || return 0
	inside "$folder" apt-get update -q > /dev/null
	inside "$folder" apt-get install -y -q --no-install-recommends "$package" > /dev/null
}

one_build_at_a_time() {
	exec 8> "$cache/newest-build.lock"
	flock 8
}

# The mirror of the work tree has links into the tree, which are dangling in the folder.
build() {
	local release name work file other part parts=(Kbuild dkms.conf drivers include) out=newest

	if [ "${1-}" = --kind ]; then
		out=newest-$2
		headers=$(headers_of "$2")
		shift 2
	fi
	release=${headers#linux-headers-}
	[ ! -d "$tree/kunit" ] || parts+=(kunit)
	one_build_at_a_time
	# Work trees that share the cache must not share objects.
	name=/build/$(echo "$tree" | sha256sum | cut -c1-12)${out#newest}
	work=$folder$name
	as_root mkdir -p "$work/scripts"
	as_root cp "$tree/scripts/probe.sh" "$work/scripts/"
	as_root cp -ruL --no-preserve=mode -t "$work" "${parts[@]/#/$tree/}"
	(cd "$work" && find . -name '*.[ch]') | while read -r file; do
		[ -e "$tree/$file" ] || as_root rm -f "$work/$file"
	done
	for other in "${others[@]}"; do
		part=${other#*=}
		as_root mkdir -p "$work/${other%%=*}"
		as_root cp -u -t "$work/${other%%=*}" "$tree/$part"/{Kbuild,"${part##*/}.c"}
	done
	for part in "" "${others[@]/%=*/}"; do
		part=${part:+/$part}
		inside "$folder" make -C "/usr/src/$headers" "M=$name$part" "-j$(nproc)" -s --no-print-directory "$@"
		mkdir -p "$tree/build/$out$part"
		cp "$work$part"/*.ko "$tree/build/$out$part/"
	done
	# Where machines that boot this kernel look for them.
	ln -sfn "$out" "$tree/build/$release"
}

# modules FOLDER [MAKE-ARG...]: if a build fails, its copy stays until the next one
modules() {
	local from=$1 work=$folder/build/modules

	shift
	one_build_at_a_time
	as_root rm -rf "$work"
	as_root mkdir -p "${work%/*}"
	as_root cp -rT --no-preserve=mode "$from" "$work"
	inside "$folder" make -C "/usr/src/$headers" M=/build/modules "-j$(nproc)" -s "$@" modules
	cp "$work"/*.ko "$from/"
	as_root rm -rf "$work"
}

ensure_folder newest make_folder
case ${1-} in
'') echo "$folder" ;;
build) shift; build "$@" ;;
headers) add_headers "${2:?usage: headers KIND}" ;;
modules) modules "$(realpath "${2:?usage: modules FOLDER}")" "${@:3}" ;;
*) sed -n '/^# usage/,/^$/s/^# //p' "$0" >&2; exit 2 ;;
esac
