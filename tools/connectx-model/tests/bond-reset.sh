#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two adapters of one machine ("--adapters 2") whose ports are served by software, bonded: one
# device of roce_hca for both. An adapter is reloaded, so its netdev is removed and a new one
# created; then both are, in quick succession. Each port gets its device with the partitions of
# the bond's, and when bonded again they are one device with these.
. "$(dirname "$0")/guest-lib.sh"

partition=0x8001

pci_of() {
	basename "$(readlink -f "/sys/bus/auxiliary/devices/mlx5_core.eth.$1/..")"
}

netdev_of() {
	compgen -G "/sys/bus/pci/devices/$(pci_of "$1")/net/*"
}

# device_on NETDEV: a member of a bond may have no GID to identify it by
device_on() {
	rdma link show | sed -n "s|^link \([^/]*\)/1 .* netdev $1 *$|\1|p" | grep .
}

# has_device FUNCTION: ours, on its current netdev
has_device() {
	local ndev

	ndev=$(netdev_of "$1") && device_on "${ndev##*/}"
}

has_partition() {
	grep -q "^1 $partition" "/sys/class/infiniband/$(device_on "$1")/partitions/1/pkeys"
}

# has_all: sets the netdevs a and b
has_all() {
	if ! { wait_for has_device 0 && wait_for has_device 1; }; then
		ip -br link
		rdma link
		return 1
	fi
	a=$(basename "$(netdev_of 0)")
	b=$(basename "$(netdev_of 1)")
	echo "netdevs $a and $b"
}

# make_bond: from the netdevs; a reload has removed their addresses and state
make_bond() {
	local ndev

	for ndev in "$a" "$b"; do
		ip link set "$ndev" down
		ip link set "$ndev" master bond0 || return 1
	done
	ip link set bond0 up
	# Wait less than minutes: if partitions differ, no device is created
	for _ in {1..60}; do
		! device_on bond0 || return 0
		sleep 0.5
	done
	return 1
}

prepare() {
	modprobe mlx5_core "$no_keys_in_advance"
	modprobe bonding max_bonds=0
	modprobe roce_hca 'netdevs=eth*' && has_all || return 1
	first=$(device_on "$a")
	second=$(device_on "$b")
	ip link add bond0 type bond mode active-backup miimon 100 && make_bond &&
		echo "1 $partition" > "/sys/class/infiniband/$(device_on bond0)/partitions/1/pkeys" &&
		has_partition bond0
}

# has_what_it_had NETDEV NAME
has_what_it_had() {
	echo "$1 has $(device_on "$1"), had $2"
	head -n 3 "/sys/class/infiniband/$(device_on "$1")/partitions/1/pkeys"
	[ "$(device_on "$1")" = "$2" ] && has_partition "$1"
}

# reload FUNCTION...
reload() {
	local function

	for function; do
		devlink dev reload "pci/$(pci_of "$function")" || return 1
	done
	has_all
}

check prepare prepare
check one-reloaded reload 0
check one-has-its-partition has_what_it_had "$a" "$first"
check other-has-its-partition has_what_it_had "$b" "$second"
check bonded-again make_bond
check bond-has-the-partition has_partition bond0
check both-reloaded reload 1 0
check both-first-has-its-partition has_what_it_had "$a" "$first"
check both-second-has-its-partition has_what_it_had "$b" "$second"
finish
