#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Register, re-register and deregister memory of many sizes, until that fails.

usage: registering.py DEVICE

Up to twenty regions exist at a time, of sizes whose keys are cached and of sizes whose keys
are not.
"""
import random
import sys

import pyverbs.enums as e
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError

PAGES = (1, 2, 3, 8, 17, 64, 500, 512, 513, 700)
RIGHTS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
MORE = RIGHTS | e.IBV_ACCESS_REMOTE_READ


def main():
    rng = random.Random(1)
    pd = PD(Context(name=sys.argv[1]))
    regions, done = [], 0
    try:
        while True:
            regions.append(MR(pd, rng.choice(PAGES) * 4096, RIGHTS))
            if rng.random() < 0.3:
                rng.choice(regions).rereg(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0, MORE)
            if rng.random() < 0.2:
                MW(pd, e.IBV_MW_TYPE_2).close()
            if len(regions) > 20:
                regions.pop(rng.randrange(len(regions))).close()
            done += 1
    except PyverbsError as error:
        print('after %d regions: %s' % (done, error), flush=True)


main()
