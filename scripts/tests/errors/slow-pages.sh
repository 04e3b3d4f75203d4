#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 600
#
# Page faults that block because the server of the pages, a FUSE daemon or the reader of a
# userfaultfd, does not answer: on-demand paging of other processes continues, and removing an
# object, the process, the device or the module does not wait for them. A registration does; the
# network namespace may end before it. See slow-pages.py.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# soon WHAT COMMAND...: it ends within 5 s; a busy machine may need more
soon() {
	local what=$1 begin
	shift
	begin=$(now_ms)
	"$@"
	begin=$(($(now_ms) - begin))
	if [ $begin -lt 5000 ]; then pass "$what: $begin ms"; else fail "$what: expected 5 s at most, took $begin ms"; fi
}

setup_pair 9000
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)

[ -e /dev/fuse ] || modprobe fuse
[ -e /dev/fuse ] || mknod /dev/fuse c 10 229
mkdir "$WORK/slow"
$PYTHON "$HERE/slow-pages.py" serve "$WORK/slow" > "$WORK/serve" 2>&1 &
SERVER=$!
defer "umount -l $WORK/slow"
defer "kill -9 $SERVER"
busywait 60 test -f "$WORK/slow/file" || { cat "$WORK/serve"; die "no file whose pages do not come"; }

# begin_stuck FILE: process $STUCK waits for 256 pages; it reads words from descriptor 9.
begin_stuck() {
	rm -f "$WORK/words" "$WORK/stuck"
	mkfifo "$WORK/words"
	$PYTHON "$HERE/slow-pages.py" stuck "$DEV_A" "$ia" "$1" < "$WORK/words" > "$WORK/stuck" 2>&1 &
	STUCK=$!
	exec 9> "$WORK/words"
	busywait 120 grep -q '^stuck 0' "$WORK/stuck" || { cat "$WORK/stuck"; die "no process whose pages do not come"; }
}

# others WHAT: sets TOOK to milliseconds, the best of three times
others() {
	local ended status seconds took

	TOOK=999000
	for _ in 1 2 3; do
		read -r ended status seconds < <(timeout -k 1 120 $PYTHON "$HERE/slow-pages.py" others "$DEV_A" "$ia" "$DEV_B" "$ib")
		check "$1: messages, and the sum of their statuses" "64 0" "${ended:-none} ${status:-}"
		took=$(awk "BEGIN { print int(${seconds:-999} * 1000) }")
		[ "$took" -ge $TOOK ] || TOOK=$took
	done
}

others "on-demand paging, alone"
alone=$TOOK
end_stuck() { kill -9 $STUCK; wait $STUCK 2> /dev/null; exec 9>&-; }
for from in "$WORK/slow/file" userfaultfd; do
	by=${from##*/}
	begin_stuck "$from"
	check_match "its QPs, CQs, MRs and PDs are counted" '^([1-9][0-9]* ){4}' "$(objects_of "$DEV_A")"
	others "beside a process whose pages do not come ($by)"
	if [ "$TOOK" -le $((3 * alone + 1000)) ]; then pass "at the usual pace: $alone ms alone, $TOOK ms beside it"
	else fail "the pace: expected $((3 * alone + 1000)) ms at most ($alone ms alone), took $TOOK ms"; fi

	echo close >&9
	busywait 30 grep -q '^closed' "$WORK/stuck"
	check_match "$by: 32 regions are deregistered within ten seconds" '^closed [0-9]\.' \
		"$(grep '^closed' "$WORK/stuck" || echo 'not within 30 s')"
	soon "$by: kill -9" end_stuck
	soon "$by: its objects are gone" busywait 60 no_objects "$DEV_A"
done

: "a namespace that ends during a registration, before the QP whose path has a route there"
end_namespace() { # end_namespace NS NETDEV: until NETDEV, the peer of one there, is gone
	ip netns del "$1"
	wait_check 60 "a namespace ends" not_there "$2"
}
not_there() { ! ip -n "$NS_B" link show "$1"; }
outlive_namespace() {
	local holder

	$PYTHON "$HERE/slow-pages.py" register "$DEV_A" "$(gid_index "$DEV_A" v2 $IP6_A)" > "$WORK/register" 2>&1 &
	holder=$!
	busywait 120 grep -q '^sent 0' "$WORK/register" || { cat "$WORK/register"; die "nothing was sent"; }
	busywait 60 grep -qE '\) [DZ] ' /proc/$holder/stat
	# Linux 6.1 does not wait for a userfaultfd here
	if grep 'Bad address' "$WORK/register"; then say "no registration that waits: not tried"; return; fi
	end_namespace "$NS_A" "$IF_B"
	# The kernel frees a namespace with the next one
	for _ in 1 2; do
		ip netns add "rhca-x-$$"
		ip -n "$NS_B" link add "vx$$" type veth peer name "vy$$" netns "rhca-x-$$"
		end_namespace "rhca-x-$$" "vx$$"
	done
	check "the registration still waits" "sent 0" "$(< "$WORK/register")"
	check_ok "and so does the device" test -e "$IB/$DEV_A"
	kill -9 $holder
	wait $holder 2> /dev/null
	wait_check 60 "the device is removed with the process" test ! -e "$IB/$DEV_A"
}
outlive_namespace
teardown_pair
setup_wire 9000
add_links
ia=$(gid_index "$DEV_A" v2 $IP4_A)

begin_stuck "$WORK/slow/file"
soon "rdma link del" rdma link del "$DEV_A"
check "the device is removed" 0 "$(rdma link show | grep -c "$DEV_A")"
rdma link del "$DEV_B"
unload() { rmmod roce_hca 2> /dev/null; }
refused() { ! unload; }
soon "rmmod is refused" refused
check "the module is still loaded" 0 "$(loaded roce_hca; echo $?)"
soon "kill -9 without a device" end_stuck
: "the pages come at last"
kill -USR1 $SERVER
wait_check 30 "rmmod succeeds when no page is waited for" unload
finish
