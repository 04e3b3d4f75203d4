#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Show what the module is for: two hosts on one wire exchange RDMA traffic over RoCE v1 and RoCE
# v2, with the programs that every distribution ships. The hosts are network namespaces in a
# virtual machine with a stock kernel, so this machine is not changed, except for installing
# packages that are needed.
#
#      host h1                                 host h2
#   eth1 10.1.0.1/24 ====== veth, MTU 4200 ====== eth2 10.1.0.2/24
#   RDMA device roce1                       RDMA device roce2
#
# Without root no packages are installed and no stock kernel is fetched: the hosts are then
# those of roce-lab, h1 is its host a, and h2 its host b (see Documentation/lab.rst).
#
# usage: scripts/demo.sh [KERNEL-SERIES | --lab]      (default 6.12)
#   --lab  take roce-lab in any case

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/.."
# shellcheck source=scripts/tests/lib/rping.sh
. scripts/tests/lib/rping.sh

# --- in the virtual machine ----------------------------------------------------

show() {
	echo "  # $*"
	"$@"
}

on() {
	ip netns exec "$@"
}

# Not in h1, where "ip netns exec" has a /sys without configfs. RDMA devices are visible anywhere.
as_root_on() {
	"${@:2}"
}

device_1=roce1
device_2=roce2
address=10.1.0.1

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

# Default RoCE version of rdma_cm, as set by an administrator.
set_cm_mode() {
	local device folder mode

	case $1 in
	v1) mode='IB/RoCE v1' ;;
	v2) mode='RoCE v2' ;;
	esac
	for device in $device_1 $device_2; do
		folder=/sys/kernel/config/rdma_cm/$device
		as_root_on h1 sh -c 'mkdir -p "$1" && echo "$2" > "$1/ports/1/default_roce_mode"' \
			sh "$folder" "$mode"
	done
}

fill_in() { # fill_in COMMAND DEVICE INDEX
	local words=${1//DEVICE/$2}

	words=${words//INDEX/$3}
	echo "${words//ADDRESS/$address}"
}

# row NAME WAIT-FOR COMMAND ARGS-FOR-CLIENT FIGURE: run COMMAND on h1 as the server and on h2 as
# the client, for both versions; FIGURE extracts the number from the client's output.
row() {
	local name=$1 server=$2 client=$3 figure=$4 version cells=() status index1 index2 said

	for version in v1 v2; do
		index1=$(gid_index $device_1 $version)
		index2=$(gid_index $device_2 $version)
		set_cm_mode $version
		on h1 bash -c "exec $(fill_in "$server" $device_1 "$index1")" > /tmp/server 2>&1 &
		wait_for_listener $!
		status=0
		on h2 timeout 60 bash -c "exec $(fill_in "$client" $device_2 "$index2")" \
			> /tmp/client 2>&1 || status=$(rping_status $? /tmp/client)
		wait $! || status=$((status | $(rping_status $? /tmp/server)))
		if [ $status -eq 0 ]; then
			said=$(sed -n "$figure" /tmp/client | tail -n 1)
			# perftest fails to determine its clock rate on a very busy machine.
			cells+=("${said/#0.00 */done, unmeasured}")
		else
			cells+=("failed ($status)")
			sed 's/^/    /' /tmp/server /tmp/client >&2
			failed=1
		fi
	done
	printf '  %-34s %16s %16s\n' "$name" "${cells[@]}"
}

# A listening socket in h1, an entry in rdma_cm's own table, or the end of the server.
wait_for_listener() {
	local i

	for i in $(seq 100); do
		kill -0 "$1" 2> /dev/null || return 0
		[ -z "$(on h1 ss -Hltn)" ] || return 0
		! on h1 rdma resource show cm_id 2> /dev/null | grep -q LISTEN || return 0
		sleep 0.1
	done
}

inside() {
	make_hosts
	echo
	add_devices
	modprobe -a rdma_ucm ib_uverbs
	show_traffic
	echo
	show rdma statistic show link roce2/1
	[ -z "$failed" ]
}

inside_lab() {
	on() {
		case $1 in
		h1) shift; lab a "$@" ;;
		h2) shift; lab b "$@" ;;
		esac
	}
	as_root_on() {
		shift
		lab --root a "$@"
	}
	gid_index() {
		local host=h1

		[ "$1" = "$device_1" ] || host=h2
		on $host printenv "ROCE_LAB_GID_INDEX_${2^^}"
	}
	device_1=roce0
	device_2=roce1
	address=10.66.0.1
	show_traffic
	echo
	show lab b rdma statistic show link $device_2/1
	[ -z "$failed" ]
}

show_traffic() {
	failed=
	echo
	printf '  %-34s %16s %16s\n' '' 'RoCE v1' 'RoCE v2'
	row 'ibv_rc_pingpong, 4 KiB' \
		'ibv_rc_pingpong -d DEVICE -g INDEX -n 200' \
		'ibv_rc_pingpong -d DEVICE -g INDEX -n 200 ADDRESS' \
		's,.*= \([0-9.]*\) usec/iter,\1 us,p'
	row 'rping -v (rdma_cm), 20 rounds' \
		'rping -s -a ADDRESS -C 20 -v' \
		'rping -c -a ADDRESS -C 20 -v' \
		's/^client DISCONNECT.*\|^ping data:.*/20 pings/p'
	row 'ib_write_bw, 64 KiB' \
		'ib_write_bw -d DEVICE -x INDEX -s 65536 -n 200 -F' \
		'ib_write_bw -d DEVICE -x INDEX -s 65536 -n 200 -F ADDRESS' \
		's/^ 65536 *[0-9]* *[0-9.]* *\([0-9.]*\).*/\1 MiB\/s/p'
	row 'ib_send_lat, 64 B, median' \
		'ib_send_lat -d DEVICE -x INDEX -s 64 -n 200 -F' \
		'ib_send_lat -d DEVICE -x INDEX -s 64 -n 200 -F ADDRESS' \
		's/^ 64 *[0-9]* *[0-9.]* *[0-9.]* *\([0-9.]*\).*/\1 us/p'
}

# --- on this machine -----------------------------------------------------------

outside() {
	local series=$1 release log status=0

	log=$(mktemp)
	echo "Installing what is missing (Debian packages) ..."
	scripts/setup/setup.sh build vm demo > "$log" 2>&1 || status=$?
	if [ $status -eq 0 ]; then
		release=$(scripts/vm/kernel release "$series")
		echo "Building the modules for kernel $release ..."
		make -s modules KVER="$release" KBUILD_ARGS="-j$(nproc)" > "$log" 2>&1 || status=$?
	fi
	if [ $status -ne 0 ]; then
		cat "$log"
		return $status
	fi
	rm -f "$log"
	echo "Booting kernel $release in a virtual machine ($(scripts/vm/accel "$release")) ..."
	scripts/vm/run --kernel "$release" --timeout 600 -- scripts/demo.sh --inside
}

# At a terminal sudo may ask for the password; it refuses who may not use it.
can_be_root() {
	[ "$(id -u)" -eq 0 ] || sudo -n true 2> /dev/null ||
		{ [ -t 0 ] && command -v sudo > /dev/null && sudo -v; }
}

in_lab() {
	local program missing=()

	for program in ibv_rc_pingpong:ibverbs-utils rping:rdmacm-utils ib_write_bw:perftest \
		rdma:iproute2; do
		command -v "${program%:*}" > /dev/null || missing+=("${program#*:}")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		echo "demo: something is missing: sudo apt-get install ibverbs-providers ${missing[*]}" >&2
		exit 1
	fi
	if [ ! -e build/lab/lib/roce-lab/base/linux ]; then
		echo "Building a kernel and the module (once, minutes) ..."
		tools/lab/build
	fi
	echo "Starting two hosts in User-Mode Linux ..."
	exec build/lab/bin/roce-lab run --hosts 2 --timeout 600 -- scripts/demo.sh --inside-lab
}

case ${1-} in
--inside) inside ;;
--inside-lab) inside_lab ;;
--lab) in_lab ;;
-*) sed -n '/^# usage/,/^$/s/^# \?//p' "$0" >&2; exit 2 ;;
"") if can_be_root; then outside 6.12; else in_lab; fi ;;
*) outside "$1" ;;
esac
