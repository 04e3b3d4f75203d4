#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine with mlx5_ib and a software device that stands in for it: the in-tree driver is
# unbound and bound again, round after round, with traffic each time. A server that listens on
# all addresses is started once.
#
# usage: stand-in.sh [ROUNDS]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")

rounds=${1-3}
unbind=/sys/bus/auxiliary/drivers/mlx5_ib.rdma
function=mlx5_core.rdma.0
# The debounce time of a second and one for the device, on an emulated processor.
limit_ms=$((2000 * ${RHCA_SLOW-3}))
slowest_ms=0
declare -A spent_ms

# has_software: sets software to its name
has_software() {
	local file backend

	for file in /sys/class/infiniband/*/backend; do
		if read -r backend < "$file" && [ "$backend" = software ]; then
			software=$(basename "${file%/backend}")
			return
		fi
	done 2> /dev/null
	return 1
}

has_none() {
	! has_software
}

# Sets now_ms
look_at_clock() {
	now_ms=$((${EPOCHREALTIME/[.,]/} / 1000))
}

# lap WHAT: attribute the time since the last lap to it, in ms
lap() {
	look_at_clock
	spent_ms[$1]=$((${spent_ms[$1]-0} + now_ms - lap_began_ms))
	lap_began_ms=$now_ms
}

# How an average round's time was spent
laps() {
	local what

	[ "$rounds_done" -gt 0 ] || return
	for what in "${!spent_ms[@]}"; do
		echo "# of a round: $what $((spent_ms[$what] / rounds_done)) ms"
	done
}

# use DEVICE: sets rdma and gid to those of the device that now serves the port
use() {
	rdma=$1
	wait_for is_active && wait_for find_gid v2 ffff && gid=$(find_gid v2 ffff)
}

# Programs that poll leave one processor to others. It runs for all rounds.
start_poller() {
	coproc poller { exec taskset -c 0 /usr/bin/python3 "$here/polling.py"; }
	poller_says=${poller[0]}
	poller_hears=${poller[1]}
}

# poller_said WORD: its next line starts with it
poller_said() {
	local line

	read -rt 120 -u "$poller_says" line
	echo "who polls: ${line-no word in time}"
	[[ $line == "$1"* ]]
}

start_traffic() {
	echo "$rdma $gid" >&"$poller_hears" && poller_said busy
}

# A new connection to the server started before the first round
new_connection() {
	timeout 60 rping -c -a "$address" -C 3 -v > "$work/rping" 2>&1 ||
		[ "$(rping_status $? "$work/rping")" = 0 ] || { cat "$work/rping"; return 1; }
}

# The in-tree driver does not end programs that poll: they are told to stop.
away() {
	local took

	start_traffic || return 1
	lap "traffic on mlx5_ib"
	echo $function > $unbind/unbind || return 1
	lap "unbinding"
	echo stop >&"$poller_hears"
	wait_for has_software || return 1
	look_at_clock
	took=$((now_ms - lap_began_ms))
	lap "software device, with the debounce"
	[ $took -le $slowest_ms ] || slowest_ms=$took
	echo "the software device took $took ms"
	[ $took -le $limit_ms ] && poller_said stopped && use "$software" && lap "its GIDs" &&
		new_connection && lap "connection by it"
}

# Ours flushes outstanding requests: programs that poll end by themselves.
back() {
	start_traffic || return 1
	lap "traffic on the software device"
	echo $function > $unbind/bind || return 1
	lap "binding"
	poller_said flushed || return 1
	lap "end of traffic"
	wait_for has_none && use "$(basename "$(has_rdma | head -n 1)")" && lap "mlx5_ib's GIDs" &&
		new_connection && lap "connection by mlx5_ib"
}

# Print the complete output only for a round that fails
round() {
	echo "round $1: away" && away && echo "round $1: back" && back
}

all_rounds() {
	local i

	look_at_clock
	lap_began_ms=$now_ms
	for ((i = 1; i <= rounds; i++)); do
		echo "$i at $SECONDS s" > "$RHCA_SHARE/round"
		[ $SECONDS -lt $((RHCA_TIMEOUT - 45)) ] ||
			{ echo "no time for more than $rounds_done"; return 1; }
		round $i > "$work/round" 2>&1 || { cat "$work/round"; return 1; }
		rounds_done=$i
	done
}

modprobe mlx5_core "$no_keys_in_advance"
wait_for has_netdev
# shellcheck disable=SC2119
modprobe roce_hca "netdevs=$(basename "$(has_netdev | head -n 1)"):standin"
check bring-up bring_up 10.7.0.1
rping -s -P -a 0.0.0.0 > "$work/server" 2>&1 &
server=$!
until_listening $server
check before new_connection
start_poller
rounds_done=0
check "rounds-of-unbind-and-bind ($rounds)" all_rounds
laps
echo "# slowest stand-in: $slowest_ms ms after the unbinding, debounce of 1000 ms included"
check server-lives kill $server
finish
