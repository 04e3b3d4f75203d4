#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run compare-commands.py on logs in the model's format, of a few lines each.

usage: compare.py       (no virtual machine, and no model either)
"""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
failed = 0


def load():
    loader = importlib.machinery.SourceFileLoader('compare', HERE + '/compare-commands.py')
    compare = importlib.util.module_from_spec(importlib.util.spec_from_loader('compare', loader))
    loader.exec_module(compare)
    return compare


def expect(name, got, wanted):
    global failed
    failed += got != wanted
    print('PASS' if got == wanted else 'FAIL', name, '' if got == wanted else
          '(got %r, wanted %r)' % (got, wanted), flush=True)


def log(oracle, ours, step='huge'):
    """Each side: lines as [command or request, field...]."""
    for driver, commands in (('mlx5_ib', oracle), ('ours', ours)):
        yield '  1.000000 note     mark driver %s' % driver
        yield '  1.000000 note     mark step %s' % step
        for name, *fields in commands:
            topic = 'wqe' if '_' in name and name.split('_')[0] in ('RC', 'KEYS', 'GSI') else 'command'
            name, _, size = name.partition(' ')
            yield '  1.000000 %-8s dev0 %s op_mod=0 in=%s out=0' % (topic, name, size or 64)
            for field in fields:
                yield '  1.000000 field      in ' + field
        yield '  1.000000 note     mark end'


KEY = ['CREATE_MKEY', 'memory_key_mkey_entry.log_page_size = 0xc', 'memory_key_mkey_entry.pd = 0x3']
MKEY_PAGE_SIZE = ('huge', 'CREATE_MKEY', 'memory_key_mkey_entry.log_page_size', '0xc', '-')

CASES = (
    ('equal', {}, [KEY], [KEY], []),
    ('numbers-differ', {}, [KEY], [[*KEY[:2], 'memory_key_mkey_entry.pd = 0x9']], []),
    ('field-missing', {}, [KEY], [[KEY[0], KEY[2]]], [MKEY_PAGE_SIZE]),
    ('number-missing', {}, [KEY], [KEY[:2]],
     [('huge', 'CREATE_MKEY', 'memory_key_mkey_entry.pd', '#', '-')]),
    ('twice', {}, [KEY], [KEY, KEY], [('huge', 'CREATE_MKEY', 'times', '1', '2')]),
    ('rights-of-pages', {}, [['CREATE_MKEY', 'list.low_bits = 0x3', 'pg_access = 0x1']],
     [['CREATE_MKEY', 'list.low_bits = 0x3']], [('huge', 'CREATE_MKEY', 'pg_access', '0x1', '-')]),
    ('a-request', {}, [['KEYS_UMR 64', 'mkey_mask = 0x200']], [['KEYS_UMR 64', 'mkey_mask = 0x201']],
     [('huge', 'KEYS_UMR_LIST', 'mkey_mask', '0x200', '0x201')]),
    ('requests-with-and-without-list', {}, [['KEYS_UMR 64'], ['KEYS_UMR 0']], [['KEYS_UMR 64']],
     [('huge', 'KEYS_UMR_KEY', 'times', '1', '0')]),
    ('an-address', {}, [['GSI_SEND', 'av.tclass = 0x2', 'av.udp_sport = 0xc001']],
     [['GSI_SEND', 'av.udp_sport = 0xd00d']], [('huge', 'GSI_SEND', 'av.tclass', '0x2', '-')]),
    ('step-of-one-alone', {}, [], [KEY], [('huge', 'CREATE_MKEY', 'times', '0', '1')]),
    ('ports-in-turn', {}, [['CREATE_QP', 'qpc.lag_tx_port_affinity = 0x1']],
     [['CREATE_QP', 'qpc.lag_tx_port_affinity = 0x2']], []),
    ('no-port', {}, [['CREATE_QP', 'qpc.lag_tx_port_affinity = 0x1']], [['CREATE_QP']],
     [('huge', 'CREATE_QP', 'qpc.lag_tx_port_affinity', '#', '-')]),
    ('kernel-how-often', {'step': 'kernel-disk'}, [['RC_SEND'], ['RC_SEND']], [['RC_SEND']], []),
    ('kernel-never', {'step': 'kernel-disk'}, [['RC_SEND']], [],
     [('kernel-disk', 'RC_SEND', 'times', 'some', '0')]),
    ('kernel-values', {'step': 'kernel-disk'},
     [['RC_SEND', 'control.fence = 0x1'], ['RC_SEND']], [['RC_SEND', 'control.fence = 0x2']],
     [('kernel-disk', 'RC_SEND', 'control.fence', '-,0x1', '0x2')]),
    ('kernel-size-of-requests', {'step': 'kernel-disk'}, [['RC_SEND 64']], [['RC_SEND 32']], []),
    ('kernel-size-of-commands', {'step': 'kernel-disk'}, [['CREATE_MKEY 64']],
     [['CREATE_MKEY 32']], [('kernel-disk', 'CREATE_MKEY', 'input-bytes', '64', '32')]),
    ('kernel-moderation', {'step': 'kernel-disk'}, [['MODIFY_CQ']], [], []),
    ('pages-of-the-heap', {'step': 'mr'}, [['CREATE_MKEY', 'list.pages = 0x3']],
     [['CREATE_MKEY', 'list.pages = 0x1']], []),
    ('background', {}, [['NOP'], KEY], [KEY], []))


def main():
    compare = load()
    for name, how, oracle, ours, wanted in CASES:
        drivers = compare.read_lines(log(oracle, ours, **how))
        found, complaints = compare.judge(drivers, [])
        expect('compare-' + name, complaints, [('unexplained:', *row) for row in wanted])
        expect('compare-%s-count' % name, found, len(wanted))
    drivers = compare.read_lines(log([KEY], [[KEY[0], KEY[2]]]))
    expect('compare-explained', compare.judge(drivers, [('*', 'CREATE_*', '*', '0xc', '-')])[1], [])
    row = ('huge', 'DESTROY_MKEY', '*', '*', '*')
    expect('compare-row-too-many', compare.judge(drivers, [MKEY_PAGE_SIZE, row])[1],
           [('no such difference any more:', *row)])
    expect('compare-other-adapter', compare.judge(drivers, [MKEY_PAGE_SIZE, row], False)[1], [])
    expect('compare-row-of-another-step',
           compare.judge(drivers, [MKEY_PAGE_SIZE, ('xrc', *row[1:])])[1], [])
    sys.exit(1 if failed else 0)


main()
