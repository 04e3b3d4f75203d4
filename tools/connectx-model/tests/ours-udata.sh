#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The arguments of a process's library to its driver besides the verbs, of every length, with
# edge values in each field, and garbage: roce_hca_mlx5 refuses those that mlx5_ib refuses
# (udata-differ.txt explains the differences), nothing is left of them, and other processes
# continue.
#
# Last, queues and a window whose creation cannot be reported to the process (lost.py), and objects
# whose creation is not answered in time (silent.py).
#
# usage: ours-udata.sh [SEED]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")

garbage() {
	timeout 200 /usr/bin/python3 "$here/udata.py" random "$rdma" "$gid" "$1" "$2"
}

# edges_of DRIVER
edges_of() {
	driver=$1
	# An object made for the first XRC queue pair stays with the device: only right requests
	bring_up 10.7.0.1 && garbage 0 0 && before=$(objects) || return 1
	timeout 500 /usr/bin/python3 "$here/udata.py" edges "$rdma" "$gid" > "$work/$1" || {
		tail -n 5 "$work/$1"
		return 1
	}
	cp "$work/$1" "$RHCA_SHARE/edges-$1"
	wait_for nothing_left "$before" || nothing_left "$before"
}

# Two at once, and a third one that is killed again and again.
garbage_of_several() {
	local status=0 one two

	garbage "$1" 40 &
	one=$!
	garbage $(($1 + 1)) 40 &
	two=$!
	for _ in $(seq 4); do
		timeout -s KILL 8 /usr/bin/python3 "$here/udata.py" random "$rdma" "$gid" \
			$(($1 + 2)) 100
	done
	wait $one || status=1
	wait $two || status=1
	[ $status -eq 0 ]
}

nothing_of_processes() {
	rdma resource show
	rdma resource show | grep "$rdma: " | grep -q 'ctx 0' && nothing_left "$before"
}

# shellcheck disable=SC2034 # for guest-lib.sh
{
	kinds='CQ|PD|QP|Q counter|RMP|UAR|XRC SRQ|XRC domain'
	# mlx5_core logs the refusals of the firmware, and the commands that it gave up.
	provoked='mlx5_cmd_out_err|mlx5.*(timeout|Timeout)'
}
modprobe mlx5_core "$no_keys_in_advance"
start_alone
check edges-mlx5_ib edges_of mlx5_ib
modprobe -r mlx5_ib
check edges-ours edges_of roce_hca_mlx5
if [[ $(uname -r) = 6.12.* ]]; then
	check refused-as-by-mlx5_ib /usr/bin/python3 "$here/udata.py" compare \
		"$work/mlx5_ib" "$work/roce_hca_mlx5" "$here/udata-differ.txt"
else
	echo "SKIP refused-as-by-mlx5_ib (udata-differ.txt is of mlx5_ib of 6.12)"
fi
check garbage garbage_of_several "${1-1}"
check nothing-of-it wait_for nothing_of_processes
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" "ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
check unload modprobe -r roce_hca_mlx5
check nothing-left nothing_left "$alone"
# Last, as objects remain in the adapter
check bring-up-again bring_up 10.7.0.1
echo 32 > /proc/sys/vm/nr_hugepages
timeout 400 /usr/bin/python3 "$here/lost.py" "$rdma" "$gid" || failed=1
timeout 400 /usr/bin/python3 "$here/silent.py" "$rdma" "$gid" late || failed=1
check unload-with-a-lost-queue modprobe -r roce_hca_mlx5
finish
