#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The firmware commands of roce_hca_mlx5: compared, field by field, with those of mlx5_ib for
# the same program; and the results if the firmware refuses a command, each one of each kind of
# object.
#
# With "trace" also users in the kernel: the connection manager, a disk and files over the
# network, streams (SMC-R) and messages (RDS). The adapter's capabilities are options of run:
# --model --with=..., --without=... ("trace other-adapter"). Then, or if only some parts are
# run, reasons for differences that do not occur are no fault. With "lag" the RDMA device is
# that of two ports in a bond (run --two --ports 2, of which machine a alone is used).
#
# usage: ours-commands.sh [trace [other-adapter | lag] [PART...] | refuse [STEP...]]
#        PART: objects, commands, greeting, disk, files, streams, messages
#        STEP: of objects.py
. "$(dirname "$0")/guest-lib.sh"
# shellcheck source=tools/connectx-model/tests/nvme-lib.sh
. "$(dirname "$0")/nvme-lib.sh"
# shellcheck source=tools/connectx-model/tests/nfs-lib.sh
. "$(dirname "$0")/nfs-lib.sh"
here=$(realpath "$(dirname "$0")")
tracing=/sys/kernel/tracing
consumers=$here/../../../scripts/tests/consumers

mark() { # mark TEXT [TOPICS]: in the model's log, and topics to trace from there on
	control "{\"cmd\":\"trace\",\"mark\":\"$1\",\"topics\":\"${2-none}\"}" > /dev/null
}

# of_kernel STEP COMMAND...: a step of users in the kernel
of_kernel() {
	local name=$1 status=0

	shift
	mark "step kernel-$name" command,wqe,field
	"$@" || status=$?
	mark end
	return $status
}

greeted() {
	both_ends -s -c rping -C 1 -a "$address"
}

disk_used() {
	connect && dd if=/dev/urandom of="$disk" bs=64k count=16 oflag=direct status=none &&
		dd if="$disk" of=/dev/null bs=4k count=64 iflag=direct status=none && disconnect
}

part_objects() {
	check "objects-$driver" long /usr/bin/python3 "$here/objects.py" once "$rdma" "$gid"
}

part_commands() {
	check "commands-$driver" long /usr/bin/python3 "$here/commands.py" "$rdma" "$gid"
}

part_greeting() {
	check "greeting-$driver" of_kernel "$greeting" greeted
}

part_disk() {
	check "target-$driver" of_kernel target make_target
	check "disk-$driver" of_kernel disk disk_used
	check "target-goes-$driver" of_kernel target-goes remove_target
}

# shellcheck disable=SC2034 # for nfs-lib.sh
files_copied() {
	megabytes=1
	nfs_server && nfs_copy 3 /dev/shm/export ,nolock && nfs_copy 4.2 / "" && nfs_end
}

part_files() {
	check "files-$driver" of_kernel files files_copied
}

# A connection of a host to itself uses the loopback device, by routes and addresses: the table
# of physical networks says that it belongs to the adapter, too.
streamed() {
	local smc=$work/smc-bytes before

	modprobe smc && gcc -O1 -o "$smc" "$consumers/smc-bytes.c" || return 1
	/usr/bin/python3 "$consumers/smc-tables.py" network CX lo "$rdma" || return 1
	ip address add "$address/32" dev lo
	before=$(counter send_requests)
	timeout 120 "$smc" server "$address" 7001 &
	wait_for is_listening && timeout 100 "$smc" client "$address" 7001 256 && wait %1 || return 1
	ip address del "$address/32" dev lo
	# Without RDMA it silently uses TCP
	[ $(($(counter send_requests) - before)) -ge 16 ] && modprobe -r smc_diag smc
}

part_streams() {
	check "streams-$driver" of_kernel streams streamed
}

is_serving_messages() {
	grep -q serving "$work/rds"
}

messaged() {
	local bytes="timeout 120 /usr/bin/python3 $consumers/rds-bytes.py"

	modprobe rds_rdma || return 1
	$bytes server "$address" 4000 > "$work/rds" &
	wait_for is_serving_messages && $bytes client "$address" 4000 "$address" 40 64 &&
		wait %1 || return 1
	$bytes server "$address" 4002 > "$work/rds" &
	wait_for is_serving_messages && $bytes client "$address" 4002 "$address" 10 100000 &&
		wait %1 && modprobe -r rds_rdma rds
}

part_messages() {
	check "messages-$driver" of_kernel messages messaged
}

# Each port's own device also has the bond's addresses, until mlx5_core has removed both devices.
is_of_bond() {
	dmesg | grep -q 'lag map:' && grep -qsx bond0 "$(has_rdma | head -n 1)"/ports/1/gid_attrs/ndevs/*
}

make_bond() {
	local port

	modprobe bonding max_bonds=0
	ip link add bond0 type bond mode balance-xor miimon 100 xmit_hash_policy layer3+4
	for port in $(has_netdev); do
		port=${port##*/}
		ip link set "$port" down
		ip link set "$port" master bond0 || return 1
	done
	ip address add "$1/24" dev bond0
	ip link set bond0 mtu 4200 up
}

# bring_up_bond ADDRESS: like bring_up; the bond remains when the driver is unloaded
bring_up_bond() {
	modprobe "$driver" && modprobe rdma_ucm && modprobe ib_umad || return 1
	[ -e /sys/class/net/bond0 ] || make_bond "$1" || return 1
	bind_functions
	wait_for is_of_bond || return 1
	rdma=$(basename "$(has_rdma | head -n 1)")
	wait_for is_active && wait_for find_gid v2 ffff || return 1
	gid=$(find_gid v2 ffff)
	address=$1
}

# long COMMAND...: a minute on an idle host, longer on a busy one
long() {
	timeout $((RHCA_TIMEOUT / 3)) "$@"
}

# traced DRIVER PART...: run each once, marked in the model's log
traced() {
	local part

	driver=$1
	check "bring-up-$driver" "$bring_up" 10.7.0.1
	mark "driver $driver"
	for part in "${@:2}"; do
		"part_$part"
	done
	check "unload-$driver" "${unload[@]}" "$driver"
}

# choose [other-adapter | lag] [PART...]: the parts to compare, and whether each reason must
# have its difference
rows=()
bring_up=bring_up
unload=(modprobe -r)
greeting=greeting	# the step's name in commands-differ.txt
parts=(objects commands greeting disk files streams messages)
choose() {
	[ $# -eq 0 ] || rows=(other-adapter)
	if [ "${1-}" = lag ]; then
		bring_up=bring_up_bond
		greeting="greeting-lag"
		unload=(rmmod)	# mlx5_core remains, and the bond keeps its ports
		parts=(objects commands greeting)
	fi
	[[ ${1-} != other-adapter && ${1-} != lag ]] || shift
	[ $# -eq 0 ] || parts=("$@")
}

enable_events() {
	[ -e "$tracing/events" ] || mount -t tracefs tracefs "$tracing"
	echo 1 > "$tracing/events/mlx5/mlx5_cmd/enable" &&
		echo 1 > "$tracing/events/rhca/rhca_mlx5_command/enable"
}

traced_as() {
	grep -m 1 " $1" "$tracing/trace"
}

function_of() {
	basename "$(readlink -f /sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/mlx5_core.rdma.*)"
}

# shellcheck disable=SC2034 # for guest-lib.sh
{
	kinds='CQ|PD|QP|Q counter|RMP|UAR|XRC SRQ|XRC domain|mkey'
	# mlx5_core logs each refused command, and here many are refused.
	provoked='mlx5_cmd_out_err|SET_ROCE_ADDRESS'
}
[ "${VM_ROLE-a}" = a ] || finish
modprobe mlx5_core "$no_keys_in_advance"
start_alone
# The oracle is mlx5_ib of 6.12, which differs from that of other kernels.
if [ "${1-trace}" = trace ] && [[ $(uname -r) != 6.12.* ]]; then
	echo "SKIP commands-compared (commands-differ.txt is of mlx5_ib of 6.12)"
elif [ "${1-trace}" = trace ]; then
	choose "${@:2}"
	# Pages of 4 KiB, except for programs that use pages of 2 MiB from the pool
	echo never > /sys/kernel/mm/transparent_hugepage/enabled
	echo 8 > /proc/sys/vm/nr_hugepages
	traced mlx5_ib "${parts[@]}"
	traced roce_hca_mlx5 "${parts[@]}"
	check commands-compared /usr/bin/python3 "$here/compare-commands.py" \
		"$RHCA_SHARE/model.log" "$here/commands-differ.txt" "${rows[@]}"
fi
if [ "${1-refuse}" = refuse ]; then
	driver=roce_hca_mlx5
	check bring-up bring_up 10.7.0.1
	check tracepoints enable_events
	timeout $((RHCA_TIMEOUT - 60)) /usr/bin/python3 "$here/objects.py" refuse \
		"$rdma" "$gid" "$(function_of)" "${@:2}" || failed=1
	# Of tracing.rst
	check refusals-traced traced_as 'mlx5_cmd: [A-Z0-9_]*(0x.*) .* failed, status .*, syndrome'
	check commands-traced traced_as "rhca_mlx5_command: .* opcode=0x.* status=0x[1-9a-f].* us=[1-9].* error=-"
	pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
	check unload modprobe -r roce_hca_mlx5
	check nothing-left nothing_left "$alone"
fi
finish
