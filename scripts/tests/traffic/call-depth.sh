#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: full
# every: 6
# timeout: 600
#
# The call depth is small: where the payload of a WRITE is copied at most 7 of the driver's
# functions are on the stack, as compiled, counted from the send queue's kick and from the UDP
# socket; the function that copies is one of them, and ends in a jump to the assembler routine.
# A kprobe reports the stacks.
#
#   a (ra$$)  ====== veth, MTU 4200 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

only_ours
unset RHCA_PARAMS
reload_driver || die "does not load"
setup_pair 4200
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs tracing $tracing
[ -e $tracing/kprobe_events ] || skip "a kernel without kprobes"
echo 'p:rhca_copy rhca_crc32_copy' >> $tracing/kprobe_events || die "no kprobe"
defer "echo -:rhca_copy >> $tracing/kprobe_events"
defer "echo '!stacktrace' > $tracing/events/kprobes/rhca_copy/trigger"
defer "echo 0 > $tracing/events/kprobes/rhca_copy/enable"
echo stacktrace > $tracing/events/kprobes/rhca_copy/trigger
echo 8000 > $tracing/buffer_size_kb
echo 1 > $tracing/events/kprobes/rhca_copy/enable
# Every third message is a SEND, a WRITE and a READ: of 16 packets, 14 from the middle.
LIMIT=300 python traffic.py "$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)" \
	--messages 6 --read --size 65536 --mtu 4096
echo 0 > $tracing/events/kprobes/rhca_copy/enable

# ways FROM TO: lines of how often, how deep and through which functions FROM, a pattern,
# reached the copy, for stacks that contain TO
ways() {
	awk -v from="$1" -v to="$2" '
		function judge() {
			if (done && stack ~ " " to "( |$)")
				n[depth " " stack]++
		}
		/ rhca_copy: / { judge(); stack = ""; depth = done = open = 0 }
		$1 == "=>" && $2 == "rhca_crc32_copy" { open = 1 }
		$1 == "=>" && open {
			stack = stack " " $2
			depth++
			if ($2 ~ "^" from "$") {
				done = 1
				open = 0
			}
		}
		END { judge(); for (each in n) print n[each], each }' $tracing/per_cpu/cpu*/trace | sort -rn
}
# short WHAT FROM TO: each path is short, and the most frequent one frequent enough
short() {
	local count depth stack often=0

	while read -r count depth stack; do
		[ "$count" -le $often ] || often=$count
		check_ok "$1: $depth functions, $count times: $stack" [ "$depth" -le 7 ]
	done < <(ways "$2" "$3")
	check_ok "$1: seen $often times" [ $often -ge 10 ]
}

short "out" "rhca_send_kick(_locked)?" rhca_gather
short "in, WRITE" udp_receive rhca_checked_to_mem
short "in, SEND and READ response" udp_receive rhca_scatter_checked
finish
