#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# modules: consumers
# tier: full
# timeout: 600
#
# RDS over RDMA: messages between sockets of family AF_RDS, every byte compared
# (rds-bytes.py); over RoCE v1 and v2, while the link flaps, and with the device of either
# end removed under load. RDS keeps accepted messages, so each exchange continues once there
# is a new device.
#
#   a (ra$$): server  ====== veth ======  b (rb$$): client
#
# It supports the initial namespace only, so both ends are there.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
NETNS=
modprobe rds_rdma 2> /dev/null || no_consumer "RDS over RDMA"
setup_pair 9000

PORT=4000
SERVER=
CLIENT=

# begin NAME MESSAGES BYTES
begin() {
	PORT=$((PORT + 2))
	rm -f "$WORK/server" "$WORK/client"
	spawn_a "${ON_A[@]}" $PYTHON "$HERE/rds-bytes.py" server $IP4_A $PORT > "$WORK/server" 2>&1
	SERVER=$!
	busywait 60 grep -q serving "$WORK/server" || fail "$1: expected a server: $(cat "$WORK/server")"
	spawn_b "${ON_B[@]}" $PYTHON "$HERE/rds-bytes.py" client $IP4_B $PORT $IP4_A "$2" "$3" > "$WORK/client" 2>&1
	CLIENT=$!
}

# ends NAME MESSAGES
ends() {
	busywait 120 eval "! kill -0 $CLIENT" || kill -9 $CLIENT
	check "$1: every byte came back" "ok $2 messages" "$(tail -n 1 "$WORK/client")"
	check_ok "$1: the server ends" ended_well 60 $SERVER
}

# exchange NAME MESSAGES BYTES
exchange() {
	local before

	before=$(sent)
	begin "$@"
	ends "$@"
	used "$1" "$before" $((2 * $2 * (($3 + 4095) / 4096)))
}

# removed a|b
removed() {
	local what="$1's device is removed" before

	before=$(sent)
	begin "$what" 3000 16384
	busywait 60 sent_since "$before" 2000 || fail "$what: expected messages by RDMA before"
	remove_device "$what" "$1"
	new_device "$1"
	ends "$what" 3000
}

# Connections persist, with the RoCE version that they were made with, until their device goes.
# While there are any the module must not be unloaded: since RDS ends each in a workqueue of its
# own (krds_cp_wq), rds_ib_exit(), which flushes rds_wq, no longer waits for that.
forget_connections() {
	local end

	for end in a b; do
		remove_device "$1" $end
		new_device $end
	done
}
defer 'teardown_pair; modprobe -r rds_rdma rds'

for type in v1 v2; do
	forget_connections "RoCE $type: no connections"
	roce_mode_of "$DEV_A" $type
	roce_mode_of "$DEV_B" $type
	watch_wire $type
	exchange "RoCE $type, small messages" 300 64
	exchange "RoCE $type, large messages" 100 200000
	seen_on_wire "RoCE $type is on the wire"
done
while_flapping exchange "while the link flaps" 1500 16384
removed b
removed a
exchange "after both" 300 16384
finish
