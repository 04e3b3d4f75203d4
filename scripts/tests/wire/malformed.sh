#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# spread: yes
# timeout: 900
#
# Malformed packets from the wire: truncated at each length, inconsistent lengths, bad opcodes,
# pad counts, ICRCs, keys and numbers, and noise from a fixed seed, over v1 and v2. No crash,
# each class counted, other traffic unaffected (malformed.py).
#
#   a (ra$$, aimed at)  ====== veth ======  b (packet socket on vb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
mac_a=$(in_a cat "/sys/class/net/$IF_A/address") mac_b=$(in_b cat "/sys/class/net/$IF_B/address")
fuzz=1000
[ "${RHCA_KERNEL:-}" = uml-debug ] && fuzz=240
options="--netdev $IF_B --src-mac $mac_b --dst-mac $mac_a --fuzz ${FUZZ:-$fuzz}"
[ -z "$NETNS" ] || options="$options --netns /run/netns/$NS_B"
ours && options="$options --count-drops"
PORT=19600
for type in $(roce_versions); do
	ours && { roce_mode_of "$DEV_A" "$type"; roce_mode_of "$DEV_B" "$type"; }
	for family in 4 6; do
		a=IP${family}_A b=IP${family}_B
		a=${!a} b=${!b}
		ia=$(gid_index "$DEV_A" "$type" $a) ib=$(gid_index "$DEV_B" "$type" $b)
		[ -n "$ia" ] && [ -n "$ib" ] || { fail "no $type GID of IPv$family"; continue; }
		# shellcheck disable=SC2086
		LIMIT=400 python malformed.py "$DEV_A" "$ia" "$DEV_B" "$ib" --version "$type" \
			--src-ip $b --dst-ip $a $options
		# Only a working QP1 makes a connection.
		if ours; then
			PORT=$((PORT + 1))
			pair "rdma_cm-afterwards-$type-ipv$family" cm:$PORT \
				"rping -s -a $a -p $PORT -C 2 -V" "rping -c -a $a -I $b -p $PORT -C 2 -V"
		fi
	done
done
finish
