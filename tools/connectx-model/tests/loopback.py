# SPDX-License-Identifier: GPL-2.0
"""A reliable connection of a queue pair with itself, by pyverbs."""
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ

# Remote rights of a region: each alone, and all together
RIGHTS = {
    'local-write': e.IBV_ACCESS_LOCAL_WRITE,
    'remote-write': e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE,
    'remote-read': e.IBV_ACCESS_REMOTE_READ,
    'atomic': e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_ATOMIC,
    'bind': e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_MW_BIND,
    'relaxed': ACCESS | e.IBV_ACCESS_RELAXED_ORDERING,
    'zero-based': ACCESS | e.IBV_ACCESS_ZERO_BASED,
    'all': ACCESS | e.IBV_ACCESS_REMOTE_ATOMIC | e.IBV_ACCESS_MW_BIND |
           e.IBV_ACCESS_RELAXED_ORDERING,
}


def connect_to_itself(context, pd, index, send_cq, recv_cq):
    """index: of the GID. Returns the queue pair, ready to send."""
    cap = QPCap(max_send_wr=16, max_recv_wr=16)
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=send_cq, rcq=recv_cq, cap=cap))
    qp.to_rts(attributes(context, index, qp))
    return qp


def attributes(context, index, qp):
    """For a connection of a queue pair to itself."""
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, index), sgid_index=index),
                          is_global=1, port_num=1)
    attr.dest_qp_num = qp.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    return attr
