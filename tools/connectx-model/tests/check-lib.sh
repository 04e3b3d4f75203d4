# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by ../check and check-long: run a scenario in guests, count its tests.

here=$(realpath "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/..")
tree=$(realpath "$here/../..")
# With CONNECTX_RESULTS, a folder, consoles, logs and captures are kept there, and a list of
# parts that are done: the next run with it does the others, and its total includes all.
if [ -n "${CONNECTX_RESULTS-}" ]; then
	mkdir -p "$CONNECTX_RESULTS" || exit 2
	results=$(realpath "$CONNECTX_RESULTS")
else
	results=$(mktemp -d "${TMPDIR:-/tmp}/connectx-check.XXXXXX")
	trap 'rm -rf "$results"' EXIT
fi
passed=0
failed=0
skipped=0
left=

# is_due PART: not done yet, and within CONNECTX_MINUTES, the time in which parts may start
is_due() {
	! grep -q "^$1 " "$results/parts" 2> /dev/null || return 1
	[ -z "${CONNECTX_MINUTES-}" ] || [ $SECONDS -lt $((CONNECTX_MINUTES * 60)) ]
}

# part NAME COMMAND...: if it is due. When done, good or bad, it has a line in the list: delete
# that to run it again
part() {
	local name=$1 before=("$passed" "$failed" "$skipped") line

	shift
	if line=$(grep "^$name " "$results/parts" 2> /dev/null); then
		read -ra line <<< "$line"
		passed=$((passed + line[1]))
		failed=$((failed + line[2]))
		skipped=$((skipped + line[3]))
		echo "DONE ${line[*]}"
	elif ! is_due "$name"; then
		left+=" $name"
	else
		rm -rf "${results:?}/$name"	# left by a run that was interrupted in it
		"$@"
		echo "$name $((passed - before[0])) $((failed - before[1]))" \
			"$((skipped - before[2])) $(date -I) $(commit)" >> "$results/parts"
	fi
}

commit() {
	local id

	id=$(git -C "$tree" rev-parse --short HEAD 2> /dev/null) || { echo unknown; return; }
	[ -z "$(git -C "$tree" status --porcelain -uno)" ] || id+=-changed
	echo "$id"
}

verdict() { # verdict NAME STATUS
	if [ "$2" -eq 0 ]; then
		echo "PASS $1"
		passed=$((passed + 1))
	else
		echo "FAIL $1"
		failed=$((failed + 1))
	fi
}

# host NAME COMMAND...: a test that needs no guest
host() {
	local name=$1 status=0

	shift
	"$@" > "$results/log" 2>&1 || status=$?
	verdict "$name" $status
	[ $status -eq 0 ] || tail -n 30 "$results/log"
}

# lines NAME COMMAND...: a program of this host that prints PASS, FAIL and SKIP lines
lines() {
	local name=$1 line status=0

	shift
	timeout 600 "$@" > "$results/log" 2>&1 || status=$?
	while read -r line; do
		case $line in
		PASS*) passed=$((passed + 1)) ;;
		FAIL*) failed=$((failed + 1)) ;;
		SKIP*) skipped=$((skipped + 1)) ;;
		*) continue ;;
		esac
		echo "${line%% *} $name/${line#* }"
	done < "$results/log"
	verdict "$name/run" $status
	[ $status -eq 0 ] || tail -n 20 "$results/log"
}

# without_guest MODEL: tests that need no virtual machine
without_guest() {
	lines firmware /usr/bin/python3 "$here/tests/firmware.py" "$1"
	lines wires /usr/bin/python3 "$here/tests/wires.py" "$1"
	lines transport /usr/bin/python3 "$here/tests/transport.py" "$1"
	lines compare /usr/bin/python3 "$here/tests/compare.py"
}

# modules_built KERNEL: ours, for an installed kernel; built once per run
modules_known=
modules_built() {
	local version

	[[ " $modules_known " != *" $1 "* ]] || return 0
	version=$("$tree/scripts/vm/kernel" release "$1") || return
	[ "$version" != "$("$tree/scripts/vm/kernel" release newest 2> /dev/null)" ] || version=newest
	make -s -C "$tree" modules KVER="$version" > "$results/modules.log" 2>&1 || return
	modules_known+=" $1"
}

# guest NAME [RUN-OPTION...] -- SCRIPT [ARGUMENT...]: a scenario in tests/
guest() {
	local name=$1 options=() status=0 out line kernel begin=$SECONDS

	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	out=$results/$name
	kernel=$(sed -n 's/.*--kernel \([^ ]*\).*/\1/p' <<< "${options[*]}")
	if ! "$tree/scripts/vm/kernel" release "$kernel" > /dev/null 2>&1; then
		echo "SKIP $name (this Debian has no kernel $kernel)"
		skipped=$((skipped + 1))
		return
	fi
	if ! modules_built "$kernel"; then
		verdict "$name (the modules of this tree cannot be built for kernel $kernel)" 1
		tail -n 30 "$results/modules.log"
		return
	fi
	"$here/run" --out "$out" "${options[@]}" -- \
		"bash tools/connectx-model/tests/$*" > "$results/$name.log" 2>&1 || status=$?
	while read -r line; do
		case $line in
		PASS*) passed=$((passed + 1)) ;;
		FAIL*) failed=$((failed + 1)) ;;
		SKIP*) skipped=$((skipped + 1)) ;;
		esac
		echo "${line%% *} $name/${line#* }"
	done < <(sed -n 's/^[ab]| //; /^\(PASS\|FAIL\|SKIP\) /p' "$results/$name.log" | tr -d '\r')
	# Includes the guest's own status, its kernel log, and the model's reports on the driver.
	verdict "$name/run ($((SECONDS - begin)) s)" $status
	[ $status -eq 0 ] || tail -n 60 "$results/$name.log"
}

# The driver has not violated the protocol; and it was active, with each adapter that there was.
no_violations() { # no_violations NAME [ALLOWED-PATTERN]
	local logs log

	[ -e "$results/$1" ] || return 0	# its kernel is not installed
	logs=$(find "$results/$1" -name model.log)
	[ -n "$logs" ] || return 1
	for log in $logs; do
		grep -q 'connectx-model: [1-9][0-9]* commands' "$log" || {
			echo "$log: no driver was there, or the model did not end by itself"
			return 1
		}
	done
	# shellcheck disable=SC2086
	! grep -h VIOLATION $logs | grep -vE "${2:-nothing allowed}"
}

# Remarks of tshark on the RoCE packets of a capture, one per line. (A TTL of 1 is requested by
# ibv_ud_pingpong, and is the default of multicast.) Random data must not be taken for these
# protocols, which tshark detects heuristically. Fails if tshark does.
remarks() { # remarks CAPTURE
	local dissect=(tshark -r "$1" -o udp.ignore_ipv6_zero_checksum:TRUE)
	local guess found

	for guess in rpcordma smb_direct lnet; do
		dissect+=(--disable-protocol "$guess")
	done
	"${dissect[@]}" -Y '_ws.malformed || _ws.short' 2> /dev/null || return
	found=$("${dissect[@]}" -Y 'infiniband && _ws.expert' \
		-T fields -E aggregator='|' -e _ws.expert.message 2> /dev/null) || return
	tr '|' '\n' <<< "$found" | grep -v -e '^"Time To Live" only 1$' -e '^$' | sort | uniq -c
}

# The capture of a wire: every ICRC and length is right, and tshark has no remarks.
capture_good() { # capture_good NAME LEAST-PACKETS
	local capture found count

	[ -e "$results/$1" ] || return 0
	capture=$results/$1/pcap
	[ -e "$capture" ] || capture=$results/$1/a/pcap
	count=$(/usr/bin/python3 "$tree/scripts/tests/lib/check-icrc.py" "$capture" --scapy |
		tee /dev/stderr | sed -n 's/.*: \([0-9]*\) RoCE packets.* 0 wrong$/\1/p')
	[ "${count:-0}" -ge "$2" ] || return 1
	found=$(remarks "$capture") || return 1
	echo "$found"
	[ -z "$found" ]
}

# 3: nothing has failed, and parts are left
summary() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ -z "$left" ] || echo "not begun, for the next run with this CONNECTX_RESULTS:$left"
	[ "$failed" -eq 0 ] || return 1
	[ -z "$left" ] || return 3
}
