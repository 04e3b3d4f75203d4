#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: core
# timeout: 900
#
# v2 traffic passes netfilter like that of any UDP socket: nftables counts it in INPUT and
# OUTPUT, and a drop rule stops it until it is removed. A packet held by a queue in user
# space is dropped when the module is unloaded.
#
#   a: nft table inet rhca  ====== veth ======  b

. "$(dirname "$0")/../lib/lib.sh"

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
		# 20 messages in each direction, plus acknowledgements.
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

if ours; then
	: "held in user space: the driver sends packets to VLANs through the hooks itself"
	add_vlan
	busywait 60 gid_index "$DEV_A" v2 10.9.7.1 || die "no GID of the VLAN"
	spawn_a $PYTHON "$LIB/nfqueue-hold.py" 7 > "$WORK/held" 2>&1
	holder=$!
	busywait 60 grep -q bound "$WORK/held" || die "no queue: $(cat "$WORK/held")"
	show_a nft add rule inet "rhca$$" output oifname "$IF_A.7" udp dport 4791 queue num 7
	$PYTHON - "$DEV_A" "$(gid_index "$DEV_A" v2 10.9.7.1)" <<- END
		import sys
		sys.path.insert(0, '$LIB')
		import verbs
		end = verbs.End.open(sys.argv[1], int(sys.argv[2]), qp_type='UD')
		end.connect({'qpn': 99, 'gid': '0000:0000:0000:0000:0000:ffff:0a09:0702', 'addr': 0, 'rkey': 0})
		end.post_send('SEND', [(0, 8)])
		end.wait(1, 60)
	END
	busywait 60 grep -q held "$WORK/held"
	in_queue() { in_a awk '{ print $3 }' /proc/net/netfilter/nfnetlink_queue; }
	check "packets that user space holds" 1 "$(in_queue)"
	within 60 "rmmod meanwhile" rmmod roce_hca
	check "packets that user space holds afterwards" 0 "$(in_queue)"
	kill -USR1 $holder
	wait $holder
	check "the verdict on packets that are gone" "bound held accepted" "$(paste -sd' ' "$WORK/held")"
fi
finish
