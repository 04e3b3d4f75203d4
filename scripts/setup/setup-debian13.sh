#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Folders with a minimal Debian 13 and some of its programs, which scenarios run there on this
# machine's kernel; nothing boots there.
#
# usage: scripts/setup/setup-debian13.sh NAME          make it, print its path
#        scripts/setup/setup-debian13.sh NAME path     print the path only
#   pyverbs   its rdma-core, whose provider library and pyverbs know more than Debian 12's:
#             RDMA FLUSH and ATOMIC WRITE (scripts/tests/consumers/pyverbs-13.sh)
#   ucx       its UCX, 1.18 (scripts/tests/consumers/consumer-ucx-13.sh); 450 MB, since it can use
#             graphics processors and brings their libraries: so only "make check-all"
#             makes it

set -eu
shopt -s inherit_errexit

scripts=$(realpath "$(dirname "$0")/..")

. "$scripts/setup/root-lib.sh"
. "$scripts/setup/folder-lib.sh"

name=${1-}
case $name in
# Its tests use iproute2 to find the netdev of a port, and scapy to make raw packets.
pyverbs) packages=(python3-pyverbs rdma-core ibverbs-providers iproute2 python3-scapy) ;;
ucx) packages=(ucx-utils ibverbs-providers) ;;
*) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

make_folder() {
	local new=$folder.new archive

	archive=$("$scripts/newest" mirror)
	as_root rm -rf "$new"
	as_root debootstrap --variant=minbase trixie "$new" "$archive"
	inside "$new" apt-get install -y -q --no-install-recommends "${packages[@]}"
	inside "$new" apt-get clean
	as_root mv "$new" "$folder"
}

folder=$cache/$name-trixie-$({
	declare -f make_folder
	echo "${packages[@]}"
} | folder_key)
[ "${2-}" = path ] || ensure_folder "$name" make_folder
echo "$folder"
