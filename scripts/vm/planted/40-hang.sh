#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: core
# timeout: 5
#
# Does not end; what it starts must be ended too.

sleep 1000 &
wait
