#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Other architectures: build the modules, and the one with which scenarios post kernel
# verbs, for arm64 and for s390x, which is big-endian, with all warnings of W=1 as errors; the
# modules for arm64 with pages of 64 KiB, too; and with sparse for the opposite byte order. Then
# run on stock kernels, emulated: the scenarios of tier core, and roce-lab, on arm64; some
# scenarios on arm64 with pages of 16 KiB and on s390x.
#
# usage: scripts/check/cross.sh [build|run] [ARCH...]     (both, and all)
#
# The compilers and kernels are those of Debian 13, and 6.1 of Debian 12, in a folder of
# their own (scripts/cross/folder), where the emulators are, too.

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
out=build/cross
. scripts/check/count-lib.sh

# As in check/build.sh: Make does not treat sparse's complaints as errors.
sparse() { # sparse ARCH RELEASE
	local log=$out/sparse.log

	scripts/cross/build "$1" "$2" C=2 CF=-D__CHECK_ENDIAN__ > "$log" 2>&1 || {
		cat "$log"
		return 1
	}
	! grep -E "^/tree/build/.*(warning|error): " "$log"
}

pages_64k() { # pages_64k RELEASE
	scripts/cross/inside make -s -C /tree modules KVER=arm64-64k ARCH=arm64 \
		KDIR="/usr/src/linux-headers-$1" KBUILD_ARGS="CROSS_COMPILE=aarch64-linux-gnu- W=1 \
		-j$(nproc) KCFLAGS='-Werror -include /tree/scripts/cross/pages-64k.h'"
}

# roce-lab's machine, on this emulated one
lab() {
	local said=build/results/host/lab-qemu.out

	rm -f $said
	tools/lab/build --qemu arm64
	scripts/tests/run --on host lab-qemu
	grep '^ok   arm64: pingpong' $said
}

# What depends on word order and page size: headers and ICRCs of all framings, work requests,
# completions and atomics of processes and of the kernel, regions of all kinds, among them
# NVMe's, whose pieces are of 4 KiB everywhere.
few=(pingpong ops capture odp many-qps consumer-nvme)

is_there() { # is_there STEP ARCH SERIES
	grep -qxF "$2 $3" "$folder/machines" ||
		{ echo "SKIP $1: the mirror has no image of a kernel for it" && return 1; }
}

# run ARCH SERIES SCENARIO...
run() {
	local name=run-$1-$2

	is_there "$name" "$1" "$2" || return 0
	step "$name" scripts/cross/machine "$@"
	grep '^== ' "$out/$name.log" | sed 's/^/    /' || :
}

what="build run"
case ${1-} in
build | run) what=$1; shift ;;
esac
[ $# -gt 0 ] || set -- arm64 s390x
scripts/setup/setup.sh cross > /dev/null
folder=$(scripts/cross/folder)
mkdir -p "$out"
for arch; do
	grep -q "^$arch " "$folder/kernels" ||
		echo "SKIP $arch: the mirror has no headers of a kernel for it"
	while [[ $what = *build* ]] && read -r series release; do
		step "build-$arch-$series" scripts/cross/build "$arch" "$release" W=1 KCFLAGS=-Werror
		[ "$arch" != s390x ] || step "sparse-$arch-$series" sparse "$arch" "$release"
		[ "$arch $series" != "arm64 6.12" ] || step build-arm64-64k pages_64k "$release"
	done < <(sed -n "s/^$arch //p" "$folder/kernels")
	[[ $what = *run* ]] || continue
	case $arch in
	arm64)
		# shellcheck disable=SC2046
		run arm64 6.12 $(scripts/tests/run --list --on vm-6.12 --tier core | cut -d' ' -f2)
		step lab-arm64 lab
		run arm64 6.12-16k "${few[@]}" ;;
	s390x)
		run s390x 6.12 "${few[@]}" ;;
	esac
done
total
