#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""On an adapter without a free running clock: requests for time stamps of that clock are refused,
and do not get those of another.

usage: stamps.py DEVICE
"""
import errno
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ, CQEX, CqInitAttrEx
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPCap, QPInitAttr


def attempt(pd, send_cq, recv_cq):
    """Returns the errno of creating a queue pair with these, or 0."""
    try:
        QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=send_cq, rcq=recv_cq,
                          cap=QPCap(max_send_wr=4, max_recv_wr=4))).close()
        return 0
    except PyverbsError as error:
        return error.error_code


def main():
    context = Context(name=sys.argv[1])
    pd, plain = PD(context), CQ(context, 16)
    stamped = CQEX(context, CqInitAttrEx(cqe=16, wc_flags=e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP))
    failed = 0
    for name, queues, wanted in (('none', (plain, plain), 0),
                                 ('both', (stamped, stamped), errno.EOPNOTSUPP),
                                 ('received', (plain, stamped), errno.EOPNOTSUPP),
                                 ('sent', (stamped, plain), errno.EOPNOTSUPP)):
        found = attempt(pd, *queues)
        failed += found != wanted
        print('%s stamps-%s%s' % ('PASS' if found == wanted else 'FAIL', name,
                                  '' if found == wanted else ' (errno %d)' % found), flush=True)
    return 1 if failed else 0


sys.exit(main())
