#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bandwidth and latency of roce_hca_mlx5 relative to mlx5_ib, each on one of two adapters of one
# machine ("--adapters 2"). The data path of both is libmlx5's and the adapter's, so they should
# be equal. Processors are emulated and shared, so absolute times mean nothing: one process uses
# both alternately in short rounds, and compares adjacent rounds (speed.c). Everything is
# measured twice, the second time with the drivers exchanged, and at the start with mlx5_ib on
# both, where the ratio must be 1, which shows how good the method is.
#
# The adapter's work for a request is counted as well, and is exact: writes to its registers,
# and the number of pieces of memory that a key maps.
#
# usage: speed.sh [KIND...]   write, read, send, latency (all); needs "make speed" before
. "$(dirname "$0")/guest-lib.sh"

kinds_wanted=${*:-write read send latency}
program=$(realpath "$(dirname "$0")/../build/speed")
auxiliary=/sys/bus/auxiliary
declare -A served device index ratio
served[0]=mlx5_ib
served[1]=mlx5_ib

parent_of() {
	readlink -f "$auxiliary/devices/mlx5_core.rdma.$1/.."
}

has_both_netdevs() {
	compgen -G "$(parent_of 0)/net/*" && compgen -G "$(parent_of 1)/net/*"
}

has_device() {
	compgen -G "$(parent_of "$1")/infiniband/*"
}

# find FUNCTION: sets its device, and the index of its GID for RoCE v2 over IPv4
find() {
	wait_for has_device "$1" || return 1
	rdma=$(basename "$(has_device "$1")")
	wait_for is_active && wait_for find_gid v2 ffff || return 1
	device[$1]=$rdma
	index[$1]=$(find_gid v2 ffff)
	echo "${served[$1]} has ${device[$1]}"
}

prepare() {
	local i module netdev

	modprobe mlx5_core "$no_keys_in_advance"
	for module in mlx5_ib ib_uverbs roce_hca roce_hca_mlx5; do
		modprobe $module
	done
	wait_for has_both_netdevs || return 1
	for i in 0 1; do
		netdev=$(basename "$(parent_of $i)/net/"*)
		ip address add "10.$((7 + i)).0.1/24" dev "$netdev"
		ip link set "$netdev" mtu 4200 up
	done
	find 0 && find 1
}

# serve FUNCTION DRIVER
serve() {
	local name=mlx5_core.rdma.$1

	[ "${served[$1]}" != "$2" ] || return 0
	echo "$name" > "$auxiliary/drivers/${served[$1]}.rdma/unbind"
	echo "$name" > "$auxiliary/drivers/$2.rdma/bind" || return 1
	served[$1]=$2
	find "$1"
}

# compare KIND ORACLE-FUNCTION OTHER-FUNCTION: into $work/ratio, and shown
compare() {
	timeout 120 "$program" "${device[$2]}" "${index[$2]}" "${device[$3]}" "${index[$3]}" "$1" \
		> "$work/ratio" || return 1
	echo "# ${served[$3]} on adapter $3 over ${served[$2]}: $(< "$work/ratio")" >&3
}

same() {
	compare "$1" 0 1 && awk '{ exit !($2 > 0.97 && $2 < 1 / 0.97) }' "$work/ratio"
}

# counted KIND FUNCTION: register writes and pieces of memory per request
counted() {
	local name few many rounds
	local -A took=()

	for rounds in 10 60; do
		for name in send_requests register_writes memory_stretches; do
			took[$name]=$((-$(counter $name "$2")))
		done
		timeout 100 "$program" none 0 "${device[$2]}" "${index[$2]}" "$1" once $rounds || return 1
		for name in send_requests register_writes memory_stretches; do
			took[$name]=$((took[$name] + $(counter $name "$2")))
		done
		[ $rounds = 60 ] || few="${took[send_requests]} ${took[register_writes]} ${took[memory_stretches]}"
	done
	many="${took[send_requests]} ${took[register_writes]} ${took[memory_stretches]}"
	# Excluding those at the start and the end
	awk -v few="$few" -v who="${served[$2]} $1" 'BEGIN { split(few, a) } {
		printf "%s %.3f %.3f\n", who, ($2 - a[2]) / ($1 - a[1]), ($3 - a[3]) / ($1 - a[1])
	}' <<< "$many" | tee -a "$work/counted" | sed 's/^/# a request, register writes and pieces: /' >&3
}

count_all() {
	local kind i

	for kind in $kinds_wanted; do
		for i in 0 1; do
			counted "$kind" $i || return 1
		done
	done
}

# no_more KIND: than the in-tree driver. A tenth is allowed for the network interface, which has
# some of its own, and for packets that the adapter retransmits on a slow host.
no_more() {
	awk -v kind="$1" '$2 == kind { registers[$1] = $3; pieces[$1] = $4 }
		END { exit !(registers["mlx5_ib"] && pieces["mlx5_ib"] &&
			registers["roce_hca_mlx5"] <= registers["mlx5_ib"] * 1.1 &&
			pieces["roce_hca_mlx5"] <= pieces["mlx5_ib"] * 1.1) }' "$work/counted"
}

# measure ORACLE-FUNCTION OTHER-FUNCTION
measure() {
	local kind

	for kind in $kinds_wanted; do
		compare "$kind" "$1" "$2" || return 1
		ratio[$kind]+=" $(cut -d ' ' -f 2 "$work/ratio")"
	done
}

# enough KIND: the geometric mean of both arrangements, which cancels differences of the adapters
enough() {
	awk '{ mean = sqrt($1 * $2); printf "%.3f of mlx5_ib\n", mean; exit mean < 0.97 || NF != 2 }' \
		<<< "${ratio[$1]}"
}

exec 3>&1	# each value is shown, even if time does not suffice for all
check prepare prepare
check same-by-bandwidth same write
check same-by-latency same latency
check ours-on-one serve 1 roce_hca_mlx5
check counts count_all
check measure measure 0 1
check in-tree-on-one serve 1 mlx5_ib
check ours-on-the-other serve 0 roce_hca_mlx5
check measure-exchanged measure 1 0
for kind in $kinds_wanted; do
	check "$kind-costs-no-more" no_more "$kind"
	check "$kind" enough "$kind"
	cat "$work/log"
done
finish
