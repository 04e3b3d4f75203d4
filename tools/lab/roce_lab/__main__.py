# SPDX-License-Identifier: GPL-2.0
"""roce-lab: RDMA programs on a User-Mode Linux of their own."""

import os
import sys

if sys.version_info < (3, 7):
    sys.exit('roce-lab: it needs Python 3.7 or newer')

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from roce_lab import cli  # noqa: E402

cli.main(sys.argv[1:])
