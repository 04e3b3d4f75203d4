#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Two ppp netdevs, the ends of one PPPoE session over an Ethernet wire.

usage: pppwire.py NAMESPACE NETDEV MAC NAMESPACE NETDEV MAC

MAC is that of the NETDEV, an end of the wire. Nothing is negotiated, neither the
session (pppd's discovery) nor the link (LCP, IPCP): both ends are configured. Prints the
names of the ppp netdevs, which disappear when it ends.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
PF_PPPOX = 24
PX_PROTO_OE = 0
PPPIOCGCHAN = 0x80047437
PPPIOCATTCHAN = 0x40047438
PPPIOCCONNECT = 0x4004743a
PPPIOCNEWUNIT = 0xc004743e
SESSION = 7
libc = ctypes.CDLL(None, use_errno=True)


def call(what, status):
    if status < 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")
    return status


def request(fd, code, number=0):
    return struct.unpack("i", fcntl.ioctl(fd, code, struct.pack("i", number)))[0]


def make_netdev(namespace, netdev, peer_mac):
    """Create a PPP unit in the namespace, over a channel to the peer. Returns its name;
    the descriptors that keep it alive stay open."""
    with open(f"/run/netns/{namespace}", encoding="ascii") as file:
        call("setns", libc.setns(file.fileno(), CLONE_NEWNET))
    session = call("socket", libc.socket(PF_PPPOX, socket.SOCK_STREAM, PX_PROTO_OE))
    address = (struct.pack("=HI", PF_PPPOX, PX_PROTO_OE) + struct.pack("!H", SESSION) +
               bytes.fromhex(peer_mac.replace(":", "")) + struct.pack("16s", netdev.encode()))
    call("connect", libc.connect(session, address, len(address)))
    channel, unit = (os.open("/dev/ppp", os.O_RDWR) for _ in range(2))
    request(channel, PPPIOCATTCHAN, request(session, PPPIOCGCHAN))
    number = request(unit, PPPIOCNEWUNIT, -1)
    request(channel, PPPIOCCONNECT, number)
    return f"ppp{number}"


ns_a, netdev_a, mac_a, ns_b, netdev_b, mac_b = sys.argv[1:]
print(make_netdev(ns_a, netdev_a, mac_b), make_netdev(ns_b, netdev_b, mac_a), flush=True)
signal.pause()
