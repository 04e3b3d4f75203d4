#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# every: 2
# timeout: 900
#
# "make demo" for users who are or can become root: on a stock kernel in a virtual machine each
# of its programs succeeds over v1 and over v2. lab-demo tests it without root; only this tests
# it on a kernel whose network namespaces have a /sys of their own.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh no-lab

if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2> /dev/null; then
	echo "SKIP only root has packages installed"
	exit 4
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
make -s demo > "$said" 2>&1
check "status" 0 $?
cat "$said"
check_match "in a virtual machine" 'in a virtual machine' "$(< "$said")"
check "two devices" "link roce1/1 state ACTIVE, link roce2/1 state ACTIVE" \
	"$(sed -n 's/^\(link roce[12].1 state [A-Z]*\) .*/\1/p' "$said" | paste -sd, | sed 's/,/, /')"
check_demo "$said" roce2/1
finish
