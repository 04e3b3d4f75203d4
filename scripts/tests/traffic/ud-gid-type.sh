#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# Module parameter ud_gid_type: datagrams of user QPs are sent as v1 (0), as v2 (2) or by
# the address handle's own GID (auto); it does not affect connected QPs.
#
#   a (ra$$)  ====== veth, captured ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours
need tcpdump

load_support
remove_driver rdma_rxe
setup_wire 1500
PORT=19700

# wire_types TOOL GID_TYPE: the versions in a capture of one run
wire_types() {
	PORT=$((PORT + 1))
	capture_start "$WORK/cap"
	pair "$1-gid-$2-ud_gid_type-$value" tcp:$PORT \
		"$1 -d $DEV_A -g $(gid_index "$DEV_A" "$2" $IP4_A) -p $PORT -n 5 -s 500" \
		"$1 -d $DEV_B -g $(gid_index "$DEV_B" "$2" $IP4_B) -p $PORT -n 5 -s 500 $IP4_A"
	capture_stop
	kinds=$($PYTHON "$LIB/check-icrc.py" "$WORK/cap")
}

for value in 0 2 auto; do
	reload_driver ud_gid_type=$value || die "ud_gid_type=$value does not load"
	add_links
	for gid in v1 v2; do
		case $value in
		0) want=v1 ;;
		2) want=v2/IPv4 ;;
		auto) want=v1; [ $gid = v2 ] && want=v2/IPv4 ;;
		esac
		wire_types ibv_ud_pingpong $gid
		check_match "ud_gid_type=$value, GID $gid: UD goes as $want" "RoCE packets \($want [0-9]+\), 0 wrong" "$kinds"
		want=v1
		[ $gid = v2 ] && want=v2/IPv4
		wire_types ibv_rc_pingpong $gid
		check_match "ud_gid_type=$value, GID $gid: RC goes as $want" "RoCE packets \($want [0-9]+\), 0 wrong" "$kinds"
	done
	show rdma link del "$DEV_A"
	show rdma link del "$DEV_B"
done
finish
