#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: wide
# timeout: 600
#
# Each tracepoint listed in Documentation/tracing.rst exists and fires on its event:
# creation and removal of devices, a QP's transition to ERR, a full local queue, loss,
# congestion marks, missing pages, a CQ overrun, dropped packets.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours
need tc ib_read_bw

TRACING=/sys/kernel/tracing
[ -e $TRACING/events ] || mount -t tracefs tracefs $TRACING 2> /dev/null ||
	skip "this kernel has no tracing"
load_driver
[ -d $TRACING/events/rhca ] || die "no tracepoints of system rhca"
defer "echo 0 > $TRACING/events/rhca/enable"

# Events of each packet are tested separately, as they would push the others out of the buffer.
often="rhca_rx rhca_turn rhca_tx rhca_window"
events() { find $TRACING/events/rhca -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort; }
switch() { # switch VALUE EVENT...
	local value=$1 event
	shift
	for event; do echo "$value" > "$TRACING/events/rhca/$event/enable"; done
}
lines() { grep -c " $1: $2" $TRACING/trace; }
FIRED=()
fired() {
	FIRED+=("$1")
	check_match "$1 fires${3:+: $3}" '^[1-9]' "$(lines "$1" "$2")"
}

DOCUMENTATION=$HERE/../../../Documentation
documented=$(sed -n 's/^``\(rhca_[a-z0-9_]*\)``.*/\1/p' "$DOCUMENTATION/tracing.rst" | sort -u)
check "those of tracing.rst, and no others" "$documented" "$(events)"

echo 4096 > $TRACING/buffer_size_kb
echo > $TRACING/trace
echo 1 > $TRACING/events/rhca/enable
# shellcheck disable=SC2086
switch 0 $often
setup_pair 9000
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
fired rhca_netdev "netdev=$IF_A what=\"asked for\" error=0"
fired rhca_device "dev=$DEV_A netdev=$IF_A what=\"registered\" error=0"
row=$(sed -n 's/^   \* - \([0-9]*\) ``WANTED``$/\1/p' "$DOCUMENTATION/lifecycle.rst")
fired rhca_slot_decide "netdev=$IF_A row=$row want=software has=nothing .*wish=link .*request" "the row of the table"
check_fails "a second device on the netdev" in_a rdma link add again type roce netdev "$IF_A"
fired rhca_netdev "netdev=$IF_A what=\"asked for\" error=-" "why there is none"

: "packets"
# shellcheck disable=SC2086
switch 1 $often
LIMIT=60 python ops.py "$DEV_A" "$ia" "$DEV_B" "$ib" --types RC --quick --label "traced "
pair reads tcp:18700 "ib_read_bw -d $DEV_A -x $ia -p 18700 -F -n 64 -s 64 -o 1 -l 16" \
	"ib_read_bw -d $DEV_B -x $ib -p 18700 -F -n 64 -s 64 -o 1 -l 16 $IP4_A"
# shellcheck disable=SC2086
switch 0 $often
fired rhca_tx "dev=$DEV_A .*netdev=$IF_A result=0"
fired rhca_rx "netdev=$IF_B .*encap=v2-ipv4"
fired rhca_turn ".*requester IDLE->RUNNING .*kicks=POST" "a post"
fired rhca_turn ".*responder" "responses"
fired rhca_window ".*why=credit" "no receive request"
fired rhca_window "dev=$DEV_B .*reads=1 of 1 why=reads" "a READ is unanswered"
fired rhca_qp_state "dev=$DEV_A .*RTR->RTS by=modify_qp"
echo > $TRACING/trace

: "a local queue that is full"
echo 'result != 0' > $TRACING/events/rhca/rhca_tx/filter
switch 1 rhca_tx rhca_window
show_a tc qdisc replace dev "$IF_A" root tbf rate 20mbit burst 3000 limit 8000
LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 4 --timeout 14 --least 5 --read
show_a tc qdisc del dev "$IF_A" root
fired rhca_tx "dev=$DEV_A .*result=1" "refused"
check "and the filter lets nothing else through" 0 "$(lines rhca_tx '.*result=0')"
fired rhca_retransmit "dev=$DEV_A .*cause=\"local queue\""
fired rhca_cwnd "dev=$DEV_A"
fired rhca_window "dev=$DEV_A .* in_flight=\([0-9]*\) of \1 .*why=window" "the congestion window is full"
switch 0 rhca_tx rhca_window
echo 0 > $TRACING/events/rhca/rhca_tx/filter
echo > $TRACING/trace

: "loss"
show_a tc qdisc replace dev "$IF_A" root netem limit 10000 loss 3% duplicate 5%
show_b tc qdisc replace dev "$IF_B" root netem limit 10000 loss 3% duplicate 5%
LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 5 --timeout 14 --least 5 --read
show_a tc qdisc del dev "$IF_A" root
show_b tc qdisc del dev "$IF_B" root
fired rhca_nak "dev=$DEV_B .*sent nak"
fired rhca_nak "dev=$DEV_A .*received nak"
fired rhca_retransmit "dev=$DEV_A .*cause=\"nak\""
fired rhca_repeat_answered "dev=$DEV_A .*ns=[1-9]"
fired rhca_rx_drop ".*counter=rx_dropped_out_of_window qpn=[1-9]"
echo > $TRACING/trace

: "marks in place of losses"
show_a tc qdisc replace dev "$IF_A" root netem limit 10000 loss 3% ecn
LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 2 --timeout 14 --least 5
show_a tc qdisc del dev "$IF_A" root
fired rhca_rate "dev=$DEV_A .*cause=cnp"
echo > $TRACING/trace

: "errors"
LIMIT=200 python ../errors/cq-overrun.py "$DEV_A" "$ia" "$DEV_B" "$ib"
fired rhca_cq_overrun "dev=r[ab]"
LIMIT=200 python errors.py "$DEV_A" "$ia" "$DEV_B" "$ib"
fired rhca_wc_error "dev=r[ab].*status=\"[a-zA-Z]"
fired rhca_qp_event "dev=r[ab].*event=\"[a-zA-Z]"
fired rhca_qp_state ".*->ERR by=error"

: "pages that are not there"
read -r ended status _ < <(timeout 60 $PYTHON "$HERE/../errors/slow-pages.py" others "$DEV_A" "$ia" "$DEV_B" "$ib")
check "messages with on-demand paging" "64 0" "${ended:-none} ${status:-}"
fired rhca_odp "addr=0x[0-9a-f]* .*error=0"

show rdma link del "$DEV_A"
fired rhca_device "dev=$DEV_A netdev= what=\"unplugged\""
fired rhca_device "dev=$DEV_A netdev= what=\"gone\""
FIRED+=(rhca_mlx5_command)	# on the device model: ours-commands.sh
check "each of tracing.rst was to fire" "$documented" "$(printf '%s\n' "${FIRED[@]}" | sort -u)"
finish
