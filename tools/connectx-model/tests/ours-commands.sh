#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What roce_hca_mlx5 tells the firmware: compared, field by field, with what mlx5_ib tells
# it for the same program; and what happens when the firmware refuses a command, each one
# of each kind of object.
#
# With "trace" also the users of the kernel: the connection manager, and a disk over the
# network. The adapter's capabilities are run's: --model --with=..., --without=...; reasons
# for differences that there are none of are no fault then ("trace other-adapter").
#
# usage: ours-commands.sh [trace [other-adapter] | refuse [STEP...]]   (steps of objects.py)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck source=tools/connectx-model/tests/nvme-lib.sh
. "$(dirname "$0")/nvme-lib.sh"
here=$(realpath "$(dirname "$0")")

mark() { # mark TEXT [TOPICS]: in the model's log, and what is traced from there on
	control "{\"cmd\":\"trace\",\"mark\":\"$1\",\"topics\":\"${2-none}\"}"
}

# of_kernel STEP COMMAND...: a step that the kernel's users do
of_kernel() {
	local name=$1 status=0

	shift
	mark "step kernel-$name" command,wqe,field
	"$@" || status=$?
	mark end
	return $status
}

greeted() {
	rping -s -C 1 -a "$address" &
	for _ in $(seq 20); do
		sleep 0.5
		! rping -c -C 1 -a "$address" || break
	done
	wait %1
}

disk_used() {
	connect && dd if=/dev/urandom of="$disk" bs=64k count=16 oflag=direct status=none &&
		dd if="$disk" of=/dev/null bs=4k count=64 iflag=direct status=none && disconnect
}

# traced DRIVER: the programs once, in the model's log
traced() {
	driver=$1
	bring_up 10.7.0.1 && mark "driver $1" &&
		timeout 300 /usr/bin/python3 "$here/objects.py" once "$rdma" "$gid" &&
		timeout 300 /usr/bin/python3 "$here/commands.py" "$rdma" "$gid" &&
		of_kernel greeting greeted && of_kernel target make_target &&
		of_kernel disk disk_used && of_kernel target-goes remove_target &&
		modprobe -r "$1"
}

function_of() {
	basename "$(readlink -f /sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/mlx5_core.rdma.*)"
}

# shellcheck disable=SC2034 # for guest-lib.sh
{
	kinds='CQ|PD|QP|Q counter|RMP|UAR|XRC SRQ|XRC domain|mkey'
	# mlx5_core logs each command that was refused, and here many are.
	provoked='mlx5_cmd_out_err|SET_ROCE_ADDRESS'
}
modprobe mlx5_core "$no_keys_in_advance"
start_alone
# The oracle is mlx5_ib of 6.12, which is not the same as others.
if [ "${1-trace}" = trace ] && [[ $(uname -r) != 6.12.* ]]; then
	echo "SKIP commands-compared (commands-differ.txt is of mlx5_ib of 6.12)"
elif [ "${1-trace}" = trace ]; then
	# Pages of 4 KiB, but for who takes some of 2 MiB from the pool
	echo never > /sys/kernel/mm/transparent_hugepage/enabled
	echo 8 > /proc/sys/vm/nr_hugepages
	check trace-mlx5_ib traced mlx5_ib
	check trace-ours traced roce_hca_mlx5
	check commands-compared /usr/bin/python3 "$here/compare-commands.py" \
		"$RHCA_SHARE/model.log" "$here/commands-differ.txt" ${2:+"$2"}
fi
if [ "${1-refuse}" = refuse ]; then
	driver=roce_hca_mlx5
	check bring-up bring_up 10.7.0.1
	timeout $((RHCA_TIMEOUT - 60)) /usr/bin/python3 "$here/objects.py" refuse \
		"$rdma" "$gid" "$(function_of)" "${@:2}" || failed=1
	pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
	check unload modprobe -r roce_hca_mlx5
	check nothing-left nothing_left "$alone"
fi
finish
