#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check every RoCE packet of a capture, byte by byte.

usage: check-icrc.py FILE.pcap [--expect COUNT] [--blocks COUNT] [--longest BYTES]
                     [--vlan ID] [--scapy] [--list]
       check-icrc.py --selftest

For RoCE v1 (EtherType 0x8915) and v2 (UDP 4791), over IPv4 and IPv6, with and
without VLAN tags: the ICRC is recomputed (IBTA vol. 1, 7.8.1; annexes A16 and
A17), and lengths, pad count, opcode, header sizes, UDP length and checksum, IP
identification and DF are verified. Exit status 1 and a line for each packet
that is wrong. --scapy computes the ICRC of v2 over IPv4 a second time with
scapy.contrib.roce. --blocks: a sender may pass on many packets with one set of network
headers, to be segmented later (UDP segmentation offload); there must be at least COUNT
such blocks, and each packet is checked as it will be after segmentation. UDP checksums
may then be left to the sending device. --selftest tests the program itself: packets
built by scapy must pass, the same packets with one bit or length changed must not.
"""

import argparse
import struct
import sys
import zlib

ROCE_PORT = 4791
ETH_ROCE_V1, ETH_IP4, ETH_IP6, ETH_VLAN = 0x8915, 0x0800, 0x86dd, (0x8100, 0x88a8)
BTH, DETH, RETH, ATOMIC, AETH, ATOMIC_ACK, IMM, IETH = 12, 8, 16, 28, 4, 8, 4, 4

SEND = [(0, 'SEND_FIRST', 0), (1, 'SEND_MIDDLE', 0), (2, 'SEND_LAST', 0),
        (3, 'SEND_LAST_IMM', IMM), (4, 'SEND_ONLY', 0), (5, 'SEND_ONLY_IMM', IMM)]
WRITE = [(6, 'WRITE_FIRST', RETH), (7, 'WRITE_MIDDLE', 0), (8, 'WRITE_LAST', 0),
         (9, 'WRITE_LAST_IMM', IMM), (10, 'WRITE_ONLY', RETH), (11, 'WRITE_ONLY_IMM', RETH + IMM)]
REST = [(12, 'READ_REQUEST', RETH), (13, 'READ_RESPONSE_FIRST', AETH),
        (14, 'READ_RESPONSE_MIDDLE', 0), (15, 'READ_RESPONSE_LAST', AETH),
        (16, 'READ_RESPONSE_ONLY', AETH), (17, 'ACKNOWLEDGE', AETH),
        (18, 'ATOMIC_ACKNOWLEDGE', AETH + ATOMIC_ACK), (19, 'COMPARE_SWAP', ATOMIC),
        (20, 'FETCH_ADD', ATOMIC), (22, 'SEND_LAST_INV', IETH), (23, 'SEND_ONLY_INV', IETH)]
OPCODES = {n: ('RC_' + name, size) for n, name, size in SEND + WRITE + REST}
OPCODES.update({0x20 + n: ('UC_' + name, size) for n, name, size in SEND + WRITE})
OPCODES.update({0x64: ('UD_SEND_ONLY', DETH), 0x65: ('UD_SEND_ONLY_IMM', DETH + IMM),
                0x81: ('CNP', 16)})
NO_PAYLOAD = ('READ_REQUEST', 'ACKNOWLEDGE', 'COMPARE_SWAP', 'FETCH_ADD', 'CNP')


def packets(path):
    """(frame, captured whole) of a classic pcap file."""
    with open(path, 'rb') as file:
        head = file.read(24)
        magic = head[:4]
        order = {b'\xd4\xc3\xb2\xa1': '<', b'\x4d\x3c\xb2\xa1': '<',
                 b'\xa1\xb2\xc3\xd4': '>', b'\xa1\xb2\x3c\x4d': '>'}.get(magic)
        if order is None:
            sys.exit(f'{path}: not a pcap file')
        if struct.unpack(order + 'I', head[20:24])[0] != 1:
            sys.exit(f'{path}: not captured on Ethernet')
        while True:
            head = file.read(16)
            if len(head) < 16:
                return
            _, _, kept, length = struct.unpack(order + '4I', head)
            yield file.read(kept), kept == length


class Packet:
    """Fields of a frame, and its errors."""

    unfinished = False      # the device still has to compute UDP checksums

    def __init__(self, frame):
        self.frame = frame
        self.errors = []
        self.kind = self.name = None
        self.pcp = self.vlan = None
        self.link()

    def wrong(self, text):
        self.errors.append(text)

    def link(self):
        kind, offset = struct.unpack_from('!H', self.frame, 12)[0], 14
        while kind in ETH_VLAN:
            tag, kind = struct.unpack_from('!HH', self.frame, offset)
            self.pcp, self.vlan = tag >> 13, tag & 0xfff
            offset += 4
        self.l3 = offset
        if kind == ETH_ROCE_V1:
            self.grh()
        elif kind == ETH_IP4:
            self.ip4()
        elif kind == ETH_IP6:
            self.ip6()

    # --- network headers: each leaves self.transport, the bytes from BTH to ICRC

    def grh(self):
        self.kind = 'v1'
        data = self.frame[self.l3:]
        if len(data) < 40 + BTH + 4:
            return self.wrong(f'{len(data)} bytes are no GRH, BTH and ICRC')
        if data[0] >> 4 != 6:
            self.wrong(f'IPVer {data[0] >> 4} in the GRH, expected 6')
        if data[6] != 0x1b:
            self.wrong(f'NxtHdr {data[6]:#x} in the GRH, expected 0x1b')
        if data[7] == 0:
            self.wrong('hop limit 0 in the GRH')
        length, = struct.unpack_from('!H', data, 4)
        if not self.fits(40 + length, data, 'GRH PayLen'):
            return
        masked = bytearray(data[:40])
        masked[0] |= 0x0f
        masked[1] = masked[2] = masked[3] = masked[7] = 0xff
        self.class_and_ttl((data[0] & 15) << 4 | data[1] >> 4, data[7])
        self.transport_layer(bytes(masked), data[40:40 + length])

    def class_and_ttl(self, tclass, ttl):
        """The two ECN bits are set by the stack, the others by the user."""
        self.tclass, self.ecn, self.ttl = tclass & 0xfc, tclass & 3, ttl

    def ip4(self):
        data = self.frame[self.l3:]
        size = (data[0] & 15) * 4
        if data[9] != 17 or struct.unpack_from('!H', data, 6)[0] & 0x1fff:
            return
        if struct.unpack_from('!H', data, size + 2)[0] != ROCE_PORT:
            return
        self.kind = 'v2/IPv4'
        if size != 20:
            self.wrong(f'IP header of {size} bytes, expected 20')
        length, self.ident, flags = struct.unpack_from('!HHH', data, 2)
        if not flags & 0x4000:
            self.wrong('DF is not set')
        if flags & 0x2000:
            self.wrong('a fragment')
        if data[8] == 0:
            self.wrong('TTL 0')
        if Block.sum(data[:20]) != 0xffff:
            self.wrong('IP header checksum')
        if not self.fits(length, data, 'IP total length'):
            return
        self.class_and_ttl(data[1], data[8])
        masked = bytearray(data[:20])
        masked[1] = masked[8] = masked[10] = masked[11] = 0xff
        self.udp(bytes(masked), data[20:length], True)

    def ip6(self):
        data = self.frame[self.l3:]
        if data[6] != 17 or struct.unpack_from('!H', data, 42)[0] != ROCE_PORT:
            return
        self.kind = 'v2/IPv6'
        length, = struct.unpack_from('!H', data, 4)
        if data[7] == 0:
            self.wrong('hop limit 0')
        if not self.fits(40 + length, data, 'IPv6 payload length'):
            return
        self.class_and_ttl((data[0] & 15) << 4 | data[1] >> 4, data[7])
        masked = bytearray(data[:40])
        masked[0] |= 0x0f
        masked[1] = masked[2] = masked[3] = masked[7] = 0xff
        self.udp(bytes(masked), data[40:40 + length], False)

    def fits(self, length, data, what):
        """Ethernet may pad short frames; otherwise nothing may follow or be missing."""
        if length > len(data):
            self.wrong(f'{what} says {length}, {len(data)} bytes are there')
            return False
        if length < len(data) and (len(self.frame) > 60 or any(data[length:])):
            self.wrong(f'{what} says {length}, {len(data)} bytes are there')
        return True

    def udp(self, network, data, ip4):
        source, _, length, checksum = struct.unpack_from('!4H', data, 0)
        if length != len(data):
            return self.wrong(f'UDP length {length}, expected {len(data)}')
        if source < 0xc000:
            self.wrong(f'UDP source port {source:#x}, expected 0xc000-0xffff')
        if checksum and self.udp_sum(data, ip4) != 0xffff and \
                not (self.unfinished and checksum == self.udp_sum(b'', ip4, length)):
            self.wrong(f'UDP checksum {checksum:#x} is neither 0 nor right')
        self.sport = source
        masked = bytearray(data[:8])
        masked[6] = masked[7] = 0xff
        return self.transport_layer(network + bytes(masked), data[8:])

    def udp_sum(self, data, ip4, length=None):
        start = self.l3 + (12 if ip4 else 8)
        addresses = self.frame[start:start + (8 if ip4 else 32)]
        raw = addresses + struct.pack('!HHI', 17, 0, len(data) if length is None else length) + data
        return Block.sum(raw + b'\0' * (len(raw) % 2))

    # --- transport

    def transport_layer(self, network, data):
        if len(data) < BTH + 4:
            return self.wrong(f'{len(data)} bytes are no BTH and ICRC')
        self.opcode = data[0]
        self.solicited = data[1] >> 7
        self.pad = data[1] >> 4 & 3
        self.pkey, = struct.unpack_from('!H', data, 2)
        self.dest_qpn = int.from_bytes(data[5:8], 'big')
        self.ack_request = data[8] >> 7
        self.psn = int.from_bytes(data[9:12], 'big')
        if data[1] & 15:
            self.wrong(f'transport version {data[1] & 15}, expected 0')
        if data[8] & 0x7f:
            self.wrong('reserved bits beside the PSN are not 0')
        if data[4] & 0x3f:
            self.wrong('reserved bits beside the destination QP are not 0')
        if self.opcode not in OPCODES:
            return self.wrong(f'opcode {self.opcode:#x} is none of RC, UC, UD or CNP')
        self.name, headers = OPCODES[self.opcode]
        rest = len(data) - BTH - headers - 4
        if rest < 0:
            self.wrong(f'{self.name} needs {headers} header bytes, {len(data) - BTH - 4} are there')
        elif (rest - self.pad) < 0:
            self.wrong(f'pad count {self.pad} of {rest} bytes')
        else:
            self.payload(data, rest - self.pad)
        if len(data) % 4:
            self.wrong(f'{len(data)} bytes from BTH to ICRC, not a multiple of 4')
        self.icrc_check(network, data)

    def payload(self, data, length):
        self.length = length
        if self.pad != -length % 4:
            self.wrong(f'pad count {self.pad}, expected {-length % 4} for {length} bytes')
        if self.pad and any(data[-4 - self.pad:-4]):
            self.wrong('pad bytes are not 0')
        if self.name.endswith(NO_PAYLOAD) and length:
            self.wrong(f'{self.name} with {length} bytes of payload')
        if self.name.endswith(('_FIRST', '_MIDDLE')) and length not in (256, 512, 1024, 2048, 4096):
            self.wrong(f'{self.name} of {length} bytes, no path MTU')
        if length > 4096:
            self.wrong(f'payload of {length} bytes')

    def icrc_check(self, network, data):
        masked = bytearray(data[:-4])
        masked[4] = 0xff
        self.icrc = zlib.crc32(b'\xff' * 8 + network + bytes(masked))
        got, = struct.unpack('<I', data[-4:])
        if got != self.icrc:
            self.wrong(f'ICRC {got:#010x}, expected {self.icrc:#010x}')


class Block:
    """Packets that the kernel has not segmented yet: v2 headers and segments of one size."""

    sizes = []          # found so far, the most recent first

    def __init__(self, frame):
        self.frame = frame
        self.l3 = 14
        while struct.unpack_from('!H', frame, self.l3 - 2)[0] in ETH_VLAN:
            self.l3 += 4
        kind = struct.unpack_from('!H', frame, self.l3 - 2)[0]
        self.ip4 = kind == ETH_IP4
        self.udp = self.l3 + (20 if self.ip4 else 40)
        self.body = frame[self.udp + 8:]
        self.is_v2 = kind in (ETH_IP4, ETH_IP6) and frame[self.l3 + (9 if self.ip4 else 6)] == 17 and \
            struct.unpack_from('!H', frame, self.udp + 2)[0] == ROCE_PORT

    def segment(self, place, size):
        """As a packet of its own: with lengths, identification and checksum of the IP header."""
        body = self.body[place * size:(place + 1) * size]
        head = bytearray(self.frame[:self.udp + 8])
        if self.ip4:
            ident, = struct.unpack_from('!H', head, self.l3 + 4)
            struct.pack_into('!HH', head, self.l3 + 2, 28 + len(body), (ident + place) & 0xffff)
            struct.pack_into('!H', head, self.l3 + 10, 0)
            struct.pack_into('!H', head, self.l3 + 10, self.sum(head[self.l3:self.udp]) ^ 0xffff)
        else:
            struct.pack_into('!H', head, self.l3 + 4, 8 + len(body))
        struct.pack_into('!HH', head, self.udp + 4, 8 + len(body), 0)
        return bytes(head) + body

    @staticmethod
    def sum(data):
        total = sum(struct.unpack(f'!{len(data) // 2}H', data))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        return total

    def wrong_headers(self):
        """Errors of the block: lengths, and the checksums that a segmenting device starts from."""
        udp_length, checksum = struct.unpack_from('!HH', self.frame, self.udp + 4)
        start = self.l3 + (12 if self.ip4 else 8)
        pseudo = self.frame[start:self.udp] + struct.pack('!HH', 17, udp_length)
        if udp_length != 8 + len(self.body):
            yield f'UDP length {udp_length} of a block, {8 + len(self.body)} bytes are there'
        if checksum != self.sum(pseudo):
            yield f'UDP checksum {checksum:#x} of a block, expected the sum of its pseudo header'
        if not self.ip4:
            if struct.unpack_from('!H', self.frame, self.l3 + 4)[0] != udp_length:
                yield 'IPv6 payload length of a block'
        elif struct.unpack_from('!H', self.frame, self.l3 + 2)[0] != 20 + udp_length:
            yield 'IP total length of a block'
        elif self.sum(self.frame[self.l3:self.udp]) != 0xffff:
            yield 'IP header checksum of a block'

    def segments(self):
        """The segments, or None: their size is the one with which the first ICRC is right."""
        for size in self.sizes + list(range(BTH + 4, min(len(self.body), 5000), 4)):
            if size < len(self.body) and not Packet(self.segment(0, size)).errors:
                Block.sizes = [size] + [other for other in self.sizes if other != size]
                return [self.segment(i, size) for i in range(-(-len(self.body) // size))]
        return None


def split_block(frame):
    """(packets, errors in the headers of the block); None if it is no block."""
    try:
        block = Block(frame)
        segments = block.segments() if block.is_v2 and Packet(frame).errors else None
    except (struct.error, IndexError):
        return None
    return (segments, list(block.wrong_headers())) if segments else None


def scapy_icrc(frame):
    """The same ICRC by scapy's own code: v2 over IPv4 only."""
    import scapy.contrib.roce as roce
    from scapy.layers.l2 import Ether
    bth = Ether(frame)[roce.BTH]
    return struct.unpack('<I', bth.compute_icrc(b''))[0]


def describe(number, packet):
    parts = [str(number), packet.kind, packet.name or '?']
    if packet.vlan is not None:
        parts.append(f'vlan={packet.vlan} pcp={packet.pcp}')
    for field in ('tclass', 'ttl', 'ecn', 'psn', 'dest_qpn', 'length', 'pad', 'pkey'):
        if hasattr(packet, field):
            parts.append(f'{field}={getattr(packet, field)}')
    return ' '.join(parts)


def cut_blocks(args, found):
    """(number, frame, captured whole, what else is wrong); blocks are counted in found."""
    for number, (frame, whole) in enumerate(packets(args.file), 1):
        block = split_block(frame) if args.blocks is not None and whole else None
        if not block:
            yield number, frame, whole, []
            continue
        found.append((len(block[0]), len(frame)))
        for segment in block[0]:
            yield number, segment, whole, block[1]


def check_file(args):
    seen, bad, names, blocks = {}, 0, set(), []
    Packet.unfinished = args.blocks is not None
    for number, frame, whole, wrong in cut_blocks(args, blocks):
        try:
            packet = Packet(frame)
        except (struct.error, IndexError) as ex:
            print(f'packet {number}: too short ({ex})')
            bad += 1
            continue
        if packet.kind is None:
            continue
        if not whole:
            packet.wrong('not captured whole')
        packet.errors += wrong
        if args.scapy and packet.kind == 'v2/IPv4' and not packet.errors:
            other = scapy_icrc(frame)
            if other != packet.icrc:
                packet.wrong(f'scapy computes ICRC {other:#010x}, this program {packet.icrc:#010x}')
        seen[packet.kind] = seen.get(packet.kind, 0) + 1
        names.add(packet.name)
        if args.vlan is not None and packet.vlan != args.vlan:
            packet.wrong(f'VLAN {packet.vlan}, expected {args.vlan}')
        if args.list:
            print(describe(number, packet))
        for text in packet.errors:
            print(f'packet {number} ({describe(number, packet)}): {text}')
        bad += bool(packet.errors)
    total = sum(seen.values())
    print(f'{args.file}: {total} RoCE packets '
          f'({", ".join(f"{k} {v}" for k, v in sorted(seen.items()))}), {bad} wrong')
    print('opcodes: ' + ' '.join(sorted(n for n in names if n)))
    if args.blocks is not None:
        packets_in, longest = sum(n for n, _ in blocks), max((n for _, n in blocks), default=0)
        print(f'{packets_in} of them in {len(blocks)} blocks, the longest of {longest} bytes')
        if args.longest and longest > args.longest:
            print(f'expected no block of more than {args.longest} bytes')
            bad += 1
        if len(blocks) < args.blocks:
            print(f'expected at least {args.blocks} blocks')
            bad += 1
    if total < args.expect:
        print(f'expected at least {args.expect} RoCE packets, got {total}')
        bad += 1
    return 1 if bad else 0


# --- proof of this program -----------------------------------------------------

def build(version, vlan, opcode, headers, payload):
    """A correct packet by scapy, which computes its ICRC if it can."""
    from scapy.contrib.roce import BTH as ScapyBTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.packet import Raw
    pad = -len(payload) % 4
    body = headers + payload + b'\0' * pad
    link = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')
    if vlan:
        link = link / Dot1Q(vlan=7, prio=5)
    bth = ScapyBTH(opcode=opcode, padcount=pad, dqpn=0x123456, psn=0xabcdef, ackreq=1)
    if version == 'v2/IPv4':
        ip = IP(src='10.9.0.1', dst='10.9.0.2', flags='DF', id=0x7777, ttl=33, tos=0x28)
        return bytes(link / ip / UDP(sport=0xc123, dport=ROCE_PORT, chksum=0) / bth / Raw(body))
    # scapy computes no ICRC here: give it the network header in masked form.
    raw = struct.pack('!BBHII', opcode, pad << 4, 0xffff, 0x123456, 0x80abcdef) + body
    if version == 'v2/IPv6':
        head = IPv6(src='fd09::1', dst='fd09::2', tc=0x28, fl=0x4321, hlim=9)
        udp = UDP(sport=0xc123, dport=ROCE_PORT, chksum=0, len=8 + len(raw) + 4)
        head.nh, head.plen = 17, 8 + len(raw) + 4
        masked = IPv6(bytes(head))
        masked.tc, masked.fl, masked.hlim = 0xff, 0xfffff, 0xff
        udp_masked = UDP(bytes(udp))
        udp_masked.chksum = 0xffff
        network, pseudo = bytes(head) + bytes(udp), bytes(masked) + bytes(udp_masked)
        kind = ETH_IP6
    else:
        head = IPv6(src='fe80::1', dst='fe80::2', tc=0x28, fl=0x4321, hlim=9, nh=0x1b,
                    plen=len(raw) + 4)
        masked = IPv6(bytes(head))
        masked.tc, masked.fl, masked.hlim = 0xff, 0xfffff, 0xff
        network, pseudo = bytes(head), bytes(masked)
        kind = ETH_ROCE_V1
    shadow = bytearray(raw)
    shadow[4] = 0xff
    icrc = zlib.crc32(b'\xff' * 8 + pseudo[:len(network)] + bytes(shadow))
    if vlan:
        link[Dot1Q].type = kind
    else:
        link.type = kind
    return bytes(link) + network + raw + struct.pack('<I', icrc)


def build_block(version, vlan, sizes):
    """Messages of these sizes; all but the last are equal, as the kernel requires."""
    frames = []
    for i, size in enumerate(sizes):
        frame = bytearray(build(version, vlan, 0x04, b'', bytes([i + 1]) * size))
        l3 = 18 if vlan else 14
        if version == 'v2/IPv4':        # each has its own identification
            struct.pack_into('!H', frame, l3 + 4, (0xffff + i) & 0xffff)
            struct.pack_into('!H', frame, l3 + 10, 0)
            struct.pack_into('!H', frame, l3 + 10, Block.sum(frame[l3:l3 + 20]) ^ 0xffff)
            struct.pack_into('<I', frame, len(frame) - 4, Packet(bytes(frame)).icrc)
        frames.append(bytes(frame))
    block = Block(frames[0])
    head = bytearray(frames[0][:block.udp + 8])
    body = b''.join(frame[block.udp + 8:] for frame in frames)
    struct.pack_into('!H', head, block.udp + 4, 8 + len(body))
    start = block.l3 + (12 if block.ip4 else 8)
    struct.pack_into('!H', head, block.udp + 6,
                     Block.sum(bytes(head[start:block.udp]) + struct.pack('!HH', 17, 8 + len(body))))
    if block.ip4:
        struct.pack_into('!H', head, block.l3 + 2, 28 + len(body))
        struct.pack_into('!H', head, block.l3 + 10, 0)
        struct.pack_into('!H', head, block.l3 + 10, Block.sum(head[block.l3:block.udp]) ^ 0xffff)
    else:
        struct.pack_into('!H', head, block.l3 + 4, 8 + len(body))
    return bytes(head) + body


def selftest():
    """Correct packets pass, each single change is detected."""
    samples = [(0x04, b'', b''), (0x04, b'', b'x'), (0x04, b'', b'xyz1234'), (0x0a, bytes(16), b'data'),
               (0x11, b'\x1f\0\0\1', b''), (0x64, b'\x11\x11\x11\x11\0\0\0\2', b'hello'),
               (0x13, bytes(28), b''), (0x00, b'', b'm' * 1024)]
    bad = count = 0

    def expect(what, frame, wrong):
        nonlocal bad, count
        count += 1
        try:
            packet = Packet(bytes(frame))
            got = bool(packet.errors)
            told = packet.errors
            if packet.kind is None:
                got, told = True, ['not RoCE any more']
        except (struct.error, IndexError):
            got, told = True, ['too short']
        if got != wrong:
            bad += 1
            print(f'FAIL {what}: expected {"a complaint" if wrong else "none"}, got {told}')

    for version in ('v1', 'v2/IPv4', 'v2/IPv6'):
        for vlan in (False, True):
            for opcode, headers, payload in samples:
                frame = build(version, vlan, opcode, headers, payload)
                label = f'{version} vlan={vlan} opcode={opcode:#x} payload={len(payload)}'
                expect(label, frame, False)
                l3 = 18 if vlan else 14
                l4 = l3 + {'v1': 40, 'v2/IPv4': 28, 'v2/IPv6': 48}[version]
                # Fields not covered by the ICRC may change without an error: traffic class and
                # hop limit, and nothing else.
                free = {'v1': [l3 + 1, l3 + 2, l3 + 3, l3 + 7], 'v2/IPv4': [],
                        'v2/IPv6': [l3 + 1, l3 + 2, l3 + 3, l3 + 7]}[version]
                for position in range(l3, len(frame)):
                    changed = bytearray(frame)
                    changed[position] ^= 0x01
                    # FECN, BECN and the low bit of a version nibble are masked.
                    if position in free or position == l4 + 4 or (position == l3 and version != 'v2/IPv4'):
                        continue
                    if version != 'v1' and position in (l4 - 1, l4 - 2):
                        continue        # the UDP checksum, tried below
                    expect(f'{label}, byte {position} changed', changed, True)
                for cut in (1, 2, 3, 4, 5, 8, 16):
                    expect(f'{label}, {cut} bytes cut', frame[:-cut], True)
                expect(f'{label}, 4 bytes added', frame + b'\1\2\3\4', True)
                if version != 'v1':
                    changed = bytearray(frame)
                    changed[l4 - 2:l4] = b'\x12\x34'
                    expect(f'{label}, UDP checksum', changed, True)
                if version == 'v2/IPv4' and scapy_icrc(frame) != Packet(frame).icrc:
                    bad += 1
                    print(f'FAIL {label}: scapy computes another ICRC')
    for version in ('v2/IPv4', 'v2/IPv6'):
        for vlan in (False, True):
            blocks = build_block(version, vlan, [1024, 1024, 300])
            expect(f'{version} vlan={vlan}, a block as one packet', blocks, True)
            size = BTH + 1024 + 4
            l3 = 18 if vlan else 14
            first = l3 + (28 if version == 'v2/IPv4' else 48)
            for what, positions, right in (
                    ('a block', [()], True),
                    ('each header byte changed', [(i,) for i in range(l3, first)], False),
                    ('a byte of each packet changed', [(first + i * size + BTH + 7,) for i in range(3)], False),
                    ('each last byte changed', [(first + (i + 1) * size - 1,) for i in range(2)] +
                                               [(len(blocks) - 1,)], False)):
                for changes in positions:
                    changed = bytearray(blocks)
                    for position in changes:
                        changed[position] ^= 0x01
                    # Traffic class, flow label and hop limit are not in the ICRC of v2 over IPv6
                    if version == 'v2/IPv6' and changes and changes[0] - l3 in (0, 1, 2, 3, 7):
                        continue
                    found = split_block(bytes(changed))
                    good = bool(found) and not found[1] and len(found[0]) == 3 and \
                        not any(Packet(segment).errors for segment in found[0])
                    count += 1
                    if good != right:
                        bad += 1
                        print(f'FAIL {version} vlan={vlan}, {what}: {changes}')
    print(f'{count} packets, {bad} misjudged')
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('file', nargs='?')
    parser.add_argument('--expect', type=int, default=1, help='at least so many RoCE packets')
    parser.add_argument('--blocks', type=int, help='there may be blocks, at least so many')
    parser.add_argument('--longest', type=int, help='bytes that a block may have')
    parser.add_argument('--vlan', type=int, help='of every packet')
    parser.add_argument('--scapy', action='store_true')
    parser.add_argument('--list', action='store_true', help='one line for each packet')
    parser.add_argument('--selftest', action='store_true')
    args = parser.parse_args()
    if args.selftest:
        return selftest()
    if not args.file:
        parser.error('a capture file or --selftest')
    return check_file(args)


if __name__ == '__main__':
    sys.exit(main())
