#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A folder with a minimal Debian 13 and its rdma-core, whose provider library and
# pyverbs know more than Debian 12's: RDMA FLUSH and ATOMIC WRITE. A scenario runs
# them there (scripts/tests/pyverbs-13.sh); nothing boots there.
#
# usage: scripts/setup-pyverbs.sh          make it, print its path
#        scripts/setup-pyverbs.sh path     print the path only

set -eu
shopt -s inherit_errexit

scripts=$(dirname "$(realpath "$0")")

. "$scripts/root-lib.sh"
. "$scripts/folder-lib.sh"

make_folder() {
	local new=$folder.new

	as_root rm -rf "$new"
	as_root debootstrap --variant=minbase \
		--include=python3-pyverbs,rdma-core,ibverbs-providers trixie \
		"$new" "$("$(dirname "$0")/newest" mirror)"
	as_root chroot "$new" apt-get clean
	as_root mv "$new" "$folder"
}

folder=$cache/pyverbs-trixie-$(declare -f make_folder | folder_key)
[ "${1-}" = path ] || ensure_folder pyverbs make_folder
echo "$folder"
