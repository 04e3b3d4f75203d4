#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml-debug
# tier: core
# timeout: 60
#
# Belongs to another place.

exit 1
