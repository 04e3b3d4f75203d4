#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Firmware that never answers a command. Several processes wait for one each, at the same time,
since mlx5_core only gives up after a minute. They are killed, and end after that time; nothing
is left of them; meanwhile other users of the host and of the device continue. A queue whose
resize is not answered keeps the memory intended for it. Before that, a request that fills in a
key never completes: the key is then created by a command.

With "late" the firmware executes the commands nevertheless: these objects, and those that they
use, remain in the adapter, but not in ib_core.

usage: silent.py DEVICE GID-INDEX [late]
"""
import errno
import os
import signal
import subprocess
import sys
import time

from loopback import connect_to_itself
from objects import (ACCESS, Bench, control, error_of, objects, step_cq, step_mr, step_multicast,
                     step_mw, step_pd, step_rc, step_srq, step_xrc)
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError

# Which of a process's commands is lost
LOST = (
    (step_pd, 'ALLOC_PD'), (step_cq, 'CREATE_CQ'), (step_rc, 'INIT2RTR_QP'),
    (step_mr, 'CREATE_MKEY'), (step_multicast, 'ATTACH_TO_MCG'),
    (step_multicast, 'DETACH_FROM_MCG'), (step_srq, 'DESTROY_RMP'), (step_rc, 'DESTROY_QP'),
    (step_cq, 'DESTROY_CQ'), (step_pd, 'DEALLOC_PD'),
)
LATE = (
    (step_mr, 'CREATE_MKEY'), (step_mw, 'CREATE_MKEY'), (step_rc, 'CREATE_QP'),
    (step_srq, 'CREATE_RMP'), (step_xrc, 'CREATE_XRC_SRQ'),
)
BEGIN_S = 60            # until its command is lost; processors are emulated
OTHERS_S = 20           # for processes that are not concerned
GIVE_UP_S = 60          # timeout of mlx5_core
END_S = GIVE_UP_S + 30
REQUEST_S = 30          # the driver gives up its own requests after ten seconds
PAGES = 64              # of a region whose key is filled by a request
ENTRIES, ENTRY_KIB = 1023, 1 / 16
failed = 0


def expect(name, good, text=''):
    global failed
    failed += not good
    print('%s %s %s' % ('PASS' if good else 'FAIL', name, '' if good else text), flush=True)


def lost():
    return control(cmd='lost')['lost']


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def begin(step, opcode, device, index, executed=0):
    """Returns the process that waits for its own command, or None."""
    before = lost()
    control(cmd='lose', opcode=opcode, executed=executed)
    process = os.fork()
    if not process:
        bench = Bench(device, index)
        step(bench)
        bench.close()
        os._exit(0)

    if not wait_until(lambda: lost() > before, BEGIN_S):
        return None
    if executed:
        os.kill(process, signal.SIGKILL)
    return process


def pinned_kib():
    with open('/proc/self/status') as file:
        return int(next(line for line in file if line.startswith('VmPin')).split()[1])


def resize_error(cq, entries):
    try:
        cq.resize(entries)
    except PyverbsError as exception:
        return error_of(exception)
    return 0


def step_resize(bench):
    """The adapter may still write to the new entries, until it no longer has the queue."""
    cq = CQ(bench.context(), 16)
    small = pinned_kib()
    assert resize_error(cq, ENTRIES) == errno.ETIMEDOUT
    both = pinned_kib()
    assert both == small + (ENTRIES + 1) * ENTRY_KIB, 'pinned: %d, then %d' % (small, both)
    assert resize_error(cq, 100) == errno.EIO
    cq.close()
    assert pinned_kib() == 0, pinned_kib()


def registered(device):
    """Seconds that registering a region took."""
    pd = PD(Context(name=device))
    began = time.monotonic()
    MR(pd, PAGES * 4096, ACCESS).close()
    return time.monotonic() - began


def request_without_end(device):
    before = lost()
    control(cmd='lose', opcode='UMR')
    try:
        seconds = registered(device)
        expect('request-without-end', seconds < REQUEST_S and lost() == before + 1,
               '%.1f s, %d lost' % (seconds, lost() - before))
        expect('requests-go-on', registered(device) < REQUEST_S / 10)
    except PyverbsError as exception:
        expect('request-without-end', False, exception)


def ip(*words):
    return subprocess.run(['timeout', str(OTHERS_S), 'ip', 'link', *words], check=False).returncode


def another_connection(device, index):
    context = Context(name=device)
    pd = PD(context)
    queues = CQ(context, 16), CQ(context, 16)
    connect_to_itself(context, pd, index, *queues).close()


def ends_well(process, seconds):
    status = []

    def has_ended():
        if not status:
            found, code = os.waitpid(process, os.WNOHANG)
            status.extend([code] if found else [])
        return bool(status)
    good = wait_until(has_ended, seconds) and status[0] == 0
    if not status:
        os.kill(process, signal.SIGKILL)
    return good


def in_time(function, *arguments):
    """In a process of its own, which may hang."""
    process = os.fork()
    if not process:
        function(*arguments)
        os._exit(0)
    return ends_well(process, OTHERS_S)


def in_ib_core():
    return subprocess.run(['rdma', 'resource', 'show'], stdout=subprocess.PIPE, check=True).stdout


def late(device, index):
    before = in_ib_core()
    waiting = [begin(*row, device, index, executed=1) for row in LATE]
    expect('late-commands', all(waiting), waiting)
    for process in filter(None, waiting):
        os.waitpid(process, 0)
    expect('not-in-ib-core', wait_until(lambda: in_ib_core() == before, OTHERS_S),
           '%s, before %s' % (in_ib_core(), before))
    expect('answered-late', control(cmd='answer')['answered'] == len(LATE))


def main():
    device, index = sys.argv[1], int(sys.argv[2])
    request_without_end(device)
    if sys.argv[3:]:
        late(device, index)
        return 1 if failed else 0
    before = objects()
    waiting = {}
    resizing = begin(step_resize, 'MODIFY_CQ', device, index)
    for step, opcode in LOST:
        process = begin(step, opcode, device, index)
        expect('silent-%s' % opcode, process, 'no such command')
        if process:
            waiting[process] = opcode
    began = time.monotonic()
    expect('host-goes-on', ip('add', 'other', 'type', 'dummy') == 0 == ip('del', 'other'),
           'a network device took more than %d s' % OTHERS_S)
    expect('device-goes-on', in_time(another_connection, device, index))
    expect('all-wait', all(os.waitpid(process, os.WNOHANG)[0] == 0 for process in waiting))
    for process in waiting:
        os.kill(process, signal.SIGKILL)

    def have_gone():
        for process in list(waiting):
            if os.waitpid(process, os.WNOHANG)[0]:
                waiting.pop(process)
        return not waiting
    expect('resize-keeps-memory', resizing and ends_well(resizing, END_S))
    expect('all-killed', wait_until(have_gone, END_S), 'still there: %s' % list(waiting.values()))
    print('gone %.0f s after the last was begun' % (time.monotonic() - began))
    expect('nothing-left', wait_until(lambda: objects() == before, OTHERS_S),
           '%s, before %s' % (objects(), before))
    # mlx5_core takes all of its slots when it ends, and would wait for these for ever.
    expect('answered-late', control(cmd='answer')['answered'] == len(LOST) + 1)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
