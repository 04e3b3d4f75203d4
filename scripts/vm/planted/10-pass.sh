#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: core
# timeout: 60
#
# Passes.

echo "all is well"
