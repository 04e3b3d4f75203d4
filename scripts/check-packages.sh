#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Debian packages: built, without a word from lintian, and installed, upgraded,
# removed and purged in a clean Debian 12 and 13 for each kernel that these package,
# in the folders of clean-folder as roots of their own. The release script makes a
# release in a clone.
#
# usage: scripts/check-packages.sh [SUITE...]     (bookworm trixie)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/.."
out=$(realpath -m build/check-packages)
failed=0
passed=0

if [ "$(id -u)" -eq 0 ]; then
	as_root() { "$@"; }
else
	as_root() { sudo "$@"; }
fi

count() { # count WHAT COMMAND...
	local what=$1 status=0
	shift
	"$@" > "$out/$what.log" 2>&1 || status=$?
	if [ $status -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok   $what"
	else
		failed=$((failed + 1))
		echo "FAIL $what: status $status of $*"
		tail -n 60 "$out/$what.log" | sed 's/^/    /'
	fi
	grep '^FAIL' "$out/$what.log" || :
}

lint() {
	lintian --fail-on error,warning "$out"/old/*.changes "$out"/new/*.changes
}

# The folder stays as it is: what is written goes into a layer in memory, in a mount
# namespace that ends with the command.
try_in() { # try_in SUITE
	local folder
	folder=$(scripts/package/clean-folder "$1")
	as_root unshare --mount --pid --fork --kill-child bash -eux -c "
		layer=\$(mktemp -d)
		mount -t tmpfs -o size=6G layer \$layer
		mkdir \$layer/upper \$layer/work \$layer/root
		mount -t overlay -o lowerdir=$folder,upperdir=\$layer/upper,workdir=\$layer/work root \$layer/root
		cd \$layer/root
		mount -t proc proc proc
		mount -t tmpfs dev dev
		mknod -m 666 dev/null c 1 3
		mknod -m 666 dev/urandom c 1 9
		ln -s /proc/self/fd dev/fd
		mkdir packages
		cp -r $out/old $out/new $PWD/scripts/package/try-packages packages
		chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			/packages/try-packages /packages/old /packages/new"
}

try_release() {
	rm -rf "$out/clone"
	git clone -q . "$out/clone"
	git -C "$out/clone" config user.name "A maintainer"
	git -C "$out/clone" config user.email maintainer@example.org
	(
		cd "$out/clone"
		scripts/package/release 9.8.7
		[ "$(git describe)" = v9.8.7 ]
		[ "$(dpkg-parsechangelog -l scripts/package/debian/changelog -S Version)" = 9.8.7-1 ]
		tar -xJOf build/roce-hca-9.8.7.tar.xz roce-hca-9.8.7/dkms.conf | grep -q 'PACKAGE_VERSION="9.8.7"'
		scripts/package/tarball --out again
		cmp again/roce-hca-9.8.7.tar.xz build/roce-hca-9.8.7.tar.xz
		rm -r again
		for refused in 9.8.7 0.0.1; do
			if scripts/package/release $refused; then
				exit 1
			fi
		done
	)
}

scripts/setup.sh package > /dev/null
rm -rf "$out"
mkdir -p "$out"
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
count build scripts/package/build-deb --out "$out/old"
count build-next scripts/package/build-deb --version "$version.1" --out "$out/new"
count lintian lint
count release try_release
[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
	count "try-$suite" try_in "$suite"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
