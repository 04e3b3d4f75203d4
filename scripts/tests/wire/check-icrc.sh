#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: core
# timeout: 900
#
# The capture checker itself: packets built by scapy pass, and each with one changed bit or
# length fails (check-icrc.py --selftest).

cd "$(dirname "$0")/../lib" || exit 1
exec /usr/bin/python3 -B ./check-icrc.py --selftest
