#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: core
# timeout: 60
#
# Leaves a device and a namespace behind.

ip link add planted0 type dummy
ip netns add planted
