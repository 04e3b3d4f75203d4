#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: core
# every: 3
# timeout: 1200
#
# DKMS adds, builds and installs the package, and modprobe on the stock kernel
# finds what it installed. DKMS works in folders of its own, which its options name,
# so the machine's own packages stay as they are; check/packages.sh is where it works
# in those of a system. The loading happens in a virtual machine.

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../../.."
unset RHCA_STRICT	# as users have it
release=$(scripts/vm/kernel release 6.12)
own_modules=$(scripts/vm/kernel modules "$release")
headers=$(scripts/vm/kernel headers "$release")
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Else DKMS would make a key for the machine that this test runs on.
export mok_signing_key=$out/mok.key mok_certificate=$out/mok.pub

# dkms_here ACTION: what DKMS does for the package and this kernel, in our folders
dkms_here() {
	dkms "$1" -m roce-hca -v "$version" -k "$release" --kernelsourcedir "$headers" \
		--sourcetree "$out/src" --dkmstree "$out/dkms" \
		--installtree "$out/root/lib/modules" --no-depmod
}

installed() { # installed MODULE: the file that modprobe would load
	modinfo -b "$out/root" -k "$release" -n "$1"
}

build_and_install() {
	local source=$out/src/roce-hca-$version tree=$out/root/lib/modules/$release

	# What a source package holds.
	mkdir -p "$source/scripts" "$out/dkms" "$tree"
	cp -r Makefile Kbuild dkms.conf drivers include "$source/"
	cp scripts/probe.sh "$source/scripts/"
	cp -rsf "$own_modules/." "$tree/"
	# depmod would write through them into the machine's own.
	find "$tree" -maxdepth 1 -name 'modules.*' -delete
	cp "$own_modules"/modules.{order,builtin,builtin.modinfo} "$tree/"

	dkms_here add
	dkms_here build || {
		cat "$out/dkms/roce-hca/$version/build/make.log"
		return 1
	}
	dkms_here install
	dkms_here status | tee /dev/stderr | grep -q "roce-hca.*$release.*installed"
	depmod -b "$out/root" "$release"
	installed roce_hca | grep '/updates/dkms/roce_hca\.ko'
	installed roce_hca_mlx5 | grep '/updates/dkms/roce_hca_mlx5\.ko'
	[ "$(modinfo -F version "$(installed roce_hca)")" = "$version" ]
	[ "$(modinfo -F version "$(installed roce_hca_mlx5)")" = "$version" ]
	# Loading it is the administrator's choice: no adapter may ask for it.
	[ -z "$(modinfo -F alias "$(installed roce_hca_mlx5)")" ]
}

# A kernel without the adapter's driver: what make says, and what DKMS would expect.
# (That it is not built then is seen on User-Mode Linux, which has none.)
without="set -eu
headers=\$(mktemp -d)
mkdir -p \$headers/include/config
echo CONFIG_INFINIBAND=m | tee \$headers/.config > \$headers/include/config/auto.conf
make -s say-left-out KVER=6.5.0 KDIR=\$headers |
	grep '^kernel 6.5.0 has no mlx5_core (CONFIG_MLX5_CORE): roce_hca_mlx5 is left out'
kernelver=6.5.0 kernel_source_dir=\$headers
. ./dkms.conf
[ \"\${BUILT_MODULE_NAME[*]}\" = roce_hca ]
echo CONFIG_MLX5_CORE=m >> \$headers/.config
. ./dkms.conf
[ \"\${BUILT_MODULE_NAME[*]}\" = roce_hca ]	# of 32 bits
echo CONFIG_64BIT=y >> \$headers/.config
. ./dkms.conf
[ \"\${BUILT_MODULE_NAME[*]}\" = 'roce_hca roce_hca_mlx5' ]
rm -r \$headers"

# Here modprobe must find it by itself, not by the harness's configuration.
load="set -eux
rm -f /etc/modprobe.d/rhca.conf
cp -r \$RHCA_SHARE/modules/. /lib/modules/$release/
modprobe roce_hca
grep '^roce_hca ' /proc/modules
modinfo -n roce_hca | grep '/updates/dkms/roce_hca.ko'
modprobe -r roce_hca
test ! -e /sys/module/roce_hca
modprobe roce_hca_mlx5
grep '^roce_hca_mlx5 ' /proc/modules
modprobe -r roce_hca_mlx5"

echo "# a kernel without mlx5_core"
bash -c "$without"
echo "# dkms add, build, install for $release"
build_and_install
mkdir -p "$out/modules/updates"
cp -r "$out/root/lib/modules/$release/updates/dkms" "$out/modules/updates/"
cp "$out/root/lib/modules/$release"/modules.* "$out/modules/"
echo "# modprobe on $release"
scripts/vm/run --kernel "$release" --timeout 600 --out "$out" -- "$load"
