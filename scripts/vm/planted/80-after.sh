#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: wide
# timeout: 60
#
# Runs after all of these, in a clean guest.

[ ! -e /sys/class/net/planted0 ] || exit 1
[ -z "$(ip netns list)" ]
