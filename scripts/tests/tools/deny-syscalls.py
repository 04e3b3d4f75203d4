#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run a command with some system calls denied, as by a container's seccomp profile.

usage: deny-syscalls.py NUMBER[,NUMBER...] COMMAND [ARGUMENT...]     (numbers of x86_64)
"""

import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_SET_NO_NEW_PRIVS = 38
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7fff0000, 0x00050001     # with EPERM


class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_char_p)]


numbers = [int(number) for number in sys.argv[1].split(',')]
words = [(LOAD_NUMBER, 0, 0, 0)]
for place, number in enumerate(numbers):
    words.append((JUMP_IF_EQUAL, len(numbers) - place, 0, number))
words += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
code = b''.join(struct.pack('HBBI', *word) for word in words)
libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(words), code)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
   libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
    sys.exit('deny-syscalls: %s' % os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
