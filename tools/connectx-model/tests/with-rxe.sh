#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The in-tree software driver as the peer: a has the model, b a plain NIC with rdma_rxe on it.
# Every operation, in both directions.
#
# usage: with-rxe.sh [DRIVER]   of a's adapter: mlx5_ib (default) or roce_hca_mlx5
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=${1-mlx5_ib}

case $VM_ROLE in
a) check bring-up bring_up 10.7.0.1 ;;
b) check bring-up bring_up_rxe 10.7.0.2 ;;
esac
at="-d $rdma -g $gid"
perf="-d $rdma -x $gid -F -m 1024"
signal "$VM_ROLE.up"
await a.up && await b.up
[ "$VM_ROLE" = b ] || check ping ping -c 3 -W 20 10.7.0.2

# More READs in flight than the model supports would be refused by its driver.
few_reads="-o 4"

pingpongs() {
	across "rc$1" "ibv_rc_pingpong $at -n 100" "ibv_rc_pingpong $at -n 100 $peer"
	across "uc$1" "ibv_uc_pingpong $at -n 100" "ibv_uc_pingpong $at -n 100 $peer"
	across "ud$1" "ibv_ud_pingpong $at -s 1024 -n 100" \
		"ibv_ud_pingpong $at -s 1024 -n 100 $peer"
	across "srq$1" "ibv_srq_pingpong $at -n 100 -q 4" "ibv_srq_pingpong $at -n 100 -q 4 $peer"
	across "rping$1" "rping -s -a $peer -C 10 -v" "rping -c -a $peer -C 10 -v"
}

operations() {
	local op

	for op in write send; do
		across "$op$1" "ib_${op}_bw $perf -n 10 -s 16384" \
			"ib_${op}_bw $perf -n 10 -s 16384 $(client_of $op) $peer"
	done
	across "read$1" "ib_read_bw $perf $few_reads -n 10 -s 16384" \
		"ib_read_bw $perf $few_reads -n 10 -s 16384 $peer"
	across "fetch-add$1" "ib_atomic_bw $perf $few_reads -n 20" \
		"ib_atomic_bw $perf $few_reads -n 20 $peer"
	across "compare-swap$1" "ib_atomic_lat -A CMP_AND_SWAP $perf $few_reads -n 20" \
		"ib_atomic_lat -A CMP_AND_SWAP $perf $few_reads -n 20 $peer"
}

script=$(dirname "$0")/operations.py
client=a peer=10.7.0.2
across operations "/usr/bin/python3 $script $rdma $gid" "/usr/bin/python3 $script $rdma $gid $peer"
pingpongs -model-first
operations -model-first
client=b peer=10.7.0.1
operations -rxe-first
across rping-rxe-first "rping -s -a $peer -C 10 -v" "rping -c -a $peer -C 10 -v"
finish
