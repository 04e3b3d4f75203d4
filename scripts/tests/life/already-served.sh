#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# A netdev with an RDMA device, ours or the in-tree driver's, is refused a second one, and
# the message names the device. Likewise in the other direction.

. "$(dirname "$0")/../lib/lib.sh"
only_ours

load_driver
show ip link add "$IF_A" type veth peer name "$IF_B" || die "no veth"
show ip link set "$IF_A" up
show ip link set "$IF_B" up

refused() { # refused WHAT NAMED COMMAND...
	local what=$1 named=$2 out rc
	shift 2
	echo "+ $*"
	log_mark "$what"
	out=$("$@" 2>&1)
	rc=$?
	[ $rc != 0 ] || fail "$what: expected a refusal, got success"
	check_match "$what: refused, and the message names $named" "$named" \
		"$out $(log_since "$what")"
}

show rdma link add "$DEV_A" type roce netdev "$IF_A" || die "refused on a free netdev"
refused "a second device on the same netdev" "$IF_A" rdma link add "$DEV_B" type roce netdev "$IF_A"
check_fails "a name that is in use" rdma link add "$DEV_A" type roce netdev "$IF_B" 2> /dev/null
check_fails "a netdev that does not exist" rdma link add "$DEV_B" type roce netdev nosuch0 2> /dev/null
show rdma link del "$DEV_A"
check_ok "after rdma link del the netdev is free" rdma link add "$DEV_A" type roce netdev "$IF_A"
show rdma link del "$DEV_A"

if insert rdma_rxe && show rdma link add "rx$$" type rxe netdev "$IF_A"; then
	defer "rdma link del rx$$; rmmod rdma_rxe"
	refused "a netdev served by rdma_rxe" "rx$$" rdma link add "$DEV_A" type roce netdev "$IF_A"
	check_ok "its peer is free" rdma link add "$DEV_B" type roce netdev "$IF_B"
	check "rdma_rxe's device is unharmed" ACTIVE "$(port_state "rx$$")"
else
	say "no rdma_rxe for this kernel: its part is left out"
fi
finish
