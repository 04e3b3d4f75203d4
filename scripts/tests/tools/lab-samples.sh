#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# The samples of lab.rst: the libibverbs program, the MPI program and the pytest tests,
# copied from the page, with bytes counted by the port; pytest's own options; the drivers of
# the kernel; a VLAN; a capture.
#
# No turns: it boots labs for a minute, and the scenario lab detects most regressions.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup
cp Documentation/samples/lab/* "$home/"
chmod a+r "$home"/*

: "in the words of the page"
page() { # page WORDS: they are on the page
	grep -qF -- "$*" Documentation/lab.rst || fail "lab.rst does not have: $*"
}
page 'gcc -o rdma_write rdma_write.c -libverbs'
as_user gcc -o rdma_write rdma_write.c -libverbs || fail "rdma_write.c does not compile"
page 'roce-lab run -- ./rdma_write'
check "libibverbs" "65536 bytes over roce0" "$(as_user roce-lab run -- ./rdma_write)"

page 'mpicc -o mpi_sum mpi_sum.c'
page 'roce-lab run --hosts 2 -- mpirun -np 2 --map-by node ./mpi_sum'
if command -v mpicc.openmpi > /dev/null; then
	as_user mpicc.openmpi -o mpi_sum mpi_sum.c
	as_user roce-lab run --hosts 2 -- sh -c 'mpirun.openmpi -np 2 --map-by node ./mpi_sum
		echo $(($(lab b cat /sys/class/infiniband/roce1/ports/1/counters/port_rcv_data) * 4 >= 800000))' \
		> "$work/said" 2>&1
	check "Open MPI: ranks on hosts of their own, bytes by the port's counter" "1 2" \
		"$(tail -n 1 "$work/said") $(grep -c '^rank [01] of 2 on [ab]: right' "$work/said")"
else
	fail "no mpicc.openmpi (packages openmpi-bin, libopenmpi-dev)"
fi
if command -v mpicc.mpich > /dev/null; then
	as_user mpicc.mpich -o mpi_sum_mpich mpi_sum.c
	as_user timeout 200 roce-lab run --hosts 2 -- sh -c 'mpiexec.mpich -n 2 -ppn 1 ./mpi_sum_mpich
		echo $(($(lab b cat /sys/class/infiniband/roce1/ports/1/counters/port_rcv_data) * 4 >= 800000))' \
		> "$work/said" 2>&1
	check "MPICH: the same" "1 2" \
		"$(tail -n 1 "$work/said") $(grep -c '^rank [01] of 2 on [ab]: right' "$work/said")"
else
	fail "no mpicc.mpich (packages mpich, libmpich-dev)"
fi

: "pytest"
python_path="$work/moved here/lib/roce-lab"
words='PYTHONPATH=~/.local/lib/roce-lab pytest -p pytest_roce_lab test_rdma.py'
page "$words"
# As installed by "make install-lab PREFIX=~/.local"
ln -s "$work/moved here" "$home/.local"
as_user env PYTHONDONTWRITEBYTECODE=1 sh -c "$words" > "$work/said" 2>&1
check "status" 0 $?
check "tests that passed" 1 "$(grep -c '=== 2 passed in ' "$work/said")"
rm "$home/.local"
hidden=$(mktemp -d)
cp -a "$work/moved here/lib" "$work/moved here/bin" "$hidden/"
chmod 755 "$hidden"
/usr/bin/python3 -m venv --system-site-packages --without-pip "$hidden/venv" || fail "no venv"
as_user env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$hidden/lib/roce-lab" "$hidden/venv/bin/python3" -m pytest \
	-p pytest_roce_lab -p no:cacheprovider test_rdma.py > "$work/said" 2>&1
check "it and Python below /tmp: status, tests that passed" "0 1" "$? $(grep -c '=== 2 passed in ' "$work/said")"
rm -r "$hidden"
as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest \
	-p pytest_roce_lab -p no:cacheprovider -rs --rdma-lab=off test_rdma.py > "$work/said" 2>&1
check "without a lab: status" 0 $?
check "skipped, with the reason" 2 "$(grep -c 'SKIPPED.*roce-lab: the test is not in a lab' "$work/said")"
as_user env ROCE_LAB_FOLDER=/nowhere PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 \
	/usr/bin/python3 -m pytest -p pytest_roce_lab -p no:cacheprovider --rdma-lab=require \
	test_rdma.py > "$work/said" 2>&1
check "with --rdma-lab=require and no lab: status" 1 $?
cat > "$home/test_ends.py" << 'END'
def test_ends(rdma_lab): open('/proc/sysrq-trigger', 'w').write('c')
END
as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest \
	-p pytest_roce_lab -p no:cacheprovider -rs -o rdma_lab_options='--user root' test_ends.py \
	> "$work/said" 2>&1
check "a lab that ends under its tests: status, those that are skipped" "125 0" \
	"$? $(grep -c SKIPPED "$work/said")"
rm -f "$(sed -n 's/.*its log is //p' "$work/said")"
for options in '--losss 1%' '--loss 1furlong'; do
	as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest \
		-p pytest_roce_lab -p no:cacheprovider -rs -o rdma_lab_options="$options" test_ends.py \
		> "$work/said" 2>&1
	check "options $options: status, those that are skipped" "125 0" "$? $(grep -c SKIPPED "$work/said")"
done
# With --root, which only machines of an emulator have: a stand-in for the runner
mkdir "$work/beside"
cp "$python_path/pytest_roce_lab.py" "$work/beside/"
printf '%s\n' '#!/bin/sh' 'echo > "/proc/self/fd/$ROCE_LAB_STARTED"' 'exit 125' > "$work/beside/roce-lab"
chmod a+x "$work/beside/roce-lab"
as_user env PYTHONPATH="$work/beside" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest \
	-p pytest_roce_lab -p no:cacheprovider -rs -o rdma_lab_options='--root /' test_ends.py \
	> "$work/said" 2>&1
check "and one with --root" "125 0" "$? $(grep -c SKIPPED "$work/said")"

cat > "$home/test_lasts.py" << 'END'
import time
def test_lasts(rdma_lab):
    open('begun', 'w').close()
    time.sleep(1000)
END
for name in TERM HUP KILL; do
	rm -f "$home/begun"
	as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest \
		-p pytest_roce_lab -p no:cacheprovider test_lasts.py > "$work/said" 2>&1 &
	busywait 100 test -e "$home/begun" || fail "test_lasts.py does not begin"
	pkill -$name -o -u $uid -f '^/usr/bin/python3 -m pytest'
	wait $!
	status=$?
	check "$name to pytest: status" $((128 + $(kill -l $name))) $status
	check_ok "$name to pytest: no process is left" busywait 10 none_left
	[ $name = KILL ] ||
		check "$name to pytest: no folder either" "" "$(find /tmp -maxdepth 1 -user $uid)"
	pkill -KILL -u $uid
done

cat > "$home/test_cleans.py" << 'END'
import time
import pytest
@pytest.fixture
def kept():
    yield
    open('cleaned', 'w').close()
def test_lasts(rdma_lab, kept):
    open('begun', 'w').close()
    time.sleep(1000)
END
rm -f "$home/begun"
# As with busybox's setpriv
mkdir "$home/busybox"
printf '#!/bin/sh\nexit 1\n' > "$home/busybox/setpriv"
chmod a+x "$home/busybox/setpriv"
as_user env --default-signal=INT PATH="$home/busybox:/usr/bin:/bin" PYTHONPATH="$python_path" \
	PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -p pytest_roce_lab -p no:cacheprovider \
	test_cleans.py > "$work/said" 2>&1 &
busywait 100 test -e "$home/begun" || fail "test_cleans.py does not begin without --pdeathsig"
pkill -INT -o -u $uid -f '^/usr/bin/python3 -m pytest'
wait $!
check "INT to pytest: status, as without a lab" 2 $?
check_ok "INT to pytest: fixtures are torn down" test -e "$home/cleaned"

: "pytest's own options"
cat > "$home/test_options.py" << 'END'
import pytest
def test_good(rdma_lab): print('said on', rdma_lab.name)
def test_bad(rdma_lab):
    answer = 42
    assert answer == 41
@pytest.mark.skip(reason='not today')
def test_skipped(rdma_lab): pass
@pytest.mark.xfail
def test_expected(rdma_lab): assert False
def test_last(rdma_lab): pass
END
in_pytest() { # in_pytest OPTION...: prints its status and last line
	# In /tmp its folder would have the name that pytest uses for any user without a name.
	as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 PYTEST_DEBUG_TEMPROOT="$home" \
		timeout 100 /usr/bin/python3 -m pytest -p pytest_roce_lab -q "$@" test_options.py > "$work/said" 2>&1
	echo "$? $(tail -n 1 "$work/said" | sed 's/ in [0-9.]*s.*//')"
}
check "failed, skipped and expected to fail" "1 1 failed, 2 passed, 1 skipped, 1 xfailed" "$(in_pytest)"
check "--lf, after that" "1 1 failed, 4 deselected" "$(in_pytest --lf)"
check "-k" "0 1 passed, 4 deselected" "$(in_pytest -k good)"
check "-x" "1 1 failed, 1 passed" "$(in_pytest -x)"
in_pytest -s -k good > "$work/out"
check "-s" 1 "$(grep -c 'said on a' "$work/said")"
printf 'p answer + 1\nq\n' | in_pytest --pdb -k bad > "$work/out"
check "--pdb" 1 "$(grep -c '(Pdb) 43' "$work/said")"
if /usr/bin/python3 -c 'import pytest_cov, xdist'; then
	# Coverage outside includes functions that a test in the lab calls.
	printf 'def used():\n    return 1\n\ndef unused():\n    return 2\n' > "$home/subject.py"
	printf '%s\n' 'import subject' 'def test_used(rdma_lab): assert subject.used()' > "$home/test_subject.py"
	as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 timeout 100 /usr/bin/python3 -m pytest \
		-p pytest_roce_lab -p no:cacheprovider -q --cov=subject --cov-report=term-missing test_subject.py > "$work/said" 2>&1
	check "--cov: status, lines of which one was not reached" "0 subject.py 4 1 75% 5" \
		"$? $(grep '^subject.py' "$work/said" | tr -s ' ')"
	check_ok "--cov: its data are left" test -s "$home/.coverage"
	in_pytest -rs -n 2 -k good > "$work/out"
	check "xdist: status, skipped, and how it is done" "0 1" "$(cut -d' ' -f1 "$work/out") $(
		grep -c 'SKIPPED.*roce-lab: with xdist, run "roce-lab run --hosts 1 -- pytest' "$work/said")"
	check "xdist, in a lab" "0 1 passed" "$(as_user env PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1 \
		timeout 100 roce-lab run -- /usr/bin/python3 -m pytest -p pytest_roce_lab -p no:cacheprovider \
		-q -n 2 -k good test_options.py > "$work/said" 2>&1; echo "$? $(
		tail -n 1 "$work/said" | sed 's/ in [0-9.]*s.*//')")"
else
	echo "     no pytest-cov and pytest-xdist here: left out"
fi

: "drivers, VLAN, capture"
cat > "$home/pingpong" << 'END'
index='${ROCE_LAB_GID_INDEX_V2:-0}'
lab b sh -c "ibv_rc_pingpong -e -c -n 20 -d \$ROCE_LAB_DEVICE -g $index" > server &
until lab b sh -c 'grep -q :4853 /proc/net/tcp /proc/net/tcp6'; do sleep 0.1; done
eval "ibv_rc_pingpong -e -c -n 20 -d \$ROCE_LAB_DEVICE -g $index b" > client && wait $! && echo good
END
check "rdma_rxe" good "$(as_user timeout 100 roce-lab run --hosts 2 --driver rxe -- sh ./pingpong)"
check "siw" iWARP "$(as_user roce-lab run --driver siw -- ibv_devinfo | grep -o iWARP)"
check "VLAN 7, captured" good "$(as_user timeout 100 roce-lab run --hosts 2 --vlan 7 --mtu 1500 \
	--pcap seen.pcap -- sh ./pingpong)"
check_ok "packets have the tag and the length" test "$(tcpdump -e -n -r "$home/seen.pcap" \
	'vlan 7 and udp port 4791 and less 1519' 2> /dev/null | wc -l)" -ge 160
check "and no others have the port" 0 "$(tcpdump -n -r "$home/seen.pcap" 'udp port 4791' 2> /dev/null | wc -l)"
finish
