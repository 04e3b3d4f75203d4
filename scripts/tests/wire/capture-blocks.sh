#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# every: 3
# timeout: 900
#
# As capture, with blocks: each packet of a block that is captured unsegmented, and each
# packet after segmentation by a queue, is recomputed (check-icrc.py); on the wire itself,
# over a VLAN and over a bond. RoCE v1, which has no blocks, takes the same paths.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$, tcpdump)
#   then the two wires of lag-lib.sh, bonded

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/lag-lib.sh"

only_ours
need tcpdump tc
CAPTURE_WHOLE=1
setup_pair 9000
keep_order

RC="RC_SEND_FIRST RC_SEND_MIDDLE RC_SEND_LAST RC_SEND_ONLY RC_SEND_ONLY_IMM
	RC_WRITE_FIRST RC_WRITE_MIDDLE RC_WRITE_LAST RC_WRITE_ONLY RC_WRITE_ONLY_IMM
	RC_READ_REQUEST RC_READ_RESPONSE_FIRST RC_READ_RESPONSE_MIDDLE RC_READ_RESPONSE_LAST
	RC_READ_RESPONSE_ONLY RC_ACKNOWLEDGE RC_ATOMIC_ACKNOWLEDGE RC_COMPARE_SWAP RC_FETCH_ADD"
UC="UC_SEND_FIRST UC_SEND_MIDDLE UC_SEND_LAST UC_SEND_ONLY
	UC_WRITE_FIRST UC_WRITE_MIDDLE UC_WRITE_LAST UC_WRITE_ONLY UC_WRITE_ONLY_IMM"
UD="UD_SEND_ONLY UD_SEND_ONLY_IMM"

# every_operation LABEL TYPE ADDRESS_A ADDRESS_B [EXTRA]: also many at once of each type
every_operation() {
	local label=$1 kind
	local ends=("$DEV_A" "$(gid_index "$DEV_A" "$2" "$3")" "$DEV_B" "$(gid_index "$DEV_B" "$2" "$4")")

	LIMIT=120 python ops.py "${ends[@]}" --quick --label "$label "
	for kind in RC UC UD; do
		LIMIT=60 python batch.py "${ends[@]}" --label "$label " --type $kind --rounds 1
	done
	LIMIT=60 python batch.py "${ends[@]}" --label "$label " --type RC --size 60 --read --rounds 1
}

# captured LABEL TYPE ADDRESS_A ADDRESS_B [CHECK-ICRC-OPTION...]
captured() {
	local label=$1 cap=$WORK/cap name missing='' found
	shift
	capture_start "$cap"
	every_operation "$label" "${@:1:3}"
	capture_stop
	if check_ok "$label: every packet recomputed" $PYTHON "$LIB/check-icrc.py" "$cap" --expect 500 \
			"${@:4}" > "$WORK/checked"; then
		grep -v '^opcodes' "$WORK/checked"
	else
		head -n 20 "$WORK/checked"
		fail "$label: $(grep -v '^opcodes' "$WORK/checked" | tail -n 3 | xargs)"
	fi
	found=$(grep '^opcodes:' "$WORK/checked")
	for name in $RC $UC $UD; do
		[[ " $found " == *" $name "* ]] || missing="$missing $name"
	done
	check "$label: opcodes that are missing" "" "$missing"
}

# A message of several packets is a block; other blocks depend on how soon the process posts
# again: 67 to 92 blocks have been seen.
LEAST_BLOCKS=40

# every_framing LABEL IPV4-A IPV4-B IPV6-A IPV6-B [CHECK-ICRC-OPTION...]: v1 and v2
every_framing() {
	captured "$1, v1" v1 "$2" "$3"
	captured "$1, v2/IPv4" v2 "$2" "$3" --scapy "${@:6}"
	captured "$1, v2/IPv6" v2 "$4" "$5" "${@:6}"
}

: "whole"
every_framing whole $IP4_A $IP4_B $IP6_A $IP6_B --blocks $LEAST_BLOCKS

: "cut by a queue that takes no packet as large as a block"
both tc qdisc replace dev IF root tbf rate 20gbit burst 2500 limit 3000000
every_framing cut $IP4_A $IP4_B $IP6_A $IP6_B --blocks 0 --longest 2500
both tc qdisc del dev IF root

: "over a VLAN"
add_vlan
show_a ip addr add fd09:7::1/64 dev "$IF_A.7" nodad
show_b ip addr add fd09:7::2/64 dev "$IF_B.7" nodad
wait_gids
has_gids() { [ -n "$(gid_index "$DEV_A" v2 fd09:7::1)" ] && [ -n "$(gid_index "$DEV_B" v2 fd09:7::2)" ]; }
busywait 60 has_gids || die "no GIDs of the VLAN"
every_framing VLAN 10.9.7.1 10.9.7.2 fd09:7::1 fd09:7::2 --blocks $LEAST_BLOCKS --vlan 7

: "over a bond"
teardown_pair
lag_setup
lag_devices
bond_up active-backup
show_a ip addr add $IP6_A/64 dev "$BOND_A" nodad
show_b ip addr add $IP6_B/64 dev "$BOND_B" nodad
bonded() { device_on "$BOND_A" > /dev/null && device_on "$BOND_B" > /dev/null; }
busywait 60 bonded || die "no devices on the bonds"
find_lag
has_gids() { [ -n "$(gid_index "$DEV_A" v2 $IP6_A)" ] && [ -n "$(gid_index "$DEV_B" v2 $IP6_B)" ]; }
busywait 60 has_gids || die "no GIDs of the bonds"
CAPTURE_IF=$BOND_B
every_framing bond $IP4_A $IP4_B $IP6_A $IP6_B --blocks $LEAST_BLOCKS
finish
