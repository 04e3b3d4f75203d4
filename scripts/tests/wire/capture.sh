#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 900
#
# Every operation captured: tshark dissects it without a malformed or expert
# remark, every ICRC, length, pad count and IP header is recomputed
# (check-icrc.py), and the capture holds each opcode it should.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$, tcpdump)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
need tcpdump
# The folders of other architectures have neither tshark nor scapy: check-icrc.py judges alone.
tshark=
[ -n "${RHCA_NO_TSHARK-}" ] || { need tshark; tshark=1; }

expect_opcodes() { # expect_opcodes FILE NAME...
	local got name missing=
	got=$($PYTHON "$LIB/check-icrc.py" "$1" | grep '^opcodes:')
	shift
	for name in "$@"; do
		[[ " $got " == *" $name "* ]] || missing="$missing $name"
	done
	check "opcodes that should be in the capture and are not" "" "$missing"
}

# Two remarks are no fault of the packets. A UDP checksum of 0 over IPv6 is right by annex A17
# and used by adapters: a preference tells tshark. And tshark 4.0 looks for an Ethernet type in
# the first four bytes of any SEND's payload, so shorter payloads cause an error: check-icrc.py
# identifies those frames.
dissect() { # dissect LABEL FILE
	local short

	[ -n "$tshark" ] || return 0
	check_match "$1: tshark sees packets" '^[1-9]' "$(tshark -r "$2" 2> /dev/null | wc -l)"
	short=" $($PYTHON "$LIB/check-icrc.py" "$2" --list |
		awk '$3 ~ /_(SEND|WRITE)_(ONLY|LAST)/ && / length=[0-3] / { print $1 }' | paste -sd' ') "
	tshark -r "$2" -o udp.ignore_ipv6_zero_checksum:TRUE \
		-Y '_ws.malformed || _ws.unreassembled || _ws.short || (_ws.expert && infiniband)' \
		-T fields -e frame.number -e _ws.expert.message -e _ws.col.Info > "$WORK/remarks"
	check "$1: tshark's status" 0 $?
	check "$1: remarks by tshark" "" "$(while read -r number rest; do
		[[ $short == *" $number "* ]] || echo "$number $rest"
	done < "$WORK/remarks" | head -10)"
}

for type in $(roce_versions); do
	for family in 4 6; do
		a=IP${family}_A b=IP${family}_B cap=$WORK/$type-$family.pcap
		a=${!a} b=${!b}
		ia=$(gid_index "$DEV_A" "$type" $a) ib=$(gid_index "$DEV_B" "$type" $b)
		[ -n "$ia" ] && [ -n "$ib" ] || { fail "no $type GID of IPv$family"; continue; }
		capture_start "$cap"
		LIMIT=120 python ops.py "$DEV_A" "$ia" "$DEV_B" "$ib" --quick --label "$type IPv$family "
		roce_mode_of "$DEV_A" "$type"
		roce_mode_of "$DEV_B" "$type"
		if ours || [ $family = 4 ]; then
			pair "rping-$type-ipv$family" cm:7800 \
				"rping -s -a $a -p 7800 -C 2 -V -S 100" "rping -c -a $a -I $b -p 7800 -C 2 -V -S 100"
		fi
		capture_stop
		want="$type/IPv$family"
		[ "$type" = v1 ] && want=v1
		oracle=
		[ -n "$tshark" ] && [ "$want" = v2/IPv4 ] && oracle=--scapy
		check_ok "$want: every packet recomputed" $PYTHON "$LIB/check-icrc.py" "$cap" --expect 400 $oracle
		expect_opcodes "$cap" \
			RC_SEND_FIRST RC_SEND_MIDDLE RC_SEND_LAST RC_SEND_ONLY RC_SEND_ONLY_IMM \
			RC_WRITE_FIRST RC_WRITE_MIDDLE RC_WRITE_LAST RC_WRITE_ONLY RC_WRITE_ONLY_IMM \
			RC_READ_REQUEST RC_READ_RESPONSE_FIRST RC_READ_RESPONSE_MIDDLE RC_READ_RESPONSE_LAST \
			RC_READ_RESPONSE_ONLY RC_ACKNOWLEDGE RC_ATOMIC_ACKNOWLEDGE RC_COMPARE_SWAP RC_FETCH_ADD \
			UC_SEND_FIRST UC_SEND_LAST UC_SEND_ONLY UC_WRITE_FIRST UC_WRITE_LAST UC_WRITE_ONLY \
			UC_WRITE_ONLY_IMM UD_SEND_ONLY UD_SEND_ONLY_IMM
		dissect "$want" "$cap"
		if [ -n "$tshark" ] && { ours || [ $family = 4 ]; }; then
			check_match "$want: the CM's MADs are dissected" '^[1-9]' \
				"$(tshark -r "$cap" -Y infiniband.mad 2> /dev/null | grep -c ConnectRequest)"
		fi
	done
done
finish
