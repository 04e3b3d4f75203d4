# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Tenants on one processor, one of them hostile in eleven ways (hostile-tenant.c), the others
# honest (tenant.c), on top of lib.sh and its setup_pair:
#
#   hostile, 1, 2   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)
#   3               c (rc$$)  ====== veth, MTU 9000 ======  d (rd$$), other namespaces
#
# Each is a user of its own in a cgroup of its own, with 8 MiB of RLIMIT_MEMLOCK.
#
# RHCA_TENANT_SECONDS (default 2): length of each measurement; RHCA_TENANT_KINDS (all)

TENANT_SECONDS=${RHCA_TENANT_SECONDS:-2}
read -ra TENANT_KINDS <<< "${RHCA_TENANT_KINDS:-posts polls registers invalidates contexts faults multicast cm errors wire}"
# ib_core (7.3, too) keeps the task whose context it refused by ioctl, a leak that is not ours:
# others in its place where leaks are looked for
[ ! -e /sys/kernel/debug/kmemleak ] || TENANT_KINDS=("${TENANT_KINDS[@]/contexts/errors}")
HONEST=(1 2 3)
FIRST_USER=65500
CGROUPS=$WORK/cgroups
IP4_C=10.9.3.1 IP4_D=10.9.3.2
MARKS=0

# --- setting up -----------------------------------------------------------------------

setup_others_wire() {
	local ns

	for ns in c d; do
		show ip netns add rhca-$ns-$$ || die "no network namespace"
		defer ip netns del rhca-$ns-$$
	done
	show ip link add vc$$ netns rhca-c-$$ mtu 9000 type veth \
		peer name vd$$ netns rhca-d-$$ mtu 9000 || die "no veth"
	show ip -n rhca-c-$$ addr add $IP4_C/24 dev vc$$
	show ip -n rhca-d-$$ addr add $IP4_D/24 dev vd$$
	for ns in c d; do
		show ip -n rhca-$ns-$$ link set v$ns$$ up
		show ip netns exec rhca-$ns-$$ rdma link add r$ns$$ type roce netdev v$ns$$ ||
			die "no device r$ns$$"
		defer rdma link del r$ns$$
	done
	make_device_nodes
	busywait 60 gid_index rc$$ v2 $IP4_C || die "no GID of rc$$"
	busywait 60 gid_index rd$$ v2 $IP4_D || die "no GID of rd$$"
	busywait 60 ip netns exec rhca-c-$$ ping -c1 -W1 $IP4_D || die "$IP4_D does not answer ping"
}

limit_tenant() { # limit_tenant NUMBER HANDLES OBJECTS
	local device status=0

	for device in "$DEV_A" "$DEV_B" rc$$ rd$$; do
		echo "$device hca_handle=$2 hca_object=$3" > "$CGROUPS/$1/rdma.max" || status=1
	done
	return $status
}

setup_cgroups() {
	local controller number

	show mkdir "$CGROUPS"
	show mount -t cgroup2 none "$CGROUPS" || die "no cgroups"
	defer umount "$CGROUPS"
	for controller in rdma memory; do
		grep -qw $controller "$CGROUPS/cgroup.controllers" || die "no controller $controller"
		echo +$controller > "$CGROUPS/cgroup.subtree_control" || die "no controller $controller"
	done
	for number in 0 "${HONEST[@]}"; do
		mkdir "$CGROUPS/$number" || die "no cgroup"
		defer rmdir "$CGROUPS/$number"
		# 6.12 keeps a limit beyond its cgroup, and trips over it when the device goes.
		defer limit_tenant "$number" max max
	done
	echo 256M > "$CGROUPS/0/memory.max" || die "no memory.max"
}

# limit_tenants: on the devices that there are now
limit_tenants() {
	local number

	limit_tenant 0 16 400 || die "no rdma.max"
	for number in "${HONEST[@]}"; do
		limit_tenant "$number" 2 64 || die "no rdma.max"
	done
	ENDS=("$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)")
	ENDS_OF_3=(rc$$ "$(gid_index rc$$ v2 $IP4_C)" rd$$ "$(gid_index rd$$ v2 $IP4_D)")
}

# setup_tenants: beside the pair, which there is
setup_tenants() {
	local program

	need gcc setpriv taskset
	chmod 711 "$WORK"
	for program in tenant hostile-tenant; do
		gcc -O2 -o "$WORK/$program" "$LIB/$program.c" -libverbs || die "$program.c does not compile"
	done
	setup_others_wire
	setup_cgroups
	limit_tenants
}

# --- measuring ------------------------------------------------------------------------

# as_tenant NUMBER COMMAND...: replaces a subshell
as_tenant() {
	local number=$1
	shift
	# shellcheck disable=SC2016
	exec taskset -c 0 bash -c 'echo $$ > "$0/cgroup.procs" && ulimit -l 8192 && exec "$@"' \
		"$CGROUPS/$number" ip netns exec "$NS_A" \
		setpriv --reuid $((FIRST_USER + number)) --clear-groups "$@"
}

# uses NUMBER: objects charged to its cgroup
uses() { tr ' ' '\n' < "$CGROUPS/$1/rdma.current" | sed -n 's/^hca_.*=//p' | awk '{ n += $1 } END { print n + 0 }'; }
uses_nothing() { [ "$(uses "$1")" = 0 ]; }

# begin_hostile KIND: sets HOSTILE
begin_hostile() {
	as_tenant 0 "$WORK/hostile-tenant" "$1" "${ENDS[@]}" "$IP4_B" > "$WORK/hostile" 2>&1 &
	HOSTILE=$!
	busywait 60 grep -q running "$WORK/hostile" ||
		{ cat "$WORK/hostile"; die "$1: the hostile tenant does not begin"; }
}

begin_honest() { # begin_honest NUMBER
	local ends=("${ENDS[@]}")

	[ "$1" != 3 ] || ends=("${ENDS_OF_3[@]}")
	as_tenant "$1" "$WORK/tenant" "${ends[@]}" "$TENANT_SECONDS" > "$WORK/honest.$1" 2>&1 &
}

# measure KIND: run the hostile tenant of that kind beside the others, each of which writes
# "OPERATIONS MEDIAN P99 MAXIMUM" to $WORK/KIND.NUMBER. Returns whether all were served
measure() {
	local kind=$1 number pids=() status ok=0 begun=$SECONDS mark="$1 $BASHPID-$((++MARKS))."

	log_mark "$mark"
	begin_hostile "$kind"
	for number in "${HONEST[@]}"; do
		begin_honest "$number"
		pids[number]=$!
	done
	for number in "${HONEST[@]}"; do
		wait "${pids[number]}"
		status=$?
		mv "$WORK/honest.$number" "$WORK/$kind.$number"
		[ $status = 0 ] || { ok=1; fail "$kind: tenant $number: expected status 0, got $status: $(< "$WORK/$kind.$number")"; }
	done
	kill -0 $HOSTILE 2> /dev/null || { ok=1; fail "$kind: the hostile tenant has ended: $(< "$WORK/hostile")"; }
	kill $HOSTILE 2> /dev/null
	wait $HOSTILE
	mv "$WORK/hostile" "$WORK/$kind.hostile"
	# ib_core has no limit for lines about PSNs of a fuzzer.
	log_since "$mark" | grep -cv "${TENANT_LOG_IGNORED-no such line}" > "$WORK/$kind.log"
	dmesg | grep -qF "$mark" || { ok=1; fail "$kind: the log has overflown"; }
	echo $((SECONDS - begun + 1)) > "$WORK/$kind.seconds"
	for number in 0 "${HONEST[@]}"; do
		busywait 60 uses_nothing "$number" ||
			{ ok=1; fail "$kind: the cgroup of tenant $number is still charged for $(uses "$number") objects"; }
	done
	return $ok
}

# served KIND: what is required of its measurement, in which all were served
served() {
	pass "$1: the others are served, and have what their limits let them"
	check_ok "$1: the log has less than 10 lines a second" \
		[ "$(< "$WORK/$1.log")" -lt $((10 * $(< "$WORK/$1.seconds"))) ]
}

# beside_tenants COMMAND...: and meanwhile the hostile kinds take turns, beginning with one that
# $seed decides
beside_tenants() {
	local turn=$seed turns kind TENANT_LOG_IGNORED='psn overflow'

	limit_tenants
	touch "$WORK/turns"
	(
		trap - EXIT
		while [ -e "$WORK/turns" ]; do
			kind=${TENANT_KINDS[turn++ % ${#TENANT_KINDS[@]}]}
			! measure "$kind" || served "$kind"
		done
	) > "$WORK/tenants" 2>&1 &
	turns=$!
	"$@"
	rm "$WORK/turns"
	wait $turns
	judge tenants "$WORK/tenants" $?
}
