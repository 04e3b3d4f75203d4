#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Each kind of wire, and the faults injected on it, without a virtual machine.

usage: wires.py MODEL

A guest with one send queue sends frames; those that arrive are compared, and those
sent to the adapter are counted there.
"""
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

import guest as g
from guest import expect, layouts, Model

OWN, PEER = b'\x02\xc9\0\0\0\x01', b'\x02\xc9\0\0\0\x02'
VLAN, EXPERIMENTAL = 0x8100, 0x88b5
RESERVED_LKEY = 0x100	# as returned by QUERY_SPECIAL_CONTEXTS
PAOS = 0x5006
QUEUE_LOG, BLOCK = 6, 64
CLOCK_TICK_S = 0.01
PATIENCE_S = 60
MILLION = 1000000
IFF_TAP, IFF_NO_PI, TUNSETIFF = 0x2, 0x1000, 0x400454ca


class Sender:
    """An Ethernet send queue of a guest, and the objects that it needs."""
    def __init__(self, guest, affinity=0):
        if not affinity:
            guest.start()
        self.guest = guest
        self.uar = guest.create('alloc_uar', 'uar')
        pd = guest.create('alloc_pd', 'pd')
        self.key = self.physical_key(pd)
        eq = guest.create('create_eq', 'eq_number', {
            'eq_context_entry.log_eq_size': 4, 'eq_context_entry.uar_page': self.uar,
        }, rest=struct.pack('>Q', guest.page()))
        cq = guest.create('create_cq', 'cqn', {
            'cq_context.log_cq_size': 6, 'cq_context.uar_page': self.uar, 'cq_context.oi': 1,
            'cq_context.c_eqn_or_apu_element': eq, 'cq_context.dbr_addr': guest.page(),
        }, rest=struct.pack('>Q', guest.page()))
        self.ring, self.record, self.data = guest.page(), guest.page(), guest.page()
        tis = guest.create('create_tis', 'tisn', {
            'ctx.transport_domain': guest.create('alloc_transport_domain', 'transport_domain'),
            'ctx.lag_tx_port_affinity': affinity})
        self.number = guest.create('create_sq', 'sqn', {
            'ctx.cqn': cq, 'ctx.tis_lst_sz': 1, 'ctx.tis_num_0': tis, 'ctx.wq.wq_type': 1, 'ctx.wq.pd': pd, 'ctx.wq.uar_page': self.uar,
            'ctx.wq.dbr_addr': self.record, 'ctx.wq.log_wq_stride': 6,
            'ctx.wq.log_wq_sz': QUEUE_LOG,
        }, rest=struct.pack('>Q', self.ring))
        guest.run('modify_sq', {'sqn': self.number, 'ctx.state': 1})
        guest.run('modify_nic_vport_context', {
            'field_select.promisc': 1, 'nic_vport_context.promisc_uc': 1})
        self.posted = 0
        self.set_port(True)

    def physical_key(self, pd):
        return self.guest.create('create_mkey', 'mkey_index', {
            'memory_key_mkey_entry.lr': 1, 'memory_key_mkey_entry.length64': 1,
            'memory_key_mkey_entry.qpn': 0xffffff, 'memory_key_mkey_entry.pd': pd}) << 8

    def set_port(self, up):
        """As the driver does it."""
        register = layouts.build('paos_reg', {'ase': 1, 'admin_status': 1 if up else 2})
        self.guest.run('access_reg', {'register_id': PAOS}, layout='access_register',
                       rest=register, out_rest=len(register))

    def send(self, frame):
        memory, index = self.guest.memory, self.posted
        memory[self.data:self.data + len(frame)] = frame
        wqe = struct.pack('>IIIIIIII', index << 8 | 0x0a, self.number << 8 | 3, 0, 0, 0, 0, 0, 0)
        wqe += struct.pack('>IIQ', len(frame), self.key, self.data)
        at = self.ring + index % (1 << QUEUE_LOG) * BLOCK
        memory[at:at + BLOCK] = wqe.ljust(BLOCK, b'\0')
        self.posted += 1
        memory[self.record + 4:self.record + 8] = struct.pack('>I', self.posted & 0xffff)
        self.guest.bar_write(self.uar * 4096 + 0x800, int.from_bytes(wqe[:8], 'big'), 8)
        self.guest.bar_read(0)


def frame(number, vlan=None):
    tag = struct.pack('>HH', VLAN, vlan) if vlan is not None else b''
    return PEER + OWN + tag + struct.pack('>HI', EXPERIMENTAL, number) + bytes(range(64))


def counters(model, device=0):
    return model.control(cmd='counters', device=device)


def wait_for(condition):
    """Whether it became true in time."""
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(CLOCK_TICK_S)
    return condition()


def receive(sock, count):
    """That many frames, and any others that have arrived."""
    got = []
    try:
        while True:
            sock.settimeout(PATIENCE_S if len(got) < count else CLOCK_TICK_S)
            got.append(sock.recv(65536))
    except TimeoutError:
        return got


def both_ways(name, program, wire, peer, put):
    """Frames out and in again, plain and with a VLAN tag."""
    model = Model(program, 'wire=' + wire)
    sender = Sender(model.guests[0])
    frames = [frame(1), frame(2, vlan=5), frame(3)]
    for data in frames:
        sender.send(data)
    expect(name + '-out', receive(peer, len(frames)), frames)
    for data in frames:
        put(OWN + PEER + data[12:])
    expect(name + '-in', wait_for(lambda: counters(model)['wire_rx_packets'] >= len(frames)), True)
    expect(name + '-sent', counters(model)['wire_tx_packets'], len(frames))
    model.end()


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def udp(program):
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.bind(('127.0.0.1', 0))
    port = free_udp_port()
    both_ways('udp', program, 'udp:%d:%d' % (port, peer.getsockname()[1]), peer,
              lambda data: peer.sendto(data, ('127.0.0.1', port)))


def unix(program):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, end) for end in ('model', 'peer')]
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        peer.bind(paths[1])
        both_ways('unix', program, 'unix:' + ':'.join(paths), peer,
                  lambda data: peer.sendto(data, paths[0]))


def tap(program):
    """The host's own stack at the other end, seen through a packet socket."""
    name = 'cx%d' % os.getpid()
    try:
        device = os.open('/dev/net/tun', os.O_RDWR)
        fcntl.ioctl(device, TUNSETIFF, struct.pack('16sH14x', name.encode(), IFF_TAP | IFF_NO_PI))
        os.close(device)
    except OSError as error:
        print('SKIP tap (%s)' % error.strerror)
        return
    model = Model(program, 'wire=tap:' + name)
    sender = Sender(model.guests[0])
    subprocess.run(['ip', 'link', 'set', name, 'up'], check=True)
    peer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EXPERIMENTAL))
    peer.bind((name, EXPERIMENTAL))
    sender.send(frame(1))
    expect('tap-out', receive(peer, 1), [frame(1)])
    peer.send(OWN + PEER + frame(2)[12:])
    # The host also sends to groups, which are not joined here.
    expect('tap-in', wait_for(
        lambda: counters(model)['rx_ethernet_unicast_packets'] == 1), True)
    model.end()


def joined(program):
    """Two adapters of one process, back to back; and the link of one of them."""
    model = Model(program, '', 'wire=join:0')
    ends = [Sender(guest) for guest in model.guests]
    ends[0].send(frame(1))
    ends[1].send(frame(2))
    expect('join-there', wait_for(lambda: counters(model, 1)['wire_rx_packets'] == 1), True)
    expect('join-back', wait_for(lambda: counters(model, 0)['wire_rx_packets'] == 1), True)
    model.control(cmd='link', device=0, up=False)
    ends[0].send(frame(3))
    expect('link-down-sends-nothing', counters(model, 0)['wire_tx_packets'], 1)
    model.control(cmd='link', device=0, up=True)
    ends[0].send(frame(4))
    expect('link-up-sends', wait_for(lambda: counters(model, 1)['wire_rx_packets'] == 2), True)
    model.end()


def aggregated(program):
    """Queues of an aggregation's master use the port of their affinity."""
    with tempfile.TemporaryDirectory() as folder:
        peers = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
        for number, peer in enumerate(peers):
            peer.bind('%s/peer%d' % (folder, number))
        model = Model(program, *('wire=unix:%s/model%d:%s/peer%d%s' % (
            folder, n, folder, n, ',port2-of=0' if n else '') for n in range(2)))
        master, slave = model.guests
        both = [Sender(guest) for guest in (master, slave)]
        senders = [Sender(master, affinity) for affinity in (1, 2)]
        remap = {'ctx.tx_remap_affinity_1': 1, 'ctx.tx_remap_affinity_2': 2}

        def sent():
            """Frames of each queue of the master, as seen on each wire."""
            for number, sender in enumerate(senders + both):
                sender.send(frame(number))
            return [[struct.unpack_from('>I', data, 14)[0] for data in receive(peer, 0)]
                    for peer in peers]

        expect('affinity-without-lag', sent(), [[0, 1, 2], [3]])
        master.run('create_lag', remap)
        expect('affinity-before-vport-lag', sent(), [[0, 1, 2], [3]])
        master.run('create_vport_lag')
        expect('affinity', sent(), [[0, 2], [1, 3]])
        master.run('modify_lag', {'field_select': 1, **remap, 'ctx.tx_remap_affinity_1': 2})
        expect('affinity-moved', sent(), [[2], [0, 1, 3]])
        master.run('destroy_vport_lag')
        master.run('destroy_lag')
        expect('affinity-after-lag', sent(), [[0, 1, 2], [3]])
        model.end()


def faults(program):
    """The effect of each fault on frames, when it is certain to happen."""
    with tempfile.TemporaryDirectory() as folder:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        peer.bind(folder + '/peer')
        model = Model(program, 'wire=unix:%s/model:%s/peer' % (folder, folder))
        sender = Sender(model.guests[0])

        def through(ppm, *numbers):
            model.control(cmd='impair', **{ppm: MILLION})
            for number in numbers:
                sender.send(frame(number))
            model.control(cmd='impair', **{ppm: 0})

        through('duplicate_ppm', 1, 2)
        expect('duplicate', receive(peer, 4), [frame(n) for n in (1, 1, 2, 2)])
        expect('duplicate-counted', counters(model)['impaired_duplicated'], 2)
        through('loss_ppm', 3)
        expect('loss', receive(peer, 0), [])
        expect('loss-counted', counters(model)['impaired_lost'], 1)
        through('reorder_ppm', 4, 5)
        expect('reorder', receive(peer, 2), [frame(5), frame(4)])
        through('corrupt_ppm', 6)
        differing = [sum(bin(a ^ b).count('1') for a, b in zip(got, frame(6)))
                     for got in receive(peer, 1)]
        expect('corrupt', differing, [1])
        sender.send(frame(7))
        expect('no-fault-left', receive(peer, 1), [frame(7)])
        model.end()


def observed(program):
    """The output of --trace and of --pcap for one frame."""
    with tempfile.TemporaryDirectory() as folder:
        model = Model(program, '', options=[
            '--trace', 'all', '--trace-file', folder + '/trace', '--pcap', folder + '/pcap'])
        Sender(model.guests[0]).send(frame(1))
        model.end()
        with open(folder + '/trace') as file:
            trace = file.read()
        for name, line in (('command', 'CREATE_SQ '), ('field', 'in ctx.tis_lst_sz = 0x1'),
                           ('wqe', 'SQ 0x100[0] opcode 0xa'), ('doorbell', 'send doorbell')):
            expect('trace-' + name, line in trace, True)
        with open(folder + '/pcap', 'rb') as file:
            record = file.read()[24:]
        expect('pcap', record[16:], frame(1))


def main():
    for test in (udp, unix, tap, joined, aggregated, faults, observed):
        test(sys.argv[1])
    sys.exit(1 if g.failed else 0)


main()
