#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: two-vm
# tier: wide
# timeout: 1500
#
# Two machines, roce_hca on both: every operation and the stock tools over v1 and
# v2, IPv4 and IPv6, in both directions.

. "$(dirname "$0")/../lib/two-vm-lib.sh"
only_ours

setup_machine 9000
everything v1 v2
finish
