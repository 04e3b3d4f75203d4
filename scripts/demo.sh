#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Show what the module is for: two hosts on one wire exchange RDMA traffic over
# RoCE v1 and RoCE v2, with the programs that every distribution ships. The
# hosts are network namespaces in a virtual machine with a stock kernel, so
# nothing on this machine changes but the packages that it needs.
#
#      host h1                                 host h2
#   eth1 10.1.0.1/24 ====== veth, MTU 4200 ====== eth2 10.1.0.2/24
#   RDMA device roce1                       RDMA device roce2
#
# usage: scripts/demo.sh [KERNEL-SERIES]      (default 6.12)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/.."

# --- in the virtual machine ----------------------------------------------------

show() {
	echo "  # $*"
	"$@"
}

on() {
	ip netns exec "$@"
}

make_hosts() {
	local i

	ip netns add h1
	ip netns add h2
	ip link add eth1 netns h1 mtu 4200 type veth peer name eth2 netns h2 mtu 4200
	for i in 1 2; do
		on h$i ip link set lo up
		on h$i ip addr add 10.1.0.$i/24 dev eth$i
		on h$i ip link set eth$i up
	done
}

add_devices() {
	local i

	show modprobe roce_hca
	for i in 1 2; do
		show ip netns exec h$i rdma link add roce$i type roce netdev eth$i
	done
	show rdma link show
}

# gid_index DEVICE v1|v2: the GID that is the host's IPv4 address
gid_index() {
	local port=/sys/class/infiniband/$1/ports/1 type index

	case $2 in
	v1) type='IB/RoCE v1' ;;
	v2) type='RoCE v2' ;;
	esac
	for index in $(seq 0 127); do
		if grep -q '^0000:0000:0000:0000:0000:ffff:' "$port/gids/$index" &&
		   [ "$(cat "$port/gid_attrs/types/$index" 2> /dev/null)" = "$type" ]; then
			echo "$index"
			return
		fi
	done
	echo "demo: $1 has no $2 GID for its IPv4 address" >&2
	return 1
}

# What rdma_cm takes for connections, as an administrator sets it.
set_cm_mode() {
	local device folder

	for device in roce1 roce2; do
		folder=/sys/kernel/config/rdma_cm/$device
		mkdir -p "$folder"
		case $1 in
		v1) echo 'IB/RoCE v1' ;;
		v2) echo 'RoCE v2' ;;
		esac > "$folder/ports/1/default_roce_mode"
	done
}

# row NAME WAIT-FOR COMMAND ARGS-FOR-CLIENT FIGURE: run COMMAND on h1 as the
# server and on h2 as the client, for both versions; FIGURE takes the number
# out of what the client says.
row() {
	local name=$1 server=$2 client=$3 figure=$4 version cells=() status index1 index2

	for version in v1 v2; do
		index1=$(gid_index roce1 $version)
		index2=$(gid_index roce2 $version)
		set_cm_mode $version
		on h1 bash -c "exec ${server//INDEX/$index1}" > /tmp/server 2>&1 &
		wait_for_listener $!
		status=0
		on h2 timeout 60 bash -c "exec ${client//INDEX/$index2}" > /tmp/client 2>&1 || status=$?
		wait $! || status=$?
		if [ $status -eq 0 ]; then
			cells+=("$(sed -n "$figure" /tmp/client | tail -n 1)")
		else
			cells+=("failed ($status)")
			sed 's/^/    /' /tmp/server /tmp/client >&2
			failed=1
		fi
	done
	printf '  %-34s %16s %16s\n' "$name" "${cells[@]}"
}

# A socket that listens in h1, or rdma_cm's own table, or the server's end.
wait_for_listener() {
	local i

	for i in $(seq 100); do
		kill -0 "$1" 2> /dev/null || return 0
		[ -z "$(on h1 ss -Hltn)" ] || return 0
		! rdma resource show cm_id 2> /dev/null | grep -q LISTEN || return 0
		sleep 0.1
	done
}

inside() {
	failed=
	make_hosts
	echo
	add_devices
	modprobe -a rdma_ucm ib_uverbs
	echo
	printf '  %-34s %16s %16s\n' '' 'RoCE v1' 'RoCE v2'
	row 'ibv_rc_pingpong, 4 KiB' \
		'ibv_rc_pingpong -d roce1 -g INDEX -n 200' \
		'ibv_rc_pingpong -d roce2 -g INDEX -n 200 10.1.0.1' \
		's,.*= \([0-9.]*\) usec/iter,\1 us,p'
	row 'rping -v (rdma_cm), 20 rounds' \
		'rping -s -a 10.1.0.1 -C 20 -v' \
		'rping -c -a 10.1.0.1 -C 20 -v' \
		's/^client DISCONNECT.*\|^ping data:.*/20 pings/p'
	row 'ib_write_bw, 64 KiB' \
		'ib_write_bw -d roce1 -x INDEX -s 65536 -n 200 -F' \
		'ib_write_bw -d roce2 -x INDEX -s 65536 -n 200 -F 10.1.0.1' \
		's/^ 65536 *[0-9]* *[0-9.]* *\([0-9.]*\).*/\1 MiB\/s/p'
	row 'ib_send_lat, 64 B, median' \
		'ib_send_lat -d roce1 -x INDEX -s 64 -n 200 -F' \
		'ib_send_lat -d roce2 -x INDEX -s 64 -n 200 -F 10.1.0.1' \
		's/^ 64 *[0-9]* *[0-9.]* *[0-9.]* *\([0-9.]*\).*/\1 us/p'
	echo
	show rdma statistic show link roce2/1
	[ -z "$failed" ]
}

# --- on this machine -----------------------------------------------------------

outside() {
	local series=$1 release log status=0

	log=$(mktemp)
	echo "Installing what is missing (Debian packages) ..."
	scripts/setup/setup.sh build vm test > "$log" 2>&1 || status=$?
	if [ $status -eq 0 ]; then
		release=$(scripts/vm/kernel release "$series")
		echo "Building the modules for kernel $release ..."
		make -s modules KVER="$release" > "$log" 2>&1 || status=$?
	fi
	if [ $status -ne 0 ]; then
		cat "$log"
		return $status
	fi
	rm -f "$log"
	echo "Booting kernel $release in a virtual machine ($(scripts/vm/accel "$release")) ..."
	scripts/vm/run --kernel "$release" --timeout 600 -- scripts/demo.sh --inside
}

case ${1-} in
--inside) inside ;;
-*) sed -n '/^# usage/,/^$/s/^# \?//p' "$0" >&2; exit 2 ;;
*) outside "${1:-6.12}" ;;
esac
