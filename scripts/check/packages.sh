#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Debian packages: built, without a complaint from lintian, and in a clean Debian 12 and 13
# installed, booted in a virtual machine with that system's kernel, where RDMA traffic runs,
# given another kernel, upgraded, removed and purged (see try-suite); their own tests are run
# there in Debian's way (see try-autopkgtest). The RPM packages: built, installed, upgraded and
# removed there (see try-rpm). The release script makes a release in a clone.
#
# usage: scripts/check/packages.sh [SUITE...]     (bookworm trixie)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
out=$(realpath -m build/check-packages)

. scripts/setup/root-lib.sh
. scripts/setup/cache-lib.sh
. scripts/check/count-lib.sh

count() { # count WHAT COMMAND...
	step "$@"
	grep -E '^(FAIL|signer:|# .* s, status|roce-(hca|lab): )' "$out/$1.log" | sed 's/^/    /' || :
}

lint() {
	lintian --fail-on error,warning "$out"/old/*.changes "$out"/new/*.changes
}

# With roce-lab-debug, if its kernel has been built, which takes a quarter of an hour.
pack_lab() {
	make -s lab
	rm -f build/lab/*.deb
	make -s lab-deb
}

# The clone of try_release is where other sources do no harm.
rpm_other() {
	sed -i 's/MODULE_DESCRIPTION("/&Other /' "$out/clone/drivers/main.c"
	"$out/clone/scripts/package/build-rpm" --version "$version.1" --out "$out/rpm-other"
}

# As on Fedora, where bin and sbin are one folder
rpm_one_bin() {
	mkdir -p "$out/home"
	echo '%_sbindir %_bindir' > "$out/home/.rpmmacros"
	HOME=$out/home scripts/package/build-rpm --out "$out/rpm-one-bin"
	rpm -qlp "$out"/rpm-one-bin/roce-hca-tools-*.noarch.rpm | grep -x /usr/bin/show_gids
}

try_in() { # try_in SUITE SCRIPT
	local folder
	folder=$(scripts/package/clean-folder "$1")
	as_root env ROCE_HCA_CACHE="$cache" \
		unshare --mount --net --pid --fork --kill-child "scripts/package/$2" "$folder" "$out"
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

scripts/setup/setup.sh package vm > /dev/null
rm -rf "$out"
mkdir -p "$out"
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
count build scripts/package/build-deb --out "$out/old"
count build-next scripts/package/build-deb --version "$version.1" --out "$out/new"
count lintian lint
count lab pack_lab
count reproducible scripts/check/reproducible.sh
count release try_release
count rpm-build scripts/package/build-rpm --out "$out/rpm-old"
count rpm-build-next scripts/package/build-rpm --version "$version.1" --out "$out/rpm-new"
count rpm-build-other rpm_other
count rpm-one-bin rpm_one_bin
# Only if npm is installed: installing all of it for one file is too much.
! command -v npm > /dev/null || count dashboard scripts/check/dashboard.sh
[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
	count "try-$suite" try_in "$suite" try-suite
	count "rpm-$suite" try_in "$suite" try-rpm
	count "autopkgtest-$suite" try_in "$suite" try-autopkgtest
done
total
