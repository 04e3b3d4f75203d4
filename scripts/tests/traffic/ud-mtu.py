#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""UD QPs made at one MTU, used at another: ud-mtu.py A INDEX_A B INDEX_B GO_FILE"""

import os
import sys
import time

import verbs
from verbs import SUCCESS, check, statuses

a = verbs.End(sys.argv[1], int(sys.argv[2]), qp_type='UD')
b = verbs.End(sys.argv[3], int(sys.argv[4]), qp_type='UD')
verbs.connect(a, b)
print('ready', flush=True)
while not os.path.exists(sys.argv[5]):
    time.sleep(0.05)
for size in (1024, 2000, 4096):
    data = os.urandom(size)
    a.fill(data)
    b.fill(b'\xee' * 8192)
    b.post_recv([(0, size + verbs.GRH)])
    ret = a.post_send('SEND', [(0, size)])
    sent = [ret] if ret else statuses(a.wait(1, 30))
    received = b.wait(1, 60 if sent == [SUCCESS] else 0.3)
    if sent == [SUCCESS]:
        check(f'UD {size} after the MTU grew: whole', repr(([SUCCESS], True)),
              repr((statuses(received), b.read(size, verbs.GRH) == data)))
    else:
        check(f'UD {size} after the MTU grew: refused ({sent}) and not sent', [], statuses(received))
        a.close()
        b.close()
        a = verbs.End(sys.argv[1], int(sys.argv[2]), qp_type='UD')
        b = verbs.End(sys.argv[3], int(sys.argv[4]), qp_type='UD')
        verbs.connect(a, b)
    del received
verbs.finish()
