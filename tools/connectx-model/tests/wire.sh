#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two machines with a model each, on one wire: a is the client, b the server.
#
# usage: wire.sh [DRIVER]   of both adapters: mlx5_ib (default) or roce_hca_mlx5
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=${1-mlx5_ib}

case $VM_ROLE in
a) host=1 ;;
b) host=2 ;;
esac
check bring-up bring_up 10.7.0.$host
peer=10.7.0.2
at="-d $rdma -g $gid"
perf="-d $rdma -x $gid -F"

# Addresses on a VLAN, and of IPv6.
more_addresses() {
	ip link add link "$netdev" name cx5 type vlan id 5 &&
		ip address add 10.8.0.$host/24 dev cx5 && ip link set cx5 up &&
		ip address add fd00:7::$host/64 dev "$netdev" nodad || return 1
	wait_for find_gid v2 "0a08:000$host" && wait_for find_gid v2 "^fd00:0007" || return 1
	vlan_gid=$(find_gid v2 "0a08:000$host")
	ipv6_gid=$(find_gid v2 "^fd00:0007")
}

# The group's sender repeats its message, for a receiver that joined late.
to_group() {
	for _ in $(seq 10); do
		[ ! -e "$VM_SHARE/multicast.end" ] || return 0
		mckey -m 239.7.7.7 -b 10.7.0.1 -s || return 1
		sleep 1
	done
}
export -f to_group
export VM_SHARE

check more-addresses more_addresses
signal "$VM_ROLE.up"
await a.up && await b.up
if [ "$VM_ROLE" = a ]; then
	check ping ping -c 3 -W 20 $peer
	check ping-large ping -c 2 -W 20 -s 4000 $peer
	check ping-vlan ping -c 2 -W 20 10.8.0.2
	check ping-ipv6 ping -c 2 -W 20 fd00:7::2
fi
across tcp "iperf3 -s -1" "iperf3 -c $peer -n 4M"
across tcp-reverse "iperf3 -s -1" "iperf3 -R -c $peer -n 4M"
across rc "ibv_rc_pingpong $at -n 200" "ibv_rc_pingpong $at -n 200 $peer"
across ud "ibv_ud_pingpong $at -n 200" "ibv_ud_pingpong $at -n 200 $peer"
across rc-v1 "ibv_rc_pingpong -d $rdma -g $gid1 -n 100" \
	"ibv_rc_pingpong -d $rdma -g $gid1 -n 100 $peer"
for kind in vlan ipv6; do
	name=${kind}_gid
	across rc-$kind "ibv_rc_pingpong -d $rdma -g ${!name} -n 100" \
		"ibv_rc_pingpong -d $rdma -g ${!name} -n 100 $peer"
	across ud-$kind "ibv_ud_pingpong -d $rdma -g ${!name} -n 100" \
		"ibv_ud_pingpong -d $rdma -g ${!name} -n 100 $peer"
done
across rc-priority "ibv_rc_pingpong -d $rdma -g $vlan_gid -l 3 -n 100" \
	"ibv_rc_pingpong -d $rdma -g $vlan_gid -l 3 -n 100 $peer"
if [ -e "$RHCA_SHARE/pcap" ]; then
	check priority on_wire 'ether[14] & 0xe0 = 0x60 and vlan 5 and udp dst port 4791'
fi
patience=20 across multicast "mckey -m 239.7.7.7 -b $peer" to_group
across rping "rping -s -a $peer -C 20 -v" "rping -c -a $peer -C 20 -v"
for op in write read send; do
	across "$op" "ib_${op}_bw $perf -n 20 -s 65536" \
		"ib_${op}_bw $perf -n 20 -s 65536 $(client_of $op) $peer"
done
# Streams between kernels. Without RDMA SMC silently uses TCP.
smc=$work/smc-bytes
if modprobe smc && gcc -O1 -o "$smc" "$(dirname "$0")/../../../scripts/tests/consumers/smc-bytes.c"; then
	before=$(counter send_requests)
	across smc "$smc server $peer 7001" "$smc client $peer 7001 1024"
	check smc-by-rdma [ $(($(counter send_requests) - before)) -ge 20 ]
else
	echo "SKIP smc (this kernel has none, or there is no compiler)"
fi
across atomic "ib_atomic_bw $perf -n 50" "ib_atomic_bw $perf -n 50 $peer"
finish
