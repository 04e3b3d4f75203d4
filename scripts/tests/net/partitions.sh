#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 900
#
# P_Keys: the file and invalid writes, which hosts can communicate (partitions.py), P_Keys
# on the wire, and rdma_cm with a limited or removed default partition.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

only_ours
setup_pair 1500
need tcpdump
FILE=$IB/$DEV_A/partitions/1/pkeys
put() { echo "$2" > "$IB/$1/partitions/1/pkeys"; }

# refused TEXT ERRNO: writing gives that error and a line in the log, and keeps the table
refused() {
	local before
	before=$(< "$FILE")
	log_mark "$1"
	check "'$1' is refused" "$2" "$($PYTHON - "$FILE" "$1" <<- 'END'
		import errno, os, sys
		try:
		    os.write(os.open(sys.argv[1], os.O_WRONLY), sys.argv[2].encode().replace(b';', b'\n'))
		    print('taken')
		except OSError as ex:
		    print(errno.errorcode[ex.errno])
	END
	)"
	check "'$1' leaves the table" "$before" "$(< "$FILE")"
	check "'$1' has one line in the log" 1 "$(log_since "$1" | grep -c 'partitions/1/pkeys')"
}

: "the file"
check "table of a new port" "0 0xffff" "$(< "$FILE")"
check "its length" 128 "$(find "$IB/$DEV_A/ports/1/pkeys/" -type f | wc -l)"
check_ok "several lines are accepted" put "$DEV_A" '0 0x8001, 7 0x0002, 127 0xffff'
check "they are there" "0 0x8001 7 0x0002 127 0xffff" "$(xargs < "$FILE")"
check "ib_core shows them" "0x8001 0x0002 0xffff 0x0000" \
	"$(cat "$IB/$DEV_A"/ports/1/pkeys/{0,7,127,8} | xargs)"
refused '0 0x8000' EINVAL
refused '128 0x8001' EINVAL
refused '3 8001' EINVAL
refused 'default' EINVAL
refused '3 0x8003 0x8004' EINVAL
refused '3 0x8001' EEXIST
refused '3 0x8003;4 0x8000' EINVAL
check_ok "the table is restored" put "$DEV_A" '0 0xffff, 7 0, 127 0'

for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	: "$type: tenants"
	python partitions.py "$DEV_A" "$ia" "$DEV_B" "$ib"
done

: "rdma_cm finds its partition wherever it is; handshake and data are in it"
rping() { # rping NAME
	PORT=$((${PORT:-7700} + 1))
	pair "$1" cm:$PORT "rping -s -a $IP4_A -p $PORT -C 3" \
		"rping -c -a $IP4_A -I $IP4_B -p $PORT -C 3"
}
put "$DEV_A" '0 0x8001, 3 0xffff'
put "$DEV_B" '0 0x8002, 1 0x8001, 9 0x7fff'
capture_start "$WORK/cm.pcap" udp port 4791
rping "rping with 0xffff at 3 and 0x7fff at 9"
capture_stop
check_ok "the capture is correct" $PYTHON "$LIB/check-icrc.py" "$WORK/cm.pcap" --expect 10
check "P_Keys of all packets of both sides" "32767 65535" \
	"$($PYTHON "$LIB/check-icrc.py" "$WORK/cm.pcap" --list | grep -oE 'pkey=[0-9]+' | sort -u | cut -d= -f2 | xargs)"

: "limited to limited: nothing arrives, and it is counted"
put "$DEV_A" '3 0x7fff'
before=$(hw_counter "$DEV_A" rx_dropped_bad_pkey)
PORT=$((PORT + 1))
spawn_a timeout 120 rping -s -a $IP4_A -p $PORT -C 1 > "$WORK/limited.srv" 2>&1
listens_cm $! $PORT
spawn_b timeout 120 rping -c -a $IP4_A -I $IP4_B -p $PORT -C 1 > "$WORK/limited.cli" 2>&1
client=$!
counted() { [ "$(hw_counter "$DEV_A" rx_dropped_bad_pkey)" -gt "$before" ]; }
wait_check 60 "the connection request is a violation at the server" counted
check_ok "the client still waits" kill -0 $client
kill $client

: "no default partition: rdma_cm says so at once"
put "$DEV_B" '9 0'
start=$SECONDS
in_b timeout 120 rping -c -a $IP4_A -I $IP4_B -p $PORT -C 1 > "$WORK/none.cli" 2>&1
check_match "rping fails, and not by a time limit" '^(1|2|255)$' $?
check_match "it says why: ENOENT" 'No such file or directory' "$(< "$WORK/none.cli")"
say "after $((SECONDS - start)) s: $(xargs < "$WORK/none.cli")"
finish
