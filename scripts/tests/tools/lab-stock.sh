#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: full
# turns: no
# timeout: 1800
#
# roce-lab on a stock kernel, in an emulated machine, where an administrator restricts what
# applies to the whole machine: memory overcommit (vm.overcommit_memory), execution of memfds
# (vm.memfd_noexec), ptrace (Yama); confined by AppArmor; with its current folder on NFS. It
# works in another way, or exits with 125 and a message.
#
# No turns: it emulates a machine in which a machine is emulated.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh

if [ "${RHCA_LAB_STOCK-}" != guest ]; then
	lab_setup
	RHCA_LAB_STOCK=guest RHCA_LAB="$work/moved here" scripts/vm/run --kernel 6.12 --mem 3G --append apparmor=1 \
		--timeout 1700 -- scripts/tests/tools/lab-stock.sh
	exit
fi

lab_setup
cp scripts/tests/tools/deny-syscalls.py "$home/"
chmod a+rx "$home/deny-syscalls.py"
seccomp=317
limit_s=300

lab() { as_user timeout $limit_s roce-lab "$@"; }

# refuses WHAT SENTENCE WORDS...
refuses() {
	local what=$1 sentence=$2 status

	shift 2
	as_user timeout $limit_s "$@" > "$work/out" 2> "$work/said"
	status=$?
	check "$what: status" 125 $status
	check_match "$what: $(tail -n 1 "$work/said")" "^roce-lab: $sentence\$" "$(tail -n 1 "$work/said")"
}

says() { # says LINE [WORDS...]: a line in the output of check
	local line=$1

	shift
	as_user timeout $limit_s "$@" roce-lab check > "$work/said"
	check_ok "check says: $line" grep "^$line" "$work/said"
}

check "as the machine is" "$(uname -n | wc -l) roce0" "1 $(lab run -- ls /sys/class/infiniband)"

: "memory"
committed() { awk '/^Committed_AS/ { print $2 }' /proc/meminfo; }
sysctl -qw vm.overcommit_memory=2
check "vm.overcommit_memory=2" roce0 "$(lab run -- ls /sys/class/infiniband)"
ended=
# With less memory no program starts.
for room_mib in 16 32 64; do
	sysctl -qw vm.overcommit_kbytes=$(($(committed) + room_mib * 1024))
	lab run -- true > "$work/out" 2> "$work/said"
	status=$?
	sysctl -qw vm.overcommit_ratio=50
	ended+="$room_mib MiB: $status; "
	[ $status -eq 0 ] || check_match "with $room_mib MiB left: $status, $(tail -n 1 "$work/said")" \
		'^125 roce-lab: .' "$status $(tail -n 1 "$work/said")"
done
check_match "some of them are too little" '125' "$ended"
sysctl -qw vm.overcommit_memory=0

: "AppArmor"
confine() { # confine RULES: of the profile, in addition to those that any program needs
	printf 'profile rhca-lab flags=(attach_disconnected,mediate_deleted) {\n%s\n%s\n}\n' \
		'file, signal, unix, network, capability,' "$1" |
		apparmor_parser --replace --skip-cache || fail "no profile of: $1"
}
confined() { as_user timeout $limit_s aa-exec -p rhca-lab -- "$@"; }
profiles_of_labs() { pgrep -u $uid -f '^linux mem=' | sed 's,.*,/proc/&/attr/current,' | xargs cat | sort -u; }
try_apparmor() {
	# As for containers
	confine 'deny mount, ptrace peer=rhca-lab,'
	confined roce-lab run -- sh -c 'ls /sys/class/infiniband; echo up; sleep 1000' > "$work/up" &
	busywait $limit_s grep -q up "$work/up" || fail "a confined lab does not begin"
	check "confined" "roce0" "$(head -n 1 "$work/up")"
	check "and its kernel is" "rhca-lab (enforce)" "$(profiles_of_labs)"
	pkill -KILL -u $uid -x roce-lab
	{ wait $!; } 2> /dev/null
	check "confined, without seccomp" roce0 \
		"$(confined ./deny-syscalls.py $seccomp roce-lab run -- ls /sys/class/infiniband)"
	confine 'deny ptrace,'
	refuses "neither seccomp nor, by the profile, ptrace" "this machine forbids seccomp and ptrace, .*" \
		aa-exec -p rhca-lab -- ./deny-syscalls.py $seccomp roce-lab run -- true
	confine 'deny /**/linux x,'
	refuses "a kernel that the profile does not let start" ".*cannot start the kernel: .*Permission denied.*" \
		aa-exec -p rhca-lab -- roce-lab run -- true
	echo secret > "$home/forbidden"
	confine 'deny /**/forbidden r,'
	check "what the profile forbids is forbidden inside" 1 \
		"$(confined roce-lab run -- cat forbidden 2> "$work/said"; echo $?)"
	check_match "and said" '^cat: forbidden: ' "$(< "$work/said")"
}
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
if ! command -v apparmor_parser > /dev/null || ! command -v aa-exec > /dev/null; then
	echo "SKIP AppArmor: no apparmor_parser or aa-exec here (package apparmor)"
elif [ ! -e /sys/kernel/security/apparmor/profiles ]; then
	echo "SKIP AppArmor: the machine's kernel runs without it"
else
	try_apparmor
fi

: "ptrace"
# Cannot be undone: the last checks that need ptrace are above.
sysctl -qw kernel.yama.ptrace_scope=3
refuses "neither seccomp nor ptrace" "this machine forbids seccomp and ptrace, .*" \
	./deny-syscalls.py $seccomp roce-lab run -- true
check "without ptrace" roce0 "$(lab run -- ls /sys/class/infiniband)"

: "NFS"
mkdir -p "$work/export" "$work/nfs"
modprobe -q nfsd && modprobe -q nfs && mount -t tmpfs -o mode=1777 export "$work/export" &&
	mount -t tmpfs nfs /var/lib/nfs && touch /var/lib/nfs/{etab,rmtab} &&
	{ mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd; } && rpcbind &&
	exportfs -i -o rw,insecure,no_subtree_check,fsid=0 "127.0.0.1:$work/export" &&
	rpc.mountd --no-udp && rpc.nfsd --no-udp --grace-time=10 2 &&
	mount -t nfs -o vers=4.2 127.0.0.1:/ "$work/nfs" || fail "no NFS"
echo before > "$work/export/file"
check "the current folder" "$work/nfs before" \
	"$(home=$work/nfs; lab run -- sh -c 'echo $PWD $(cat file); echo after > made' 2> "$work/said")"
check "and what was written there" "after $uid" "$(cat "$work/export/made") $(stat -c %u "$work/export/made")"
umount "$work/nfs"
rpc.nfsd 0
exportfs -ua
umount --lazy "$work/export"

: "memfd_create"
sysctl -qw vm.memfd_noexec=2
check "vm.memfd_noexec=2" roce0 "$(lab run -- ls /sys/class/infiniband)"
says 'ok   the memory is a file in /dev/shm'
mount -o remount,noexec /dev/shm
mount -t tmpfs -o noexec none /tmp
mount -t tmpfs -o noexec none /var/tmp
refuses "and no folder to execute in" "no place for .* MiB of memory: .*" roce-lab run -- true
finish
