# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scenarios of programs that use verbs share: two hosts, each of which sees
# its own RDMA device and no other, as on two machines. Programs then find it without
# being told which.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

netns_mode() { rdma system show netns | grep -oE 'shared|exclusive'; }
set_netns_mode() { rdma system set netns "$1"; }	# refused while there are namespaces

end_hosts() {
	teardown_pair
	busywait 60 set_netns_mode shared
}

# setup_hosts [MTU]: the picture of lib.sh, with devices in their own namespaces
setup_hosts() {
	load_driver
	busywait 60 set_netns_mode exclusive || die "namespaces that others made are left"
	defer end_hosts
	setup_pair "${1:-9000}"
	show rdma dev set "$DEV_A" netns "$NS_A" || die "$DEV_A does not move"
	show rdma dev set "$DEV_B" netns "$NS_B" || die "$DEV_B does not move"
	make_device_nodes in_a
	make_device_nodes in_b
}

# Of lib.sh: connection identifiers are in the namespace of their device.
listens_cm() { in_a rdma resource show cm_id 2> /dev/null | grep -E 'LISTEN' | grep -qE ":$1( |\$)"; }

# sent: packets that the devices of both hosts have sent
sent() {
	local a b
	a=$(in_a cat "$IB/$DEV_A/ports/1/hw_counters/tx_packets")
	b=$(in_b cat "$IB/$DEV_B/ports/1/hw_counters/tx_packets")
	echo $((a + b))
}

# used WHAT BEFORE LEAST: since then at least so many packets of RDMA were sent
used() {
	local now
	now=$(sent)
	if [ $((now - $2)) -ge "$3" ]; then pass "$1: by RDMA ($((now - $2)) packets)"
	else fail "$1: expected at least $3 packets of RDMA, got $((now - $2))"; fi
}

# flap_under_load BEFORE PACKETS: once so many have been sent since, the wire is cut
# for 0.3 s, and neighbours and IPv4 routes with it
flap_under_load() {
	enough() { [ $(($(sent) - $1)) -ge "$2" ]; }
	busywait 120 enough "$1" "$2" || return
	show_b ip link set "$IF_B" down || return
	sleep 0.3
	show_b ip link set "$IF_B" up
}

# flapped WHAT PID: when the work has ended, flap_under_load has ended already
flapped() {
	local meanwhile=yes
	kill -0 "$2" 2> /dev/null && meanwhile=no
	wait "$2" || meanwhile="no (status $?)"
	check "$1: the link went and came meanwhile" yes "$meanwhile"
}
