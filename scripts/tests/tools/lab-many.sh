#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 700
#
# Twenty labs at once, of two hosts with 1000 pingpongs each: all end with 0 within ten minutes,
# use less than 24 GiB, and have their GIDs where people look for them. And goals of time for
# one lab, which apply if nothing else runs: its start, two hosts, its overhead on a minute's
# work, and a GiB through a pipe, whose bytes are compared.
#
# No turns: it fills the machine.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup
cat > "$home/pingpong" << 'END'
for host in a b; do
	indexes=$(lab $host sh -c 'echo $ROCE_LAB_GID_INDEX_V1 $ROCE_LAB_GID_INDEX_V2')
	[ "$indexes" = "2 3" ] || { echo "GIDs of $host are at $indexes" >&2; exit 1; }
done
pingpong='ibv_rc_pingpong -e -d $ROCE_LAB_DEVICE -g $ROCE_LAB_GID_INDEX_V2'
lab b sh -c "$pingpong -n $1" > /dev/null &
until lab b sh -c 'grep -q :4853 /proc/net/tcp /proc/net/tcp6'; do sleep 0.1; done
eval "$pingpong -n $1 b" > /dev/null && wait $!
END
available() { awk '/^MemAvailable/ { print $2 }' /proc/meminfo; }
best() { # best COMMAND...: milliseconds, the minimum of five runs
	local i begin least=999999

	for i in 1 2 3 4 5; do
		begin=$(date +%s%3N)
		"$@" > /dev/null || fail "$*"
		begin=$(($(date +%s%3N) - begin))
		[ $begin -ge $least ] || least=$begin
	done
	echo $least
}

for case in "1500 roce-lab run -- true" "3000 roce-lab run --hosts 2 -- sh ./pingpong 1"; do
	# shellcheck disable=SC2086
	ms=$(best as_user ${case#* })
	check_ok "${case#* }: $ms ms, at most ${case%% *}" test "$ms" -le "${case%% *}"
done

begin=$(date +%s%3N)
as_user roce-lab run -- sleep 60 || fail "a minute's command"
ms=$(($(date +%s%3N) - begin - 60000))
check_ok "a minute's command takes $ms ms more, less than 1000" test $ms -lt 1000

head -c $((1 << 30)) /dev/urandom > "$work/gigabyte"
begin=$(date +%s%3N)
check_ok "a GiB through cat: the same bytes" cmp "$work/gigabyte" <(
	as_user roce-lab run cat < "$work/gigabyte")
ms=$(($(date +%s%3N) - begin))
check_ok "at $(((1 << 30) / ms / 1000)) MB/s, at least 100" test $ms -le $(((1 << 30) / 100000))
rm "$work/gigabyte"

before=$(available)
begin=$SECONDS
labs=()
for ((i = 0; i < 20; i++)); do
	as_user timeout 600 roce-lab run --hosts 2 -- sh ./pingpong 1000 &
	labs+=($!)
done
(while sleep 0.5; do available; done) > "$work/available" &
watcher=$!
bad=0
for lab in "${labs[@]}"; do
	wait "$lab" || bad=$((bad + 1))
done
check "of 20 labs at once, failed" 0 $bad
check_ok "in $((SECONDS - begin)) s, at most 600" test $((SECONDS - begin)) -le 600
kill $watcher
used=$((before - $(sort -n "$work/available" | head -n 1)))
check_ok "with $((used / 1024)) MiB, at most 24576" test $used -le $((24 << 20))
finish
