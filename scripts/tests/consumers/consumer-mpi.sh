#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 1200
#
# Open MPI and MPICH over UCX, two ranks on each of two hosts: point to point, collectives
# and one-sided operations, every byte checked (mpi-bytes.c). Once more while the link flaps,
# and with the device of a host removed.
#
# Open MPI is told to use UCX, for any adapter, as Debian's settings disable that
# (/etc/openmpi/openmpi-mca-params.conf). The other arguments of mpirun are due to this test:
# root, fewer processors than ranks, and how to start one in the other namespace.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
setup_hosts

# A host has its own name, memory and processes; UCX identifies it by its namespaces.
HOST="unshare --mount-proc --uts --ipc --pid --fork --kill-child"
# In place of ssh
cat > "$WORK/agent" <<- END
	#!/bin/sh
	host=\$1
	shift
	exec ip netns exec $NS_B $HOST sh -c "hostname \$host; \$*"
END
chmod +x "$WORK/agent"
printf '%s a\n%s b\n' $IP4_A $IP4_B >> /etc/hosts
defer "sed -i '/^10\.9\.0\.[12] [ab]\$/d' /etc/hosts"

# as_host_a COMMAND...: run as mpirun on the host of that name
as_host_a() { in_a timeout -v -k 5 "${LIMIT:-200}" $HOST sh -c "hostname a; exec $*"; }

run_openmpi() { # run_openmpi ROUNDS
	as_host_a mpirun.openmpi --allow-run-as-root -np 4 --host a:2,b:2 \
		--mca plm_rsh_agent "$WORK/agent" --mca pml ucx --mca osc ucx \
		--oversubscribe "$WORK/mpi-openmpi" "$1"
}
run_mpich() {
	as_host_a mpiexec.mpich -n 4 -hosts a:2,b:2 -launcher rsh -launcher-exec "$WORK/agent" \
		"$WORK/mpi-mpich" "$1"
}

mpi() { # mpi NAME ROUNDS LEAST-PACKETS
	local before rc
	before=$(sent)
	echo "+ $KIND, 4 ranks, $2 rounds"
	"run_$KIND" "$2" > "$WORK/mpi" 2>&1
	rc=$?
	check "$1: status" 0 $rc
	check "$1: ranks whose bytes were right" 4 "$(grep -c '^ok ' "$WORK/mpi")"
	[ $rc = 0 ] || tail -n 60 "$WORK/mpi" | sed 's/^/     /'
	used "$1" "$before" "$3"
	ROUND_PACKETS=$((($(sent) - before) / $2))
}

# The job ends without waiting for the host that lost its device.
removed() {
	local before pid
	before=$(sent)
	LIMIT=300 "run_$KIND" 100000 > "$WORK/mpi" 2>&1 &
	pid=$!
	busywait 120 sent_since "$before" 2000 || fail "$KIND: the load does not begin"
	remove_device "$KIND: the device of b is removed" b
	wait_check 120 "$KIND: the job ends" has_ended $pid
	kill $pid 2> /dev/null
	wait $pid
	check_fails "$KIND: and says that it failed" test $? -eq 0
	# The status may be that of a killed rank
	check "$KIND: by itself, not by its time limit" 0 "$(grep -c '^timeout: sending signal' "$WORK/mpi")"
}

for KIND in openmpi mpich; do
	if ! command -v mpicc.$KIND > /dev/null; then
		fail "no mpicc.$KIND (packages openmpi-bin, libopenmpi-dev, mpich, libmpich-dev)"
		continue
	fi
	mpicc.$KIND -O1 -o "$WORK/mpi-$KIND" "$HERE/mpi-bytes.c" || die "mpi-bytes.c does not compile"
	mpi "$KIND: four ranks" 1 2000
	# Not in the first round: while the link is down the kernel resolves no address, so new
	# connections fail, and Open MPI crashes when it exits.
	flap_under_load "$(sent)" $((ROUND_PACKETS * 5 / 4)) &
	flap=$!
	mpi "$KIND: four ranks while the link flaps" 3 4000
	flapped "$KIND: four ranks while the link flaps" $flap
	# UCX may crash while printing a backtrace, and Debian 13's MPICH while ending the job.
	echo 'rhca-test: expect (mpi-[a-z]+|hydra_pmi_proxy)\[[0-9]+\]: segfault' > /dev/kmsg
	removed
	echo 'rhca-test: expect nothing' > /dev/kmsg
	[ $KIND = mpich ] || new_device b
done
finish
