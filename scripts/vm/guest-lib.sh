# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The host's side of running one command in a guest, shared by scripts/vm/run and
# scripts/uml/run. The folder shared with the guest carries the command in, and its status and
# the kernel's log out; see guest-run.

guest_lib_dir=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

guest_keep_share=

guest_cleanup() {
	local pid

	for pid in $(cat "$guest_share"/{,a/,b/}pid 2> /dev/null); do
		kill -KILL -- "-$pid" 2> /dev/null || :
	done
	[ -n "$guest_keep_share" ] || rm -rf "$guest_share"
}

# Sets guest_share. Without a name the folder is removed at exit.
guest_share_create() {
	if [ -n "${1-}" ]; then
		mkdir -p "$1"
		guest_share=$(realpath "$1")
		guest_keep_share=1
		rm -f "$guest_share"/{status,dmesg,console,faults}
	else
		guest_share=$(mktemp -d "${TMPDIR:-/tmp}/rhca-guest.XXXXXX")
	fi
	trap guest_cleanup EXIT
	trap 'exit 130' INT TERM
}

# guest_watchdog SHARE PID: end the machine when it exceeds SHARE/limit (seconds since that file
# was written; the guest may write it again).
guest_watchdog() {
	local share=$1 pid=$2 age

	while sleep 2 && kill -0 "$pid" 2> /dev/null; do
		age=$((EPOCHSECONDS - $(stat -c %Y "$share/limit")))
		if [ $age -gt "$(cat "$share/limit")" ]; then
			echo "guest: no sign of life in time: ended by force" >&2
			kill -KILL -- "-$pid"
			return
		fi
	done
}

# guest_supervise SHARE COMMAND...: run the machine and show its console.
guest_supervise() {
	local share=$1 pid watchdog

	shift
	: > "$share/console"
	# In a session of its own, so that all of its processes can be ended at once.
	setsid "$@" < /dev/null > "$share/console" 2>&1 &
	pid=$!
	echo $pid > "$share/pid"
	guest_watchdog "$share" $pid &
	watchdog=$!
	# Waited for, as a trap does not run while a foreground command does.
	tail -n +1 -s 0.1 -f --pid=$pid "$share/console" &
	wait $! || :
	kill $watchdog 2> /dev/null || :
	wait $pid $watchdog 2> /dev/null || :
	rm -f "$share/pid"
}

# guest_write_command SHARE KERNEL KERNEL-MODULES TIMEOUT COMMAND...
guest_write_command() {
	local share=$1 kernel=$2 kernel_modules=$3 timeout=$4 tree

	shift 4
	tree=$(realpath "$guest_lib_dir/../..")
	{
		# Variables set by a caller reach the scenario.
		export -p | grep -E '^declare -x (RHCA_[A-Z0-9_]+|VM_[A-Z]+)=' || :
		echo "export RHCA_TREE=$(printf %q "$tree")"
		echo "export RHCA_KERNEL=$kernel"
		echo "export RHCA_KERNEL_MODULES=$kernel_modules"
		echo "export RHCA_MODULES=$(printf %q "$tree/build/$kernel")"
		echo "export RHCA_SHARE=/run/rhca"
		echo "export RHCA_TIMEOUT=$timeout"
	} > "$share/environment"
	# In addition to the command's own time: to boot, to look for leaks, to shut down. A
	# command that writes its limit itself only needs time to get that far.
	echo $((${RHCA_FIRST_SIGN_S:-$timeout} + 300)) > "$share/limit"
	# One word is a shell line, several are a command and its arguments.
	if [ $# -eq 1 ]; then
		echo "$1"
	else
		printf '%q ' "$@"
		echo
	fi > "$share/command"
}

# Judge a guest that has ended: the status of its command, unless the kernel reported a fault or
# crashed. Leaves the kernel's reports in SHARE/faults.
guest_finish() {
	local share=$1 status=0

	if [ -e "$share/status" ]; then
		status=$(cat "$share/status")
	else
		echo "guest: ended before its command did" >&2
		status=125
	fi
	if [ -e "$share/dmesg" ] &&
	   ! "$guest_lib_dir/dmesg-check" "$share/dmesg" > "$share/faults"; then
		echo "guest: the kernel reported a fault:" >&2
		head -n 100 "$share/faults" >&2
	elif ! "$guest_lib_dir/dmesg-check" "$share/console" > "$share/faults"; then
		echo "guest: the kernel reported the fault on the console" >&2
	elif [ "$status" -ne 0 ] && [ -e "$share/dmesg" ]; then
		echo "guest: exit status $status; end of the kernel's log:" >&2
		sed '1,/guest: the command starts/d' "$share/dmesg" | tail -n 50 >&2
	fi
	[ "$status" -ne 0 ] || [ ! -s "$share/faults" ] || status=126
	return "$status"
}
