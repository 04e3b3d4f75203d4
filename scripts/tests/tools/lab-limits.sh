#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 600
#
# roce-lab on machines that forbid or lack something: it works in another way, or exits with
# 125 and a message, and does not hang. Resources are removed in namespaces of this test;
# the network in all of them.
#
# No turns: it boots labs for a minute, and the scenario lab detects most regressions.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup

# with PREPARATION WORDS...: run WORDS as the user, in a mount namespace changed by PREPARATION
with() {
	local preparation=$1

	shift
	home=$home work=$work uid=$uid unshare -m -n --propagation private bash -c '
		. scripts/tests/lib/lab-lib.sh again
		eval "$1" || exit 90
		shift
		as_user timeout 100 "$@"' with "$preparation" "$@"
}

# refuses WHAT SENTENCE PREPARATION WORDS...
refuses() {
	local what=$1 sentence=$2 status

	shift 2
	with "$@" > "$work/out" 2> "$work/said"
	status=$?
	check "$what: status" 125 $status
	check_match "$what: $(tail -n 1 "$work/said")" "^roce-lab: $sentence\$" "$(tail -n 1 "$work/said")"
}

two_hosts='before=$(cat /sys/class/infiniband/roce0/ports/1/counters/port_rcv_data)
	lab b sh -c "ibv_rc_pingpong -e -n 20 -d roce1 -g \$ROCE_LAB_GID_INDEX_V2" > /dev/null &
	until lab b sh -c "grep -q :4853 /proc/net/tcp /proc/net/tcp6"; do sleep 0.1; done
	ibv_rc_pingpong -e -n 20 -d roce0 -g $ROCE_LAB_GID_INDEX_V2 b > /dev/null && wait $! &&
	echo $((($(cat /sys/class/infiniband/roce0/ports/1/counters/port_rcv_data) - before) * 4 >= 80000))'
# memory_max MIB: memory limit of a container, as given by its cgroup
memory_max() { echo "$(tmpfs /sys/fs/cgroup mode=755) && echo $(($1 << 20)) > /sys/fs/cgroup/memory.max"; }
tmpfs() { echo "mount -t tmpfs -o $2 none $1"; }
# temporary OPTIONS: mount all folders for temporary files with these options
temporary() {
	local folder

	for folder in /dev/shm /tmp /var/tmp; do
		echo "mount -t tmpfs -o $1 none $folder &&"
	done
	echo true
}
seccomp=317 ptrace=101 memfd_create=319
cp scripts/tests/tools/deny-syscalls.py "$home/"
chmod a+rx "$home/deny-syscalls.py"

: "it works"
check "in a container's /dev/shm, without a network: bytes by the port's counter" 1 \
	"$(with "$(tmpfs /dev/shm noexec,size=64m)" roce-lab run --hosts 2 -- sh -c "$two_hosts")"
check "with 1024 open files" 1 "$(with 'ulimit -n 1024' roce-lab run --hosts 2 -- sh -c "$two_hosts")"
check "with one processor" 1 "$(with : taskset -c 0 roce-lab run --cpus 1 --hosts 2 -- sh -c "$two_hosts")"
check_match "in a container of 400 MiB, what a lab has of it" '^2[0-9][0-9]$' \
	"$(with "$(memory_max 400)" roce-lab run -- awk '/^MemTotal/ { printf "%d", $2 / 1024 }' /proc/meminfo)"
for limit in as fsize; do
	check "with a limit ($limit) of 400 MB, and a lower soft one" 1 "$(with : prlimit \
		--$limit=200000000:400000000 roce-lab run --hosts 2 -- sh -c "$two_hosts")"
done
check "with less time (cpu) than all its commands take, but not one of them" good "$(with : prlimit --cpu=1:60 \
	roce-lab run -- sh -c 'for i in 1 2 3 4; do timeout 0.7 dd if=/dev/zero of=/dev/null bs=1M 2> /dev/null
		done; echo good')"
check "with users and groups in files that lack the last line end" "user user" "$(with 'cd "$work" &&
	printf root:x:0:0::/:/bin/sh > users && printf root:x:0: > groups &&
	mount --bind users /etc/passwd && mount --bind groups /etc/group' roce-lab run -- sh -c 'id -nu; id -ng' 2>&1 |
	paste -sd ' ')"
check "on a machine that knows another b" "10.66.0.2 b" "$(with 'echo 192.0.2.1 b > "$work/hosts" &&
	mount --bind "$work/hosts" /etc/hosts' roce-lab run --hosts 2 -- getent hosts b | tr -s ' ' | head -n 1)"
check "with 256 MiB" 1 "$(with : roce-lab run --memory 256M --hosts 2 -- sh -c "$two_hosts")"
check "with a root that is read-only, but for /tmp" good \
	"$(with 'mount -o remount,bind,ro /' roce-lab run -- echo good)"
check "with no folder to execute in" 1 "$(with "$(temporary noexec,size=1m)" roce-lab run --hosts 2 -- sh -c "$two_hosts")"
check "with no folder to write to" 1 "$(with "mount -o remount,bind,ro / && mount --bind '$work' '$work' &&
	mount -o remount,bind,ro '$work' && $(temporary ro)" roce-lab run --hosts 2 -- sh -c "$two_hosts")"
check "where memfd_create is forbidden" 2 "$(with : ./deny-syscalls.py $memfd_create roce-lab run -- nproc)"
check "and with a container's /dev/shm" 1 "$(with "$(tmpfs /dev/shm noexec,size=64m)" \
	./deny-syscalls.py $memfd_create roce-lab run --hosts 2 -- sh -c "$two_hosts")"

check "where seccomp is forbidden, with one processor" "1 1" \
	"$(with : ./deny-syscalls.py $seccomp roce-lab run --hosts 2 -- sh -c "nproc; $two_hosts" | paste -sd ' ')"
check "where ptrace is forbidden" 2 "$(with : ./deny-syscalls.py $ptrace roce-lab run -- nproc)"

: "it does not wait for ever"
as_user roce-lab run -- sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' > "$work/up" &
busywait 60 grep -q up "$work/up" || fail "a lab does not begin"
pkill -TERM -u $uid -x roce-lab
wait $!
check "a command that TERM does not end has KILL after it" 137 $?
# The console and the command fill a pipe of a page; nobody reads before they are told to end.
(
	{
		/usr/bin/python3 -c 'import fcntl; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096)'
		as_user roce-lab run --timeout 3 --verbose --append loglevel=8 -- yes 2>&1
		echo $? > "$work/full"
	} | busywait 60 test -s "$work/full"
	echo "$? $(< "$work/full")" > "$work/unread"
) &
check "and --timeout then" 124 "$(as_user roce-lab run --timeout 3 -- sh -c \
	'trap "" TERM; while :; do sleep 1; done'; echo $?)"
wait $!
check "nobody reads the output: --timeout ends it" "0 124" "$(< "$work/unread")"

# Nobody reads what a command that has ended left in pipes.
as_pid_1() {
	(cd "$home" && PATH="$work/moved here/bin:/usr/bin:/bin" HOME=$home exec unshare -pf --mount-proc \
		setpriv --reuid=$uid --regid=$uid --clear-groups "$@")
}
# Until it has taken note of the command's end, TERM is for the command.
told_to_end() {
	pkill -TERM -u $uid -x roce-lab
	test -s "$work/first"
}
{
	as_pid_1 roce-lab run -- sh -c 'head -c 300000 /dev/zero; : > ended'
	echo $? > "$work/first"
} | {
	busywait 60 test -e "$home/ended" && busywait 60 told_to_end
}
check "TERM after the command's end, to pid 1 of a container" 143 "$(< "$work/first")"
pkill -KILL -u $uid
{
	as_user roce-lab run --timeout 3 -- head -c 300000 /dev/zero
	echo $? > "$work/late"
} | busywait 30 test -s "$work/late"
check "--timeout after the command's end" 124 "$(< "$work/late")"

: "it says why it does not"
refuses "two processors where seccomp is forbidden" "--cpus 2: this machine forbids seccomp, .*" : \
	./deny-syscalls.py $seccomp roce-lab run --cpus 2 -- true
refuses "neither seccomp nor ptrace" "this machine forbids seccomp and ptrace, .*" : \
	./deny-syscalls.py $seccomp,$ptrace roce-lab run -- true
no_memory="no place for .* MiB of memory: /dev/shm is mounted noexec; .*/var/tmp is mounted noexec \(TMPDIR may name another\)"
refuses "neither memfd_create nor a folder to execute in" "$no_memory" "$(temporary noexec)" \
	./deny-syscalls.py $memfd_create roce-lab run -- true
refuses "neither memfd_create nor a folder to write to" "no place for .* \(TMPDIR may name another\)" "$(temporary ro)" \
	./deny-syscalls.py $memfd_create roce-lab run -- true
refuses "files of 100 MB at most" 'a lab needs 192 MiB of memory, and "ulimit -Hf" leaves 95 MiB' : \
	prlimit --fsize=100000000:100000000 roce-lab run -- true
refuses "100 MB of addresses" 'a lab needs 192 MiB of memory, and "ulimit -Hv" leaves 95 MiB' : \
	prlimit --as=100000000:100000000 roce-lab run -- true
refuses "its kernel in such a folder" ".*/linux cannot be executed: is the file system mounted noexec\?" \
	'lib="$work/moved here/lib" && mount --bind "$lib" "$lib" && mount -o remount,bind,noexec "$lib"' \
	roce-lab run -- true
refuses "a container of 100 MiB" \
	"a lab needs 192 MiB of memory, and this container or machine has 100 MiB" "$(memory_max 100)" roce-lab run -- true
refuses "too little memory asked for" "a lab needs 192 MiB, and --memory says 64 MiB" : \
	roce-lab run --memory 64M -- true
refuses "no kernel" "there is no kernel here; \"make lab\" in the work tree builds it" : \
	env ROCE_LAB_FOLDER=/nowhere roce-lab run -- true
refuses "a lab in a lab" "this is a lab, in which no other one runs" : roce-lab run -- roce-lab run -- true
refuses "no /proc" ".*/proc.*" 'umount -l /proc' roce-lab run -- true
refuses "a limit of processes" ".*" : prlimit --nproc=10:10 roce-lab run -- true
for wrong in '--loss x' '--loss 200%' '--delay 1' '--rate 1furlong' '--driver mlx5' '--vlan 4095' \
	'--set nonsense=1' '--cwd /nowhere' '--rwdir /proc' '--pcap /nowhere/file' '--nonsense'; do
	# shellcheck disable=SC2086
	refuses "$wrong" "..*" : roce-lab run $wrong -- true
done
refuses "no command" "run what\? .*" : roce-lab run

: "check"
with : roce-lab check > "$work/said"
check "check: status" 0 $?
check "check: lines" 10 "$(wc -l < "$work/said")"
check "check, where nobody reads on: on stderr" "" "$(with : sh -c 'roce-lab check | true' 2>&1)"
check "check: a lab ran" 1 "$(grep -c '^ok   a lab ran a command, in ' "$work/said")"
with "$(temporary ro)" ./deny-syscalls.py $memfd_create roce-lab check > "$work/said"
check "check without a place for memory: status" 1 $?
check_match "and the remedy" '^[1-9]$' "$(grep -c '^NO .*TMPDIR may name another' "$work/said")"

says() { # says LINE PREPARATION WORDS...: with resources removed, check's output has this line
	local line=$1

	shift
	with "$@" roce-lab check > "$work/said"
	check_ok "check says: $line" grep "^$line" "$work/said"
}
says 'note no provider rxe for libibverbs: install ibverbs-providers' \
	"$(tmpfs /usr/lib/x86_64-linux-gnu/libibverbs ro)"
check "and a command that fails says so" "1 1" "$(with "$(tmpfs /usr/lib/x86_64-linux-gnu/libibverbs ro)" \
	roce-lab run -- false 2> "$work/said"; echo "$? $(grep -c '^roce-lab: no provider rxe .* ibverbs-providers' "$work/said")")"
says 'NO   open files: up to 100: raise it (ulimit -Hn' 'ulimit -n 100'
says 'NO   a lab needs 192 MiB of memory, .* has 100 MiB: raise the limit' "$(memory_max 100)"
says 'ok   the memory is a file in no folder' "$(temporary noexec)"
says 'ok   the memory is a file in /dev/shm' : ./deny-syscalls.py $memfd_create
says "NO   no place for .* MiB of memory: /dev/shm is mounted noexec" "$(temporary noexec)" \
	./deny-syscalls.py $memfd_create
says 'note processors: .*, since seccomp is forbidden here' : ./deny-syscalls.py $seccomp
says 'NO   there is no kernel here; "make lab"' : env ROCE_LAB_FOLDER=/nowhere
says 'NO   /proc is not mounted: mount it' 'umount -l /proc'
says "note the kernel's log is not kept after a fault" "mount -o remount,bind,ro / &&
	mount --bind '$work' '$work' && mount -o remount,bind,ro '$work' && $(temporary ro)"
says 'NO   a lab does not run: roce-lab: this machine forbids seccomp and ptrace' : \
	./deny-syscalls.py $seccomp,$ptrace
says 'NO   Linux on i686: roce-lab runs on Linux on x86_64' : setarch i686
finish
