#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What roce_hca_mlx5 tells the firmware: compared, field by field, with what mlx5_ib tells
# it for the same program; and what happens when the firmware refuses a command, each one
# of each kind of object.
#
# usage: ours-commands.sh [trace | refuse [STEP...]]   (steps of objects.py; all)
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")

# traced DRIVER: the program once, in the model's log
traced() {
	driver=$1
	bring_up 10.7.0.1 && control "{\"cmd\":\"trace\",\"mark\":\"driver $1\"}" &&
		timeout 300 /usr/bin/python3 "$here/objects.py" once "$rdma" "$gid" &&
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
	check trace-mlx5_ib traced mlx5_ib
	check trace-ours traced roce_hca_mlx5
	check commands-compared /usr/bin/python3 "$here/compare-commands.py" \
		"$RHCA_SHARE/model.log" "$here/commands-differ.txt"
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
