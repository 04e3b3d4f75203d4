#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The command interface by itself: what the firmware refuses, and with which status.

usage: firmware.py MODEL        (no virtual machine: this is the guest)
"""
import sys
import time

import guest as g
from guest import expect, layouts, Model

STRICT_EXIT = 3
ANY_QPN = 0xffffff
Q_COUNTERS = 128
REACTION, NOTIFICATION = 1, 2	# congestion protocols


def mkey(pd):
    return {'memory_key_mkey_entry.lr': 1, 'memory_key_mkey_entry.length64': 1,
            'memory_key_mkey_entry.qpn': ANY_QPN, 'memory_key_mkey_entry.pd': pd}


def life_cycle(guest):
    expect('before-enable', guest.status('query_hca_cap', op_mod=1), g.BAD_SYS_STATE)
    guest.run('enable_hca')
    expect('init-without-pages', guest.status('init_hca'), g.BAD_SYS_STATE)
    expect('before-init', guest.status('alloc_pd'), g.BAD_SYS_STATE)
    expect('more-than-it-has', guest.command(
        layouts.opcodes['set_hca_cap'].to_bytes(2, 'big') + bytes(14) +
        layouts.build('cmd_hca_cap', {'log_max_cq_sz': 31}).ljust(4096, b'\0'))[1], g.BAD_PARAM)
    expect('init', guest.start(), g.OK)
    expect('init-twice', guest.status('init_hca'), g.BAD_SYS_STATE)


def delivery(guest):
    unknown = b'\x0e\xee' + bytes(14)
    whole = b'\x02\x00' + layouts.build('create_mkey_in', mkey(1))[2:]
    expect('unknown-opcode', guest.command(unknown)[:2], (0, g.BAD_OP))
    expect('short-input', guest.command(whole[:64])[:2], (0, g.BAD_INPUT_LEN))
    expect('short-output', guest.command(whole, out_bytes=8)[:2], (0, g.BAD_OUTPUT_LEN))
    nop = layouts.opcodes['nop'].to_bytes(2, 'big') + bytes(14)
    expect('several-in-flight', guest.ring_several([nop, unknown, nop]), [g.OK, g.BAD_OP, g.OK])
    expect('wrong-token', guest.command(whole, token=0xee)[0], 2)


def handles(guest):
    expect('reserved-bit', guest.status('alloc_pd', {'reserved_at_40': 1}), g.BAD_PARAM)
    expect('unknown-capability', guest.status('query_hca_cap', op_mod=0x7f), g.BAD_PARAM)
    expect('free-of-nothing', guest.status('dealloc_pd', {'pd': 77}), g.BAD_RESOURCE)
    expect('destroy-of-nothing', guest.status('destroy_cq', {'cqn': 77}), g.BAD_RESOURCE)
    expect('qp-of-nothing', guest.status('rst2init_qp', {'qpn': 77}), g.BAD_RESOURCE)
    expect('cq-without-eq', guest.status('create_cq'), g.BAD_RESOURCE)
    pd = guest.create('alloc_pd', 'pd')
    expect('key-of-no-domain', guest.status('create_mkey', mkey(pd + 9)), g.BAD_RESOURCE)
    key = guest.create('create_mkey', 'mkey_index', mkey(pd))
    expect('domain-in-use', guest.status('dealloc_pd', {'pd': pd}), g.BUSY)
    expect('key-destroyed', guest.status('destroy_mkey', {'mkey_index': key}), g.OK)
    expect('domain-freed', guest.status('dealloc_pd', {'pd': pd}), g.OK)
    expect('domain-freed-twice', guest.status('dealloc_pd', {'pd': pd}), g.BAD_RESOURCE)


def queue(guest):
    """An event queue and a completion queue, and the UARs that they name."""
    uars = [guest.create('alloc_uar', 'uar') for _ in range(2)]
    eq = guest.create('create_eq', 'eq_number', {
        'eq_context_entry.log_eq_size': 6, 'eq_context_entry.uar_page': uars[0]},
        rest=guest.page().to_bytes(8, 'big'))
    return eq, guest.create('create_cq', 'cqn', {
        'cq_context.log_cq_size': 4, 'cq_context.uar_page': uars[1],
        'cq_context.c_eqn_or_apu_element': eq}, rest=guest.page().to_bytes(8, 'big')), uars


def uars_in_use(guest):
    """A UAR remains as long as a queue names it."""
    eq, cq, uars = queue(guest)
    expect('uars-in-use', [guest.status('dealloc_uar', {'uar': uar}) for uar in uars], [g.BUSY] * 2)
    expect('uars-freed', [guest.status(*step) for step in (
        ('destroy_cq', {'cqn': cq}), ('dealloc_uar', {'uar': uars[1]}),
        ('destroy_eq', {'eq_number': eq}), ('dealloc_uar', {'uar': uars[0]}))], [g.OK] * 4)


def two_pages(guest):
    return b''.join(guest.page().to_bytes(8, 'big') for _ in range(2))


def resize(guest, cq, select, long_entries, offset=0):
    data = bytearray(layouts.build('modify_cq_in', {
        'cqn': cq, 'cq_context.log_cq_size': 5, 'cq_context.cqe_sz': long_entries,
        'cq_context.page_offset': offset}))
    data[0:8] = layouts.opcodes['modify_cq'].to_bytes(2, 'big') + bytes(5) + b'\1'
    data[12:16] = select.to_bytes(4, 'big')
    return guest.command(bytes(data) + two_pages(guest))[1]


def resized(guest):
    """All entries must be named, and keep their size."""
    cq = queue(guest)[1]
    for select, long_entries, wanted in ((7, 0, g.OK), (1, 0, g.BAD_PARAM), (7, 1, g.BAD_PARAM)):
        expect('resize-%d-%d' % (select, long_entries), resize(guest, cq, select, long_entries),
               wanted)


def long_completions(guest):
    """One of 128 bytes does not cross the end of a page."""
    eq, _, uars = queue(guest)
    fields = {'cq_context.' + name: value for name, value in {
        'cqe_sz': 1, 'log_cq_size': 5, 'uar_page': uars[1], 'c_eqn_or_apu_element': eq}.items()}
    expect('long-completions-at-64', guest.status('create_cq', {
        **fields, 'cq_context.page_offset': 1}, rest=two_pages(guest)), g.BAD_PARAM)
    cq = guest.create('create_cq', 'cqn', {**fields, 'cq_context.page_offset': 2},
                      rest=two_pages(guest))
    expect('long-completions-moved', [resize(guest, cq, 7, 1, offset) for offset in (1, 2)],
           [g.BAD_PARAM, g.OK])


def op_mods(guest):
    """Known ones reach the command itself; the others are rejected."""
    for name, op_mod, wanted in (
            ('alloc_pd', 1, g.BAD_PARAM), ('query_special_contexts', 0x100, g.BAD_PARAM),
            ('query_pages', 0, g.BAD_PARAM), ('query_pages', 3, g.OK), ('query_pages', 4, g.BAD_PARAM),
            ('modify_cq', 1, g.BAD_RESOURCE), ('modify_cq', 2, g.BAD_PARAM),
            ('arm_xrc_srq', 0, g.BAD_PARAM), ('arm_xrc_srq', 1, g.BAD_RESOURCE),
            ('query_vport_state', 1, g.OK), ('query_vport_state', 33, g.BAD_PARAM),
            ('create_flow_table', 2, g.BAD_PARAM)):
        expect('op-mod-%s-%d' % (name, op_mod), guest.status(name, op_mod=op_mod), wanted)


PAGES_MODE = 1


def key_of_pages(pd, entry=None, shift=12, **more):
    """For guest.run(): a key of one group of pages, with a list of them or free."""
    fields = {'access_mode_1_0': PAGES_MODE, 'umr_en': 1, 'lr': 1, 'qpn': ANY_QPN, 'pd': pd,
              'translations_octword_size': 4, 'log_page_size': shift, 'free': entry is None,
              'len': 0 if entry is None else 4096}
    fields.update(more)
    head = {'memory_key_mkey_entry.' + name: value for name, value in fields.items()
            if name != 'pg_access'}
    head['pg_access'] = more.get('pg_access', 0)
    if entry is None:
        return {'fields': head}
    head['translations_octword_actual_size'] = 4
    return {'fields': head, 'rest': entry.to_bytes(8, 'big') + bytes(56)}


def keys_of_pages(guest, name, wanted):
    """The status of each of these, by name; the keys are not destroyed."""
    pd = guest.create('alloc_pd', 'pd')
    keys = {
        'free': key_of_pages(pd), 'full': key_of_pages(pd, 0x1000),
        'no-page-size': key_of_pages(pd, shift=0), 'no-domain': key_of_pages(pd + 9),
        'below-page-size': key_of_pages(pd, 0x1004), 'rights-unsaid': key_of_pages(pd, 0x1003),
        'rights': key_of_pages(pd, 0x1003, pg_access=1),
        'large-page': key_of_pages(pd, 0x201000, shift=21),
        'relaxed-write': key_of_pages(pd, relaxed_ordering_write=1),
        'relaxed-read': key_of_pages(pd, relaxed_ordering_read=1),
        'ats': key_of_pages(pd, ma_translation_mode=1)}
    for key, arguments in keys.items():
        expect('%s-%s' % (name, key), guest.status('create_mkey', **arguments),
               wanted.get(key, g.BAD_PARAM))


def page_keys(program):
    good = {'free': g.OK, 'full': g.OK, 'no-domain': g.BAD_RESOURCE}
    for name, options, more in (
            ('key', [], {}),
            ('rights-key', ['--with', 'page-rights'], {'rights': g.OK}),
            ('relaxed-key', ['--with', 'relaxed-write,relaxed-read'],
             {'relaxed-write': g.OK, 'relaxed-read': g.OK}),
            ('translated-key', ['--with', 'ats'], {'ats': g.OK})):
        model = Model(program, '', options=options)
        model.guests[0].start()
        keys_of_pages(model.guests[0], name, {**good, **more})
        model.end()


def flow_tables(guest):
    tables = [guest.create('create_flow_table', 'table_id',
                           {'flow_table_context.log_size': 4}) for _ in range(2)]
    group = guest.create('create_flow_group', 'group_id',
                         {'table_id': tables[0], 'end_flow_index': 3})
    expect('group-of-another-table',
           guest.status('destroy_flow_group', {'table_id': tables[1], 'group_id': group}),
           g.BAD_RESOURCE)
    expect('table-in-use', guest.status('destroy_flow_table', {'table_id': tables[0]}), g.BUSY)
    expect('group-destroyed',
           guest.status('destroy_flow_group', {'table_id': tables[0], 'group_id': group}), g.OK)
    for table in tables:
        expect('table-destroyed', guest.status('destroy_flow_table', {'table_id': table}), g.OK)


def limits(guest):
    counters = []
    while isinstance(out := guest.run('alloc_q_counter'), bytes):
        counters.append(layouts.field('alloc_q_counter_out', out, 'counter_set_id'))
    expect('limit', out, g.LIMIT)
    expect('limit-not-too-early', len(counters), Q_COUNTERS)
    expect('limit-all-freed', {guest.status('dealloc_q_counter', {'counter_set_id': number})
                               for number in counters}, {g.OK})


# Fields of a union have no distinct names: word and bit, from its start.
CNP_DSCP_SELECT = 1 << 3
MIN_TIME_SELECT = 1 << 2


def congestion_parameters(min_time, dscp):
    """cong_control_r_roce_ecn_np, after the head of MODIFY_CONG_PARAMS."""
    return layouts.build('cong_control_r_roce_ecn_np',
                         {'min_time_between_cnps': min_time, 'cnp_dscp': dscp})


def modify_congestion(guest, protocol, select, values):
    data = bytearray(layouts.build('modify_cong_params_in', {'cong_protocol': protocol}))
    data[0:2] = layouts.opcodes['modify_cong_params'].to_bytes(2, 'big')
    data[12:16] = select.to_bytes(4, 'big')
    data[32:32 + len(values)] = values
    return guest.command(bytes(data))[1]


def query_congestion(guest):
    out = guest.run('query_cong_params', {'cong_protocol': NOTIFICATION})
    parameters = out[16:16 + layouts.size('cong_control_r_roce_ecn_np')]
    return tuple(layouts.field('cong_control_r_roce_ecn_np', parameters, field)
                 for field in ('min_time_between_cnps', 'cnp_dscp'))


def congestion(guest):
    before = query_congestion(guest)
    expect('congestion-protocol', modify_congestion(guest, 7, 0, b''), g.BAD_PARAM)
    expect('congestion-modify', modify_congestion(guest, NOTIFICATION, CNP_DSCP_SELECT,
                                                  congestion_parameters(99, 26)), g.OK)
    expect('congestion-only-what-was-selected', query_congestion(guest), (before[0], 26))
    expect('congestion-more', modify_congestion(guest, NOTIFICATION, MIN_TIME_SELECT,
                                                congestion_parameters(50, 1)), g.OK)
    expect('congestion-query', query_congestion(guest), (50, 26))


def link_aggregation(program):
    model = Model(program, '', 'port2-of=0')
    master, slave = model.guests
    fields = {'ctx.tx_remap_affinity_1': 1, 'ctx.tx_remap_affinity_2': 2}
    master.start()
    expect('lag-before-the-other-port', master.status('create_lag', fields), g.BAD_SYS_STATE)
    slave.start()
    expect('lag-by-the-second-port', slave.status('create_lag', fields), g.BAD_PARAM)
    expect('lag-by-hash', master.status('create_lag', {**fields, 'ctx.port_select_mode': 1}),
           g.BAD_PARAM)
    expect('lag-to-no-port', master.status('create_lag', {'ctx.tx_remap_affinity_1': 3}),
           g.BAD_PARAM)
    expect('vport-lag-before-lag', master.status('create_vport_lag'), g.BAD_RES_STATE)
    expect('lag-modify-before-create', master.status('modify_lag', {'field_select': 1, **fields}),
           g.BAD_RES_STATE)
    expect('lag', master.status('create_lag', fields), g.OK)
    expect('lag-twice', master.status('create_lag', fields), g.BAD_RES_STATE)
    expect('vport-lag', master.status('create_vport_lag'), g.OK)
    expect('lag-modify', master.status('modify_lag', {'field_select': 1, **fields}), g.OK)
    answer = master.run('query_lag')
    expect('lag-queried', [layouts.field('query_lag_out', answer, 'ctx.tx_remap_affinity_%d' % i)
                           for i in (1, 2)], [1, 2])
    expect('lag-in-use', master.status('destroy_lag'), g.BUSY)
    expect('vport-lag-destroyed', master.status('destroy_vport_lag'), g.OK)
    expect('lag-destroyed', master.status('destroy_lag'), g.OK)
    expect('lag-queried-after-it', master.status('query_lag'), g.BAD_RES_STATE)
    expect('lag-destroyed-twice', master.status('destroy_lag'), g.BAD_RES_STATE)
    td = master.create('alloc_transport_domain', 'transport_domain')
    tis = {'ctx.transport_domain': td, 'ctx.lag_tx_port_affinity': 2}
    expect('affinity', master.status('create_tis', tis), g.OK)
    expect('affinity-to-no-port', master.status('create_tis', {**tis, 'ctx.lag_tx_port_affinity': 3}),
           g.BAD_PARAM)
    guids = [guest.run('query_nic_vport_context', layout='query_nic_vport_context')
             for guest in (master, slave)]
    expect('one-adapter', *(layouts.field('query_nic_vport_context_out', out,
                                          'nic_vport_context.system_image_guid') for out in guids))
    model.end()


def virtual_function(program):
    model = Model(program, '', 'virtual-of=0')
    physical, virtual = model.guests
    for guest in model.guests:
        guest.start()
    for command in 'query_cong_status', 'query_cong_params', 'query_cong_statistics':
        expect('port-%s' % command, [guest.status(command, {'cong_protocol': REACTION}
                                                  if command != 'query_cong_statistics' else {})
                                     for guest in (physical, virtual)], [g.OK, g.BAD_OP])
    expect('port-modify_cong_params', [modify_congestion(guest, NOTIFICATION, CNP_DSCP_SELECT,
                                                         congestion_parameters(0, 26))
                                       for guest in (physical, virtual)], [g.OK, g.BAD_OP])
    guids = [[layouts.field('query_nic_vport_context_out', out, 'nic_vport_context.' + field)
              for field in ('system_image_guid', 'node_guid', 'permanent_address.mac_addr_31_0')]
             for out in (guest.run('query_nic_vport_context', layout='query_nic_vport_context')
                         for guest in (physical, virtual))]
    expect('one-adapter-of-both', guids[1][0], guids[0][0])
    expect('given-by-nobody', [[bool(given) for given in guid[1:]] for guid in guids],
           [[True, True], [False, False]])
    model.end()


NIC_RECEIVE, SWITCH, RDMA_RECEIVE = 0, 4, 7		# types of flow tables
SWITCH_FLOW_TABLE_CAP, SWITCH_CAP = 8, 9
FORWARD, TO_VPORT, TO_OTHER_DOMAIN = 4, 0, 2
UPLINK = 0xffff


def table(guest, kind, **context):
    return guest.run('create_flow_table', {'table_type': kind, **{
        'flow_table_context.' + field: value for field, value in context.items()}})


def forward(guest, kind, port):
    """The status of creating an entry, in its own table, that forwards to a port of the switch"""
    number = layouts.field('create_flow_table_out', table(guest, kind), 'table_id')
    of = {'table_type': kind, 'table_id': number}
    return guest.status('set_flow_table_entry', {
        **of, 'flow_context.action': FORWARD, 'flow_context.destination_list_size': 1,
        'flow_context.group_id': guest.create('create_flow_group', 'group_id', of)},
        layout='set_fte', rest=(TO_VPORT << 24 | port).to_bytes(4, 'big') + bytes(4))


def switch(program):
    model = Model(program, '', 'switch')
    plain, manager = model.guests
    for guest in model.guests:
        guest.start()
    for kind in SWITCH_FLOW_TABLE_CAP, SWITCH_CAP:
        expect('switch-capabilities-%d' % kind, [
            guest.status('query_hca_cap', op_mod=kind << 1, out_rest=4096) for guest in model.guests],
            [g.BAD_PARAM, g.OK])
    expect('switch-table-without-it', table(plain, SWITCH), g.BAD_PARAM)
    expect('switch-to-its-ports', [forward(manager, SWITCH, port) for port in (0, UPLINK)], [g.OK] * 2)
    expect('switch-to-no-port', forward(manager, SWITCH, 1), g.BAD_PARAM)
    expect('switch-not-by-the-nic', forward(manager, NIC_RECEIVE, 0), g.BAD_PARAM)
    expect('switch-other-domain', [table(guest, kind, table_miss_action=TO_OTHER_DOMAIN) for guest, kind in (
        (plain, RDMA_RECEIVE), (manager, NIC_RECEIVE))], [g.BAD_PARAM] * 2)
    model.end()


def one_port_has_no_lag(guest):
    expect('lag-with-one-port', guest.status('create_lag'), g.BAD_OP)
    td = guest.create('alloc_transport_domain', 'transport_domain')
    expect('affinity-with-one-port', guest.status('create_tis', {
        'ctx.transport_domain': td, 'ctx.lag_tx_port_affinity': 1}), g.BAD_PARAM)


def lag_elsewhere(program):
    """Its ports may be named by a function that is not part of the LAG."""
    model = Model(program, '', options=['--with', 'lag-elsewhere'])
    guest = model.guests[0]
    guest.start()
    expect('lag-elsewhere', guest.status('create_lag'), g.BAD_OP)
    td = guest.create('alloc_transport_domain', 'transport_domain')
    for port, wanted in ((2, g.OK), (3, g.BAD_PARAM)):
        expect('affinity-elsewhere-%d' % port, guest.status('create_tis', {
            'ctx.transport_domain': td, 'ctx.lag_tx_port_affinity': port}), wanted)
    model.end()


def hang(model):
    guest = model.guests[0]
    model.control(cmd='hang', on=True)
    counter = guest.bar_read(0x1010)
    guest.ring(layouts.opcodes['nop'].to_bytes(2, 'big') + bytes(14), 16)
    expect('hang-no-answer', guest.answered(), False)
    expect('hang-no-heartbeat', guest.bar_read(0x1010), counter)
    model.control(cmd='hang', on=False)
    expect('hang-ends-answered', guest.answered(), True)
    expect('hang-ends-alive', guest.status('nop'), g.OK)


def refused_on_demand(model):
    """The second of its kind from now on is refused, and no other."""
    guest = model.guests[0]
    while model.control(cmd='log')['names']:
        pass
    expect('refuse-armed', model.control(cmd='refuse', opcode='ALLOC_PD', after=2)['left'], 1 + 1)
    first = guest.create('alloc_pd', 'pd')
    expect('refuse-others-not', guest.status('nop'), g.OK)
    before = model.control(cmd='objects')
    expect('refused', guest.status('alloc_pd'), g.LIMIT)
    expect('refused-does-nothing', model.control(cmd='objects'), before)
    expect('refused-once', guest.status('dealloc_pd', {'pd': first}), g.OK)
    expect('refused-counted', model.control(cmd='refuse')['refused'], 1)
    model.control(cmd='refuse', opcode='NOP', status=6)
    expect('refused-with-status', guest.status('nop'), g.BUSY)
    expect('commands-in-order', model.control(cmd='log')['names'].split(),
           ['ALLOC_PD', 'NOP', 'ALLOC_PD', 'DEALLOC_PD', 'NOP'])
    model.control(cmd='refuse', opcode='NOP', status=6, after=2, times=3)
    expect('refused-some-times', [guest.status('nop') for _ in range(6)],
           [g.OK, g.BUSY, g.BUSY, g.BUSY, g.OK, g.OK])
    expect('all-counted', model.control(cmd='refuse')['refused'], 5)


def lost_on_demand(model):
    """The second of its kind is neither executed nor answered; later ones and others are."""
    guest = model.guests[0]
    expect('lose-armed', model.control(cmd='lose', opcode='ALLOC_PD', after=2)['left'], 2)
    first = guest.create('alloc_pd', 'pd')
    expect('lose-others-not', guest.status('nop'), g.OK)
    before = model.control(cmd='objects')
    guest.ring(layouts.opcodes['alloc_pd'].to_bytes(2, 'big') + bytes(14), 16)
    expect('lost-no-answer', guest.answered(), False)
    expect('lost-does-nothing', model.control(cmd='objects'), before)
    expect('lost-once', guest.status('dealloc_pd', {'pd': first}), g.OK)
    second = guest.create('alloc_pd', 'pd')
    expect('lost-counted', model.control(cmd='lost')['lost'], 1)
    model.control(cmd='answer')
    model.control(cmd='lose', opcode='ALLOC_PD')
    guest.ring(layouts.opcodes['alloc_pd'].to_bytes(2, 'big') + bytes(14), 16)
    expect('lost-then-answered', (model.control(cmd='answer')['answered'], guest.answered()),
           (1, True))
    expect('lost-has-failed', guest.outcome(), g.INTERNAL)
    guest.status('dealloc_pd', {'pd': second})


LATENCY_US = 200000


def latency(model):
    """A command is delayed, and those after it are not executed earlier."""
    guest = model.guests[0]
    model.control(cmd='latency', us=LATENCY_US)
    began = time.monotonic()
    guest.ring(layouts.opcodes['nop'].to_bytes(2, 'big') + bytes(14), 16)
    while not guest.answered() and time.monotonic() - began < g.PATIENCE_S:
        time.sleep(0.001)
    # Use the clock instead of a check in between, which may be late
    expect('latency-not-before', time.monotonic() - began >= LATENCY_US / 1e6, True)
    expect('latency-answered', guest.answered(), True)
    model.control(cmd='latency', us=0)
    expect('latency-none', guest.status('nop'), g.OK)


def pages(model):
    """Pages that the driver lends and takes back; the request for them is an event."""
    guest = model.guests[0]
    before = model.control(cmd='pages')['lent']
    expect('pages-lent-at-start', before, g.PAGES)
    expect('pages-more', guest.give_pages(), g.OK)
    expect('pages-counted', model.control(cmd='pages', count=8)['lent'], 2 * g.PAGES)
    expect('pages-back', guest.status('manage_pages', {'input_num_entries': g.PAGES}, op_mod=2,
                                      out_rest=8 * g.PAGES), g.OK)
    expect('pages-back-counted', model.control(cmd='pages', count=-8)['lent'], before)


def teardown(guest):
    expect('teardown', guest.status('teardown_hca'), g.OK)
    expect('after-teardown', guest.status('alloc_pd'), g.BAD_SYS_STATE)


def register(guest, number, layout, **fields):
    """Write it, if fields are given; returns its content, or a status."""
    size = layouts.size(layout)
    out = None
    for op_mod in ((0, 1) if fields else (1,)):
        out = guest.run('access_reg', {'register_id': number}, layout='access_register',
                        rest=layouts.build(layout, fields if not op_mod else {}), op_mod=op_mod,
                        out_rest=size)
    return out if isinstance(out, int) else out[-size:]


def service(program):
    """Registers of quality of service keep the values written."""
    model = Model(program, '', options=['--with', 'dcb'])
    guest = model.guests[0]
    guest.start()

    def field(layout, data, path):
        return layouts.field(layout, data, path)
    expect('trust-at-first', field('qpts_reg', register(guest, 0x4002, 'qpts_reg'), 'trust_state'),
           1)
    expect('trust-kept', field('qpts_reg', register(guest, 0x4002, 'qpts_reg', trust_state=2),
                               'trust_state'), 2)
    both = {'prio_mask_tx': 0xff, 'prio_mask_rx': 0xff, 'pfctx': 0x18, 'pfcrx': 0x8}
    register(guest, 0x5007, 'pfcc_reg', **both)
    part = register(guest, 0x5007, 'pfcc_reg', prio_mask_tx=0x10)
    expect('flow-control-kept', [field('pfcc_reg', part, name) for name in ('pfctx', 'pfcrx')],
           [0x8, 0x8])
    # The last octet that exists: bit 2 is QPTS
    expect('registers-there', register(guest, 0x4019, 'qcam_reg')[23] & 1 << 2, 1 << 2)
    model.end()


def strict(program):
    model = Model(program, '', options=['--strict'])
    guest = model.guests[0]
    guest.start()
    expect('strict-good', guest.status('nop'), g.OK)
    try:
        guest.command(b'\x0e\xee' + bytes(14))
    except (EOFError, ConnectionError):
        pass
    model.end(STRICT_EXIT)


def main():
    program = sys.argv[1]
    model = Model(program, '')
    for cases in (life_cycle, delivery, handles, uars_in_use, resized, long_completions, op_mods,
                  flow_tables, limits, congestion, one_port_has_no_lag):
        cases(model.guests[0])
    hang(model)
    refused_on_demand(model)
    lost_on_demand(model)
    latency(model)
    pages(model)
    teardown(model.guests[0])
    model.end()
    page_keys(program)
    link_aggregation(program)
    virtual_function(program)
    lag_elsewhere(program)
    switch(program)
    service(program)
    strict(program)
    sys.exit(1 if g.failed else 0)


main()
