#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# timeout: 300
#
# A user without CAP_NET_ADMIN can attach to mcast_user_limit multicast groups; an
# administrator to more. The user may read all files, since the tree may be below a private
# home.

. "$(dirname "$0")/../lib/lib.sh"
only_ours

setup_pair 1500
INDEX=$(gid_index "$DEV_A" v2 $IP4_A)
PARAMETER=/sys/module/roce_hca/parameters/mcast_user_limit
check "256 by default" 256 "$(cat $PARAMETER)"
defer "echo 256 > $PARAMETER"
echo 5 > $PARAMETER
log_mark limit
check "a user: five, then ENOMEM (12), and five again once detached" "5 12 5 12" \
	"$(setpriv --reuid 65534 --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search \
		$PYTHON "$HERE/mcast-limit.py" "$DEV_A" "$INDEX" 10 2>&1 | paste -sd' ')"
check_match "the log names the parameter" mcast_user_limit "$(log_since limit)"
check "an administrator: more" "10 0 10 0" "$($PYTHON "$HERE/mcast-limit.py" "$DEV_A" "$INDEX" 10 2>&1 | paste -sd' ')"
finish
