#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# Every operation of RC, UC and UD with its data checked, over v1 and v2, IPv4
# and IPv6, across the PSN wrap, at two MTUs (see ops.py).
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
for type in $(roce_versions); do
	for family in 4 6; do
		a=IP${family}_A b=IP${family}_B mtu=1024
		[ $family = 6 ] && mtu=4096
		ia=$(gid_index "$DEV_A" "$type" "${!a}") ib=$(gid_index "$DEV_B" "$type" "${!b}")
		[ -n "$ia" ] && [ -n "$ib" ] || { fail "no $type GID of IPv$family"; continue; }
		# As on ConnectX: the headers that precede a datagram's payload.
		case $type-$family in
		v1-*) sl=0 ;;
		v2-4) sl=0xa ;;
		v2-6) sl=0x9 ;;
		esac
		options=()
		! ours || options=(--ours --received-sl "$sl")
		python ops.py "$DEV_A" "$ia" "$DEV_B" "$ib" --mtu $mtu --label "$type IPv$family " "${options[@]}"
	done
done
finish
