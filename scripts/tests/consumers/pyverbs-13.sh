#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# every: 3
# timeout: 1500
#
# The pyverbs tests of Debian 13's rdma-core, with its provider library, in a folder that
# scripts/setup/setup-debian13.sh makes: those that Debian 12 lacks, RDMA FLUSH and ATOMIC
# WRITE, and all others once more. Like pyverbs.sh, with additional skips of its own.
#
#   a (ra$$): the device under test, talking to itself

. "$(dirname "$0")/../lib/lib.sh"

root=$("$TOP/scripts/setup/setup-debian13.sh" pyverbs path)
[ -d "$root" ] || skip "no folder with Debian 13's rdma-core: run scripts/setup/setup.sh"
setup_pair 1500
mount_into "$root"
cp -r "$root/usr/share/doc/rdma-core/tests" "$WORK/tests" && gunzip -f "$WORK"/tests/*.gz ||
	die "no tests in $root"
cp "$HERE"/pyverbs-run.py "$HERE"/pyverbs*.txt "$WORK"
sed -i -f "$HERE/pyverbs-patience.sed" "$WORK"/tests/{utils,base}.py

index=$(gid_index "$DEV_A" v2 $IP4_A)
mac=$(in_a cat "/sys/class/net/$IF_A/address")
series=$(uname -r | cut -d. -f1,2)
in_a timeout 1200 chroot "$root" python3 /mnt/pyverbs-run.py /mnt/tests "$DEV_A" \
	"$index" $IP4_A "$mac" "$series" > "$WORK/result" 2>&1
judge pyverbs "$WORK/result" $?
finish
