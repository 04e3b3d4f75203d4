#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Firmware that answers nothing, until mlx5_core has no slot for another command. Contexts closed
then each free a UAR: the first one's command waits for a slot, those after it wait for their
turn, a minute each. A command that has timed out so is not repeated, and the UAR is lost. A
command that the firmware refuses because a resource is busy is repeated.

usage: slots.py DEVICE
"""
import os
import signal
import subprocess
import sys
import time

from objects import control, objects
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError

SLOTS = 31              # all but the one for pages
VICTIMS = 3             # the second waits for its turn, and then for a slot
GIVE_UP_S = 60          # timeout of mlx5_core
BUSY, TRIES = 6, 3      # a status; and fewer attempts than the driver makes
GIVEN_UP = {
    'no-slot': 'DEALLOC_UAR(0x803) timeout while waiting for command semaphore',
    'no-turn': 'DEALLOC_UAR(0x803) canceled on out of queue timeout',
}
failed = 0


def expect(name, good, text=''):
    global failed
    failed += not good
    print('%s %s %s' % ('PASS' if good else 'FAIL', name, '' if good else text), flush=True)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def child(function):
    process = os.fork()
    if not process:
        try:
            function()
        except PyverbsError:
            pass
        os._exit(0)
    return process


def has_gone(process):
    try:
        return os.waitpid(process, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True         # it was gone at the last check


def with_context(device):
    """A process that has one, until it is killed."""
    reader, writer = os.pipe()

    def hold():
        context = Context(name=device)
        os.write(writer, b'.')
        signal.pause()
        del context
    process = child(hold)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    return process


def said():
    text = subprocess.run(['dmesg'], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: text.count(words) for name, words in GIVEN_UP.items()}


def busy_is_tried_again(device):
    before, done = objects()['UAR'], control(cmd='refuse')['refused']
    victim = with_context(device)
    control(cmd='refuse', opcode='DEALLOC_UAR', status=BUSY, times=TRIES)
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    refused = control(cmd='refuse')['refused'] - done
    expect('busy-is-tried-again', refused == TRIES and objects()['UAR'] == before,
           '%d refused, UARs %d, before %d' % (refused, objects()['UAR'], before))


def lost():
    return control(cmd='lost')['lost']


def main():
    device = sys.argv[1]
    busy_is_tried_again(device)
    victims = [with_context(device) for _ in range(VICTIMS)]
    context = Context(name=device)
    before = lost(), said()
    control(cmd='lose', opcode='ALLOC_PD', times=SLOTS)
    waiting = [child(lambda: PD(context)) for _ in range(SLOTS)]
    expect('slots-are-taken', wait_until(lambda: lost() == before[0] + SLOTS, GIVE_UP_S),
           '%d of %d' % (lost() - before[0], SLOTS))
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
        time.sleep(0.5)
    for process in waiting:
        os.kill(process, signal.SIGKILL)
    began = time.monotonic()
    gone = [wait_until(lambda victim=victim: has_gone(victim), VICTIMS * GIVE_UP_S)
            for victim in victims]
    given_up = {name: count - before[1][name] for name, count in said().items()}
    print('gone after %.0f s: %s' % (time.monotonic() - began, given_up))
    expect('killed-without-slots', all(gone), gone)
    expect('given-up-once', sum(given_up.values()) == VICTIMS, given_up)
    expect('given-up-for-both-reasons', all(given_up.values()), given_up)
    expect('answered-late', control(cmd='answer')['answered'] == SLOTS)
    expect('waiting-have-gone', wait_until(lambda: all(map(has_gone, waiting)), GIVE_UP_S))
    expect('goes-on', works(context))
    return 1 if failed else 0


def works(context):
    try:
        PD(context).close()
        return True
    except PyverbsError:
        return False


if __name__ == '__main__':
    sys.exit(main())
