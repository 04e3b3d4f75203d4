# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Two machines on one wire. The same script runs on both; VM_ROLE is its role, and VM_SHARE a
# folder that both access.
#
#   machine a                                      machine b
#   eth0 10.9.0.1/24 fd09::1/64 ===== wire ====== eth0 10.9.0.2/24 fd09::2/64
#   RDMA device hca0                               RDMA device hca0

if [ -z "${VM_ROLE:-}" ] || [ -z "${VM_SHARE:-}" ]; then
	echo "FAIL a scenario for two machines: run it with scripts/vm/run --two"
	exit 1
fi
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

DEV=hca0
NETNS=
if [ "$VM_ROLE" = a ]; then
	OTHER=b IP4=$IP4_A IP6=$IP6_A PEER4=$IP4_B PEER6=$IP6_B
else
	OTHER=a IP4=$IP4_B IP6=$IP6_B PEER4=$IP4_A PEER6=$IP6_A
fi
SYNC=$VM_SHARE/$SELF
STEP=0

# If one machine fails, the other must not wait for ever.
tell_end() {
	touch "$SYNC.ended.$VM_ROLE"
	[ -d "$IB/$DEV" ] && rdma link del "$DEV"
	# IPv6 needs its link-local address, which does not return by itself.
	ip addr flush dev eth0 scope global
}
defer tell_end

# meet: wait until both machines are here (the n-th call on one meets the n-th on the other)
meet() {
	STEP=$((STEP + 1))
	touch "$SYNC.$STEP.$VM_ROLE"
	busywait "${1:-300}" other_is_here || die "step $STEP: expected the other machine, it did not come"
}
other_is_here() { [ -e "$SYNC.$STEP.$OTHER" ] || [ -e "$SYNC.ended.$OTHER" ]; }

# tell WORD VALUE; told WORD: the value from the other machine
tell() {
	echo "$2" > "$SYNC.$1.$VM_ROLE.new"
	mv "$SYNC.$1.$VM_ROLE.new" "$SYNC.$1.$VM_ROLE"
}
told() {
	busywait 300 test -e "$SYNC.$1.$OTHER" || die "expected '$1' from the other machine"
	cat "$SYNC.$1.$OTHER"
}

# setup_machine [MTU]: address, driver, device
setup_machine() {
	load_driver
	show ip link set eth0 mtu "${1:-9000}" || die "no eth0 of that MTU"
	show ip addr add $IP4/24 dev eth0
	ip -6 addr add $IP6/64 dev eth0 nodad
	show ip link set eth0 up
	busywait 60 carrier_up eth0 "" || die "eth0 has no carrier"
	add_device
	meet
	busywait 60 ping -c1 -W1 $PEER4 || die "$PEER4 does not answer ping"
	busywait 60 ping -6 -c1 -W1 $PEER6 || die "$PEER6 does not answer ping"
	meet
}

add_device() {
	show rdma link add $DEV type "$RHCA_LINK_TYPE" netdev eth0 || die "rdma link add refused"
	busywait 60 port_active $DEV || die "$DEV is not ACTIVE"
	make_device_nodes
	busywait 60 gid_index $DEV "${1:-v2}" $IP4 || die "no GID of $IP4"
	busywait 60 gid_index $DEV "${1:-v2}" $IP6 || die "no GID of $IP6"
}

# between SERVER_ROLE NAME READY SERVER CLIENT: one machine serves, the other is the client; %a
# in either command is the server's address, %b the client's.
between() {
	local server_role=$1 name=$2 ready=$3 server=$4 client=$5 pid rc limit=${LIMIT:-120}
	rm -f "$SYNC.$name.$VM_ROLE"
	meet
	if [ "$VM_ROLE" = "$server_role" ]; then
		server=${server//%a/$IP4}
		echo "+ $server"
		# shellcheck disable=SC2086
		timeout -k 2 $((limit + 90)) $server > "$WORK/$name" 2>&1 &
		pid=$!
		case $ready in
		tcp:*) busywait 60 listens_tcp $pid "${ready#tcp:}" ;;
		cm:*) listens_cm $pid "${ready#cm:}" ;;
		esac || say "$name: the server never listened"
		meet
		meet $((limit + 60))
		rc=$(told "$name")
		[ "$rc" = 0 ] || sleep 0.5
		if [ "$rc" != 0 ] || [ -n "${KILL_SERVER:-}" ]; then kill $pid 2> /dev/null; fi
		wait $pid
		rc=$(status_of $? "$WORK/$name")
		[ -z "${KILL_SERVER:-}" ] || rc=0
	else
		client=${client//%a/$PEER4}
		client=${client//%b/$IP4}
		meet
		echo "+ $client"
		# shellcheck disable=SC2086
		timeout -k 2 "$limit" $client > "$WORK/$name" 2>&1
		rc=$(status_of $? "$WORK/$name")
		tell "$name" $rc
		meet
	fi
	check "$name, status at $VM_ROLE (server is $server_role)" 0 $rc
	[ "$rc" = 0 ] || sed 's/^/     /' "$WORK/$name" | tail -15
}

# index v1|v2 4|6: this machine's GID index
index() {
	local address=IP$2
	gid_index $DEV "$1" "${!address}" || die "no $1 GID of IPv$2"
}

# operations PORT v1|v2 4|6 OPTION...: every operation; the options are those of ops.py. b lends
# its device, a controls both ends; ops.py sends each operation in both directions.
operations() {
	local port=$1 index
	index=$(index "$2" "$3")
	shift 3
	tell "index-$port" "$index"
	meet
	if [ "$VM_ROLE" = b ]; then
		$PYTHON "$LIB/verbs.py" --serve "$port" > "$WORK/serve" 2>&1 &
		busywait 60 listens_tcp $! "$port" || die "verbs.py does not serve"
		meet
		meet 900
		kill $!
		pass "served ops.py"
	else
		meet
		LIMIT=600 python ops.py $DEV "$index" "$PEER4:$port/$DEV" "$(told "index-$port")" --quick "$@"
		meet
	fi
}

# everything VERSION...: stock tools and every operation, both directions. Either machine may
# stall for a while when the other one does not, so programs that give up after two seconds are
# given longer timeouts.
everything() {
	local type family dir tool port=20000 patient=$WORK/patient.so
	cc -shared -fPIC -o "$patient" "$LIB/long-ack-timeout.c" || die "long-ack-timeout.c does not compile"
	patient="env LD_PRELOAD=$patient"
	for type in "$@"; do
		for family in 4 6; do
			for dir in a b; do
				for tool in rc uc ud srq; do
					port=$((port + 1))
					between $dir "ibv_$tool-$type-ipv$family-to-$dir" tcp:$port \
						"$patient ibv_${tool}_pingpong -d $DEV -g $(index "$type" $family) -p $port -n 10 -s 1024" \
						"$patient ibv_${tool}_pingpong -d $DEV -g $(index "$type" $family) -p $port -n 10 -s 1024 %a"
				done
			done
			port=$((port + 1))
			operations $port "$type" $family --label "$type IPv$family "
		done
		roce_mode_of $DEV "$type"
		for dir in a b; do
			port=$((port + 10))
			between $dir "rping-$type-to-$dir" cm:$port \
				"rping -s -a %a -p $port -C 5 -V -S 1000" "rping -c -a %a -I %b -p $port -C 5 -V -S 1000"
			between $dir "ucmatose-$type-to-$dir" cm:$((port + 1)) \
				"ucmatose -b %a -p $((port + 1)) -c 2 -C 3" "ucmatose -s %a -b %b -p $((port + 1)) -c 2 -C 3"
			between $dir "udaddy-$type-to-$dir" cm:7174 "udaddy -b %a -c 2 -C 3" "udaddy -s %a -b %b -c 2 -C 3"
			for tool in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
				port=$((port + 1))
				between $dir "$tool-$type-to-$dir" tcp:$((port + 5)) \
					"$tool -d $DEV -x $(index "$type" 4) -p $((port + 5)) -F -n 5 -u 18 ${sizes[$tool]:-}" \
					"$tool -d $DEV -x $(index "$type" 4) -p $((port + 5)) -F -n 5 -u 18 ${sizes[$tool]:-} %a"
			done
		done
	done
}
# The devices differ in how many READs they allow: -o is what both support.
declare -A sizes=([ib_send_bw]="-s 65536" [ib_write_bw]="-s 65536" [ib_read_bw]="-s 65536 -o 16"
	[ib_atomic_bw]="-o 16")
