#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Keep a queue pair busy with messages to itself, and poll for their completions, until
the device is removed or told to stop; as often as requested. One process for all rounds:
with emulated processors, starting one takes seconds.

Standard input: "DEVICE GID-INDEX", a line for each round, and "stop". Prints "busy"
when messages go back and forth, and at the end one of
  stopped                 was told to
  flushed N requests      all that were outstanding have completed
  lost N of M requests    N of those outstanding have not completed
"""
import os
import select
import sys
import time

from loopback import ACCESS, connect_to_itself
import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.wr import SGE, RecvWR, SendWR

BYTES = 4096
BUSY_MESSAGES = 20
SPARE = 4               # receives without a message: they are always outstanding
POLLS = 16              # between looks at its standard input
PATIENCE_S = 10         # for the completions of outstanding requests


class Traffic:
    """A queue pair that is connected to itself"""
    def __init__(self, device, index):
        context = Context(name=device)
        pd = PD(context)
        self.mr = MR(pd, BYTES, ACCESS)
        self.sent, self.received = CQ(context, 16), CQ(context, 16)
        self.qp = connect_to_itself(context, pd, index, self.sent, self.received)
        self.context = context
        self.last_id = 0
        self.outstanding = set()
        self.failed = 0
        for _ in range(SPARE):
            self.post(self.qp.post_recv, RecvWR)

    def post(self, function, kind, **attributes):
        """Returns its id. If the library reports an error it may have been posted nevertheless."""
        self.last_id += 1
        function(kind(wr_id=self.last_id, num_sge=1, **attributes,
                      sg=[SGE(self.mr.buf, BYTES, self.mr.lkey)]))
        self.outstanding.add(self.last_id)
        return self.last_id

    def poll(self):
        for cq in self.sent, self.received:
            count, completions = cq.poll(1)
            if count:
                self.outstanding.discard(completions[0].wr_id)
                self.failed += completions[0].status != e.IBV_WC_SUCCESS

    def message(self):
        """Returns false when the queue pair, or the device, has failed."""
        receive = self.post(self.qp.post_recv, RecvWR)
        try:
            self.post(self.qp.post_send, SendWR, opcode=e.IBV_WR_SEND,
                      send_flags=e.IBV_SEND_SIGNALED)
        except (PyverbsError, OSError):
            # The device is gone: a receive, which libraries post without telling the kernel,
            # may have been posted after the flush of the queue pair, and will not complete.
            self.outstanding.discard(receive)
            return False
        while not self.failed and len(self.outstanding) > SPARE:
            for _ in range(POLLS):
                self.poll()
            if told_something():
                return True
        return not self.failed

    def end(self):
        """The device is being removed: each request must complete. Returns the result."""
        there = len(self.outstanding) + self.failed
        end = time.time() + PATIENCE_S
        while self.outstanding and time.time() < end:
            self.poll()
        left = len(self.outstanding)
        return 'lost %d of %d requests' % (left, there) if left else 'flushed %d requests' % there

    def close(self):
        try:
            self.context.close()
        except (PyverbsError, OSError):
            pass        # its device is gone


def told_something():
    return select.select([sys.stdin], [], [], 0)[0]


def run(device, index):
    traffic = Traffic(device, index)
    messages = 0
    while not told_something():
        if not traffic.message():
            result = traffic.end()
            break
        messages += 1
        if messages == BUSY_MESSAGES:
            print('busy', flush=True)
    else:
        sys.stdin.readline()
        result = 'stopped'
    traffic.close()
    print(result, flush=True)


def main():
    # select() would not see data that was read ahead.
    sys.stdin = os.fdopen(0, 'rb', buffering=0)
    for line in iter(sys.stdin.readline, b''):
        words = line.decode().split()
        if words != ['stop']:
            run(words[0], int(words[1]))


main()
