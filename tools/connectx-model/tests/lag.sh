#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two machines whose adapters have two ports, a wire for each:
#
#	a: one RDMA device      b: one RDMA device
#	   bond0 10.7.0.1          bond0 10.7.0.2
#	   |    port 1  ---------  port 1    |
#	   +--  port 2  ---------  port 2  --+
#
# The driver makes one RDMA device of bonded ports (CREATE_LAG), spreads its queue
# pairs over both, and moves them when a link goes (MODIFY_LAG).
#
# usage: lag.sh [roce_hca_mlx5]   the driver; mlx5_ib is the other
. "$(dirname "$0")/guest-lib.sh"

driver=${1-mlx5_ib}

netdevs() {
	compgen -G '/sys/bus/pci/drivers/mlx5_core/*/net/*' | sed 's|.*/||'
}

# are_apart, is_one: the RDMA devices of the adapter, and no others: one for each port, or one
# for the bond
are_apart() {
	[ "$(has_rdma | wc -l)" = 2 ] && [ "$(ls /sys/class/infiniband | wc -l)" = 2 ]
}

is_one() {
	[ "$(has_rdma | wc -l)" = 1 ] && [ "$(ls /sys/class/infiniband | wc -l)" = 1 ] &&
		grep -qsx bond0 "$(has_rdma)"/ports/1/gid_attrs/ndevs/*
}

load() {
	local module

	modprobe bonding max_bonds=0
	for module in mlx5_core $driver ib_uverbs rdma_ucm ib_umad; do
		modprobe $module
	done
	wait_for are_apart && [ "$(netdevs | wc -l)" = 2 ]
}

# map_is PORT PORT: ports of affinity 1 and 2, in the driver's last message
map_is() {
	dmesg | grep -o 'lag map:.*' | tail -n 1 | grep -q "port 1:$1 port 2:$2"
}

bond() {
	local port

	ip link add bond0 type bond mode balance-xor miimon 100 xmit_hash_policy layer3+4
	for port in $(netdevs); do
		ip link set "$port" down
		ip link set "$port" master bond0 || return 1
	done
	ip address add "$address/24" dev bond0
	ip link set bond0 mtu 4200 up
	wait_for is_one && wait_for map_is 1 2 || return 1
	rdma=$(basename "$(has_rdma)")
	wait_for is_active && wait_for find_gid v2 ffff && gid=$(find_gid v2 ffff)
}

# sent_more LEAST-BY-PORT-1 LEAST-BY-PORT-2 [MOST-BY-PORT-1]: since the last call
sent=(0 0)
sent_more() {
	local port now more=() least=("$1" "$2") most=${3-}

	for port in 0 1; do
		now=$(counter wire_tx_packets $port)
		more[port]=$((now - sent[port]))
		sent[port]=$now
	done
	echo "packets sent by port 1: ${more[0]}, by port 2: ${more[1]}"
	[ "${more[0]}" -ge "${least[0]}" ] && [ "${more[1]}" -ge "${least[1]}" ] &&
		{ [ -z "$most" ] || [ "${more[0]}" -le "$most" ]; }
}

# link UP MAP MAP: of port 1, and the resulting map
link() {
	control "{\"cmd\":\"link\",\"device\":0,\"up\":$1}" && wait_for map_is "$2" "$3"
}

unbond() {
	ip link delete bond0 && wait_for are_apart
}

reload() {
	modprobe -r $driver && modprobe -r mlx5_core && load
}

case $VM_ROLE in
a) address=10.7.0.1 ;;
b) address=10.7.0.2 ;;
esac
peer=10.7.0.2
check load load
check bond bond
at="-d $rdma -g $gid"
perf="-d $rdma -x $gid -F"
signal "$VM_ROLE.up"
await a.up && await b.up
[ "$VM_ROLE" = b ] || check ping ping -c 3 -W 20 $peer
across rping "rping -s -a $peer -C 10 -v" "rping -c -a $peer -C 10 -v"
sent_more 0 0 > /dev/null
across spread "ib_write_bw $perf -q 4 -n 50 -s 16384" "ib_write_bw $perf -q 4 -n 50 -s 16384 $peer"
[ "$VM_ROLE" = b ] || check both-ports sent_more 100 100
check link-down link false 2 2
signal "$VM_ROLE.down"
await a.down && await b.down
sent_more 0 0 > /dev/null
across one-port "ib_write_bw $perf -q 4 -n 50 -s 16384" "ib_write_bw $perf -q 4 -n 50 -s 16384 $peer"
[ "$VM_ROLE" = b ] || check port-2-only sent_more 0 100 0
check link-up link true 1 2
signal "$VM_ROLE.again"
await a.again && await b.again
across both-again "ibv_rc_pingpong $at -n 100" "ibv_rc_pingpong $at -n 100 $peer"
check unbond unbond
check reload reload
finish
