#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The table "Knobs of either kind" in Documentation/connectx.rst, the adapter's column: a knob
# has the same effect on the wire on a port served by roce_hca_mlx5 as on one served by
# software, or it is refused with a message. Compared in one boot, as far as possible, with
# software and with mlx5_ib.
#
# usage: ours-policy.sh   (with --capture)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5
here=$(realpath "$(dirname "$0")")
tests=$(realpath "$here/../../../scripts/tests")
# Counters of mlx5_ib that ours lacks: there is no such service, or the firmware says that it
# does not count it (roce_accl), while the newest mlx5_ib shows them anyway
no_such_counter='rx_dct_connect|cc_[a-z_]*|roce_adp_retrans(_to)?|roce_slow_restart(_cnps|_trans)?'

vlan_up() {
	ip link add link "$netdev" name cx7 type vlan id 7 &&
		ip address add 10.9.7.1/24 dev cx7 && ip address add 10.9.7.2/24 dev cx7 &&
		ip link set cx7 up || return 1
	ip address add fd97::1/64 dev cx7 nodad
	ip address add fd97::2/64 dev cx7 nodad
	wait_for find_gid v2 '^fd97:.*0002$' && wait_for find_gid v2 '0a09:0702$'
}

# pair_of TYPE FIRST SECOND: their indexes
pair_of() {
	echo "$(find_gid "$1" "$2"),$(find_gid "$1" "$3")"
}

# Classes, TTLs and priorities of RC, UC and UD, as in scripts/tests/net/qos.sh
qos_sent() {
	PYTHONPATH=$tests/lib timeout 300 /usr/bin/python3 "$tests/net/qos.py" send_by_adapter "$rdma" \
		"$rdma" "$work/expected" "$(pair_of v1 '0a09:0702$' '0a09:0701$')" \
		"$(pair_of v2 '0a09:0702$' '0a09:0701$')" \
		"$(pair_of v2 '^fd97:.*0002$' '^fd97:.*0001$')"
}

qos_on_wire() {
	/usr/bin/python3 "$tests/lib/check-icrc.py" "$RHCA_SHARE/pcap" --list > "$work/list"
	tail -n 1 "$work/list"
	PYTHONPATH=$tests/lib /usr/bin/python3 "$tests/net/qos.py" judge_by_adapter "$work/list" "$work/expected"
}

by_cm() {
	both_ends -s -c rping -a "$address" -C 5
}

mode() {
	tools/user/cma_roce_mode -d "$rdma" -p 1 -m "$1"
}

# rdma_cm connects with the version set in configfs
cm_over_v1() {
	mode 1 && puts_on_wire 'ether proto 0x8915' by_cm
}

cm_over_v2() {
	mode 2 && puts_on_wire 'udp dst port 4791 and ip[1] & 0xfc == 0' by_cm
}

# Packets of the connection manager are ECN-capable. To QP 1 there are five per connection.
cm_may_be_marked() {
	puts_on_wire 'udp dst port 4791 and udp[12:4] & 0xffffff == 1 and ip[1] & 3 == 2' \
		by_cm_twice
}

by_cm_twice() {
	by_cm && by_cm
}

cm_with_tos() {
	tools/user/cma_roce_tos -d "$rdma" -t 128 &&
		puts_on_wire 'udp dst port 4791 and ip[1] & 0xfc == 128' by_cm
}

# The forced TTL applies to QP1 as well, the forced class does not
cm_with_ttl() {
	echo 5 > "$folder/tc/1/ttl" &&
		puts_on_wire 'udp dst port 4791 and ip[8] == 5' by_cm && echo 0 > "$folder/tc/1/ttl"
}

service_level() {
	local index

	index=$(find_gid v2 '0a09:0702$')
	both_ends "" localhost ibv_rc_pingpong -d "$rdma" -g "$index" -l 5 -n 20
}

# GIDs and their attributes are ib_core's: each names its type and its netdev.
gid_attributes() {
	local index type owner seen=

	for index in {0..31}; do
		type=$(cat "$folder/ports/1/gid_attrs/types/$index") 2> /dev/null || continue
		owner=$(cat "$folder/ports/1/gid_attrs/ndevs/$index")
		echo "$index $type $owner $(cat "$folder/ports/1/gids/$index")"
		case $((index % 2)) in
		0) [ "$type" = "IB/RoCE v1" ] || return 1 ;;
		1) [ "$type" = "RoCE v2" ] || return 1 ;;
		esac
		[[ " $netdev cx7 " == *" $owner "* ]] || return 1
		seen+=" $owner"
	done 2> /dev/null
	[[ $seen == *$netdev* && $seen == *cx7* ]]
}

# refused FILE TEXT WORDS: EOPNOTSUPP, and the log has the reason
refused() {
	local file=$1 text=$2 words=$3 got before

	before=$(dmesg | grep -c "$words")
	got=$( (echo "$text" > "$file") 2>&1)
	echo "$file: $got"
	[[ $got == *"Operation not supported" ]] &&
		[ "$(dmesg | grep -c "$words")" -gt "$before" ]
}

counters_of() {
	find "$folder/ports/1/hw_counters/" -type f ! -name lifespan -printf '%f\n' | sort
}

# Counters of both have the same names; those of only one are documented.
counters_compared() {
	local now

	counters_of > "$work/ours"
	tools/user/roce-backend "$netdev" in-tree && driver=mlx5_ib wait_for has_rdma || return 1
	now=$(basename "$(driver=mlx5_ib has_rdma)")
	folder=/sys/class/infiniband/$now
	counters_of > "$work/in-tree"
	tools/user/roce-backend "$netdev" software &&
		wait_for grep -x software /sys/class/infiniband/*/backend || return 1
	folder=$(dirname "$(grep -lx software /sys/class/infiniband/*/backend)")
	counters_of > "$work/software"
	software_files || return 1
	tools/user/roce-backend "$netdev" hardware && wait_for has_rdma && wait_for is_active || return 1
	folder=/sys/class/infiniband/$rdma
	echo "of mlx5_ib, not ours: $(comm -23 "$work/in-tree" "$work/ours" | xargs)"
	echo "ours, not of software: $(comm -23 "$work/ours" "$work/software" | xargs)"
	! comm -23 "$work/in-tree" "$work/ours" | grep -vxE "$no_such_counter" || return 1
	! comm -23 "$work/ours" "$work/software" |
		grep -vxE 'np_cnp_sent|rp_cnp_handled|roce_[a-z_]*'
}

# Values that the adapter refuses are accepted by software.
software_files() {
	[ "$(find "$folder/ports/1/pkeys/" -type f | wc -l)" -gt 1 ] &&
		echo '1 0x8001' > "$folder/partitions/1/pkeys" &&
		echo '1 0' > "$folder/partitions/1/pkeys" &&
		echo 1 > "$folder/roce_lag_enable" &&
		! grep 'new connections only' "$folder/tc/1/traffic_class"
}

# loaded TYPE PARAMETER...: load both modules again; there are GIDs of the type
loaded() {
	local type=$1

	shift
	modprobe -r roce_hca_mlx5 && modprobe -r roce_hca && modprobe roce_hca "$@" &&
		modprobe roce_hca_mlx5 && wait_for has_rdma || return 1
	rdma=$(basename "$(has_rdma | head -n 1)")
	folder=/sys/class/infiniband/$rdma
	wait_for is_active && wait_for find_gid "$type" ffff && gid=$(find_gid "$type" ffff)
}

types() {
	cat "$folder"/ports/1/gid_attrs/types/* 2> /dev/null | sort -u | xargs
}

only_v1() {
	loaded v1 roce_mode=v1 || return 1
	types
	[ "$(types)" = "IB/RoCE v1" ] || return 1
	[ "$(cat "$folder/ports/1/roce_versions")" = v1 ]
}

only_v2() {
	loaded v2 roce_mode=v2 || return 1
	types
	[ "$(types)" = "RoCE v2" ] && [ "$(cat "$folder/ports/1/roce_versions")" = v2 ]
}

# Datagrams of processes use the type of the GID that they name, and the log says so.
ud_gid_type() {
	loaded v2 ud_gid_type=v1 && dmesg | grep 'ud_gid_type is for the kernel' || return 1
	puts_on_wire 'udp dst port 4791 and ip[8] == 1' ud_pingpong
}

ud_pingpong() {
	both_ends "" localhost ibv_ud_pingpong -d "$rdma" -g "$gid" -n 20
}

modprobe configfs
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
modprobe mlx5_core "$no_keys_in_advance"
check bring-up bring_up 10.7.0.1
folder=/sys/class/infiniband/$rdma
check vlan vlan_up
check qos-sent qos_sent
check qos-on-wire qos_on_wire
check gid-attributes gid_attributes
check cm-over-v2 cm_over_v2
check cm-over-v1 cm_over_v1
mode 2 > /dev/null
check cm-may-be-marked cm_may_be_marked
check cm-with-tos cm_with_tos
check cm-with-ttl cm_with_ttl
check service-level puts_on_wire 'ether[12:2] == 0x8100 and ether[14:2] & 0xe000 == 0xa000' \
	service_level
check pkeys-refused refused "$folder/partitions/1/pkeys" '1 0x8001' 'no P_Key but 0xffff'
check lag-refused refused "$folder/roce_lag_enable" 0 'roce_lag_enable: the hardware decides'
check ecmp-refused refused "$folder/roce_lag_ecmp_dev" cx7 'roce_lag_ecmp_dev: the hardware decides'
check counters-compared counters_compared
check only-v1 only_v1
check only-v2 only_v2
check ud-gid-type ud_gid_type
finish
