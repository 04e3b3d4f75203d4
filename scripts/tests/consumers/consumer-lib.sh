# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scenarios of programs that use verbs: two hosts, each of which sees only its own
# RDMA device, as on two machines, so programs find it without an option.

. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"

# no_consumer NAME: a kernel need not have it, but we build that of User-Mode Linux with all
no_consumer() {
	case ${RHCA_KERNEL:-} in
	uml-*) die "the kernel has no $1, or does not find its modules" ;;
	*) skip "the kernel has no $1" ;;
	esac
}

netns_mode() { rdma system show netns | grep -oE 'shared|exclusive'; }
set_netns_mode() { rdma system set netns "$1"; }	# fails while namespaces exist

end_hosts() {
	teardown_pair
	busywait 60 set_netns_mode shared ||
		LEFT_BEHIND="a network namespace that something still uses, so devices stay exclusive"
}

# setup_hosts [MTU]: as in the picture of lib.sh, with devices in their own namespaces
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

# Replaces that of lib.sh: connection identifiers are in the namespace of their device.
cm_id_listens() { in_a rdma resource show cm_id 2> /dev/null | grep -E 'LISTEN' | grep -qE ":$1( |\$)"; }

# sent: packets sent by the devices of both hosts
sent() {
	local a b
	a=$(in_a cat "$IB/$DEV_A/ports/1/hw_counters/tx_packets")
	b=$(in_b cat "$IB/$DEV_B/ports/1/hw_counters/tx_packets")
	echo $((a + b))
}

# used WHAT BEFORE LEAST: at least LEAST packets of RDMA were sent since BEFORE
used() {
	local now
	now=$(sent)
	if [ $((now - $2)) -ge "$3" ]; then pass "$1: by RDMA ($((now - $2)) packets)"
	else fail "$1: expected at least $3 packets of RDMA, got $((now - $2))"; fi
}

sent_since() { [ $(($(sent) - $1)) -ge "$2" ]; }	# sent_since BEFORE PACKETS

# flap_under_load BEFORE PACKETS: once that many have been sent, the link is down for 0.3 s,
# which also removes neighbours and IPv4 routes
flap_under_load() {
	busywait 120 sent_since "$1" "$2" || return
	show_b ip link set "$IF_B" down || return
	sleep 0.3
	show_b ip link set "$IF_B" up
	[ -n "$NETNS" ] || ip route replace $IP4_A/32 dev "$IF_B" src $IP4_B table 100
}

# flapped WHAT PID: flap_under_load has ended before the work ends
flapped() {
	local meanwhile=yes
	kill -0 "$2" 2> /dev/null && meanwhile=no
	wait "$2" || meanwhile="no (status $?)"
	check "$1: the link went and came meanwhile" yes "$meanwhile"
}

# while_flapping COMMAND...: repeat the work until the link has flapped meanwhile
while_flapping() {
	local flap

	flap_under_load "$(sent)" 500 &
	flap=$!
	while kill -0 $flap 2> /dev/null; do
		"$@"
	done
	check_ok "the link went and came meanwhile" wait $flap
}

# remove_device WHAT a|b: while it is in use
remove_device() {
	local device=$DEV_A host=$NS_A

	[ "$2" = a ] || device=$DEV_B host=$NS_B
	within 60 "$1" ${NETNS:+ip netns exec "$host"} rdma link del "$device"
}

# new_device a|b: replaces the one that was removed
new_device() {
	case $1 in
	a) add_link a "$DEV_A" "$IF_A" ;;
	b) add_link b "$DEV_B" "$IF_B" ;;
	esac
	wait_gids_of "$1"
	[ -n "$NETNS" ] || return 0
	case $1 in
	a) show rdma dev set "$DEV_A" netns "$NS_A" ;;
	b) show rdma dev set "$DEV_B" netns "$NS_B" ;;
	esac || die "the new device of $1 does not move"
}

wait_gids_of() {
	case $1 in
	a) busywait 60 gid_index "$DEV_A" v2 $IP4_A ;;
	b) busywait 60 gid_index "$DEV_B" v2 $IP4_B ;;
	esac || die "the new device of $1 has no GID"
}

# ended_well SECONDS PID: a child
ended_well() { busywait "$1" eval "! kill -0 $2" && wait "$2"; }

# own_index v1|v2: GID index of a's IPv4 address; b's is the same
own_index() {
	in_a "$TOP/tools/user/show_gids" --json "$DEV_A" | $PYTHON -c "import json, sys
print([g['index'] for g in json.load(sys.stdin) if g['ver'] == '$1' and g['ipv4']][0])"
}

# watch_wire v1|v2, then seen_on_wire WHAT: b has received 20 packets of that version
WIRE_PID=
watch_wire() {
	local filter='udp dst port 4791'

	[ "$1" = v2 ] || filter='ether proto 0x8915'
	spawn_b timeout 200 tcpdump -i "$IF_B" -nn -Q in -c 20 "$filter" > /dev/null 2> "$WORK/wire"
	WIRE_PID=$!
	busywait 60 grep -q 'listening on' "$WORK/wire" || die "tcpdump does not start: $(cat "$WORK/wire")"
}
seen_on_wire() { check_ok "$1" ended_well 60 $WIRE_PID; }

# removed_under_load WHAT READY SERVER CLIENT: the device of a is removed while b sends; b's
# program must end, with any result; a's may. READY: see pair
has_ended() { ! kill -0 "$1" 2> /dev/null; }
removed_under_load() {
	local what=$1 before server client

	before=$(sent)
	echo "+ a: $3"
	# shellcheck disable=SC2086
	spawn_a setsid $3 > "$WORK/removed.srv" 2>&1
	server=$!
	case $2 in
	tcp:*) busywait 60 listens_tcp $server "${2#tcp:}" ;;
	cm:*) listens_cm $server "${2#cm:}" ;;
	esac || say "$what: the server never listened"
	echo "+ b: $4"
	# shellcheck disable=SC2086
	spawn_b setsid $4 > "$WORK/removed.cli" 2>&1
	client=$!
	defer "kill -KILL -- -$server -$client"
	busywait 120 sent_since "$before" 2000 ||
		fail "$what: the load does not begin: $(tail -n 3 "$WORK/removed.cli")"
	remove_device "$what: the device of a is removed" a
	wait_check 120 "$what: b ends" has_ended $client
}
