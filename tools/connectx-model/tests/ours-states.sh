#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# States that roce_hca_mlx5 does not choose: a send queue that fails, a netdev that moves to
# another namespace under traffic, firmware that lacks features. Last, queues of the driver
# itself that the adapter does not destroy, or not reset (undestroyed-queues.py).
#
# usage: ours-states.sh [lacking | reasons]
#   lacking  the model was started with --without=roce-v1,free-running,q-counters,many-reads
#   reasons  with --with=error-reason: the log says why queue pairs failed
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC2034 # for guest-lib.sh
{
	driver=roce_hca_mlx5
	kinds='CQ|PD|QP|Q counter|RMP|UAR|mkey'
	# mlx5_core logs the refusals of undestroyed-queues.py.
	provoked='mlx5_cmd_out_err.*(DESTROY_(QP|CQ|MKEY|XRC_SRQ)|DEALLOC_(PD|UAR)|2RST_QP|ALLOC_Q_COUNTER)|timeout'
}

speaks_v2_only() {
	[ "$(cat "/sys/class/infiniband/$rdma/ports/1/roce_versions")" = v2 ] &&
		! find_gid v1 ffff
}

has_no_gid() { ! find_gid "$@"; }

# Its entry becomes an empty one: of RoCE v1, the firmware would refuse it, and mlx5_core log that
address_goes() {
	ip address add 10.7.0.9/24 dev "$netdev" && wait_for find_gid v2 0a07:0009 &&
		ip address del 10.7.0.9/24 dev "$netdev" && wait_for has_no_gid v2 0a07:0009
}

# Counters of queue pairs are absent, instead of 0; those for packets of the port exist
counts_port_alone() {
	local files=/sys/class/infiniband/$rdma/ports/1/hw_counters

	ls "$files"
	[ "$(cat "$files/tx_packets")" -gt 50 ] && [ ! -e "$files/out_of_sequence" ]
}

# A process holds objects of the device while the netdev moves away and back.
netns_move() {
	local pid

	ip netns add other || return 1
	timeout 60 ibv_rc_pingpong -d "$rdma" -g "$gid" -n 100000000 > "$work/held" 2>&1 &
	pid=$!
	until_listening $pid
	ip link set "$netdev" netns other &&
		ip -n other link set "$netdev" netns 1 || return 1
	wait $pid
	bring_up 10.7.0.1
}

tracing=/sys/kernel/tracing

has_probes() {
	mountpoint -q $tracing || mount -t tracefs tracefs $tracing && [ -e $tracing/kprobe_events ]
}

# For processes, whose queues may be many: their handlers do not run in the interrupt
completions_in_tasklet() {
	local probe=where/completion status=0

	echo "p:$probe ib_uverbs:ib_uverbs_comp_handler" >> $tracing/kprobe_events &&
		echo 1 > $tracing/events/$probe/enable || return 1
	both_ends "" localhost ibv_rc_pingpong -e -d "$rdma" -g "$gid" -n 50 || status=1
	echo 0 > $tracing/events/$probe/enable
	grep ' completion: ' $tracing/trace > "$work/contexts" || status=1
	echo "-:$probe" >> $tracing/kprobe_events
	tail -n 5 "$work/contexts"
	# The third flag after the processor: h, H and Z mean a hard interrupt
	! grep -E '\] ..[hHZ]' "$work/contexts" && [ $status -eq 0 ]
}

tasks() {
	echo 1 > /sys/kernel/slab/task_struct/shrink
	awk '$1 == "task_struct" { print $2 }' /proc/slabinfo
}

# ib_core leaks the task if a driver refuses a context by ioctl, which libmlx5 tries first
processes_go() {
	local before after

	before=$(tasks)
	for _ in $(seq 60); do
		ibv_devinfo -d "$rdma" > /dev/null || return 1
	done
	sleep 2
	after=$(tasks)
	echo "tasks in memory before: $before, after 60 processes: $after"
	[ $((after - before)) -lt 30 ]
}

lent() {
	control "{\"cmd\":\"pages\",\"count\":${1-0}}" | tr -dc '0-9\n'
}

has_lent() {
	[ "$(lent)" -eq "$1" ]
}

# Firmware requests memory, and returns it.
pages_on_demand() {
	local before

	before=$(lent)
	lent 16 > /dev/null
	wait_for has_lent $((before + 16)) || return 1
	lent -16 > /dev/null
	wait_for has_lent "$before"
}

# states.py made a queue pair refuse a READ
reason_logged() {
	dmesg | tail -n +$((said_before + 1)) | grep 'QP 0x[0-9a-f]* failed: local access error'
}

# The driver is unbound under traffic from an adapter that needs half a second to flush it
slow_flush() {
	local word

	coproc poller { exec /usr/bin/python3 "$here/polling.py"; }
	control '{"cmd":"flush","us":100000}'
	echo "$rdma $gid" >&"${poller[1]}"
	read -r -t 60 word <&"${poller[0]}" && [ "$word" = busy ] || return 1
	unbind_functions
	read -r -t 60 word <&"${poller[0]}"
	echo "$word"
	control '{"cmd":"flush"}'
	eval "exec ${poller[1]}>&-"
	bring_up 10.7.0.1 && [[ $word == flushed* ]]
}

start_alone
check bring-up bring_up 10.7.0.1
if [ "${1-}" = lacking ]; then
	check speaks-v2-only speaks_v2_only
	timeout 60 /usr/bin/python3 "$here/stamps.py" "$rdma" || failed=1
	pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
	# As many READs in flight as the device announces
	pair reads "ib_read_bw -d $rdma -x $gid -F -n 50 -s 65536" \
		"ib_read_bw -d $rdma -x $gid -F -n 50 -s 65536 localhost"
	pair rping "rping -s -a $address -C 5" "rping -c -a $address -C 5"
	check counts-port-alone counts_port_alone
	check address-goes address_goes
	finish
fi
timeout 120 /usr/bin/python3 "$here/states.py" "$rdma" "$gid" "$RHCA_SHARE" || failed=1
if [ "${1-}" = reasons ]; then
	check reason-logged wait_for reason_logged
	finish
fi
if has_probes; then
	check completions-in-tasklet completions_in_tasklet
else
	echo "SKIP completions-in-tasklet (the kernel has no probes)"
fi
check processes-go processes_go
check pages-on-demand pages_on_demand
check netns-move netns_move
check slow-flush slow_flush
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
	"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
check unload modprobe -r roce_hca_mlx5
check nothing-left nothing_left "$alone"
# Last, as objects remain in the adapter
check bring-up-again bring_up 10.7.0.1
timeout 500 /usr/bin/python3 "$here/undestroyed-queues.py" "$rdma" "$gid" \
	"$(basename $auxiliary/drivers/roce_hca_mlx5.rdma/mlx5_core.rdma.*)" || failed=1
check unload-with-lost-queues modprobe -r roce_hca_mlx5
finish
