#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Provoke each error a user may meet: errors.py A INDEX_A B INDEX_B [--only NAME,...]

A and B are devices of this host (or HOST:PORT/DEVICE of `verbs.py --serve`).
Each case uses fresh QPs, and after it the same devices must still carry traffic.
"""

import errno
import time

import verbs
from verbs import (End, check, statuses, SUCCESS, LOC_LEN, LOC_PROT, FLUSH, REM_INV_REQ,
                   REM_ACCESS, REM_OP, RETRY_EXC, RNR_EXC, e)

parser = verbs.arguments(__doc__)
parser.add_argument('--only', default='')
args = parser.parse_args()

CASES = []


def case(function):
    CASES.append(function)
    return function


def ends(kind='RC', a=None, b=None, **attrs):
    one = End.open(args.a, args.index_a, qp_type=kind, **(a or {}))
    two = End.open(args.b, args.index_b, qp_type=kind, **(b or {}))
    verbs.connect(one, two, **attrs)
    return one, two


def close(*those):
    for end in those:
        end.close()


@case
def unreachable():
    """The peer does not answer: status 12 after the retries, then flush."""
    a, b = ends(timeout=10, retry=3)
    b.modify('RESET')
    started = time.monotonic()
    for i in range(3):
        a.post_send('WRITE', [(0, 64)], wr_id=i)
    done = a.wait(3, 60)
    check('no answer: 12, then flush, in order', [(RETRY_EXC, 0), (FLUSH, 1), (FLUSH, 2)],
          [(c['status'], c['wr_id']) for c in done])
    check('no answer: not before 4 tries of 4.2 ms', True, time.monotonic() - started > 0.012)
    check('no answer: the QP is in ERROR', 'ERR', a.state())
    close(a, b)


def blocked():
    """Run only by name: the peer is fine, but something drops our packets."""
    a, b = ends(timeout=10, retry=3)
    a.post_send('WRITE', [(0, 64)])
    check('blocked: 12', [RETRY_EXC], statuses(a.wait(1, 60)))
    close(a, b)


def refused():
    """Run only by name: what is posted too early is refused, and not sent later."""
    a, b = End.open(args.a, args.index_a, 'UC'), End.open(args.b, args.index_b, 'UC')
    b.connect(a.info())
    b.post_recv([(0, 64)])
    b.post_recv([(0, 64)])
    a.connect(b.info(), state='RTR')
    check('posted in RTR: EINVAL', errno.EINVAL, a.post_send('SEND', [(0, 7)], wr_id=7))
    a.start()
    check('posted in RTS', 0, a.post_send('SEND', [(0, 11)], wr_id=11))
    check('one completion', [(SUCCESS, 11)], [(c['status'], c['wr_id']) for c in a.wait(2, 1)])
    check('one message', [11], [c['len'] for c in b.wait(2, 1)])
    close(a, b)


BY_NAME = [blocked, refused]


@case
def wrong_qpn():
    """There is no QP with this number."""
    a = End.open(args.a, args.index_a)
    b = End.open(args.b, args.index_b)
    a.connect(b.info(), dest_qpn=0xfffff0, timeout=8, retry=2)
    a.post_send('SEND', [(0, 8)])
    check('unknown QP: 12', [RETRY_EXC], statuses(a.wait(1, 60)))
    close(a, b)


@case
def receiver_not_ready():
    """No receive posted: 13 after the RNR retries; with one posted in time, success."""
    a, b = ends(rnr_retry=1, rnr_timer=1)
    a.post_send('SEND', [(0, 64)])
    check('receiver not ready: 13', [RNR_EXC], statuses(a.wait(1, 60)))
    check('receiver not ready: the QP is in ERROR', 'ERR', a.state())
    check('receiver not ready: the QP of the receiver is not', 'RTS', b.state())
    close(a, b)
    a, b = ends(rnr_retry=7, rnr_timer=14)
    a.post_send('SEND', [(0, 64)])
    check('rnr_retry 7: the request waits', [], statuses(a.wait(1, 0.3)))
    b.post_recv([(0, 64)])
    check('it succeeds once a receive is posted', repr(([SUCCESS], [SUCCESS])),
          repr((statuses(a.wait(1, 60)), statuses(b.wait(1, 60)))))
    close(a, b)


def remote_access(what, access, op, **work):
    a, b = ends(b={'access': access})
    size = 8 if op in ('CAS', 'FADD') else work.pop('size', 64)
    a.post_send(op, [(0, size)], **work)
    check(f'remote access, {what}: 10', [REM_ACCESS], statuses(a.wait(1, 60)))
    check(f'remote access, {what}: the target QP goes to ERROR', 'ERR', settle(b, 'ERR'))
    close(a, b)


def settle(end, state, seconds=60):
    """The state, after waiting for it to become the wanted one."""
    until = time.monotonic() + seconds
    while end.state() != state and time.monotonic() < until:
        time.sleep(0.02)
    return end.state()


@case
def remote_access_error():
    full = verbs.FULL
    remote_access('wrong rkey', full, 'WRITE', rkey=0x12345678)
    remote_access('wrong rkey', full, 'READ', rkey=0x12345678)
    remote_access('wrong rkey', full, 'FADD', rkey=0x12345678)
    remote_access('beyond the end', full, 'WRITE', remote_offset=(1 << 18) - 32)
    remote_access('beyond the end', full, 'READ', remote_offset=(1 << 18) - 32)
    remote_access('before the start', full, 'WRITE', remote_offset=-32)
    remote_access('address that wraps', full, 'WRITE', raddr=(1 << 64) - 16)
    remote_access('many packets beyond the end', full, 'WRITE', remote_offset=(1 << 18) - 5000, size=8000)


@case
def fault_behind_a_read():
    """The event is raised when earlier requests have been answered."""
    a, b = ends()
    a.post_send('READ', [(0, 200000)], wr_id=1)
    a.post_send('WRITE', [(0, 64)], wr_id=2, rkey=0x12345678)
    check('a READ, then a WRITE with a wrong key: 0 and 10', [(1, SUCCESS), (2, REM_ACCESS)],
          [(c['wr_id'], c['status']) for c in a.wait(2, 120)])
    close(a, b)


@case
def region_without_permission():
    """The QP allows it, but not the region."""
    for op, kind in (('WRITE', e.IBV_ACCESS_REMOTE_READ), ('READ', e.IBV_ACCESS_REMOTE_WRITE),
                     ('FADD', e.IBV_ACCESS_REMOTE_READ)):
        a, b = ends()
        region = b.register(4096, verbs.LOCAL | kind)
        a.post_send(op, [(0, 8)], rkey=region['rkey'], raddr=region['addr'])
        check(f'{op} to a region without that right: 10', [REM_ACCESS], statuses(a.wait(1, 60)))
        close(a, b)


@case
def qp_without_permission():
    """The region allows it, but not the QP: 9 (the operation is not enabled)."""
    for op in ('WRITE', 'READ', 'FADD'):
        a = End.open(args.a, args.index_a)
        b = End.open(args.b, args.index_b)
        ia, ib = a.info(), b.info()
        a.connect(ib)
        b.connect(ia, access=verbs.LOCAL)
        a.post_send(op, [(0, 8)])
        got = statuses(a.wait(1, 60))
        check(f'{op} to a QP without that right: 9 or 10', repr([REM_INV_REQ]),
              repr(got).replace(str(REM_ACCESS), str(REM_INV_REQ)))
        close(a, b)


@case
def deregistered_region():
    """A destroyed region cannot be accessed."""
    a, b = ends()
    region = b.register(4096)
    b.deregister(region['index'])
    a.post_send('WRITE', [(0, 8)], rkey=region['rkey'], raddr=region['addr'])
    check('deregistered region: 10', [REM_ACCESS], statuses(a.wait(1, 60)))
    close(a, b)


@case
def local_length_error():
    """A message longer than the receive buffer: 1 there, 9 at the sender."""
    for size in (65, 5000):
        a, b = ends()
        b.post_recv([(0, 64)], wr_id=5)
        a.post_send('SEND', [(0, size)])
        check(f'SEND {size} into 64: sender gets 9', [REM_INV_REQ], statuses(a.wait(1, 60)))
        check(f'SEND {size} into 64: receiver gets 1', [(LOC_LEN, 5)],
              [(c['status'], c['wr_id']) for c in b.wait(1, 60)])
        close(a, b)


@case
def local_protection_error():
    """A wrong local key, and an SGE outside its region."""
    a, b = ends()
    a.post_send('SEND', [(0, 64)], lkey=0x7654321)
    check('send with a wrong lkey: 4', [LOC_PROT], statuses(a.wait(1, 60)))
    close(a, b)
    a, b = ends()
    a.post_send('WRITE', [((1 << 18) - 32, 64)])
    check('send beyond the region: 4', [LOC_PROT], statuses(a.wait(1, 60)))
    close(a, b)
    a, b = ends()
    a.post_send('READ', [((1 << 18) - 32, 64)])
    check('read into memory beyond the region: 4', [LOC_PROT], statuses(a.wait(1, 60)))
    close(a, b)
    a, b = ends(a={'access': 0})
    a.post_send('READ', [(0, 64)])
    check('read into a region without local write: 4', [LOC_PROT], statuses(a.wait(1, 60)))
    close(a, b)
    a, b = ends()
    b.post_recv([(0, 64)], lkey=0x7654321)
    a.post_send('SEND', [(0, 64)])
    check('receive with a wrong lkey: sender gets 11', [REM_OP], statuses(a.wait(1, 60)))
    check('receive with a wrong lkey: receiver gets 4', [LOC_PROT], statuses(b.wait(1, 60)))
    close(a, b)


@case
def bad_requests():
    """Requests that the responder considers invalid."""
    a, b = ends()
    ret = a.post_send('FADD', [(0, 8)], remote_offset=3)
    # This provider library rejects it itself; another one may send it to the peer.
    check('atomic at an unaligned address: EINVAL or 9', True,
          ret == errno.EINVAL or statuses(a.wait(1, 60)) == [REM_INV_REQ])
    close(a, b)


@case
def flush():
    """A QP moved to ERROR completes every request, in order."""
    a, b = ends()
    for i in range(5):
        b.post_recv([(0, 64)], wr_id=i)
    b.modify('ERR')
    check('receives flushed in order', [(FLUSH, i) for i in range(5)],
          [(c['status'], c['wr_id']) for c in b.wait(5, 30)])
    b.post_recv([(0, 64)], wr_id=9)
    check('a receive posted in ERROR is flushed', [(FLUSH, 9)],
          [(c['status'], c['wr_id']) for c in b.wait(1, 30)])
    b.post_send('SEND', [(0, 8)], wr_id=10)
    check('a send posted in ERROR is flushed', [(FLUSH, 10)],
          [(c['status'], c['wr_id']) for c in b.wait(1, 30)])
    close(a, b)


@case
def no_gid():
    """No GID at that index, or index out of range."""
    a = End.open(args.a, args.index_a)
    b = End.open(args.b, args.index_b)
    for index in (77, 127, 250):
        try:
            a.connect(b.info(), sgid_index=index)
            got = 0
        except Exception as ex:  # pyverbs' exception, or RuntimeError from the other machine
            got = getattr(ex, 'error_code', -1)
        check(f'GID index {index}: an errno', True, got != 0)
        a.modify('RESET')
    close(a, b)


@case
def ud():
    """UD drops messages that do not fit, without telling the sender."""
    a, b = ends('UD')
    b.post_recv([(0, 200)])
    a.post_send('SEND', [(0, 100)], qkey=0x22222222)
    check('UD with a wrong Q_Key: sent', [SUCCESS], statuses(a.wait(1, 30)))
    check('UD with a wrong Q_Key: not received', [], statuses(b.wait(1, 0.5)))
    a.post_send('SEND', [(0, 100)], dest_qpn=0xabcdef)
    check('UD to an unknown QP: sent', [SUCCESS], statuses(a.wait(1, 30)))
    a.post_send('SEND', [(0, 100)])
    check('UD with the right Q_Key and QP', repr(([SUCCESS], [140])),
          repr((statuses(a.wait(1, 30)), [c['len'] for c in b.wait(1, 30)])))
    ret = a.post_send('SEND', [(0, 8000)])
    check('UD longer than the MTU is refused or an error', True,
          ret != 0 or statuses(a.wait(1, 30)) != [SUCCESS])
    close(a, b)
    a, b = ends('UD')
    a.post_send('SEND', [(0, 100)])
    check('UD with no receive posted: sent', [SUCCESS], statuses(a.wait(1, 30)))
    check('UD with no receive posted: the QP of the receiver stays in RTS', 'RTS', b.state())
    b.post_recv([(0, 100)])
    a.post_send('SEND', [(0, 200)])
    check('UD longer than the receive buffer: sent', [SUCCESS], statuses(a.wait(1, 30)))
    check('UD longer than the receive buffer: no completion', [], statuses(b.wait(1, 0.3)))
    a.post_send('SEND', [(0, 60)])
    check('UD that fits: received', repr(([SUCCESS], [100])),
          repr((statuses(a.wait(1, 30)), [c['len'] for c in b.wait(1, 30)])))
    close(a, b)


@case
def full_queues():
    """A queue accepts as many requests as it was created for, and no more."""
    a, b = ends(a={'depth': 8}, b={'depth': 8})
    rets = [b.post_recv([(0, 8)], wr_id=i) for i in range(4096)]
    check('receive queue: ENOMEM or EINVAL when full', True,
          bool({errno.ENOMEM, errno.EINVAL, errno.ENOSPC} & set(rets)))
    a.post_send('WRITE', [(0, 8)])
    check('and the QP still works', [SUCCESS], statuses(a.wait(1, 30)))
    close(a, b)


@case
def events():
    """COMM_EST, QP_ACCESS_ERR or QP_REQ_ERR, LAST_WQE, SRQ limit."""
    a = End.open(args.a, args.index_a)
    b = End.open(args.b, args.index_b, srq=True)
    ia, ib = a.info(), b.info()
    a.connect(ib)
    b.connect(ia, state='RTR')
    for i in range(8):
        b.post_recv([(0, 64)], wr_id=i)
    b.srq_limit(4)
    a.post_send('SEND', [(0, 8)])
    a.wait(1, 30)
    check('first packet in RTR: communication established', e.IBV_EVENT_COMM_EST, b.async_event())
    for _ in range(5):
        a.post_send('SEND', [(0, 8)])
    a.wait(5, 30)
    check('fewer receives than the SRQ limit', e.IBV_EVENT_SRQ_LIMIT_REACHED, b.async_event())
    b.srq_limit(4)
    check('and when the limit is set', e.IBV_EVENT_SRQ_LIMIT_REACHED, b.async_event())
    b.modify('ERR')
    check('QP of an SRQ in ERROR: last WQE reached', e.IBV_EVENT_QP_LAST_WQE_REACHED, b.async_event())
    close(a, b)
    a, b = ends()
    a.post_send('WRITE', [(0, 8)], rkey=0x12345678)
    a.wait(1, 30)
    check('responder in ERROR by a bad key: access event',
          (e.IBV_EVENT_QP_ACCESS_ERR, e.IBV_EVENT_QP_REQ_ERR, e.IBV_EVENT_QP_FATAL), b.async_event())
    close(a, b)


@case
def notification():
    """Completion events: none unless requested; only solicited ones if requested so."""
    a, b = ends(a={'events': True}, b={'events': True})
    for i in range(4):
        b.post_recv([(0, 64)], wr_id=i)
    a.post_send('SEND', [(0, 8)])
    a.wait(1, 30)
    check('no event before it was requested', False, b.event(0.3))
    b.wait(1, 30)
    b.notify()
    a.post_send('SEND', [(0, 8)])
    check('next completion', True, b.event(30))
    b.wait(1, 30)
    b.notify(solicited=True)
    a.post_send('SEND', [(0, 8)])
    check('an unsolicited completion does not wake a solicited wait', False, b.event(0.3))
    a.post_send('SEND', [(0, 8)], flags=verbs.SIGNALED | e.IBV_SEND_SOLICITED)
    check('a solicited one does', True, b.event(30))
    close(a, b)


@case
def drained():
    """SQD: requests posted before are completed, later ones wait for RTS."""
    a, b = ends()
    a.post_send('WRITE', [(0, 64)], wr_id=1)
    a.modify('SQD')
    check('posted before SQD', [SUCCESS], statuses(a.wait(1, 30)))
    a.post_send('WRITE', [(0, 64)], wr_id=2)
    check('posted in SQD waits', [], statuses(a.wait(1, 0.3)))
    a.modify('RTS')
    check('and is sent in RTS', [SUCCESS], statuses(a.wait(1, 30)))
    close(a, b)


def still_works(label):
    a, b = ends()
    b.post_recv([(64, 64)])
    a.fill(b'still works' * 5)
    a.post_send('SEND', [(0, 55)])
    got = (statuses(a.wait(1, 30)), statuses(b.wait(1, 30)), b.read(55, 64) == b'still works' * 5)
    check(f'traffic after {label}', repr(([SUCCESS], [SUCCESS], True)), repr(got))
    close(a, b)


wanted = [name for name in args.only.split(',') if name]
for function in CASES + (BY_NAME if wanted else []):
    if wanted and function.__name__ not in wanted:
        continue
    try:
        function()
    except Exception as ex:  # noqa: BLE001 - one case must not hide the others
        check(f'{function.__name__} runs', 'no exception', f'{type(ex).__name__}: {ex}')
    if not wanted:
        still_works(function.__name__)
verbs.finish()
