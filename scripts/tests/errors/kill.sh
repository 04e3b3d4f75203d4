#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# kill -9 of either end during a transfer: the other end gets status 12 or a flush instead
# of waiting for ever, all objects of the killed process are freed, and new programs
# connect.
#
#   a: serving process (ra$$)  ====== veth ======  b: traffic.py (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000

PORT=19100
for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	for victim in receiver sender; do
		PORT=$((PORT + 1))
		spawn_a $PYTHON "$LIB/verbs.py" --serve $PORT
		server=$!
		busywait 60 listens_tcp $server $PORT || die "no server"
		# Each end is served by a child of the server; this child is killed.
		if [ $victim = receiver ]; then
			ends="$DEV_B $ib $IP4_A:$PORT/$DEV_A $ia"
		else
			ends="$IP4_A:$PORT/$DEV_A $ia $DEV_B $ib"
		fi
		# shellcheck disable=SC2086
		spawn_b $PYTHON "$HERE/survivor.py" $ends --victim $victim > "$WORK/$victim" 2>&1
		survivor=$!
		busywait 60 grep -q running "$WORK/$victim" || { cat "$WORK/$victim"; die "no traffic"; }
		for dev in "$DEV_A" "$DEV_B"; do
			check_match "$type: QPs, CQs, MRs and PDs of $dev are counted" '^([1-9][0-9]* ){4}' "$(objects_of "$dev")"
		done
		show kill -9 "$(pgrep -P $server)"
		gone() { ! kill -0 $survivor; }
		busywait 60 gone || { fail "$type, $victim killed: expected the other end to end within 60 s"; kill -9 $survivor; }
		wait $survivor 2> /dev/null
		judge "$type, $victim killed" "$WORK/$victim" $?
		kill $server 2> /dev/null
		wait $server 2> /dev/null
		wait_check 60 "$type, $victim killed: QPs, CQs, MRs and PDs are all freed" no_objects "$DEV_A" "$DEV_B"
	done

	: "stock tools: the client of a pingpong and of a perftest is killed"
	PORT=$((PORT + 10))
	spawn_a timeout 300 ib_write_bw -d "$DEV_A" -x "$ia" -p $PORT -F -D 60 > "$WORK/bw.srv" 2>&1
	server=$!
	busywait 60 listens_tcp $server $PORT
	spawn_b ib_write_bw -d "$DEV_B" -x "$ib" -p $PORT -F -D 60 $IP4_A > "$WORK/bw.cli" 2>&1
	client=$!
	# There is no other indication: data flows once the peer's QP is in RTS.
	in_rts() { rdma resource show qp link "$DEV_B" 2> /dev/null | grep ' pid ' | grep -q 'state RTS'; }
	busywait 60 in_rts || fail "ib_write_bw: expected its QP in RTS"
	sleep 1
	show kill -9 $client
	wait $client 2> /dev/null
	server_gone() { ! kill -0 $server; }
	busywait 30 server_gone || kill $server
	wait $server 2> /dev/null
	wait_check 60 "$type: after ib_write_bw was killed all is freed" no_objects "$DEV_A" "$DEV_B"

	PORT=$((PORT + 1))
	pair "afterwards-$type" tcp:$PORT "ibv_rc_pingpong -d $DEV_A -g $ia -p $PORT -n 10" \
		"ibv_rc_pingpong -d $DEV_B -g $ib -p $PORT -n 10 $IP4_A"
done

# No memory remains pinned.
finish
