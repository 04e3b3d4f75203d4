#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: core
# timeout: 60
#
# Provokes a message that it announced.

echo "rhca-test: expect planted" > /dev/kmsg
echo "WARNING: CPU: 0 PID: 1 at planted.c:1 planted+0x0/0x1" > /dev/kmsg
