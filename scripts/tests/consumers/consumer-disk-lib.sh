# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scenarios of disks over RDMA: host a serves a file, which host b uses as a disk.
# Written data crosses the wire, is read back past the page cache, and is compared with the
# file; over RoCE v1 and v2, while the link flaps, and after the device of either role was
# removed while b writes.
#
#   a (ra$$): target  ====== veth ======  b (rb$$): initiator
#
# These parts of the kernel support the initial namespace only, so both ends are there.
#
# Each scenario has functions for its protocol:
#   target, no_target     serve FILE, which is there; serve it no more
#   connect, disconnect   b gets the disk, by default settings but for what HURRY wants;
#                         b has none, whatever there was
#   disk                  print the disk's device node

. "$(dirname "${BASH_SOURCE[0]}")/consumer-lib.sh"
NETNS=

FILE=/dev/shm/$SELF-$$	# an overlay's file has no size for a target
MB=4
HURRY=	# set: a lost connection fails soon, not after minutes as by default

has_disk() { [ -b "$(disk)" ]; }

new_target() {
	truncate -s ${MB}M "$FILE"
	target || die "no target"
}

end_target() {
	no_target
	rm -f "$FILE"
} 2> /dev/null

connects() { check_ok "$1: the disk is there" eval 'connect && busywait 60 has_disk' || die "no disk"; }

# write_and_compare NAME BLOCK: the whole disk, random data
write_and_compare() {
	local before

	before=$(sent)
	head -c ${MB}M /dev/urandom > "$WORK/data"
	check_ok "$1: written" timeout 120 dd if="$WORK/data" of="$(disk)" bs="$2" oflag=direct status=none
	check_ok "$1: read" timeout 120 dd if="$(disk)" of="$WORK/back" bs="$2" iflag=direct status=none
	check_ok "$1: what is read is what was written" cmp "$WORK/data" "$WORK/back"
	check_ok "$1: it is in the target's file" cmp "$WORK/data" "$FILE"
	used "$1" "$before" $((2 * MB * 256))
}

# Without conv=nocreat dd would replace a removed node by a file, and fill memory.
write_on() {
	while dd if=/dev/zero of="$(disk)" bs=64k count=$((MB * 16)) oflag=direct conv=nocreat status=none; do
		:
	done 2> /dev/null
}

# removed ROLE a|b: writing ends; then a new device serves the disk again
removed() {
	local what="the $1's device is removed" before writer

	before=$(sent)
	write_on &
	writer=$!
	busywait 60 sent_since "$before" 1000 || fail "$what: expected traffic before"
	remove_device "$what" "$2"
	check_ok "$what: b gives its disk up" disconnect
	check_ok "$what: writing has ended" ended_well 60 $writer
	no_target 2> /dev/null
	new_device "$2"
	new_target
	connects "$what"
}

# over v1|v2
over() {
	roce_mode_of "$DEV_B" "$1"
	watch_wire "$1"
	connects "RoCE $1"
	write_and_compare "RoCE $1, 4 KiB blocks" 4k
	write_and_compare "RoCE $1, 1 MiB blocks" 1M
	seen_on_wire "RoCE $1 is on the wire"
	check_ok "RoCE $1: b gives its disk up" disconnect
}

check_disk() {
	setup_pair 9000
	defer end_target
	defer disconnect
	new_target
	over v1
	over v2
	# shellcheck disable=SC2034 # for connect
	HURRY=1
	connects "again"
	while_flapping write_and_compare "while the link flaps" 64k
	removed initiator b
	removed target a
	write_and_compare "after both" 256k
	check_ok "b gives its disk up" disconnect
	finish
}
