#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 300
#
# Debian's prometheus-node-exporter: its InfiniBand collector shows the device, the counters
# equal the kernel's, and every metric of ours in the Grafana dashboard exists; also during
# link flaps, and without the device.

. "$(dirname "$0")/../lib/lib.sh"
only_ours
command -v prometheus-node-exporter > /dev/null || skip "no prometheus-node-exporter"

setup_pair_here 1500
PORT=$((20000 + $$ % 10000))
prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
	--web.listen-address=127.0.0.1:$PORT > "$WORK/exporter" 2>&1 &
EXPORTER=$!
defer "kill $EXPORTER"
ip link set lo up

metrics() {
	$PYTHON -c "import urllib.request as r
print(r.urlopen('http://127.0.0.1:$PORT/metrics', timeout=30).read().decode())"
}
answers() { metrics | grep -q node_scrape_collector_success; }
busywait 60 answers || die "the exporter does not answer: $(cat "$WORK/exporter")"

pair traffic tcp:19700 \
	"ibv_rc_pingpong -d $DEV_A -g $(gid_index "$DEV_A" v2 $IP4_A) -p 19700 -n 100 -s 3000" \
	"ibv_rc_pingpong -d $DEV_B -g $(gid_index "$DEV_B" v2 $IP4_B) -p 19700 -n 100 -s 3000 $IP4_A"
metrics > "$WORK/metrics"
check "the collector works" 1 \
	"$(sed -n 's/^node_scrape_collector_success{collector="infiniband"} //p' "$WORK/metrics")"
check_match "it names the device" "node_infiniband_info\{[^}]*device=\"$DEV_A\"[^}]*hca_type=\"roce_hca\"" "$(< "$WORK/metrics")"
value() { sed -n "s/^$1{device=\"$DEV_A\",port=\"1\"} //p" "$WORK/metrics" | $PYTHON -c 'print(int(float(input())))'; }
check "packets sent" "$(cat "$IB/$DEV_A/ports/1/counters/port_xmit_packets")" "$(value node_infiniband_port_packets_transmitted_total)"
check "bytes received" "$(($(cat "$IB/$DEV_A/ports/1/counters/port_rcv_data") * 4))" "$(value node_infiniband_port_data_received_bytes_total)"
asked=$(grep -oE 'node_infiniband_[a-z_]+' "$TOP/tools/dashboard/grafana-roce.json" | sort -u)
[ -n "$asked" ] || fail "the dashboard: expected names of metrics, got none"
check "metrics of the dashboard that are not there" "" \
	"$(for metric in $asked; do grep -q "^$metric{.*device=\"$DEV_A\"" "$WORK/metrics" || echo "$metric"; done)"

# The link goes down and up, and the device is removed and created.
state() { metrics | sed -n "s/^node_infiniband_state_id{device=\"$DEV_A\",port=\"1\"} //p"; }
state_is() { [ "$(state)" = "$1" ]; }
ip link set "$IF_A" down
wait_check 60 "the link goes: the port is down (1)" state_is 1
ip link set "$IF_A" up
wait_check 60 "the link comes: the port is active (4)" state_is 4
within 60 "the device is removed" rdma link del "$DEV_A"
metrics > "$WORK/metrics"
check "the collector works without it" 1 \
	"$(sed -n 's/^node_scrape_collector_success{collector="infiniband"} //p' "$WORK/metrics")"
check "and says nothing of it" "" "$(grep "\"$DEV_A\"" "$WORK/metrics")"
finish
