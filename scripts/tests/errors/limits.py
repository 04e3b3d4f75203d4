#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Announced limits are true: limits.py DEVICE

An object at each limit can be created, one beyond it cannot (an errno, no crash).
"""

import sys

import verbs
from pyverbs.cq import CQ
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from verbs import check, d, e

ctx = d.Context(name=sys.argv[1])
attr = ctx.query_device()
pd = PD(ctx)
cq = CQ(ctx, 16, None, None, 0)


def attempt(make):
    """Whether it can be created (it is closed again)."""
    try:
        made = make()
    except PyverbsError:
        return False
    except (OverflowError, ValueError):
        return False
    made.close()
    return True


def qp(kind=e.IBV_QPT_RC, send=4, recv=4, ssge=1, rsge=1, inline=0, srq=None):
    cap = QPCap(max_send_wr=send, max_recv_wr=recv, max_send_sge=ssge, max_recv_sge=rsge,
                max_inline_data=inline)
    return QP(pd, QPInitAttr(qp_type=kind, scq=cq, rcq=cq, srq=srq, cap=cap))


def srq(wr=4, sge=1):
    return SRQ(pd, SrqInitAttr(SrqAttr(max_wr=wr, max_sge=sge)))


def limit(what, make, most):
    check(f'{what} {most} is accepted', True, attempt(lambda: make(most)))
    check(f'{what} {most + 1} is refused', False, attempt(lambda: make(most + 1)))
    check(f'{what} 2^31-1 is refused', False, attempt(lambda: make(2**31 - 1)))


def twice(what, make, init):
    """Creation writes the actual limits to init: those may be requested, too."""
    for turn in ('once', 'again'):
        check(f'{what} is accepted {turn}', True, attempt(lambda: make(pd, init)))


limit('send queue of', lambda n: qp(send=n), attr.max_qp_wr)
limit('receive queue of', lambda n: qp(recv=n), attr.max_qp_wr)
limit('send SGEs', lambda n: qp(ssge=n), attr.max_sge)
limit('receive SGEs', lambda n: qp(rsge=n), attr.max_sge)
limit('CQ of', lambda n: CQ(ctx, n, None, None, 0), attr.max_cqe)
limit('SRQ of', lambda n: srq(wr=n), attr.max_srq_wr)
limit('SRQ SGEs', lambda n: srq(sge=n), attr.max_srq_sge)
twice(f'QP with queues of {attr.max_qp_wr}', QP,
      QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                 cap=QPCap(max_send_wr=attr.max_qp_wr, max_recv_wr=attr.max_qp_wr)))
twice(f'SRQ of {attr.max_srq_wr}', SRQ, SrqInitAttr(SrqAttr(max_wr=attr.max_srq_wr)))
check('inline data of 1 GiB is refused', False, attempt(lambda: qp(inline=1 << 30)))
check('CQ of 0 is refused', False, attempt(lambda: CQ(ctx, 0, None, None, 0)))
check('completion vector beyond the last is refused', False,
      attempt(lambda: CQ(ctx, 16, None, None, ctx.num_comp_vectors)))
check('each completion vector is accepted', True,
      all(attempt(lambda v=v: CQ(ctx, 16, None, None, v)) for v in range(ctx.num_comp_vectors)))
for name in ('XRC_SEND', 'RAW_PACKET'):
    check(f'QP type {name} is not offered', False, attempt(lambda n=name: qp(getattr(e, 'IBV_QPT_' + n))))

# A CQ can grow and shrink, but not below what it holds, and not beyond the limit.
big = CQ(ctx, 16, None, None, 0)
for size in (64, 1000, 8):
    big.resize(size)
    check(f'CQ resized to {size}', True, big.cqe >= size)
try:
    big.resize(attr.max_cqe + 1)
    check('CQ resized beyond the limit', 'refused', 'done')
except PyverbsError:
    check('CQ resized beyond the limit', 'refused', 'refused')

# An SRQ's limit is at most its size, and its size can be changed where offered.
one = srq(wr=16)
try:
    one.modify(SrqAttr(max_wr=16, srq_limit=attr.max_srq_wr + 1), e.IBV_SRQ_LIMIT)
    check('SRQ limit above its size', 'refused', 'done')
except PyverbsError:
    check('SRQ limit above its size', 'refused', 'refused')

longest = srq(wr=attr.max_srq_wr)
check('the longest SRQ reports', attr.max_srq_wr, longest.query().max_wr)
longest.modify(longest.query(), e.IBV_SRQ_MAX_WR)
longest.close()

# Create many objects at once, then destroy all: nothing is left behind.
many = min(attr.max_qp, 300)
qps = [qp() for _ in range(many)]
check(f'{many} QPs have different numbers', many, len({one.qp_num for one in qps}))
check('no QP has number 0 or 1', True, all(one.qp_num > 1 for one in qps))
for one in qps:
    one.close()
verbs.finish()
