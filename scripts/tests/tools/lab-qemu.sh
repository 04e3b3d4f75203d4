#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# every: 4
# turns: no
# timeout: 2400
#
# roce-lab with a distribution's kernel in QEMU: the same interface, as an ordinary user, with
# the caller's root and, if the parts for it are installed, with an emulated root for arm64.
#
# No turns: each machine takes 20 s to start if there is no KVM.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
command -v qemu-system-x86_64 > /dev/null || { echo "SKIP no qemu-system-x86_64"; exit 4; }
lab_setup
if [ ! -e "$work/moved here/lib/roce-lab/qemu-amd64" ]; then
	tools/lab/build --qemu amd64 > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
	cp -a build/lab/lib "$work/moved here/"
fi

# all COMMAND...: its output and status in one line
all() { { "$@" 2>&1; echo $?; } | paste -sd ' '; }
emulated() { as_user timeout 600 roce-lab run --qemu "$@"; }

: "what cannot be"
for case in "--arch arm64 true:roce-lab: --arch is for --qemu" \
	"--qemu --arch sparc true:roce-lab: --arch sparc: there are amd64 and arm64" \
	"--qemu --debug true:roce-lab: --debug is for User-Mode Linux, and not for --qemu" \
	"--qemu --root / --rwdir . true:roce-lab: --root and --rwdir: nothing of another root is written through"; do
	# shellcheck disable=SC2086
	check "${case%%:*}" "${case#*:} 125" "$(all as_user roce-lab run ${case%%:*})"
done

: "who, where, files, streams, status"
cat > "$home/all" << 'END'
echo "$(id -u) $(id -g) $(umask) $PWD $(ulimit -l) $(hostname) $(uname -r | cut -d. -f1,2)"
echo inside > written
cat given
ls /sys/class/infiniband
cat > copied
test -c /dev/infiniband/uverbs0 && echo devices
echo to stderr >&2
echo again > /dev/stderr
touch /usr/nonesuch 2> /dev/null || echo read-only
exit 9
END
echo given > "$home/given"
chown $uid "$home/all"
head -c 20000000 /dev/urandom > "$work/bytes"
emulated -- sh ./all < "$work/bytes" > "$work/out" 2> "$work/said"
check "status" 9 $?
check "who and where" "$uid $uid 0022 $home unlimited a 6.12 given roce0 devices read-only" "$(paste -sd ' ' "$work/out")"
check "standard error" "to stderr again" "$(paste -sd ' ' "$work/said")"
check "a file that was written is the user's, and outside" "inside $uid" "$(cat "$home/written") $(stat -c %u "$home/written")"
check "20 MB of standard input" "$(md5sum < "$work/bytes")" "$(md5sum < "$home/copied")"
check "20 MB to standard output" "$(md5sum < "$work/bytes")" "$(emulated -- cat copied | md5sum)"
emulated -- cat copied | (sleep 40; md5sum) > "$work/out"
check "to one that takes its time" "$(md5sum < "$work/bytes")" "$(cat "$work/out")"
emulated -- head -c 3000000 /dev/zero | (sleep 60; wc -c) > "$work/out"
check "to one that begins after the end" 3000000 "$(< "$work/out")"
emulated -- yes | head -n 1 > "$work/out"
check "a pipe that closes ends the command" "y 141" "$(cat "$work/out") ${PIPESTATUS[0]}"

: "two hosts, both versions, a capture"
cat > "$home/pair" << 'END'
for gid in $ROCE_LAB_GID_INDEX_V1 $ROCE_LAB_GID_INDEX_V2; do
	ibv_rc_pingpong -d $ROCE_LAB_DEVICE -g $gid -n 100 > /dev/null &
	tries=0
	until lab b ibv_rc_pingpong -d roce1 -g $gid -n 100 a > pair.out 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 20 ] || { cat pair.out; exit 1; }
		sleep 0.5
	done
	wait $! || exit
	grep -c '^100 iters' pair.out
done
END
check "pingpong" "1 1 0" "$(all emulated --hosts 2 --pcap pair.pcap -- sh ./pair)"
if command -v tshark > /dev/null; then
	check "the capture has both versions" "yes yes" "$(
		for filter in "eth.type == 0x8915" "udp.dstport == 4791"; do
			[ "$(as_user tshark -r pair.pcap -Y "$filter" 2> /dev/null | wc -l)" -ge 200 ] && echo yes
		done | paste -sd ' ')"
fi

: "ends"
emulated --timeout 60 -- sleep 1000
check "status after --timeout" 124 $?
emulated -- sleep 1000 &
busywait 100 pgrep -u $uid -f "^sleep|qemu-system"
sleep 3
pkill -KILL -u $uid -x roce-lab
wait $!
check_ok "nothing is left of a lab whose starter was killed" busywait 10 none_left
emulated --user root -- sh -c 'echo "WARNING: made up" > /dev/kmsg' 2> "$work/said"
check "status of a kernel fault" 99 $?
rm -f "$(sed -n 's/^roce-lab: its log is //p' "$work/said")"
printf 'int main(void) { __builtin_trap(); }' | gcc -x c -o "$home/traps" -
check "status of a program that traps, then of one that does not" "0 1" "$(emulated -- sh -c '
	ulimit -c 0; ./traps; dmesg | grep -c "traps: traps.* trap invalid opcode" > count; true' 2> "$work/said"; echo "$? $(
	cat "$home/count")")"
emulated --user root -- sh -c 'echo c > /proc/sysrq-trigger' 2> "$work/said"
check "status of a panic" 125 $?
rm -f "$(sed -n 's/.*its log is //p' "$work/said")"
check "a terminal" "33 77 0" "$(in_terminal roce-lab run --qemu -- stty size | tr -s ' ')"

: "arm64, emulated"
if [ ! -e "$work/moved here/lib/roce-lab/qemu-arm64" ]; then
	echo "# no arm64: \"tools/lab/build --qemu arm64\" has not been run"
elif ! command -v qemu-system-aarch64 > /dev/null; then
	echo "# no arm64: qemu-system-aarch64 is not here"
else
	mkdir "$work/arm64"
	cpio -idm --quiet -D "$work/arm64" < "$(scripts/cross/folder)/machine/arm64/root.cpio"
	check "arm64: a root of its own" "aarch64 $uid / roce0" "$(emulated --arch arm64 --root "$work/arm64" -- \
		sh -c 'echo $(uname -m) $(id -u) $PWD $(ls /sys/class/infiniband)' 2>&1)"
	check "arm64: a root by a relative name" aarch64 "$(cd "$work" && home=$work all emulated --arch arm64 \
		--root arm64 -- uname -m | sed 's/ 0$//')"
	mkdir "$work/arm64/lab"
	tar -C "$work/arm64/lab" --zstd --strip-components=1 -xf build/lab/roce-lab-*-aarch64.tar.zst
	chmod -R a+rX "$work/arm64"
	check "arm64: the command for it" "roce-lab roce-lab: --qemu: qemu-system-aarch64 is not installed: \
apt-get install qemu-system-arm 125" "$(emulated --arch arm64 --root "$work/arm64" -- sh -c '
		/lab/bin/roce-lab --version | sed -n "s/ [0-9.]*$//p"; /lab/bin/roce-lab run -- true; echo $?' 2>&1 |
			paste -sd ' ')"
	check "arm64: pingpong between two hosts" "1 1 0" "$(sed 's/pair.out/\/tmp\/pair.out/' "$home/pair" |
		all emulated --arch arm64 --root "$work/arm64" --hosts 2 -- sh)"
fi
finish
