#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: core
# every: 3
# timeout: 1200
#
# DKMS adds, builds and installs the package, not over what make install has installed, and
# modprobe on the stock kernel finds what it installed. DKMS works in folders given by its
# options, so the machine's own packages are not changed; check/packages.sh tests it in the
# folders of a system. The modules are loaded in a virtual machine.

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../../.."
unset RHCA_STRICT	# as for users
release=$(scripts/vm/kernel release 6.12)
own_modules=$(scripts/vm/kernel modules "$release")
headers=$(scripts/vm/kernel headers "$release")
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Otherwise DKMS would make a key for the machine that this test runs on.
export mok_signing_key=$out/mok.key mok_certificate=$out/mok.pub

# dkms_here ACTION: run it for the package and this kernel, in our folders
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

	# Content of a source package.
	mkdir -p "$source/scripts" "$out/dkms" "$tree"
	cp -r Makefile Kbuild dkms.conf drivers include "$source/"
	cp scripts/{probe,dkms-pre-install}.sh "$source/scripts/"
	cp -rsf "$own_modules/." "$tree/"
	# Through these links depmod would write into the machine's own files.
	find "$tree" -maxdepth 1 -name 'modules.*' -delete
	cp "$own_modules"/modules.{order,builtin,builtin.modinfo} "$tree/"

	dkms_here add
	dkms_here build || {
		cat "$out/dkms/roce-hca/$version/build/make.log"
		return 1
	}
	mkdir -p "$tree/updates"
	rm -f "$tree/updates/roce_hca.ko"
	touch "$tree/updates/roce_hca.ko"
	if dkms_here install > "$out/said" 2>&1; then
		return 1
	fi
	grep "^make install has installed .*: make uninstall KVER=$release comes first" "$out/said"
	rm "$tree/updates/roce_hca.ko"
	dkms_here install
	dkms_here status | tee /dev/stderr | grep -q "roce-hca.*$release.*installed"
	depmod -b "$out/root" "$release"
	installed roce_hca | grep '/updates/dkms/roce_hca\.ko'
	installed roce_hca_mlx5 | grep '/updates/dkms/roce_hca_mlx5\.ko'
	[ "$(modinfo -F version "$(installed roce_hca)")" = "$version" ]
	[ "$(modinfo -F version "$(installed roce_hca_mlx5)")" = "$version" ]
	# An administrator decides whether to load it: no adapter may request it.
	[ -z "$(modinfo -F alias "$(installed roce_hca_mlx5)")" ]
}

# A kernel without the adapter's driver: make's message, and what DKMS would expect. (User-Mode
# Linux, which has no such driver, shows that the module is not built then.)
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
[ \"\${BUILT_MODULE_NAME[*]}\" = 'roce_hca roce_hca_mlx5' ]
unset BUILT_MODULE_NAME
rm \$headers/.config	# as it has gone when DKMS is to remove what it built
. ./dkms.conf
[ \"\${BUILT_MODULE_NAME[*]}\" = roce_hca ]
dkms_tree=\$headers arch=x86_64
mkdir -p \$headers/roce-hca/$version/6.5.0/x86_64/module
touch \$headers/roce-hca/$version/6.5.0/x86_64/module/roce_hca_mlx5.ko.xz
. ./dkms.conf
[ \"\${BUILT_MODULE_NAME[*]}\" = 'roce_hca roce_hca_mlx5' ]
rm -r \$headers"

# Here modprobe must find it by itself, not through the harness's configuration.
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
