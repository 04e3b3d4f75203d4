#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: full
# timeout: 60
#
# Is neither of the core tier nor of the wide one.

exit 1
