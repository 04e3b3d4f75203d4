#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 6
# timeout: 1200
#
# The UCX of this system, with no variable set. See consumer-ucx-lib.sh.

. "$(dirname "$0")/consumer-ucx-lib.sh"
only_ours
command -v ucx_perftest > /dev/null || skip "no ucx_perftest (package ucx-utils)"
say "$(ucx_info -v | head -n 1)"
# Debian 13's is built with MPI, and takes a standard input that is no terminal for a job
if ucx_perftest -h 2>&1 | grep -q 'disable/enable MPI mode'; then
	check_ucx "ucx_perftest -P 0"
else
	check_ucx ucx_perftest
fi
