#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A process that polls while its device is unplugged.

    unplugged.py DEVICE INDEX

Prints "posted" when each of its QPs, in INIT, RTR, RTS and ERR, has receive
requests and the one in RTS has sends to a peer that does not exist. Then it polls
without entering the kernel for a verb: all requests must complete as flushed. The
QP in ERR gets its requests while the device is being removed or just before.
Once the device is gone nothing completes any more: the remaining requests are lost.

    unplugged.py --late NETDEV ADDRESS DEVICE INDEX

removes the device itself, and posts receives, into the ring only, when the first ones
have been flushed. The device is not removed while a verb is being called, so a second
process calls one that waits for ADDRESS, which nobody has, to be resolved, until the
receives have been posted. The periodic search for receives of QPs in ERR does not run
just then: only the end of the QP flushes these. Ends with status 3 if the verb did not
wait long enough; the result is unknown then.
"""

import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
import time

import verbs
from pyverbs.pyverbs_error import PyverbsRDMAError
from verbs import FLUSH, check, statuses

RECVS = 1000
SENDS = 20
LATE = 10

PATIENCE_S = 60 * verbs.SLOW    # for the device to be removed, for all QPs together
GRACE_S = 5 * verbs.SLOW        # to poll requests completed before its removal
TOO_EARLY = 3

# For the ioctl that adds an address to the ARP table
SIOCSARP, ARPHRD_ETHER, ATF_COM_PERM = 0x8955, 1, 0x06


class Device:
    """A device whose completions are polled until it is gone, and a little longer."""

    def __init__(self, name):
        self.name = name
        self.until, self.gone = time.monotonic() + PATIENCE_S, False

    def completions(self, end, number):
        """Completions of an end, until all have arrived or none can arrive any more."""
        done = end.wait(number, 0)
        while len(done) < number and time.monotonic() < self.until:
            done += end.wait(number - len(done), 0.1)
            if not self.gone and not os.path.exists(f'/sys/class/infiniband/{self.name}'):
                self.until, self.gone = time.monotonic() + GRACE_S, True
        return done


def post_receives(end, number, first=0):
    for i in range(first, first + number):
        if end.post_recv([(0, 64)], wr_id=i):
            sys.exit(f'FAIL receive {i} is refused')


def close_all(ends):
    """Closing objects of a removed device neither fails nor hangs."""
    start = time.monotonic()
    for end in ends:
        try:
            end.close()
        except Exception as ex:  # noqa: BLE001
            print(f'# closing: {ex}', flush=True)
    check('closing the rest takes no time', True, time.monotonic() - start < 60)


def in_each_state(name, index):
    ends = {}
    for state in ('INIT', 'RTR', 'RTS', 'ERR'):
        end = verbs.End(name, index, depth=RECVS)
        nobody = dict(end.info(), qpn=0xfffffe)
        # No ACK timeout: only the device's removal completes the sends.
        end.connect(nobody, timeout=0, state='RTS' if state == 'ERR' else state)
        if state == 'ERR':
            end.modify('ERR')
        ends[state] = end
    for end in ends.values():
        post_receives(end, RECVS)
    for number in range(SENDS):
        if ends['RTS'].post_send('SEND', [(0, 64)], wr_id=number):
            sys.exit(f'FAIL send {number} is refused')
    device = Device(name)
    print('posted', flush=True)
    for state, end in ends.items():
        expected = RECVS + (SENDS if state == 'RTS' else 0)
        done = device.completions(end, expected)
        check(f'{state}: {expected} requests complete as flushed', [expected, {FLUSH}],
              [len(done), set(statuses(done))])
    close_all(ends.values())


def stay_in_verb(name, index, address):
    """A process that calls modify_qp; its exit status is the error."""
    pid = os.fork()
    if pid:
        return pid
    gid = '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' % tuple(socket.inet_aton(address))
    try:
        verbs.End(name, index).connect({'gid': gid, 'qpn': 1}, state='RTR')
    except PyverbsRDMAError as ex:
        os._exit(ex.error_code)
    os._exit(0)


def is_asked_for(address):
    with open('/proc/net/arp') as table:
        return any(line.startswith(address + ' ') for line in table)


def enter_address(address, netdev):
    protocol = struct.pack('=H2x4s8x', socket.AF_INET, socket.inet_aton(address))
    hardware = struct.pack('=H6s8x', ARPHRD_ETHER, bytes([2, 0, 0, 0, 0, 0x63]))
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), SIOCSARP,
                protocol + hardware + struct.pack('=I16x16s', ATF_COM_PERM, netdev.encode()))


def late(netdev, address, name, index):
    end = verbs.End(name, index, depth=RECVS)
    end.connect(dict(end.info(), qpn=0xfffffe), timeout=0)
    post_receives(end, RECVS)
    device = Device(name)
    holder = stay_in_verb(name, index, address)
    while not is_asked_for(address) and time.monotonic() < device.until:
        time.sleep(0.001)
    remover = subprocess.Popen(['rdma', 'link', 'del', name])
    done = device.completions(end, RECVS)
    time.sleep(0.05)            # the next look is more than 100 ms away
    post_receives(end, LATE, RECVS)
    enter_address(address, netdev)
    error = os.waitstatus_to_exitcode(os.waitpid(holder, 0)[1])
    more = device.completions(end, LATE)
    removed = remover.wait()
    if error == errno.ETIMEDOUT:
        sys.exit(TOO_EARLY)
    check('the device is removed', 0, removed)
    check('receives posted before are flushed', [RECVS, {FLUSH}],
          [len(done), set(statuses(done))])
    check('receives posted during the removal are flushed', [LATE, {FLUSH}],
          [len(more), set(statuses(more))])
    close_all([end])


if sys.argv[1] == '--late':
    late(*sys.argv[2:5], int(sys.argv[5]))
else:
    in_each_state(sys.argv[1], int(sys.argv[2]))
verbs.finish()
