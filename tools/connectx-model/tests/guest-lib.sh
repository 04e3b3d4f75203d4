# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scenarios in this folder. They run inside the guest; each test prints one line,
# "PASS name" or "FAIL name why", which the host counts.

# shellcheck source=scripts/tests/lib/rping.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/tests/lib/rping.sh"
work=$(mktemp -d /tmp/connectx.XXXXXX)
failed=0
# Kernel messages before this scenario, if others ran in this guest
said_before=$(dmesg | wc -l)

# report NAME STATUS [LOG...]
report() {
	local name=$1 status=$2

	shift 2
	if [ "$status" -eq 0 ]; then
		echo "PASS $name"
		return
	fi
	echo "FAIL $name (status $status)"
	failed=1
	for log; do
		sed "s|^|  ${log##*/}: |" "$log" | tail -n 40
	done
}

# check NAME COMMAND...: the command's status is the verdict
check() {
	local name=$1 status=0

	shift
	if declare -F "$1" > /dev/null; then
		"$@" > "$work/log" 2>&1 || status=$?
	else
		timeout 120 "$@" > "$work/log" 2>&1 || status=$?
	fi
	report "$name" $status "$work/log"
}

wait_for() {
	local tries=1200

	until "$@" > /dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

has_netdev() {
	compgen -G '/sys/bus/pci/drivers/mlx5_core/*/net/*'
}

# objects: number in the adapter of the kinds in $kinds, which a test sets, "A|B"
objects() {
	control '{"cmd":"objects"}' | tr ',{}' '\n\n\n' | grep -E "\"($kinds)\""
}

# nothing_left BEFORE: as many as objects printed before; mlx5_core has some of its own
nothing_left() {
	echo "before:" "$1"
	echo "now:" "$(objects)"
	[ -n "$1" ] && [ "$(objects)" = "$1" ]
}

# The driver of the RDMA function: the in-tree one, or ours.
driver=mlx5_ib

has_rdma() {
	local file

	case $driver in
	mlx5_ib) compgen -G '/sys/class/infiniband/mlx5_*' ;;
	*) file=$(grep -lx mlx5 /sys/class/infiniband/*/backend) && dirname "$file" ;;
	esac
}

is_active() {
	local state

	read -r state < "/sys/class/infiniband/$rdma/ports/1/state" && [[ $state == *ACTIVE* ]]
}

# find_gid TYPE GID: the index of the first that matches both. In the shell only, as starting a
# process takes tens of milliseconds on an emulated processor.
find_gid() {
	local ports=/sys/class/infiniband/$rdma/ports/1 index type value

	for index in {0..15}; do
		read -r type < "$ports/gid_attrs/types/$index" &&
			read -r value < "$ports/gids/$index" || continue
		if [[ $type =~ $1 && $value =~ $2 ]]; then
			echo "$index"
			return
		fi
	done 2> /dev/null
	return 1
}

# A parameter of mlx5_core: the profile in which mlx5_ib does not create six thousand memory
# keys in advance each time it is bound, which takes half a minute here
no_keys_in_advance=prof_sel=1

auxiliary=/sys/bus/auxiliary

# unbind_functions [DRIVER]: from their drivers, except from DRIVER
unbind_functions() {
	local function bound

	for function in $auxiliary/devices/mlx5_core.rdma.*; do
		bound=$(basename "$(readlink "$function/driver")")
		[ -z "$bound" ] || [ "$bound" = "${1-none}.rdma" ] ||
			echo "${function##*/}" > "$auxiliary/drivers/$bound/unbind"
	done
}

# The driver loaded first has the functions, and functions left by a driver are not probed
# again: bind them by hand if the last scenario used another driver.
bind_functions() {
	local function

	unbind_functions $driver
	for function in $auxiliary/devices/mlx5_core.rdma.*; do
		[ -e "$function/driver" ] ||
			echo "${function##*/}" > "$auxiliary/drivers/$driver.rdma/bind"
	done
}

# start_alone: sets alone to the objects of mlx5_core and the network interface, which remain
start_alone() {
	modprobe mlx5_core
	wait_for has_netdev
	unbind_functions
	ip link set "$(basename "$(has_netdev | head -n 1)")" mtu 4200 up
	alone=$(objects)
}

# bring_up ADDRESS: sets netdev, rdma, gid (v2 over IPv4) and gid1 (v1)
bring_up() {
	local module

	for module in mlx5_core $driver ib_uverbs rdma_ucm ib_umad; do
		modprobe $module
	done
	wait_for has_netdev && bind_functions && wait_for has_rdma || return 1
	netdev=$(basename "$(has_netdev | head -n 1)")
	rdma=$(basename "$(has_rdma | head -n 1)")
	ip address add "$1/24" dev "$netdev"
	ip link set "$netdev" mtu "${2:-4200}" up
	wait_for is_active || return 1
	wait_for find_gid v2 ffff || return 1
	gid=$(find_gid v2 ffff)
	gid1=$(find_gid v1 ffff)
	address=$1
}

# Likewise for the in-tree software driver on a plain NIC.
bring_up_rxe() {
	modprobe rdma_rxe && modprobe ib_uverbs && modprobe rdma_ucm
	netdev=$(basename "$(readlink -f /sys/bus/virtio/drivers/virtio_net/*/net/* | head -n 1)")
	ip address add "$1/24" dev "$netdev"
	ip link set "$netdev" mtu 4200 up
	rdma link add rxe0 type rxe netdev "$netdev" || return 1
	rdma=rxe0
	wait_for is_active && wait_for find_gid v2 ffff || return 1
	gid=$(find_gid v2 ffff)
	address=$1
}

# client_of OPERATION: an option for perftest. The client of ib_send_bw destroys a completion queue
# of its own only with events; otherwise mlx5_ib destroys the UAR first, which the model refuses.
client_of() {
	[ "$1" != send ] || [ "$driver" != mlx5_ib ] || printf %s -e
}

# pair NAME SERVER CLIENT: both in this guest; the client is repeated until the server listens
pair() {
	local name=$1 server status=0

	timeout 300 bash -c "$2" > "$work/server" 2>&1 &
	server=$!
	# A server may need some seconds to start: repeat the client, within reason.
	for _ in $(seq 60); do
		sleep 0.5
		status=0
		timeout 200 bash -c "$3" > "$work/client" 2>&1 ||
			status=$(rping_status $? "$work/client")
		[ $status -ne 0 ] || break
		# A client that started too early may retry; a failed test may not. (A datagram
		# client reports a server that is not listening as "unreachable", status 1.)
		grep -qiE "refused|couldn.t connect|rejected|UNREACHABLE, error: 1" \
			"$work/client" || break
		kill -0 $server 2> /dev/null || break
	done
	[ $status -eq 0 ] || kill $server 2> /dev/null
	wait $server || [ "$(rping_status $? "$work/server")" = 0 ] || status=$((status + 1000))
	report "$name" $status "$work/server" "$work/client"
}

# control JSON: a request to the model, through the host
control() {
	local name=$RHCA_SHARE/control-$RANDOM

	echo "$1" > "$name.new"
	mv "$name.new" "$name.request"
	wait_for test -e "$name.answer" || return 1
	cat "$name.answer"
	rm "$name.answer"
}

# counter NAME [ADAPTER]: a counter of the model itself
counter() {
	control "{\"cmd\":\"counters\",\"device\":${2-0}}" | tr ',{}' '\n\n\n' |
		sed -n "s/^\"$1\"://p"
}

# on_wire FILTER: the model's capture has such packets
on_wire() {
	local count

	count=$(tcpdump -nr "$RHCA_SHARE/pcap" "$1" 2> /dev/null | wc -l)
	echo "$count packets: $1"
	[ "$count" -gt 5 ]
}

# frames FILTER: number of such packets in the capture
frames() {
	tcpdump -nr "$RHCA_SHARE/pcap" "$1" 2> /dev/null | wc -l
}

# puts_on_wire FILTER COMMAND...: the command adds at least 6 of these frames
puts_on_wire() {
	local filter=$1 before now

	before=$(frames "$filter")
	shift
	"$@" || return 1
	now=$(frames "$filter")
	echo "before $before, now $now: $filter"
	[ "$now" -ge $((before + 6)) ]
}

# Signal the other machine, and wait for its signal.
signal() {
	touch "$VM_SHARE/$1"
}

await() {
	wait_for test -e "$VM_SHARE/$1" || wait_for test -e "$VM_SHARE/$1"
}

# Listens on a port of the pingpongs, of perftest, of operations.py, of iperf3 or of smc-bytes,
# or is a listener of rdma_cm.
is_listening() {
	ss -Hltn '( sport = :18515 or sport = :18520 or sport = :5201 or sport = :7001 )' | grep -q . ||
		rdma resource show cm_id | grep -q LISTEN
}

# Wait until it listens or has ended. Not every server listens: $patience, in tenths of a second.
patience=150

until_listening() { # until_listening PID
	local _

	for _ in $(seq $patience); do
		! is_listening && kill -0 "$1" 2> /dev/null || return 0
		sleep 0.1
	done
}

# both_ends SERVER CLIENT COMMAND...: run the command twice, with a word for each appended
both_ends() {
	local server=$1 client=$2 status=0

	shift 2
	# shellcheck disable=SC2086
	timeout 60 "$@" $server > "$work/server" 2>&1 &
	wait_for is_listening || return 1
	# shellcheck disable=SC2086
	timeout 60 "$@" $client > "$work/client" 2>&1 || status=$(rping_status $? "$work/client")
	[ $status -ne 0 ] || wait $! || status=$(rping_status $? "$work/server")
	cat "$work/server" "$work/client"
	return $status
}

# On port 18515, of either family; 0A is the state of a listener.
is_serving_pingpong() {
	grep -qE ':4853 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6
}

both_connected() {
	[[ $(< "$work/poll.a") == *remote* && $(< "$work/poll.b") == *remote* ]]
}

# start_polling [COMMAND...]: two processes that poll until their queue pairs end, with their
# output in $work/poll.a and .b, and their ids in $polling. Each prints the other's address when
# it is connected: line-buffered, although it writes to a file.
start_polling() {
	local endless="stdbuf -oL ibv_rc_pingpong -d $rdma -g $gid -n 100000000"

	: > "$work/poll.a"
	: > "$work/poll.b"
	"$@" $endless > "$work/poll.a" 2>&1 &
	polling=$!
	wait_for is_serving_pingpong || { end_polling; return 1; }
	"$@" $endless localhost > "$work/poll.b" 2>&1 &
	polling+=" $!"
	wait_for both_connected || { grep -H . "$work"/poll.[ab]; end_polling; return 1; }
}

end_polling() {
	# shellcheck disable=SC2086
	kill $polling 2> /dev/null
	# shellcheck disable=SC2086
	wait $polling
	return 0
}

# across NAME SERVER CLIENT: the client in machine $client (a), the server in the
# other, whose address is $peer
client=a

across() {
	local name=$1 status=0 server

	if [ "$VM_ROLE" != "$client" ]; then
		timeout 150 bash -c "$2" > "$work/log" 2>&1 &
		server=$!
		until_listening $server
		signal "$name.server"
		wait $server || status=$?
		[ ! -e "$VM_SHARE/$name.failed" ] || status=0
		report "$name-server" $status "$work/log"
		signal "$name.end"
		return
	fi
	await "$name.server"
	timeout 120 bash -c "$3" > "$work/log" 2>&1 || status=$?
	report "$name-client" $status "$work/log"
	[ $status -eq 0 ] || signal "$name.failed"
	await "$name.end"
}

# Tests that provoke a refusal name it here, as a pattern.
provoked="nothing provoked"

no_warning() {
	! dmesg | tail -n +$((said_before + 1)) | grep -vE "$provoked" | grep -E 'WARNING:|BUG:|hw csum failure|mlx5_cmd_out_err|cqe_dump|TX timeout'
}

finish() {
	check kernel-log-clean no_warning
	exit $failed
}
