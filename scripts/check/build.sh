#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the modules, and those of tests (one that posts kernel verbs, and one that keeps a guest
# alive through a suspend), with all warnings of W=1 as errors; and, if sparse is requested,
# with its endian and context checks.
#
# usage: scripts/check/build.sh KERNEL...
#        scripts/check/build.sh --can KERNEL   only say whether its headers are here
#   KERNEL  6.1, 6.12, a release, uml-base, uml-debug, debug, debug-rt or kcsan (those of
#           scripts/vm/debug-kernel), newest, or one of these three for another kind
#           of machine, for which scripts/setup/setup.sh headers-KERNEL is needed:
#           6.1-cloud, 6.1-rt, 6.12-cloud, 6.12-rt, newest-cloud, newest-rt

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."

export RHCA_STRICT=1	# see Makefile

# Running sparse for one kernel is enough, as the source is the same. It is done for the kernel
# whose headers cause no complaints of their own.
sparse_series=6.12

release_of() {
	case $1 in
	6.*-cloud | 6.*-rt) scripts/vm/kernel flavour "$1" ;;
	6.* | debug | debug-rt | kcsan) scripts/vm/kernel release "$1" ;;
	*) echo "$1" ;;
	esac
}

modules() { # modules RELEASE ARGUMENT...
	make -s modules KVER="$1" KBUILD_ARGS="-j$(nproc) ${*:2}"
}

# C=2 checks every file, built or not, during the one build. Make does not treat sparse's
# complaints as errors, so they are searched for in its output; those about the kernel's own
# headers are ignored.
modules_by_sparse() { # modules_by_sparse RELEASE
	local log=build/sparse.log

	modules "$1" C=2 CF=-D__CHECK_ENDIAN__ > $log 2>&1 || {
		cat $log
		return 1
	}
	if grep -E "^$PWD/build/.*(warning|error): " $log; then
		echo "check-build: sparse has something to say" >&2
		return 1
	fi
}

# 6.12 and older do not relocate the per-CPU data of a module: a pointer that an
# initializer puts there is NULL.
percpu_without_pointers() {
	local ko

	for ko in "build/$1"/*.ko; do
		if readelf -SW "$ko" | grep -q '\.rela\.data\.\.percpu'; then
			echo "check-build: $ko: an address in the initializer of per-CPU data:" >&2
			readelf -rW "$ko" | sed -n '/\.rela\.data\.\.percpu/,/^$/p' >&2
			return 1
		fi
	done
}

can_build() {
	case $1 in
	newest-*) [ -n "$(scripts/newest package linux-headers "${1#newest-}")" ] ;;
	*) scripts/vm/kernel headers "$(release_of "$1")" ;;
	esac
}

if [ "${1-}" = --can ]; then
	can_build "${2:?usage: --can KERNEL}" > /dev/null
	exit
fi
for kernel; do
	release=$(release_of "$kernel")
	if [ "$kernel" = $sparse_series ]; then
		mkdir -p build
		modules_by_sparse "$release"
	else
		modules "$release"
	fi
	scripts/bench/rhca_bench/build "$release" > /dev/null
	case $release in
	uml-* | newest* | *-cloud-* | *-rt-* | *-kcsan-*) ;;	# no suspend is tested there
	*) scripts/check/test-module scripts/vm/stay_awake "$release" > /dev/null ;;
	esac
	percpu_without_pointers "$release"
done
