#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# The Debian package of roce-lab: below 40 MiB, the same bytes twice, no error of lintian's;
# unpacked, a lab of it runs as an ordinary user.
#
# No turns: it packs twice what seldom changes.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup

package=$(tools/lab/pack-deb | grep '/roce-lab_')
check_ok "it is packed" test -s "$package"
cp "$package" "$work/first.deb"
tools/lab/pack-deb > "$work/out"
check_ok "the same twice" cmp "$package" "$work/first.deb"
check_ok "below 40 MiB: $(stat -c %s "$package") bytes" test "$(stat -c %s "$package")" -lt $((40 << 20))
check_match "Built-Using" '^linux \(= [0-9].*\), glibc \(= [0-9].*\)$' "$(dpkg-deb -f "$package" Built-Using)"
if command -v lintian > /dev/null; then
	check "lintian" "" "$(lintian --no-cfg --allow-root --fail-on error,warning "$package" 2>&1)"
fi

dpkg-deb -x "$package" "$work/unpacked"
chmod 755 "$work/unpacked"
check "a lab runs" roce0 "$(as_user "$work/unpacked/usr/bin/roce-lab" run -- ls /sys/class/infiniband)"
check "its version" "roce-lab $(dpkg-deb -f "$package" Version | sed 's/-1$//')" \
	"$(as_user "$work/unpacked/usr/bin/roce-lab" --version | head -n 1)"
check_ok "its manual page" test -s "$work/unpacked/usr/share/man/man1/roce-lab.1.gz"
finish
