#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 1200
#
# Open MPI over UCX, two ranks on each of two hosts: point to point, collectives and
# one-sided operations, every byte checked (mpi-bytes.c). Once more while the link flaps.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
command -v mpicc > /dev/null || skip "no mpicc (packages openmpi-bin and libopenmpi-dev)"

setup_hosts
mpicc -O1 -o "$WORK/mpi-bytes" "$TESTS/mpi-bytes.c" || die "mpi-bytes.c does not compile"

# Instead of ssh. Ranks of two hosts have no memory to share, and cannot: to UCX, which
# goes by the kernel's boot id, they are on one. Hence its RDMA only.
UCX_TLS=ib,self
cat > "$WORK/agent" <<- END
	#!/bin/sh
	host=\$1
	shift
	exec ip netns exec $NS_B unshare --uts --ipc --pid --fork --kill-child \\
		sh -c "hostname \$host; exec \$*"
END
chmod +x "$WORK/agent"
printf '%s a\n%s b\n' $IP4_A $IP4_B >> /etc/hosts
defer "sed -i '/^10\.9\.0\.[12] [ab]\$/d' /etc/hosts"

mpi() { # mpi NAME ROUNDS LEAST-PACKETS
	local before rc
	before=$(sent)
	echo "+ mpirun -np 4 --host a:2,b:2 mpi-bytes $2"
	in_a timeout -k 5 200 unshare --uts --ipc --pid --fork --kill-child sh -c "hostname a; exec mpirun \
		--allow-run-as-root -np 4 --host a:2,b:2 --mca plm_rsh_agent $WORK/agent \
		--mca pml ucx --mca osc ucx --mca btl ^openib,ofi -x UCX_TLS=$UCX_TLS \
		--oversubscribe $WORK/mpi-bytes $2" > "$WORK/mpi" 2>&1
	rc=$?
	check "$1: status" 0 $rc
	check "$1: ranks whose bytes were right" 4 "$(grep -c '^ok ' "$WORK/mpi")"
	[ $rc = 0 ] || tail -n 20 "$WORK/mpi" | sed 's/^/     /'
	used "$1" "$before" "$3"
}

mpi "four ranks" 1 2000
flap_under_load "$(sent)" 2000 &
flap=$!
mpi "four ranks while the link flaps" 2 4000
flapped "four ranks while the link flaps" $flap
finish
