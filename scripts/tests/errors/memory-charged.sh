#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# timeout: 300
#
# Queues are charged to RLIMIT_MEMLOCK and the memory cgroup of the creating process, and
# the log names the limit that was hit. Tables of on-demand paging are charged, too,
# although a worker of the kernel allocates them.

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
: "an unprivileged process"
log_mark unprivileged
python memory-charged.py "$DEV_A" memlock
check_match "the log names the limit" 'RLIMIT_MEMLOCK' "$(log_since unprivileged)"

: "a memory cgroup"
CGROUPS=$WORK/cgroups
show mkdir "$CGROUPS"
show mount -t cgroup2 none "$CGROUPS"
defer umount "$CGROUPS"
if grep -qw memory "$CGROUPS/cgroup.controllers"; then
	echo +memory > "$CGROUPS/cgroup.subtree_control"
	show mkdir "$CGROUPS/rhca"
	defer rmdir "$CGROUPS/rhca"
	python memory-charged.py "$DEV_A" cgroup "$CGROUPS/rhca"
	python memory-charged.py "$DEV_A" tables "$CGROUPS/rhca" "$(gid_index "$DEV_A" v2 $IP4_A)" \
		"$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)"
elif emulated; then
	say "the memory controller belongs to cgroup v1 here"
else
	fail "no memory controller"
fi
finish
