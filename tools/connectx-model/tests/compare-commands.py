#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compare what two drivers pass to the adapter for the same program, field by field:
commands, and also the requests in send queues, address vectors and lists of pages.

usage: compare-commands.py LOG DIFFERENCES [other-adapter]

LOG is the model's, with commands, requests and fields, and marks "driver NAME", "step NAME"
and "end" (objects.py once, commands.py). The first driver in it is the oracle. DIFFERENCES
has rows

    STEP COMMAND FIELD ORACLE OURS reason...

Each word may be *; "-" is a field that is missing, or 0. It is an error if a difference has
no row, or a row no difference, except rows of steps that the log does not have, and except
with "other-adapter", whose capabilities or programs are not those that the rows are about.

The nth occurrence of a command is compared with the nth. In steps whose name begins with
"kernel-" the number of occurrences is random: there all values that a field takes are
compared, joined by commas.
"""
import collections
import fnmatch
import re
import sys

LINE = re.compile(r'^\s*[\d.]+ (\w+)\s+(.*)$')
COMMAND = re.compile(r'^dev0 (\w+) op_mod=(\w+) in=(\d+) out=(\d+)')
OF_ANOTHER = re.compile(r'^dev[1-9]\d* \w+ op_mod=')   # function of an adapter, such as of a LAG
FIELD = re.compile(r'^in (\S+) = (\w+)$')
BY_VALUES = 'kernel-'

# Commands that occur by themselves: of the network interface and mlx5_core
BACKGROUND = {'ACCESS_REG', 'QUERY_VPORT_COUNTER', 'QUERY_VPORT_STATE', 'QUERY_Q_COUNTER',
              'QUERY_NIC_VPORT_CONTEXT', 'QUERY_FLOW_COUNTER', 'QUERY_CONG_STATISTICS', 'NOP'}

# In steps of the kernel's users, which take longer, ib_core sometimes moderates completion
# queues (use_cq_dim). The network interface is notified of addresses, and mlx5_ib enables
# loopback with the first transport domain
OCCASIONAL = {'MODIFY_CQ', 'MODIFY_NIC_VPORT_CONTEXT', 'SET_FLOW_TABLE_ENTRY',
              'DELETE_FLOW_TABLE_ENTRY'}

# Numbers assigned by the adapter, addresses of memory, ports assigned one after the other: only
# their presence is compared
ANY_VALUE = re.compile(
    r'(^|[._])(pd|cqn|cqn_snd|cqn_rcv|qpn|remote_qpn|uar|uar_page|mkey_index|rmpn|rmp_num|'
    r'srqn|srqn_rmpn_xrqn|xrc_srqn|xrcd|c_eqn|c_eqn_or_apu_element|dbr_addr|start_addr|'
    r'mkey_7_0|user_index|counter_set_id|page_offset|udp_sport|flow_counter_id|dqp_dct|'
    r'lag_tx_port_affinity|'
    r'immediate|rkey|lkey|wq.*addr|db_record_addr\w*)$|^remote\.address$|^atomic\.')
# A kernel user's payload and amount of memory vary; and so do bytes after a short list in a
# request, where mlx5_ib leaves old content
ANY_OF_KERNEL = re.compile(r'^(memory\.(pieces|inline|bytes)|list\.(pages|low_bits_of_all)|'
                           r'input-bytes)$|'
                           r'[._](len|translations_octword_size|next_\w*psn|flow_label)$')
# Number and size of the pages of a process's memory vary
PAGES = re.compile(r'^((cq_context|qpc|ctx\.wq|xrc_srq_context_entry)\.'
                   r'(log_page_size|page_offset)|list\.pages)$')
# objects.py registers memory in one or several pieces; commands.py knows its pages
OF_THE_HEAP = {'mr', 'rereg'}
SIZES_OF_PAGES = re.compile(r'^list\.pages$|\.log_page_size$')
# The low byte of a key is chosen by each driver, and 0 is as good as others
VARIANT = re.compile(r'mkey_7_0$')
WITH_PAGES = {'CREATE_CQ', 'MODIFY_CQ', 'CREATE_QP', 'CREATE_RMP', 'CREATE_XRC_SRQ'}


def is_by_values(step):
    return step.startswith(BY_VALUES)


def new_command(match, is_any_size):
    """(name, fields). Requests that change keys are distinguished by whether they have a list."""
    name, op_mod, came, went = match.groups()
    if name.endswith('_UMR'):
        name += '_LIST' if int(came) else '_KEY'
    return name, {'op_mod': op_mod, 'output-bytes': went,
                  'input-bytes': '#' if name in WITH_PAGES or is_any_size else came}


def add_field(command, name, value, step):
    if command[0] in WITH_PAGES and PAGES.search(name) or VARIANT.search(name):
        return
    chance = (ANY_VALUE.search(name) or is_by_values(step) and ANY_OF_KERNEL.search(name) or
              step in OF_THE_HEAP and SIZES_OF_PAGES.search(name))
    command[1][name] = '#' if chance else value


def read_lines(lines):
    """{driver: {step: [(command, {field: value})]}}, drivers in order."""
    drivers, steps, step, now, of_first = {}, None, None, None, True
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        topic, text = match.groups()
        if topic == 'note' and text.startswith('mark '):
            word, _, step = text[5:].partition(' ')
            if word == 'driver':
                steps = drivers.setdefault(step, {})
            now = steps.setdefault(step, []) if word == 'step' else None
        elif topic in ('command', 'wqe') and now is not None:
            command = COMMAND.match(text)
            of_first = bool(command) or of_first and not OF_ANOTHER.match(text)
            if command:
                now.append(new_command(command, topic == 'wqe' and is_by_values(step)))
        elif topic == 'field' and now and of_first:
            field = FIELD.match(text)
            if field:
                add_field(now[-1], *field.groups(), step)
    return {driver: {step: [c for c in list_ if c[0] not in BACKGROUND and
                             not (is_by_values(step) and c[0] in OCCASIONAL)]
                     for step, list_ in steps.items()} for driver, steps in drivers.items()}


def by_name(commands):
    found = collections.defaultdict(list)
    for name, fields in commands:
        found[name].append(fields)
    return found


def one_by_one(a, b):
    """Yields (field, oracle's, ours), comparing in order; a and b: fields of one command."""
    if len(a) != len(b):
        yield 'times', str(len(a)), str(len(b))
    for one, other in zip(a, b):
        for field in sorted(set(one) | set(other)):
            yield field, one.get(field, '-'), other.get(field, '-')


def values(commands, field):
    return ','.join(sorted({fields.get(field, '-') for fields in commands}))


def by_values(a, b):
    """Likewise, comparing sets of values of a field; how often varies, unless it is never."""
    if not a or not b:
        yield 'times', 'some' if a else '0', 'some' if b else '0'
        return
    for field in sorted({field for fields in a + b for field in fields}):
        yield field, values(a, field), values(b, field)


def compare_step(step, oracle, ours):
    """Yields (step, command, field, oracle's, ours)."""
    sides = by_name(oracle), by_name(ours)
    compare = by_values if is_by_values(step) else one_by_one
    for name in sorted(set(sides[0]) | set(sides[1])):
        for field, a, b in compare(sides[0][name], sides[1][name]):
            if field != 'opcode' and a != b:
                yield step, name, field, a, b


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


def judge(drivers, rows, all_rows=True):
    """Returns (number of differences, complaints)."""
    oracle, ours = drivers.values()
    found, complaints = set(), []
    for step in dict(oracle, **ours):
        found |= set(compare_step(step, oracle.get(step, []), ours.get(step, [])))
    for difference in sorted(found):
        if not any(explains(row, difference) for row in rows):
            complaints.append(('unexplained:', *difference))
    for row in rows if all_rows else ():
        has_run = any(fnmatch.fnmatchcase(step, row[0]) for step in oracle)
        if has_run and not any(explains(row, difference) for difference in found):
            complaints.append(('no such difference any more:', *row))
    return len(found), complaints


def main():
    with open(sys.argv[1], errors='replace') as file:
        drivers = read_lines(file)
    found, complaints = judge(drivers, list(explanations(sys.argv[2])),
                              sys.argv[3:] != ['other-adapter'])
    for complaint in complaints:
        print(*complaint)
    oracle, ours = drivers.values()
    print('%d commands and requests of %s, %d of ours; %d differences' % (
        sum(map(len, oracle.values())), next(iter(drivers)), sum(map(len, ours.values())), found))
    sys.exit(1 if complaints or not found or not ours else 0)


if __name__ == '__main__':
    main()
