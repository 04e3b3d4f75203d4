#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine with roce_hca_mlx5: the knobs of a port have the same effect on the wire as on a
# port served by software; settings that the adapter does not support are refused.
#
# usage: ours-knobs.sh   (with --capture)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5

bound=/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma

rc_pingpong() {
	pair "$1" "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
}

# Traffic class 104 is DSCP 26.
force() {
	echo 104 > "$folder/tc/1/traffic_class" && echo 33 > "$folder/tc/1/ttl"
}

forced_on_wire() {
	on_wire 'udp dst port 4791 and ip[1] & 0xfc == 104 and ip[8] == 33'
}

# Both the file with the rules and the log say so.
told_of_new_connections() {
	cat "$folder/tc/1/traffic_class"
	grep -qx '# new connections only' "$folder/tc/1/traffic_class" &&
		dmesg | grep 'forced values for new connections only'
}

# The adapter's own counters, as with mlx5_ib.
board_named() {
	head "$folder"/{hca_type,board_id,hw_rev,fw_ver,backend}
	[ "$(cat "$folder/hca_type")" = MT4119 ] && [ -s "$folder/board_id" ] &&
		[ "$(cat "$folder/board_id")" != mlx5 ] &&
		[ "$(cat "$folder/backend")" = mlx5 ]
}

# Parameters of congestion control: each can be read, and has the value written. Of two in one
# word of the firmware, the other one is unchanged; but a CNP priority is written to take
# effect, which requires mode 0. A DSCP has 6 bits.
congestion_parameters() {
	local cc=$folder/ports/1/cc

	grep . "$cc"/* && [ "$(ls "$cc" | wc -l)" -eq 20 ] || return 1
	echo 5 > "$cc/np_cnp_prio" && echo 1 > "$cc/np_cnp_prio_mode" &&
		echo 48 > "$cc/np_cnp_dscp" && echo 4321 > "$cc/rp_ai_rate" || return 1
	! echo 64 > "$cc/np_cnp_dscp" && ! echo x > "$cc/np_cnp_dscp" || return 1
	grep . "$cc"/*
	[ "$(cat "$cc"/{np_cnp_prio,np_cnp_prio_mode,np_cnp_dscp,rp_ai_rate} | xargs)" = \
		"5 1 48 4321" ] || return 1
	echo 6 > "$cc/np_cnp_prio"
	[ "$(cat "$cc"/{np_cnp_prio,np_cnp_prio_mode} | xargs)" = "6 0" ]
}

# A queue pair that the adapter moved to the error state is unbound from its counter: otherwise
# the log would have a warning.
bound_in_error() {
	rdma statistic qp set link "$rdma/1" auto type on &&
		timeout 100 /usr/bin/python3 "$(dirname "$0")/no-answer.py" "$rdma" "$gid" &&
		rdma statistic qp set link "$rdma/1" auto off && no_warning
}

# The table of an adapter's port has one entry, of which all are members.
pkeys_refused() {
	! echo '1 0x8001' > "$folder/partitions/1/pkeys" &&
		dmesg | grep 'no P_Key but 0xffff' &&
		[ "$(cat "$folder/ports/1/pkeys/0")" = 0xffff ]
}

# Counters that it does not support are absent, instead of always 0.
counters_named() {
	local counters=$folder/ports/1/hw_counters

	ls "$counters"
	[ -e "$counters/rx_write_requests" ] && [ -e "$counters/link_downed" ] &&
		[ ! -e "$counters/rx_dropped_no_qp" ] && [ ! -e "$counters/tx_dropped" ]
}

hw_counter() {
	cat "$folder/ports/1/hw_counters/$1"
}

counts_writes() {
	local before

	before=$(hw_counter rx_write_requests)
	pair "$1" "ib_write_bw -d $rdma -x $gid -F -n 20 -s 4096" \
		"ib_write_bw -d $rdma -x $gid -F -n 20 -s 4096 localhost"
	echo "before $before, now $(hw_counter rx_write_requests)"
	[ "$(hw_counter rx_write_requests)" -ge $((before + 20)) ]
}

# Counts of bound queue pairs remain in the port's sum after these are destroyed.
bound_counts_stay() {
	rdma statistic qp set link "$rdma/1" auto type on &&
		counts_writes write-bound &&
		rdma statistic qp set link "$rdma/1" auto off
}

has_no_function() {
	! compgen -G "$bound/mlx5_core.rdma.*"
}

ports_none() {
	modprobe -r roce_hca_mlx5 && modprobe roce_hca_mlx5 ports=none &&
		has_no_function
}

# What is neither a word nor a list of PCI addresses
ports_refused() {
	local list

	modprobe -r roce_hca_mlx5 || return 1
	for list in '' All none,all eth0 3b:00.0 0:3b:00.0 0000:3b:00 '0000:3b:00.0,' 0000:3b:00.0,eth0; do
		modprobe roce_hca_mlx5 "ports=$list" && return 1
		dmesg | grep -F "ports=$list is not one of" || return 1
	done
}

ports_by_address() {
	local address

	address=$(basename "$(readlink -f "/sys/class/net/$netdev/device")")
	modprobe -r roce_hca_mlx5 &&
		modprobe roce_hca_mlx5 "ports=0000:ff:00.0,$address" &&
		! has_no_function && wait_for has_rdma
}

backend_tool() {
	timeout 120 tools/user/roce-backend "$@"
}

# Refused while a process uses the device; the message names it.
tool_refuses() {
	local server status=0

	ibv_rc_pingpong -d "$rdma" -g "$gid" > /dev/null 2>&1 &
	server=$!
	until_listening $server
	! backend_tool "$netdev" in-tree 2> "$work/refusal" || status=1
	cat "$work/refusal"
	grep -q '^roce-backend: refused' "$work/refusal" &&
		grep -q "process $server (ibv_rc_pingpong)" "$work/refusal" || status=1
	[ -e "$bound/mlx5_core.rdma.0" ] || status=1
	kill $server
	wait $server
	[ $status -eq 0 ]
}

tool_moves() {
	backend_tool "$netdev" in-tree && backend_tool &&
		driver=mlx5_ib has_rdma && has_no_function &&
		backend_tool "$netdev" software &&
		grep -lx software /sys/class/infiniband/*/backend &&
		backend_tool "$netdev" hardware && has_rdma && ! has_no_function
}

# A device keeps its settings when another backend serves its port.
settings_stay() {
	grep -q 104 "$folder/tc/1/traffic_class" && [ "$(cat "$folder/tc/1/ttl")" = 33 ]
}

check bring-up bring_up 10.7.0.1
folder=/sys/class/infiniband/$rdma
check board-named board_named
check force force
check told-of-new-connections told_of_new_connections
rc_pingpong rc-forced
check forced-on-wire forced_on_wire
check pkeys-refused pkeys_refused
check counters-named counters_named
check counts-writes counts_writes write
check bound-counts-stay bound_counts_stay
check bound-in-error bound_in_error
check congestion-parameters congestion_parameters
check ports-refused ports_refused
check ports-none ports_none
check ports-by-address ports_by_address
check settings-stay settings_stay
check tool-refuses tool_refuses
check tool-moves tool_moves
check settings-stay-with-the-tool settings_stay
finish
