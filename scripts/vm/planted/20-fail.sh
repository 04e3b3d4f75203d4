#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: core
# timeout: 60
#
# Fails, saying why.

echo "expected 1, got 2"
exit 1
