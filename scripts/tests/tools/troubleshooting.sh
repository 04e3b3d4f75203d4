#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 900
#
# Each row of the table in Documentation/operating.rst: the fault is injected, the symptom
# appears, and the command shows what the table says. Where roce-status should find the
# cause, it names it and the next command.
#
#   a (initial namespace)  ====== veth ======  b

. "$(dirname "$0")/../lib/lib.sh"
only_ours

# row CAUSE: that row is reproduced next; check/knobs.sh compares with the table
row() { say "$1"; }

# symptom WHAT STATUS CASE [TYPE-A TYPE-B]: result of a's message to b
symptom() {
	local a=${4:-v2} b=${5:-${4:-v2}}

	check "$1" "$2" "$($PYTHON "$HERE/trouble.py" "$3" "$DEV_A" "$(gid_index "$DEV_A" "$a" $IP4_A)" \
		"$DEV_B" "$(gid_index "$DEV_B" "$b" $IP4_B)" 2>&1)"
}

# status_says PATTERN: a problem reported by roce-status
status_says() { "$TOP/tools/user/roce-status" "${2:-$DEV_A}" | grep -qE "^  .*$1"; }

# names PATTERN COUNTER [DEVICE]: and it names the next command
names() { wait_check 60 "roce-status: $2" status_says "$1.*\($2 [0-9]+\)\. Next: " "${3:-$DEV_A}"; }

grew() { # grew DEVICE COUNTER BEFORE
	[ "$(hw_counter "$1" "$2")" -gt "$3" ]
}

setup_pair_here 9000
symptom "nothing is wrong: success" 0 send

row "port down"
ip link set "$IF_A" down
wait_check 60 "ibv_devinfo says PORT_DOWN" sh -c "ibv_devinfo -d $DEV_A | grep -q PORT_DOWN"
wait_check 60 "roce-status: the port is down" status_says "is DOWN: netdev $IF_A is Down"
ip link set "$IF_A" up
wait_check 60 "up again" port_active "$DEV_A"

row "no GID"
ip addr flush dev "$IF_A"
wait_check 60 "roce-status: no GID" status_says "no GID of an IP address"
check "show_gids has none of an IPv4 address" "" \
	"$("$TOP/tools/user/show_gids" "$DEV_A" | grep -oE '([0-9]+\.){3}[0-9]+')"
check "connecting with an index that has no GID: refused" refused \
	"$($PYTHON "$HERE/trouble.py" send "$DEV_A" 3 "$DEV_B" 3)"
ip addr add $IP4_A/24 dev "$IF_A"
wait_gids

row "wrong GID type"
symptom "v1 at one end, v2 at the other: transport retries exceeded" 12 quick-send v1 v2
names "does not speak the RoCE version" req_transport_retries_exceeded
names "by another GID than it has: RoCE v1 for v2" rx_dropped_not_for_us "$DEV_B"
check "show_gids shows the types" "v1 v2" \
	"$("$TOP/tools/user/show_gids" "$DEV_A" | grep -F "$IP4_A" | cut -f6 | paste -sd' ')"

row "MTU mismatch"
symptom "the peer has a smaller path MTU: remote invalid request" 9 mtu-of-b
names "the path MTU is smaller than a peer's" path_mtu_mismatch "$DEV_B"
ip link set "$IF_A" mtu 1500
symptom "a larger path MTU than the port's: refused" refused mtu-of-a
check_match "roce-status shows the port's" "MTU 1024 \(netdev 1500\)" \
	"$("$TOP/tools/user/roce-status" "$DEV_A")"
ip link set "$IF_A" mtu 9000

row "retry exceeded"
before=$(hw_counter "$DEV_A" local_ack_timeout_err)
in_b nft -f - <<- END
	table inet trouble { chain in { type filter hook input priority 0; udp dport 4791 drop; }; }
END
symptom "the peer's firewall drops: transport retries exceeded" 12 quick-send
check_match "nft shows why" "dport 4791 drop" "$(in_b nft list ruleset)"
wait_check 60 "local_ack_timeout_err counts" grew "$DEV_A" local_ack_timeout_err "$before"
in_b nft delete table inet trouble
names "a peer did not answer.*firewall there" req_transport_retries_exceeded

row "own firewall, sending"
nft -f - <<- END
	table inet trouble { chain out { type filter hook output priority 0; udp dport 4791 drop; }; }
END
symptom "the own firewall drops: transport retries exceeded" 12 quick-send
names "netfilter rule of this host drops" tx_dropped_filtered
nft delete table inet trouble

row "own firewall, receiving"
nft -f - <<- END
	table inet trouble { chain in { type filter hook input priority 0; ip protocol icmp accept; counter drop; }; }
END
symptom "answers do not come in: transport retries exceeded" 12 quick-send
wait_check 60 "roce-status names the chain" \
	status_says "chain inet trouble in drops what comes in.*Next: nft insert rule inet trouble in udp dport 4791 accept"
nft insert rule inet trouble in udp dport 4791 accept
symptom "with the rule that it names: success" 0 send
nft delete table inet trouble

row "wrong P_Key"
echo 1 0x8001 > "$IB/$DEV_A/partitions/1/pkeys"
symptom "a partition that the peer is not in: transport retries exceeded" 12 quick-limited
names "P_Key of another partition" rx_dropped_bad_pkey "$DEV_B"
echo 1 0 > "$IB/$DEV_A/partitions/1/pkeys"

row "nobody has the address"
symptom "an address that nobody has: refused" refused nobody
wait_check 60 "roce-status names it" status_says "nobody answers for 10.9.0.77 on $IF_A.*Next: ping 10.9.0.77"

row "VLAN mismatch"
ip link add "$IF_A.10" link "$IF_A" type vlan id 10
ip addr add 10.10.0.1/24 dev "$IF_A.10"
ip link set "$IF_A.10" up
in_b ip link add "$IF_B.20" link "$IF_B" type vlan id 20
in_b ip addr add 10.10.0.2/24 dev "$IF_B.20"
in_b ip link set "$IF_B.20" up
busywait 60 gid_index "$DEV_A" v2 10.10.0.1
busywait 60 gid_index "$DEV_B" v2 10.10.0.2
check "VLAN 10 at one end, 20 at the other: refused" refused \
	"$($PYTHON "$HERE/trouble.py" send "$DEV_A" "$(gid_index "$DEV_A" v2 10.10.0.1)" \
		"$DEV_B" "$(gid_index "$DEV_B" v2 10.10.0.2)" 2>&1)"
# b connects first, so its neighbour did not answer.
b_says() { in_b "$TOP/tools/user/roce-status" "$DEV_B" | grep -qE "^  .*$1"; }
wait_check 60 "roce-status names address and VLAN" b_says "nobody answers for 10.10.0.1 on $IF_B.20: wrong address, VLAN"
ip link del "$IF_A.10"
in_b ip link del "$IF_B.20"

row "GID table full"
for i in $(seq 80); do ip addr add 10.11.0.$i/32 dev "$IF_A"; done
wait_check 60 "roce-status: the table is full" status_says "GID table is full with 128 entries"
check "an address without a GID" "" "$(gid_index "$DEV_A" v2 10.11.0.80)"
for i in $(seq 80); do ip addr del 10.11.0.$i/32 dev "$IF_A"; done

row "default GID in use"
default_gid_is_there() { gids "$TUNNEL_DEV" | grep -q '^0 v2 fe80:'; }
default_gid_is_away() { ! default_gid_is_there; }
TUNNEL=tu$$ TUNNEL_DEV=tunnel$$
ip link add $TUNNEL type ipip local $IP4_A remote $IP4_B
ip addr add 10.12.0.1/24 dev $TUNNEL
ip link set $TUNNEL up
add_link a $TUNNEL_DEV $TUNNEL
wait_check 60 "index 0 of a tunnel's device is its default GID" default_gid_is_there
$PYTHON -c "
import sys, time
sys.path.insert(0, '$LIB')
import verbs
end = verbs.End('$TUNNEL_DEV', 0)
end.connect(end.info())
print('connected', flush=True)
time.sleep(600)" > "$WORK/user" 2>&1 &
user=$!
busywait 60 grep -q connected "$WORK/user" || fail "no QP with the default GID: $(< "$WORK/user")"
log_mark tunnel
ip addr add 10.12.0.3/32 dev $TUNNEL
ip addr del 10.12.0.3/32 dev $TUNNEL
if grep -q ' roce_del_all_netdev_gids' /proc/kallsyms; then
	wait_check 60 "it is away after an address of the tunnel went" default_gid_is_away
	log_says() { log_since tunnel | grep -q "unable to add gid fe80:.*error=-28"; }
	wait_check 60 "the log says so" log_says
fi # else drivers cannot remove GIDs on this kernel, so nothing happens
kill $user
wait_check 70 "it is back after the program's end" default_gid_is_there
ip link del $TUNNEL

row "remote access error"
before=$(hw_counter "$DEV_A" req_remote_access_errors)
symptom "a key that the peer did not give: remote access error" 10 wrong-key
wait_check 60 "req_remote_access_errors counts" grew "$DEV_A" req_remote_access_errors "$before"
names "a peer refused access to its memory" req_remote_access_errors
names "may not access" resp_remote_access_errors "$DEV_B"

row "receiver not ready"
before=$(hw_counter "$DEV_A" rnr_nak_retry_err)
symptom "no receive is posted: RNR retries exceeded" 13 no-receive
wait_check 60 "rnr_nak_retry_err counts" grew "$DEV_A" rnr_nak_retry_err "$before"
names "no receive posted for too long" req_rnr_retries_exceeded

row "memlock"
log_mark "memlock"
little_memory() { prlimit --memlock=65536 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$@"; }
check_match "a large buffer under a limit of 64 KiB" "register MR|pin|memory" \
	"$(little_memory ibv_rc_pingpong -d "$DEV_A" -g 3 -s 4194304 2>&1)"
check_match "the log names the limit" 'RLIMIT_MEMLOCK' "$(log_since memlock)"
check_match "roce-status names it" "memlock of this shell is low: 64 KiB" \
	"$(little_memory "$TOP/tools/user/roce-status" "$DEV_A")"

row "packets are lost"
ip route get $IP4_B > /dev/null	# resolve the neighbour
tc qdisc add dev "$IF_A" root netem loss 30%
for _ in $(seq 10); do
	symptom "a third of what is sent is lost: success all the same" 0 send
done
tc qdisc del dev "$IF_A" root
wait_check 60 "roce-status: packets are sent again" \
	status_says "packets are sent again: .*\(tx_retransmitted_packets [0-9]+ of tx_packets [0-9]+\)\. Next: "
wait_check 60 "and nobody has sent a CNP" status_says "no peer has sent a CNP .*cc/enable$"

row "queue that does not mark"
tc qdisc add dev "$IF_A" root codel
wait_check 60 "roce-status names the queue" \
	status_says "the queue codel of $IF_A drops packets that it could mark.*Next: tc qdisc change dev $IF_A root codel ecn"
tc qdisc change dev "$IF_A" root codel ecn
check "not with the command that it names" "" \
	"$("$TOP/tools/user/roce-status" "$DEV_A" | grep 'the queue codel')"
tc qdisc del dev "$IF_A" root

row "marks without notifications"
marks_come() { # netem marks ECN-capable packets instead of dropping them
	symptom "packets are marked: success" 0 send
	grew "$DEV_B" np_ecn_marked_roce_packets "$before"
}
echo 0 > "$IB/$DEV_B/ports/1/cc/enable"
before=$(hw_counter "$DEV_B" np_ecn_marked_roce_packets)
tc qdisc add dev "$IF_A" root netem loss 50% ecn
wait_check 60 "b counts marks" marks_come
tc qdisc del dev "$IF_A" root
wait_check 60 "roce-status says why nobody is told" \
	status_says "no CNP was sent, since cc/enable is 0 .*Next: echo 1 > .*/cc/enable" "$DEV_B"
echo 1 > "$IB/$DEV_B/ports/1/cc/enable"

row "4791 taken"
show rdma link del "$DEV_A"
$PYTHON -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 4791))
print('taken', flush=True)
time.sleep(600)" > "$WORK/taker" &
taker=$!
busywait 60 grep -q taken "$WORK/taker" || die "cannot take the port"
add_link a "$DEV_A" "$IF_A"
wait_gids
symptom "over v2: transport retries exceeded" 12 quick-send v2
symptom "over v1: success" 0 send v1
check "roce_versions says so" v1 "$(< "$IB/$DEV_A/ports/1/roce_versions")"
wait_check 60 "roce-status names the process" status_says "UDP port 4791 is taken by process $taker \("
check_match "and ss shows it" ":4791" "$(ss -uln 'sport = 4791')"
kill $taker

# There is no adapter here: for its netdevs see tools-unit.py.
row "software instead of hardware"
check "backend says so" software "$(< "$IB/$DEV_A/backend")"
check_match "and ibdev2netdev -v shows no adapter" "^- $DEV_A \(NA - NA\)" \
	"$("$TOP/tools/user/ibdev2netdev" -v | grep " $DEV_A ")"

finish
