#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The netdev of a port that roce_hca_mlx5 serves supports DCB (--with=dcb): mlx5e rejects
# entries of the APP table for RoCE and accepts those for DSCP, and roce-status reports which
# priorities have flow control, and how to give connections one of these.
. "$(dirname "$0")/guest-lib.sh"
tree=$(realpath "$(dirname "$0")/../../..")
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5

# refuses ENTRY...: with EINVAL, and the table is unchanged
refuses() {
	local before

	before=$(dcb app show dev "$netdev")
	! dcb app add dev "$netdev" "$@" > "$work/refused" 2>&1 || return 1
	cat "$work/refused"
	grep -q 'Invalid argument' "$work/refused" &&
		[ "$(dcb app show dev "$netdev")" = "$before" ]
}

takes_dscp() {
	dcb app add dev "$netdev" dscp-prio 26:3 && dcb app show dev "$netdev" | tee "$work/app" &&
		grep -E 'dscp-prio .*(26|AF31):3' "$work/app"
}

shows_flow_control() {
	dcb pfc set dev "$netdev" prio-pfc 3:on && dcb pfc show dev "$netdev" | tee "$work/pfc" &&
		grep '3:on' "$work/pfc" || return 1
	"$tree/tools/user/roce-status" > "$work/status"
	cat "$work/status"
	grep 'PFC of priority 3' "$work/status"
}

status_beside_traffic() {
	start_polling || return 1
	"$tree/tools/user/roce-status" "$rdma" > "$work/status"
	end_polling
	cat "$work/status"
}

# Traffic without a priority beside a lossless one: after its advice is followed, no problem is left
advises_class() {
	local advice

	status_beside_traffic
	advice=$(sed -n 's/.*PFC is off on priority 0.*Next: \(echo [^;]*\);.*/\1/p' "$work/status")
	[ -n "$advice" ] && sh -c "$advice" && status_beside_traffic || return 1
	! grep 'PFC is off' "$work/status"
}

forgets() {
	dcb app del dev "$netdev" dscp-prio 26:3 && dcb pfc set dev "$netdev" prio-pfc 3:off
}

check bring-up bring_up 10.7.0.1
for entry in 'ethtype-prio 0x8915:3' 'dgram-port-prio 4791:3' 'port-prio 4791:3'; do
	# shellcheck disable=SC2086
	check "refuses-${entry%% *}" refuses $entry
done
check takes-dscp takes_dscp
check shows-flow-control shows_flow_control
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" "ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
check advises-class advises_class
check forgets forgets
check unload modprobe -r roce_hca_mlx5
finish
