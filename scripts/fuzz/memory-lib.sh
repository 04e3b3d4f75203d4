# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The kernel's own memory in calm minutes, for soak.sh on top of scripts/tests/lib/lib.sh: it
# also grows with a leak that no tool detects.

MEMORY_FIRST_S=600	# until then caches and memory pools of the driver fill
MEMORY_GROWTH_PERCENT=10 MEMORY_GROWTH_BYTES=$((1 << 20))

# Free what can be freed: pages and names of files, then free objects of each cache, which
# KASAN's quarantine also releases then.
memory_give_back() {
	local file

	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 1		# a grace period, after which memory is freed
	for file in /sys/kernel/slab/*/shrink; do
		[ -h "${file%/shrink}" ] || echo 1 > "$file"
	done
}

# memory_use FILE: lines "NAME BYTES" of vmalloc and of each cache, or of all caches together if
# the kernel does not tell them apart
memory_use() {
	memory_give_back
	if [ -e /proc/slabinfo ]; then
		awk -v page="$(getconf PAGE_SIZE)" 'NR > 2 { print $1, $15 * $6 * page }' /proc/slabinfo
	else
		awk '$1 == "Slab:" { print "all-caches", $2 * 1024 }' /proc/meminfo
	fi > "$1"
	awk '$1 == "VmallocUsed:" { print "VmallocUsed", $2 * 1024 }' /proc/meminfo >> "$1"
}

# memory_look: in a calm minute that is not the last. The first from MEMORY_FIRST_S on is the
# reference for the end.
memory_look() {
	[ $SECONDS -ge $MEMORY_FIRST_S ] && [ ! -e "$WORK/memory.first" ] || return 0
	MEMORY_FIRST=$SECONDS
	memory_use "$WORK/memory.first"
}

# memory_grown: lines "NAME BYTES BYTES" of those that have grown by more than both limits
memory_grown() {
	awk -v percent=$MEMORY_GROWTH_PERCENT -v bytes=$MEMORY_GROWTH_BYTES '
		NR == FNR { first[$1] = $2; next }
		$2 > first[$1] * (1 + percent / 100) && $2 > first[$1] + bytes {
			print $1, first[$1] + 0, $2
		}' "$WORK/memory.first" "$WORK/memory.last"
}

memory_report() {
	awk -v first="$MEMORY_FIRST" -v last=$SECONDS '
		NR == FNR { before[$1] = $2; next }
		$1 == "VmallocUsed" { vmalloc = sprintf("%.1f, then %.1f MB", before[$1] / 1e6, $2 / 1e6); next }
		{ slab[0] += before[$1]; slab[1] += $2 }
		$2 - before[$1] > most { most = $2 - before[$1]; name = $1 }
		END {
			printf "RESULT memory after %d s, then %d s: slab %.1f, then %.1f MB (most: %s, %.2f MB); vmalloc %s\n",
				first, last, slab[0] / 1e6, slab[1] / 1e6, name ? name : "none", most / 1e6, vmalloc
		}' "$WORK/memory.first" "$WORK/memory.last"
}

# A namespace or process that is ending will be gone at the next try.
has_not_grown() {
	memory_use "$WORK/memory.last"
	[ -z "$(memory_grown)" ]
}

# memory_judge: at the end, which is a calm phase
memory_judge() {
	if [ ! -e "$WORK/memory.first" ]; then
		echo "RESULT memory: not judged, no two calm minutes after $MEMORY_FIRST_S s"
		return
	fi
	wait_check 120 "no cache and no vmalloc has grown by more than $MEMORY_GROWTH_PERCENT % and 1 MiB" \
		has_not_grown || memory_grown
	memory_report
}

# Fill memory for a moment. Further allocations fail, or make the kernel kill a process: this
# one first.
memory_pressure() {
	local all

	all=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
	mkdir -p "$WORK/full"
	mount -t tmpfs -o size=100% none "$WORK/full" || return
	(
		echo 1000 > /proc/$BASHPID/oom_score_adj
		exec timeout 20 dd if=/dev/zero of="$WORK/full/fill" bs=1M count=$((all - all / 50)) 2> /dev/null
	)
	sleep 1
	umount "$WORK/full"
}
