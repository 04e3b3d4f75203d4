#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# every: 3
# timeout: 300
#
# Debian's Prometheus, which scrapes node_exporter: it accepts the sample's alerts, and
# answers every expression of the Grafana dashboard with data of our devices, while traffic
# starts and stops and the link flaps.

. "$(dirname "$0")/../lib/lib.sh"
only_ours
need prometheus promtool prometheus-node-exporter ib_write_bw

setup_pair_here 1500
ip link set lo up
SAMPLES=$TOP/tools/dashboard
PHASE_S=3
PORT=$((20000 + $$ % 10000))

check_ok "promtool takes the alerts" promtool check rules "$SAMPLES/prometheus-roce.yml"

serve() { # serve COMMAND...: runs until the scenario ends
	"$@" > "$WORK/$1" 2>&1 &
	defer "kill $!"
}
cat > "$WORK/prometheus.yml" <<-END
	global:
	  scrape_interval: 1s
	rule_files: [$SAMPLES/prometheus-roce.yml]
	scrape_configs:
	- job_name: node
	  static_configs:
	  - targets: [127.0.0.1:$PORT]
	    labels: {instance: host}
END
serve prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
	--web.listen-address=127.0.0.1:$PORT
serve prometheus --config.file="$WORK/prometheus.yml" --storage.tsdb.path="$WORK/data" \
	--web.listen-address=127.0.0.1:$((PORT + 1))
URL=http://127.0.0.1:$((PORT + 1))
asks() { $PYTHON -c "import json, urllib.request as r
print(json.load(r.urlopen('$URL/api/v1/query?query=$1'))['data']['result'])"; }
has_data() { asks node_infiniband_info | grep -q "$DEV_A"; }
busywait 120 has_data || die "no data: $(tail -n 5 "$WORK/prometheus" "$WORK/prometheus-node-exporter")"
check "Prometheus has loaded the alerts" "$(grep -c 'alert:' "$SAMPLES/prometheus-roce.yml")" \
	"$($PYTHON -c "import json, urllib.request as r
print(sum(len(g['rules']) for g in json.load(r.urlopen('$URL/api/v1/rules'))['data']['groups']))")"

traffic() { # traffic SECONDS SIZE
	pair "traffic of $2 bytes" tcp:19800 \
		"ib_write_bw -d $DEV_A -x $(gid_index "$DEV_A" v2 $IP4_A) -p 19800 -D $1 -s $2 -F" \
		"ib_write_bw -d $DEV_B -x $(gid_index "$DEV_B" v2 $IP4_B) -p 19800 -D $1 -s $2 -F $IP4_A"
}
begin=$(date +%s)
sleep $PHASE_S
traffic $PHASE_S 65536
traffic $PHASE_S 512
show_b ip link set "$IF_B" down
sleep $PHASE_S
show_b ip link set "$IF_B" up
sleep $((PHASE_S + 2))
python dashboard.py "$URL" "$SAMPLES/grafana-roce.json" "$begin" "$(date +%s)"
finish
