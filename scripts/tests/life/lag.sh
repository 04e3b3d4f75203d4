#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug kcsan debug-rt
# tier: wide
# every: 3
# timeout: 1200
#
# Link aggregation: a bond of two ports is one RDMA device, which survives failure and
# removal of members; likewise two netdevs without a bond.
#
#   namespace rhca-a-PID                         namespace rhca-b-PID
#    ba$$ 10.9.0.1/24 -+- va1 ===== veth ===== vb1 -+- bb$$ 10.9.0.2/24
#                      +- va2 ===== veth ===== vb2 -+

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/lag-lib.sh"
only_ours

lag_setup
tx() { in_a cat "/sys/class/net/$1/statistics/tx_bytes"; }
tx_above() { [ "$(tx "$1")" -gt "$2" ]; }
# sent_by OPTION...: bytes that va1 and va2 sent for 60 messages of 20000 each, "N N"
sent_by() {
	local one two
	one=$(tx va1) two=$(tx va2)
	traffic_start run "$ia" "$ib" --messages 60 --mtu 4096 "$@"
	traffic_end run 60
	echo "$(($(tx va1) - one)) $(($(tx va2) - two))" > "$WORK/sent"
}
# Bonds send a little by themselves (ARP, IPv6): the member in use sends far more.
mostly() { # mostly 1|2 WHAT
	local one two
	read -r one two < "$WORK/sent"
	if [ "$1" = 1 ]; then check "$2: va1 carries it ($one, $two bytes)" 1 $((one > two + 100000))
	else check "$2: va2 carries it ($one, $two bytes)" 1 $((two > one + 100000)); fi
}

lag_devices
single=$(cat $IB/la1/ports/1/rate)

: "a bond in a mode that RoCE knows takes over, and a process that held a member is told"
$PYTHON - "$LIB" > "$WORK/holder" 2>&1 << 'END' &
import sys
sys.path.insert(0, sys.argv[1])
import verbs
one = verbs.End('la1', 0)
print('holds', flush=True)
while one.async_event(1) != verbs.e.IBV_EVENT_DEVICE_FATAL:
    pass
print('fatal', flush=True)
one.close()
print('closed', flush=True)
END
holder=$!
busywait 60 grep -q holds "$WORK/holder" || die "no holder: $(cat "$WORK/holder")"
bond_up balance-xor
become "two members, balance-xor" "roce_bond0 none none" "$BOND_A" va1 va2
become "the other host" "roce_bond1 none none" "$BOND_B" vb1 vb2
busywait 60 grep -q closed "$WORK/holder"
check "a process that held la1" "holds fatal closed" "$(paste -sd' ' "$WORK/holder")"
kill $holder 2> /dev/null
find_lag
check "rate of one port" "10 Gb/sec (1X FDR10)" "$single"
# A member counts once the bond, or its notifiers, have seen its carrier.
rate_is() { [ "$(cat "$IB/$DEV_A/ports/1/rate")" = "$1" ]; }
wait_check 60 "rate of the LAG" rate_is "20 Gb/sec (2X FDR10)"
check "roce_lag_enable" 1 "$(cat "$IB/$DEV_A/roce_lag_enable")"
check "roce_lag_ecmp_dev" "" "$(cat "$IB/$DEV_A/roce_lag_ecmp_dev")"

: "QPs take the members in turn; a flow label chooses one"
sent_by && mostly 1 "the first QP"
sent_by && mostly 2 "the second QP"
sent_by --flow-label 2 && mostly 1 "an even flow label"
sent_by --flow-label 3 && mostly 2 "an odd flow label"
if ! emulated; then
	sent_by --flow-label 4 && mostly 1 "an even flow label again"
	find_lag v1
	sent_by --flow-label 6 && mostly 1 "v1, an even flow label"
	sent_by --flow-label 7 && mostly 2 "v1, an odd flow label"
	: "multicast: the bond joins, and so do its members"
	python mcast.py "$DEV_A" "$ia" "$DEV_B" "$ib" ff0e::ffff:239.9.1.2
	find_lag
	python mcast.py "$DEV_A" "$ia" "$DEV_B" "$ib" ::ffff:239.9.1.1
	$PYTHON "$LIB/mcast.py" --hold "$DEV_B" "$ib" ::ffff:239.9.1.1 > "$WORK/hold" 2>&1 &
	holder=$!
	busywait 60 grep -q attached "$WORK/hold" || fail "no QP is attached: $(cat "$WORK/hold")"
	for i in 1 2; do
		check_match "vb$i takes the group's frames in" 01:00:5e:09:01:01 "$(in_b ip maddr show dev vb$i)"
	done
	kill $holder
	wait $holder 2> /dev/null
fi

: "a member that fails under traffic, with the ACK timeout that programs use"
one=$(tx va1)
traffic_start fail "$ia" "$ib" --seconds 600 --mtu 4096 --timeout 14 --flow-label 3 --gap
show_b ip link set vb2 down
wait_check 60 "va1 has taken over" tx_above va1 $((one + 100000))
traffic_stop fail 60
in_b ip link set vb2 up

: "what breaks the rule brings the members back; rdma link add tells"
check_fails "rdma link add on a member" show_a rdma link add lx type roce netdev va1
check_match "says why" 'va1 belongs to a bond that is one RDMA device' "$(kernel_log)"
show_a ip link add va3 type dummy
show_a ip link set va3 master "$BOND_A"
become "a third member" "none la1 la2" "$BOND_A" va1 va2
show_a ip link set va3 nomaster
become "without it" "roce_bond0 none none" "$BOND_A" va1 va2
show_a ip link set va2 nomaster
become "one member left" "none la1 la2" "$BOND_A" va1 va2
in_a ip link set va2 down
show_a ip link set va2 master "$BOND_A"
become "two again" "roce_bond0 none none" "$BOND_A" va1 va2
check_fails "roce_lag_enable refuses 2" sh -c "echo 2 > $IB/roce_bond0/roce_lag_enable"
check "and keeps" 1 "$(cat $IB/roce_bond0/roce_lag_enable)"
: "the file is the members', whatever the bond is a port of"
show_a ip link add lbr type bridge
show_a ip link set "$BOND_A" master lbr
show sh -c "echo 0 > $IB/roce_bond0/roce_lag_enable"
become "roce_lag_enable 0" "none la1 la2" "$BOND_A" va1 va2
show_a ip link del lbr
check "la2 shows it as well" 0 "$(cat $IB/la2/roce_lag_enable)"
: "tenants that the ports keep apart do not meet in a LAG, and it keeps their table"
pkeys() { cat "$IB/$1/partitions/1/pkeys" | paste -sd,; }
show sh -c "echo 1 0x8001 > $IB/la1/partitions/1/pkeys"
show sh -c "echo 1 > $IB/la1/roce_lag_enable"
sleep 0.5
check "different partitions" "la1 la2" "$(devices va1 va2)"
show sh -c "echo 1 0x8001 > $IB/la2/partitions/1/pkeys"
table=$(pkeys la1)
show sh -c "echo 1 > $IB/la1/roce_lag_enable"
become "roce_lag_enable 1" "roce_bond0 none none" "$BOND_A" va1 va2
check "partitions of the LAG" "$table" "$(pkeys roce_bond0)"
show_a ip link del "$BOND_A"
show_b ip link del "$BOND_B"
become "without the bonds" "la1 la2 lb1 lb2" va1 va2 vb1 vb2
check "partitions restored" "$table" "$(pkeys la2)"

: "active-backup: the bond chooses, and a failure loses no QP"
bond_up active-backup
become "active-backup" "roce_bond0 none none" "$BOND_A" va1 va2
become "the other host" "roce_bond1 none none" "$BOND_B" vb1 vb2
find_lag
active() { in_a cat "/sys/class/net/$BOND_A/bonding/active_slave"; }
check "rate of active-backup" "10 Gb/sec (1X FDR10)" "$(cat "$IB/$DEV_A/ports/1/rate")"
before=$(active)
[ "$before" = va1 ] && other=va2 || other=va1
traffic_start failover "$ia" "$ib" --seconds 600 --mtu 4096 --timeout 14 --gap
one=$(tx $other)
show_a ip link set "$before" down
wait_check 60 "$other has taken over" tx_above $other $((one + 100000))
traffic_stop failover 60
check "the active member" $other "$(active)"
grep 'longest gap' "$WORK/failover" "$WORK/fail"
in_a ip link del "$BOND_A"
in_b ip link del "$BOND_B"
become "without the bonds" "la1 la2 lb1 lb2" va1 va2 vb1 vb2

: "a bond's own device is left alone, and when its user removes it nothing appears"
show_a ip link add "$BOND_A" type bond mode balance-xor
show_a rdma link add own type roce netdev "$BOND_A"
for i in 1 2; do
	in_a ip link set va$i down
	in_a ip link set va$i master "$BOND_A"
done
become "one of its own" "own la1 la2" "$BOND_A" va1 va2
show_a rdma link del own
sleep 1
check "without it" "none la1 la2" "$(devices "$BOND_A" va1 va2)"
show_a ip link set va2 nomaster
in_a ip link set va2 down
show_a ip link set va2 master "$BOND_A"
become "a member that comes" "roce_bond0 none none" "$BOND_A" va1 va2
: "a bond that is a member of another one stays what it is"
if show_a ip link add ob type bond mode balance-xor && show_a ip link set "$BOND_A" master ob; then
	show_a rdma link add la3 type roce netdev va3
	in_a ip link set va3 down
	show_a ip link set va3 master ob
	log_mark nested
	sleep 1
	check "a bond in a bond" "none roce_bond0 la3 none none" "$(devices ob "$BOND_A" va3 va1 va2)"
	check "no device was made" "" "$(log_since nested | grep 'RDMA device')"
	in_a ip link del va3
	in_a ip link del ob
else
	say "not run: this kernel has no bonds in bonds"
fi
in_a ip link del "$BOND_A"
become "without the bond" "la1 la2" va1 va2

: "a mode that RoCE does not know"
show_a ip link add "$BOND_A" type bond mode balance-rr
for i in 1 2; do
	in_a ip link set va$i down
	in_a ip link set va$i master "$BOND_A"
done
become "balance-rr" "none la1 la2" "$BOND_A" va1 va2
in_a ip link del "$BOND_A"

: "a device of two ports whose ports are bonded"
reload_driver 'netdevs=va1+va2,vb?' || die "does not load with netdevs=va1+va2"
busywait 60 device_on va1
two=$(device_on va1)
check "its ports" "1 2" "$(ls "$IB/$two/ports" | paste -sd' ')"
in_a ip link add "$BOND_A" mtu 4200 type bond mode 802.3ad
for i in 1 2; do
	in_a ip link set va$i down
	in_a ip link set va$i master "$BOND_A"
done
become "two ports under a bond" "roce_bond0 none" "$BOND_A" va1
check "its ports" 1 "$(ls $IB/roce_bond0/ports)"
in_a ip link del "$BOND_A"
become "and back" "$two" va1
check "its ports" "1 2" "$(ls "$IB/$two/ports" | paste -sd' ')"
reload_driver || die "does not load again"
lag_links

: "roce_lag_ecmp_dev: two netdevs without a bond"
for i in 1 2; do
	in_a ip addr add 10.9.$i.1/24 dev va$i
	in_b ip addr add 10.9.$i.2/24 dev vb$i
	in_a ip link set va$i up
	in_b ip link set vb$i up
done
ecmp() { sh -c "echo $2 > $IB/$1/roce_lag_ecmp_dev"; }
check_fails "no such netdev" ecmp la1 nothing
check_fails "itself" ecmp la1 va1
show_a ip link property add dev va2 altname abcdefghijklmnop
check_fails "a name that begins with one of va2" ecmp la1 abcdefghijklmnopqrstuvwxyz
check_fails "a long name" ecmp la1 "abcdefghijklmnop$(printf %0128d 0)"
check_match "says what it takes" 'takes the name of another Ethernet netdev' "$(kernel_log)"
become "nothing has changed" "la1 la2" va1 va2
for host in a b; do
	# Both netdevs reach the addresses of either one: routes as routers would announce.
	"in_$host" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	for i in 1 2; do "in_$host" sysctl -qw net.ipv4.conf.v$host$i.rp_filter=0; done
done
in_a ip route add 10.9.1.2/32 nexthop dev va1 nexthop dev va2 || say "no multipath: both are on link"
in_b ip route add 10.9.1.1/32 nexthop dev vb1 nexthop dev vb2
show ecmp la1 va2
# Of two LAGs the one created first has the first name.
become "joined" "roce_lag0 none" va1 va2
show ecmp lb1 vb2
# Resolve neighbours in both directions first: late answers to ARP requests are not of interest
# here. The answer to a ping may arrive on either netdev, as the other host's route decides, so
# its arrival on this one proves nothing.
knows() { # knows HOST DEV ADDRESS
	"in_$1" ping -c1 -W1 -I "$2" "$3" > /dev/null
	"in_$1" ip neigh show "$3" dev "$2" | grep -q lladdr
}
for i in 1 2; do
	busywait 60 knows a va$i 10.9.1.2 || die "va$i finds no neighbour 10.9.1.2: $(in_a ip neigh)"
	busywait 60 knows b vb$i 10.9.1.1 || die "vb$i finds no neighbour 10.9.1.1: $(in_b ip neigh)"
done
become "the other host" "roce_lag1 none" vb1 vb2
DEV_A=roce_lag0 DEV_B=roce_lag1
make_device_nodes
check "the other netdev" va2 "$(cat $IB/roce_lag0/roce_lag_ecmp_dev)"
check "half the GID table" 64 "$(find $IB/roce_lag0/ports/1/gids -type f | wc -l)"
wait_check 60 "rate of both" rate_is "20 Gb/sec (2X FDR10)"
for type in v1 v2; do
	busywait 60 gid_index roce_lag0 $type 10.9.1.1
	busywait 60 gid_index roce_lag1 $type 10.9.1.2
	ia=$(gid_index roce_lag0 $type 10.9.1.1) ib=$(gid_index roce_lag1 $type 10.9.1.2)
	CAPTURE_IF=vb2 capture_start "$WORK/cap"
	# Routes join the two: v1, which uses none, stays on the first.
	sent_by --flow-label 3 && mostly ${type#v} "$type: an odd flow label"
	capture_stop
	if [ $type = v2 ]; then
		check "source MAC is the member's" "$(in_a cat /sys/class/net/va2/address)" \
			"$(tcpdump -nner "$WORK/cap" udp port 4791 and src 10.9.1.1 2> /dev/null | awk '{print $2}' | sort -u)"
	fi
	sent_by --flow-label 2 && mostly 1 "$type: an even flow label"
done
traffic_start fail2 "$ia" "$ib" --seconds 600 --mtu 4096 --flow-label 3
show sh -c "echo 96 > $IB/roce_lag0/tc/1/traffic_class"
one=$(tx va1)
show_b ip link set vb2 down
wait_check 60 "va1 has taken over" tx_above va1 $((one + 100000))
traffic_stop fail2 60
in_b ip link set vb2 up
show ecmp roce_lag0 ""
become "parted" "la1 la2" va1 va2
show_b ip link del vb2
become "a netdev of two goes" "lb1" vb1
finish
