# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by all scenarios: the driver under test, two hosts joined by a wire, echoed
# commands, checks that print the expectation, and a cleanup that leaves nothing behind but
# loaded modules.
#
#      namespace rhca-a-PID                       namespace rhca-b-PID
#   va$$ 10.9.0.1/24 fd09::1/64 ====== veth ====== vb$$ 10.9.0.2/24 fd09::2/64
#   RDMA device ra$$                               RDMA device rb$$
#
# RHCA_LINK_TYPE=roce (default) is roce_hca, RHCA_LINK_TYPE=rxe the in-tree
# driver as a stand-in: it knows only the initial namespace, so both ends live
# there and routing rules send their packets over the veth instead of lo.

set -u

LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$LIB/../../.." && pwd)
SELF=${SELF:-$(basename "$0" .sh)}
RHCA_LINK_TYPE=${RHCA_LINK_TYPE:-roce}
PYTHON=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$LIB LC_ALL=C
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=scripts/tests/lib/rping.sh
. "$LIB/rping.sh"

IP4_A=10.9.0.1 IP4_B=10.9.0.2
IP6_A=fd09::1 IP6_B=fd09::2
IF_A=va$$ IF_B=vb$$
DEV_A=ra$$ DEV_B=rb$$
NS_A=rhca-a-$$ NS_B=rhca-b-$$
NETNS=1
[ "$RHCA_LINK_TYPE" = rxe ] && NETNS=

FINISHED= SPLIT_ROUTED= LEFT_BEHIND=
DEFERRED=()
WORK=$(mktemp -d "${TMPDIR:-/tmp}/rhca-$SELF.XXXXXX")
MARK="rhca-test $SELF $$"
IB=/sys/class/infiniband

# --- output and checks ------------------------------------------------------

. "$LIB/checks.sh"

say() { echo "# $*"; }
die() { echo "FAIL $*"; exit 1; }
skip() { FINISHED=1; echo "SKIP $*"; exit 4; }

# check_fails WHAT COMMAND...: the command exits non-zero (not by a time limit)
check_fails() {
	local what=$1 rc
	shift
	"$@"
	rc=$?
	case $rc in
	0) fail "$what: expected a refusal, got success of: $*" ;;
	124 | 137) fail "$what: expected a refusal, got no answer in time from: $*" ;;
	125 | 126 | 127) fail "$what: expected a refusal, could not run: $*" ;;
	*) pass "$what (status $rc)" ;;
	esac
}

# quietly FILE COMMAND...: its output goes to FILE, the end of which is shown if the command fails
quietly() {
	local file=$1 rc
	shift
	"$@" > "$file" 2>&1 && return
	rc=$?
	tail -n 15 "$file" | sed 's/^/     /'
	return $rc
}

# show COMMAND...: echo it, run it
show() { echo "+ $*"; "$@"; }

# An emulated machine takes twenty times as long: it only runs tests where a stock kernel may
# differ.
emulated() { [[ ${RHCA_KERNEL:-} != uml-* ]]; }

# wait_check SECONDS WHAT COMMAND...
wait_check() {
	local limit=$1 what=$2
	shift 2
	if busywait "$limit" "$@"; then pass "$what"
	else fail "$what: expected within $limit s, never true: $*"; return 1; fi
}

# --- beginning and end ------------------------------------------------------

defer() { DEFERRED+=("$*"); }

# mount_into ROOT: until the end, a Debian in a folder has this machine's /proc, /sys and /dev,
# and $WORK as its /mnt
mount_into() {
	local folder

	for folder in proc sys dev; do
		mount --rbind /$folder "$1/$folder" || die "cannot mount $folder there"
		defer "umount -l $1/$folder"
	done
	mount --bind "$WORK" "$1/mnt" || die "cannot mount the work folder there"
	defer "umount $1/mnt"
}

kernel_log() { dmesg | sed -n "/$MARK begin/,\$p"; }

# log_mark LABEL, then log_since LABEL: kernel messages in between
log_mark() { echo "$MARK $*" > /dev/kmsg; }
log_since() { dmesg | awk -v mark="$MARK $*" 'index($0, mark) { found = 1; next } found'; }

cleanup() {
	local status=$? i complaints
	trap - EXIT INT TERM
	for ((i = ${#DEFERRED[@]} - 1; i >= 0; i--)); do
		eval "${DEFERRED[i]}" > /dev/null 2>&1
	done
	for i in $(jobs -p); do kill "$i" 2> /dev/null; done
	teardown_pair
	wait 2> /dev/null
	if [ -n "$LEFT_BEHIND" ]; then
		echo "FAIL left behind: $LEFT_BEHIND"
		FAILS=$((FAILS + 1))
	fi
	if ! complaints=$(kernel_log | "$TOP/scripts/vm/dmesg-check"); then
		echo "FAIL the kernel complained:"
		echo "$complaints" | head -60
		FAILS=$((FAILS + 1))
	fi
	rm -rf "$WORK"
	if [ $status = 4 ] && [ $FAILS = 0 ]; then exit 4; fi
	if [ -z "$FINISHED" ] && [ $status = 0 ]; then
		echo "FAIL ended before its last check"
		status=1
	fi
	[ $FAILS = 0 ] || status=1
	echo "$SELF: $CHECKS checks, $FAILS failed, ${SECONDS} s, status $status"
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM
echo "$MARK begin" > /dev/kmsg 2> /dev/null

finish() {
	FINISHED=1
	[ $CHECKS -gt 0 ] || die "no check was made"
	exit 0
}

need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" > /dev/null || die "this scenario needs $tool: install it"
	done
}

# --- the driver under test --------------------------------------------------

loaded() { [ -d "/sys/module/$1/refcnt" ] || grep -q "^$1 " /proc/modules; }

module_file() { # module_file NAME: the file built for the running kernel
	local ko
	case $1 in
	roce_hca) [ -n "${RHCA_KO:-}" ] && { echo "$RHCA_KO"; return; } ;;
	rdma_rxe) [ -n "${RHCA_RXE_KO:-}" ] && { echo "$RHCA_RXE_KO"; return; } ;;
	esac
	for ko in "${RHCA_MODULES:-$TOP/build/$(uname -r)}/$1.ko" "$TOP"/build/*/"$1.ko"; do
		[ -e "$ko" ] || continue
		[ "$(modinfo -F vermagic "$ko" | cut -d' ' -f1)" = "$(uname -r)" ] || continue
		echo "$ko"
		return
	done
	return 1
}

# insert NAME [PARAMETER...]: by modprobe if installed, else the built file. roce_hca gets the
# parameters in RHCA_PARAMS before these; scenarios that test those parameters unset it
insert() {
	local name=$1 ko dep
	local -a wanted=()
	shift
	if [ "$name" = roce_hca ]; then
		read -ra wanted <<< "${RHCA_PARAMS:-}"
		set -- "${wanted[@]}" "$@"
	fi
	if modprobe -n -q "$name"; then
		show modprobe "$name" "$@"
	elif ko=$(module_file "$name"); then
		for dep in $(modinfo -F depends "$ko" | tr , ' '); do
			loaded "$dep" || modprobe -q "$dep" || true
		done
		show insmod "$ko" "$@"
	else
		say "no $name for $(uname -r)"
		return 1
	fi
}

remove_driver() { ! loaded "$1" || show rmmod "$1"; }

load_support() {
	local m
	for m in ib_uverbs rdma_ucm ib_umad; do modprobe -q $m || true; done
	[ -d /sys/kernel/config/rdma_cm ] || {
		modprobe -q configfs
		mount -t configfs configfs /sys/kernel/config 2> /dev/null
	}
	[ -e /dev/infiniband/rdma_cm ] || make_device_nodes
	true
}

# make_device_nodes [in_a|in_b]: for the devices visible there. A kernel without udev may create
# the nodes directly in /dev, and a device that has moved to another namespace has another
# number. Unprivileged processes may open them, as with the kernel's defaults.
make_device_nodes() {
	local file major minor node
	mkdir -p /dev/infiniband
	# shellcheck disable=SC2016
	${1-} sh -c 'grep -s "" /dev/null /sys/class/misc/rdma_cm/dev /sys/class/infiniband_verbs/uverbs*/dev /sys/class/infiniband_mad/umad*/dev' |
	while IFS=: read -r file major minor; do
		node=$(basename "$(dirname "$file")")
		node=/dev/infiniband/$node
		# A node left by another device may have another number.
		[ "$(stat -c %Hr:%Lr "$node" 2> /dev/null)" != "$major:$minor" ] || continue
		rm -f "$node"
		mknod -m 666 "$node" c "$major" "$minor"
	done
}

load_driver() { # [PARAMETER...]
	load_support
	case $RHCA_LINK_TYPE in
	roce)
		if [ -z "${RHCA_KEEP_OTHER:-}" ]; then remove_driver rdma_rxe; fi
		loaded roce_hca || insert roce_hca "$@" || die "cannot load roce_hca"
		;;
	rxe)
		remove_driver roce_hca
		loaded rdma_rxe || insert rdma_rxe || skip "no rdma_rxe for $(uname -r)"
		;;
	*) die "RHCA_LINK_TYPE=$RHCA_LINK_TYPE: expected roce or rxe" ;;
	esac
}

# reload_driver [PARAMETER...]: load the driver with these parameters; unload it for the next
# scenario
reload_driver() {
	remove_driver roce_hca || die "roce_hca does not unload"
	defer 'remove_driver roce_hca'
	insert roce_hca "$@"
}

ours() { [ "$RHCA_LINK_TYPE" = roce ]; }
only_ours() { ours || skip "says something about roce_hca only"; }

# --- work on several processors -----------------------------------------------

# With RHCA_SPREAD set, for scenarios whose header says "spread: yes": a host's processes post
# and poll on one processor, and the packets that its netdev receives are processed on another.
# Of four processors, a has 0 and 2, b has 1 and 3; of two, each host's packets are processed
# where the other's processes run.
SPREAD=
if [ -n "${RHCA_SPREAD:-}" ] && grep -q '^# spread: yes' "$0" && [ "$(nproc)" -gt 1 ]; then
	SPREAD=1
fi
if [ "$(nproc)" -ge 4 ]; then QUEUES_A=4 QUEUES_B=8; else QUEUES_A=2 QUEUES_B=1; fi

# move_queues in_a|in_b NETDEV MASK
move_queues() {
	# shellcheck disable=SC2016
	$1 sh -c 'for queue in /sys/class/net/$1/queues/rx-*; do
		echo $2 > $queue/rps_cpus || exit 1
	done' sh "$2" "$3" || die "$2: its receive queues cannot be moved to processors $3"
}
spread_queues() { [ -z "$SPREAD" ] || move_queues "$@"; }

# keep_order: deliver in order, as a cable does. Any sender on a netdev with a qdisc, even of a
# router solicitation, may also send others' queued packets, and a veth delivers on the sender's
# processor: packets could overtake each other unless one processor receives all.
keep_order() {
	move_queues in_a "$IF_A" 1
	move_queues in_b "$IF_B" 1
}

# --- two hosts --------------------------------------------------------------

A_IS_HERE=	# host a is the initial namespace, see setup_pair_here
ON_A=() ON_B=()
if [ -n "$SPREAD" ]; then
	ON_A=(taskset -c 0) ON_B=(taskset -c 1)
fi
in_a() { if [ -n "$NETNS" ] && [ -z "$A_IS_HERE" ]; then ip netns exec "$NS_A" "${ON_A[@]}" "$@"; else "$@"; fi; }
in_b() { if [ -n "$NETNS" ]; then ip netns exec "$NS_B" "${ON_B[@]}" "$@"; else "$@"; fi; }
# In the background; $! is the command itself.
spawn_a() { if [ -n "$NETNS" ] && [ -z "$A_IS_HERE" ]; then ip netns exec "$NS_A" "${ON_A[@]}" "$@" & else "$@" & fi; }
spawn_b() { if [ -n "$NETNS" ]; then ip netns exec "$NS_B" "${ON_B[@]}" "$@" & else "$@" & fi; }
show_a() { echo "+ a: $*"; in_a "$@"; }
show_b() { echo "+ b: $*"; in_b "$@"; }

# set_conf NETDEV NAME VALUE: until the end; new namespaces inherit the current values
set_conf() {
	local file=/proc/sys/net/ipv4/conf/$1/$2

	defer "[ ! -e $file ] || echo $(< "$file") > $file"
	echo "$3" > "$file"
}

# setup_wire [MTU]: the two hosts without RDMA devices. WIRE_QUEUES: queues each way, if not one
setup_wire() {
	local mtu=${1:-9000}
	local queues=${WIRE_QUEUES:+numtxqueues $WIRE_QUEUES numrxqueues $WIRE_QUEUES}

	if [ -n "$NETNS" ]; then
		show ip netns add "$NS_A" && show ip netns add "$NS_B" || die "no network namespaces"
		# shellcheck disable=SC2086
		show ip link add "$IF_A" netns "$NS_A" mtu "$mtu" $queues type veth \
			peer name "$IF_B" netns "$NS_B" mtu "$mtu" $queues || die "no veth"
		in_a ip link set lo up
		in_b ip link set lo up
	else
		show ip link add "$IF_A" mtu "$mtu" type veth peer name "$IF_B" mtu "$mtu" || die "no veth"
	fi
	address_wire
}

# address_wire: the two ends of it
address_wire() {
	local i

	[ -n "$NETNS" ] || for i in all default "$IF_A" "$IF_B" lo; do
		set_conf "$i" accept_local 1
		set_conf "$i" rp_filter 0
		set_conf "$i" arp_ignore 1
	done
	show_a ip addr add $IP4_A/24 dev "$IF_A"
	show_b ip addr add $IP4_B/24 dev "$IF_B"
	in_a ip -6 addr add $IP6_A/64 dev "$IF_A" nodad
	in_b ip -6 addr add $IP6_B/64 dev "$IF_B" nodad
	show_a ip link set "$IF_A" up
	show_b ip link set "$IF_B" up
	[ -n "$NETNS" ] || split_route
	spread_queues in_a "$IF_A" $QUEUES_A
	spread_queues in_b "$IF_B" $QUEUES_B
	busywait 60 carrier_up "$IF_A" in_a || die "$IF_A has no carrier"
	# Resolve neighbours first: packets lost meanwhile are not of interest here.
	busywait 60 in_a ping -c1 -W1 $IP4_B || die "$IP4_B does not answer ping"
	busywait 60 in_a ping -6 -c1 -W1 $IP6_B || say "no IPv6 between the ends"
}

carrier_up() { ${2:-} cat "/sys/class/net/$1/carrier" | grep -q 1; }

# Outgoing look-ups only (iif lo): the peer's address leaves by the veth.
split_route() {
	SPLIT_ROUTED=1
	ip route add $IP4_B/32 dev "$IF_A" src $IP4_A table 100
	ip route add $IP4_A/32 dev "$IF_B" src $IP4_B table 100
	ip rule del pref 0
	ip rule add pref 10 iif lo lookup 100
	ip rule add pref 100 lookup local
	ip -6 route add $IP6_B/128 dev "$IF_A" src $IP6_A table 100
	ip -6 route add $IP6_A/128 dev "$IF_B" src $IP6_B table 100
	ip -6 rule del pref 0
	ip -6 rule add pref 10 iif lo lookup 100
	ip -6 rule add pref 100 lookup local
}

unsplit_route() {
	[ -n "$SPLIT_ROUTED" ] || return 0
	local f
	for f in -4 -6; do
		ip $f rule add pref 0 lookup local
		ip $f rule del pref 10
		ip $f rule del pref 100
		ip $f route flush table 100
	done
	SPLIT_ROUTED=
}

# both COMMAND...: on both hosts, with the name of its netdev in IF
both() { show_a "${@//IF/$IF_A}" && show_b "${@//IF/$IF_B}"; }

# add_vlan: VLAN 7 on the wire, with 10.9.7.1 and 10.9.7.2
add_vlan() {
	both ip link add link IF name IF.7 type vlan id 7
	show_a ip addr add 10.9.7.1/24 dev "$IF_A.7"
	show_b ip addr add 10.9.7.2/24 dev "$IF_B.7"
	both ip link set IF.7 up
	busywait 60 in_a ping -c1 -W1 10.9.7.2 || die "no ping over the VLAN"
}

# setup_pair [MTU]: the picture above
setup_pair() {
	load_driver
	setup_wire "$@"
	add_links
	busywait 60 gid_index "$DEV_A" v2 $IP6_A || die "no v2 GID for $IP6_A on $DEV_A"
	busywait 60 gid_index "$DEV_B" v2 $IP6_B || die "no v2 GID for $IP6_B on $DEV_B"
}

# setup_wire_here [MTU]: IPv4 only, with host a in the initial namespace
setup_wire_here() {
	local mtu=${1:-9000}

	A_IS_HERE=1
	show ip netns add "$NS_B" || die "no network namespaces"
	show ip link add "$IF_A" mtu "$mtu" type veth peer name "$IF_B" netns "$NS_B" mtu "$mtu" || die "no veth"
	in_b ip link set lo up
	show_a ip addr add $IP4_A/24 dev "$IF_A"
	show_b ip addr add $IP4_B/24 dev "$IF_B"
	show_a ip link set "$IF_A" up
	show_b ip link set "$IF_B" up
	busywait 60 in_a ping -c1 -W1 $IP4_B || die "$IP4_B does not answer ping"
}

# setup_pair_here [MTU]: sysfs files of a driver are in the namespace that the device belongs to
setup_pair_here() {
	load_driver
	setup_wire_here "$@"
	add_links
}

# add_links: the two devices, with their GIDs
add_links() {
	add_link a "$DEV_A" "$IF_A"
	add_link b "$DEV_B" "$IF_B"
	make_device_nodes
	wait_gids
}

# add_link a|b DEVICE NETDEV
add_link() {
	"show_$1" rdma link add "$2" type "$RHCA_LINK_TYPE" netdev "$3" || die "rdma link add $2 refused"
	busywait 60 port_active "$2" || die "$2 is not ACTIVE: $(cat $IB/$2/ports/1/state)"
}

wait_gids() {
	busywait 60 gid_index "$DEV_A" v2 $IP4_A || die "no v2 GID for $IP4_A on $DEV_A"
	busywait 60 gid_index "$DEV_B" v2 $IP4_B || die "no v2 GID for $IP4_B on $DEV_B"
}

teardown_pair() {
	local dev ns
	for dev in "$DEV_A" "$DEV_B"; do
		[ -d "$IB/$dev" ] && timeout -k 1 60 rdma link del "$dev"
	done
	for ns in "$NS_A" "$NS_B"; do
		[ -e "/run/netns/$ns" ] || continue
		ip netns pids "$ns" | xargs -r kill -9 2> /dev/null
		ip netns del "$ns"
	done
	[ -d "/sys/class/net/$IF_A" ] && ip link del "$IF_A"
	unsplit_route
} 2> /dev/null

port_active() { grep -q ACTIVE "$IB/$1/ports/${2:-1}/state"; }
port_state() { cut -d' ' -f2 "$IB/$1/ports/${2:-1}/state"; }

# --- GIDs -------------------------------------------------------------------

# gid_of ADDRESS: in the format of sysfs
gid_of() {
	case $1 in
	*:*)
		$PYTHON -c "import ipaddress,sys
print(ipaddress.IPv6Address(sys.argv[1]).packed.hex(':', 2))" "$1"
		;;
	*)
		# shellcheck disable=SC2046
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' $(echo "$1" | tr . ' ')
		;;
	esac
}

# gids DEVICE [PORT]: "INDEX v1|v2 GID NETDEV" for each entry in use
gids() {
	local dir=$IB/$1/ports/${2:-1} i=0 gid type
	while [ -e "$dir/gids/$i" ]; do
		gid=$(< "$dir/gids/$i")
		if [ "$gid" != 0000:0000:0000:0000:0000:0000:0000:0000 ]; then
			type=$(cat "$dir/gid_attrs/types/$i" 2> /dev/null)
			case $type in
			*v1) type=v1 ;;
			*v2) type=v2 ;;
			esac
			echo "$i $type $gid $(cat "$dir/gid_attrs/ndevs/$i" 2> /dev/null)"
		elif [ $i -gt 40 ]; then
			return 0
		fi
		i=$((i + 1))
	done
}

# gid_index DEVICE v1|v2 ADDRESS [NETDEV]
gid_index() {
	local want index type gid ndev
	want=$(gid_of "$3")
	while read -r index type gid ndev; do
		[ "$gid" = "$want" ] && [ "$type" = "$2" ] || continue
		[ -z "${4:-}" ] || [ "$ndev" = "$4" ] || continue
		echo "$index"
		return 0
	done < <(gids "$1")
	return 1
}

roce_versions() { if ours; then echo v1 v2; else echo v2; fi; }

# --- a server and its client ------------------------------------------------

listens_tcp() { # listens_tcp PID PORT
	local hex
	hex=$(printf %04X "$2")
	grep -qs ":$hex 0*:0000 0A" "/proc/$1/net/tcp" "/proc/$1/net/tcp6"
}

# all_sleep PID: all threads of the process and of its children sleep. In rdma_listen() a thread
# runs, or waits for a lock.
all_sleep() {
	local child

	! sed 's/.*) //' "/proc/$1/task/"*/stat | grep -q '^[^S]' || return 1
	for child in $(pgrep -P "$1"); do
		all_sleep "$child" || return 1
	done
}

cm_id_listens() { rdma resource show cm_id 2> /dev/null | grep -E 'LISTEN' | grep -qE ":$1( |\$)"; }

# listens_cm PID PORT: an identifier is shown as listening before the CM knows it, and requests
# are rejected until then. A server that polls never sleeps.
listens_cm() {
	busywait 60 cm_id_listens "$2" || return 1
	busywait 5 all_sleep "$1" || :
}

# status_of STATUS FILE: correct the status of programs with known faults: rping's, and libfabric's,
# which crashes on a message that arrives while it closes (consumers.rst): fi_pingpong has printed
# its result by then, and exits with 1 and a backtrace.
status_of() {
	if [ "$1" = 1 ] && grep -q 'libfabric.so.*(+0x' "$2" &&
		grep -qE '^[0-9]+[km]? +[0-9]+ +=[0-9]+ ' "$2"; then
		echo 0
	else
		rping_status "$1" "$2"
	fi
}

# rejected_early FILE: the CM rejected the client of perftest for want of a listener (reason 8,
# invalid service ID: IBTA 12.6.7.2).
rejected_early() { grep -q 'RDMA_CM_EVENT_REJECTED; error: 8\.' "$1"; }

# pair NAME READY SERVER CLIENT: run SERVER in a, then CLIENT in b once the
# server is ready (tcp:PORT, cm:PORT or none); both must succeed within LIMIT s.
# Commands are plain words. Their output stays in $WORK/NAME.srv and .cli.
pair() {
	local name=$1 ready=$2 server=$3 client=$4 pid crc src limit=${LIMIT:-120}
	echo "+ a: $server"
	# shellcheck disable=SC2086
	spawn_a timeout -k 2 $((limit + 65)) $server > "$WORK/$name.srv" 2>&1
	pid=$!
	case $ready in
	tcp:*) busywait 60 listens_tcp $pid "${ready#tcp:}" ;;
	cm:*) listens_cm $pid "${ready#cm:}" ;;
	esac || say "$name: the server never listened"
	echo "+ b: $client"
	# shellcheck disable=SC2086
	in_b timeout -k 2 "$limit" $client > "$WORK/$name.cli" 2>&1
	crc=$(status_of $? "$WORK/$name.cli")
	if [ $crc != 0 ] || [ -n "${KILL_SERVER:-}" ]; then
		sleep 0.3
		kill $pid 2> /dev/null
	fi
	wait $pid
	src=$(status_of $? "$WORK/$name.srv")
	[ -z "${KILL_SERVER:-}" ] || src=0
	if [ $crc = 0 ] && [ $src = 0 ]; then
		pass "$name"
		return 0
	fi
	if [ "${EARLY_TRIES:-0}" -gt 0 ] && rejected_early "$WORK/$name.cli"; then
		say "$name: the client connected before its server listened: again"
		EARLY_TRIES=$((EARLY_TRIES - 1)) pair "$@"
		return
	fi
	fail "$name: expected status 0 of both, got client $crc, server $src (124: no end within $limit s)"
	sed 's/^/     srv: /' "$WORK/$name.srv" | tail -15
	sed 's/^/     cli: /' "$WORK/$name.cli" | tail -15
	return 1
}

# --- captures and counters --------------------------------------------------

CAPTURE_PID= BLOCKS=
BLOCKS_FILE=/sys/module/roce_hca/parameters/blocks
blocks_off() {
	[ -w $BLOCKS_FILE ] || return 0
	BLOCKS=$(< $BLOCKS_FILE)
	echo off > $BLOCKS_FILE
	defer "echo $BLOCKS > $BLOCKS_FILE"
}
blocks_back() { [ -z "$BLOCKS" ] || echo "$BLOCKS" > $BLOCKS_FILE; }

# capture_start FILE [FILTER...]: capture on host b's netdev. There a block is one packet, so
# packets are sent singly meanwhile, unless CAPTURE_WHOLE is set.
capture_start() {
	local file=$1
	shift
	[ -n "${CAPTURE_WHOLE:-}" ] || blocks_off
	spawn_b tcpdump -i "${CAPTURE_IF:-$IF_B}" -s 0 -B 8192 --immediate-mode -U -w "$file" "$@" 2> "$WORK/tcpdump.err"
	CAPTURE_PID=$!
	busywait 60 grep -q 'listening on' "$WORK/tcpdump.err" || die "tcpdump does not start: $(cat "$WORK/tcpdump.err")"
}

# When told to end, tcpdump does not read what its socket still holds; it sleeps only if that is
# nothing.
capture_has_all() { [ ! -e "/proc/$CAPTURE_PID" ] || grep -q ') S ' "/proc/$CAPTURE_PID/stat"; }

capture_stop() {
	sleep 0.5
	busywait 60 capture_has_all || say "tcpdump does not come to rest"
	kill -INT $CAPTURE_PID 2> /dev/null
	wait $CAPTURE_PID 2> /dev/null
	CAPTURE_PID=
	blocks_back
}

# objects_of DEVICE: how many QPs, CQs, MRs, PDs and SRQs of processes there are, "N N N N N"
# (without "pid": the kernel's, as QP 1, its PD and CQ)
objects_of() {
	local kind said
	for kind in "qp link" "cq dev" "mr dev" "pd dev" "srq dev"; do
		# shellcheck disable=SC2086
		said=$(rdma resource show $kind "$1") || echo unknown
		grep -c ' pid ' <<< "$said"
	done | paste -sd' '
}

no_objects() { # no_objects DEVICE...
	local dev
	for dev; do [ "$(objects_of "$dev")" = "0 0 0 0 0" ] || return; done
}

hw_counter() { cat "$IB/$1/ports/${3:-1}/hw_counters/$2" 2> /dev/null; }

# python SCRIPT ARGUMENT...: a helper, of this folder or beside the scenario, that prints ok and
# FAIL lines, which are counted. With IN=in_a it runs at a.
python() {
	local out=$WORK/python.$RANDOM script=$1 folder=$LIB rc
	shift
	[ -e "$folder/$script" ] || folder=$HERE
	echo "+ $script $*"
	# shellcheck disable=SC2086
	${IN:-${ON_A[*]}} timeout -k 5 "${LIMIT:-300}" $PYTHON "$folder/$script" "$@" 2>&1 | tee "$out"
	rc=${PIPESTATUS[0]}
	count_checks "$script" "$out" "$rc"
	return "$rc"
}

# roce_mode_of DEVICE v1|v2: set rdma_cm's default for that device
roce_mode_of() {
	local dir=/sys/kernel/config/rdma_cm/$1 mode
	mode="RoCE v2"
	[ "$2" = v1 ] && mode="IB/RoCE v1"
	[ -d "$dir" ] || mkdir "$dir" || die "no configfs for $1"
	echo "+ echo $mode > $dir/ports/1/default_roce_mode"
	echo "$mode" > "$dir/ports/1/default_roce_mode" || fail "default_roce_mode of $1: expected '$mode' to be taken"
	check "default_roce_mode of $1" "$mode" "$(cat "$dir/ports/1/default_roce_mode")"
	defer "rmdir $dir"
}

# count_checks NAME FILE STATUS: ok and FAIL lines that a helper wrote to FILE; without a FAIL
# it must have ended with status 0
count_checks() {
	CHECKS=$((CHECKS + $(grep -c '^ok ' "$2")))
	FAILS=$((FAILS + $(grep -c '^FAIL ' "$2")))
	grep -q '^FAIL ' "$2" || { [ "$3" = 0 ] && grep -q '^ok ' "$2"; } ||
		fail "$1: expected checks and status 0, got status $3 (124: no end in time)"
}

# judge NAME FILE STATUS: show them, too
judge() {
	sed "s/^/     /" "$2"
	count_checks "$@"
}

# within SECONDS WHAT COMMAND...: it succeeds within the time
within() {
	local limit=$1 what=$2 start=$SECONDS rc
	shift 2
	echo "+ $*"
	timeout -k 1 "$limit" "$@"
	rc=$?
	check "$what: status within $limit s (124: not in time; took $((SECONDS - start)) s)" 0 $rc
}

# traffic_start NAME A_INDEX B_INDEX OPTION...: traffic.py in the background
traffic_start() {
	local name=$1
	shift
	rm -f "$WORK/$name"
	echo "+ traffic.py $DEV_A $1 $DEV_B ${*:2} &"
	"${ON_A[@]}" $PYTHON "$LIB/traffic.py" "$DEV_A" "$1" "$DEV_B" "${@:2}" > "$WORK/$name" 2>&1 &
	TRAFFIC_PID=$!
	busywait 120 grep -q running "$WORK/$name" || { cat "$WORK/$name"; die "$name: traffic does not start"; }
}

# traffic_end NAME SECONDS: it must end by itself
traffic_end() {
	ended() { ! kill -0 $TRAFFIC_PID; }
	busywait "$2" ended || { fail "$1: expected the traffic to end within $2 s"; kill -9 $TRAFFIC_PID; }
	wait $TRAFFIC_PID 2> /dev/null
	judge "$1" "$WORK/$1" $?
}

# traffic_stop NAME SECONDS: tell it to end. How much it can send in a given time depends on the
# machine, so the test that it accompanies decides when it is over.
traffic_stop() {
	kill -TERM $TRAFFIC_PID
	traffic_end "$@"
}
