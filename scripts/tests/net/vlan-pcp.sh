#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 900
#
# A GID on a VLAN: its traffic carries that VLAN's tag, and the tag's PCP is the
# service level & 7 whatever the VLAN device's own egress map says.
#
#   a: va$$.7 10.9.7.1/24 (egress map 0:6)  ====== veth ======  b: vb$$.7 10.9.7.2/24

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
need tcpdump
show_a ip link add link "$IF_A" name "$IF_A.7" type vlan id 7 egress-qos-map 0:6 || skip "no VLANs on this kernel"
show_b ip link add link "$IF_B" name "$IF_B.7" type vlan id 7
show_a ip addr add 10.9.7.1/24 dev "$IF_A.7"
show_b ip addr add 10.9.7.2/24 dev "$IF_B.7"
in_a ip -6 addr add fd97::1/64 dev "$IF_A.7" nodad
in_b ip -6 addr add fd97::2/64 dev "$IF_B.7" nodad
show_a ip link set "$IF_A.7" up
show_b ip link set "$IF_B.7" up
if [ -z "$NETNS" ]; then
	for i in "$IF_A.7" "$IF_B.7"; do
		echo 1 > "/proc/sys/net/ipv4/conf/$i/accept_local"
		echo 0 > "/proc/sys/net/ipv4/conf/$i/rp_filter"
	done
	ip route add 10.9.7.2/32 dev "$IF_A.7" src 10.9.7.1 table 100
	ip route add 10.9.7.1/32 dev "$IF_B.7" src 10.9.7.2 table 100
	ip -6 route add fd97::2/128 dev "$IF_A.7" src fd97::1 table 100
	ip -6 route add fd97::1/128 dev "$IF_B.7" src fd97::2 table 100
fi
# ib_core waits at most a second for a neighbour.
busywait 60 in_a ping -c1 -W1 10.9.7.2 || die "no ping over the VLAN"
busywait 60 in_a ping -6 -c1 -W1 fd97::2 || say "no IPv6 ping over the VLAN"

PORT=18900
SLS="0 1 5 7 13"
! emulated || SLS="0 13"
for type in $(roce_versions); do
	for family in 4 6; do
		a=10.9.7.1 b=10.9.7.2
		[ $family = 6 ] && a=fd97::1 b=fd97::2
		busywait 60 gid_index "$DEV_A" "$type" $a
		busywait 60 gid_index "$DEV_B" "$type" $b
		ia=$(gid_index "$DEV_A" "$type" $a) ib=$(gid_index "$DEV_B" "$type" $b)
		for sl in $SLS; do
			PORT=$((PORT + 1))
			capture_start "$WORK/cap"
			pair "rc-$type-ipv$family-sl$sl" tcp:$PORT \
				"ibv_rc_pingpong -d $DEV_A -g $ia -p $PORT -n 5 -s 3000 -l $sl" \
				"ibv_rc_pingpong -d $DEV_B -g $ib -p $PORT -n 5 -s 3000 -l $sl $IP4_A"
			PORT=$((PORT + 1))
			pair "ud-$type-ipv$family-sl$sl" tcp:$PORT \
				"ibv_ud_pingpong -d $DEV_A -g $ia -p $PORT -n 3 -s 500 -l $sl" \
				"ibv_ud_pingpong -d $DEV_B -g $ib -p $PORT -n 3 -s 500 -l $sl $IP4_A"
			capture_stop
			check_ok "$type IPv$family SL $sl: the capture is right" \
				$PYTHON "$LIB/check-icrc.py" "$WORK/cap" --expect 30
			ours || continue
			tags=$($PYTHON "$LIB/check-icrc.py" "$WORK/cap" --list |
				grep -oE 'vlan=[0-9]+ pcp=[0-9]+' | sort -u | paste -sd,)
			check "$type IPv$family SL $sl: VLAN and PCP of every packet" "vlan=7 pcp=$((sl & 7))" "$tags"
		done
	done
done

# Without a VLAN there is no tag.
ours && {
	ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
	capture_start "$WORK/cap"
	pair untagged tcp:18999 \
		"ibv_rc_pingpong -d $DEV_A -g $ia -p 18999 -n 5 -l 3" \
		"ibv_rc_pingpong -d $DEV_B -g $ib -p 18999 -n 5 -l 3 $IP4_A"
	capture_stop
	check "untagged traffic has no tag" "" \
		"$($PYTHON "$LIB/check-icrc.py" "$WORK/cap" --list | grep vlan= | head -3)"
}
finish
