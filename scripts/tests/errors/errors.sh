#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# Errors that users meet: each is provoked, and its status or errno checked: see errors.py; and
# the memory lock limit with its line in the log.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	LIMIT=300 python errors.py "$DEV_A" "$ia" "$DEV_B" "$ib"
done
! ours || LIMIT=60 python errors.py "$DEV_A" "$ia" "$DEV_B" "$ib" --only refused

: "memlock limit: a process without CAP_IPC_LOCK registers 1 MiB under 256 KiB, which its queues count for too"
log_mark "memlock"
cat > "$WORK/memlock.py" <<- 'END'
	import sys
	sys.path.insert(0, sys.argv[1])
	import verbs
	end = verbs.End(sys.argv[2], 0, size=4096)
	print('small', end.register(4096)['errno'], 'large', end.register(1 << 20)['errno'])
END
memlock() { # memlock LIMIT
	(ulimit -l "$1" && setpriv --bounding-set=-ipc_lock $PYTHON "$WORK/memlock.py" "$LIB" "$DEV_A")
}
check "memlock 256 KiB: 1 MiB gives ENOMEM (12)" "small 0 large 12" "$(memlock 256)"
if ours; then
	check_match "the log names the limit" 'mem ?lock|MEMLOCK|locked memory' \
		"$(log_since "memlock")"
fi
check "memlock 8 MiB: 1 MiB is fine" "small 0 large 0" "$(memlock 8192)"
finish
