#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A folder with a minimal Debian 13 in it, the headers of kernel 7.2 from its
# backports and their compiler: the place to build for that kernel, whose
# tools need a newer C library than Debian 12 has. Nothing boots there.
#
# usage: scripts/setup-newest.sh                    make it, print its path
#        scripts/setup-newest.sh build [MAKE-ARG...]  build build/newest in it

set -eu
shopt -s inherit_errexit

tree=$(realpath "$(dirname "$0")/..")
cache=${ROCE_HCA_CACHE:-/var/cache/roce-hca}
suite=trixie
series=7.2

if [ "$(id -u)" -eq 0 ]; then
	as_root() { "$@"; }
else
	as_root() { sudo "$@"; }
fi

# The archive this machine takes Debian itself from.
debian_mirror() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(ORIGIN)/$(LABEL)' \
		'Created-By: Packages' |
		awk '$2 == "Debian/Debian" { print $1; found = 1; exit } END { exit !found }'
}

# inside FOLDER COMMAND...: with a /proc of its own, which objtool reads
inside() {
	# The root of a container may be no mount, which cannot be made private.
	# shellcheck disable=SC2016
	as_root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive unshare --mount --propagation unchanged \
		sh -c 'mount --make-rprivate / 2> /dev/null
			mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$@"
}

# newest_headers FOLDER
newest_headers() {
	inside "$1" apt-cache --names-only search "^linux-headers-${series//./\\.}[.-].*-amd64\$" |
		cut -d' ' -f1 | grep -E -v -- '-(cloud|rt)-' | sort -V | tail -n 1
}

make_folder() {
	local new=$folder.new mirror headers

	command -v debootstrap > /dev/null ||
		as_root apt-get install -y --no-install-recommends debootstrap
	mirror=$(debian_mirror)
	as_root rm -rf "$new"
	as_root mkdir -p "$cache"
	as_root debootstrap --variant=minbase "$suite" "$new" "$mirror"
	echo "deb $mirror $suite-backports main" |
		as_root tee "$new/etc/apt/sources.list.d/backports.list"
	inside "$new" apt-get update -q
	headers=$(newest_headers "$new")
	inside "$new" apt-get install -y -q --no-install-recommends make gcc "$headers"
	inside "$new" apt-get clean
	as_root mv "$new" "$folder"
}

# Named by how it is made.
folder=$cache/newest-$({
	echo $suite $series
	declare -f make_folder newest_headers
} | sha256sum | cut -c1-12)

ensure_folder() {
	[ -d "$folder" ] && return
	as_root mkdir -p "$cache"
	exec 9> "$cache/newest.lock"
	flock 9
	if [ ! -d "$folder" ]; then
		# Waited for, not tested: errexit is off in a function that is tested.
		make_folder > "$cache/newest.log" 2>&1 &
		wait $! || {
			tail -n 30 "$cache/newest.log" >&2
			return 1
		}
	fi
}

# The work tree's mirror is links into the tree, which mean nothing in there.
build() {
	local headers name work file parts=(Kbuild drivers include)

	[ ! -d "$tree/kunit" ] || parts+=(kunit)
	exec 8> "$cache/newest-build.lock"
	flock 8
	headers=$(compgen -G "$folder/usr/src/linux-headers-$series*-amd64")
	# Work trees that share the cache do not share objects.
	name=/build/$(echo "$tree" | sha256sum | cut -c1-12)
	work=$folder$name
	as_root mkdir -p "$work/scripts"
	as_root cp "$tree/scripts/probe.sh" "$work/scripts/"
	as_root cp -ruL -t "$work" "${parts[@]/#/$tree/}"
	(cd "$work" && find . -name '*.[ch]') | while read -r file; do
		[ -e "$tree/$file" ] || as_root rm -f "$work/$file"
	done
	inside "$folder" make -C "${headers#"$folder"}" "M=$name" "-j$(nproc)" -s --no-print-directory "$@"
	mkdir -p "$tree/build/newest"
	cp "$work"/*.ko "$tree/build/newest/"
}

ensure_folder
case ${1-} in
'') echo "$folder" ;;
build) shift; build "$@" ;;
*) sed -n '/^# usage/,/^$/s/^# //p' "$0" >&2; exit 2 ;;
esac
