#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A wire between two tun or tap netdevs: what one sends, the other receives.

usage: tunwire.py tun|tap NAMESPACE NETDEV NAMESPACE NETDEV

Prints "joined" when both exist; they disappear when it ends.
"""

import ctypes
import fcntl
import os
import select
import struct
import sys

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454ca
MODES = {"tun": 1, "tap": 2}
IFF_NO_PI = 0x1000
libc = ctypes.CDLL(None, use_errno=True)


def make_netdev(mode, namespace, name):
    with open(f"/run/netns/{namespace}", encoding="ascii") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            sys.exit(f"setns: {os.strerror(ctypes.get_errno())}")
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), MODES[mode] | IFF_NO_PI))
    return fd


kind, ns_a, netdev_a, ns_b, netdev_b = sys.argv[1:]
end_a, end_b = make_netdev(kind, ns_a, netdev_a), make_netdev(kind, ns_b, netdev_b)
other = {end_a: end_b, end_b: end_a}
print("joined", flush=True)
while True:
    for end in select.select(list(other), [], [])[0]:
        try:
            os.write(other[end], os.read(end, 65536))
        except OSError:		# one of them is down
            pass
