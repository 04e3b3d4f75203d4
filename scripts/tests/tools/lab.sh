#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: core
# timeout: 600
#
# roce-lab as an ordinary user without capabilities, unknown to the machine, from a folder that
# has been moved: the command runs as its caller; arguments, environment, streams and exit
# statuses; two hosts that share nothing, and whose bytes go over RDMA; changes of the wire,
# faults; a lab ends with its runner, even if that is killed.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup --plain

: "the caller"
cat > "$home/who" << 'END'
id -u; id -g; umask; pwd; ulimit -l; id -un; hostname
test -w /dev/infiniband/rdma_cm && test -w /dev/infiniband/uverbs0 && echo devices
END
check "uid, gid, umask, folder, memlock, name, host, devices" \
	"$uid $uid 0027 $home unlimited user a devices" \
	"$(umask 027; as_user roce-lab run -- sh ./who | tr '\n' ' ' | sed 's/ $//')"
ids='echo $(id -G) $(ulimit -S -n) $(ulimit -H -n) $(ulimit -S -c) $(ulimit -l)'
check "groups and limits, memlock apart, on each host" \
	"$uid 7 8 333 444 1 unlimited,$uid 7 8 333 444 1 unlimited," "$(groups=--groups=7,8 as_user prlimit \
		--nofile=333:444 --core=512: --memlock=65536:65536 roce-lab run --hosts 2 -- \
		sh -c "$ids; lab b sh -c '$ids'" | tr '\n' ,)"
check_match "--version: ours, the kernel that runs, the commit" \
	"^roce-lab [0-9][0-9.]* kernel $(as_user roce-lab run -- uname -r), of Debian's linux [^ ]+ commit [^ ]+$" \
	"$(as_user roce-lab --version | paste -sd ' ')"
check "ps, with the time since each process began" 0 "$(as_user roce-lab run -- sh -c 'ps -ef > /dev/null; echo $?')"
check "root of the lab" 0 "$(as_user roce-lab run --user root -- id -u)"
for case in some.one:some.one root:user a:b:user "two words:user"; do
	check "name where LOGNAME is ${case%:*}" "$uid ${case##*:}" "$(as_user env LOGNAME="${case%:*}" \
		roce-lab run -- sh -c 'echo $(id -u) $(id -un)')"
done

: "arguments and variables"
check "arguments" "[][a b][*][\$HOME][\"][new
line][it's][$(printf '\377')]" "$(as_user roce-lab run -- \
	printf '[%s]' '' 'a b' '*' '$HOME' '"' $'new\nline' "it's" $'\xff')"
piece=$(head -c 100000 /dev/zero | tr '\0' x)
check "a megabyte of environment" "$((10 * 100000))" \
	"$(as_user env P0="$piece" P1="$piece" P2="$piece" P3="$piece" P4="$piece" P5="$piece" \
		P6="$piece" P7="$piece" P8="$piece" P9="$piece" LD_LIBRARY_PATH=/there \
		DISPLAY=:0 DBUS_SESSION_BUS_ADDRESS=x SSH_AUTH_SOCK=/x roce-lab run -- sh -c '
		test -z "${DISPLAY-}${DBUS_SESSION_BUS_ADDRESS-}${SSH_AUTH_SOCK-}" &&
		test $LD_LIBRARY_PATH = /there &&
		lab a env | sed -n "s/^P.=//p" | tr -d "\n" | wc -c')"

: "exit statuses"
for case in "exit 7:7" "kill -9 \$\$:137" "exec nonesuch:127" "exec /etc/passwd:126"; do
	as_user roce-lab run -- sh -c "${case%:*}" 2> /dev/null
	check "status of ${case%:*}" "${case##*:}" $?
done
check "status of \"lab a nonesuch\", which cannot be said" 127 \
	"$(as_user roce-lab run -- sh -c 'lab a nonesuch 2> /dev/full; echo $?')"
printf 'echo $(readlink /proc/$$/exe | sed s,/usr,,) $ROCE_LAB_HOSTS\nexit 4\n' |
	SHELL=/bin/dash as_user roce-lab shell --hosts 2 > "$work/out"
check "shell: the caller's, and its status" "4 /bin/dash a b" "$? $(< "$work/out")"
as_user roce-lab run --timeout 2 -- sleep 100
check "status after --timeout" 124 $?
as_user roce-lab run --hosts 17 -- true 2> "$work/said"
check "status of 17 hosts" 125 $?
check "and why" "roce-lab: --hosts 17: a number from 1 to 16" "$(< "$work/said")"
for words in "run --hosts 17 -- true" nonesuch ""; do
	# shellcheck disable=SC2086
	{ sleep 1; as_user roce-lab $words 2>&1; echo $? > "$work/status"; } | true
	check "status of \"roce-lab $words\", which says why to nobody" 125 "$(< "$work/status")"
done
as_user roce-lab run --user root -- sh -c 'echo "WARNING: made up" > /dev/kmsg' 2> "$work/said"
check "status of a kernel fault" 99 $?
log=$(sed -n 's/^roce-lab: its log is //p' "$work/said")
check "its log is kept" 1 "$(grep -c 'WARNING: made up' "$log")"
rm -f "$log"
# For real ones, of KASAN and lockdep, see the scenario lab-debug.
for case in "99:BUG: made up" "99:refcount_t: made up" \
	"99:INFO: trying to register non-static key." \
	"0:rcu: INFO: rcu_sched self-detected stall on CPU" \
	"0:traps: prog[9] trap divide error ip:55d0c0 sp:7ffc10 error:0 in prog[55d0c0+1000]"; do
	as_user roce-lab run --user root -- sh -c 'echo "$0" > /dev/kmsg' "${case#*:}" 2> "$work/said"
	check "status after ${case#*:}" "${case%%:*}" $?
	rm -f "$(sed -n 's/^roce-lab: its log is //p' "$work/said")"
done
as_user roce-lab run --user root -- sh -c 'echo "WARNING: made up" > /dev/kmsg; dmesg -C' 2> "$work/said"
check "status after a fault in a log that was cleared, and the fault is said" "99 1" \
	"$? $(grep -c "^roce-lab: the lab's kernel reported a fault: .*made up" "$work/said")"
rm -f "$(sed -n 's/^roce-lab: its log is //p' "$work/said")"
# As after a real fault, the kernel is tainted by "warn".
as_user roce-lab run --user root -- sh -c 'echo "WARNING: made up" > /dev/kmsg; cd /proc/sys/kernel
	echo 512 > tainted; echo on > printk_devkmsg
	head -c 3M /dev/zero | tr "\0" x | dd bs=900 iflag=fullblock of=/dev/kmsg status=none' 2> "$work/said"
check "status after a fault that newer records have driven out of the log" "99 0" \
	"$? $(grep -c 'made up' "$(sed -n 's/^roce-lab: its log is //p' "$work/said")")"
rm -f "$(sed -n 's/^roce-lab: its log is //p' "$work/said")"
as_user roce-lab run --user root -- sh -c 'echo "WARNING: made up" > /dev/kmsg; exit 3' 2> "$work/said"
check "a command that failed has its own, and the fault is said" "3 1" \
	"$? $(grep -c "^roce-lab: the lab's kernel reported a fault: .*made up" "$work/said")"
rm -f "$(sed -n 's/^roce-lab: its log is //p' "$work/said")"
as_user roce-lab run --user root -- sh -c 'echo c > /proc/sysrq-trigger' 2> "$work/said"
check "status of a panic" 125 $?
rm -f "$(sed -n 's/.*its log is //p' "$work/said")" "$work/status"
{
	as_user roce-lab run --user root -- sh -c \
		'head -c 900000 /dev/zero; echo c > /proc/sysrq-trigger' 2> "$work/said"
	echo $? > "$work/status"
} | { busywait 3 test -s "$work/status"; wc -c > "$work/out"; }
check "and what the command wrote before it" "125 900000" "$(< "$work/status") $(< "$work/out")"
rm -f "$(sed -n 's/.*its log is //p' "$work/said")"

: "streams"
head -c 20000000 /dev/urandom > "$work/bytes"
as_user roce-lab run cat < "$work/bytes" > "$work/copy"
check "bytes through cat" "$(md5sum < "$work/bytes")" "$(md5sum < "$work/copy")"
check "stdout and stderr" "out" "$(as_user roce-lab run -- sh -c 'echo out; echo err >&2' 2> "$work/err")"
check "apart" "err" "$(< "$work/err")"
# Both ends start late, so that each stream blocks once.
{ head -c 10000000 "$work/bytes"; sleep 1; tail -c +10000001 "$work/bytes"; } | {
	/usr/bin/python3 -c 'import os; os.set_blocking(0, False); os.set_blocking(1, False)'
	as_user roce-lab run cat
	echo $? > "$work/status"
} | { sleep 2; cat; } > "$work/copy"
check "bytes through streams that do not block" "0 $(md5sum < "$work/bytes")" \
	"$(< "$work/status") $(md5sum < "$work/copy")"
as_user roce-lab run -- echo out > /dev/full 2> "$work/said"
check "a disk that is full" "125 roce-lab: standard output: No space left on device" "$? $(< "$work/said")"
if as_user strace -qq -o /dev/null true 2> /dev/null; then
	as_user strace -qq -o /dev/null -P "$work/out" -e trace=close -e inject=close:error=ENOSPC \
		roce-lab run -- echo out > "$work/out" 2> "$work/said"
	check "a disk that says so at the end" "125 roce-lab: standard output: No space left on device" \
		"$? $(< "$work/said")"
else
	say "left out, no strace here: a disk that says so at the end"
fi
as_user roce-lab run -- sh -c 'echo out; exit 3' > /dev/full 2> "$work/said"
check "and a status of its own" 3 $?
# shellcheck disable=SC2216
check "a reader that ends" "y 141" "$({ as_user roce-lab run yes; echo $? >&2; } 2> "$work/err" |
	head -n 1) $(tail -n 1 "$work/err")"
as_user roce-lab run -- sh -c 'cat > got; echo out; echo err >&2; exit 3' <&- >&- 2>&-
check "closed ones: status, nothing to read" "3 0" "$? $(stat -c %s "$home/got")"
check "closed ones of \"lab\": status, nothing to read, or to write to" "0 0 1" "$(as_user timeout 60 roce-lab run -- sh -c '
	lab a cat <&-; echo $?; lab a echo x >&-; echo $?; lab a cat nonesuch 2>&-; echo $?' | paste -sd ' ')"
check "who is left holds nothing up" "done" "$(as_user timeout 60 roce-lab run -- sh -c 'sleep 1000 & echo done')"

: "a terminal"
cp scripts/tests/tools/lab-terminal.py "$home/"
chmod a+rx "$home/lab-terminal.py"
check "terminal inside" "tty 33 77 5" "$(in_terminal roce-lab run -- sh -c 'tty -s && echo tty $(stty size); exit 5')"
as_user /usr/bin/python3 "$home/lab-terminal.py" roce-lab
check "window size, ^\\ and ^Z, signals to the runner, modes of the terminal: status" 0 $?
check "none where there is none" "not a tty" "$(as_user roce-lab run -- tty < /dev/null)"
after_up() { # after_up TEXT: typed once the command is up
	busywait 60 grep -q up "$work/terminal"
	printf '%b' "$1"
	sleep 1
}
after_up '\003' | in_terminal roce-lab run -- sh -c \
	'trap "echo int; exit 6" INT; echo up; while :; do sleep 0.1; done' > "$work/terminal"
# The terminal echoes ^C after it has signalled, possibly after the command's answer
check_match "^C reaches the command" 'up .*int 6$' "$(sed 's/\^C//' "$work/terminal")"
rm "$work/terminal"
{ after_up '\032'; echo; } | in_terminal roce-lab run --timeout 30 -- sh -c \
	'echo up; read -r line; echo went on' > "$work/terminal"
check_match "^Z where no shell could bring it back: it goes on" 'went on 0$' "$(< "$work/terminal")"

: "while it begins"
# The runner forwards this signal, too, after its first messages to the guest.
as_user roce-lab run -- lab a echo good > "$work/out" 2> "$work/err" &
while kill -0 $! 2> /dev/null; do
	pkill -CONT -u $uid -x roce-lab
	sleep 0.02
done
wait $!
check "an order that comes before the command: status, what \"lab\" runs" "0 good" "$? $(< "$work/out")"
statuses=
for after_s in 0.02 0.05 0.08 0.1 0.15; do
	as_user roce-lab run -- sleep 3 &
	sleep $after_s
	until pkill -QUIT -u $uid -x roce-lab || ! kill -0 $!; do :; done
	wait $!
	statuses+="$? "
done 2> "$work/err"
check "a signal that ends no runner waits for the command" "131 131 131 131 131 " "$statuses"

: "two hosts"
cat > "$home/two" << 'END'
counter() { lab "$1" cat /sys/class/infiniband/$2/ports/1/hw_counters/tx_packets; }
before=$(counter b roce1)
lab b sh -c 'ibv_rc_pingpong -e -n 100 -d $ROCE_LAB_DEVICE -g $ROCE_LAB_GID_INDEX_V2' > server &
until lab b sh -c 'grep -q :4853 /proc/net/tcp /proc/net/tcp6'; do :; done
ibv_rc_pingpong -e -n 100 -d $ROCE_LAB_DEVICE -g $ROCE_LAB_GID_INDEX_V2 b > client || exit
wait $! || exit
echo packets $(($(counter b roce1) - before >= 200))
lab b sh -c 'hostname; ls /sys/class/infiniband; exit 3'; echo $?
echo x | lab b sh -c 'cat; touch /tmp/mine /dev/shm/mine'
ls /tmp/mine /dev/shm/mine 2>&1 | grep -c 'No such'
lab nobody true; echo $?
lab --root b id -u
for ns in net pid ipc uts mnt; do
	test "$(readlink /proc/self/ns/$ns)" != "$(lab b readlink /proc/self/ns/$ns)" || echo same $ns
done
getent hosts c; echo $?
cat $ROCE_LAB_HOSTFILE
END
check "a pingpong, a status, names, memory of their own" \
	"packets 1,b,roce1,3,x,2,125,0,2,a,b," \
	"$(as_user roce-lab run --hosts 2 -- sh ./two 2> "$work/err" | tr '\n' ,)"
check "an unknown host is said" "lab: no host nobody in this lab (a b)" "$(< "$work/err")"

cat > "$home/signals" << 'END'
lab b sh -c 'trap "echo got; exit 7" TERM; : > up; while :; do sleep 0.1; done' &
until [ -e up ]; do sleep 0.1; done
kill $!; wait $!; echo $?
timeout 2 lab b sleep 1000; echo $?
lab b sleep 2000 &
until lab b pgrep -fx 'sleep 2000' > pid; do sleep 0.1; done
kill -KILL $!
for i in $(seq 100); do lab b pgrep -fx 'sleep 2000' > pid || break; sleep 0.1; done
wc -c < pid
END
check "signals to \"lab\" are its command's, which ends with it" "got 7 124 0" \
	"$(as_user timeout -k 1 60 roce-lab run --hosts 2 -- sh ./signals 2> "$work/err" | paste -sd ' ')"

check "sixteen hosts: the last is reached" "p 16 0" "$(as_user roce-lab run --hosts 16 -- sh -c '
	ping -4 -c 4 -i 0.5 -W 10 p > /dev/null; status=$?
	echo $(lab p hostname) $(echo $ROCE_LAB_HOSTS | wc -w) $status')"

: "the wire"
cat > "$home/wire" << 'END'
try() { ping -4 -c 1 -W $1 b > /dev/null; echo -n "$? "; }
try 30; lab set b loss 100%; try 1; lab set b loss 0; try 30
lab set b down; try 1; lab set b up; try 30
lab set b loss nonsense; echo -n "$? "
ping -4 -c 3 -i 0.2 b | sed -n 's/.*time=\([0-9]*\).*/\1/p' | tail -n 1 | awk '{ printf "%d ", ($1 >= 40) }'
lab unplug b; lab b ls /sys/class/infiniband | wc -l
END
check "loss, cable, delay, unplugged device" "0 1 0 1 0 125 1 0" \
	"$(as_user roce-lab run --hosts 2 --delay 20ms -- sh ./wire 2> /dev/null)"
check "lab set: the kernel asks for no module" "" "$(as_user roce-lab run --user root -- sh -c '
	ask=/run/roce-lab/ask
	printf "#!/bin/sh\necho \$* >> $ask.ed\n" > $ask; chmod 755 $ask; echo $ask > /proc/sys/kernel/modprobe
	lab set a up; cat $ask.ed 2> /dev/null')"
cat > "$home/start" << 'END'
try() { ping -4 -c 4 -i 0.5 -W 1 b > /dev/null; echo $?; }
try; lab set b loss 0; try; lab set a loss 0; try
END
check "--loss: from the start, of both hosts' ports" "1 1 0" \
	"$(as_user roce-lab run --hosts 2 --loss 100% -- sh ./start 2> /dev/null | paste -sd ' ')"

: "faults"
gcc -Wall -o "$home/faults" scripts/tests/tools/lab-faults.c -libverbs || fail "lab-faults.c"
chmod a+rx "$home/faults"
cat > "$home/use-faults" << 'END'
lab b ./faults wait > events &
until grep -qs registered events; do :; done
lab fault b memlock=64k; lab b ./faults; ./faults
lab fault b memlock=unlimited; lab b ./faults
lab fault b memlock=little; echo $?
lab unplug b; wait $!; echo $?; cat events
END
check "memlock of a host, a device that goes from under a program" \
	"refused registered registered 125 0 registered IBV_EVENT_DEVICE_FATAL" \
	"$(as_user timeout 60 roce-lab run --hosts 2 -- sh ./use-faults 2> "$work/err" | paste -sd ' ')"
check "what is wrong is said" "lab: memlock=little: a size such as 64k, or unlimited" "$(< "$work/err")"

: "ends"
as_user roce-lab run -- sh -c 'echo up; sleep 1000' > "$work/up" &
busywait 60 grep -q up "$work/up" || fail "a lab does not begin"
# The first process of a program is one more until it has begun
check_ok "one lab runs" busywait 60 eval '[ "$(labs)" = 1 ]'
pkill -KILL -u $uid -x roce-lab
check_ok "nothing is left of one whose runner was killed" busywait 60 none_left
for after_s in 0.03 0.06 0.1 0.15 0.2 0.3; do
	as_user roce-lab run -- sleep 1000 &
	sleep $after_s
	until pkill -KILL -u $uid -x roce-lab || ! kill -0 $!; do :; done
	wait $!
done 2> "$work/err"
check_ok "nor of those that were killed while they began" busywait 60 none_left
check "no file either" "" "$(find /dev/shm /tmp /var/tmp -maxdepth 1 -user $uid)"
finish
