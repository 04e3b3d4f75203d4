#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Create, use and destroy each kind of object that an RDMA driver has, one per step.

usage: objects.py once DEVICE GID-INDEX
       objects.py refuse DEVICE GID-INDEX FUNCTION [STEP...]

once: each step once, with a mark before each in the model's trace.
refuse: each command that the driver gives in a step, according to the model's log, is
refused once. The caller must get an error, nothing may be left behind in the adapter,
and the next attempt must work. FUNCTION is the auxiliary device, mlx5_core.rdma.N.
"""
import collections
import errno
import json
import os
import socket
import struct
import subprocess
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr, SrqInitAttrEx
from pyverbs.xrcd import XRCD, XRCDInitAttr

PATIENCE_S = 120
BYTES = 3 * 4096
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
ATTACH, DETACH = 30, 31         # IB_USER_VERBS_CMD_*_MCAST: pyverbs has neither
GROUP = 'ff0e::ffff:efff:1'     # 239.255.0.1
KINDS = ('CQ', 'PD', 'QP', 'Q counter', 'RMP', 'SRQ', 'UAR', 'XRC SRQ', 'XRC domain', 'mkey')

# Commands, some in one step only, whose refusal is not reported to a caller, with the reason
SILENT = {
    'context-ALLOC_UAR': 'libmlx5 tries again with the first completion queue',
    'pd-ALLOC_UAR': 'likewise',
    'mr-ALLOC_UAR': 'likewise',
    'rereg-ALLOC_UAR': 'likewise',
    'mw-ALLOC_UAR': 'likewise',
    'mr-CREATE_MKEY': 'of an empty key: it is created by a command with its list of pages',
    'rereg-CREATE_MKEY': 'likewise',
    'xrc-DESTROY_QP-2': 'of the target: tried again, since ib_core would not tell',
    'DEALLOC_XRCD': 'tried again: ib_core would have it in use for ever',
    'DEALLOC_UAR': 'tried again: the mapping is gone already',
    'DEALLOC_Q_COUNTER': 'tried again: nobody is there to hear of it',
    'DETACH_FROM_MCG': 'destroying the queue pair detaches it',
    'SET_ROCE_ADDRESS': 'the log has it; the GID is not there, and the next try is',
    'counter-QUERY_QP': 'the queue pair is taken to be in RTS, and leaves its set',
    'counter-RTS2RTS_QP-2': 'likewise: it may be in error, and count nothing any more',
    'multicast-QUERY_QP': 'ib_core asks for the state, and goes on without it',
    'multicast-QUERY_QP-2': 'likewise',
    'QUERY_Q_COUNTER': 'the counter falls to the port without its last values',
}


# Commands of mlx5_core and the netdev: its counters, and addresses for multicast groups
OTHERS = {'QUERY_VPORT_COUNTER', 'ACCESS_REG', 'QUERY_VPORT_STATE', 'MODIFY_NIC_VPORT_CONTEXT',
          'SET_FLOW_TABLE_ENTRY', 'DELETE_FLOW_TABLE_ENTRY'}


def control(**request):
    name = '%s/objects-%d' % (os.environ['RHCA_SHARE'], os.getpid())
    with open(name + '.new', 'w') as file:
        json.dump(request, file)
    os.rename(name + '.new', name + '.request')
    end = time.time() + PATIENCE_S
    while not os.path.exists(name + '.answer'):
        if time.time() > end:
            raise TimeoutError('no answer of the model')
        time.sleep(0.01)
    with open(name + '.answer') as file:
        answer = json.load(file)
    os.unlink(name + '.answer')
    return answer


def commands(may_be_lost=False):
    """Names of the adapter's commands since the last call."""
    names = []
    while True:
        part = control(cmd='log')
        assert may_be_lost or not part['lost'], part
        if not part['names']:
            return names
        names += part['names'].split()


def objects():
    counts = control(cmd='objects')
    return {kind: counts[kind] for kind in KINDS}


def error_of(exception):
    return getattr(exception, 'error_code', None) or getattr(exception, 'errno', None)


class Bench:
    """Objects of a step, destroyed in reverse order; if that is refused, it is tried once more."""
    def __init__(self, device, index):
        self.device, self.index = device, index
        self.made = []

    def add(self, thing):
        self.made.append(thing)
        return thing

    def context(self):
        return self.add(Context(name=self.device))

    def later(self, function):
        class Closer:
            close = staticmethod(function)
        self.made.append(Closer)

    def close(self):
        errors = []
        while self.made:
            thing = self.made.pop()
            try:
                thing.close()
            except (PyverbsError, OSError) as exception:
                errors.append(exception)
                thing.close()
        return errors


def route(bench, context):
    gid = context.query_gid(1, bench.index)
    return AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=bench.index), is_global=1, port_num=1)


def connection(bench, context, qp):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    attr.ah_attr = route(bench, context)
    attr.dest_qp_num = qp.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    return attr


def make_qp(bench, kind, srq=False):
    context = bench.context()
    pd = bench.add(PD(context))
    cq = bench.add(CQ(context, 16))
    cap = QPCap(max_send_wr=4, max_recv_wr=0 if srq else 4)
    init = QPInitAttr(qp_type=kind, scq=cq, rcq=cq, cap=cap)
    if srq:
        init.srq = bench.add(SRQ(pd, SrqInitAttr(SrqAttr(max_wr=16))))
        init.srq.modify(SrqAttr(max_wr=16, srq_limit=2), e.IBV_SRQ_LIMIT)
        init.srq.query()
    return context, bench.add(QP(pd, init))


def step_context(bench):
    bench.context()


def step_pd(bench):
    bench.add(PD(bench.context()))


def step_mr(bench):
    bench.add(MR(bench.add(PD(bench.context())), BYTES, ACCESS))


def step_rereg(bench):
    context = bench.context()
    pd, other = bench.add(PD(context)), bench.add(PD(context))
    mr = bench.add(MR(pd, BYTES, ACCESS))
    key = mr.rkey
    mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, access=e.IBV_ACCESS_LOCAL_WRITE)
    assert mr.rkey == key, 'the key has changed'
    mr.rereg(e.IBV_REREG_MR_CHANGE_PD | e.IBV_REREG_MR_CHANGE_ACCESS, pd=other, access=ACCESS)
    assert mr.rkey == key, 'the key has changed'


def step_cq(bench):
    cq = bench.add(CQ(bench.context(), 16))
    cq.resize(100)


def no_new_address(qp, attr):
    """In RTS an address cannot change (IBTA, MODIFY QUEUE PAIR): no command is sent."""
    try:
        qp.modify(attr, e.IBV_QP_AV)
    except PyverbsError as exception:
        assert error_of(exception) == errno.EINVAL, exception
    else:
        raise AssertionError('an address was changed in RTS')


def step_rc(bench):
    context, qp = make_qp(bench, e.IBV_QPT_RC)
    attr = connection(bench, context, qp)
    qp.to_rts(attr)
    again = QPAttr()
    again.qp_access_flags, again.min_rnr_timer = e.IBV_ACCESS_REMOTE_READ, 5
    qp.modify(again, e.IBV_QP_ACCESS_FLAGS | e.IBV_QP_MIN_RNR_TIMER)
    no_new_address(qp, attr)
    qp.query(e.IBV_QP_STATE)
    for state in (e.IBV_QPS_ERR, e.IBV_QPS_RESET):
        qp.modify(QPAttr(qp_state=state), e.IBV_QP_STATE)


def step_uc(bench):
    context, qp = make_qp(bench, e.IBV_QPT_UC)
    qp.to_rts(connection(bench, context, qp))
    again = QPAttr()
    again.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
    qp.modify(again, e.IBV_QP_ACCESS_FLAGS)


def step_ud(bench):
    _, qp = make_qp(bench, e.IBV_QPT_UD)
    attr = QPAttr(port_num=1)
    attr.qkey = 0x1234
    qp.to_rts(attr)
    attr.qkey = 0x4321
    qp.modify(attr, e.IBV_QP_QKEY)


def step_srq(bench):
    context, qp = make_qp(bench, e.IBV_QPT_RC, srq=True)
    qp.to_rts(connection(bench, context, qp))


def step_mw(bench):
    pd = bench.add(PD(bench.context()))
    bench.add(MW(pd, e.IBV_MW_TYPE_1))
    bench.add(MW(pd, e.IBV_MW_TYPE_2))


def step_xrc(bench):
    context = bench.context()
    pd = bench.add(PD(context))
    cq = bench.add(CQ(context, 16))
    xrcd = bench.add(XRCD(context, XRCDInitAttr(
        e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, -1)))
    attr = SrqInitAttrEx(max_wr=16)
    attr.srq_type = e.IBV_SRQT_XRC
    attr.pd, attr.cq, attr.xrcd = pd, cq, xrcd
    attr.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD |
                      e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_XRCD)
    bench.add(SRQ(context, attr))
    target = bench.add(QP(context, QPInitAttrEx(
        qp_type=e.IBV_QPT_XRC_RECV, comp_mask=e.IBV_QP_INIT_ATTR_XRCD, xrcd=xrcd)))
    initiator = bench.add(QP(context, QPInitAttrEx(
        qp_type=e.IBV_QPT_XRC_SEND, comp_mask=e.IBV_QP_INIT_ATTR_PD, pd=pd, scq=cq,
        cap=QPCap(max_send_wr=4, max_recv_wr=0, max_recv_sge=0))))
    initiator.to_rts(connection(bench, context, target))
    target.to_rts(connection(bench, context, initiator))


def group_command(context, command, handle):
    body = socket.inet_pton(socket.AF_INET6, GROUP) + struct.pack('=IHH', handle, 0, 0)
    os.write(context.cmd_fd, struct.pack('=IHH', command, (8 + len(body)) // 4, 0) + body)


def step_multicast(bench):
    context, qp = make_qp(bench, e.IBV_QPT_UD)
    attr = QPAttr(port_num=1)
    attr.qkey = 0x1234
    qp.to_rts(attr)
    # pyverbs hides the handle of a queue pair: it is the only object that can be attached.
    for handle in range(16):
        try:
            group_command(context, ATTACH, handle)
            break
        except OSError as exception:
            if exception.errno not in (errno.EINVAL, errno.ENOENT, errno.EBADF):
                raise
    else:
        raise OSError(errno.ENOENT, 'no queue pair found')
    group_command(context, DETACH, handle)


def netdev_of(device):
    folder = '/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0' % device
    with open(folder) as file:
        return file.read().strip()


def step_gid(bench):
    def address(word):
        subprocess.run(['ip', 'address', word, '10.99.0.1/32', 'dev', netdev_of(bench.device)],
                       check=True)
    address('add')
    bench.later(lambda: address('del'))
    time.sleep(1)       # ib_core is notified, and works later


def step_counter(bench):
    context, qp = make_qp(bench, e.IBV_QPT_RC)
    qp.to_rts(connection(bench, context, qp))
    done = subprocess.run(['rdma', 'statistic', 'qp', 'bind', 'link', bench.device + '/1',
                           'lqpn', str(qp.qp_num)], stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise OSError(errno.EIO, 'rdma statistic')


def step_congestion(bench):
    path = '/sys/class/infiniband/%s/ports/1/cc/rp_ai_rate' % bench.device
    with open(path) as file:
        value = file.read()
    with open(path, 'w') as file:
        file.write(value)


STEPS = {name[5:]: function for name, function in list(globals().items())
         if name.startswith('step_')}
# Due to mlx5_ib, which has no files for it, and to both alike
TRACED = [name for name in STEPS if name not in ('congestion', 'gid', 'counter')]


def run(step, device, index):
    """Returns the errors that the step's caller has seen."""
    bench = Bench(device, index)
    errors = []
    try:
        STEPS[step](bench)
    except (PyverbsError, OSError) as exception:
        errors.append(exception)
    return errors + bench.close()


def traced(step, function):
    """Mark a step in the model's trace; the function returns the errors of its caller."""
    control(cmd='trace', mark='step ' + step, topics='command,wqe,field')
    errors = function()
    control(cmd='trace', mark='end', topics='none')
    assert not errors, (step, errors)


def once(device, index):
    # The first one also queries the device.
    assert not run('context', device, index)
    for step in TRACED:
        traced(step, lambda step=step: run(step, device, index))


failed = False


def verdict(name, problem):
    global failed
    failed = failed or bool(problem)
    print('FAIL %s (%s)' % (name, problem) if problem else 'PASS ' + name, flush=True)


def wait_for_device(device):
    end = time.time() + PATIENCE_S
    while True:
        try:
            with open('/sys/class/infiniband/%s/ports/1/state' % device) as state, \
                    open('/sys/class/infiniband/%s/backend' % device) as backend:
                if 'ACTIVE' in state.read() and 'mlx5' in backend.read():
                    time.sleep(3)       # for its GIDs
                    return
        except OSError:
            pass
        if time.time() > end:
            raise TimeoutError('%s has not come back' % device)
        time.sleep(0.1)


def begin_anew(function, device):
    for word in ('unbind', 'bind'):
        with open('/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/' + word, 'w') as file:
            file.write(function)
    wait_for_device(device)


def list_commands(step, device, index, background):
    """[(opcode, number of earlier ones)], as the model saw them."""
    commands(may_be_lost=True)
    errors = run(step, device, index)
    assert not errors, (step, errors)
    seen = collections.Counter()
    found = []
    for name in commands():
        if name not in background:
            found.append((name, seen[name]))
            seen[name] += 1
    return found


NOT_COME = 'the command did not come'


def refuse_one(step, device, index, opcode, before, good):
    control(cmd='refuse', opcode=opcode, after=before + 1)
    errors = run(step, device, index)
    left = control(cmd='refuse')
    refused, refuse_one.done = left['refused'] - refuse_one.done, left['refused']
    now = objects()
    if now not in good:
        return 'left behind: %s, not %s' % (now, good[-1])
    if left['left'] or refused != 1:
        return NOT_COME
    names = {opcode, '%s-%s' % (step, opcode), '%s-%s-%d' % (step, opcode, before + 1)}
    if not errors and not names & set(SILENT):
        return 'nobody was told'
    if not all(error_of(error) for error in errors):
        return 'no error number: %s' % errors
    return None


refuse_one.done = 0


def refuse(device, index, function, steps):
    wait_for_device(device)
    run('context', device, index)
    commands(may_be_lost=True)
    time.sleep(5)
    background = set(commands()) | OTHERS
    print('not counted, since they come by themselves:', *sorted(background))
    refuse_one.done = control(cmd='refuse')['refused']
    for step in steps:
        good = [objects()]
        rows = list_commands(step, device, index, background)
        good.append(objects())
        # Some objects are created once for all: they must be created again. Those of earlier
        # steps are gone then.
        if good[0] != good[1]:
            begin_anew(function, device)
            fresh = objects()
            good = [fresh, {kind: fresh[kind] + good[1][kind] - good[0][kind]
                            for kind in KINDS}]
        for opcode, before in rows:
            name = 'refuse-%s-%s%s' % (step, opcode, '-%d' % (before + 1) if before else '')
            problem = refuse_one(step, device, index, opcode, before, good)
            # The object was created by an earlier run, which did not fail when this was refused
            if problem == NOT_COME and good[0] != good[1]:
                begin_anew(function, device)
                problem = refuse_one(step, device, index, opcode, before, good)
            verdict(name, problem)
        errors = run(step, device, index)
        verdict('refuse-%s-then-works' % step, errors)


def main():
    how, device, index = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if how == 'once':
        once(device, index)
    else:
        refuse(device, index, sys.argv[4], sys.argv[5:] or STEPS)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
