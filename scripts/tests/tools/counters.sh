#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# ports/N/counters with traffic of known size, in words as IBTA counts them; the
# netdev's counters; performance datagrams to the own port and to the other
# host's, read, extended, set and cleared (roce-perfquery); one counter for each
# reason to drop a packet, in and out (counters.py); QPs bound to counters of
# their own by hand and by rule; optional counters.
#
#   a (ra$$, aimed at)  ====== veth ======  b (packet socket on vb$$)

. "$(dirname "$0")/../lib/lib.sh"

only_ours
setup_pair 1500
loaded ib_umad || [ -d /sys/class/infiniband_mad ] || modprobe ib_umad
make_device_nodes

counter() { cat "$IB/$1/ports/1/counters/$2"; }
# counters of errors on the port
troubles() { (cd "$IB/$1/ports/1/counters" && grep -H . ./*_error* ./*_dropped ./*_discards | grep -v ':0$'); }
link_stat() { in_a cat "/sys/class/net/$IF_A/statistics/$1"; }
perfquery() { # perfquery DEVICE OPTION...: "NAME=VALUE" of each counter
	# Queries repeated because a machine stalled would be counted as well.
	"$TOP/tools/user/roce-perfquery" -t 20000 -C "$1" "${@:2}" 2>&1 | sed -n 's/^\([A-Za-z0-9]*\):\.*/\1=/p'
}
shown() { # shown NAME DEVICE OPTION...
	perfquery "${@:2}" | sed -n "s/^$1=//p"
}
PORT=18700
# datagrams TYPE: 100 of them each way, 500 bytes of payload
datagrams() {
	local ia ib
	ia=$(gid_index "$DEV_A" "$1" $IP4_A) ib=$(gid_index "$DEV_B" "$1" $IP4_B)
	PORT=$((PORT + 1))
	pair "100 datagrams each way, $1" tcp:$PORT \
		"ibv_ud_pingpong -d $DEV_A -g $ia -p $PORT -n 100 -s 500" \
		"ibv_ud_pingpong -d $DEV_B -g $ib -p $PORT -n 100 -s 500 $IP4_A"
}

# --- traffic of known size ----------------------------------------------------------

# BTH 12, DETH 8, payload 500, ICRC 4; in front GRH 40 or IPv4 and UDP 28
declare -A WORDS=([v1]=14100 [v2]=13800)
for type in v1 v2; do
	x=$(counter "$DEV_A" port_xmit_data) r=$(counter "$DEV_A" port_rcv_data)
	xp=$(counter "$DEV_A" unicast_xmit_packets) rp=$(counter "$DEV_A" unicast_rcv_packets)
	nx=$(link_stat tx_packets) nb=$(link_stat tx_bytes)
	datagrams $type
	check "$type: port_xmit_data, 32-bit words" ${WORDS[$type]} $(($(counter "$DEV_A" port_xmit_data) - x))
	check "$type: port_rcv_data, 32-bit words" ${WORDS[$type]} $(($(counter "$DEV_A" port_rcv_data) - r))
	check "$type: unicast_xmit_packets" 100 $(($(counter "$DEV_A" unicast_xmit_packets) - xp))
	check "$type: unicast_rcv_packets" 100 $(($(counter "$DEV_A" unicast_rcv_packets) - rp))
	# The two programs also communicate over TCP.
	check "$type: the netdev counts them too" yes \
		"$([ $(($(link_stat tx_packets) - nx)) -ge 100 ] && [ $(($(link_stat tx_bytes) - nb)) -ge $((WORDS[$type] * 4 + 1400)) ] && echo yes)"
done
check "no error was counted" "" "$(troubles "$DEV_A")"

# --- performance datagrams ----------------------------------------------------------

show "$TOP/tools/user/roce-perfquery" -C "$DEV_A" -x
check "the own port by datagram, as sysfs has it" "$(counter "$DEV_A" multicast_rcv_packets)" \
	"$(shown PortMulticastRcvPkts "$DEV_A" -x)"
# Each datagram is counted before the next: ClassPortInfo, its answer, and this one.
before=$(counter "$DEV_A" port_xmit_packets)
got=$(shown PortXmitPkts "$DEV_A" -x)
check "extended: what was sent and the datagrams themselves" $((before + 3)) "$got"
before=$(counter "$DEV_A" port_rcv_packets)
got=$(shown PortRcvPkts "$DEV_B" -x -G $IP4_A)
check "the other host's port: ClassPortInfo and this" $((before + 2)) "$got"
ok=$(perfquery "$DEV_A" -R > /dev/null; shown PortXmitPkts "$DEV_A")
check "PortCounters cleared: only the datagrams since" yes "$([ "$ok" -le 8 ] && echo yes || echo "$ok")"
check "the extended ones were not" yes "$([ "$(shown PortXmitPkts "$DEV_A" -x)" -gt 200 ] && echo yes)"
perfquery "$DEV_A" -x -R 1 0x2 > /dev/null
check "PortRcvData alone cleared" "yes yes" \
	"$([ "$(counter "$DEV_A" port_rcv_data)" -lt 1000 ] && echo yes) $([ "$(counter "$DEV_A" port_xmit_data)" -gt 20000 ] && echo yes)"
check "shown, then cleared" yes \
	"$([ "$(shown PortXmitData "$DEV_A" -x -r)" -gt 20000 ] && [ "$(counter "$DEV_A" port_xmit_data)" -lt 1000 ] && echo yes)"
check "all ports" 255 "$(shown PortSelect "$DEV_A" -a)"
check "port after port" 1 "$(shown PortSelect "$DEV_A" -l)"
check_fails "a port that does not exist" "$TOP/tools/user/roce-perfquery" -C "$DEV_A" 2

# --- why packets are dropped --------------------------------------------------------

mac_a=$(in_a cat "/sys/class/net/$IF_A/address") mac_b=$(in_b cat "/sys/class/net/$IF_B/address")
for type in v1 v2; do
	ipv6=()
	[ $type = v1 ] || ipv6=(--index6-a "$(gid_index "$DEV_A" v2 $IP6_A)" --ip6 "$IP6_B")
	python counters.py "$DEV_A" "$(gid_index "$DEV_A" $type $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" $type $IP4_B)" \
		--version $type --netns "/run/netns/$NS_B" --netdev "$IF_B" --src-mac "$mac_b" \
		--dst-mac "$mac_a" --src-ip $IP4_B --dst-ip $IP4_A --netns-a "$NS_A" --netdev-a "$IF_A" \
		"${ipv6[@]}"
done

# --- QPs with counters of their own -------------------------------------------------

python bound-counters.py "$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)"

# --- the link -----------------------------------------------------------------------

before=$(counter "$DEV_A" link_downed)
show_b ip link set "$IF_B" down
# The netdev detects it at once, its notifiers soon: both before it is up again.
is_down() { [ "$(port_state "$DEV_A")" = DOWN ] && [ "$(counter "$DEV_A" link_downed)" != "$before" ]; }
busywait 60 is_down
show_b ip link set "$IF_B" up
busywait 60 port_active "$DEV_A"
check "link_downed: carrier lost once" $((before + 1)) "$(counter "$DEV_A" link_downed)"

finish
