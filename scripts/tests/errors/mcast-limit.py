#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Attach a QP to groups until it is refused: mcast-limit.py DEVICE INDEX MOST

Prints the number of attachments and the errno that ended it, then does the
same again after detaching from all.
"""

import sys

import verbs
from mcast import ATTACH, DETACH, group_command

end = verbs.End(sys.argv[1], int(sys.argv[2]), qp_type='UD', size=4096, depth=8)


def fill(most):
    groups = []
    for number in range(most):
        gid = f'ff15::9:{number:x}'
        errno = group_command(end, ATTACH, gid)
        if errno:
            return groups, errno
        groups.append(gid)
    return groups, 0


end.connect(end.info())
for _ in range(2):
    attached, why = fill(int(sys.argv[3]))
    print(f'{len(attached)} {why}')
    for one in attached:
        group_command(end, DETACH, one)
