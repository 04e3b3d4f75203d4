#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The adapter's work for a driver, counted and not timed, for mlx5_ib and then for roce_hca_mlx5
# in one boot: firmware commands for a registration and for a connection, doorbells for a
# request and events for a completion, of processes and of the kernel (NVMe). roce_hca_mlx5 must
# not need more.
#
# usage: cost.sh [PART...]   register, connect, cm, pingpong, nvme (all)
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
drivers=/sys/bus/auxiliary/drivers
function=mlx5_core.rdma.0
results=$work/results
many=20

# mlx5_core sends these by itself, now and then.
own='QUERY_VPORT_COUNTER|ACCESS_REG|QUERY_VPORT_STATE|QUERY_FLOW_COUNTER|QUERY_CONG_STATISTICS'

# executed: commands so far, a line for each opcode, except those above
executed() {
	control '{"cmd":"commands"}' | tr ',{}' '\n\n\n' | sed -n 's/^"\([A-Z0-9_]*\)":\([0-9]*\)$/\1 \2/p' |
		grep -vE "^($own) " | sort
}

# note DRIVER WHAT UNITS COUNT: UNITS of them needed COUNT
note() {
	echo "$*" >> "$results"
	echo "# $1: $2: $4 for $3"
}

# count COMMAND...: number of firmware commands
count() {
	local before after

	before=$(executed)
	"$@" > "$work/count" 2>&1 || { cat "$work/count" >&2; return 1; }
	after=$(executed)
	join -a 2 -e 0 -o 0,1.2,2.2 <(echo "$before") <(echo "$after") |
		awk '$3 > $2 { print $1, $3 - $2 > "/dev/stderr"; n += $3 - $2 } END { print n + 0 }'
}

# commands WHAT COMMAND...: for each of the operations that COMMAND repeats as often as its last
# argument says. Without those for its start and end, and without objects that the first
# operation creates permanently.
commands() {
	local what=$1 once often used

	shift
	once=$(count "$@" 1) && often=$(count "$@" $((many + 1))) || return 1
	used=$((often - once))
	note "$driver" "$what" $many $((used < 0 ? 0 : used))
}

# traffic WHAT COMMAND...: doorbells per request and events per completion
traffic() {
	local what=$1 name before after

	shift
	before=$(control '{"cmd":"counters"}')
	"$@" > "$work/traffic" 2>&1 || { cat "$work/traffic"; return 1; }
	after=$(control '{"cmd":"counters"}')
	for name in send_requests send_doorbells completions completion_events; do
		printf -v "$name" %s $(($(value "$name" "$after") - $(value "$name" "$before")))
	done
	# shellcheck disable=SC2154 # by printf
	note "$driver" "$what: doorbells a request" "$send_requests" "$send_doorbells"
	# shellcheck disable=SC2154
	note "$driver" "$what: events a completion" "$completions" "$completion_events"
}

value() {
	tr ',{}' '\n\n\n' <<< "$2" | sed -n "s/^\"$1\"://p"
}

script() {
	timeout 300 /usr/bin/python3 "$here/cost.py" "$rdma" "$gid" "$@"
}

pingpong() {
	local server

	timeout 120 ibv_rc_pingpong -d "$rdma" -g "$gid" "$@" &
	server=$!
	until_listening $server
	timeout 100 ibv_rc_pingpong -d "$rdma" -g "$gid" "$@" localhost && wait $server
}

cm_connections() {
	local server

	timeout 120 ucmatose -c "$1" &
	server=$!
	until_listening $server
	timeout 100 ucmatose -c "$1" -s "$address" && wait $server
}

# shellcheck source=tools/connectx-model/tests/nvme-lib.sh
. "$here/nvme-lib.sh"

read_and_write() {
	dd if=/dev/zero of="$disk" bs=64k count=64 oflag=direct status=none &&
		dd if="$disk" of=/dev/null bs=64k count=64 iflag=direct status=none
}

nvme_start() {
	local took

	took=$(count connect) && find_disk && note "$driver" "NVMe connection (3 queues)" 1 "$took"
}

part_register() {
	check "$driver-register" commands registration script register
}

part_connect() {
	check "$driver-connect" commands connection script connect
}

part_cm() {
	check "$driver-cm" commands "rdma_cm connection" cm_connections
}

part_pingpong() {
	check "$driver-pingpong" traffic "ping-pong by polling" pingpong -n 500
	check "$driver-pingpong-events" traffic "ping-pong by events" pingpong -e -n 500
}

part_nvme() {
	check "$driver-nvme-target" make_target
	check "$driver-nvme-connect" nvme_start
	check "$driver-nvme" traffic "NVMe, 64 KiB" read_and_write
	check "$driver-nvme-end" nvme_end
}

all_of() {
	local part

	check "$driver-bring-up" bring_up 10.7.0.1
	for part in $parts; do
		"part_$part"
	done
}

nvme_end() {
	disconnect && remove_target
}

to_ours() {
	echo $function > $drivers/mlx5_ib.rdma/unbind
}

# not_above WHAT TENTHS: ours is at most that many tenths of theirs higher
not_above() {
	awk -v what="$1" -v slack="$2" '
		{ driver = $1; count = $NF; units = $(NF - 1); sub(/^[^ ]+ /, "")
		  sub(/ [0-9]+ [0-9]+$/, "") }
		$0 == what { ratio[driver] = units ? count / units : 0; found[driver] = 1 }
		END {
			printf "mlx5_ib %.3f, roce_hca_mlx5 %.3f\n", ratio["mlx5_ib"],
				ratio["roce_hca_mlx5"]
			exit !(found["mlx5_ib"] && found["roce_hca_mlx5"] &&
			       ratio["roce_hca_mlx5"] <= ratio["mlx5_ib"] * (1 + slack / 10))
		}' "$results"
}

# not_more WHAT TENTHS: a check, if the part was requested and counted
not_more() {
	! grep -q "^mlx5_ib $1 [0-9]* [0-9]*$" "$results" || check "$1" not_above "$1" "$2"
}

# one_each WHAT: ours is at most one for each
one_each() {
	! grep -q "^roce_hca_mlx5 $1 [0-9]* [0-9]*$" "$results" ||
		check "$1" awk -v what="roce_hca_mlx5 $1 " '
			index($0, what) == 1 { exit !($NF <= $(NF - 1)) }' "$results"
}

parts="${*:-register connect cm pingpong nvme}"
# Keys that mlx5_ib creates in advance would count as commands.
modprobe mlx5_core "$no_keys_in_advance"
driver=mlx5_ib
all_of
check unbind to_ours
driver=roce_hca_mlx5
all_of
echo "# what                                       mlx5_ib  roce_hca_mlx5"
sed -n 's/^mlx5_ib \(.*\) [0-9]* [0-9]*$/\1/p' "$results" | while read -r what; do
	echo "# $what: $(not_above "$what" 0)"
done
# The number of commands is determined by the program. How many completions an event covers
# varies: a ping-pong waits for one, so it is at most an event for each, and fewer on a busy
# machine. So does the number of requests that the block layer makes of a transfer.
for what in registration connection "rdma_cm connection" "NVMe connection (3 queues)"; do
	not_more "$what" 0
done
for what in "ping-pong by polling" "ping-pong by events"; do
	not_more "$what: doorbells a request" 0
done
not_more "ping-pong by polling: events a completion" 1
one_each "ping-pong by events: events a completion"
not_more "NVMe, 64 KiB: doorbells a request" 1
not_more "NVMe, 64 KiB: events a completion" 1
finish
