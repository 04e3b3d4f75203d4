#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bandwidth and latency of roce_hca_mlx5 over those of mlx5_ib, by turns in one boot. The
# data path is libmlx5's and the adapter's with both, so that they should be the same. The
# processors are emulated and shared: of each turn's value, the median and the best of all
# turns are compared, and one of the two has to be at least 0.97 of mlx5_ib's.
#
# usage: speed.sh [TURNS]   of each driver (5)
. "$(dirname "$0")/guest-lib.sh"

turns=${1-5}
values=$work/values
drivers=/sys/bus/auxiliary/drivers
function=mlx5_core.rdma.0

# last_row COLUMN: of what perftest prints, the last table's only row
last_row() {
	grep -E '^ *[0-9]+ +[0-9]' "$work/client" | tail -n 1 | awk "{ print \$$1 }"
}

# measure WHAT COLUMN TOOL ARGUMENT...: MiB/s are in the 4th column, the median in us (t_typical) in the 5th
measure() {
	local what=$1 column=$2 server status=0

	shift 2
	timeout 100 "$1" -d "$rdma" -x "$gid" -F "${@:2}" > "$work/server" 2>&1 &
	server=$!
	until_listening $server
	timeout 90 "$1" -d "$rdma" -x "$gid" -F "${@:2}" localhost > "$work/client" 2>&1 || status=1
	wait $server || status=1
	[ $status -eq 0 ] || { cat "$work/server" "$work/client"; return 1; }
	echo "$driver $what $(last_row "$column")" >> "$values"
	echo "# $(tail -n 1 "$values")" >&3
}

measure_all() {
	measure write-MiB/s 4 ib_write_bw -s 65536 -n 100 &&
		measure read-MiB/s 4 ib_read_bw -s 65536 -n 100 &&
		measure send-MiB/s 4 ib_send_bw -s 65536 -n 100 &&
		measure write-latency-us 5 ib_write_lat -s 8 -n 500
}

# give DRIVER: the adapter, and use it
give() {
	local other=$driver

	driver=$1
	echo $function > "$drivers/$other.rdma/unbind"
	bring_up 10.7.0.1
}

all_turns() {
	local turn

	for ((turn = 1; turn <= turns; turn++)); do
		give mlx5_ib && measure_all && give roce_hca_mlx5 && measure_all || return 1
	done
}

# compare WHAT: more is better of MiB/s, less of us
compare() {
	sort -k 3 -n "$values" | awk -v what="$1" '
		$2 == what { value[$1, ++count[$1]] = $3 }
		function median(driver) { return value[driver, int((count[driver] + 1) / 2)] }
		function best(driver) { return value[driver, what ~ /us$/ ? 1 : count[driver]] }
		function ratio(ours, other) { return what ~ /us$/ ? other / ours : ours / other }
		END {
			ours = "roce_hca_mlx5"; other = "mlx5_ib"
			if (!count[ours] || !count[other])
				exit 1
			by_median = ratio(median(ours), median(other))
			by_best = ratio(best(ours), best(other))
			printf "# %s: median %s, %s of mlx5_ib: %.3f; best %s, %s: %.3f\n", what,
				median(ours), median(other), by_median, best(ours), best(other), by_best
			exit by_median < 0.97 && by_best < 0.97
		}' | tee "$work/ratio"
	return "${PIPESTATUS[1]}"
}

exec 3>&1	# each value is shown, also where time does not suffice for all
modprobe mlx5_core "$no_keys_in_advance"
check mlx5_ib bring_up 10.7.0.1
check turns all_turns
for what in write-MiB/s read-MiB/s send-MiB/s write-latency-us; do
	check "$what" compare $what
	cat "$work/ratio"
done
finish
