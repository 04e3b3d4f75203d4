#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine with the mlx5_ib patched by tools/mlx5_ib: nothing changes while nothing is
# forced; forced values apply to connections of processes and of the kernel that are made
# afterwards, and the TTL to the kernel's datagrams, as seen on the wire; datagrams of processes
# and existing connections keep their values. Then an operator's situations: values that are
# applied again, and a driver without the patches.
#
# usage: patched.sh   (with --capture; patched/build has built the module)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck source=tools/connectx-model/tests/nvme-lib.sh
. "$(dirname "$0")/nvme-lib.sh"

module=$(compgen -G "build/mlx5_ib/$(uname -r)/mlx5_ib.ko*")
apply=tools/mlx5_ib/roce-forced

rc='udp dst port 4791 and udp[8] & 0xe0 == 0'
ud='udp dst port 4791 and udp[8] & 0xe0 == 0x60 and udp[12:4] & 0xffffff != 1'
manager='udp dst port 4791 and udp[12:4] & 0xffffff == 1'
# Of connections that request nothing, and of the datagrams of ibv_ud_pingpong
unforced='ip[1] & 0xfc == 0 and ip[8] == 64'
ud_unforced='ip[1] & 0xfc == 0 and ip[8] == 1'
forced='ip[1] & 0xfc == 104 and ip[8] == 33'

# all_are FRAMES MARKS COMMAND...: the command sends at least 6 such frames, all with these marks
all_are() {
	local kind=$1 marks=$2 had marked came

	had=$(frames "$kind")
	marked=$(frames "$kind and $marks")
	shift 2
	"$@" || return 1
	came=$(($(frames "$kind") - had))
	marked=$(($(frames "$kind and $marks") - marked))
	echo "$marked of $came frames: $kind and $marks"
	[ "$came" -ge 6 ] && [ "$marked" -eq "$came" ]
}

rc_pingpong() {
	both_ends "" localhost ibv_rc_pingpong -d "$rdma" -g "$gid" -n 20
}

ud_pingpong() {
	both_ends "" localhost ibv_ud_pingpong -d "$rdma" -g "$gid" -n 20
}

by_cm() {
	both_ends -s -c rping -a "$address" -C 5
}

by_cm_twice() {
	by_cm && by_cm
}

kernel_reads() {
	connect && dd if="$disk" of=/dev/null bs=64k count=8 iflag=direct && disconnect
}

# other_driver COMMAND...: loads it, replacing the current one
other_driver() {
	rmmod mlx5_ib && "$@" && wait_for has_rdma || return 1
	rdma=$(basename "$(has_rdma | head -n 1)")
	folder=/sys/class/infiniband/$rdma
	wait_for is_active && wait_for find_gid v2 ffff && gid=$(find_gid v2 ffff)
}

patched() {
	modinfo "$module" && other_driver insmod "$module" && values_are -1 0 &&
		[ "$(cat "$folder/ttl/1/ttl")" = 0 ]
}

values_are() {
	cat "$folder"/tc/1/{traffic_class,ttl}
	[ "$(cat "$folder/tc/1/traffic_class")" = "Global tclass=$1" ] &&
		[ "$(cat "$folder/tc/1/ttl")" = "$2" ]
}

# The selftest is a file added by the last patch.
selftest() {
	mkdir "$work/selftest" && patch -s -p1 -f -d "$work/selftest" \
		< "$(tools/mlx5_ib/source --patches "$(uname -r | grep -oE '^[0-9]+\.[0-9]+')" | tail -n 1)"
	bash "$work/selftest/tools/testing/selftests/rdma/mlx5_force.sh" "$rdma"
}

set_values() {
	echo "$1" > "$folder/tc/1/traffic_class" && echo "$2" > "$folder/tc/1/ttl"
}

# A connection that only sends when told to: its packets are all in the capture
paused_connection() {
	start_polling || return 1
	# shellcheck disable=SC2086
	kill -STOP $polling
}

meanwhile() {
	# shellcheck disable=SC2086
	kill -CONT $polling && sleep 0.3 && kill -STOP $polling
}

end_connection() {
	# shellcheck disable=SC2086
	kill -CONT $polling
	end_polling
}

rule_by_address() {
	set_values -1 33 && echo "tclass=64,dst_ip=10.7.0.0/16" > "$folder/tc/1/traffic_class" &&
		all_are "$rc" 'ip[1] & 0xfc == 64 and ip[8] == 33' rc_pingpong
}

rule_of_another_address() {
	echo "tclass=-1,dst_ip=10.7.0.0/16" > "$folder/tc/1/traffic_class" &&
		echo "tclass=64,dst_ip=10.8.0.0/16" > "$folder/tc/1/traffic_class" &&
		all_are "$rc" 'ip[1] & 0xfc == 0 and ip[8] == 33' rc_pingpong
}

# As by the udev rule; udev does not run here
applied_again() {
	mkdir -p /etc/roce-hca
	printf '%s\n' '# the port of storage' "* 1 traffic_class 104" "$rdma * ttl 33" \
		> /etc/roce-hca/forced.conf
	other_driver insmod "$module" && values_are -1 0 &&
		$apply apply "$(basename "$(realpath "$folder/device")")" && values_are 104 33
}

# After a kernel update for which DKMS had no source
driver_without_patches() {
	other_driver modprobe mlx5_ib || return 1
	! $apply apply 2> "$work/said" && cat "$work/said" &&
		grep 'its driver has no forced values' "$work/said" || return 1
	tools/user/roce-status "$rdma" > "$work/status"
	cat "$work/status"
	grep 'a traffic class is set in /etc/roce-hca/forced.conf (104), and the driver knows none' \
		"$work/status"
}

modprobe mlx5_core "$no_keys_in_advance"
check bring-up bring_up 10.7.0.1
check without-the-patches all_are "$rc" "$unforced" rc_pingpong
check patched patched
check selftest selftest
check unset-changes-nothing all_are "$rc" "$unforced" rc_pingpong
check connection paused_connection
check force set_values 104 33
check a-connection-keeps-its-own all_are "$rc" "$unforced" meanwhile
end_connection 2> /dev/null
check forced-values-are-shown values_are 104 33
check processes all_are "$rc" "$forced" rc_pingpong
check processes-by-rdma-cm all_are "$rc" "$forced" by_cm
check connection-manager all_are "$manager" 'ip[1] & 0xfc == 0 and ip[8] == 33' by_cm_twice
check target make_target
check kernel all_are "$rc" "$forced" kernel_reads
check remove-target remove_target
check datagrams-of-processes-keep-theirs all_are "$ud" "$ud_unforced" ud_pingpong
check rule-by-address rule_by_address
check rule-of-another-address rule_of_another_address
check taken-back set_values -1 0
check taken-back-on-the-wire all_are "$rc" "$unforced" rc_pingpong
check applied-again applied_again
check driver-without-patches driver_without_patches
finish
