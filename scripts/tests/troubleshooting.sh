#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# Each row of the table in Documentation/operating.rst: the fault is made, the
# symptom seen, and the command says what the table says.
#
#   a (initial namespace)  ====== veth ======  b

. "$(dirname "$0")/lib.sh"
only_ours

OPERATING=$TOP/Documentation/operating.rst
SEEN=

# row CAUSE: what follows reproduces that row
row() {
	say "$1"
	SEEN+="$1"$'\n'
	grep -qxE "   \* - $1( \*)?" "$OPERATING" || fail "the table has no row '$1'"
}

# symptom WHAT STATUS CASE [TYPE-A TYPE-B]: how a's message to b ends
symptom() {
	local a=${4:-v2} b=${5:-${4:-v2}}

	check "$1" "$2" "$($PYTHON "$TESTS/trouble.py" "$3" "$DEV_A" "$(gid_index "$DEV_A" "$a" $IP4_A)" \
		"$DEV_B" "$(gid_index "$DEV_B" "$b" $IP4_B)" 2>&1)"
}

# status_says PATTERN: a line of trouble in roce-status
status_says() { "$TOP/scripts/roce-status" "$DEV_A" | grep -qE "^  .*$1"; }

grew() { # grew DEVICE COUNTER BEFORE
	[ "$(hw_counter "$1" "$2")" -gt "$3" ]
}

setup_pair_here 9000
symptom "nothing is wrong: success" 0 send

row "port down"
ip link set "$IF_A" down
wait_check 60 "ibv_devinfo says PORT_DOWN" sh -c "ibv_devinfo -d $DEV_A | grep -q PORT_DOWN"
wait_check 60 "roce-status: the port is down" status_says "is DOWN: netdev $IF_A is Down"
ip link set "$IF_A" up
wait_check 60 "up again" port_active "$DEV_A"

row "no GID"
ip addr flush dev "$IF_A"
wait_check 60 "roce-status: no GID" status_says "no GID of an IP address"
check "show_gids has none of an IPv4 address" "" \
	"$("$TOP/scripts/show_gids" "$DEV_A" | grep -oE '([0-9]+\.){3}[0-9]+')"
check "connecting with an index that has no GID: refused" refused \
	"$($PYTHON "$TESTS/trouble.py" send "$DEV_A" 3 "$DEV_B" 3)"
ip addr add $IP4_A/24 dev "$IF_A"
wait_gids

row "wrong GID type"
symptom "v1 at one end, v2 at the other: transport retries exceeded" 12 send v1 v2
check "show_gids shows the types" "v1 v2" \
	"$("$TOP/scripts/show_gids" "$DEV_A" | grep -F "$IP4_A" | cut -f6 | paste -sd' ')"

row "MTU mismatch"
symptom "the peer has a smaller path MTU: remote invalid request" 9 mtu-of-b
ip link set "$IF_A" mtu 1500
symptom "a larger path MTU than the port's: refused" refused mtu-of-a
check_match "roce-status shows the port's" "MTU 1024 \(netdev 1500\)" \
	"$("$TOP/scripts/roce-status" "$DEV_A")"
ip link set "$IF_A" mtu 9000

row "retry exceeded"
before=$(hw_counter "$DEV_A" local_ack_timeout_err)
in_b nft -f - <<- END
	table inet trouble { chain in { type filter hook input priority 0; udp dport 4791 drop; }; }
END
symptom "the peer's firewall drops: transport retries exceeded" 12 send
check_match "nft shows why" "dport 4791 drop" "$(in_b nft list ruleset)"
wait_check 60 "local_ack_timeout_err counts" grew "$DEV_A" local_ack_timeout_err "$before"
in_b nft delete table inet trouble

row "remote access error"
before=$(hw_counter "$DEV_A" req_remote_access_errors)
symptom "a key that the peer did not give: remote access error" 10 wrong-key
wait_check 60 "req_remote_access_errors counts" grew "$DEV_A" req_remote_access_errors "$before"

row "receiver not ready"
before=$(hw_counter "$DEV_A" rnr_nak_retry_err)
symptom "no receive is posted: RNR retries exceeded" 13 no-receive
wait_check 60 "rnr_nak_retry_err counts" grew "$DEV_A" rnr_nak_retry_err "$before"

row "memlock"
log_mark "memlock"
check_match "a large buffer under a limit of 64 KiB" "register MR|pin|memory" "$(
	prlimit --memlock=65536 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
		ibv_rc_pingpong -d "$DEV_A" -g 3 -s 4194304 2>&1)"
check_match "the log names the limit" 'RLIMIT_MEMLOCK' "$(log_since memlock)"

row "4791 taken"
show rdma link del "$DEV_A"
$PYTHON -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 4791))
print('taken', flush=True)
time.sleep(600)" > "$WORK/taker" &
taker=$!
busywait 60 grep -q taken "$WORK/taker" || die "cannot take the port"
add_link a "$DEV_A" "$IF_A"
wait_gids
symptom "over v2: transport retries exceeded" 12 send v2
symptom "over v1: success" 0 send v1
check "roce_versions says so" v1 "$(< "$IB/$DEV_A/ports/1/roce_versions")"
wait_check 60 "roce-status names the process" status_says "UDP port 4791 is taken by process $taker \("
check_match "and ss shows it" ":4791" "$(ss -uln 'sport = 4791')"
kill $taker

# No adapter here: what an adapter's netdev looks like is in tools-unit.py.
row "software instead of hardware"
check "backend says so" software "$(< "$IB/$DEV_A/backend")"
check_match "and ibdev2netdev -v shows no adapter" "^- $DEV_A \(NA - NA\)" \
	"$("$TOP/scripts/ibdev2netdev" -v | grep " $DEV_A ")"

check "rows of the table that were not reproduced" "" \
	"$(sed -n 's/^   \* - \([a-zA-Z0-9 ]*[a-zA-Z0-9]\)\( \*\)*$/\1/p' "$OPERATING" | grep -vx cause |
		grep -vxF "${SEEN%$'\n'}")"
finish
