#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# UDP port 4791 is in use in a's namespace: the log says so and names the remedy, v1 works, and
# once the port is free a new device supports v2, too.
#
#   a: a process on UDP 4791  ====== veth ======  b

. "$(dirname "$0")/../lib/lib.sh"
only_ours

load_driver
setup_wire 1500
spawn_a $PYTHON -c "
import socket, time
for family in (socket.AF_INET, socket.AF_INET6):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(('', 4791)); globals()[str(family)] = s
print('taken', flush=True)
time.sleep(600)" > "$WORK/taker"
taker=$!
busywait 60 grep -q taken "$WORK/taker" || die "cannot take the port"
log_mark "taken"
add_link a "$DEV_A" "$IF_A"
add_link b "$DEV_B" "$IF_B"
make_device_nodes
log=$(log_since "taken")
check_match "the log says that port 4791 is in use" '4791' "$log"
check_match "and names the remedy" 'rdma_rxe|unload|rmmod|free|stop' "$log"
check "roce_versions of the port, in sysfs" v1 "$(< "$IB/$DEV_A/ports/1/roce_versions")"
check "roce_versions where the port is free" "v1 v2" "$(< "$IB/$DEV_B/ports/1/roce_versions")"
check_match "roce-status names its user" \
	"$DEV_A port 1: no RoCE v2: UDP port 4791 is taken by process $taker \(" \
	"$(nsenter "--net=/run/netns/$NS_A" "$TOP/tools/user/roce-status" "$DEV_A")"

busywait 60 gid_index "$DEV_A" v1 $IP4_A
busywait 60 gid_index "$DEV_B" v1 $IP4_B
ia=$(gid_index "$DEV_A" v1 $IP4_A) ib=$(gid_index "$DEV_B" v1 $IP4_B)
pair v1-works tcp:19400 "ibv_rc_pingpong -d $DEV_A -g $ia -p 19400 -n 20" \
	"ibv_rc_pingpong -d $DEV_B -g $ib -p 19400 -n 20 $IP4_A"

kill $taker
wait $taker 2> /dev/null
show rdma link del "$DEV_A"
add_link a "$DEV_A" "$IF_A"
wait_gids
check "roce_versions once it is free" "v1 v2" "$(< "$IB/$DEV_A/ports/1/roce_versions")"
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
pair v2-works-once-free tcp:19401 "ibv_rc_pingpong -d $DEV_A -g $ia -p 19401 -n 20" \
	"ibv_rc_pingpong -d $DEV_B -g $ib -p 19401 -n 20 $IP4_A"
finish
