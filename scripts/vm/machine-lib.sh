# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A kernel of the distribution, or one of scripts/vm/debug-kernel, in QEMU on the host's own
# root, shared by scripts/vm/run and tools/connectx-model/run, on top of guest-lib.sh.

# shellcheck source=scripts/vm/guest-lib.sh
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/guest-lib.sh"

# An emulated processor is slow, not stuck: increase watchdog times, and do not consider a late
# timer broken.
machine_kernel_arguments=(
	console=ttyS0 quiet loglevel=4 panic=-1 oops=panic
	mitigations=off nokaslr no5lvl tsc=reliable apparmor=0 audit=0
	init_on_alloc=0 log_buf_len=4M
	no_timer_check watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120
)

# Set to count instructions: the machine is emulated, and its clock advances by a nanosecond for
# each instruction, whatever else the host does. The speed of a program is its number of
# instructions. Idle time is skipped: the next timer is due at once
machine_counts=

# Set by a caller that boots two machines: a folder shared by both
machine_wire_share=

# machine_find SERIES QEMU: sets the components of the machine
machine_find() {
	local series=$1

	machine_qemu=$2
	machine_release=$("$guest_lib_dir/kernel" release "$series")
	machine_image=$("$guest_lib_dir/kernel" image "$machine_release")
	# shellcheck disable=SC2034 # for who calls this
	machine_modules=$("$guest_lib_dir/kernel" modules "$machine_release")
	case $machine_release in
	*-debug-*) machine_kernel_arguments+=(kasan_multi_shot workqueue.watchdog_thresh=120) ;;
	esac
	machine_initramfs=$("$guest_lib_dir/initramfs" "$machine_release")
	if [ -n "$machine_counts" ]; then
		machine_accel=tcg
	else
		machine_accel=$("$guest_lib_dir/accel" "$machine_release")
	fi
	machine_folders_by=9p
	grep -qs '/9p\.ko' "$machine_modules"/modules.{dep,builtin} || machine_folders_by=virtiofs
	case $machine_accel$machine_counts in
	kvm) machine_clock= ;;
	tcg) machine_clock=tsc_early_khz=$("$guest_lib_dir/tsc-khz") ;;
	*) machine_clock=tsc_early_khz=1000000 ;;
	esac
}

# machine_folder TAG PATH [FSDEV-OPTION]: a folder of the host, over 9p
machine_folder() {
	echo "-fsdev local,id=$1,path=$2,security_model=none${3-}
		-device virtio-9p-pci,fsdev=$1,mount_tag=$1"
}

# machine_with_folders SHARE: sets machine_folders, options that give the machine the host's
# root, SHARE and machine_wire_share, if set, and machine_server, words to put before the
# emulator.
machine_with_folders() {
	machine_server=()
	# shellcheck disable=SC2207
	if [ "$machine_folders_by" = 9p ]; then
		machine_folders=(
			$(machine_folder hostroot "${RHCA_ROOT:-/}" ,readonly=on,multidevs=remap)
			$(machine_folder share "$1")
			${machine_wire_share:+$(machine_folder wire-share "$machine_wire_share")})
		return
	fi
	machine_server=("$guest_lib_dir/with-virtiofsd" "hostroot=${RHCA_ROOT:-/}" "share=$1"
		${machine_wire_share:+"wire-share=$machine_wire_share"} --)
	machine_folders=()
}

# machine_boot SHARE CPUS MEMORY [QEMU-OPTION...]
#
# With RHCA_ROOT, a folder with a Debian, that is the root of the machine, in place of this
# machine's, and the shared folder is its work tree.
#
# In emulation a processor with AVX is slower: libc then copies memory by wide vectors, and the
# emulator makes a call of each. Pages of 1 GiB are enabled.
machine_boot() {
	local share=$1 cpus=$2 memory=$3 cpu=Westmere,+pdpe1gb tree
	local accel=(-accel "tcg,thread=multi")

	shift 3
	tree=$(realpath "$guest_lib_dir/../..")
	if [ -n "${RHCA_ROOT-}" ]; then
		tree=/run/rhca
		mkdir -p "$share/scripts/vm"
		cp "$guest_lib_dir/guest-run" "$share/scripts/vm/"
		echo "export RHCA_TREE=$tree" >> "$share/environment"
	fi
	if [ "$machine_accel" = kvm ]; then
		cpu=host
		accel=(-accel kvm)
	elif [ -n "$machine_counts" ]; then
		accel=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
	fi
	machine_with_folders "$share"
	guest_supervise "$share" "${machine_server[@]}" "$machine_qemu" \
		"${accel[@]}" -cpu $cpu -smp "$cpus" -m "$memory" \
		-nodefaults -no-user-config -display none -no-reboot -serial stdio \
		-kernel "$machine_image" -initrd "$machine_initramfs" \
		-append "${machine_kernel_arguments[*]} $machine_clock rhca.tree=$tree${machine_wire_share:+ rhca.wire=y}" \
		"${machine_folders[@]}" \
		"$@"
}
