#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A queue that is made, and whose process cannot be told of it: for completions, and for
receives of several queue pairs. What the adapter does not give up again keeps its memory, which
it goes on to use; what it gives up is released.

usage: lost.py DEVICE GID-INDEX
"""
import errno
import sys

import udata
from objects import control

NO_ADDRESS = 8          # of an answer: no page is there
BUSY = 6                # status of a command


# Request of udata.py, what the adapter has then, the command that takes it away
QUEUES = (('cq', 'CQ', 'DESTROY_CQ'), ('srq', 'RMP', 'DESTROY_RMP'))


def count(kind):
    return control(cmd='objects')[kind]


def attempt(verbs, name, kind):
    """Returns (errno, queues more than before, whether more memory is pinned)."""
    before = count(kind), udata.pinned()
    request = verbs.requests[name]
    verbs.file.answer_at = NO_ADDRESS
    try:
        request.run(request.right, request.answer)
        error = None
    except udata.Refused as refused:
        error = errno.errorcode[refused.errno]
    verbs.file.answer_at = None
    return error, count(kind) - before[0], udata.pinned() != before[1]


def main():
    verbs = udata.Verbs(sys.argv[1], int(sys.argv[2]))
    failed = 0
    for name, kind, command in QUEUES:
        for end, status, wanted in (('given-up', 0, ('EFAULT', 0, False)),
                                    ('kept', BUSY, ('EFAULT', 1, True))):
            if status:
                control(cmd='refuse', opcode=command, status=status)
            found = attempt(verbs, name, kind)
            failed += found != wanted
            print('%s untold-%s-%s %s' % ('FAIL' if found != wanted else 'PASS', name, end,
                                          '' if found == wanted else found), flush=True)
    verbs.file.close()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
