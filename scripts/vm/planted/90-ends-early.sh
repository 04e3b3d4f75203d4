#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: wide
# timeout: 60
#
# Passes, but the guest then ends before the search for leaks.

kill -STOP $(pgrep -x guest-run)
setsid bash -c 'until [ -e "$RHCA_SHARE/results/90-ends-early.status" ]; do sleep 0.1; done
	kill -KILL $(pgrep -x guest-run)' > /dev/null 2>&1 &
# Until it is in a session of its own: what is left of this one is killed
until [ "$(ps -o sid= -p $!)" -eq $! ]; do sleep 0.1; done
