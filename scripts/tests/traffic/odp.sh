#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# On-demand paging: regions without pinned pages, whose pages are reclaimed and faulted in
# under traffic; see odp.py.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	LIMIT=430 python odp.py "$DEV_A" "$ia" "$DEV_B" "$ib" --label "$type "
done
finish
