#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: core
# spread: yes
# timeout: 900
#
# ibv_{rc,uc,ud,srq}_pingpong, polling and with completion events, over every
# GID of the port: RoCE v1 and v2, link-local, IPv4 and IPv6.
#
#   a (server, ra$$)  ====== veth, MTU 9000 ======  b (client, rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000

PORT=18600
iters=${ITERS:-20}

# pingpong TOOL EXTRA LABEL SERVER_INDEX CLIENT_INDEX
pingpong() {
	PORT=$((PORT + 1))
	pair "$1-$3" tcp:$PORT \
		"$1 -d $DEV_A -g $4 -p $PORT -n $iters $2" \
		"$1 -d $DEV_B -g $5 -p $PORT -n $iters $2 $IP4_A"
}

# Every entry of a's table has a counterpart at b: same type and kind of address.
peer_index() { # peer_index v1|v2 GID
	case $2 in
	fe80:*) gids "$DEV_B" | awk -v t="$1" '$2 == t && $3 ~ /^fe80:/ { print $1; exit }' ;;
	*:ffff:0a09:*) gid_index "$DEV_B" "$1" $IP4_B ;;
	*) gid_index "$DEV_B" "$1" $IP6_B ;;
	esac
}

# Link-local addresses answer once duplicate detection is done; ib_core waits at most a second
# for a neighbour.
link_local_answers() {
	local address
	address=$(in_b ip -6 -o addr show dev "$IF_B" scope link | awk '{ print $4; exit }')
	in_a ping -6 -c1 -W1 "${address%/*}%$IF_A"
}
! ours || busywait 60 link_local_answers || die "b's link-local address does not answer ping"

show gids "$DEV_A"
seen=
while read -r index type gid _; do
	peer=$(peer_index "$type" "$gid")
	[ -n "$peer" ] || { fail "GID $index ($type $gid): expected its like on $DEV_B, got none"; continue; }
	case $gid in
	fe80:*) kind=link-local ;;
	*:ffff:0a09:*) kind=ipv4 ;;
	*) kind=ipv6 ;;
	esac
	if [ $kind = link-local ] && ! ours; then continue; fi
	seen="$seen $type-$kind"
	for tool in ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
		size=4096
		[ $tool = ibv_ud_pingpong ] && size=1024
		pingpong $tool "-s $size" "poll-$type-$kind" "$index" "$peer"
		pingpong $tool "-s $size -e" "event-$type-$kind" "$index" "$peer"
	done
done < <(gids "$DEV_A")

for type in $(roce_versions); do
	for kind in ipv4 ipv6; do
		check_match "GID $type $kind was used" "$type-$kind" "$seen"
	done
done

# Segmentation: a message of many packets, at the smallest and largest MTU.
for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	for mtu in 256 4096; do
		pingpong ibv_rc_pingpong "-s 65537 -m $mtu -c" "64k-mtu$mtu-$type" "$ia" "$ib"
		pingpong ibv_uc_pingpong "-s 65537 -m $mtu" "64k-mtu$mtu-$type" "$ia" "$ib"
	done
done
finish
