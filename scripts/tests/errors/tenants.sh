#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: full
# every: 20
# timeout: 3600
#
# Four tenants on one processor. One is hostile, in eleven ways, within its limits. The others
# are compared with their results while it only uses processor time, as any process may
# (hostile-tenant.c, "burn"): they lose no operation, still get all that their limits allow,
# and the kernel logs less than 10 lines a second.
#
# RHCA_TENANT_SECONDS (default 2, 20 in "make check-all"): length of each measurement. From
# 10 on the others must also reach half of the operations and at most ten times the p99 of
# the comparison, which alternates with the row. A row that fails is repeated up to twice,
# since a single disturbance of the machine is not the driver's. "registers" is judged on a
# stock kernel only: User-Mode Linux maps and unmaps each page of a queue by a system call
# of its host, which blocks its processor.
#
# Topology: see tenants-lib.sh

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/tenants-lib.sh"

only_ours
# Where a packet takes more than 20 us, what follows an RNR NAK is not bounded (promises.rst)
[ -n "${RHCA_TENANT_KINDS:-}" ] || emulated || TENANT_KINDS+=(rnr)
strict=
[ "$TENANT_SECONDS" -lt 10 ] || strict=1

# The limit that bounds each kind
declare -A limit=(
	[posts]="max_send_wr, 512, of 4 UC QPs"
	[rnr]="max_send_wr, 512, of 4 RC QPs, RNR timer 10 us"
	[polls]="rdma.max hca_object=400: CQs"
	[registers]="RLIMIT_MEMLOCK 8 MiB: regions and CQs"
	[invalidates]="max_send_wr, 64, of an RC QP"
	[contexts]="rdma.max hca_handle=16"
	[faults]="max_send_wr, 16, of an RC QP"
	[multicast]="mcast_user_limit 256, 32 copies of a datagram"
	[cm]="64 identifiers of rdma_cm"
	[errors]="max_send_wr, 64, of an RC QP"
	[wire]="a UDP socket's send buffer"
)

# --- judging ---------------------------------------------------------------------------

# compare KIND: for each other tenant a line "KEPT TIMES": operations and p99, in thousandths of
# the baseline's
compare() {
	local number

	for number in "${HONEST[@]}"; do
		echo "$(< "$WORK/burn.$number") $(< "$WORK/$1.$number")" |
			awk '{ print int(1000 * $5 / ($1 ? $1 : 1)), int(1000 * $7 / ($3 ? $3 : 1)) }'
	done
}

holds() { # holds KIND: enough operations, and a p99 that is low enough
	[ -z "$(compare "$1" | awk '$1 < 500 || $2 > 10000')" ]
}

is_judged() { # is_judged KIND
	[ -n "$strict" ] && { [ "$1" != registers ] || emulated; }
}

report() { # report KIND
	local number

	for number in "${HONEST[@]}"; do
		echo "$(< "$WORK/burn.$number") $(< "$WORK/$1.$number")" |
			awk -v kind="$1" -v number="$number" -v s="$TENANT_SECONDS" '{
				printf "RESULT %s tenant %d: %.0f of %.0f operations/s, p99 %.1f of %.1f ms, maximum %.1f of %.1f ms\n",
					kind, number, $5 / s, $1 / s, $7 / 1e6, $3 / 1e6, $8 / 1e6, $4 / 1e6 }'
	done
	echo "RESULT $1 (${limit[$1]}): $(tail -n 1 "$WORK/$1.hostile"); $(< "$WORK/$1.log") lines of log in $(< "$WORK/$1.seconds") s"
}

# row KIND
row() {
	local kind=$1 try

	for try in 1 2 3; do
		[ -z "$strict" ] || measure burn || return
		measure "$kind" || return
		report "$kind"
		if ! is_judged "$kind" || holds "$kind"; then break; fi
		say "$kind: does not hold ($try)"
	done
	served "$kind"
	if is_judged "$kind"; then
		check_ok "$kind: half of the operations, a p99 of ten times: $(compare "$kind" | paste -sd,)" \
			holds "$kind"
	elif [ -n "$strict" ]; then
		say "$kind: what the others keep, their p99, not judged: $(compare "$kind" | paste -sd,)"
	fi
}

setup_pair 9000
setup_tenants
[ -n "$strict" ] || measure burn || finish
for kind in "${TENANT_KINDS[@]}"; do
	row "$kind"
done
finish
