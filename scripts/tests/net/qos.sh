#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: wide
# every: 3
# timeout: 900
#
# Traffic class, TTL and priority: forced values, the application's, default_roce_tos, and
# their precedence; checked on the wire, the priority also by counters of a qdisc. Then
# invalid writes to the files.
#
#   a: va$$.7 10.9.7.1/24  ====== veth ======  b: vb$$.7 10.9.7.2/24 (egress map
#                                                 0:6), prio qdisc on vb$$
# b sends, so that captures see what leaves, and all settings are b's.

. "$(dirname "$0")/../lib/lib.sh"

only_ours
setup_pair 1500
need tcpdump
show_a ip link add link "$IF_A" name "$IF_A.7" type vlan id 7 || skip "no VLANs on this kernel"
show_b ip link add link "$IF_B" name "$IF_B.7" type vlan id 7 egress-qos-map 0:6
show_a ip addr add 10.9.7.1/24 dev "$IF_A.7"
show_b ip addr add 10.9.7.2/24 dev "$IF_B.7"
in_a ip -6 addr add fd97::1/64 dev "$IF_A.7" nodad
in_b ip -6 addr add fd97::2/64 dev "$IF_B.7" nodad
show_a ip link set "$IF_A.7" up
show_b ip link set "$IF_B.7" up
busywait 60 in_a ping -c1 -W1 10.9.7.2 || die "no ping over the VLAN"
busywait 60 in_b ping -6 -c1 -W1 fd97::1 || die "no IPv6 ping over the VLAN"

CLASSES=$IB/$DEV_B/tc/1/traffic_class
TTL=$IB/$DEV_B/tc/1/ttl

# Indexes of both GID types of an address on the VLAN: b's, a's
indexes() {
	busywait 60 gid_index "$DEV_B" "$1" "$2"
	busywait 60 gid_index "$DEV_A" "$1" "$3"
	echo "$(gid_index "$DEV_B" "$1" "$2"),$(gid_index "$DEV_A" "$1" "$3")"
}

capture_out() { capture_start "$WORK/$1.pcap" -Q out; }
list() { $PYTHON "$LIB/check-icrc.py" "$WORK/$1.pcap" --list; }

# --- one capture of RC, UC and UD, and the qdisc's counters ------------------

# One class for each priority
show_b tc qdisc add dev "$IF_B" root handle 1: prio bands 8 \
	priomap 0 1 2 3 4 5 6 7 0 0 0 0 0 0 0 0 || fail "no prio qdisc"
class_packets() {
	in_b tc -s class show dev "$IF_B" | awk -v class="1:$(($1 + 1))" \
		'/^class/ { on = $3 == class } on && /Sent/ { print $4 }'
}

for p in 1 2 3 4 5 6; do before[p]=$(class_packets $p); done
capture_out classes
python qos.py send "$DEV_B" "$DEV_A" "$WORK/expected" "$(indexes v1 10.9.7.2 10.9.7.1)" \
	"$(indexes v2 10.9.7.2 10.9.7.1)" "$(indexes v2 fd97::2 fd97::1)"
capture_stop
check_ok "every packet is correct" $PYTHON "$LIB/check-icrc.py" "$WORK/classes.pcap" --expect 30
list classes > "$WORK/list"
python qos.py judge "$WORK/list" "$WORK/expected"
for p in 1 2 3 4 5 6; do
	check "packets of priority $p in the qdisc, as many as have that PCP" \
		"$(grep -c " pcp=$p " "$WORK/list")" "$(($(class_packets $p) - before[p]))"
done

# --- classes change while a connection is busy --------------------------------

capture_out busy
traffic_start busy "$(gid_index "$DEV_A" v2 $IP4_A)" "$(gid_index "$DEV_B" v2 $IP4_B)" --seconds 600 --size 3000
# answered: a machine that stalls may send nothing within 10 ms
answered() {
	local sent
	sent=$(hw_counter "$DEV_B" tx_packets)
	more() { [ "$(hw_counter "$DEV_B" tx_packets)" -gt $((sent + 10)) ]; }
	busywait 60 more
}
for ((i = 0; i < 100; i++)); do
	echo 32 > "$CLASSES"
	[ $i -gt 0 ] || answered
	sleep 0.01	# this process may use the only CPU
	echo "tclass=64,dst_ip=10.9.0.0/24" > "$CLASSES"
	echo -1 > "$CLASSES"
	[ $i -gt 0 ] || answered
	sleep 0.01
	echo "tclass=-1,dst_ip=10.9.0.0/24" > "$CLASSES"
done
traffic_stop busy 60
capture_stop
check_ok "busy: every packet is correct" $PYTHON "$LIB/check-icrc.py" "$WORK/busy.pcap" --expect 100
check "busy: classes of the answers" "tclass=0 tclass=32 tclass=64" \
	"$(list busy | grep -o ' tclass=[0-9]*' | sort -u | xargs)"

# --- rdma_cm: rdma_set_option, default_roce_tos, and a forced class above both ---

# cm NAME PORT SIZE OPTION...: 5 messages each way
cm() {
	local name=$1 port=$2 size=$3
	shift 3
	pair "$name" cm:"$port" "ucmatose -p $port -C 5 -S $size" \
		"ucmatose -s $IP4_A -b $IP4_B -p $port -C 5 -S $size $*"
}
messages() { list cm | grep " length=$1 " | grep -o ' tclass=[0-9]* ttl=[0-9]*' | sort -u | xargs; }
# Requests and replies of the connection manager use QP1
mads() { list cm | grep ' dest_qpn=1 ' | grep -oE "$1=[0-9]+" | sort -u | xargs; }

roce_mode_of "$DEV_B" v2
roce_mode_of "$DEV_A" v2
tos=/sys/kernel/config/rdma_cm/$DEV_B/ports/1/default_roce_tos
for p in 1 2 4; do before[p]=$(class_packets $p); done
capture_out cm
cm "no tos" 7471 200
cm "tos of the application" 7472 204 -t 64
show eval "echo 128 > $tos"
cm "default_roce_tos" 7473 208
cm "application over default_roce_tos" 7474 212 -t 64
capture_stop
check "no tos" "tclass=0 ttl=64" "$(messages 200)"
check "tos of the application" "tclass=64 ttl=64" "$(messages 204)"
check "default_roce_tos" "tclass=128 ttl=64" "$(messages 208)"
check "application over default_roce_tos" "tclass=64 ttl=64" "$(messages 212)"
check "connection manager: as the application" "tclass=0 tclass=128 tclass=64" "$(mads tclass)"
check_match "qdisc: the application's class is priority 2" '^[1-9]' "$(($(class_packets 2) - before[2]))"
check_match "qdisc: default_roce_tos is priority 4" '^[1-9]' "$(($(class_packets 4) - before[4]))"
check "qdisc: nothing of priority 1 so far" 0 "$(($(class_packets 1) - before[1]))"
show eval "echo 32 > $CLASSES"
show eval "echo 5 > $TTL"
capture_out cm
cm "forced over both" 7475 216 -t 64
capture_stop
check "forced over both" "tclass=32 ttl=5" "$(messages 216)"
# 2 is ECT(0)
check "data of connections is ECN-capable, datagrams and acknowledgements are not" "ecn=0 UD ecn=2 RC" \
	"$(list cm | awk '/ ecn=/ { for (i = 1; i <= NF; i++) if ($i ~ /^ecn=/) ecn = $i }
		/ ecn=/ && $3 !~ /ACKNOWLEDGE/ { print ecn, substr($3, 1, 2) }' | sort -u | xargs)$(
		list cm | grep ' RC_ACKNOWLEDGE .* ecn=' | grep -v ' ecn=0 ')"
check "connection manager: no forced class" "tclass=64" "$(mads tclass)"
check "connection manager: forced TTL" "ttl=5" "$(mads ttl)"
check_match "qdisc: the forced class is priority 1" '^[1-9]' "$(($(class_packets 1) - before[1]))"

# --- settings stay when the device is renamed -----------------------------------

show rdma dev set "$DEV_B" name "${DEV_B}x"
check "after a rename" "Global tclass=32, TTL 5 5" \
	"$(cat "$IB/${DEV_B}x/tc/1/traffic_class"), TTL $(cat "$IB/${DEV_B}x/tc/1/ttl" "$IB/${DEV_B}x/ttl/1/ttl" | xargs)"
show rdma dev set "${DEV_B}x" name "$DEV_B"

# --- writes that are refused -------------------------------------------------------

# refused FILE ERROR TEXT: that errno, one line in the log, and the setting is kept
refused() {
	local old new got lines
	old=$(cat "$1")
	log_mark "refusal $CHECKS."
	got=$( (printf '%s\n' "$3" > "$1") 2>&1)
	new=$(cat "$1")
	lines=$(log_since "refusal $CHECKS." | grep -c "$DEV_B: ${1#"$IB/$DEV_B/"}: .* is refused")
	check_match "${1##*/} '$3': $2" "$2\$" "$got"
	check "${1##*/} '$3': lines in the log" 1 "$lines"
	[ "$old" = "$new" ] || fail "${1##*/} '$3': expected the old setting '$old', got '$new'"
}

for text in 256 -2 high '' '16 ' 16,17 tclass= src_ip=1.1.1.1 16,src_ip=1.1.1.0/24 16,dst_ip=1.1.1.0/33 \
	16,src_ip=1.1.1.1,dst_ip6=fd::1 16,dst_ip6=fd::/64 16,sport=1; do
	refused "$CLASSES" "Invalid argument" "$text"
done
refused "$CLASSES" "No such file or directory" "-1,dst_ip=1.2.3.4"
for ((i = 0; i < 40; i++)); do
	echo "tclass=$i,src_ip=10.9.0.2,dst_ip=10.8.$i.0/24" > "$CLASSES" || fail "rule $i refused"
done
refused "$CLASSES" "Cannot allocate memory" "tclass=16,dst_ip=10.8.40.0/24"
check "41 lines are shown, and may be written again" "41 0" \
	"$(wc -l < "$CLASSES") $(sed 1d "$CLASSES" | { n=0; while read -r line; do echo "$line" > "$CLASSES" || n=$((n + 1)); done; echo $n; })"
for text in 256 -1 x '' '7 8'; do
	refused "$TTL" "Invalid argument" "$text"
	refused "$IB/$DEV_B/ttl/1/ttl" "Invalid argument" "$text"
done
finish
