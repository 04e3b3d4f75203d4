#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: core
# timeout: 900
#
# v2 traffic passes netfilter like any UDP socket's: nftables counts it in INPUT
# and OUTPUT, and a drop rule stops it; without the rule it goes on.
#
#   a: nft table inet rhca  ====== veth ======  b

. "$(dirname "$0")/lib.sh"

setup_pair 1500
need nft
show_a nft -f - <<- END || skip "no nftables on this kernel"
	table inet rhca$$ {
		counter in { }
		counter out { }
		counter dropped { }
		chain input { type filter hook input priority 0; iifname $IF_A udp dport 4791 counter name in; }
		chain output { type filter hook output priority 0; oifname $IF_A udp dport 4791 counter name out; }
	}
END
defer "in_a nft delete table inet rhca$$"
packets() { in_a nft list counter inet "rhca$$" "$1" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

traffic() { # traffic NAME ADDRESS_A ADDRESS_B PORT TOOL ITERATIONS
	local ia ib
	ia=$(gid_index "$DEV_A" v2 "$2") ib=$(gid_index "$DEV_B" v2 "$3")
	pair "$1" tcp:"$4" "$5 -d $DEV_A -g $ia -p $4 -n $6 -s 512" "$5 -d $DEV_B -g $ib -p $4 -n $6 -s 512 $IP4_A"
}

PORT=19000
for tool in ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong; do
	for family in 4 6; do
		a=IP${family}_A b=IP${family}_B
		PORT=$((PORT + 1))
		before_in=$(packets in) before_out=$(packets out)
		traffic "$tool-ipv$family" ${!a} ${!b} $PORT $tool 20
		# 20 messages each way; acknowledgements come on top.
		check_match "$tool IPv$family: INPUT counted at least 20" '^([2-9][0-9]|[1-9][0-9]{2,})$' $(($(packets in) - before_in))
		check_match "$tool IPv$family: OUTPUT counted at least 20" '^([2-9][0-9]|[1-9][0-9]{2,})$' $(($(packets out) - before_out))
	done
done

# v1 is no IP: these counters do not move.
if ours; then
	before=$(packets in)
	ia=$(gid_index "$DEV_A" v1 $IP4_A) ib=$(gid_index "$DEV_B" v1 $IP4_B)
	pair v1 tcp:19050 "ibv_rc_pingpong -d $DEV_A -g $ia -p 19050 -n 10" \
		"ibv_rc_pingpong -d $DEV_B -g $ib -p 19050 -n 10 $IP4_A"
	check "v1 does not pass INPUT" 0 $(($(packets in) - before))
fi

: "dropped: the client gives up with status 12; without the rule all is well"
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
for chain in input output; do
	show_a nft add rule inet "rhca$$" $chain udp dport 4791 counter name dropped drop
	before=$(packets dropped)
	if [ $chain = input ]; then
		python errors.py "$DEV_B" "$ib" "$DEV_A" "$ia" --only blocked
	else
		python errors.py "$DEV_A" "$ia" "$DEV_B" "$ib" --only blocked
	fi
	check_match "dropped in $chain" '^[1-9]' $(($(packets dropped) - before))
	show_a nft flush chain inet "rhca$$" $chain
	traffic "after-drop-in-$chain" $IP4_A $IP4_B 1906${#chain} ibv_rc_pingpong 10
done
finish
