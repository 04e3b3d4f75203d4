#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Queues that the firmware does not destroy when roce_hca_mlx5 is unbound: the driver's own (the
queue pair that changes keys and the receive queue of XRC) and those for MADs; also the key of
their domain. The objects they need are not destroyed either, and their memory is not freed,
since the adapter may use it. Nobody would retry later, so the driver retries a few times.

Then the queue pair that changes keys is not reset while it has a request that has not completed:
the list of pages, which the adapter may still read, remains unchanged.

Last, the firmware does not answer when the cached keys of regions are destroyed: the driver waits
a minute for the first one and does not wait for the others, and a minute for its own queue's key.

usage: undestroyed-queues.py DEVICE GID-INDEX FUNCTION
"""
import collections
import os
import subprocess
import sys
import time

from objects import ACCESS, commands, control, objects, run, wait_for_device
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from silent import BEGIN_S, ends_well, GIVE_UP_S, lost, PAGES, wait_until

DRIVER = '/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/'
TRACING = '/sys/kernel/tracing/'        # not in every kernel
PROBE = 'kept/given_back'
END_S = 60              # for a registration; the driver waits ten seconds for it
BUSY = 6                # a status
TRIES = 5               # by the driver, for objects that nothing else would destroy
# The command; its position among those of its kind (0: the last); how often it is refused; the
# objects that remain. The driver's own are the last
ROWS = (
    ('DESTROY_XRC_SRQ', 0, 1, {'XRC SRQ': 1, 'CQ': 1, 'PD': 1, 'XRC domain': 2}),
    ('DESTROY_QP', 1, TRIES - 1, {}),
    ('DESTROY_QP', 1, TRIES, {'QP': 1, 'CQ': 1, 'PD': 1}),
    ('DESTROY_CQ', 1, 1, {'CQ': 1}),
    ('DESTROY_MKEY', 1, TRIES - 1, {}),
    ('DESTROY_MKEY', 1, TRIES, {'mkey': 1, 'PD': 1}),
    ('DESTROY_MKEY', 2, TRIES - 1, {}),
    ('DESTROY_MKEY', 0, TRIES - 1, {}),
    ('DESTROY_QP', 0, TRIES, {'QP': 1, 'CQ': 1, 'PD': 1, 'mkey': 1}),
)


def write(word, function):
    with open(DRIVER + word, 'w') as file:
        file.write(function)


def trace(name, words):
    with open(TRACING + name, 'w') as file:     # no seeking, as for appending
        file.write(words + '\n')


def count_given_back():
    if not os.path.isdir(TRACING):
        return
    if not os.path.ismount(TRACING):
        subprocess.run(['mount', '-t', 'tracefs', 'tracefs', TRACING], check=True)
    if not os.path.exists(TRACING + 'kprobe_events'):
        return          # the kernel has tracing, but no probes
    if not os.path.exists(TRACING + 'events/' + PROBE):
        trace('kprobe_events', 'p:%s mlx5_core:mlx5_frag_buf_free' % PROBE)
    trace('events/%s/enable' % PROBE, '1')


def given_back():
    """How many queues' memory was freed, or None."""
    try:
        with open(TRACING + 'kprobe_profile') as file:
            return sum(int(line.split()[1]) for line in file)
    except OSError:
        return None


def unbound(function):
    """(commands, objects of the adapter, amount of memory freed)"""
    commands(may_be_lost=True)
    before = given_back()
    write('unbind', function)
    now = given_back()
    return commands(), collections.Counter(objects()), None if now is None else now - before


def prepare(device, index, function):
    """The device, with all objects that it creates for itself."""
    write('bind', function)
    wait_for_device(device)
    assert not run('xrc', device, index) and not run('mr', device, index)


def problem_of(row, usual, device, index, function):
    opcode, which, times, left = row
    names, before, freed = usual
    prepare(device, index, function)
    done = control(cmd='refuse')['refused']
    control(cmd='refuse', opcode=opcode, after=which or names.count(opcode), status=BUSY,
            times=times)
    names, now, freed_now = unbound(function)
    refused = control(cmd='refuse')['refused'] - done
    if refused != times:
        return '%d refused' % refused
    behind = names[len(names) - names[::-1].index(opcode):]
    if now - before != collections.Counter(left) or before - now:
        return 'left: %s, gone: %s, asked for then: %s' % (now - before, before - now, behind)
    # Each has a queue
    kept = sum(number for kind, number in left.items() if kind in ('QP', 'CQ', 'XRC SRQ'))
    if freed is not None and freed_now != freed - kept:
        return '%d buffers given back, %d when nothing is kept' % (freed_now, freed)
    return None


def registering(device, condition, pages=PAGES):
    """A process that registers memory once the condition is met, and deregisters it."""
    process = os.fork()
    if not process:
        pd = PD(Context(name=device))
        assert wait_until(condition, BEGIN_S)
        MR(pd, pages * 4096, ACCESS).close()
        os._exit(0)
    return process


def problem_of_list(device, index, function):
    prepare(device, index, function)
    violations, done = control(cmd='counters')['violations'], control(cmd='refuse')['refused']
    count = lost()
    control(cmd='refuse', opcode='2RST_QP')
    control(cmd='lose', opcode='UMR')
    # The second one waits for the first one's request, which is given up
    second = registering(device, lambda: lost() > count)
    first = registering(device, lambda: True)
    good = ends_well(first, END_S), ends_well(second, END_S)
    refused = control(cmd='refuse')['refused'] - done
    if good != (True, True) or lost() - count != 1 or refused != 1:
        return 'registered: %s, %d requests lost, %d resets refused' % (
            good, lost() - count, refused)
    # The model compares the list when the queue pair is destroyed
    write('unbind', function)
    if control(cmd='counters')['violations'] != violations:
        return 'the list was written to'
    return None


def problem_of_silence(device, index, function):
    prepare(device, index, function)
    for pages in 16, 32, 64:
        assert ends_well(registering(device, lambda: True, pages), END_S)
    count, began = lost(), time.monotonic()
    # After that of the MADs' domain; more than exist
    control(cmd='lose', opcode='DESTROY_MKEY', after=2, times=9)
    write('unbind', function)
    seconds = time.monotonic() - began
    count = lost() - count
    control(cmd='lose')
    # mlx5_core takes all of its slots when it ends
    control(cmd='answer')
    if count != 2 or seconds > 3 * GIVE_UP_S:
        return '%d commands lost, %.0f s' % (count, seconds)
    return None


def verdict(name, problem):
    print('FAIL kept-%s (%s)' % (name, problem) if problem else 'PASS kept-' + name, flush=True)
    return bool(problem)


def main():
    device, index, function = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    failed = 0
    count_given_back()
    write('unbind', function)
    for row in ROWS:
        prepare(device, index, function)
        usual = unbound(function)
        failed += verdict('%s-%d-%d' % row[:3], problem_of(row, usual, device, index, function))
    failed += verdict('list', problem_of_list(device, index, function))
    failed += verdict('silence', problem_of_silence(device, index, function))
    write('bind', function)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
