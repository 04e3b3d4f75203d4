#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the checkers: scripts/tests/run must detect planted faults in scenarios. A judge that
# never fails anything is worthless.
#
# usage: scripts/check/runner.sh [PLACE]      (default uml)

set -eu

cd "$(dirname "$(realpath "$0")")/../.."
place=${1:-uml}
report=$(mktemp)
trap 'rm -f "$report"' EXIT

RHCA_PATIENCE_S=2 scripts/tests/run --on "$place" --tier wide \
	--dir scripts/vm/planted --out build/results/planted > "$report" 2>&1 && {
	cat "$report"
	echo "check-runner: expected a failure, got success" >&2
	exit 1
}

while read -r expected; do
	grep -q "^$expected" "$report" || {
		cat "$report"
		echo "check-runner: expected a line '$expected', got the above" >&2
		exit 1
	}
done <<END
ok    $place 10-pass
FAIL  $place 20-fail: exit status 1
skip  $place 30-skip: there is no moon tonight
FAIL  $place 40-hang: did not end within its time limit
FAIL  $place 50-left-behind: exit status 1
FAIL  $place 60-warning: the kernel reported a fault
ok    $place 65-expected
FAIL  $place 70-panic: the guest died or hung
ok    $place 80-after
ok    $place 90-ends-early
FAIL  $place kernel-log: the guest died or hung
4 passed, 6 failed, 1 skipped\$
END

# Lines that report neither a bug nor a warning.
for line in 'INFO: trying to register non-static key.' \
	'INFO: task dd:42 blocked in I/O wait for more than 60 seconds.' \
	'rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {' \
	'BUG kmalloc-64 (Tainted: G           O      ): Left Redzone overwritten' \
	"sysfs: cannot create duplicate filename '/class/infiniband/ra'" \
	"debugfs: 'roce_hca_dwell_us' already exists in '/'" \
	"debugfs: File 'roce_hca_dwell_us' in directory '/' already present!" \
	"kobject: kobject (00000000a1b2c3d4): tried to init an initialized object, something is seriously wrong." \
	'roce_hca: CRC-32 in vectors of 512 bits is wrong on this CPU and not used' \
	'irq 11: nobody cared (try booting with the "irqpoll" option)'; do
	if echo "[ 1.0] $line" | scripts/vm/dmesg-check > "$report"; then
		echo "check-runner: '$line' was let pass" >&2
		exit 1
	fi
done

# Data races: ours are those with a module of ours in either stack, and no others.
race_log() { # race_log FRAME FRAME
	printf '[ 1.0] %s\n' ============================== \
		'BUG: KCSAN: data-race in dev_get_flags / dev_change_flags' \
		'write to 0xffff888001 of 4 bytes by task 7 on cpu 0:' " $1" \
		'read to 0xffff888001 of 4 bytes by task 8 on cpu 1:' " $2" \
		============================== 'something else'
}
ours='rhca_port_open+0x10/0x20 [roce_hca]'
other='dev_get_flags+0x10/0x20'
if race_log "$other" "$ours" | scripts/vm/dmesg-check > "$report" ||
   race_log "$ours" "$other" | scripts/vm/dmesg-check > "$report" ||
   ! grep -q 'KCSAN' "$report"; then
	echo "check-runner: a data race of ours was let pass" >&2
	exit 1
fi
if ! race_log "$other" "$other" | scripts/vm/dmesg-check ||
   [ "$(race_log "$other" "$other" | scripts/vm/dmesg-check --others)" != \
     '1 data-race in dev_get_flags / dev_change_flags' ]; then
	echo "check-runner: a data race of the kernel with itself was not just listed" >&2
	exit 1
fi

# Likewise for the directions of includes.
tree=$(mktemp -d)
trap 'rm -rf "$report" "$tree"' EXIT
mkdir -p "$tree/drivers/wire" "$tree/drivers/core"
touch "$tree/drivers/core/qp.h"
echo '#include "core/qp.h"' > "$tree/drivers/wire/headers.h"
if scripts/check/layers.sh "$tree" 2> /dev/null; then
	echo "check-runner: check/layers.sh let wire include core" >&2
	exit 1
fi

# And for the list of files to check.
mkdir -p "$tree/scripts/check" "$tree/scripts/setup"
cp scripts/check/{style.sh,all} "$tree/scripts/check/"
cp scripts/setup/cache-lib.sh "$tree/scripts/setup/"
if GIT_CEILING_DIRECTORIES=$(dirname "$tree") "$tree/scripts/check/style.sh" 2> /dev/null; then
	echo "check-runner: check/style.sh passed without git's list of files" >&2
	exit 1
fi

# And for the stages, all of which fail there, and one loses what another has left.
mkdir "$tree/scripts/uml"
printf '%s\n' '#!/bin/sh' "sed -i '/^knobs /d' build/check/summary" > "$tree/scripts/uml/kunit"
chmod +x "$tree/scripts/uml/kunit"
"$tree/scripts/check/all" --no-setup > "$report" 2>&1 || :
grep -q '^FAIL  stage knobs: its result is lost' "$report" || {
	cat "$report"
	echo "check-runner: check/all let a stage without a result pass" >&2
	exit 1
}
if flock "$tree/build/check.lock" "$tree/scripts/check/all" --no-setup > "$report" 2>&1 ||
   ! grep -q 'another one runs' "$report"; then
	echo "check-runner: check/all ran twice in one tree" >&2
	exit 1
fi
echo "check-runner: every planted fault was found"
