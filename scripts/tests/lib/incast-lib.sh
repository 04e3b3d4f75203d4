# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Several senders to one port of a switch, on top of lib.sh: RoCE by perftest, TCP by iperf3,
# and the data received from each (incast.py).
#
#   h2 (r2) ===\                              each a namespace, veth of MTU 9000; no
#   h3 (r3) ===== bridge == tbf, qdisc == h1 (r1)     offloads, so the queue counts
#   ...     ===/                              packets as a switch does
#
# A second network without a bottleneck, 10.9.2.0/24, carries the programs' own communication: a
# marking queue drops packets that are not ECN-capable.

# So low that no processor of this machine is the bottleneck
RATE_MBIT=${RATE_MBIT:-200}
SWITCH=sw$$
declare -A INCAST_PIDS=() INCAST_HEADERS=()
# Of a packet: IP, UDP, BTH, ICRC, RETH in one of 16; IP, TCP with timestamps
declare -A INCAST_HEADERS_OF=([roce]=45 [tcp]=52)
INCAST_SERVERS=()

incast_host() { # incast_host NUMBER
	local n=$1 offload

	ip netns add "h$n-$$" || die "no namespace"
	defer "ip netns del h$n-$$"
	ip link add name "e$n" mtu 9000 netns "h$n-$$" type veth \
		peer name "p$n" netns "$SWITCH" mtu 9000
	ip -n "$SWITCH" link set dev "p$n" master mbr up
	ip -n "h$n-$$" link set lo up
	ip -n "h$n-$$" addr add "10.9.1.$n/24" dev "e$n"
	ip -n "h$n-$$" link set dev "e$n" up
	ip link add name "m$n" netns "h$n-$$" type veth peer name "q$n" netns "$SWITCH"
	ip -n "$SWITCH" link set dev "q$n" master mbm up
	ip -n "h$n-$$" addr add "10.9.2.$n/24" dev "m$n"
	ip -n "h$n-$$" link set dev "m$n" up
	for offload in gso tso tx-udp-segmentation tx-udp_tnl-segmentation gro; do
		ip netns exec "h$n-$$" ethtool -K "e$n" "$offload" off > /dev/null 2>&1
	done
	ip netns exec "h$n-$$" rdma link add "r$n" type "$RHCA_LINK_TYPE" netdev "e$n" ||
		die "rdma link add r$n refused"
	defer "rdma link del r$n 2> /dev/null"
}

mac_of() { ip netns exec "h$1-$$" cat "/sys/class/net/e$1/address"; }

# Avoid address resolution while the queue is full
incast_neighbours() { # incast_neighbours HOSTS
	local n mac

	mac=$(mac_of 1)
	for n in $(seq 2 "$1"); do
		ip -n "h$n-$$" neigh replace 10.9.1.1 lladdr "$mac" dev "e$n" nud permanent
		ip -n "h1-$$" neigh replace "10.9.1.$n" lladdr "$(mac_of "$n")" dev e1 nud permanent
	done
}

has_gid() { gid_index "r$1" v2 "10.9.1.$1"; }

# incast_up HOSTS: h1 receives
incast_up() {
	local n

	ip netns add "$SWITCH"
	defer "ip netns del $SWITCH"
	ip -n "$SWITCH" link add name mbr mtu 9000 type bridge
	ip -n "$SWITCH" link add name mbm type bridge
	ip -n "$SWITCH" link set dev mbr up
	ip -n "$SWITCH" link set dev mbm up
	for n in $(seq 1 "$1"); do
		incast_host "$n"
	done
	make_device_nodes
	for n in $(seq 1 "$1"); do
		busywait 60 has_gid "$n" || die "no GID of 10.9.1.$n"
	done
	for n in $(seq 2 "$1"); do
		busywait 60 ip netns exec "h$n-$$" ping -c 1 -W 1 10.9.1.1 || die "no ping from h$n"
	done
	incast_neighbours "$1"
}

# incast_slow_wire HOSTS: settings of congestion.rst for less than 1 Gbit/s
incast_slow_wire() {
	local n

	for n in $(seq 1 "$1"); do
		[ ! -e "$IB/r$n/ports/1/cc/rp_min_rate" ] || echo 1 > "$IB/r$n/ports/1/cc/rp_min_rate"
	done
}

# incast_queue QDISC...: the qdisc of the switch's port to h1
incast_queue() {
	ip netns exec "$SWITCH" tc qdisc del dev p1 root 2> /dev/null
	ip netns exec "$SWITCH" tc qdisc add dev p1 root handle 1: \
		tbf rate "${RATE_MBIT}mbit" burst 64kb limit 64mb &&
		ip netns exec "$SWITCH" tc qdisc add dev p1 parent 1:1 handle 2: "$@"
}

# incast_queued: "PACKETS DROPS MARKED" of that queue since it was created
incast_queued() {
	ip netns exec "$SWITCH" tc -s -j qdisc show dev p1 |
		jq -r '.[] | select(.handle == "2:") | "\(.packets) \(.drops) \(.marked // .ecn_mark // 0)"'
}

listening() { ip netns exec "h1-$$" ss -Hltn "sport = :$1" | grep -q .; }

# incast_program roce|tcp HOST PORT [client]: sends for an hour, or until it is killed
incast_program() {
	case $1-${4:-} in
	roce-*) exec ip netns exec "h$2-$$" ib_write_bw -d "r$2" -x "$(has_gid "$2")" -p "$3" -F \
			-m 4096 -s 65536 -t 32 -D 3600 ${4:+10.9.2.1} ;;
	tcp-client) exec ip netns exec "h$2-$$" iperf3 -c 10.9.1.1 -p "$3" -t 3600 ;;
	tcp-) exec ip netns exec "h$2-$$" iperf3 -s -1 -p "$3" ;;
	esac
}

# incast_begin roce|tcp HOST...: each sends to h1
incast_begin() {
	local kind=$1 n
	shift

	for n in "$@"; do
		incast_program "$kind" 1 $((23000 + n)) > "$WORK/server$n" 2>&1 &
		INCAST_SERVERS+=($!)
	done
	for n in "$@"; do
		busywait 60 listening $((23000 + n)) || die "no server of $kind for h$n"
	done
	for n in "$@"; do
		incast_program "$kind" "$n" $((23000 + n)) client > "$WORK/client$n" 2>&1 &
		INCAST_PIDS[$n]=$! INCAST_HEADERS[$n]=${INCAST_HEADERS_OF[$kind]}
	done
}

# incast_measure SECONDS: "HOST BYTES STANDSTILL_MS ok|failed" of each sender in
# $WORK/table, payload of all in INCAST_GOODPUT, seconds and samples in INCAST_TIME
incast_measure() {
	local n
	local -a words=()

	for n in "${!INCAST_PIDS[@]}"; do
		words+=("$n=10.9.1.$n=${INCAST_HEADERS[$n]}")
	done
	INCAST_GOODPUT=0 INCAST_TIME=
	# Not ip netns exec, whose /sys lacks the files of devices in the initial namespace
	nsenter --net="/run/netns/h1-$$" "$PYTHON" "$LIB/incast.py" "$1" "$RATE_MBIT" \
		"$IB/r1/ports/1/hw_counters/duplicate_request" "${words[@]}" > "$WORK/arrived" ||
		say "incast.py: $(< "$WORK/arrived")"
	while read -r n bytes still; do
		case $n in
		all) INCAST_GOODPUT=$bytes INCAST_TIME="$still" ;;
		silent) ;;
		*) if kill -0 "${INCAST_PIDS[$n]}" 2> /dev/null; then echo "$n $bytes $still ok"
			else echo "$n $bytes $still failed"; fi ;;
		esac
	done < "$WORK/arrived" > "$WORK/table"
}

incast_end() {
	kill -KILL "${INCAST_PIDS[@]}" "${INCAST_SERVERS[@]}" 2> /dev/null
	wait "${INCAST_PIDS[@]}" "${INCAST_SERVERS[@]}" 2> /dev/null
	INCAST_PIDS=()
	INCAST_SERVERS=()
}

# incast_row: "GOODPUT JAIN LEAST STANDSTILL_S FAILED" of the measurement; LEAST is the smallest
# sender's share of the mean
incast_row() {
	awk -v goodput="$INCAST_GOODPUT" '
		{ sum += $2; squares += $2 * $2; if (NR == 1 || $2 < least) least = $2 }
		$3 > still { still = $3 }
		$4 != "ok" { failed++ }
		END { printf "%.3f %.3f %.2f %.1f %d\n", goodput, squares ? sum * sum / squares / NR : 0,
			sum ? least * NR / sum : 0, still / 1000, failed }' "$WORK/table"
}
