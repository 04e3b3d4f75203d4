#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# User rings are hostile memory: a process scribbles over the queues that it shares with the
# kernel, or keeps them full for ever. No crash, no endless loop, and honest processes continue
# (hostile.py).

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
for type in $(roce_versions); do
	python hostile.py "$DEV_A" "$(gid_index "$DEV_A" "$type" $IP4_A)" \
		"$DEV_B" "$(gid_index "$DEV_B" "$type" $IP4_B)" --seconds "${ATTACK_SECONDS:-2}"
done
wait_check 60 "no object of an attacker is left" no_objects "$DEV_A"
finish
