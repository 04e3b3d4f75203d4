#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: two-vm
# tier: wide
# timeout: 1200
#
# roce_hca on machine a, the in-tree rdma_rxe on machine b, like adapters of two vendors: every
# operation and the stock tools over v2, in both directions.

[ "${VM_ROLE:-}" = b ] && RHCA_LINK_TYPE=rxe
. "$(dirname "$0")/../lib/two-vm-lib.sh"

setup_machine 9000
everything v2
finish
