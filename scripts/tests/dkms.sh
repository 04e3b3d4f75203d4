#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: core
# timeout: 2400
#
# DKMS adds, builds and installs the package, and modprobe on the stock kernel
# finds what it installed. The building happens in User-Mode Linux, whose root
# is thrown away and whose compiler runs at native speed; the loading in a
# virtual machine.

set -eu

cd "$(dirname "$(realpath "$0")")/../.."
release=$(scripts/vm/kernel release 6.12)
own_modules=$(scripts/vm/kernel modules "$release")
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# What a source package holds, in the place where DKMS looks for it.
build="set -eux
mkdir -p /usr/src/roce-hca-$version/scripts
cp -r Makefile Kbuild dkms.conf drivers include /usr/src/roce-hca-$version/
cp scripts/probe.sh /usr/src/roce-hca-$version/scripts/
[ -e /lib/modules/$release/kernel ] || cp -rsf $own_modules/. /lib/modules/$release/
dkms add -m roce-hca -v $version
dkms build -m roce-hca -v $version -k $release ||
	{ cat /var/lib/dkms/roce-hca/$version/build/make.log; exit 1; }
dkms install -m roce-hca -v $version -k $release
dkms status | tee /dev/stderr | grep -q 'roce-hca.*$release.*installed'
modinfo -k $release -n roce_hca
modinfo -k $release -n roce_hca_mlx5 | grep '/updates/dkms/roce_hca_mlx5.ko'
test -z \"\$(modinfo -k $release -F alias roce_hca_mlx5)\"
mkdir -p \$RHCA_SHARE/modules/updates
cp -r /lib/modules/$release/updates/dkms \$RHCA_SHARE/modules/updates/
cp /lib/modules/$release/modules.* \$RHCA_SHARE/modules/"

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
scripts/uml/run --timeout 1500 --mem 2G --out "$out" -- "$build"
echo "# modprobe on $release"
scripts/vm/run --kernel "$release" --timeout 600 --out "$out" -- "$load"
