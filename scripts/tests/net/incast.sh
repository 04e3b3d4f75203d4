#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# every: 3
# timeout: 300
#
# Several senders into one port of a switch, which is slower than they are together and
# has room for few packets: each goes on, and they share what there is.
#
#   h2 (r2) ===\                              each a namespace, veth of MTU 9000; no
#   h3 (r3) ===== bridge == tbf, pfifo == h1 (r1)      offloads, so the queue counts
#   ...     ===/                              packets as a switch does

. "$(dirname "$0")/../lib/lib.sh"

need tc ethtool ib_write_bw
load_driver

# So little that no processor of this machine is what they wait for
RATE_MBIT=200
SECONDS_EACH=${RHCA_INCAST_SECONDS:-8}
SWITCH=sw$$

# host NUMBER: a namespace with a device on the switch
host() {
	local n=$1 offload

	ip netns add "h$n-$$" || die "no namespace"
	defer "ip netns del h$n-$$"
	ip link add name "e$n" mtu 9000 netns "h$n-$$" type veth \
		peer name "p$n" netns "$SWITCH" mtu 9000
	ip -n "$SWITCH" link set dev "p$n" master mbr up
	ip -n "h$n-$$" link set lo up
	ip -n "h$n-$$" addr add "10.9.1.$n/24" dev "e$n"
	ip -n "h$n-$$" link set dev "e$n" up
	for offload in gso tso tx-udp-segmentation tx-udp_tnl-segmentation gro; do
		ip netns exec "h$n-$$" ethtool -K "e$n" "$offload" off > /dev/null 2>&1
	done
	ip netns exec "h$n-$$" rdma link add "r$n" type "$RHCA_LINK_TYPE" netdev "e$n" ||
		die "rdma link add r$n refused"
	defer "rdma link del r$n 2> /dev/null"
}

has_gid() { gid_index "r$1" v2 "10.9.1.$1"; }

switch_up() {
	local n

	ip netns add "$SWITCH"
	defer "ip netns del $SWITCH"
	ip -n "$SWITCH" link add name mbr mtu 9000 type bridge
	ip -n "$SWITCH" link set dev mbr up
	for n in $(seq 1 "$1"); do
		host "$n"
	done
	make_device_nodes
	for n in $(seq 1 "$1"); do
		busywait 30 has_gid "$n" || die "no GID of 10.9.1.$n"
	done
	for n in $(seq 2 "$1"); do
		busywait 30 ip netns exec "h$n-$$" ping -c 1 -W 1 10.9.1.1 || die "no ping from h$n"
	done
}

# queue QDISC...: what the switch's port to h1 does with packets
queue() {
	ip netns exec "$SWITCH" tc qdisc del dev p1 root 2> /dev/null
	ip netns exec "$SWITCH" tc qdisc add dev p1 root handle 1: \
		tbf rate ${RATE_MBIT}mbit burst 64kb limit 64mb &&
	ip netns exec "$SWITCH" tc qdisc add dev p1 parent 1:1 handle 2: "$@"
}

listening() { ip netns exec "h1-$$" ss -Hltn "sport = :$1" | grep -q .; }

# perf HOST PORT [SERVER]: 64 KiB WRITEs for $SECONDS_EACH
perf() {
	ip netns exec "h$1-$$" timeout -k 5 $((SECONDS_EACH + 60)) ib_write_bw -d "r$1" \
		-x "$(has_gid "$1")" -p "$2" -F -m 4096 -s 65536 -t 32 -D "$SECONDS_EACH" ${3:+"$3"}
}

# What the port takes in the time that perftest counts, which is the middle half
WHOLE=$((RATE_MBIT * 1000000 / 8 / 65536 * SECONDS_EACH / 2))

# incast SENDERS JAIN LABEL QDISC...
incast() {
	local senders=$1 jain=$2 n label="$1:1 into $3" pids=()

	queue "${@:4}" || die "no $3"
	for n in $(seq 2 $((senders + 1))); do
		perf 1 $((23000 + n)) > "$WORK/server$n" 2>&1 &
	done
	for n in $(seq 2 $((senders + 1))); do
		busywait 20 listening $((23000 + n)) || die "no server"
	done
	for n in $(seq 2 $((senders + 1))); do
		perf "$n" $((23000 + n)) 10.9.1.1 > "$WORK/client$n" 2>&1 &
		pids[n]=$!
	done
	: > "$WORK/table"
	for n in "${!pids[@]}"; do
		wait "${pids[n]}"
		# Not the rate: perftest measures the clock of a busy processor for it
		echo "$n $? $(awk '$1 == 65536 { print $2 }' "$WORK/client$n")" >> "$WORK/table"
	done
	wait
	awk -v whole=$WHOLE -v label="$label" '
		{ sum += $3; squares += $3 * $3; if (NR == 1 || $3 < least) least = $3 }
		END { printf "# %s: goodput %.2f of the port, Jain %.2f, least %.2f of the mean\n", label,
			sum / whole, squares ? sum * sum / squares / NR : 0, sum ? least * NR / sum : 0 }' "$WORK/table"
	say "$(ip netns exec "$SWITCH" tc -s qdisc show dev p1 | grep -A3 ' 2: ' | tail -n +2 | xargs)"
	awk '$2 || !$3 { print $1 }' "$WORK/table" | while read -r n; do
		say "h$n: $(tail -n 3 "$WORK/client$n" | xargs)"
	done
	check "$label: senders that fail" "" "$(awk '$2 || !$3 { print "h" $1 }' "$WORK/table")"
	check "$label: half of the port is used" yes \
		"$(awk -v whole=$WHOLE '
			{ sum += $3 } END { print (sum > whole / 2) ? "yes" : sum " of " whole " requests" }' "$WORK/table")"
	check "$label: senders with less than a tenth of their share" "" \
		"$(awk '{ n[NR] = $1; done[NR] = $3; sum += $3 }
			END { for (i in n) if (done[i] < sum / NR / 10) print "h" n[i] ": " done[i] }' "$WORK/table")"
	check "$label: they share it (Jain $jain)" yes \
		"$(awk -v least="$jain" '{ s += $3; q += $3 * $3 } END { print (q && s * s / q / NR > least) ? "yes" : "no" }' "$WORK/table")"
}

switch_up 9
incast 2 0.8 "100 packets" pfifo limit 100
incast 8 0.8 "100 packets" pfifo limit 100
# So long a queue is filled and emptied few times in some seconds
incast 8 0.4 "1000 packets" pfifo limit 1000

: "a port that marks: CNPs slow the senders down before it drops"
counted() { hw_counter "r$1" "$2"; } # counted HOST COUNTER
sent=$(counted 1 np_cnp_sent)
incast 8 0.5 "a port that marks" red limit 4mb min 60kb max 180kb avpkt 4200 burst 25 \
	probability 0.1 bandwidth ${RATE_MBIT}mbit ecn
if ours; then
	marked=$(counted 1 np_ecn_marked_roce_packets)
	check_match "packets were marked: $marked" '^[1-9]' "$marked"
	check_match "and CNPs sent" '^[1-9]' $(($(counted 1 np_cnp_sent) - sent))
	for n in $(seq 2 9); do
		check_match "r$n has slowed down" '^[1-9]' "$(counted "$n" rp_cnp_handled)"
	done
fi
finish
