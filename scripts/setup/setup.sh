#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Install the requirements for building and testing from Debian's packages. Works on Debian 12
# and 13, as root or through sudo; installed packages are left alone.
#
# Kernels are named by series, and the newest package of each is used. Images are unpacked
# in the cache, not installed: they boot only in virtual machines, and must not change this
# machine's boot menu.

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
export DEBIAN_FRONTEND=noninteractive

usage() {
	cat <<-END
	usage: scripts/setup/setup.sh [PART...]      (all parts without one)
	  build   compilers, checkers, headers of the kernels 6.1 and 6.12
	  uml     the source of the newest kernel, to build User-Mode Linux
	  vm      an emulator and the kernels 6.1, 6.12 and newest
	  test    the programs that the scenarios run; where systemd runs, services
	          that come with them neither run nor start with this machine
	  demo    the programs that make demo runs (only when named)
	  connectx  the ConnectX device model: a fuzzer's compiler (and needs vm)
	  newest  a folder with Debian 13 and headers of the newest kernel, to
	          build in
	  package what makes and tries Debian packages (only when named)
	  cross   compilers and kernel headers of other architectures (only when named)
	  model   Spin, which checks the model of the send scheduler and the litmus
	          tests (only when named)
	  ucx     a folder with Debian 13's UCX (only when named)
	  headers-KERNEL  headers of 6.1-cloud, 6.1-rt, 6.12-cloud, 6.12-rt,
	          newest-cloud or newest-rt (only when named)
	  image-KERNEL  that kernel, and what a machine needs to boot it (only when named)
	END
	exit 2
}

. scripts/setup/root-lib.sh

# Most scripts that fill it do not use root, such as scripts/newest and scripts/uml/build.
cache=${ROCE_HCA_CACHE:-/var/cache/roce-hca}
[ -e "$cache" ] || as_root install -d -o "$(id -u)" -g "$(id -g)" "$cache"
. scripts/setup/cache-lib.sh
mkdir -p "$cache"
if [ ! -w "$cache" ]; then
	echo "setup.sh: $cache is $(stat -c %U "$cache")'s: name another by ROCE_HCA_CACHE=FOLDER" >&2
	exit 1
fi
mkdir -p "$cache/kernels"

is_installed() { dpkg-query -W -f '${Status}' "$1" 2> /dev/null | grep -q 'ok installed'; }

# Asking dpkg first avoids a fresh package list, and the network, most of the time.
install() {
	local package missing=()

	for package; do
		is_installed "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	update_lists
	# Another installation may be in progress.
	as_root apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
}

lists_are_fresh=
update_lists() {
	[ -z "$lists_are_fresh" ] || return 0
	# A third party's archive that does not answer does not matter.
	as_root apt-get update -q ||
		echo "setup.sh: not every package list could be fetched" >&2
	lists_are_fresh=1
}

# releases PREFIX SERIES [KIND]: of packages such as linux-image of 6.12; KIND is cloud or rt
releases() {
	apt-cache --names-only search "^$1-${2//./\\.}[.-][^-]*[0-9][^-]*(-[0-9]+)?${3:+-$3}-amd64\$" |
		sed "s/^$1-//; s/ .*//" | sort
}

# newest_release SERIES [KIND]: sets release; it has both headers and an image. Signed images
# are published some hours or days after their headers
newest_release() {
	update_lists >&2
	release=$(comm -12 <(releases linux-headers "$@") <(releases linux-image "$@") | sort -V | tail -n 1)
	# Only an archive that has answered can lack it.
	[ -n "$release" ] || scripts/newest mirror > /dev/null || {
		echo "setup.sh: no package lists of Debian here: which kernels it has is unknown" >&2
		return 1
	}
}

# An existing release is good enough, unless everything starts anew.
have_kernel() {
	scripts/vm/kernel "$1" "$(scripts/vm/kernel release "$2")"
} > /dev/null 2>&1

have_headers() {
	compgen -G "/usr/src/linux-headers-$1[.-]*-amd64/Makefile" | grep -q -v -E -- '-(cloud|rt)-amd64'
}

setup_headers() {
	local series=$1 release

	have_headers "$series" && return
	newest_release "$series"
	if [ -n "$release" ]; then
		install "linux-headers-$release"
	else
		echo "setup.sh: this Debian has no headers of kernel $series: not built for it" >&2
	fi
}

# scripts/newest reads from the package lists which archive to use; an image may have none
find_archive() { scripts/newest mirror > /dev/null || update_lists >&2; }

# setup_flavour SERIES-KIND: headers of a kernel for other kinds of machines
setup_flavour() {
	local series=${1%-*} kind=${1##*-} release

	if [ "$series" = newest ]; then
		find_archive
		scripts/setup/setup-newest.sh headers "$kind"
		return
	fi
	! scripts/vm/kernel flavour "$1" > /dev/null 2>&1 || return 0
	newest_release "$series" "$kind"
	if [ -n "$release" ]; then
		install "linux-headers-$release"
	else
		echo "setup.sh: this Debian has no headers of kernel $1: not built for it" >&2
	fi
}

# The newest kernel's image is several packages, from another release.
setup_newest_image() { # setup_newest_image [KIND]
	local prefix package folder release

	find_archive
	package=$(scripts/newest package linux-modules "$@")
	if [ -z "$package" ]; then
		echo "setup.sh: there is no newest kernel of kind ${1-}: not tested on it" >&2
		return
	fi
	release=${package#linux-modules-}
	folder=$cache/kernels/$release
	[ ! -e "$folder" ] || return 0
	as_root rm -rf "$folder.new"
	as_root mkdir -p "$folder.new"
	for prefix in linux-base linux-modules linux-binary-unsigned; do
		package=$(scripts/newest package $prefix "$@")
		as_root dpkg-deb -x "$(scripts/newest fetch "$package")" "$folder.new"
	done
	as_root ln -s vmlinuz.unsigned "$folder.new/usr/lib/modules/$release/vmlinuz"
	finish_image "$folder" "$release"
}

# finish_image FOLDER RELEASE: make the files unpacked in FOLDER.new usable
finish_image() {
	# depmod and modprobe need /lib; the package may contain /usr/lib.
	[ -e "$1.new/lib" ] || as_root ln -s usr/lib "$1.new/lib"
	as_root depmod -b "$1.new" "$2"
	as_root mv "$1.new" "$1"
}

# setup_image SERIES [KIND]: with the headers that belong to it
setup_image() {
	local series=$1${2+-$2} release

	if have_kernel modules "$series" && have_kernel headers "$series"; then
		return
	fi
	newest_release "$@"
	if [ -z "$release" ]; then
		echo "setup.sh: this Debian has no kernel $series: not tested on it" >&2
		return
	fi
	install "linux-headers-$release"
	[ -e "$cache/kernels/$release" ] || fetch_image "$release"
}

fetch_image() { # fetch_image RELEASE
	local package=linux-image-$1 folder=$cache/kernels/$1

	as_root rm -rf "$folder.new"
	as_root mkdir -p "$folder.new"
	(
		cd "$folder.new"
		as_root apt-get download "$package"
		as_root dpkg-deb -x "$package"_*.deb .
		as_root rm "$package"_*.deb
	)
	finish_image "$folder" "$1"
}

# Kernels for clouds have no 9p: their machines access the host's folders by virtio-fs, and
# programs through bindfs, see scripts/vm/init.
setup_flavour_image() {
	local series=${1%-*} kind=${1##*-}

	if [ "$kind" = cloud ]; then
		install bindfs
		[ -e /usr/lib/qemu/virtiofsd ] || install virtiofsd
	fi
	if [ "$series" = newest ]; then
		setup_newest_image "$kind"
	else
		setup_image "$series" "$kind"
	fi
}

setup_build() {
	install build-essential bc bison flex kmod sparse libelf-dev git perl
	setup_headers 6.1
	setup_headers 6.12
}

setup_uml() {
	install build-essential bc bison ccache cpio flex kmod patch xz-utils zstd
	find_archive
	scripts/newest fetch "linux-source-$(scripts/newest series)" > /dev/null
}

setup_model() {
	install gcc spin
}

setup_vm() {
	install qemu-system-x86 busybox-static cpio kmod xz-utils zstd
	scripts/vm/get-qemu > /dev/null ||
		echo "setup.sh: no newer QEMU: slower, and no tests on the ConnectX model" >&2
	setup_image 6.1
	setup_image 6.12
	setup_newest_image
}

setup_demo() {
	install ibverbs-providers ibverbs-utils rdmacm-utils perftest iproute2 procps python3
}

# PACKAGE=UNIT: scenarios start these programs themselves, and nobody has asked for a service.
services=(prometheus=prometheus.service prometheus-node-exporter=prometheus-node-exporter.service
	nfs-kernel-server=nfs-server.service nfs-kernel-server=nfs-blkmap.service rpcbind=rpcbind.socket
	rpcbind=rpcbind.service open-iscsi=iscsid.socket open-iscsi=open-iscsi.service)

setup_test() {
	local service new=()

	for service in "${services[@]}"; do
		is_installed "${service%=*}" || new+=("${service#*=}")
	done
	install rdma-core ibverbs-providers ibverbs-utils libibverbs-dev rdmacm-utils \
		infiniband-diags perftest python3-pyverbs python3-pytest python3-pytest-cov \
		python3-pytest-xdist python3-scapy tshark tcpdump \
		iproute2 iputils-ping ethtool nftables iperf3 jq procps psmisc \
		util-linux python3 python3-docutils dkms shellcheck pyflakes3 mandoc \
		wireguard-tools libteam-utils ucx-utils libfabric-bin \
		openmpi-bin libopenmpi-dev mpich libmpich-dev prometheus \
		prometheus-node-exporter debootstrap \
		nfs-kernel-server open-iscsi valgrind gdb strace fio qperf
	if [ -d /run/systemd/system ]; then
		for service in "${new[@]}"; do
			as_root systemctl disable --now "$service" ||
				echo "setup.sh: $service may be running now" >&2
		done
	fi
	scripts/setup/setup-debian13.sh pyverbs > /dev/null
}

setup_connectx() {
	install build-essential clang libclang-rt-dev linux-source-6.12 fio
	tools/connectx-model/get-headers > /dev/null
}

setup_package() {
	install build-essential debhelper dh-dkms lintian autopkgtest fakeroot debootstrap rpm
}

setup_cross() {
	install debootstrap
	install qemu-system-arm cpio zstd
	scripts/cross/folder > /dev/null
}

setup_ucx() {
	install debootstrap
	scripts/setup/setup-debian13.sh ucx > /dev/null
}

setup_newest() {
	find_archive
	scripts/setup/setup-newest.sh > /dev/null
}

[ $# -gt 0 ] || set -- build uml vm test connectx newest
for part; do
	case $part in
	build | uml | vm | test | demo | connectx | newest | package | cross | ucx | model)
		"setup_$part" ;;
	headers-6.1-cloud | headers-6.1-rt | headers-6.12-cloud | headers-6.12-rt | \
	headers-newest-cloud | headers-newest-rt)
		setup_flavour "${part#headers-}" ;;
	image-6.1-cloud | image-6.1-rt | image-6.12-cloud | image-6.12-rt | \
	image-newest-cloud | image-newest-rt)
		setup_flavour_image "${part#image-}" ;;
	*) usage ;;
	esac
done
