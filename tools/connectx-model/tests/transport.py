#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A reliable loopback connection of an adapter over a bad wire, without a virtual
machine: as many READs or atomics at a time as were advertised, and more as they
complete.

usage: transport.py MODEL
"""
import struct
import sys
import tempfile
import time

import guest as g
from guest import expect, layouts, Model

MAC, GID = 0x02c900000001, b'\0' * 10 + b'\xff\xff\x0a\x07\x00\x01'
RC, MTU_1024, ANY_QPN = 0, 3, 0xffffff
OUTSTANDING, READ_BYTES, READS = 16, 16384, 256
SQ_LOG, CQ_LOG, BLOCK, CQE = 6, 6, 64, 64
ATOMICS, ATOMICS_POSTED = 512, 48
READ, FETCH_ADD, SIGNALLED = 0x10, 0x12, 8
RIGHTS = ('lr', 'lw', 'rr', 'rw', 'a')
REQUEST_ERROR, RETRY_EXCEEDED = 13, 0x15
PATIENCE_S = 60
LENGTH = 1
FLUSHED = 5
REMOTE_ACCESS, ARM = 0x13, 0x20
SQ_DRAINED, EVENT_BYTES = 3, 64
IN_RTS, IN_SQD = 3, 7


def gid_fields(name):
    return {'%s[%d]' % (name, i): byte for i, byte in enumerate(GID)}


class Connection:
    address = {'qpc.primary_address_path.rmac_47_32': MAC >> 32,
               'qpc.primary_address_path.rmac_31_0': MAC,
               **gid_fields('qpc.primary_address_path.rgid_rip')}

    def __init__(self, guest):
        guest.start()
        self.guest = guest
        self.set_address()
        self.uar = guest.create('alloc_uar', 'uar')
        pd = guest.create('alloc_pd', 'pd')
        key = {'memory_key_mkey_entry.' + right: 1 for right in RIGHTS}
        self.key = guest.create('create_mkey', 'mkey_index', {
            **key, 'memory_key_mkey_entry.length64': 1, 'memory_key_mkey_entry.qpn': ANY_QPN,
            'memory_key_mkey_entry.pd': pd}) << 8
        self.cq_ring = guest.page()
        guest.memory[self.cq_ring:self.cq_ring + 4096] = b'\xf1' * 4096
        eq = guest.create('create_eq', 'eq_number', {
            'eq_context_entry.log_eq_size': 6, 'eq_context_entry.uar_page': self.uar,
        }, rest=struct.pack('>Q', guest.page()))
        self.cq = guest.create('create_cq', 'cqn', {
            'cq_context.log_cq_size': CQ_LOG, 'cq_context.uar_page': self.uar,
            'cq_context.oi': 1, 'cq_context.c_eqn_or_apu_element': eq,
            'cq_context.dbr_addr': guest.page()}, rest=struct.pack('>Q', self.cq_ring))
        self.pd, self.polled, self.posted = pd, 0, 0
        self.ring, self.record = guest.page(), guest.page()
        self.qps = [self.make_qp(self.ring, self.record), self.make_qp(guest.page(), guest.page())]
        for own, peer in (self.qps, self.qps[::-1]):
            self.connect(own, peer)
        self.source = self.take(READ_BYTES)
        self.target = self.take(READ_BYTES)

    def take(self, count):
        first = self.guest.page()
        for _ in range(count // 4096 - 1):
            self.guest.page()
        return first

    def set_address(self):
        guest = self.guest
        guest.run('modify_nic_vport_context', {
            'field_select.roce_en': 1, 'nic_vport_context.roce_en': 1})
        guest.run('set_roce_address', {
            'roce_address.roce_version': 2, 'roce_address.source_mac_47_32': MAC >> 32,
            'roce_address.source_mac_31_0': MAC, **gid_fields('roce_address.source_l3_address')})
        register = layouts.build('paos_reg', {'ase': 1, 'admin_status': 1})
        guest.run('access_reg', {'register_id': 0x5006}, layout='access_register', rest=register,
                  out_rest=len(register))

    more = {}       # fields of a queue pair's context

    def qp_fields(self, record, service=RC):
        return {
            'qpc.st': service, 'qpc.pd': self.pd, 'qpc.cqn_snd': self.cq, 'qpc.cqn_rcv': self.cq,
            'qpc.uar_page': self.uar, 'qpc.log_sq_size': SQ_LOG, 'qpc.rq_type': 3,
            'qpc.dbr_addr': record, **self.more}

    def make_qp(self, ring, record, service=RC):
        return self.guest.create('create_qp', 'qpn', self.qp_fields(record, service),
                                 rest=struct.pack('>Q', ring))

    def connect(self, own, peer):
        context = {
            'qpc.mtu': MTU_1024, 'qpc.log_msg_max': 30, 'qpc.remote_qpn': peer,
            'qpc.rre': 1, 'qpc.rae': 1, 'qpc.atomic_mode': 1,
            'qpc.log_sra_max': 4, 'qpc.log_rra_max': 4, 'qpc.retry_count': 7, 'qpc.rnr_retry': 7,
            'qpc.primary_address_path.ack_timeout': 1, **self.address}
        for step in ('rst2init_qp', 'init2rtr_qp', 'rtr2rts_qp'):
            assert self.guest.status(step, {'qpn': own, **context}) == g.OK, step

    def post_read(self, count=READ_BYTES):
        self.post(READ, struct.pack('>QII', self.source, self.key, 0) +
                  struct.pack('>IIQ', count, self.key, self.target))

    def post_fetch_add(self):
        """Adds 1; the old value goes to a place of its own."""
        self.post(FETCH_ADD, struct.pack('>QII', self.source, self.key, 0) +
                  struct.pack('>QQ', 1, 0) +
                  struct.pack('>IIQ', 8, self.key, self.target + self.posted * 8))

    def post(self, opcode, segments):
        memory, qpn, index = self.guest.memory, self.qps[0], self.posted
        wqe = struct.pack('>IIII', index << 8 & 0xffff00 | opcode,
                          qpn << 8 | 1 + len(segments) // 16, SIGNALLED, 0) + segments
        at = self.ring + index % (1 << SQ_LOG) * BLOCK
        memory[at:at + BLOCK] = wqe.ljust(BLOCK, b'\0')
        self.posted += 1
        memory[self.record + 4:self.record + 8] = struct.pack('>I', self.posted & 0xffff)
        self.guest.bar_write(self.uar * 4096 + 0x800, int.from_bytes(wqe[:8], 'big'), 8)

    def hear_of(self, event):
        """From now on these events go to a queue of their own."""
        self.eq_ring = self.guest.page()
        self.guest.memory[self.eq_ring:self.eq_ring + 4096] = b'\xff' * 4096
        self.guest.create('create_eq', 'eq_number', {
            'eq_context_entry.log_eq_size': 6, 'eq_context_entry.uar_page': self.uar,
            'event_bitmask[0]': 1 << event}, rest=struct.pack('>Q', self.eq_ring))

    def events(self):
        """(type, number of the queue pair) of each event so far"""
        found, at = [], self.eq_ring
        while not self.guest.memory[at + EVENT_BYTES - 1] & 1:
            found.append((self.guest.memory[at + 1],
                          int.from_bytes(self.guest.memory[at + 56:at + 60], 'big')))
            at += EVENT_BYTES
        return found

    def state(self):
        return layouts.field('query_qp_out', self.guest.run('query_qp', {'qpn': self.qps[0]}),
                             'qpc.state')

    def poll(self):
        """(opcode, syndrome) of the next completion, or None."""
        at = self.cq_ring + self.polled % (1 << CQ_LOG) * CQE
        last = self.guest.memory[at + 63]
        if last >> 4 == 0xf or last & 1 != self.polled >> CQ_LOG & 1:
            return None
        self.polled += 1
        return last >> 4, self.guest.memory[at + 55] if last >> 4 >= 13 else 0


def run(connection, name, post, count, posted):
    """That many requests, with so many of them posted at a time."""
    bad, end = [], time.monotonic() + PATIENCE_S
    while connection.polled < count and not bad and time.monotonic() < end:
        while connection.posted < min(count, connection.polled + posted):
            post()
        result = connection.poll()
        if result is None:
            time.sleep(0.001)
        elif result[0]:
            bad.append(result)
    expect(name + '-no-error', bad, [])
    expect(name + '-all', connection.polled, count)


def counted(program):
    """Each request has its own doorbell, and no event is requested."""
    model = Model(program, '')
    connection = Connection(model.guests[0])
    run(connection, 'counted', connection.post_read, READS, 1)
    counters = model.control(cmd='counters')
    expect('counted-work', [counters[name] for name in (
        'send_requests', 'send_doorbells', 'completions', 'cq_arms', 'completion_events')],
        [READS, READS, READS, 0, 0])
    commands = model.control(cmd='commands')
    expect('counted-commands', [commands['CREATE_QP'], commands['RTR2RTS_QP']],
           [len(connection.qps)] * 2)
    model.end()


def reads_over(program, name, **faults):
    model = Model(program, '')
    connection = Connection(model.guests[0])
    memory = model.guests[0].memory
    content = bytes(i * 7 & 0xff for i in range(READ_BYTES))
    memory[connection.source:connection.source + READ_BYTES] = content
    model.control(cmd='impair', **faults)
    run(connection, name, connection.post_read, READS, OUTSTANDING)
    expect(name + '-data', memory[connection.target:connection.target + READ_BYTES] == content, True)
    model.end()


def atomics_over(program, name, **faults):
    """Each is executed once, whatever had to be retransmitted."""
    model = Model(program, '')
    connection = Connection(model.guests[0])
    memory = model.guests[0].memory
    model.control(cmd='impair', **faults)
    run(connection, name, connection.post_fetch_add, ATOMICS, ATOMICS_POSTED)
    before = memory[connection.target:connection.target + ATOMICS * 8]
    expect(name + '-once', list(struct.unpack(f'<{ATOMICS}Q', before)), list(range(ATOMICS)))
    model.end()


def next_completion(connection):
    end, result = time.monotonic() + PATIENCE_S, None
    while result is None and time.monotonic() < end:
        time.sleep(0.001)
        result = connection.poll()
    return result


def all_lost(program):
    """Only the model's own timer wakes it."""
    model = Model(program, '')
    connection = Connection(model.guests[0])
    model.control(cmd='impair', loss_ppm=1000000)
    connection.post_read()
    expect('all-lost', next_completion(connection), (REQUEST_ERROR, RETRY_EXCEEDED))
    model.end()


def completed(connection, count, seconds=PATIENCE_S):
    """Until that many requests have completed without error, or the time is over."""
    end, good = time.monotonic() + seconds, True
    while connection.polled < count and good and time.monotonic() < end:
        result = connection.poll()
        good = result is None or result == (0, 0)
        time.sleep(0.001)
    return connection.polled if good else 'error'


def drained(program):
    """Requests that were started are completed, as an event tells; others wait for RTS."""
    model = Model(program, '')
    guest, connection = model.guests[0], Connection(model.guests[0])
    qpn = connection.qps[0]
    again = {'qpn': qpn, 'qpc.retry_count': 7}
    connection.hear_of(SQ_DRAINED)
    expect('drain-not-in-sqd', guest.status('sqd_rts_qp', again, layout='sqd2rts_qp'),
           g.BAD_QP_STATE)
    model.control(cmd='impair', loss_ppm=1000000)
    for _ in range(4):
        connection.post_read()
    expect('drain', model.control(cmd='drain', number=qpn)['drained'], 1)
    connection.post_read()
    connection.post_read()
    expect('drain-begun', [connection.state(), connection.events()], [IN_SQD, []])
    expect('drain-once', model.control(cmd='drain', number=qpn)['drained'], 0)
    model.control(cmd='impair', loss_ppm=0)
    expect('drain-finishes-what-was-begun', completed(connection, 4), 4)
    expect('drain-others-wait', completed(connection, 5, 0.5), 4)
    expect('drain-event', connection.events(), [(SQ_DRAINED, qpn)])
    expect('drain-rts', guest.status('sqd_rts_qp', again, layout='sqd2rts_qp'), g.OK)
    expect('drain-nothing-lost', [completed(connection, 6), connection.state()], [6, IN_RTS])
    model.control(cmd='drain', number=qpn)
    expect('drain-of-an-idle-one', connection.events(), [(SQ_DRAINED, qpn)] * 2)
    expect('drain-to-error', [guest.status('2err_qp', {'qpn': qpn}, layout='qp_2err'),
                              model.control(cmd='drain', number=qpn)['drained']], [g.OK, 0])
    model.end()


def flushed_slowly(program):
    """One by one; a query in between returns the number that is left."""
    model = Model(program, '')
    guest, connection = model.guests[0], Connection(model.guests[0])
    model.control(cmd='impair', loss_ppm=1000000)
    model.control(cmd='flush', us=50000)
    for _ in range(4):
        connection.post_read()
    guest.run('2err_qp', {'qpn': connection.qps[0]}, layout='qp_2err')

    def left():
        out = guest.run('query_qp', {'qpn': connection.qps[0]})
        posted, done = (layouts.field('query_qp_out', out, 'qpc.%s_sq_wqebb_counter' % side)
                        for side in ('sw', 'hw'))
        return posted - done
    found, end = [left()], time.monotonic() + PATIENCE_S
    while found[-1] and time.monotonic() < end:
        if left() != found[-1]:
            found.append(left())
    expect('flush-one-by-one', found, [4, 3, 2, 1, 0])
    expect('flush-each', [connection.poll() for _ in range(5)],
           [(REQUEST_ERROR, FLUSHED)] * 4 + [None])
    model.end()


PRIMARY_PATH, RNR_TIMEOUT, READ_RIGHT = 1 << 7, 1 << 6, 1 << 1	# of opt_param_mask
UC, UD, EXPEDITED = 1, 2, 46


def frames_of(path):
    """Each frame of a capture, without its timestamp"""
    with open(path, 'rb') as file:
        data = file.read()[24:]
    while data:
        size = struct.unpack('<I', data[8:12])[0]
        yield data[16:16 + size]
        data = data[16 + size:]


def marks(folder):
    """(DSCP, TTL, source port) of frames of RoCE v2 over IPv4"""
    return {(frame[15] >> 2, frame[22], int.from_bytes(frame[34:36], 'big'))
            for frame in frames_of(folder + '/pcap')}


def moved(program):
    """RTS2RTS changes the address of a live connection, if the option says so; nothing is lost."""
    with tempfile.TemporaryDirectory() as folder:
        model = Model(program, '', options=['--pcap', folder + '/pcap'])
        guest, connection = model.guests[0], Connection(model.guests[0])
        path = 'qpc.primary_address_path.'
        again = {'qpn': connection.qps[0], **connection.address, path + 'dscp': EXPEDITED,
                 path + 'udp_sport': 0xd00d, path + 'hop_limit': 7}

        def change(options, **fields):
            return guest.status('rts2rts_qp', {**again, 'opt_param_mask': options, **fields})
        run(connection, 'moved-before', connection.post_read, 4, 1)
        expect('moved-not-named', change(RNR_TIMEOUT), g.OK)
        run(connection, 'moved-not-yet', connection.post_read, 8, 1)
        expect('moved-to-no-address', change(PRIMARY_PATH, **{path + 'src_addr_index': 200}),
               g.BAD_PARAM)
        before = marks(folder)
        expect('moved', change(PRIMARY_PATH), g.OK)
        run(connection, 'moved-after', connection.post_read, 12, 1)
        expect('moved-marks', marks(folder) - before, {(EXPEDITED, 7, 0xd00d)})
        datagrams = connection.make_qp(guest.page(), guest.page(), UD)
        for step in ('rst2init_qp', 'init2rtr_qp', 'rtr2rts_qp'):
            guest.run(step, {'qpn': datagrams})
        expect('moved-datagrams', change(PRIMARY_PATH, qpn=datagrams), g.BAD_PARAM)
        model.end()


RAE, RWE, Q_KEY = 1 << 2, 1 << 3, 1 << 5


def options_of_services(program):
    """A transition accepts the options that are defined for a service, and no others."""
    model = Model(program, '')
    guest, connection = model.guests[0], Connection(model.guests[0])
    qps = {'rc': connection.qps[0], 'uc': connection.make_qp(guest.page(), guest.page(), UC),
           'ud': connection.make_qp(guest.page(), guest.page(), UD)}
    connection.connect(qps['uc'], qps['uc'])
    for step in ('rst2init_qp', 'init2rtr_qp', 'rtr2rts_qp'):
        guest.run(step, {'qpn': qps['ud']})
    takes = {'rc': READ_RIGHT | RAE | RWE | RNR_TIMEOUT, 'uc': RWE, 'ud': Q_KEY}
    for name, qpn in qps.items():
        for option in (READ_RIGHT, RAE, RWE, Q_KEY, RNR_TIMEOUT):
            expect('option-%s-%#x' % (name, option),
                   guest.status('rts2rts_qp', {'qpn': qpn, 'opt_param_mask': option}),
                   g.OK if option & takes[name] else g.BAD_PARAM)
    model.end()


def armed(program):
    """A driver that has not seen the last event cannot request the next one."""
    model = Model(program, '')
    connection = Connection(model.guests[0])

    def events(seen):
        connection.guest.bar_write(connection.uar * 4096 + ARM, seen << 60 | connection.cq, 8)
        return model.control(cmd='counters')['completion_events']
    connection.post_read()
    completed(connection, 1)
    for name, seen, wanted in (('first', 0, 1), ('too-early', 0, 1), ('second', 1, 2),
                               ('too-early-again', 1, 2)):
        expect('armed-' + name, events(seen), wanted)
    model.end()


LIST = 2        # an access mode


def atomic_at(program):
    """An aligned address that a key translates to another one."""
    for name, offset, wanted in (('aligned', 8, (0, 0)),
                                 ('not-aligned', 4, (REQUEST_ERROR, REMOTE_ACCESS))):
        model = Model(program, '')
        guest, connection = model.guests[0], Connection(model.guests[0])
        key = guest.create('create_mkey', 'mkey_index', {
            'translations_octword_actual_size': 1, **{
                'memory_key_mkey_entry.' + field: value for field, value in {
                    **{right: 1 for right in RIGHTS}, 'access_mode_1_0': LIST, 'qpn': ANY_QPN,
                    'pd': connection.pd, 'len': 64, 'translations_octword_size': 4}.items()}},
            rest=struct.pack('>IIQ', 64, connection.key, connection.source + offset)) << 8
        connection.post(FETCH_ADD, struct.pack('>QIIQQIIQ', 0, key, 0, 1, 0, 8, connection.key,
                                               connection.target))
        expect('atomic-' + name, next_completion(connection), wanted)
        model.end()


NO_SET, TOO_MANY_READS, TOO_LONG = 99, 5, 31
XRC, OF_SHARED = 3, 1


def attributes(program):
    """Values that a queue pair may not name, or that exceed the adapter's limits."""
    model = Model(program, '')
    guest, connection = model.guests[0], Connection(model.guests[0])
    qpn = connection.make_qp(guest.page(), guest.page())
    for name, step, context, wanted in (
            ('no-set', 'rst2init_qp', {'qpc.counter_set_id': NO_SET}, g.BAD_RESOURCE),
            ('set', 'rst2init_qp', {'qpc.counter_set_id': guest.create(
                'alloc_q_counter', 'counter_set_id')}, g.OK),
            ('resources', 'init2rtr_qp', {'qpc.log_rra_max': TOO_MANY_READS}, g.BAD_PARAM),
            ('length', 'init2rtr_qp', {'qpc.log_msg_max': TOO_LONG}, g.BAD_PARAM),
            ('rtr', 'init2rtr_qp', {'qpc.log_msg_max': TOO_LONG - 1}, g.OK),
            ('reads', 'rtr2rts_qp', {'qpc.log_sra_max': TOO_MANY_READS}, g.BAD_PARAM),
            ('rts', 'rtr2rts_qp', {}, g.OK)):
        expect('attribute-' + name, guest.status(step, {
            'qpn': qpn, 'qpc.mtu': MTU_1024, **connection.address, **context}), wanted)
    domain = guest.create('alloc_xrcd', 'xrcd')
    shared = guest.create('create_xrc_srq', 'xrc_srqn', {
        'xrc_srq_context_entry.' + name: value for name, value in {
            'xrcd': domain, 'cqn': connection.cq, 'pd': connection.pd, 'log_rq_stride': 1}.items()},
        rest=struct.pack('>Q', guest.page()))
    expect('shared-queue-of-xrc', [guest.status('create_qp', {
        **connection.qp_fields(guest.page(), XRC), 'qpc.rq_type': OF_SHARED, 'qpc.xrcd': domain,
        'qpc.srqn_rmpn_xrqn': number}, rest=struct.pack('>Q', guest.page()))
        for number in (shared, NO_SET)], [g.OK, g.BAD_RESOURCE])
    pool = guest.create('create_rmp', 'rmpn', {
        'ctx.wq.pd': connection.pd, 'ctx.wq.log_wq_stride': 5, 'ctx.wq.dbr_addr': guest.page()},
        rest=struct.pack('>Q', guest.page()))
    expect('limit-of-no-state', [guest.status('modify_rmp', {
        'rmpn': pool, 'rmp_state': state, 'ctx.state': state}) for state in (0, 1)],
        [g.BAD_RES_STATE, g.OK])
    expect('uar-of-queue-pairs', guest.status('dealloc_uar', {'uar': connection.uar}), g.BUSY)
    model.end()


def lengths(program):
    """Length 0 of an SGE means 2 GiB, which no message may have."""
    model = Model(program, '')
    connection = Connection(model.guests[0])
    connection.post_read(0)
    expect('read-of-no-length', next_completion(connection), (REQUEST_ERROR, LENGTH))
    model.end()


HAS_GID, LONG_VECTOR, SENDS = 1 << 30, 1 << 31, 0xa


class Datagrams(Connection):
    """A queue pair of datagrams, and one that receives them."""
    key = 0x1234

    def __init__(self, guest):
        super().__init__(guest)
        self.qps[0] = self.make_qp(self.ring, self.record, UD)
        for step in ('rst2init_qp', 'init2rtr_qp', 'rtr2rts_qp'):
            assert guest.status(step, {'qpn': self.qps[0]}) == g.OK, step

    def post_send(self, flags):
        self.post(SENDS, struct.pack('>IIIHHI', self.key, 0, LONG_VECTOR | self.qps[1], 0, 0, 0) +
                  MAC.to_bytes(6, 'big') + bytes([0, 64]) + struct.pack('>I', flags) + GID)


def vectors(program):
    """On Ethernet each has a GID: libmlx5 does not set the flag, drivers of the kernel do."""
    for name, flags in (('gid', HAS_GID), ('no-gid', 0)):
        model = Model(program, '')
        connection = Datagrams(model.guests[0])
        connection.post_send(flags)
        expect('vector-' + name, next_completion(connection), (0, 0))
        model.end()


RDMA_RECEIVE, TO_OTHER_DOMAIN, ALLOW, BY_MISC = 7, 2, 1, 2


def switchdev(program):
    """RoCE goes to the network interface, except packets that the driver's tables let in."""
    model = Model(program, 'switch')
    guest, connection = model.guests[0], Connection(model.guests[0])
    table = {'table_type': RDMA_RECEIVE}
    table['table_id'] = guest.create('create_flow_table', 'table_id', {
        **table, 'flow_table_context.table_miss_action': TO_OTHER_DOMAIN})
    guest.run('set_flow_table_root', table)
    connection.post_read()
    expect('switchdev-not-taken', completed(connection, 1, 0.5), 0)
    group = guest.create('create_flow_group', 'group_id', {
        **table, 'match_criteria_enable': BY_MISC,
        'match_criteria.misc_parameters.source_port': 0xffff})
    expect('switchdev-own-let-in', guest.status('set_flow_table_entry', {
        **table, 'flow_context.action': ALLOW, 'flow_context.group_id': group},
        layout='set_fte'), g.OK)
    expect('switchdev-taken', completed(connection, 1), 1)
    model.end()


DATA_32, DATA_64, HAS_DATA_32 = 0x11, 0x22, 4
CONTENT = bytes(range(1, 65))


class WithData(Connection):
    """Small data that is returned is in the completion."""
    more = {'qpc.cs_req': DATA_32}


def came_back(connection, post, *arguments):
    """(data in its completion, or None; content of memory) after one more request."""
    memory = connection.guest.memory
    memory[connection.target:connection.target + 64] = bytes(64)
    at = connection.cq_ring + connection.polled % (1 << CQ_LOG) * CQE
    place = connection.target + (connection.posted * 8 if post == connection.post_fetch_add else 0)
    post(*arguments)
    completed(connection, connection.polled + 1)
    in_memory = bytes(memory[place:place + 64]).rstrip(b'\0')
    return (bytes(memory[at:at + 32]).rstrip(b'\0') if memory[at + 63] & HAS_DATA_32 else None,
            in_memory)


def data_in_completions(program):
    model = Model(program, '', options=['--with', 'scatter-cqe'])
    guest, connection = model.guests[0], WithData(model.guests[0])
    guest.memory[connection.source:connection.source + 64] = CONTENT
    expect('completion-read', came_back(connection, connection.post_read, 32), (CONTENT[:32], b''))
    expect('completion-read-of-more', came_back(connection, connection.post_read, 33),
           (None, CONTENT[:33]))
    expect('completion-atomic', came_back(connection, connection.post_fetch_add),
           (CONTENT[:8], b''))
    for name, fields in (('twice-its-size', {'qpc.cs_req': DATA_64}), ('unknown', {'qpc.cs_res': 7}),
                         ('of-datagrams', {'qpc.cs_res': 1, 'qpc.cs_req': 0, 'qpc.st': UD})):
        expect('completion-data-' + name, guest.status('create_qp', {
            **connection.qp_fields(guest.page()), **fields},
            rest=struct.pack('>Q', guest.page())), g.BAD_PARAM)
    model.end()
    model = Model(program, '')
    connection = Connection(model.guests[0])
    expect('completion-data-without-cap', model.guests[0].status('create_qp', {
        **connection.qp_fields(model.guests[0].page()), 'qpc.cs_res': 1},
        rest=struct.pack('>Q', model.guests[0].page())), g.BAD_PARAM)
    model.end()


RATE_100, RATE_56 = 3, 1        # of addresses; the model supports the first one
BAD_ACCESS = 0x11


def rates(program):
    for name, options, wanted in (('none', [], {RATE_100: g.BAD_PARAM, RATE_56: g.BAD_PARAM}),
                                  ('some', ['--with', 'rates'],
                                   {RATE_100: g.OK, RATE_56: g.BAD_PARAM})):
        model = Model(program, '', options=options)
        connection = Connection(model.guests[0])
        for rate, status in wanted.items():
            expect('rate-%s-%d' % (name, rate), model.guests[0].status('rts2rts_qp', {
                'qpn': connection.qps[0], 'opt_param_mask': PRIMARY_PATH, **connection.address,
                'qpc.primary_address_path.stat_rate': rate}), status)
        model.end()


def why_failed(program):
    """The peer revokes rights, and no completion tells it the reason."""
    model = Model(program, '', options=['--with', 'error-reason'])
    guest, connection = model.guests[0], Connection(model.guests[0])
    peer = connection.qps[1]
    guest.run('rts2rts_qp', {'qpn': peer, 'opt_param_mask': READ_RIGHT})
    connection.post_read()
    completed(connection, 1)
    out = guest.run('query_qp', {'qpn': peer, 'qpc_ext': 1})
    at = layouts.size('query_qp_out') - layouts.size('qp_context_extension')
    expect('why-failed', layouts.field('qp_context_extension', out[at:], 'error_syndrome.syndrome'),
           BAD_ACCESS)
    model.end()
    model = Model(program, '')
    connection = Connection(model.guests[0])
    expect('why-without-cap', model.guests[0].status(
        'query_qp', {'qpn': connection.qps[1], 'qpc_ext': 1}), g.BAD_PARAM)
    model.end()


KEY_CHANGES, KEY_OPCODE, NOT_FREE_CHECK, AT_OFFSET = 12, 0x25, 0x20, 0x10
FAR = 0x10000		# octwords; an adapter may or may not support the upper bits
# A mask for length, page size, start, domain, rights, and that it is no longer free
EVERYTHING = 1 << 0 | 1 << 1 | 1 << 6 | 1 << 7 | 0xf << 17 | 1 << 29
ATOMIC, RELAXED_WRITE = 1 << 21, 1 << 25
QP_OPERATION, PROTECTION, REFUSED_KEY = 2, 4, 6	# syndromes of a completion


class KeyChanges(Connection):
    """A queue of requests that change keys, one of which is a key without pages."""
    def __init__(self, guest):
        super().__init__(guest)
        self.ring, self.record = guest.page(), guest.page()
        self.qps[0] = guest.create('create_qp', 'qpn', {
            'qpc.st': KEY_CHANGES, 'qpc.pd': self.pd, 'qpc.cqn_snd': self.cq, 'qpc.fre': 1,
            'qpc.cqn_rcv': self.cq, 'qpc.uar_page': self.uar, 'qpc.log_sq_size': SQ_LOG,
            'qpc.rq_type': 3, 'qpc.dbr_addr': self.record}, rest=struct.pack('>Q', self.ring))
        self.begin()
        self.list = guest.page()
        self.empty, self.long = (guest.create('create_mkey', 'mkey_index', {
            'memory_key_mkey_entry.' + name: value for name, value in {
                'access_mode_1_0': 1, 'free': 1, 'umr_en': 1, 'lr': 1, 'qpn': ANY_QPN,
                'pd': self.pd, 'log_page_size': 12,
                'translations_octword_size': octwords}.items()}) << 8 for octwords in (8, 2 * FAR))

    def begin(self):
        for step in ('rst2init_qp', 'init2rtr_qp', 'rtr2rts_qp'):
            assert self.guest.status(step, {'qpn': self.qps[0]}) == g.OK, step
        self.posted = 0
        self.guest.memory[self.record:self.record + 8] = bytes(8)

    def request(self, mask=EVERYTHING, octwords=4, byte_count=64, at=0, entry=0x1003, offset=0,
                key=None, **context):
        head = {'lr': 1, 'access_mode_1_0': 1, 'qpn': ANY_QPN, 'pd': self.pd, 'len': 4096,
                'log_page_size': 12, **context}
        self.guest.memory[self.list:self.list + 8] = entry.to_bytes(8, 'big')
        segments = struct.pack(
            '>BxxxHHQI28x', NOT_FREE_CHECK | AT_OFFSET, octwords, offset & 0xffff, mask,
            offset >> 16) + \
            layouts.build('mkc', head) + \
            struct.pack('>IIQ', byte_count, self.key, self.list + at)
        wqe = struct.pack('>IIII', self.posted << 8 & 0xffff00 | KEY_OPCODE,
                          self.qps[0] << 8 | 1 + len(segments) // 16, SIGNALLED, key or self.empty)
        self.put(wqe + segments)

    def begin_anew(self):
        self.guest.run('2rst_qp', {'qpn': self.qps[0]}, layout='qp_2rst')
        self.begin()

    def change(self, **request):
        """The syndrome of such a request; the queue is reset if it was refused."""
        self.request(**request)
        result = next_completion(self)
        if result and result[1]:
            self.begin_anew()
        return result[1] if result else 'no completion'

    def put(self, wqe):
        for at in range(0, len(wqe), BLOCK):
            where = self.ring + self.posted % (1 << SQ_LOG) * BLOCK
            self.guest.memory[where:where + BLOCK] = wqe[at:at + BLOCK].ljust(BLOCK, b'\0')
            self.posted += 1
        self.guest.memory[self.record + 4:self.record + 8] = struct.pack('>I', self.posted & 0xffff)
        self.guest.bar_write(self.uar * 4096 + 0x800, int.from_bytes(wqe[:8], 'big'), 8)


def key_changes(program):
    """A request that may not change or name something is refused, and leaves the key unchanged."""
    model = Model(program, '', options=['--without', 'umr-atomic,umr-offset'])
    changes = KeyChanges(model.guests[0])
    for name, wanted, request in (
            ('atomic-without-cap', QP_OPERATION, {'mask': EVERYTHING | ATOMIC}),
            ('relaxed-without-cap', QP_OPERATION, {'mask': EVERYTHING | RELAXED_WRITE}),
            ('no-such-domain', QP_OPERATION, {'pd': changes.pd + 99}),
            ('no-page-size', QP_OPERATION, {'log_page_size': 0}),
            ('half-a-group', QP_OPERATION, {'octwords': 2, 'byte_count': 32}),
            ('far-without-cap', QP_OPERATION, {'key': changes.long, 'offset': FAR}),
            ('not-so-far', 0, {'key': changes.long, 'offset': FAR - 4}),
            ('more-than-the-key-has', QP_OPERATION, {'octwords': 12, 'byte_count': 192}),
            ('list-too-short', PROTECTION, {'byte_count': 32}),
            ('list-not-aligned', PROTECTION, {'at': 64}),
            ('below-page-size', PROTECTION, {'entry': 0x1007}),
            ('other-variant', REFUSED_KEY, {'key': changes.empty | 1}),
            ('good', 0, {}),
            ('filled-already', REFUSED_KEY, {})):
        expect('key-change-' + name, changes.change(**request), wanted)
    model.end()
    model = Model(program, '')
    changes = KeyChanges(model.guests[0])
    expect('key-change-far', changes.change(key=changes.long, offset=FAR), 0)
    model.end()


def keys_have_no_peer(program):
    """Their queue executes nothing that involves one, and takes no packet."""
    model = Model(program, '')
    changes = KeyChanges(model.guests[0])
    changes.post_read()
    expect('keys-read-nothing', next_completion(changes), (REQUEST_ERROR, QP_OPERATION))
    changes.begin_anew()
    keys, changes.posted = changes.qps[0], 0
    changes.ring, changes.record = model.guests[0].page(), model.guests[0].page()
    changes.qps[0] = changes.make_qp(changes.ring, changes.record)
    changes.connect(changes.qps[0], keys)
    changes.post_read()
    expect('keys-do-not-answer', next_completion(changes), (REQUEST_ERROR, RETRY_EXCEEDED))
    expect('keys-take-no-packet', model.control(cmd='counters')['rx_no_qp'] > 0, True)
    model.end()


def lost_key_change(program):
    """A list may not be written to while the request that names it is in its queue."""
    model = Model(program, '')
    changes = KeyChanges(model.guests[0])
    for count, (name, page, wanted) in enumerate((('left', b'\0\0', 0), ('written', b'\0\1', 1))):
        before = model.control(cmd='counters')['violations']
        model.control(cmd='lose', opcode='UMR')
        changes.request()
        end = time.monotonic() + PATIENCE_S
        while model.control(cmd='lost')['lost'] == count and time.monotonic() < end:
            time.sleep(0.01)
        changes.guest.memory[changes.list:changes.list + 2] = page
        changes.begin_anew()
        expect('list-of-lost-request-' + name,
               model.control(cmd='counters')['violations'] - before, wanted)
    model.end()


def main():
    program = sys.argv[1]
    counted(program)
    armed(program)
    atomic_at(program)
    key_changes(program)
    keys_have_no_peer(program)
    lost_key_change(program)
    data_in_completions(program)
    rates(program)
    why_failed(program)
    drained(program)
    flushed_slowly(program)
    moved(program)
    options_of_services(program)
    attributes(program)
    lengths(program)
    vectors(program)
    switchdev(program)
    reads_over(program, 'reads')
    reads_over(program, 'reads-duplicated', duplicate_ppm=300000)
    reads_over(program, 'reads-lost', loss_ppm=10000, reorder_ppm=5000, corrupt_ppm=2000)
    atomics_over(program, 'atomics')
    atomics_over(program, 'atomics-lost', loss_ppm=100000, reorder_ppm=50000)
    all_lost(program)
    sys.exit(1 if g.failed else 0)


main()
