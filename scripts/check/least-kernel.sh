#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the software HCA for a kernel that has no more than it needs: without on-demand paging,
# VLANs, IPv6 and what else distributions enable. The kernel's source is that of User-Mode
# Linux, configured for x86-64 and prepared, not built: that symbols exist is not checked.
#
# usage: scripts/check/least-kernel.sh

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
without=(IPV6 VLAN_8021Q BONDING DCB NETFILTER XFRM IP_MULTICAST NET_L3_MASTER_DEV
	INFINIBAND_ADDR_TRANS INFINIBAND_ON_DEMAND_PAGING MMU_NOTIFIER CGROUPS MEMCG NET_NS USER_NS
	TRACEPOINTS FTRACE DEBUG_FS PROC_FS SMP JUMP_LABEL PM_SLEEP LIBNVDIMM)
# What holds one of these
holders=(KVM DRM SUSPEND HIBERNATION XFRM_USER INET_ESP PERF_EVENTS KPROBES BPF_SYSCALL SECURITY AUDIT
	ACPI NUMA TRANSPARENT_HUGEPAGE)

source=$(dirname "$(scripts/uml/build base)")
kernel=$PWD/build/least-kernel
mkdir -p "$kernel"

kbuild() { make -s -C "$source" O="$kernel" ARCH=x86_64 "$@"; }

kbuild x86_64_defconfig > /dev/null
"$source/scripts/config" --file "$kernel/.config" -e EXPERT -m INFINIBAND \
	-m INFINIBAND_USER_ACCESS -m WIREGUARD -m VXLAN
for option in "${without[@]}" "${holders[@]}"; do
	"$source/scripts/config" --file "$kernel/.config" -d "$option"
done
kbuild olddefconfig > /dev/null
for option in "${without[@]}"; do
	! grep "^CONFIG_$option=" "$kernel/.config" || {
		echo "least-kernel: this kernel cannot be without $option" >&2
		exit 1
	}
done
kbuild modules_prepare > /dev/null
RHCA_STRICT=1 make -s modules KVER=least "KDIR=$kernel" \
	KBUILD_ARGS="-j$(nproc) KBUILD_MODPOST_WARN=1" 2> build/least.log || {
	grep -v modpost build/least.log >&2
	exit 1
}
echo "1 passed, 0 failed"
