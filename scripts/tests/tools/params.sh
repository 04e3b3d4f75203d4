#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# Module parameters roce_mode and ud_gid_type: each allowed value has its effect, any other
# is refused with a message that lists the allowed ones.

. "$(dirname "$0")/../lib/lib.sh"
only_ours
unset RHCA_PARAMS

load_support
remove_driver rdma_rxe
setup_wire

# roce_mode VALUE EXPECTED_TYPES
for row in 0:v1 2:v2 4:v1,v2 v1:v1 v2:v2 both:v1,v2; do
	value=${row%:*}
	log_mark "loads with $value."
	reload_driver roce_mode="$value" || { fail "roce_mode=$value: expected to load"; continue; }
	add_link a "$DEV_A" "$IF_A"
	types() { gids "$DEV_A" | awk '{ print $2 }' | sort -u | paste -sd,; }
	is() { [ "$(types)" = "${row#*:}" ]; }
	busywait 60 is
	check "roce_mode=$value: GID types" "${row#*:}" "$(types)"
	check_match "roce_mode=$value: the log says what it means" \
		"roce_hca.*$(case ${row#*:} in v1,v2) echo 'v1 and v2|v1\+v2|both' ;; *) echo "${row#*:}" ;; esac)" \
		"$(log_since "loads with $value.")"
	# A device that does not support v2 does not open UDP port 4791.
	port4791() { in_a cat /proc/net/udp /proc/net/udp6 | grep -ci ':12B7 '; }
	if [ "${row#*:}" = v1 ]; then check "roce_mode=$value: sockets on UDP 4791" 0 "$(port4791)"
	else check_match "roce_mode=$value: sockets on UDP 4791" '^[1-9]' "$(port4791)"; fi
	show rdma link del "$DEV_A"
done

reload_driver || die "does not load with defaults"
check_match "default of roce_mode" '^(4|both)$' "$(cat /sys/module/roce_hca/parameters/roce_mode)"
check "version of the module" "$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$TOP/dkms.conf")" \
	"$(cat /sys/module/roce_hca/version)"
check "default of ud_gid_type" auto "$(cat /sys/module/roce_hca/parameters/ud_gid_type)"

for value in 0 2 auto; do
	check_ok "ud_gid_type=$value loads" reload_driver ud_gid_type=$value
done

refused() { # refused PARAMETER=VALUE ALLOWED-REGEX
	remove_driver roce_hca
	log_mark "$1"
	check_fails "$1 is refused" insert roce_hca "$1"
	check_match "$1: the log says what is allowed" "$2" "$(log_since "$1")"
	loaded roce_hca && fail "$1: expected no module, it is loaded"
}
for value in 1 3 5 -1 v3 V1x roce ''; do
	refused "roce_mode=$value" 'roce_mode.*(0.*2.*4|v1.*v2.*both)'
done
for value in 1 3 v9 both; do
	refused "ud_gid_type=$value" 'ud_gid_type.*0.*2.*auto'
done
finish
