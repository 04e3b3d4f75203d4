#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compare what two drivers tell the adapter for the same program, field by field.

usage: compare-commands.py LOG DIFFERENCES

LOG is the model's, with commands and fields, and marks "driver NAME", "step NAME" and
"end" (objects.py once). The first driver in it is the oracle. DIFFERENCES explains:

    STEP COMMAND FIELD ORACLE OURS reason...

each word may be *; "-" is a field that is not there, or 0. A difference without a row,
and a row without a difference, fail.
"""
import collections
import fnmatch
import re
import sys

LINE = re.compile(r'^\s*[\d.]+ (\w+)\s+(.*)$')
COMMAND = re.compile(r'^dev0 (\w+) op_mod=(\w+) in=(\d+) out=(\d+)')
FIELD = re.compile(r'^in (\S+) = (\w+)$')

# They come by themselves: the network interface's, and mlx5_core's
BACKGROUND = {'ACCESS_REG', 'QUERY_VPORT_COUNTER', 'QUERY_VPORT_STATE', 'QUERY_Q_COUNTER',
              'QUERY_NIC_VPORT_CONTEXT', 'QUERY_FLOW_COUNTER', 'QUERY_CONG_STATISTICS', 'NOP'}

# Numbers that the adapter gave and addresses of memory: that they are there counts
ANY_VALUE = re.compile(
    r'(^|[._])(pd|cqn|cqn_snd|cqn_rcv|qpn|remote_qpn|uar|uar_page|mkey_index|rmpn|rmp_num|'
    r'srqn|srqn_rmpn_xrqn|xrc_srqn|xrcd|c_eqn|c_eqn_or_apu_element|dbr_addr|start_addr|'
    r'mkey_7_0|user_index|counter_set_id|page_offset|udp_sport|len|flow_counter_id|'
    r'wq.*addr|db_record_addr\w*)$')
LIST = re.compile(r'(pas|klm_pas_mtt)\b')
# How many pages a process's memory has, and how large, is chance
PAGES = re.compile(r'(cq_context|qpc|ctx\.wq|xrc_srq_context_entry)\.(log_page_size|page_offset)$')
WITH_PAGES = {'CREATE_CQ', 'MODIFY_CQ', 'CREATE_QP', 'CREATE_RMP', 'CREATE_XRC_SRQ'}


def read(path):
    """{driver: {step: [(command, {field: value})]}}, drivers in order."""
    drivers, steps, now = {}, None, None
    with open(path, errors='replace') as file:
        for line in file:
            match = LINE.match(line)
            if not match:
                continue
            topic, text = match.groups()
            if topic == 'note' and text.startswith('mark '):
                word, _, name = text[5:].partition(' ')
                if word == 'driver':
                    steps = drivers.setdefault(name, {})
                now = steps.setdefault(name, []) if word == 'step' else None
            elif topic == 'command' and now is not None:
                command = COMMAND.match(text)
                if command:
                    name, op_mod, came, went = command.groups()
                    now.append((name, {'op_mod': op_mod, 'output-bytes': went,
                                       'input-bytes': '#' if name in WITH_PAGES else came}))
            elif topic == 'field' and now:
                field = FIELD.match(text)
                if field and not LIST.search(field.group(1)) and not PAGES.search(field.group(1)):
                    name, value = field.groups()
                    now[-1][1][name] = '#' if ANY_VALUE.search(name) else value
    return {driver: {step: [c for c in list_ if c[0] not in BACKGROUND]
                     for step, list_ in steps.items()} for driver, steps in drivers.items()}


def compare_step(step, oracle, ours):
    """Yields (step, command, field, oracle's, ours); the nth of a command with the nth."""
    sides = []
    for commands in (oracle, ours):
        sides.append(collections.defaultdict(list))
        for name, fields in commands:
            sides[-1][name].append(fields)
    for name in sorted(set(sides[0]) | set(sides[1])):
        counts = [len(side[name]) for side in sides]
        if counts[0] != counts[1]:
            yield step, name, 'times', str(counts[0]), str(counts[1])
        for a, b in zip(sides[0][name], sides[1][name]):
            for field in sorted(set(a) | set(b)):
                if field not in ('opcode',) and a.get(field, '-') != b.get(field, '-'):
                    yield step, name, field, a.get(field, '-'), b.get(field, '-')


def explanations(path):
    with open(path) as file:
        for line in file:
            words = line.split(None, 5)
            if words and not line.startswith('#'):
                assert len(words) == 6, 'no reason: ' + line
                yield tuple(words[:5])


def explains(row, difference):
    return all(fnmatch.fnmatchcase(value, word.replace('[', '[[]'))
               for value, word in zip(difference, row))


def main():
    drivers = read(sys.argv[1])
    oracle, ours = drivers.values()
    found = set()
    for step in oracle:
        found |= set(compare_step(step, oracle[step], ours.get(step, [])))
    rows = list(explanations(sys.argv[2]))
    failed = False
    for difference in sorted(found):
        if not any(explains(row, difference) for row in rows):
            print('unexplained:', *difference)
            failed = True
    for row in rows:
        if not any(explains(row, difference) for difference in found):
            print('no such difference any more:', *row)
            failed = True
    print('%d commands of %s, %d of ours; %d differences' % (
        sum(map(len, oracle.values())), next(iter(drivers)), sum(map(len, ours.values())),
        len(found)))
    sys.exit(1 if failed or not found or not ours else 0)


main()
