#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold packets that an NFQUEUE rule sends to user space; on SIGUSR1 accept all of them.

Prints "bound", then "held" with the first packet, then "accepted". With --pass each
packet is accepted when it arrives. No Debian package has a program that withholds its
verdict.
"""

import argparse
import errno
import signal
import socket
import struct
import sys

NETLINK_NETFILTER = 12
SUBSYS_QUEUE = 3
MSG_PACKET, MSG_CONFIG, MSG_VERDICT_BATCH = 0, 2, 3
NLM_F_REQUEST = 1
CFG_CMD, CFG_PARAMS, VERDICT_HDR = 1, 2, 2
CMD_BIND, COPY_META, NF_ACCEPT = 1, 1, 1
ALL = 0x7fffffff        # a batch is all packets up to this number


def attribute(kind, payload):
    return struct.pack('=HH', 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def message(kind, attributes):
    body = struct.pack('!BBH', socket.AF_UNSPEC, 0, args.queue) + attributes
    return struct.pack('=IHHII', 16 + len(body), SUBSYS_QUEUE << 8 | kind, NLM_F_REQUEST, 0, 0) + body


def accept_all():
    queue.send(message(MSG_VERDICT_BATCH, attribute(VERDICT_HDR, struct.pack('!II', NF_ACCEPT, ALL))))


def accept(*_):
    accept_all()
    print('accepted', flush=True)
    sys.exit(0)


def has_packet():
    """Wait for a message. Some are errors: a packet had been accepted with those before it."""
    try:
        kind = struct.unpack_from('=H', queue.recv(65536), 4)[0]
    except OSError as ex:
        if ex.errno != errno.ENOBUFS:
            raise
        return True             # there were too many
    return kind == SUBSYS_QUEUE << 8 | MSG_PACKET


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('--pass', dest='at_once', action='store_true')
parser.add_argument('queue', type=int)
args = parser.parse_args()
queue = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
queue.bind((0, 0))
queue.send(message(MSG_CONFIG, attribute(CFG_CMD, struct.pack('!BBH', CMD_BIND, 0, 0))))
queue.send(message(MSG_CONFIG, attribute(CFG_PARAMS, struct.pack('!IB', 0, COPY_META))))
signal.signal(signal.SIGUSR1, accept)
print('bound', flush=True)
while args.at_once:
    if has_packet():
        accept_all()
queue.recv(65536)
print('held', flush=True)
while True:
    signal.pause()
