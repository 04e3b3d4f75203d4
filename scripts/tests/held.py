#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold what an NFQUEUE rule sends to user space; on SIGUSR1 accept all of it.

Prints "bound", then "held" with the first packet, then "accepted". There is no
Debian package with a program that withholds its verdict.
"""

import argparse
import signal
import socket
import struct
import sys

NETLINK_NETFILTER = 12
SUBSYS_QUEUE = 3
MSG_VERDICT_BATCH, MSG_CONFIG = 3, 2
NLM_F_REQUEST = 1
CFG_CMD, CFG_PARAMS, VERDICT_HDR = 1, 2, 2
CMD_BIND, COPY_META, NF_ACCEPT = 1, 1, 1
ALL = 0x7fffffff        # a batch is all packets up to this number


def attribute(kind, payload):
    return struct.pack('=HH', 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def message(kind, attributes):
    body = struct.pack('!BBH', socket.AF_UNSPEC, 0, args.queue) + attributes
    return struct.pack('=IHHII', 16 + len(body), SUBSYS_QUEUE << 8 | kind, NLM_F_REQUEST, 0, 0) + body


def accept(*_):
    queue.send(message(MSG_VERDICT_BATCH, attribute(VERDICT_HDR, struct.pack('!II', NF_ACCEPT, ALL))))
    print('accepted', flush=True)
    sys.exit(0)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('queue', type=int)
args = parser.parse_args()
queue = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
queue.bind((0, 0))
queue.send(message(MSG_CONFIG, attribute(CFG_CMD, struct.pack('!BBH', CMD_BIND, 0, 0))))
queue.send(message(MSG_CONFIG, attribute(CFG_PARAMS, struct.pack('!IB', 0, COPY_META))))
signal.signal(signal.SIGUSR1, accept)
print('bound', flush=True)
queue.recv(65536)
print('held', flush=True)
while True:
    signal.pause()
