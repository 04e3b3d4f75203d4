# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scenarios of roce-lab: builds it, moves it to its own folder, and runs it as
# an unknown user without capabilities, who is unique to each run.

. scripts/tests/lib/checks.sh

# With an argument: for a child of a scenario that has made the folders.
if [ $# -eq 0 ]; then
	uid=$((50000000 + $$))
	# Not below /tmp or /var/tmp, of which a lab has its own
	work=$(mktemp -d /var/lib/rhca-lab.XXXXXX)
	home="$work/a home, with \"blanks\""
	trap 'cleanup' EXIT
fi

cleanup() {
	pkill -KILL -u $uid
	rm -rf "$work"
}

# check_demo FILE LINK: output of scripts/demo.sh; LINK: the client's, with its port
check_demo() {
	local row

	for row in 'ibv_rc_pingpong.* us .* us' 'rping.* 20 pings .*20 pings' \
		'ib_write_bw.* (MiB.s|unmeasured) .* (MiB.s|unmeasured)' \
		'ib_send_lat.* (us|unmeasured) .* (us|unmeasured)'; do
		check "$row" 1 "$(grep -cE "^  $row\$" "$1")"
	done
	check "nothing failed" "" "$(grep -F "failed (" "$1")"
	# All counters on one line, or each on its own, as with Debian 13's rdma
	check_match "bytes went over its port" ' tx_packets [1-9][0-9]+ ' "$(grep -A 10 "^link $2 " "$1")"
}
finish() {
	[ "$CHECKS" -gt 0 ] && [ "$FAILS" -eq 0 ]
	exit
}

lab_setup() { # lab_setup [--plain]: options of tools/lab/build
	if [ "$(id -u)" -ne 0 ]; then
		echo "SKIP only root can become another user"
		exit 4
	fi
	[ -n "${RHCA_LAB-}" ] || tools/lab/build "$@" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
	mkdir -p "$work/moved here" "$home"
	cp -a "${RHCA_LAB:-build/lab${1+-plain}}"/{bin,lib} "$work/moved here/"
	chown $uid:$uid "$home"
	chmod 755 "$work"
}

# A user that is in no file, with a folder of his own; $groups: an option of setpriv
as_user() {
	(
		cd "$home" || exit
		PATH="$work/moved here/bin:/usr/bin:/bin" HOME=$home TMPDIR='' PWD=$home exec \
			setpriv --reuid=$uid --regid=$uid "${groups:---clear-groups}" --no-new-privs \
			--bounding-set=-all --inh-caps=-all "$@"
	)
}

# Likewise with a terminal of 33 lines and 77 columns; prints its output without carriage
# returns, and the status at the end
in_terminal() {
	printf '#!/bin/sh\nstty rows 33 cols 77\n' > "$home/.terminal"
	printf '%q ' "$@" >> "$home/.terminal"
	as_user script -qfec "sh ./.terminal" /dev/null | stdbuf -o0 tr -d '\r' | stdbuf -o0 tr '\n' ' '
	echo "${PIPESTATUS[0]}"
}

labs() { pgrep -u $uid -f '^linux mem=' | wc -l; }
none_left() { [ -z "$(pgrep -u $uid)" ]; }
