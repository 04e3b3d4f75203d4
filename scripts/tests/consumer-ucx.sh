#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 1200
#
# UCX without any variable set, which then takes UD to find its peer and RC for the
# rest: tags, active messages, streams, one-sided operations and atomics of its
# perftest, over v2 with IPv4 as it chooses. Then UD alone, v1, and a link flap.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
command -v ucx_perftest > /dev/null || skip "no ucx_perftest (package ucx-utils)"

setup_hosts
say "$(ucx_info -v | head -n 1)"
PORT=22000

# Shared memory is for processes of one host: these are of two.
host() { echo "unshare --ipc --uts --pid --fork --kill-child"; }

# test NAME LEAST-PACKETS OPTION...
perf() {
	local name=$1 least=$2 before
	shift 2
	PORT=$((PORT + 1))
	before=$(sent)
	KILL_SERVER=1 pair "$name" tcp:$PORT "$(host) ucx_perftest -p $PORT" "$(host) ucx_perftest $IP4_A -p $PORT $*"
	used "$name" "$before" "$least"
}

perf "tag matching, latency" 200 -t tag_lat -n 200 -w 20 -s 1000
perf "tag matching, 1 MiB" 200 -t tag_bw -n 20 -w 2 -s 1048576
perf "active messages" 200 -t ucp_am_lat -n 200 -w 20 -s 8000
perf "stream" 200 -t stream_lat -n 200 -w 20 -s 3000
perf "put" 200 -t ucp_put_lat -n 200 -w 20 -s 1000
perf "get" 200 -t ucp_get -n 200 -w 20 -s 5000
perf "fetch and add" 100 -t ucp_fadd -n 200 -w 20 -s 8
perf "compare and swap" 100 -t ucp_cswap -n 200 -w 20 -s 8

# Datagrams alone, which was what failed.
export UCX_TLS=ud
perf "UD alone: tag matching" 200 -t tag_lat -n 200 -w 20 -s 1000
perf "UD alone: 64 KiB" 200 -t tag_bw -n 20 -w 2 -s 65536
for type in v1 v2; do
	UCX_IB_GID_INDEX=$(in_a "$TOP/scripts/show_gids" --json "$DEV_A" |
		$PYTHON -c "import json, sys; print([g['index'] for g in json.load(sys.stdin) if g['ver'] == '$type' and g['ipv4']][0])")
	export UCX_IB_GID_INDEX
	perf "UD alone, $type by its GID index" 200 -t tag_lat -n 200 -w 20 -s 1000
done
unset UCX_TLS UCX_IB_GID_INDEX

: "the link flaps under load"
flap_under_load "$(sent)" 2000 &
flap=$!
perf "while the link flaps" 20000 -t tag_bw -n 10000 -w 2 -s 16384
flapped "while the link flaps" $flap

: "a device is removed under load"
# UCX ends the program then, and dies while it prints where it was.
echo 'rhca-test: expect ucx_perftest\[[0-9]+\]: segfault' > /dev/kmsg
before=$(sent)
spawn_a unshare --ipc --uts --pid --fork --kill-child ucx_perftest -p 22900 > "$WORK/removed.srv" 2>&1
server=$!
busywait 60 listens_tcp $server 22900
spawn_b unshare --ipc --uts --pid --fork --kill-child ucx_perftest $IP4_A -p 22900 -t tag_bw -n 100000000 -w 2 -s 16384 > "$WORK/removed.cli" 2>&1
client=$!
defer "kill -KILL $server $client"
loaded_enough() { [ $(($(sent) - before)) -ge 2000 ]; }
busywait 120 loaded_enough || fail "the load does not begin: $(tail -n 3 "$WORK/removed.cli")"
check_ok "the device of the receiver is removed" timeout -k 1 60 ip netns exec "$NS_A" rdma link del "$DEV_A"
ended() { ! kill -0 $client; }
wait_check 120 "the sender ends" ended
echo 'rhca-test: expect nothing' > /dev/kmsg
finish
