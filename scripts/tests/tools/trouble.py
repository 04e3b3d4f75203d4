# SPDX-License-Identifier: GPL-2.0
"""One message between two hosts that are not set up for it, and its outcome.

    trouble.py CASE DEVICE-A INDEX-A DEVICE-B INDEX-B

Prints the status of a's work completion, or "refused" if connecting is. With "quick-" in
front of the case, retries are soon exceeded.
"""

import sys

import verbs
from pyverbs.pyverbs_error import PyverbsRDMAError

# Changes of each case: MTU of each end, receives of b, operation and its key
CASES = {
    'send': {},
    'mtu-of-b': {'mtu_b': 256},
    'mtu-of-a': {'mtu_a': 4096},
    'no-receive': {'receives': 0, 'rnr_retry': 1},
    'wrong-key': {'op': 'WRITE', 'rkey': 0x12345678},
    'limited': {'pkey_index_a': 1},
    'nobody': {'gid_b': '0000:0000:0000:0000:0000:ffff:0a09:004d'},
}
QUICK = {'timeout': 15, 'retry': 1}     # 0.4 s, during which a busy machine may stall
PATIENT = {'timeout': 20, 'retry': 7}


def run(device_a, index_a, device_b, index_b, mtu_a=1024, mtu_b=1024, receives=1, op='SEND',
        pkey_index_a=0, gid_b=None, rnr_retry=7, patience=PATIENT, **work):
    a = verbs.End(device_a, index_a)
    b = verbs.End(device_b, index_b)
    try:
        b.connect(a.info(), mtu=mtu_b, rnr_timer=1)
        a.connect({**b.info(), **({'gid': gid_b} if gid_b else {})}, mtu=mtu_a,
                  pkey_index=pkey_index_a, rnr_retry=rnr_retry, **patience)
    except PyverbsRDMAError:
        return 'refused'
    for _ in range(receives):
        b.post_recv([(0, 4096)])
    a.post_send(op, [(0, 1000)], **work)
    done = a.wait(1, 60)
    return done[0]['status'] if done else 'nothing'


case, dev_a, idx_a, dev_b, idx_b = sys.argv[1:]
name = case.removeprefix('quick-')
print(run(dev_a, int(idx_a), dev_b, int(idx_b), patience=PATIENT if name == case else QUICK,
          **CASES[name]))
