#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write kunit/wire/icrc_vectors.h: packets with ICRCs computed by means of scapy.

usage: make-icrc-vectors.py > kunit/wire/icrc_vectors.h

RoCE v1 and v2, each with IPv4 and IPv6 addresses, several opcodes, payload
sizes and paddings. scapy.contrib.roce computes the ICRC of v2 over IPv4 only;
for the others the packet is built from scapy's layers, masked according to IBTA
vol. 1, 7.8.1 and annexes A16 and A17, and fed to zlib's CRC-32. The same code is
also run on v2 over IPv4 and must agree with scapy. The output depends on this
file only.
"""

import struct
import sys
import zlib

from scapy.contrib.roce import AETH, BTH, GRH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

ADDRESSES = {
    'IPv4': ('10.9.0.1', '10.9.0.254'),
    'IPv6': ('fd09::1', 'fd09::ffff:2'),
}
LINK_LOCAL = ('fe80::211:22ff:fe33:4455', 'fe80::ff:fe00:1')

RETH = struct.pack('!QII', 0x0123456789abcdef, 0x11223344, 7)
ATOMIC = struct.pack('!QIQQ', 0x1000, 0x55667788, 1 << 40, 3)
DETH = struct.pack('!II', 0x80010000, 0x000123)
IMM = b'\xde\xad\xbe\xef'

# name, opcode, extended headers, payload bytes
PACKETS = [
    ('empty SEND', 0x04, b'', 0),
    ('SEND, 3 pad', 0x04, b'', 1),
    ('SEND, 2 pad', 0x04, b'', 2),
    ('SEND, 1 pad', 0x04, b'', 3),
    ('SEND, 0 pad', 0x04, b'', 4),
    ('SEND first of 4096', 0x00, b'', 4096),
    ('SEND with immediate', 0x05, IMM, 30),
    ('WRITE', 0x0a, RETH, 7),
    ('CmpSwap', 0x13, ATOMIC, 0),
    ('acknowledge', 0x11, bytes(AETH(syndrome=0x1f, msn=0xabcdef)), 0),
    ('datagram', 0x64, DETH, 100),
]

# The headers behind the BTH and the payload are bytes to the ICRC, whatever the framing: of v2 over
# IPv4 there is one of each length of headers, of the others no headers, the longest payload and a
# WRITE, and of v2 over IPv6 the most headers that there can be. v1 has one framing for both kinds
# of addresses. Numbers count those that are not listed, too.
SOME = {'SEND, 3 pad', 'SEND first of 4096', 'WRITE'}
LISTED = {('v1', 'IPv4'): {'WRITE'}, ('v1', 'IPv6'): SOME,
          ('v2', 'IPv4'): {name for name, *_ in PACKETS} - {'SEND, 2 pad', 'SEND, 1 pad'},
          ('v2', 'IPv6'): SOME | {'CmpSwap'}}


def payload(length):
    """The pattern that the C side writes as well."""
    return bytes((i * 31 + 7) & 0xff for i in range(length))


def gid(address):
    """128 bits of an address as a GID."""
    if ':' in address:
        return int.from_bytes(bytes(IPv6(src=address))[8:24], 'big')
    return 0xffff << 32 | int.from_bytes(bytes(IP(src=address))[12:16], 'big')


def transport(opcode, pad, number):
    return BTH(opcode=opcode, solicited=number & 1, migreq=1, padcount=pad,
               pkey=0xffff, fecn=number >> 1 & 1, becn=number >> 2 & 1,
               dqpn=0x10 + number, ackreq=number >> 3 & 1,
               psn=(0xfffffe + number) & 0xffffff, icrc=0)


def network(version, family, length, number):
    """Network headers, and the same with mutable fields as ones."""
    src, dst = ADDRESSES[family]
    if version == 'v1':
        if family == 'IPv6':
            src, dst = LINK_LOCAL
        fields = dict(ipver=6, paylen=length, nexthdr=0x1b, sgid=gid(src),
                      dgid=gid(dst))
        return (GRH(tclass=number, flowlabel=0x12340 + number, hoplmt=64, **fields),
                GRH(tclass=0xff, flowlabel=0xfffff, hoplmt=0xff, **fields))
    fields = dict(sport=0xc000 + number, dport=4791, len=8 + length)
    udp, udp_masked = UDP(chksum=number, **fields), UDP(chksum=0xffff, **fields)
    if family == 'IPv4':
        fields = dict(src=src, dst=dst, id=0x1000 + number, flags='DF', proto=17,
                      len=28 + length)
        ip = IP(bytes(IP(ttl=64, tos=number << 2, **fields)))
        return ip / udp, IP(ttl=0xff, tos=0xff, chksum=0xffff, **fields) / udp_masked
    fields = dict(src=src, dst=dst, nh=17, plen=8 + length)
    return (IPv6(tc=number, fl=0x12340 + number, hlim=64, **fields) / udp,
            IPv6(tc=0xff, fl=0xfffff, hlim=0xff, **fields) / udp_masked)


def headers_only(packet, length):
    """scapy's bytes without anything it might append."""
    return bytes(packet)[:length]


def build(version, family, number, packet):
    _, opcode, extended, size = packet
    pad = -size % 4
    bth = bytes(transport(opcode, pad, number))[:12]
    body = extended + payload(size) + bytes(pad)
    length = len(bth) + len(body) + 4
    real, masked = network(version, family, length, number)
    network_bytes = {'v1': 40, 'v2': 28 if family == 'IPv4' else 48}[version]
    shadow = bytearray(bth)
    shadow[4] = 0xff
    icrc = zlib.crc32(b'\xff' * 8 + headers_only(masked, network_bytes) +
                      bytes(shadow) + body)
    real = headers_only(real, network_bytes)
    if version == 'v2' and family == 'IPv4':
        check_against_scapy(real, bth, body, icrc)
    return real + bth + extended, size, pad, icrc


def check_against_scapy(real, bth, body, icrc):
    whole = IP(real + bth + body + bytes(4))
    parsed = whole[BTH]
    parsed.remove_payload()
    parsed.add_payload(Raw(body))
    theirs, = struct.unpack('<I', parsed.compute_icrc(b''))
    if theirs != icrc:
        sys.exit(f'scapy says {theirs:#010x}, this program {icrc:#010x}')


def rows(data):
    """The bytes as big-endian words, seven a line."""
    words = [f'0x{word:08x}' for word, in struct.iter_unpack('!I', data)]
    for start in range(0, len(words), 7):
        yield ', '.join(words[start:start + 7])


ENCAP = {('v1', 'IPv4'): 'RHCA_V1', ('v1', 'IPv6'): 'RHCA_V1',
         ('v2', 'IPv4'): 'RHCA_V2_IPV4', ('v2', 'IPv6'): 'RHCA_V2_IPV6'}


def main():
    print('/* SPDX-License-Identifier: GPL-2.0 */')
    print('/* Made by scripts/kunit/make-icrc-vectors.py: do not edit. */')
    print('static const struct icrc_vector icrc_vectors[] = {')
    for version, family in ENCAP:
        for number, packet in enumerate(PACKETS):
            if packet[0] not in LISTED[version, family]:
                continue
            headers, size, pad, icrc = build(version, family, number, packet)
            print(f'\t{{ "{version} {family}: {packet[0]}", {ENCAP[version, family]}, '
                  f'{len(headers)}, {size}, {pad}, {icrc:#010x}, {{')
            print(',\n'.join(f'\t  {row}' for row in rows(headers)) + ' } },')
    print('};')


if __name__ == '__main__':
    main()
