#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Queues of roce_hca_mlx5's own that the firmware does not destroy when the driver is
unbound: the queue pair that changes keys, and the receive queue of XRC. What they need is
not destroyed either, and their memory stays mapped for the adapter, which may use it.

usage: kept.py DEVICE GID-INDEX FUNCTION
"""
import collections
import sys

from objects import commands, control, objects, run, wait_for_device

DRIVER = '/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/'
DMA = '/sys/kernel/debug/dma-api/dump'  # of kernels that debug it
BUSY = 6                # a status
TRIES = 5               # of the driver, for what nobody would destroy again
# The command, how often it is refused, and what is left then
ROWS = (
    ('DESTROY_XRC_SRQ', 1, {'XRC SRQ': 1, 'CQ': 1, 'PD': 1, 'XRC domain': 2}),
    ('DESTROY_QP', TRIES, {'QP': 1, 'CQ': 1, 'PD': 1, 'mkey': 1}),
)


def write(word, function):
    with open(DRIVER + word, 'w') as file:
        file.write(function)


def mapped():
    """Pieces of memory that the driver and mlx5_core share with the adapter, or None."""
    try:
        with open(DMA) as file:
            return sum('mlx5_core' in line and 'coherent' in line for line in file)
    except OSError:
        return None


def unbound(function):
    """(commands, what the adapter has, what is mapped)"""
    commands(may_be_lost=True)
    write('unbind', function)
    return commands(), collections.Counter(objects()), mapped()


def prepare(device, index, function):
    """The device, with all that it makes for itself."""
    write('bind', function)
    wait_for_device(device)
    assert not run('xrc', device, index) and not run('mr', device, index)


def problem_of(row, usual, device, index, function):
    opcode, times, left = row
    names, before, dma = usual
    prepare(device, index, function)
    done = control(cmd='refuse')['refused']
    # Its own go last
    control(cmd='refuse', opcode=opcode, after=names.count(opcode), status=BUSY, times=times)
    names, now, dma_now = unbound(function)
    refused = control(cmd='refuse')['refused'] - done
    if refused != times:
        return '%d refused' % refused
    behind = names[len(names) - names[::-1].index(opcode):]
    if now - before != collections.Counter(left) or before - now:
        return 'left: %s, gone: %s, asked for then: %s' % (now - before, before - now, behind)
    if dma is not None and dma_now <= dma:
        return '%d mapped, %d before' % (dma_now, dma)
    return None


def main():
    device, index, function = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    failed = 0
    write('unbind', function)
    for row in ROWS:
        prepare(device, index, function)
        usual = unbound(function)
        problem = problem_of(row, usual, device, index, function)
        failed += bool(problem)
        print('FAIL kept-%s (%s)' % (row[0], problem) if problem else 'PASS kept-' + row[0],
              flush=True)
    write('bind', function)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
