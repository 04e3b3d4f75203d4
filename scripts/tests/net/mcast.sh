#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# every: 3
# timeout: 900
#
# UD multicast: which QPs get a copy, which groups the netdevs join and leave (in their
# lists and, as IGMP and MLD reports, on the wire), and no leak when a process, a VLAN, the
# device or the netdev is removed while QPs are attached.
#
#   a (ra$$)  ====== veth, captured at b ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours
need tcpdump tshark mckey

setup_pair 1500
MAPPED=::ffff:239.9.1.1 V6=ff15::9:1:1 CM_V1=ff0e::ffff:239.9.1.2

maddr_a() { in_a ip maddr show dev "${2:-$IF_A}" | grep -qiE "(inet6?|link) +$1( |\$)"; }
maddr_b() { in_b ip maddr show dev "${2:-$IF_B}" | grep -qiE "(inet6?|link) +$1( |\$)"; }
not() { ! "$@"; }

: "copies: TYPE, FAMILY, GROUP"
capture_start "$WORK/cap"
while read -r type family group; do
	address=IP${family}
	a=${address}_A b=${address}_B
	ia=$(gid_index "$DEV_A" "$type" "${!a}") ib=$(gid_index "$DEV_B" "$type" "${!b}")
	say "$type, GIDs of IPv$family, group $group"
	python mcast.py "$DEV_A" "$ia" "$DEV_B" "$ib" "$group"
done << END
v1 6 $V6
v1 4 $CM_V1
v2 6 $V6
v2 4 $MAPPED
END
capture_stop
check_ok "every packet is correct" $PYTHON "$LIB/check-icrc.py" "$WORK/cap" --expect 24
tshark -r "$WORK/cap" -T fields -e eth.type -e eth.dst -e ip.src -e ip.dst \
	-e ipv6.dst -e igmp.maddr -e icmpv6.mldr.mar.multicast_address > "$WORK/frames" 2> /dev/null
# shellcheck disable=SC2016
macs() { awk -F"\t" "$1 { print \$2 }" "$WORK/frames" | sort -u | paste -sd' '; }
check "MACs of v1" "33:33:00:01:00:01 33:33:ef:09:01:02" "$(macs '$1 == "0x8915"')"
check "MACs of v2 over IPv6" 33:33:00:01:00:01 "$(macs "\$5 == \"$V6\"")"
check "MACs of v2 over IPv4" 01:00:5e:09:01:01 "$(macs '$4 == "239.9.1.1"')"
check_match "IGMP reports of the group from b" '^[1-9]' "$(awk -F'\t' -v b=$IP4_B '$3 == b && $6 ~ /239.9.1.1/' "$WORK/frames" | wc -l)"
check_match "MLD reports of the group" '^[1-9]' "$(awk -F'\t' -v g=$V6 '$7 ~ g' "$WORK/frames" | wc -l)"
for group in 239.9.1.1 $V6 33:33:ef:09:01:02 01:00:5e:09:01:01; do
	check_ok "a has left $group" not maddr_a $group
	check_ok "b has left $group" not maddr_b $group
done

: "what is joined, and what goes while QPs are attached"
hold() { # hold GROUP: a process at b attached to it
	rm -f "$WORK/hold"
	$PYTHON "$LIB/mcast.py" --hold "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)" "$1" > "$WORK/hold" 2>&1 &
	HOLDER=$!
	busywait 60 grep -q attached "$WORK/hold" || fail "no QP is attached: $(cat "$WORK/hold")"
}
hold $MAPPED
check_ok "IPv4 group: b's netdev is a member" maddr_b 239.9.1.1
check_ok "IPv4 group: its MAC is in the filter" maddr_b 01:00:5e:09:01:01
vlan=
show_b ip link add link "$IF_B" name "$IF_B.7" type vlan id 7 && vlan=1
if [ -n "$vlan" ]; then
	show_b ip addr add 10.9.7.2/24 dev "$IF_B.7"
	show_b ip link set "$IF_B.7" up
	wait_check 60 "a VLAN that comes is a member" maddr_b 239.9.1.1 "$IF_B.7"
	show_a ip link add link "$IF_A" name "$IF_A.7" type vlan id 7
	show_a ip addr add 10.9.7.1/24 dev "$IF_A.7"
	show_a ip link set "$IF_A.7" up
	in_a ip -6 addr add fd97::1/64 dev "$IF_A.7" nodad
	in_b ip -6 addr add fd97::2/64 dev "$IF_B.7" nodad
	busywait 60 gid_index "$DEV_A" v2 fd97::1
	busywait 60 gid_index "$DEV_B" v2 fd97::2
	for type in v1 v2; do
		say "over the VLAN, $type"
		python mcast.py "$DEV_A" "$(gid_index "$DEV_A" $type 10.9.7.1)" \
			"$DEV_B" "$(gid_index "$DEV_B" $type 10.9.7.2)" "$([ $type = v1 ] && echo $CM_V1 || echo ::ffff:239.9.1.3)"
	done
	say "over the VLAN, v2 over IPv6"
	python mcast.py "$DEV_A" "$(gid_index "$DEV_A" v2 fd97::1)" "$DEV_B" "$(gid_index "$DEV_B" v2 fd97::2)" $V6
	in_a ip addr del 10.9.7.1/24 dev "$IF_A.7"
	show_b ip addr flush dev "$IF_B.7"
	in_b ip -6 addr flush dev "$IF_B.7"
	show_b ip link del "$IF_B.7"
	show_a ip link del "$IF_A.7"
fi
check_ok "b's own netdev stays a member" maddr_b 239.9.1.1
kill -9 $HOLDER
wait $HOLDER 2> /dev/null
wait_check 60 "a process that is killed leaves" not maddr_b 239.9.1.1

hold $V6
show_b ip link set "$IF_B" mtu 1000
wait_check 60 "too small an MTU ends IPv6, and the group" not maddr_b $V6
show_b ip link set "$IF_B" mtu 1500
wait_check 60 "the netdev joins again with IPv6" maddr_b $V6
kill -9 $HOLDER
wait $HOLDER 2> /dev/null
wait_check 60 "and leaves" not maddr_b $V6
in_b ip -6 addr add $IP6_B/64 dev "$IF_B" nodad
busywait 60 gid_index "$DEV_B" v2 $IP6_B

hold $V6
check_ok "IPv6 group: b's netdev is a member" maddr_b $V6
show rdma link del "$DEV_B"
wait_check 60 "a device that is removed leaves (IP)" not maddr_b $V6
wait_check 60 "a device that is removed leaves (MAC)" not maddr_b 33:33:00:01:00:01
kill -9 $HOLDER
wait $HOLDER 2> /dev/null

: "mckey, both ways"
add_link b "$DEV_B" "$IF_B"
wait_gids
mckey_run() { # mckey_run LABEL FROM_NS TO_NS GROUP FROM TO
	local out=$WORK/mckey.$2.$4 pid rc
	spawn_"$3" timeout 180 stdbuf -oL mckey -m "$4" -b "$6" -C 5 > "$out" 2>&1
	pid=$!
	busywait 60 grep -q 'joined dgid' "$out" || fail "$1: the receiver did not join: $(cat "$out")"
	"in_$2" timeout 60 mckey -s -m "$4" -b "$5" -C 5 > "$out.snd" 2>&1
	rc=$?
	wait $pid
	echo "$rc $? $(grep -c 'receiving data transfers' "$out")" > "$out.result"
}
mckey_all() { # mckey_all TYPE GROUP_A_TO_B GROUP_B_TO_A A B: both ways at once
	local jobs=()
	echo "+ mckey -m $2 -b $5 -C 5    and -s -b $4; the other way round with $3"
	mckey_run "mckey $1" a b "$2" "$4" "$5" & jobs+=($!)
	mckey_run "mckey $1" b a "$3" "$5" "$4" & jobs+=($!)
	wait "${jobs[@]}"
	check "mckey $1 $2, a to b: status of sender and receiver, all came" "0 0 1" "$(cat "$WORK/mckey.a.$2.result")"
	check "mckey $1 $3, b to a: status of sender and receiver, all came" "0 0 1" "$(cat "$WORK/mckey.b.$3.result")"
}
for type in v1 v2; do
	roce_mode_of "$DEV_A" $type
	roce_mode_of "$DEV_B" $type
	mckey_all $type 239.9.2.1 239.9.2.2 $IP4_A $IP4_B
	[ $type = v2 ] || mckey_all $type ff15::9:2:1 ff15::9:2:2 $IP6_A $IP6_B
done
check_fails "rdma_cm refuses IPv6 groups over v2" quietly "$WORK/mckey" in_b timeout 60 mckey -m ff15::9:2:3 -b $IP6_B -C 1
check_ok "mckey has left" not maddr_b 239.9.2.1

: "the netdev goes"
hold $MAPPED
show_b ip link del "$IF_B"
wait_check 60 "the device goes with its netdev" test ! -d "$IB/$DEV_B"
kill -9 $HOLDER
wait $HOLDER 2> /dev/null
finish
