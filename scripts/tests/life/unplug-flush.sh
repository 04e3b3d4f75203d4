#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 600
#
# A process that polls its completion queues gets completions of all posted requests when
# its device is unplugged: rdma link del, ip link del, a move of the netdev to another
# namespace, the end of its namespace. Also of requests that it posts while the device is
# being removed, as the end of a QP flushes them without a doorbell (not on an emulated
# machine, which is too slow). See unplugged.py.
#
#   a: ra$$ over one end of a veth, in a namespace       the process: anywhere

. "$(dirname "$0")/../lib/lib.sh"
only_ours   # the in-tree driver hangs here as long as a process holds the device

setup_pair 1500
other=rhca-c-$$
ip netns add "$other"
defer ip netns del "$other"
again() { # set up the pair again after one of its devices or netdevs was removed
	teardown_pair
	setup_wire 1500
	add_links
}

# uverbs is always loaded first here; elsewhere because the module uses a symbol of it
[ ! -e /sys/module/ib_uverbs/refcnt ] ||
	check "roce_hca depends on uverbs" yes "$([ -e /sys/module/ib_uverbs/holders/roce_hca ] && echo yes)"

for way in link-del netdev-del netdev-move netns-del; do
	ia=$(gid_index "$DEV_A" v2 $IP4_A)
	$PYTHON "$HERE/unplugged.py" "$DEV_A" "$ia" > "$WORK/$way" 2>&1 &
	poller=$!
	busywait 120 grep -q posted "$WORK/$way" || { cat "$WORK/$way"; die "$way: the process does not start"; }
	case $way in
	link-del) within 60 "rdma link del" rdma link del "$DEV_A" ;;
	netdev-del) within 60 "ip link del" ip -n "$NS_A" link del "$IF_A" ;;
	netdev-move) within 60 "ip link set netns" ip -n "$NS_A" link set "$IF_A" netns "$other" ;;
	netns-del) within 60 "ip netns del" ip netns del "$NS_A" ;;
	esac
	over() { ! kill -0 $poller; }
	busywait 150 over || { fail "$way: expected the process to end"; kill -9 $poller; }
	wait $poller 2> /dev/null
	judge "$way" "$WORK/$way" $?
	ip -n "$other" link del "$IF_A" 2> /dev/null
	again
done

# A verb is called meanwhile, which waits for a second at most: too short for a machine that
# stalls.
if ! emulated; then
	for try in 1 2 3 4 5 6 7 8 9 10; do
		in_a timeout -k 1 150 $PYTHON "$HERE/unplugged.py" --late "$IF_A" 10.9.0.99 \
			"$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" > "$WORK/late" 2>&1
		status=$?
		again
		[ $status = 3 ] || break
		say "try $try: the device had gone before"
	done
	judge late "$WORK/late" $status
fi
finish
