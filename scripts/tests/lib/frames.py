# SPDX-License-Identifier: GPL-2.0
"""Frames as a peer would send them, or must not send them: built by hand and sent through
a packet socket, bypassing every driver.
"""

import ctypes
import ipaddress
import os
import random
import socket
import struct
import zlib

PORT = 4791
rng = random.Random(20260)


def add_arguments(parser):
    """The netdev that sends frames, and its attributes."""
    parser.add_argument('--netns')
    parser.add_argument('--netdev', required=True)
    parser.add_argument('--src-mac', required=True)
    parser.add_argument('--dst-mac', required=True)
    parser.add_argument('--src-ip', required=True)
    parser.add_argument('--dst-ip', required=True)
    parser.add_argument('--version', choices=('v1', 'v2'), required=True)


def mac(text):
    return bytes.fromhex(text.replace(':', ''))


def gid(address):
    return address.packed if address.version == 6 else b'\0' * 10 + b'\xff\xff' + address.packed


def bth(opcode, qpn, psn, pad=0, pkey=0xffff, ack=True, flags=0, version=0):
    return struct.pack('!BBHII', opcode, flags | pad << 4 | version, pkey, qpn,
                       (1 << 31 if ack else 0) | psn & 0xffffff)


def reth(address, rkey, length):
    return struct.pack('!QII', address % 2**64, rkey % 2**32, length % 2**32)


def ip_sum(header):
    total = sum(struct.unpack(f'!{len(header) // 2}H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def open_wire(args):
    """A packet socket in B's namespace; the process itself does not move."""
    libc = ctypes.CDLL(None, use_errno=True)
    if args.netns:
        here, there = os.open('/proc/self/ns/net', os.O_RDONLY), os.open(args.netns, os.O_RDONLY)
        if libc.setns(there, 0):
            raise OSError(ctypes.get_errno(), 'setns')
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind((args.netdev, 0))
    if args.netns:
        libc.setns(here, 0)
    return wire


class Wire:
    """Frames from one address to another in a given framing."""

    def __init__(self, args):
        self.v1 = args.version == 'v1'
        self.src, self.dst = ipaddress.ip_address(args.src_ip), ipaddress.ip_address(args.dst_ip)
        self.ipv6 = self.src.version == 6
        self.kind = struct.pack('!H', 0x8915 if self.v1 else 0x86dd if self.ipv6 else 0x0800)
        self.ethernet = mac(args.dst_mac) + mac(args.src_mac) + self.kind
        self.wire = open_wire(args)

    def network(self, length, extra=0, udp_extra=0, **lie):
        """Header bytes in front of the BTH, and the same masked for the ICRC.

        length: from BTH to ICRC. extra, udp_extra: how much the length fields are wrong by.
        src, dst, tclass and, in a GRH, ipver, nxthdr, hops, sgid, dgid: values to use instead.
        """
        src, dst = lie.get('src', self.src), lie.get('dst', self.dst)
        tclass = lie.get('tclass', 0)
        if self.v1:
            first = lie.get('ipver', 6) << 28 | tclass << 20
            head = struct.pack('!IHBB', first, (length + extra) % 65536, lie.get('nxthdr', 0x1b),
                               lie.get('hops', 64)) + lie.get('sgid', gid(src)) + lie.get('dgid', gid(dst))
            masked = bytearray(head)
            masked[0] |= 0x0f
            masked[1] = masked[2] = masked[3] = masked[7] = 0xff
            return head, bytes(masked)
        udp = struct.pack('!HHHH', 0xc000 | rng.getrandbits(8), PORT, (8 + length + udp_extra) % 65536, 0)
        udp_masked = udp[:6] + b'\xff\xff'
        if self.ipv6:
            head = struct.pack('!IHBB', 6 << 28 | tclass << 20, (8 + length + extra) % 65536, 17, 64) + src.packed + dst.packed
            masked = bytearray(head)
            masked[0] |= 0x0f
            masked[1] = masked[2] = masked[3] = masked[7] = 0xff
        else:
            head = struct.pack('!BBHHHBBH', 0x45, tclass, (28 + length + extra) % 65536, 7, 0x4000, 64, 17, 0) \
                + src.packed + dst.packed
            head = head[:10] + struct.pack('!H', ip_sum(head)) + head[12:]
            masked = bytearray(head)
            masked[1] = masked[8] = masked[10] = masked[11] = 0xff
        return head + udp, bytes(masked) + udp_masked

    def frame(self, transport, icrc=None, tail=b'', **lies):
        """An Ethernet frame with BTH and everything after it; the ICRC is right unless given."""
        head, masked = self.network(len(transport) + 4, **lies)
        shadow = bytearray(transport)
        if len(shadow) > 4:
            shadow[4] = 0xff
        right = zlib.crc32(b'\xff' * 8 + masked + bytes(shadow))
        value = struct.pack('<I', right if icrc is None else icrc(right))
        return self.ethernet + head + transport + value + tail

    def throw(self, data):
        """Send a frame unchanged, however short or long it is."""
        try:
            self.wire.send(data[:9014])
        except OSError:
            # Shorter than an Ethernet header: the socket itself refuses.
            pass
