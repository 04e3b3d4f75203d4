#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A process that writes garbage into the rings it shares with the kernel.

usage: hostile.py A INDEX_A B INDEX_B [--seconds S]

Each attack runs in a child: it creates ordinary QPs and CQs with the provider
library, then never calls the library again, but scribbles over every mapping of
the device (from a fixed seed) and kicks the send queue by the bare system call.
It must end in time, whatever it wrote, and afterwards an honest process must find
the devices intact.
"""

import ctypes
import os
import random
import signal
import struct
import sys
import threading
import time

import verbs
from verbs import SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
parser.add_argument('--seconds', type=float, default=2)
args = parser.parse_args()

POST_SEND, POST_RECV = 28, 29       # IB_USER_VERBS_CMD_*
PRODUCER, CONSUMER, DATA = 128, 256, 384    # struct rxe_queue_buf
EVIL = (0, 1, 2, 63, 64, 127, 128, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff)


def rings():
    """(address, length) of each mapping of a uverbs device."""
    found = []
    with open('/proc/self/maps') as maps:
        for line in maps:
            if '/dev/infiniband/uverbs' in line or 'uverbs' in line.split()[-1]:
                low, high = (int(part, 16) for part in line.split()[0].split('-'))
                found.append((low, high - low))
    return found


def poke(address, value):
    ctypes.c_uint32.from_address(address).value = value & 0xffffffff


def peek(address):
    return ctypes.c_uint32.from_address(address).value


def kick(end, command=POST_SEND):
    """ibv_post_send() without a request: look at the ring."""
    answer = ctypes.create_string_buffer(4)
    for handle in range(12):
        # Newer kernels check a request's size even if there is none.
        body = struct.pack('=QIIII', ctypes.addressof(answer), handle, 0, 0, 128)
        head = struct.pack('=IHH', command, (8 + len(body)) // 4, 1)
        try:
            os.write(end.ctx.cmd_fd, head + body)
        except OSError:
            pass


def pair():
    a = verbs.End(args.a, args.index_a, srq=False)
    b = verbs.End(args.b, args.index_b, srq=True)
    verbs.connect(a, b, timeout=8, retry=1, rnr_retry=1)
    for i in range(16):
        a.post_recv([(0, 64)])
        b.post_recv([(64, 4096)])
    for i in range(8):
        a.post_send('WRITE', [(0, 3000)])
        a.post_send('SEND', [(0, 64)])
    return a, b


def scribble_words(rng, where):
    """Write single words, most of them in the ring's own fields and the first slots."""
    base, length = rng.choice(where)
    offset = rng.choice((0, 4, PRODUCER, CONSUMER, PRODUCER, CONSUMER,
                         DATA + 4 * rng.randrange(64), 4 * rng.randrange(length // 4)))
    if offset + 4 <= length:
        poke(base + offset, rng.choice((*EVIL, rng.getrandbits(32), peek(base + PRODUCER) + rng.randrange(-3, 4))))


def scribble_slots(rng, where):
    """Write noise over whole slots, then post one more."""
    base, length = rng.choice(where)
    start = DATA + rng.randrange(max(length - DATA - 256, 1))
    noise = rng.randbytes(min(256, length - start))
    ctypes.memmove(base + start, noise, len(noise))
    poke(base + PRODUCER, peek(base + PRODUCER) + rng.randrange(1, 5))


def attack_noise(seed, scribble):
    rng = random.Random(seed)
    a, b = pair()
    where = rings()
    if not where:
        print('FAIL the rings are nowhere in /proc/self/maps: expected some')
        os._exit(3)
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        for _ in range(20):
            scribble(rng, where)
        kick(a)
        kick(b)
        kick(a, POST_RECV)


def attack_chase(in_error):
    """One thread keeps a ring full for ever, another makes the kernel empty it."""
    a, b = pair()
    where = rings()
    stop = False

    def chase():
        while not stop:
            for base, _ in where:
                poke(base + PRODUCER, peek(base + CONSUMER) - 1)

    threads = [threading.Thread(target=chase) for _ in range(2)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + args.seconds
    if in_error:
        a.modify('ERR')
        b.modify('ERR')
    while time.monotonic() < end:
        kick(a)
        kick(b)
    # Close the QP while its rings are still mapped, as after a process is killed.
    os.kill(os.getpid(), signal.SIGKILL)


ATTACKS = {f'words {n}': lambda n=n: attack_noise(n, scribble_words) for n in range(3)}
ATTACKS.update({f'slots {n}': lambda n=n: attack_noise(n + 100, scribble_slots) for n in range(3)})
ATTACKS['chase'] = lambda: attack_chase(False)
ATTACKS['chase in ERROR'] = lambda: attack_chase(True)


def honest(label):
    a = verbs.End(args.a, args.index_a)
    b = verbs.End(args.b, args.index_b)
    verbs.connect(a, b)
    b.post_recv([(8192, 4096)])
    a.fill(b'honest' * 500)
    a.post_send('SEND', [(0, 3000)])
    got = (statuses(a.wait(1, 30)), statuses(b.wait(1, 30)), b.read(3000, 8192) == b'honest' * 500)
    check(f'{label}: an honest process afterwards', repr(([SUCCESS], [SUCCESS], True)), repr(got))
    a.close()
    b.close()


for label, attack in ATTACKS.items():
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        try:
            attack()
        finally:
            sys.stdout.flush()
            os._exit(0)
    limit = time.monotonic() + args.seconds + 120 * verbs.SLOW
    status = None
    while time.monotonic() < limit:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        status = None
    ended = status is not None and (os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0)
    check(f'{label}: the attacker ends', True, ended)
    honest(label)
verbs.finish()
