#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: core
# timeout: 60
#
# Takes the guest down.

echo "about to panic"
kill -SEGV 1
echo c > /proc/sysrq-trigger
sleep 10
