# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Two hosts with addresses on a netdev, a VLAN and an active-active bond, IPsec between them,
# and captures of everything that each sends, on top of lib.sh and lag-lib.sh.
#
#   a: va1 --+- ba$$      va3, va3.7  ====== veth ======  vb3, vb3.7      bb$$ -+-- vb1
#      va2 --+                                                                  +-- vb2
# 10.9.N.1, fd9N::1: N is 0 for the programs' own communication, 1 on va3, 7 on its VLAN, 5 on
# the bond. Packets that leave a host are captured there, as frames.

can_ipsec() {
	local file=$WORK/probe
	ip netns exec "$NS_A" ip xfrm state add src 10.9.0.1 dst 10.9.0.2 proto esp spi 9 reqid 9 mode transport \
		"${AEAD[@]}" > "$file" 2>&1 && ip netns exec "$NS_A" ip xfrm state flush && return
	say "$(< "$file")"
	return 1
}
AEAD=(aead 'rfc4106(gcm(aes))' 0x0123456789abcdef0123456789abcdef01234567 128)
MTU=4200

# addresses N NETDEV-A NETDEV-B
addresses() {
	in_a ip addr add "10.9.$1.1/24" dev "$2"
	in_b ip addr add "10.9.$1.2/24" dev "$3"
	in_a ip -6 addr add "fd9$1::1/64" dev "$2" nodad
	in_b ip -6 addr add "fd9$1::2/64" dev "$3" nodad
	in_a ip link set "$2" up
	in_b ip link set "$3" up
	busywait 60 in_a ping -c1 -W1 "10.9.$1.2" || die "10.9.$1.2 does not answer"
	busywait 60 in_a ping -6 -c1 -W1 "fd9$1::2" || die "fd9$1::2 does not answer"
}

ipsec_setup() {
	local i

	lag_setup
	modprobe -q esp4
	modprobe -q esp6
	can_ipsec || skip "no ESP on this kernel"
	show ip link add va3 netns "$NS_A" mtu $MTU type veth peer name vb3 netns "$NS_B" mtu $MTU || die "no veth"
	IF_A=va3 IF_B=vb3	# for "both"
	for i in 1 2; do
		in_a ip link set va$i up
		in_b ip link set vb$i up
	done
	addresses 0 va3 vb3
	addresses 1 va3 vb3
	both ip link add link IF name IF.7 type vlan id 7
	addresses 7 va3.7 vb3.7
	bond_up balance-xor
	addresses 5 "$BOND_A" "$BOND_B"
	add_link a "$DEV_A" va3
	add_link b "$DEV_B" vb3
	add_link a "la$$" "$BOND_A"
	add_link b "lb$$" "$BOND_B"
	defer "rdma link del la$$; rdma link del lb$$"
	make_device_nodes
}

# --- policies ------------------------------------------------------------------------

# on_both FUNCTION...: call it with in_a|in_b, this host's address and the peer's
on_both() {
	"$@" in_a "$A" "$B"
	"$@" in_b "$B" "$A"
}

# Protect packets that match SELECTOR, by MODE
require() {
	local side=$1 here=$2 there=$3 tunnel_out='' tunnel_in=''

	[ "$MODE" = transport ] || tunnel_out="src $here dst $there" tunnel_in="src $there dst $here"
	# shellcheck disable=SC2086
	$side ip xfrm policy add src "$here" dst "$there" $SELECTOR dir out \
		tmpl $tunnel_out proto esp reqid 1 mode "$MODE" || fail "$WHAT: no policy"
	# shellcheck disable=SC2086
	$side ip xfrm policy add src "$there" dst "$here" $SELECTOR dir in \
		tmpl $tunnel_in proto esp reqid 1 mode "$MODE" || fail "$WHAT: no policy"
}

add_states() {
	local side=$1 here=$2 there=$3

	$side ip xfrm state add src "$here" dst "$there" proto esp spi "$(spi "$here")" reqid 1 \
		mode "$MODE" "${AEAD[@]}" || fail "$WHAT: no state"
	$side ip xfrm state add src "$there" dst "$here" proto esp spi "$(spi "$there")" reqid 1 \
		mode "$MODE" "${AEAD[@]}" || fail "$WHAT: no state"
}
spi() { case $1 in *1) echo 0x1001 ;; *) echo 0x1002 ;; esac; }

forget() {
	$1 ip xfrm state flush
	$1 ip xfrm policy flush
}

# --- traffic -------------------------------------------------------------------------

# listen [N]: capture packets that leave either host, on any netdev, where VLAN tags are not
# visible; or on va$N and vb$N, where they are
listen() {
	local host

	for host in a b; do
		rm -f "$WORK/$host.pcap"
		"spawn_$host" tcpdump -i "${1:+v$host}${1:-any}" -Q out -s 128 -B 8192 --immediate-mode -U -w "$WORK/$host.pcap" \
			'not arp' 2> "$WORK/$host.err"
		eval "LISTENER_$host=$!"
		busywait 60 grep -q 'listening on' "$WORK/$host.err" || die "tcpdump: $(cat "$WORK/$host.err")"
	done
}

at_rest() { grep -q ') S ' "/proc/$1/stat"; }

CLEAR_a='' ESP_a='' CLEAR_b='' ESP_b=''
heard() { # packets of these kinds sent by a and b
	local host pid

	sleep 0.3
	for host in a b; do
		eval "pid=\$LISTENER_$host"
		busywait 60 at_rest "$pid"
		kill -INT "$pid"
		wait "$pid" 2> /dev/null
		eval "CLEAR_$host=$(count_packets $host 'udp.dstport == 4791') ESP_$host=$(count_packets $host esp)"
	done
}
count_packets() { tshark -r "$WORK/$1.pcap" -Y "$2" 2> /dev/null | wc -l; }

PORT=20100
# ping_pong NAME OPTION...: RC between A of DA and B of DB
ping_pong() {
	local name=$1

	shift
	PORT=$((PORT + 1))
	pair "$name" tcp:$PORT "ibv_rc_pingpong -d $DA -g $IA -p $PORT $*" \
		"ibv_rc_pingpong -d $DB -g $IB_ -p $PORT $* 10.9.0.1"
}

# no_ping_pong NAME OPTION...: it ends with an error
no_ping_pong() {
	local name=$1 server

	shift
	PORT=$((PORT + 1))
	spawn_a timeout -k 1 60 ibv_rc_pingpong -d "$DA" -g "$IA" -p $PORT "$@" > "$WORK/srv" 2>&1
	server=$!
	busywait 60 listens_tcp $server $PORT
	check_fails "$name" quietly "$WORK/cli" in_b timeout -k 1 30 ibv_rc_pingpong -d "$DB" -g "$IB_" -p $PORT "$@" 10.9.0.1
	kill $server 2> /dev/null
	wait $server 2> /dev/null
}

# icrc_errors: sum of both hosts
icrc_errors() { echo $(($(hw_counter "$DA" rx_icrc_encapsulated) + $(hw_counter "$DB" rx_icrc_encapsulated))); }

filtered() { hw_counter "$DB" tx_dropped_filtered; }

# on N DEVICE-A DEVICE-B FAMILY
on() {
	DA=$2 DB=$3
	if [ "$4" = 4 ]; then A=10.9.$1.1 B=10.9.$1.2
	else A=fd9$1::1 B=fd9$1::2; fi
	busywait 60 gid_index "$DA" v2 "$A" || die "no GID for $A"
	busywait 60 gid_index "$DB" v2 "$B" || die "no GID for $B"
	IA=$(gid_index "$DA" v2 "$A") IB_=$(gid_index "$DB" v2 "$B")
}
