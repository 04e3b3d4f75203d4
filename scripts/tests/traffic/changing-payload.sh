#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 600
#
# Writing to memory while it is sent or READ causes no wrong ICRC, and data written after a
# deregistration is never sent (see changing.py). Packets stay in a queue for a while, so there
# is time to write.
#
#   a (ra$$)  ====== veth, MTU 9000, netem on both sides ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

only_ours
setup_pair 9000
keep_order
need tc
netem() { # netem TIME: on both sides
	show_a tc qdisc replace dev "$IF_A" root netem limit 10000 delay "$1" &&
		show_b tc qdisc replace dev "$IF_B" root netem limit 10000 delay "$1"
}
netem 2ms 2> /dev/null || skip "no netem on this kernel"

for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	netem 2ms
	python changing.py "$DEV_A" "$ia" "$DEV_B" "$ib" --label "$type "
	netem 1000ms
	python changing.py "$DEV_A" "$ia" "$DEV_B" "$ib" --deregister --label "$type "
done
finish
