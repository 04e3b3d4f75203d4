#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""UD multicast over one kind of group.

mcast.py SENDER INDEX_S RECEIVER INDEX_R GROUP: who gets copies, who does not.
mcast.py --hold DEVICE INDEX GROUP: attach, move to the initial network namespace
so as not to keep the original one alive, say so, sleep until killed.
"""

import ctypes
import os
import struct
import sys
import time

import verbs
from verbs import QKEY, SUCCESS, check, statuses

ATTACH, DETACH = 30, 31    # IB_USER_VERBS_CMD_*_MCAST: pyverbs has neither
GROUP_QPN = 0xffffff
MESSAGES = 3
BYTES = 700
COUNTERS = '/sys/class/infiniband/{}/ports/1/hw_counters/{}'


def group_command(end, command, gid):
    """Returns errno. In a context of its own the QP is the fourth object."""
    body = verbs.socket.inet_pton(verbs.socket.AF_INET6, gid) + struct.pack('=IHH', 3, 0, 0)
    header = struct.pack('=IHH', command, (8 + len(body)) // 4, 0)
    try:
        os.write(end.ctx.cmd_fd, header + body)
    except OSError as ex:
        return ex.errno
    return 0


def counter(device, name):
    with open(COUNTERS.format(device, name)) as file:
        return int(file.read())


def grown(device, name, before, expected):
    """How much a counter has grown, after waiting for it to grow that far."""
    end = time.monotonic() + 60
    while counter(device, name) - before < expected and time.monotonic() < end:
        time.sleep(0.02)
    return counter(device, name) - before


def open_end(device, index, **attrs):
    end = verbs.End(device, index, qp_type='UD')
    end.connect(end.info(), **attrs)
    for i in range(2 * MESSAGES):
        end.post_recv([(i * 1024, BYTES + verbs.GRH)], wr_id=i)
    return end


def send(sender, gid, count=MESSAGES, **attrs):
    """Sends distinct payloads; returns them."""
    data = []
    sender.remote = {'gid': verbs.gid_text(gid), 'qpn': GROUP_QPN, 'addr': 0, 'rkey': 0}
    for i in range(count):
        data.append(bytes([i + 1]) * BYTES)
        sender.fill(data[-1], 100000)
        attrs.setdefault('dest_qpn', GROUP_QPN)
        ret = sender.post_send('SEND', [(100000, BYTES)], wr_id=99, **attrs)
        if ret:
            check('posted', 0, ret)
        done = [c for c in sender.wait(1) if c['wr_id'] == 99]
        while not done:     # its own copies arrive on the same queue
            sender.early = getattr(sender, 'early', 0) + 1
            done = [c for c in sender.wait(1) if c['wr_id'] == 99]
        if statuses(done) != [SUCCESS]:
            check('sent', [SUCCESS], statuses(done))
    return data


def got(end, expected, first=0):
    """Number received, and whether they are intact. Waits a while for one too many."""
    early = getattr(end, 'early', 0)
    end.early = 0
    count = early + len(end.wait(max(expected - early, 0))) + len(end.wait(1, 0.05))
    whole = all(end.read(BYTES, (first + i) * 1024 + verbs.GRH) == bytes([i + 1]) * BYTES
                for i in range(min(count, MESSAGES)))
    return [count, whole]


def hold(device, index, gid):
    end = open_end(device, index)
    error = group_command(end, ATTACH, gid)
    with open('/proc/1/ns/net') as initial:
        ctypes.CDLL(None).setns(initial.fileno(), 0)
    print('refused' if error else 'attached', flush=True)
    time.sleep(1000)


def main(dev_s, index_s, dev_r, index_r, gid):
    sender = open_end(dev_s, index_s)
    first, second, third, outsider = (open_end(dev_r, index_r) for _ in range(4))
    rc = verbs.End(dev_r, index_r, qp_type='RC')

    check('an RC QP is refused', 22, group_command(rc, ATTACH, gid))
    check('a unicast GID is refused', 22, group_command(first, ATTACH, 'fd09::7'))
    check('detaching from a group that was not attached is refused', 22, group_command(first, DETACH, gid))
    for end in (sender, first, second, third):
        check('attached', 0, group_command(end, ATTACH, gid))
    qkeys = counter(dev_r, 'rx_dropped_bad_qkey')

    send(sender, gid)
    for name, end, want in (('first', first, MESSAGES), ('second', second, MESSAGES),
                            ('sending', sender, MESSAGES), ('third', third, MESSAGES),
                            ('unattached', outsider, 0)):
        check(f'copies for the {name} QP, whole', [want, True], got(end, want))
    check('Q_Key violations so far', 0, counter(dev_r, 'rx_dropped_bad_qkey') - qkeys)

    check('left', 0, group_command(first, DETACH, gid))
    send(sender, gid, 1)
    for name, end, want in (('one that left', first, 0), ('one that stayed', second, 1),
                            ('sending', sender, 1), ('third', third, 1)):
        check(f'copies for the {name} after a QP left', want, got(end, want, MESSAGES)[0])

    dropped = counter(dev_r, 'rx_dropped_bad_qkey')
    send(sender, gid, 1, qkey=QKEY + 1)
    for name, end in (('second', second), ('third', third), ('sending', sender)):
        check(f'copies with a wrong Q_Key for the {name}', 0, got(end, 0)[0])
    check('wrong Q_Keys are counted, one for each QP', 2, grown(dev_r, 'rx_dropped_bad_qkey', dropped, 2))

    check('left', 0, group_command(sender, DETACH, gid))
    foreign = counter(dev_r, 'rx_dropped_not_for_us')
    send(sender, gid, 1, dest_qpn=second.info()['qpn'])
    check('to the group but to one QP: dropped', 0, got(second, 0)[0])
    check('and counted', 1, grown(dev_r, 'rx_dropped_not_for_us', foreign, 1))
    for end in (second, third):
        check('left', 0, group_command(end, DETACH, gid))
    for end in (sender, first, second, outsider, third, rc):
        end.close()
    verbs.finish()


if __name__ == '__main__':
    if sys.argv[1] == '--hold':
        hold(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])
