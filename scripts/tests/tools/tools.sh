#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# The tools on real devices: their output matches the kernel's values, settings take effect,
# and roce-status finds injected faults. Every file of a device in sysfs is ib_core's or
# described in Documentation/ABI.
#
#   initial namespace: va$$  ====== veth ======  b: vb$$
#
# One end is in the initial namespace, as a driver's own files are only there.

. "$(dirname "$0")/../lib/lib.sh"
only_ours

TOOLS=$TOP/tools/user
setup_pair_here 1500
modprobe -q rdma_cm

# tool NAME ARGUMENT...: run it; its output and status are left in variables
tool() {
	local name=$1
	shift
	STATUS=0
	SAID=$("$TOOLS/$name" "$@" 2> "$WORK/errors") || STATUS=$?
	ERRORS=$(< "$WORK/errors")
}

# field WORDS: a Python expression of j, the JSON that a tool printed
field() { echo "$SAID" | $PYTHON -c "import json, sys; j = json.load(sys.stdin); print($1)"; }

# --- tables ---------------------------------------------------------------------

tool show_gids "$DEV_A"
check "show_gids: entries" "$(gids "$DEV_A")" \
	"$(echo "$SAID" | awk -F '\t' -v dev="$DEV_A" '$1 == dev && $2 == 1 { print $3, $6, $4, $7 }')"
check "show_gids: IPv4 column" $IP4_A \
	"$(echo "$SAID" | awk -F '\t' '$3 == 3 { sub(" *$", "", $5); print $5 }')"
tool show_gids --json "$DEV_A"
check "show_gids --json: number of entries" "$(gids "$DEV_A" | wc -l)" "$(field 'len(j)')"
check "show_gids --json: entry 3" "v2 $IP4_A $IF_A" \
	"$(field '"{ver} {ipv4} {netdev}".format(**j[3])')"

tool ibdev2netdev
check "ibdev2netdev" "$DEV_A port 1 ==> $IF_A (Up)" "$(echo "$SAID" | grep "^$DEV_A ")"
check "ibdev2netdev: a netdev elsewhere" "$DEV_B port 1 ==> $IF_B (NA)" \
	"$(echo "$SAID" | grep "^$DEV_B ")"
tool ibdev2netdev -v
check "ibdev2netdev -v" \
	"- $DEV_A (NA - NA) roce-hca fw 1.0.0 port 1 (ACTIVE) ==> $IF_A (Up)" \
	"$(echo "$SAID" | grep " $DEV_A ")"
tool ibdev2netdev --json
check "ibdev2netdev --json: the datapath" software \
	"$(field "[e['backend'] for e in j if e['dev'] == '$DEV_A'][0]")"

# b's netdev gets the name of a's netdev.
in_b ip link set "$IF_B" down
in_b ip link set "$IF_B" name "$IF_A"
in_b ip link set "$IF_A" up
named_alike() { [ "$(cat "$IB/$DEV_B/ports/1/gid_attrs/ndevs/0")" = "$IF_A" ]; }
wait_check 60 "two netdevs of one name" named_alike
tool ibdev2netdev
check "ibdev2netdev: the other namespace's netdev of that name" "$DEV_B port 1 ==> $IF_A (NA)" \
	"$(echo "$SAID" | grep "^$DEV_B ")"
tool dat_conf
check "dat_conf: it has no entry of the netdev here" 1 "$(echo "$SAID" | grep -c "^ofa-v2-$IF_A ")"
tool roce-status "$DEV_B"
check_match "roce-status: whose it is" "on $IF_A in another network namespace: .*netdev -" "$SAID"
SAID=$(in_b "$TOOLS/roce-status" "$DEV_B")
check_match "roce-status there: its own netdev" "on $IF_A: .*netdev 1500" "$SAID"
check_match "roce-status there: what it cannot see" "files of the driver .* not here" "$SAID"
in_b ip link set "$IF_A" down
in_b ip link set "$IF_A" name "$IF_B"
in_b ip link set "$IF_B" up
busywait 60 gid_index "$DEV_B" v2 $IP4_B

tool dat_conf
check "dat_conf: by netdev" \
	"ofa-v2-$IF_A u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"$IF_A 1\" \"\"" \
	"$(echo "$SAID" | grep "^ofa-v2-$IF_A ")"
check "dat_conf: by device" \
	"ofa-v2-$DEV_A-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"$DEV_A 1\" \"\"" \
	"$(echo "$SAID" | grep "^ofa-v2-$DEV_A-1 ")"

# --- rdma_cm's defaults ------------------------------------------------------------

cma=/sys/kernel/config/rdma_cm
tool cma_roce_mode -d "$DEV_A" -p 1
check "cma_roce_mode: the default" "0 RoCE v2" "$STATUS $SAID"
tool cma_roce_mode -d "$DEV_A" -m 1
check "cma_roce_mode -m 1" "0 IB/RoCE v1" "$STATUS $SAID"
check "the folder it made is gone" "" "$(ls "$cma")"
mkdir "$cma/$DEV_A"
check "configfs has it" "IB/RoCE v1" "$(< "$cma/$DEV_A/ports/1/default_roce_mode")"
tool cma_roce_mode -d "$DEV_A" -m 2 --json
check "cma_roce_mode -m 2 --json" "RoCE v2" "$(field "j['default_roce_mode']")"
tool cma_roce_tos -d "$DEV_A" -t 0x68
check "cma_roce_tos -t" "0 104" "$STATUS $SAID"
check "configfs has it" 104 "$(< "$cma/$DEV_A/ports/1/default_roce_tos")"
check "a folder that was there stays" "$DEV_A" "$(ls "$cma")"
check "one waits for another that uses the folder" 124 "$(flock "$cma" \
	timeout 3 "$TOOLS/cma_roce_tos" -d "$DEV_A" > /dev/null; echo $?)"
tool cma_roce_mode -d "$DEV_A" -p 3
check "cma_roce_mode: no such port" "1 cma_roce_mode: $DEV_A has no port 3" "$STATUS $ERRORS"
tool cma_roce_tos -d "$DEV_A" -t 256
check "cma_roce_tos: out of range" 2 $STATUS
check "and nothing is changed" 104 "$(< "$cma/$DEV_A/ports/1/default_roce_tos")"
rmdir "$cma/$DEV_A"
tool cma_roce_mode -d nothere
check "cma_roce_mode: no such device" 1 $STATUS
tool cma_roce_mode
check_match "cma_roce_mode wants a name where there are two" "say which device with -d" "$ERRORS"
"$TOOLS/cma_roce_tos" -d "$DEV_A" -t 0 > "$WORK/out"

# --- compatible GIDs ----------------------------------------------------------------

# compat VLAN-HIGH VLAN-LOW: the GID, computed from the MAC without the tool
compat() {
	# shellcheck disable=SC2046
	set -- "$1" "$2" $(tr : ' ' < "/sys/class/net/$IF_A/address")
	printf 'fe80:0000:0000:0000:%02x%s:%s%s:%s%s:%s%s\n' $((0x$3 ^ 2)) "$4" "$5" "$1" "$2" "$6" "$7" "$8"
}
has_gid() { gids "$DEV_A" | grep -q " v2 $1 $2\$"; }
lacks_gid() { ! has_gid "$@"; }

tool compat_gid_gen -d "$IF_A" -v 258 -n
check_match "compat_gid_gen -n shows the command" "^ip -6 addr add fe80::.*/64 dev $IF_A\$" "$SAID"
check "and runs nothing" "" "$(ip -6 addr show dev "$IF_A" | grep "$(echo "$SAID" | cut -d' ' -f5)")"
tool compat_gid_gen -d "$IF_A" -v 258
check "compat_gid_gen -v" 0 $STATUS
wait_check 60 "the GID of VLAN 258 is on the port" has_gid "$(compat 01 02)" "$IF_A"
tool compat_gid_gen -d "$IF_A" -v 258
check_match "a second time is no error" "^0 .*is on $IF_A already" "$STATUS $SAID"
tool compat_gid_gen -d "$IF_A" -v 258 --delete
wait_check 60 "compat_gid_gen --delete takes the GID away" lacks_gid "$(compat 01 02)" "$IF_A"
tool compat_gid_gen -d "$IF_A" -V 7 -D
check_match "compat_gid_gen -V -D shows what it runs" "type vlan id 7.*addr add" "$ERRORS"
wait_check 60 "the GID is on the VLAN's netdev" has_gid "$(compat 00 07)" "$IF_A.7"
ip link del "$IF_A.7"
tool compat_gid_gen -d nothere
check "compat_gid_gen: no such netdev" "1 compat_gid_gen: there is no Ethernet netdev nothere" \
	"$STATUS $ERRORS"

# --- every file has a description ---------------------------------------------------

# Files that ib_core and the driver core create for every device
cores='uevent|power/.*|dev|node_(type|guid|desc)|sys_image_guid|fw_ver|ports/N/(cap_mask|lid|lid_mask_count|link_layer|phys_state|rate|sm_lid|sm_sl|state)|ports/N/(gids|pkeys|gid_attrs/types|gid_attrs/ndevs|hw_counters|counters|cm_[a-z_]*)/.*'
described=$(sed -n 's,^What:[[:space:]]*/sys/class/infiniband/<dev>/,,p' "$TOP"/Documentation/ABI/testing/* | sed 's,<port>,N,')
tree=$(cd -P "$IB/$DEV_A" && find . -type f | sed -e 's,^\./,,' -Ee 's,(^|/)(ports|tc|ttl|partitions)/1(/|$),\1\2/N\3,' \
	-e 's,^(ports/N/cc/).*,\1<name>,' | sort -u)
check "files of the driver that Documentation/ABI lacks" "" \
	"$(echo "$tree" | grep -vxE "$cores" | grep -vxF "$described")"
check "files in Documentation/ABI that the device lacks" "" \
	"$(echo "$described" | grep -vxF "$tree")"
check "files that every user may write" "" \
	"$(find "$IB/$DEV_A/" /sys/module/roce_hca/ -perm -o+w -type f)"
check_fails "another user's TTL is refused" setpriv --reuid 65534 --regid 65534 --clear-groups \
	sh -c 'echo 5 > "$1"' sh "$IB/$DEV_A/tc/1/ttl"
check "and not set" 0 "$(< "$IB/$DEV_A/tc/1/ttl")"

# --- roce-status --------------------------------------------------------------------

status_is() { # status_is PATTERN: roce-status reports this for device a
	"$TOOLS/roce-status" "$DEV_A" | grep -qE "^  ($DEV_A port 1: |memlock of )$1"
}

tool roce-status "$DEV_A"
check_match "roce-status: a healthy device" "^0 .*No trouble found" "$STATUS $SAID"
check_match "roce-status: the device" "$DEV_A: software, roce-hca" "$SAID"
check_match "roce-status: the port" \
	"port 1 on $IF_A: ACTIVE, .* MTU 1024 \(netdev 1500\), RoCE v1 and v2" "$SAID"

ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
# Without the capability that overrides the limit of locked memory
prlimit --memlock=4194304 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
	ibv_rc_pingpong -d "$DEV_A" -g "$ia" -p 19600 -n 100000000 -l 3 > "$WORK/a.log" 2>&1 &
client=$!
busywait 60 listens_tcp $client 19600 || die "the server never listened: $(< "$WORK/a.log")"
spawn_b ibv_rc_pingpong -d "$DEV_B" -g "$ib" -p 19600 -n 100000000 $IP4_A > "$WORK/b.log" 2>&1
peer=$!
defer "kill -KILL $client $peer"
connected() { rdma resource show qp link "$DEV_A" | grep -q 'type RC state RTS'; }
busywait 60 connected || die "no connection: $(cat "$WORK/a.log" "$WORK/b.log")"
# An idle connection survives what follows.
kill -STOP $client $peer

tool roce-status "$DEV_A"
row=$(echo "$SAID" | awk '$2 == "RC" { $1 = "-"; $4 = "-"; print }')
check "roce-status: the queue pair" \
	"- RC RTS - $IP4_B $ia v2 1024 3 3 0 64 0xffff 7 7 14 ibv_rc_pingpong $client" "$row"
check_match "roce-status: low memlock" \
	"memlock of process $client \(ibv_rc_pingpong\) is low: 4096 KiB, [1-9]" "$SAID"
check "roce-status: there is trouble" 1 $STATUS
tool roce-status --json "$DEV_A"
check "roce-status --json: the peer" "::ffff:$IP4_B" \
	"$(field "[q['dgid'] for q in j['devices'][0]['ports'][0]['qps'] if q['type'] == 'RC'][0]")"
echo 5 > "$IB/$DEV_A/tc/1/ttl"
check "the forced TTL is the queue pair's" 5 \
	"$(rdma -dd resource show qp link "$DEV_A" | tr '\n' ' ' |
		grep -oP 'type RC .*?drv_hop_limit \K\d+' | head -n 1)"
check_match "and in roce-status" "forced TTL: 5" "$("$TOOLS/roce-status" "$DEV_A")"
echo 0 > "$IB/$DEV_A/tc/1/ttl"
echo 104 > "$IB/$DEV_A/tc/1/traffic_class"
tool roce-status --json "$DEV_A"
check "the forced traffic class is the queue pair's" "104 26" \
	"$(field "['{traffic_class} {dscp}'.format(**q) for q in j['devices'][0]['ports'][0]['qps'] if q['type'] == 'RC'][0]")"
echo -1 > "$IB/$DEV_A/tc/1/traffic_class"

kill -CONT $client $peer
tool roce-status --watch 1 --count 2 "$DEV_A"
check_match "roce-status --watch: rates" "^$DEV_A/1: sends [1-9][0-9.]* packets/s [0-9.]+ Mbit/s, receives [1-9]" "$SAID"
kill -STOP $client $peer

ip link set "$IF_A" mtu 700
wait_check 60 "a smaller MTU under a connection" status_is "QP [0-9]+: its path MTU 1024 is more than the port's 512"
ip link set "$IF_A" mtu 1500
ip addr flush dev "$IF_A"
wait_check 60 "no address" status_is "no GID of an IP address"
wait_check 60 "the connection's GID is gone" status_is "QP [0-9]+: its own GID ::ffff:$IP4_A has left"
ip link set "$IF_A" down
wait_check 60 "link down" status_is "is DOWN: netdev $IF_A is Down"

# --- the sample for udev ---------------------------------------------------------------

show rdma link del "$DEV_A"
ip link set "$IF_A" up
command=$(sed -n 's/^ACTION=="add", .*RUN+="\([^"]*\)"$/\1/p' "$TOP/Documentation/samples/90-roce-hca.rules")
# shellcheck disable=SC2016
check_ok "the udev rule's command" ${command//'$name'/$IF_A}
DEV_A=roce_$IF_A
wait_check 60 "gives the netdev a device" port_active "$DEV_A"

# Its rules for settings, without those of the machine that this runs on
by_udev() {
	unshare --mount sh -c '
		mount -t tmpfs none /run && mkdir -p /run/udev/rules.d && cd /run/udev/rules.d || exit
		for rule in /usr/lib/udev/rules.d/*.rules /etc/udev/rules.d/*.rules; do
			ln -sf /dev/null "${rule##*/}"
		done
		sed -n "s/^#\(ACTION==.add|move.*\)/\1/p" "$1" | sed "s/eth0/$2/" > 90-roce-hca.rules
		udevadm test --action=move "/sys/class/infiniband/$3" 2>&1' \
		sh "$TOP/Documentation/samples/90-roce-hca.rules" "$IF_A" "$DEV_A"
}
if command -v udevadm > /dev/null; then
	said=$(by_udev)
	command="/usr/sbin/cma_roce_tos -d $DEV_A -t 104"
	check_match "the udev rules for settings name a command" \
		"run: '$command'|RUN\{program\} : $command" "$said"
	# Debian 13's only reports what a rule would write.
	while read -r value file; do
		echo "$value" > "$file"
	done < <(sed -n 's/.* skipping writing ATTR{\(.*\)}="\(.*\)"\.$/\2 \1/p' <<< "$said")
	check_match "they set the traffic class" tclass=104 "$(cat "$IB/$DEV_A/tc/1/traffic_class")"
	check "and a parameter of congestion control" 1 "$(cat "$IB/$DEV_A/ports/1/cc/rp_min_rate")"
fi
finish
