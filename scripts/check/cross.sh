#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Other architectures: build the modules, and the one with which scenarios post kernel
# verbs, for arm64 and for s390x, which is big-endian, with all warnings of W=1 as errors,
# and with sparse for the opposite byte order. Then run the scenarios of tier core, and
# roce-lab, on a stock kernel of arm64, emulated.
#
# usage: scripts/check/cross.sh [build|run] [ARCH...]     (both, and all)
#
# The compilers and kernels are those of Debian 13, and 6.1 of Debian 12, in a folder of their
# own (scripts/cross/folder), as is the emulator.

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

# roce-lab's machine, on this emulated one
lab() {
	local said=build/results/host/lab-qemu.out

	rm -f $said
	tools/lab/build --qemu arm64
	scripts/tests/run --on host lab-qemu
	grep '^ok   arm64: pingpong' $said
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
	done < <(sed -n "s/^$arch //p" "$folder/kernels")
	if [[ $what = *run* ]] && [ "$arch" = arm64 ]; then
		# shellcheck disable=SC2046
		step run-arm64 scripts/cross/machine arm64 \
			$(scripts/tests/run --list --on vm-6.12 --tier core | cut -d' ' -f2)
		grep '^== ' "$out/run-arm64.log" | sed 's/^/    /' || :
		step lab-arm64 lab
	fi
done
total
