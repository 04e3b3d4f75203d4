#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# rxe_links=Y: "rdma link add ... type rxe" makes devices of this driver. rdma_rxe
# and this module then exclude each other, with a line in the log. The RDMA selftests
# of the kernel, which were written for rdma_rxe, run unmodified.

. "$(dirname "$0")/../lib/lib.sh"
only_ours

SELFTESTS=$(ls -d "${ROCE_HCA_CACHE:-/var/cache/roce-hca}"/uml/source-*/tools/testing/selftests/rdma 2> /dev/null | tail -n 1)

load_support
remove_driver rdma_rxe
show ip link add "$IF_A" type veth peer name "$IF_B" || die "no veth"
show ip link set "$IF_A" up

: "without the parameter"
reload_driver || die "does not load"
log_mark default
check "rxe_links at first" N "$(cat /sys/module/roce_hca/parameters/rxe_links)"
show rdma link add "$DEV_A" type rxe netdev "$IF_A" 2> /dev/null
check "a link of type rxe is no device of ours" "" "$(grep -l roce_hca "$IB/$DEV_A/hca_type" 2> /dev/null)"
[ ! -d "$IB/$DEV_A" ] || show rdma link del "$DEV_A"
remove_driver roce_hca

: "each keeps the other out"
if insert rdma_rxe; then
	log_mark taken
	check_fails "rxe_links=Y where rdma_rxe is loaded" insert roce_hca rxe_links=Y
	check_match "the log says why" 'rdma_rxe is loaded and makes links of type rxe' "$(log_since taken)"
	remove_driver rdma_rxe
fi
reload_driver rxe_links=Y || die "does not load with rxe_links=Y"
if module_file rdma_rxe > /dev/null || modprobe -n -q rdma_rxe; then
	log_mark "kept out"
	check_fails "rdma_rxe where rxe_links=Y" insert rdma_rxe
	check_match "the log says why" 'rdma_rxe is refused: rxe_links=Y' "$(log_since "kept out")"
fi
show rdma link add "$DEV_A" type rxe netdev "$IF_A" || fail "type rxe is refused"
check "type rxe makes a device of ours" roce_hca "$(cat "$IB/$DEV_A/hca_type")"
check_fails "the netdev is served then" rdma link add "$DEV_B" type roce netdev "$IF_A"
show rdma link del "$DEV_A"
show ip link del "$IF_A"
remove_driver roce_hca

: "the kernel's selftests"
[ -n "$SELFTESTS" ] || { say "no kernel source here: its selftests are left out"; finish; }
cp "$TOP/Documentation/samples/modprobe-rxe.conf" /etc/modprobe.d/roce-hca-rxe.conf
[ -z "${RHCA_PARAMS-}" ] || echo "options roce_hca $RHCA_PARAMS" >> /etc/modprobe.d/roce-hca-rxe.conf
defer 'rm /etc/modprobe.d/roce-hca-rxe.conf'
defer 'modprobe -r roce_hca'
# An emulated machine has no udev to create the file, and one of the tests opens it.
[ -e /dev/net/tun ] || { mkdir -p /dev/net; mknod /dev/net/tun c 10 200; }
# theirs MAKEFILE: VERSION.PATCHLEVEL of the kernel that the selftests belong to
theirs() {
	sed -n 's/^\(VERSION\|PATCHLEVEL\) = //p' "$1" | paste -s -d .
}
# Theirs start a client a second after its server, take its status as it is (see rping.sh), and
# read counters as soon as it has ended.
mkdir "$WORK/bin"
cat > "$WORK/bin/rping" <<- END
	#!/bin/bash
	. "$LIB/checks.sh"
	. "$LIB/rping.sh"
	[ "\$1" = -c ] || exec $(command -v rping) "\$@"
	listens() { rdma resource show cm_id | grep LISTEN; }
	server_ended() { ! pgrep -f "rping -s "; }
	busywait 60 listens
	$(command -v rping) "\$@" > "$WORK/rping" 2>&1
	status=\$(rping_status \$? "$WORK/rping")
	busywait 10 server_ended
	exit "\$status"
END
chmod +x "$WORK/bin/rping"
for test in "$SELFTESTS"/*.sh; do
	name=$(basename "$test" .sh)
	# Equal device names in two namespaces need the ib_core of that kernel.
	if [ "$name" = rxe_netns_names ] &&
		[[ "$(uname -r)" != "$(theirs "$SELFTESTS/../../../../Makefile")".* ]]; then
		say "not run: $name, which is for a newer ib_core"
		continue
	fi
	(cd "$SELFTESTS" && PATH=$WORK/bin:$PATH timeout -k 5 120 bash "$test") > "$WORK/$name" 2>&1
	status=$?
	check "$name: status" 0 $status
	[ $status = 0 ] || sed 's/^/     /' "$WORK/$name" | tail -15
done
check "rdma_rxe was not loaded" "" "$(grep '^rdma_rxe ' /proc/modules)"
finish
