#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# The Debian packages of roce-lab: below 40 MiB, the same bytes twice, no complaint from
# lintian; built twice, the archive has the same bytes (but for the kernel, which is in the
# cache); unpacked, its lab runs as an ordinary user, as does that of "make install-lab". The
# archive of "make lab-source" has the source of all that.
#
# No turns: it packs twice what seldom changes.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup

mapfile -t packages < <(tools/lab/pack-deb)
package=${packages[0]}
check_ok "it is packed" test -s "$package"
mkdir "$work/first"
cp "${packages[@]}" "$work/first/"
tools/lab/pack-deb > "$work/out"
for each in "${packages[@]}"; do
	check_ok "the same twice: ${each##*/}" cmp "$each" "$work/first/${each##*/}"
done
check_ok "below 40 MiB: $(stat -c %s "$package") bytes" test "$(stat -c %s "$package")" -lt $((40 << 20))
kernel=$(sed -n "s/^kernel [0-9][^ ]*, of Debian's linux //p" build/lab/lib/roce-lab/version)
check "Built-Using" "linux (= $kernel), glibc (= $(dpkg-query -W -f '${source:Version}' libc6-dev))" \
	"$(dpkg-deb -f "$package" Built-Using)"
if command -v lintian > /dev/null; then
	check "lintian" "" "$(lintian --no-cfg --allow-root --fail-on error,warning "${packages[@]}" 2>&1)"
fi

archive=$(echo build/lab/roce-lab-[0-9]*-x86_64.tar.zst)
check_ok "and the archive: $(stat -c %s "$archive") bytes" test "$(stat -c %s "$archive")" -lt $((40 << 20))
tar --zstd -tf "$archive" | sed 's,^[^/]*/,,' > "$work/out"
for name in bin/roce-lab share/man/man1/roce-lab.1 share/doc/roce-lab/{lab.rst,copyright,GPL-2.0,examples/mpi_sum.c} \
	'lib/roce-lab/base/lib/modules/.*/nvme-rdma\.ko'; do
	check_ok "the archive has $name" grep -qx "$name" "$work/out"
done

: "built again, in a folder of another name"
mkdir "$work/again"
tar -c --exclude=./build . | tar -x -C "$work/again"
"$work/again/tools/lab/build" > "$work/build.log" 2>&1 || { tail -n 20 "$work/build.log"; fail "it builds"; }
check_ok "the archive has the same bytes" cmp "$archive" "$work/again/$archive"

dpkg-deb -x "$package" "$work/unpacked"
chmod 755 "$work/unpacked"
check "a lab runs" roce0 "$(as_user "$work/unpacked/usr/bin/roce-lab" run -- ls /sys/class/infiniband)"
check "its version" "roce-lab $(dpkg-deb -f "$package" Version | sed 's/-1$//')" \
	"$(as_user "$work/unpacked/usr/bin/roce-lab" --version | head -n 1)"
release=$(as_user "$work/unpacked/usr/bin/roce-lab" run -- uname -r)
check "and its kernel, and ours" "kernel $release, of Debian's linux $kernel commit" "$(as_user "$work/unpacked/usr/bin/roce-lab" \
	--version | sed -n '2p; 3s/ .*//p' | paste -sd ' ')"
check_ok "its manual page" test -s "$work/unpacked/usr/share/man/man1/roce-lab.1.gz"

: "below a folder"
(umask 077; make -s install-lab PREFIX="$work/local") > "$work/out" 2>&1
check "make install-lab: status" 0 $?
check "a lab of it runs" roce0 "$(as_user "$work/local/bin/roce-lab" run -- ls /sys/class/infiniband)"
check_ok "its manual page" test -s "$work/local/share/man/man1/roce-lab.1"

: "who has not what building wants"
mkdir "$work/programs"
ln -s /usr/bin/* "$work/programs/"
rm "$work/programs"/{flex,zstd}
check "is told it in a line to paste" \
	"tools/lab/build: something is missing: sudo apt-get install flex zstd 1" \
	"$(PATH=$work/programs tools/lab/build 2>&1) $(PATH=$work/programs tools/lab/build 2> "$work/out"; echo $?)"

: "its source"
commit=$(sed -n 's/^commit //p' build/lab/lib/roce-lab/version)
source=$(tools/lab/pack-source 2> "$work/said")
if [[ $commit = *-dirty ]]; then
	check_match "a lab of no commit has none" 'what was built is in no commit$' "$(< "$work/said")"
else
	tar --zstd -tf "$source" > "$work/out"
	for name in 'linux-source-.*\.deb' 'glibc_.*\.orig\.tar\.xz' roce-hca/scripts/uml/base.config \
		roce-hca/scripts/uml/small-code-model.patch roce-hca/Kbuild BUILD; do
		check_ok "has $name" grep -qx "roce-lab-[^/]*-source/$name" "$work/out"
	done
fi

: "that of a release, which is unpacked without git"
rm -rf "$work/again/.git"
sed -i 's/^commit .*/commit unknown/' "$work/again/build/lab/lib/roce-lab/version"
source=$("$work/again/tools/lab/pack-source" 2> "$work/said")
tar --zstd -tf "$work/again/$source" > "$work/out"
check_ok "has roce-hca/Kbuild" grep -qx 'roce-lab-[^/]*-source/roce-hca/Kbuild' "$work/out"
finish
