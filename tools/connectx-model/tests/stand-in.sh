#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine with mlx5_ib and a software device that stands in for it: the in-tree
# driver is unbound and bound again, round after round, with traffic each time. A
# server that listens on all addresses is started once.
#
# usage: stand-in.sh [ROUNDS]
. "$(dirname "$0")/guest-lib.sh"

rounds=${1-3}
unbind=/sys/bus/auxiliary/drivers/mlx5_ib.rdma
function=mlx5_core.rdma.0
# The debounce of a second and one for the device, on a processor that is emulated.
limit_ms=$((2000 * ${RHCA_SLOW-3}))
slowest_ms=0

software_device() {
	grep -lx software /sys/class/infiniband/*/backend | xargs -r dirname
}

has_software() {
	[ -n "$(software_device)" ]
}

has_none() {
	! has_software
}

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# use DEVICE: sets rdma and gid to those of the device that serves the port now
use() {
	rdma=$(basename "$1")
	wait_for is_active && wait_for find_gid v2 ffff && gid=$(find_gid v2 ffff)
}

# was_told FILE: a request was flushed, or could not be posted any more
was_told() {
	grep -Eqi "flushed|couldn't post" "$1"
}

# Ours flushes them: they end by themselves, with an error.
polling_ends() {
	local pid tries=300

	for pid in $polling; do
		while kill -0 "$pid" 2> /dev/null; do
			tries=$((tries - 1))
			[ $tries -gt 0 ] || return 1
			sleep 0.1
		done
	done
	grep -H . "$work"/poll.[ab]
	was_told "$work/poll.a" && was_told "$work/poll.b"
}

# A new connection to the server that was started before the first round
new_connection() {
	timeout 60 rping -c -a "$address" -C 3 -v > "$work/rping" 2>&1 ||
		{ cat "$work/rping"; return 1; }
}

# Who polls leaves one processor to everybody else.
on_one=(taskset -c 0)

# The in-tree driver leaves processes that poll alone: they are ended.
away() {
	local begin took

	start_polling "${on_one[@]}" || return 1
	echo $function > $unbind/unbind || return 1
	begin=$(now_ms)
	end_polling
	wait_for has_software || return 1
	took=$(($(now_ms) - begin))
	[ $took -le $slowest_ms ] || slowest_ms=$took
	echo "the software device took $took ms"
	[ $took -le $limit_ms ] && use "$(software_device)" && new_connection
}

back() {
	start_polling "${on_one[@]}" || return 1
	echo $function > $unbind/bind || return 1
	polling_ends || { end_polling; return 1; }
	wait_for has_none && use "$(has_rdma | head -n 1)" && new_connection
}

# All of a round's words only where one fails
round() {
	echo "round $1: away" && away && echo "round $1: back" && back
}

all_rounds() {
	local i

	for ((i = 1; i <= rounds; i++)); do
		echo "$i at $SECONDS s" > "$RHCA_SHARE/round"
		round $i > "$work/round" 2>&1 || { cat "$work/round"; return 1; }
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
check "rounds-of-unbind-and-bind ($rounds)" all_rounds
echo "# slowest stand-in: $slowest_ms ms after the unbinding, debounce of 1000 ms included"
check server-lives kill $server
finish
