#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Users in the kernel register as many pieces in one key as roce_hca_mlx5 announces, on an
# adapter whose lists are as long as a request can count (--with=long-lists), and on one whose
# lists are shorter. There registrations are not fenced (--with=no-fence), and cannot change the
# right to atomic operations (--without=umr-atomic): an invalidation still waits for a READ if
# it is told to, and a registration with that right is refused. READs into more than four pieces
# are better done with a key (--with=short-reads).
#
# If requests can change it (atomics), a key that was registered with the right loses it when it
# is registered again without.
#
# Then the firmware keeps a shared receive queue of the kernel's, and a protection domain; their
# user gets no error. Last, a completion queue ends while an event of it is raised, and the
# firmware dies while a completion is handled (queues/queues.c).
#
# usage: ours-pieces.sh PIECES [atomics]
#        what is to be the most; scripts/check/test-module has built its modules
. "$(dirname "$0")/guest-lib.sh"
tree=$(realpath "$(dirname "$0")/../../..")
# shellcheck disable=SC2034 # for guest-lib.sh
{
	driver=roce_hca_mlx5
	kinds='CQ|PD|QP|Q counter|RMP|UAR|mkey'
	provoked='mlx5_cmd_out_err.*(DESTROY_RMP|DEALLOC_PD)|firmware'
}

fixed=1
[ "${2-}" != atomics ] || fixed=0

# Loading the module fails if its test does
load() {
	insmod "$tree/build/$(uname -r)/pieces/pieces.ko" "device=$rdma" "gid=$gid" \
		"fixed_atomics=$fixed" "$@"
}

register() {
	load || return 1
	most=$(cat /sys/module/pieces/parameters/{pieces,read_pieces})
	rmmod pieces
	echo "$most"
	[ "$most" = "$1"$'\n'4 ]
}

keep_srq() {
	control '{"cmd":"refuse","opcode":"DESTROY_RMP","status":6,"times":5}'
	load pieces=16 && rmmod pieces || return 1
	control '{"cmd":"refuse"}' | grep '"refused": *5'
}

# A domain of the kernel's that remains is only a number.
keep_pd() {
	control '{"cmd":"refuse","opcode":"DEALLOC_PD","status":6}'
	load pieces=16 && rmmod pieces || return 1
	control '{"cmd":"refuse"}' | grep '"refused": *6'
}

queues() {
	insmod "$tree/build/$(uname -r)/queues/queues.ko" "device=$rdma" "$@" && rmmod queues
}

has_said() {
	dmesg | tail -n +$((said_before + 1)) | grep "$1"
}

die() {
	local running status=0

	queues dead=1 &
	running=$!
	wait_for has_said 'queues: posted' && control '{"cmd":"fatal","syndrome":1}' || status=1
	wait $running && wait_for has_said 'health recovery succeeded' && [ $status -eq 0 ]
}

start_alone
check bring-up bring_up 10.7.0.1
check pieces register "$1"
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" "ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
check unload modprobe -r roce_hca_mlx5
check nothing-left nothing_left "$alone"
check bring-up-again bring_up 10.7.0.1
check keep-srq keep_srq
check keep-pd keep_pd
check end-while-raised queues
check die-while-handled die
check unload-with-lost-queue modprobe -r roce_hca_mlx5
finish
