#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 600
#
# Congestion notification packets: which are accepted and which ignored, the responses to
# marks, that a QP respects its rate; and the files of ports/1/cc (cnp.py).
#
#   a (ra$$, aimed at)  ====== veth ======  b (packet socket on vb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

setup_pair 9000
TRACING=/sys/kernel/tracing
[ -e $TRACING/events ] || mount -t tracefs tracefs $TRACING 2> /dev/null
if [ -e $TRACING/events/rhca ]; then
	echo 1 > $TRACING/events/rhca/rhca_rate/enable
	defer "echo 0 > $TRACING/events/rhca/rhca_rate/enable"
fi
mac_a=$(in_a cat "/sys/class/net/$IF_A/address") mac_b=$(in_b cat "/sys/class/net/$IF_B/address")
options="--netdev $IF_B --src-mac $mac_b --dst-mac $mac_a"
[ -z "$NETNS" ] || options="$options --netns /run/netns/$NS_B"
for type in v1 v2; do
	for family in 4 6; do
		[ $type-$family != v1-6 ] || continue
		a=IP${family}_A b=IP${family}_B
		a=${!a} b=${!b}
		ia=$(gid_index "$DEV_A" "$type" $a) ib=$(gid_index "$DEV_B" "$type" $b)
		# shellcheck disable=SC2086
		LIMIT=200 python cnp.py "$DEV_A" "$ia" "$DEV_B" "$ib" --version "$type" \
			--src-ip $b --dst-ip $a $options
	done
done
[ ! -e $TRACING/events/rhca ] ||
	check_match "rhca_rate shows that a CNP was handled" '^[1-9]' "$(grep -c 'rhca_rate: .*cause=cnp' $TRACING/trace)"

: "files: what is out of range is refused, and nothing has changed"
cc=$IB/$DEV_A/ports/1/cc
check "rp_byte_reset is in units of 64 bytes, as adapters have it" 32767 "$(cat "$cc/rp_byte_reset")"
for what in "np_cnp_dscp 64 48" "np_cnp_prio 8 6" "rp_gd 9 11" "rp_threshold 0 1" "rp_min_rate 0 10" \
	"enable 2 1" "rp_dce_tcp_g 1024 1008" "rp_max_rate -1 0" "rp_ai_rate x 5"; do
	read -r name bad default <<< "$what"
	echo "$bad" 2> /dev/null > "$cc/$name" && fail "$name accepts $bad" || pass "$name refuses $bad"
	check "$name is unchanged" "$default" "$(cat "$cc/$name")"
done
finish
