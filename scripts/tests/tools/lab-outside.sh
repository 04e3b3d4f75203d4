#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 600
#
# "What it is not" of lab.rst: no sandbox; nothing but the content of files is shared with the
# machine outside or with another lab in the same folder; no O_DIRECT, extended attributes, huge
# pages, perf; times that are set are whole seconds; the threads of a process run one at a time. If
# one of these no longer holds, its check fails, so that the page is updated.
#
# No turns: the facts depend on the kernel, not on the driver.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup
cp scripts/tests/tools/lab-outside.py "$home/"
chmod a+rx "$home/lab-outside.py"

: "no sandbox"
echo secret > "$work/secret"
chmod 600 "$work/secret"
check "root of the lab has the caller's rights: not on another's file, on the caller's own" \
	"1 $uid" "$(as_user roce-lab run --user root -- sh -c \
		"cat ../secret > /dev/null 2>&1; echo \$?; touch mine") $(stat -c %u "$home/mine")"

: "not shared, not there"
as_user ./lab-outside.py outside > "$work/outside" 2>&1 &
busywait 60 test -e "$home/prepared" || fail "lab-outside.py does not begin"
check "outside, a second lock is refused" 1 "$(as_user flock -n locked true; echo $?)"
as_user timeout 100 roce-lab run -- ./lab-outside.py inside > "$work/inside" 2>&1
check "status" 0 $?
wait
for fact in "lock of a file: not shared" "socket: refused" "FIFO: no reader" \
	"event of a file that is made outside: none" "event of a file that is made inside: own" \
	"O_DIRECT: EINVAL" "extended attribute: ENOTSUP" "time that is set: whole seconds" "huge page: refused" "perf: ENOSYS"; do
	check "${fact%%: *}" "${fact#*: }" "$(sed -n "s/^${fact%%: *}: //p" "$work/inside")"
done

check "rxe has no QP 1" 1 "$(as_user roce-lab run --driver rxe -- dmesg | grep -c 'create ib_mad QP1')"

: "a file that is open inside"
echo old > "$home/read"
: > "$home/appended"
chown $uid "$home/read" "$home/appended"
as_user roce-lab run -- sh -c 'exec 3< read 4>> appended; : > open
	until [ -e changed ]; do sleep 0.1; done; cat read; echo in >&4' > "$work/inside" &
busywait 60 test -e "$home/open" || fail "a program does not begin"
echo new > "$home/new"
mv "$home/new" "$home/read"
echo outside >> "$home/appended"
touch "$home/changed"
wait
check "another file of its name outside: what is opened" old "$(< "$work/inside")"
check "what was appended outside: bytes of it" "in side" "$(paste -sd ' ' "$home/appended")"

: "two labs in a folder"
as_user roce-lab run -- flock both sh -c 'echo > held; until [ -e release ]; do sleep 0.1; done' &
busywait 60 test -e "$home/held" || fail "the first lab has no lock"
check "a lock that another lab has" taken "$(as_user roce-lab run -- flock -n both echo taken)"
touch "$home/release"
wait

: "threads"
# Each address space of the guest is a single-threaded process on the machine outside. Those of
# processes that have ended disappear a little later.
processes() { pgrep -u $uid | wc -l; }
as_user roce-lab run -- ./lab-outside.py grow 16 &
busywait 60 test -e "$home/one" || fail "a program does not begin"
one=$(processes)
touch "$home/have-threads"
busywait 60 test -e "$home/threads" || fail "16 threads do not begin"
no_more() { [ "$(processes)" -le "$one" ]; }
check_ok "16 threads more are no process more outside ($one, then $(processes))" busywait 20 no_more
# None is disappearing any more if the number has not fallen for two seconds.
least_processes() {
	local least now left=20

	least=$(processes)
	while [ $((left--)) -gt 0 ]; do
		sleep 0.1
		now=$(processes)
		[ "$now" -ge "$least" ] || { least=$now; left=20; }
	done
	echo "$least"
}
threads=$(least_processes)
touch "$home/have-processes"
busywait 60 test -e "$home/processes" || fail "16 processes do not begin"
check_ok "16 processes more are ($threads, then $(processes))" test "$(processes)" -ge $((threads + 16))
touch "$home/end"
wait
finish
