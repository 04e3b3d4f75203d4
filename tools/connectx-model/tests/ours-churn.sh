#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Many processes at once on roce_hca_mlx5, polling and with events, each service, while others
# connect by rdma_cm and register memory: they are killed, the driver is unbound and bound,
# unloaded and loaded. Nothing is left in the adapter, no process hangs, and the next connection
# works.
#
# usage: ours-churn.sh [ROUNDS]   of each kind (2)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5
bound=$auxiliary/drivers/roce_hca_mlx5.rdma
rounds=${1-2}
here=$(realpath "$(dirname "$0")")

# Pairs of programs that run for long (XRC's allocates memory for all its messages). The port is
# the first one's; each has its own.
first_port=20000
endless() {
	cat <<-END
	ibv_rc_pingpong -n 100000000
	ibv_rc_pingpong -n 100000000 -e
	ibv_uc_pingpong -n 100000000
	ibv_ud_pingpong -n 100000000 -e
	ibv_srq_pingpong -n 100000000
	ibv_srq_pingpong -n 100000000 -e
	ib_write_bw -F -D 600 -s 65536
	ib_read_bw -F -n 1000000 -s 65536 -e
	ibv_xsrq_pingpong -n 4000
	END
}

# words_of COMMAND: with options for the device and the GID, for either kind of program
words_of() {
	case $1 in
	ib_*) echo "$1 -d $rdma -x $gid" ;;
	*) echo "$1 -d $rdma -g $gid" ;;
	esac
}

# start COMMAND...: adds its id to $users
start() {
	stdbuf -oL "$@" >> "$work/users" 2>&1 &
	users+=" $!"
}

# listen_all COUNT, or one of them has ended
listen_all() {
	! all_alive || [ "$(ss -Hltn "( sport >= :$first_port and sport < :$((first_port + 100)) )" | wc -l)" -ge "$1" ]
}

all_alive() {
	local pid

	for pid in $users; do
		kill -0 "$pid" || return 1
	done
}

# Pingpongs print their peers: those of RC, UC and UD 8 lines, those of SRQ 4 with 16 queue pairs.
all_told() {
	[ "$(grep -c 'remote address' "$work/users")" -ge 72 ]
}

all_connected() {
	! all_alive || all_told
}

# Connections one after the other, and the process that accepts them, until stopped
connect_for_ever() {
	while [ -e "$work/churning" ]; do
		timeout 20 rping -c -a "$address" -C 1 -v
		sleep 0.1
	done > /dev/null 2>&1
}

start_users() {
	local port=$first_port line host

	users=
	deaf=
	: > "$work/users"
	: > "$work/churning"
	for host in "" localhost; do
		port=$first_port
		while read -r line; do
			# shellcheck disable=SC2046
			start $(words_of "${line%% *}") ${line#* } -p $port $host
			case $line in
			*-e) ;;
			ibv_*srq_*) deaf+=" ${users##* }" ;;
			esac
			port=$((port + 1))
		done < <(endless)
		[ -n "$host" ] || wait_for listen_all $((port - first_port)) || return 1
	done
	wait_for all_connected && all_told || return 1
	start rping -s -P -a "$address"
	listener=${users##* }
	connect_for_ever &
	users+=" $!"
	start /usr/bin/python3 "$here/registering.py" "$rdma"
	start /usr/bin/python3 "$here/registering.py" "$rdma"
	sleep 3
}

started() {
	! start_users || return 0
	grep -v address "$work/users"
	rm -f "$work/churning"
	# shellcheck disable=SC2086
	kill -9 $users
	return 1
}

# users_ended SECONDS: all have ended, by themselves or by our signal
users_ended() {
	local pid tries=$(($1 * 5)) status=0

	for pid in $users; do
		while kill -0 "$pid" 2> /dev/null; do
			tries=$((tries - 1))
			if [ $tries -le 0 ]; then
				echo "does not end: $(ps -o pid,stat,wchan:30,args -p "$pid" --no-headers)"
				cat "/proc/$pid/stack"
				status=1
				break
			fi
			sleep 0.2
		done
	done
	# shellcheck disable=SC2086
	kill -9 $users 2> /dev/null
	# shellcheck disable=SC2086
	wait $users 2> /dev/null
	return $status
}

no_user_is_left() {
	rdma resource show
	rdma resource show | grep " $rdma: " | grep -q 'ctx 0' && nothing_left "$before"
}

# First some, so that others lose their peers, then all others
kill_all() {
	local pid some=

	started || return 1
	rm "$work/churning"
	for pid in $users; do
		[ $((RANDOM % 2)) = 0 ] || some+=" $pid"
	done
	# shellcheck disable=SC2086
	kill -9 $some
	sleep 1
	# shellcheck disable=SC2086
	kill -9 $users 2> /dev/null
	users_ended 30 || return 1
	wait_for no_user_is_left || no_user_is_left
}

# A listener only waits for the network, so it is killed. So are programs that poll and have all
# receives in shared queues: no queue pair flushes those, and these programs do not read the
# event. The others must learn that the device is gone.
let_end() {
	rm -f "$work/churning"
	# shellcheck disable=SC2086
	kill "$listener" $deaf
	users_ended 100
}

is_served_by() {
	[ "$(cat "/sys/class/infiniband/$rdma/backend")" = "$1" ] && is_active &&
		gid=$(find_gid v2 ffff)
}

unbind() {
	started || return 1
	timeout 100 sh -c "echo mlx5_core.rdma.0 > $bound/unbind" || return 1
	let_end && wait_for is_served_by software
}

unload() {
	started || return 1
	timeout 100 modprobe -r roce_hca_mlx5 || return 1
	let_end && wait_for is_served_by software
}

bind() {
	echo mlx5_core.rdma.0 > "$bound/bind" && wait_for is_served_by mlx5
}

load() {
	modprobe roce_hca_mlx5 && wait_for is_served_by mlx5
}

serves() {
	pair "rc-after-$1" "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
}

# shellcheck disable=SC2034 # for guest-lib.sh
kinds='CQ|PD|QP|Q counter|RMP|UAR|XRC SRQ|XRC domain'
modprobe mlx5_core "$no_keys_in_advance"
start_alone
check bring-up bring_up 10.7.0.1
# An object created for the first XRC queue pair remains with the device
pair xrc "ibv_xsrq_pingpong -d $rdma -g $gid -n 50" \
	"ibv_xsrq_pingpong -d $rdma -g $gid -n 50 localhost"
before=$(objects)
for round in $(seq "$rounds"); do
	check "kill-$round" kill_all
	serves "kill-$round"
done
for round in $(seq "$rounds"); do
	check "unbind-$round" unbind
	check "nothing-left-unbound-$round" nothing_left "$alone"
	check "bind-$round" bind
	serves "bind-$round"
	check "unload-$round" unload
	check "nothing-left-unloaded-$round" nothing_left "$alone"
	check "load-$round" load
	serves "load-$round"
done
check unload modprobe -r roce_hca_mlx5
check nothing-left nothing_left "$alone"
finish
