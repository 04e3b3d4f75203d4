#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# hardware-report --ask-firmware, on a model started with --with=page-rights: a function in use
# is not touched, the answers are those of the model, and no object is left, or the report names
# it. Its module has been built by scripts/check/test-module.
. "$(dirname "$0")/guest-lib.sh"
tree=$(realpath "$(dirname "$0")/../../..")
# shellcheck disable=SC2034 # for guest-lib.sh
{
	kinds='PD|mkey'
	# Of the protection domain that left_behind() keeps in use
	provoked='mlx5_cmd_out_err.*DEALLOC_PD'
}

# The real make, on a host, takes minutes here
mkdir "$work/bin"
cat > "$work/bin/make" <<END
#!/bin/sh
for word; do
	case \$word in M=*) cp $tree/build/$(uname -r)/ask_firmware/ask_firmware.ko "\${word#M=}" ;; esac
done
END
chmod +x "$work/bin/make"

# report WORDS: run it, with these words as the answer to its question
report_told() {
	echo "$1" | PATH=$work/bin:$PATH "$tree/tools/user/hardware-report" --ask-firmware "$pci"
}

says() { # says PATTERN WORDS: it prints this, and no report
	! report_told "$2" > "$work/report" 2>&1 && cat "$work/report" &&
		grep -q "$1" "$work/report" && ! grep -q '^==' "$work/report"
}

refused() { # refused PATTERN WORDS: it prints this, and the model has received no command for a key
	local before

	before=$(created)
	says "$@" && [ "$(created)" = "$before" ]
}

created() {
	control '{"cmd":"commands"}' | grep -o '"CREATE_MKEY":[0-9]*'
}

answered() {
	report_told yes > "$work/report" 2> "$work/errors" || {
		cat "$work/errors"
		return 1
	}
	sed -n '/asked$/,$p' "$work/report" | tee "$work/answers"
	for line in 'cap pg: 1' 'cap atomic_operations: 3' 'empty key: made' \
		'empty key for 262144 pages: made' \
		'list of bare addresses: made' 'list with rights, and pg_access: made'; do
		grep -qx "$line" "$work/answers" || return 1
	done
	grep -q '^empty key without a page size: refused, status 0x3' "$work/answers" &&
		grep -q '^list with rights, without pg_access: refused, status 0x3' "$work/answers"
}

# The firmware does not destroy a key
left_behind() {
	control '{"cmd":"refuse","opcode":"DESTROY_MKEY","status":6}'
	report_told yes > "$work/report" || return 1
	grep 'LEFT BEHIND' "$work/report" && [ "$(grep -c 'LEFT BEHIND' "$work/report")" = 2 ]
}

start_alone
netdev=$(basename "$(has_netdev | head -n 1)")
pci=$(basename "$(readlink -f "/sys/class/net/$netdev/device")")
check netdev-is-up refused "is used by $netdev" yes
ip link set "$netdev" down
alone=$(objects)
check not-without-a-yes refused 'nothing was asked' no
check answered answered
check nothing-left nothing_left "$alone"
check module-has-gone test ! -e /sys/module/ask_firmware
check left-behind left_behind
# It creates keys of its own, in the background
modprobe mlx5_ib
wait_for has_rdma
check driver-is-bound says 'is used by mlx5_ib.rdma' yes
finish
