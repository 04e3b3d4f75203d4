#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: full
# timeout: 60
#
# Is not of the core tier.

exit 1
