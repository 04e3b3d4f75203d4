#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: wide
# timeout: 600
#
# NVMe over Fabrics, both roles: nvmet_rdma serves a file, nvme_rdma makes a disk of
# it. What is written goes over the wire, is read back past the page cache, and
# compared with the file. Again while the link flaps; then the device of either role
# is removed under I/O.
#
#   a (ra$$): target  ====== veth ======  b (rb$$): host
#
# Both know the initial namespace only, so both ends are there.

. "$(dirname "$0")/lib.sh"
only_ours
NETNS=
modprobe nvmet_rdma 2> /dev/null && modprobe nvme_rdma 2> /dev/null ||
	skip "the kernel has no NVMe over RDMA"

NQN=nqn.2026-01.test:rhca
NVMET=/sys/kernel/config/nvmet
FILE=/dev/shm/nvme-$$	# an overlay's file has no size for the target
MB=8

target() {
	truncate -s ${MB}M "$FILE"
	mkdir -p $NVMET/subsystems/$NQN/namespaces/1 $NVMET/ports/1
	echo 1 > $NVMET/subsystems/$NQN/attr_allow_any_host
	echo "$FILE" > $NVMET/subsystems/$NQN/namespaces/1/device_path
	echo 1 > $NVMET/subsystems/$NQN/namespaces/1/buffered_io
	echo 1 > $NVMET/subsystems/$NQN/namespaces/1/enable
	echo rdma > $NVMET/ports/1/addr_trtype
	echo ipv4 > $NVMET/ports/1/addr_adrfam
	echo $IP4_A > $NVMET/ports/1/addr_traddr
	echo 4420 > $NVMET/ports/1/addr_trsvcid
	ln -s $NVMET/subsystems/$NQN $NVMET/ports/1/subsystems/$NQN
}

no_target() {
	rm -f $NVMET/ports/1/subsystems/$NQN "$FILE"
	rmdir $NVMET/ports/1
	echo 0 > $NVMET/subsystems/$NQN/namespaces/1/enable
	rmdir $NVMET/subsystems/$NQN/namespaces/1 $NVMET/subsystems/$NQN
} 2> /dev/null

disk() { compgen -G '/dev/nvme*n1' | head -n 1; }
has_disk() { [ -b "$(disk)" ]; }
no_controller() { ! compgen -G '/sys/class/nvme/nvme*' > /dev/null; }

connect() {
	show eval "echo transport=rdma,traddr=$IP4_A,host_traddr=$IP4_B,trsvcid=4420,nqn=$NQN,nr_io_queues=2,queue_size=16,reconnect_delay=1,ctrl_loss_tmo=60 > /dev/nvme-fabrics" &&
		busywait 60 has_disk
}

disconnect() {
	local controller
	for controller in /sys/class/nvme/nvme*/delete_controller; do
		[ -e "$controller" ] && echo 1 > "$controller"
	done
	busywait 60 no_controller
}

# write_and_compare NAME BLOCK: all of the disk, from random bytes
write_and_compare() {
	local before after packets
	before=$(hw_counter "$DEV_B" tx_packets)
	head -c ${MB}M /dev/urandom > "$WORK/data"
	check_ok "$1: written" timeout 120 dd if="$WORK/data" of="$(disk)" bs="$2" oflag=direct status=none
	check_ok "$1: read" timeout 120 dd if="$(disk)" of="$WORK/back" bs="$2" iflag=direct status=none
	check_ok "$1: what is read is what was written" cmp "$WORK/data" "$WORK/back"
	check_ok "$1: it is in the target's file" cmp "$WORK/data" "$FILE"
	after=$(hw_counter "$DEV_B" tx_packets)
	packets=$((MB * 1024 * 1024 / 4096))
	if [ $((after - before)) -ge $packets ]; then pass "$1: by RDMA ($((after - before)) packets)"
	else fail "$1: expected at least $packets packets of RDMA, got $((after - before))"; fi
}

# b's routes go with its link; see split_route
flap() {
	local i
	for i in 1 2 3; do
		sleep 1
		show ip link set "$IF_B" down
		sleep 0.3
		show ip link set "$IF_B" up
		ip route replace $IP4_A/32 dev "$IF_B" src $IP4_B table 100
	done
}

# removed ROLE DEVICE NETDEV a|b: I/O ends, and the device comes back to a new one
removed() {
	local io
	timeout 120 dd if=/dev/zero of="$(disk)" bs=64k count=100000 oflag=direct status=none 2> /dev/null &
	io=$!
	sleep 1
	within 60 "$1: its device is removed under I/O" rdma link del "$2"
	disconnect || fail "$1: expected the controller to go"
	check_ok "$1: I/O has ended" eval "busywait 30 eval '! kill -0 $io 2> /dev/null'"
	no_target
	add_link "$4" "$2" "$3"
	wait_gids
	target || die "no target"
	check_ok "$1: connects anew" connect
}

setup_pair 9000
defer no_target
defer disconnect
target || die "no target"
check_ok "the host connects" connect
write_and_compare "4 KiB blocks" 4k
write_and_compare "1 MiB blocks" 1M
flap &
write_and_compare "while the link flaps" 64k
wait $!
busywait 60 has_disk
removed host "$DEV_B" "$IF_B" b
removed target "$DEV_A" "$IF_A" a
write_and_compare "after both" 256k
check_ok "the host disconnects" disconnect
finish
