#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The driver's part of verbs, as passed by a provider library, with every length and value.

usage: udata.py edges DEVICE GID-INDEX
       udata.py random DEVICE GID-INDEX SEED SECONDS
       udata.py compare EDGES-OF-MLX5_IB EDGES-OF-OURS REASONS

edges: each verb with each length of its driver's part, and edge values in each field, one
per line: its name, "accepted" or "refused", the errno.
random: garbage from SEED, all derived from valid requests.
compare: who refuses what; REASONS has a line "PATTERN reason" for each difference.

No library is used: it would not survive. Whatever is accepted is destroyed again. An
invalid errno is a failure, and so is memory that stays pinned when the device is closed,
except with mlx5_ib.
"""
import ctypes
import errno
import fcntl
import fnmatch
import glob
import mmap
import os
import random
import struct
import sys
import time

# rdma_user_ioctl_cmds.h, ib_user_ioctl_cmds.h, mlx5_user_ioctl_cmds.h
VERBS_IOCTL = 0xc0181b01
DRIVER_MLX5 = 1
MANDATORY = 1
OBJECT_DEVICE, METHOD_INVOKE_WRITE, METHOD_GET_CONTEXT = 0, 0, 3
CORE_IN, CORE_OUT, WRITE_CMD = 0, 1, 2
UHW_IN, UHW_OUT = 0x1000, 0x1001
OBJECT_UAR, UAR_ALLOC, UAR_DESTROY = 0x1008, 0x1000, 0x1001
UAR_BF, UAR_NC = 0, 1           # for BlueFlame, or not
UAR_HANDLE, UAR_TYPE, UAR_OFFSET, UAR_LENGTH, UAR_PAGE = range(0x1000, 0x1005)

# IB_USER_VERBS_CMD_*
ALLOC_PD, DEALLOC_PD, CREATE_AH, DESTROY_AH = 3, 4, 5, 8
REG_MR, REREG_MR, DEREG_MR, ALLOC_MW, DEALLOC_MW = 9, 11, 13, 14, 16
CREATE_CQ, RESIZE_CQ, DESTROY_CQ = 18, 19, 20
CREATE_QP, DESTROY_QP, CREATE_SRQ, DESTROY_SRQ = 24, 27, 32, 35
OPEN_XRCD, CLOSE_XRCD, CREATE_XSRQ = 37, 38, 39
EX_QUERY_DEVICE, EX_MODIFY_QP = 0x80000001, 0x8000001a

RC, UC, UD, XRC_INI, XRC_TGT = 2, 3, 4, 9, 10
QP_UAR_PAGE_INDEX = 1 << 10     # mlx5-abi.h
CQ_UAR_PAGE_INDEX = 1 << 1
LIB_CAPS = 1 << 1 | 1 << 0      # dynamic UARs, and their 4 KiB

PAGE = 4096
BUFFER_BYTES = 64 * PAGE
TAIL = 16
EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256,
         1023, 1024, 0x7fff, 0x8000, 0x8001, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
         0xfffffffe, 0xffffffff, 1 << 32, 0x7ffffffff000, 0xffff888000000000,
         0xfffffffffffff000, 0xffffffffffffffff)


class Refused(Exception):
    def __init__(self, number):
        super().__init__(os.strerror(number))
        self.errno = number


class File:
    """An open uverbs device; each call is one system call."""

    answer_at = None        # address for the driver's answer, instead of memory
    keep = ()               # memory of a call's attributes

    def __init__(self, device):
        for path in glob.glob('/sys/class/infiniband_verbs/uverbs*'):
            with open(path + '/ibdev') as file:
                if file.read().strip() == device:
                    node = '/dev/infiniband/' + os.path.basename(path)
        self.fd = os.open(node, os.O_RDWR | os.O_CLOEXEC)

    def close(self):
        os.close(self.fd)

    def call(self, obj, method, *attrs):
        """Each attribute is (id, flags, length, data). Returns their data afterwards."""
        head = struct.pack('=HHHHQII', 24 + 16 * len(attrs), obj, method, len(attrs), 0,
                           DRIVER_MLX5, 0)
        body = b''.join(struct.pack('=HHHHQ', number, length, flags, 0, data)
                        for number, flags, length, data in attrs)
        message = bytearray(head + body)
        try:
            fcntl.ioctl(self.fd, VERBS_IOCTL, message)
        except OSError as error:
            if error.errno not in errno.errorcode:
                print('FAIL errno %d is none' % error.errno)
                sys.exit(1)
            raise Refused(error.errno) from None
        return [struct.unpack_from('=Q', message, 24 + 16 * i + 8)[0] for i in range(len(attrs))]

    def pointer(self, number, flags, data):
        if len(data) <= 8:
            return number, flags, len(data), int.from_bytes(data, 'little')
        self.keep.append(ctypes.create_string_buffer(data, len(data)))
        return number, flags, len(data), ctypes.addressof(self.keep[-1])

    def room(self, number, flags, length):
        self.keep.append(ctypes.create_string_buffer(max(length, 1)))
        return self.keep[-1], (number, flags, length, ctypes.addressof(self.keep[-1]))

    def of_driver(self, private, private_answer):
        """The driver's attributes."""
        attrs = [self.pointer(UHW_IN, 0, private)] if private else []
        if private_answer:
            attrs.append(self.room(UHW_OUT, 0, private_answer)[1] if self.answer_at is None else
                         (UHW_OUT, 0, private_answer, self.answer_at))
        return attrs

    def context(self, private, private_answer):
        """Not by its number for write(): newer kernels (7.3, not 6.12) look for descriptors in
        the attribute of this method that has the number of WRITE_CMD, and refuse the
        command for an invalid descriptor (EBADF)."""
        self.keep = []
        self.call(OBJECT_DEVICE, METHOD_GET_CONTEXT, *self.of_driver(private, private_answer))

    def verb(self, command, core, answer_bytes, private=b'', private_answer=0):
        """A verb, by its number for write(); with any lengths."""
        self.keep = []
        attrs = [self.pointer(CORE_IN, MANDATORY, core), (WRITE_CMD, MANDATORY, 8, command)]
        answer = b''
        if answer_bytes:
            answer, attr = self.room(CORE_OUT, MANDATORY, answer_bytes)
            attrs.append(attr)
        self.call(OBJECT_DEVICE, METHOD_INVOKE_WRITE, *attrs,
                  *self.of_driver(private, private_answer))
        return bytes(answer)

    def handle(self, *args):
        return struct.unpack_from('=I', self.verb(*args))[0]

    def destroy(self, command, handle):
        answers = {DESTROY_CQ: 8, DESTROY_QP: 4, DESTROY_SRQ: 4}
        if command in answers:
            self.verb(command, struct.pack('=QII', 0, handle, 0), answers[command])
        else:
            self.verb(command, struct.pack('=I', handle), 0)

    def uar(self, kind=UAR_NC):
        """(its handle, its number)"""
        answer = [ctypes.create_string_buffer(8) for _ in range(3)]
        at = [ctypes.addressof(buffer) for buffer in answer]
        handle = self.call(
            OBJECT_UAR, UAR_ALLOC, (UAR_HANDLE, MANDATORY, 0, 0), (UAR_TYPE, MANDATORY, 8, kind),
            (UAR_OFFSET, MANDATORY, 8, at[0]), (UAR_LENGTH, MANDATORY, 4, at[1]),
            (UAR_PAGE, MANDATORY, 4, at[2]))[0]
        return handle, struct.unpack_from('=I', answer[2])[0]

    def destroy_uar(self, handle):
        self.call(OBJECT_UAR, UAR_DESTROY, (UAR_HANDLE, MANDATORY, 0, handle))


def pinned():
    with open('/proc/self/status') as file:
        return [line for line in file if line.startswith('VmPin')]


class Request:
    """A verb with a driver's part: a valid one, and how to make it invalid.

    fields are (name, offset, bytes) of the part; those that begin with ~ depend on the
    present state of the adapter, and say nothing about the driver.
    """

    def __init__(self, run, right=b'', fields=(), answer=0):
        self.run = run
        self.right = right
        self.fields = fields
        self.answer = answer

    def edges(self):
        """(name, driver's part, length of its answer)"""
        full = len(self.right)
        for length in range(full + TAIL + 1):
            yield (self.name_of_length(length), self.right.ljust(length, b'\0')[:length],
                   self.answer)
        for length in (full + 1, full + 4, full + 8, full + TAIL, 4096, 65535):
            long = self.right.ljust(length, b'\0')
            yield 'zeros-%d' % length, long, self.answer
            yield 'tail-%d' % length, long[:-1] + b'\1', self.answer
        for length in range(self.answer + TAIL + 1):
            yield 'answer-%d' % length, self.right, length
        for field in self.fields:
            for value in self.values_of(field):
                yield self.name_of(field, value), self.with_value(field, value), self.answer

    def name_of_length(self, length):
        """The bytes in the rest of an address depend on the process."""
        cut = any(name in ('buffer', 'record') and offset < length < offset + size
                  for name, offset, size in self.fields)
        return '%slength-%d' % ('~' if cut else '', length)

    def name_of(self, field, value):
        """Addresses relative to the valid one, which differs each time."""
        name, offset, size = field
        now = int.from_bytes(self.right[offset:offset + size], 'little')
        if now >> 32 and abs(value - now) <= BUFFER_BYTES:
            return '%s%+#x' % (name, value - now)
        return '%s-%#x' % (name, value)

    def values_of(self, field):
        _, offset, size = field
        now = int.from_bytes(self.right[offset:offset + size], 'little')
        near = [now + step for step in (1, 2, 4, 8, 32, 64, 128, PAGE - 8, PAGE - 64)]
        # Below a page of an address: the rest differs each time
        one_bit = [now ^ 1 << bit for bit in range(12 if now >> 32 else min(8 * size, 16))]
        return sorted({value for value in (*EDGES, *near, *one_bit) if 0 <= value < 1 << 8 * size})

    @staticmethod
    def put(data, field, value):
        _, offset, size = field
        return data[:offset] + value.to_bytes(size, 'little') + data[offset + size:]

    def with_value(self, field, value):
        return self.put(self.right, field, value)

    def garbage(self, rng):
        """(driver's part, length of its answer)"""
        data = self.right
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3)) if self.fields else 0):
            field = rng.choice(self.fields)
            value = rng.choice((rng.choice(self.values_of(field)), rng.getrandbits(8 * field[2])))
            data = self.put(data, field, value)
        if rng.random() < 0.2:
            data = rng.randbytes(rng.randrange(len(self.right) + 2 * TAIL))
        elif rng.random() < 0.3:
            data = data[:rng.randrange(len(data) + 1)]
        elif rng.random() < 0.3:
            data += rng.choice((bytes, rng.randbytes))(rng.randrange(1, 3 * TAIL))
        return data, rng.choice((self.answer, self.answer, rng.randrange(self.answer + TAIL)))


class Verbs:
    """Objects needed to create others, and a request for each verb."""

    def __init__(self, device, gid_index):
        self.device = device
        with open('/sys/class/infiniband/%s/ports/1/gids/%d' % (device, gid_index)) as file:
            gid = bytes.fromhex(file.read().strip().replace(':', ''))
        self.memory = mmap.mmap(-1, BUFFER_BYTES)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.record = self.at + BUFFER_BYTES - PAGE
        self.file = File(device)
        self.file.context(self.context_request(), 64)
        self.pd = self.file.handle(ALLOC_PD, bytes(8), 4, b'', 4)
        self.uar = self.file.uar()[1]
        self.counts = {'cqe': 15, 'wr': 15, 'sge': 1, 'access': 0xf, 'bytes': PAGE}
        self.cq = self.create_cq(self.cq_request(), 8)
        self.qp = self.create_qp(RC, self.qp_request(), 8)
        self.xrcd = self.open_xrcd(b'', 0)
        self.ah = struct.pack('=QQII16sIBBBBHBBBBBB', 0, 0, self.pd, 0, gid, 0, gid_index, 64, 0, 0,
                              0, 0, 0, 0, 1, 1, 0)
        self.requests = dict(self.make_requests())

    # Arguments of a correct library

    def context_request(self):
        return struct.pack('=IIIIBBHIQ', 0, 0, 0, 0, 1, 0, 0, 0, LIB_CAPS)

    def cq_request(self):
        return struct.pack('=QQIBBHHHI', self.at, self.record, 64, 0, 0, CQ_UAR_PAGE_INDEX,
                           self.uar, 0, 0)

    def qp_request(self, kind=RC):
        receives = (0, 0) if kind in (XRC_INI, XRC_TGT) else (16, 6)
        return struct.pack('=QQIIIIIIQII', self.at, self.record + 64, 64, *receives,
                           QP_UAR_PAGE_INDEX, 0x123456, self.uar, 0, 0, 0)

    def srq_request(self):
        return struct.pack('=QQIIII', self.at, self.record + 128, 0, 0, 0x234567, 0)

    def make_requests(self):
        yield 'context', Request(self.try_context, self.context_request(), (
            ('bfregs', 0, 4), ('low-latency', 4, 4), ('flags', 8, 4), ('comp-mask', 12, 4),
            ('cqe-version', 16, 1), ('reserved0', 17, 1), ('reserved1', 18, 2),
            ('reserved2', 20, 4), ('lib-caps', 24, 8)), 64)
        yield 'query-device', Request(self.try_query_device, answer=96)
        yield 'pd', Request(self.try_pd, answer=4)
        yield 'mr', Request(self.try_mr)
        yield 'rereg-mr', Request(self.try_rereg_mr)
        fields = (('comp-mask', 0, 4), ('klms', 4, 1), ('reserved1', 5, 1), ('reserved2', 6, 2))
        yield 'mw1', Request(lambda *args: self.try_mw(1, *args), bytes(8), fields, 8)
        yield 'mw2', Request(lambda *args: self.try_mw(2, *args), bytes(8), fields, 8)
        yield 'cq', Request(self.try_cq, self.cq_request(), (
            ('buffer', 0, 8), ('record', 8, 8), ('cqe-size', 16, 4), ('compressed', 20, 1),
            ('format', 21, 1), ('flags', 22, 2), ('~uar', 24, 2), ('reserved0', 26, 2),
            ('reserved1', 28, 4)), 8)
        yield 'resize-cq', Request(self.try_resize, struct.pack('=QHHI', self.at, 64, 0, 0), (
            ('buffer', 0, 8), ('cqe-size', 8, 2), ('reserved0', 10, 2), ('reserved1', 12, 4)))
        fields = (('buffer', 0, 8), ('record', 8, 8), ('sends', 16, 4), ('receives', 20, 4),
                  ('shift', 24, 4), ('flags', 28, 4), ('index', 32, 4), ('~uar', 36, 4),
                  ('send-buffer', 40, 8), ('ece', 48, 4), ('dci', 52, 2), ('reserved', 54, 2))
        for name, kind in (('rc', RC), ('ud', UD), ('xrc-ini', XRC_INI), ('xrc-tgt', XRC_TGT)):
            yield 'qp-' + name, Request(lambda *args, kind=kind: self.try_qp(kind, *args),
                                        self.qp_request(kind), fields, 32)
        yield 'modify-qp', Request(self.try_modify, bytes(16), (
            ('comp-mask', 0, 4), ('burst', 4, 4), ('packet', 8, 2), ('reserved', 10, 2),
            ('ece', 12, 4)), 16)
        fields = (('buffer', 0, 8), ('record', 8, 8), ('flags', 16, 4), ('reserved0', 20, 4),
                  ('index', 24, 4), ('reserved1', 28, 4))
        yield 'srq', Request(self.try_srq, self.srq_request(), fields, 8)
        yield 'xsrq', Request(self.try_xsrq, self.srq_request(), fields, 8)
        yield 'xrcd', Request(self.try_xrcd)
        yield 'ah', Request(self.try_ah, answer=16)

    # Each creates an object and destroys it

    def try_context(self, private, answer):
        file = File(self.device)
        try:
            file.context(private, answer)
        finally:
            file.close()

    def try_query_device(self, private, answer):
        self.file.verb(EX_QUERY_DEVICE, bytes(8), 512, private, answer)

    def try_pd(self, private, answer):
        self.file.destroy(DEALLOC_PD, self.file.handle(ALLOC_PD, bytes(8), 4, private, answer))

    def register(self, private, answer):
        core = struct.pack('=QQQQII', 0, self.at, self.counts['bytes'], self.at, self.pd,
                           self.counts['access'])
        return self.file.handle(REG_MR, core, 12, private, answer)

    def try_mr(self, private, answer):
        self.file.destroy(DEREG_MR, self.register(private, answer))

    def try_rereg_mr(self, private, answer):
        handle = self.register(b'', 0)
        core = struct.pack('=QIIQQQII', 0, handle, 5, self.at, 2 * PAGE, self.at, self.pd,
                           self.counts['access'])
        try:
            self.file.verb(REREG_MR, core, 8, private, answer)
        finally:
            self.file.destroy(DEREG_MR, handle)

    def try_mw(self, kind, private, answer):
        core = struct.pack('=QIB3x', 0, self.pd, kind)
        self.file.destroy(DEALLOC_MW, self.file.handle(ALLOC_MW, core, 8, private, answer))

    def create_cq(self, private, answer):
        core = struct.pack('=QQIIiI', 0, 0, self.counts['cqe'], 0, -1, 0)
        return self.file.handle(CREATE_CQ, core, 8, private, answer)

    def try_cq(self, private, answer):
        self.file.destroy(DESTROY_CQ, self.create_cq(private, answer))

    def try_resize(self, private, answer):
        handle = self.create_cq(self.cq_request(), 8)
        core = struct.pack('=QII', 0, handle, 2 * self.counts['cqe'] + 1)
        try:
            self.file.verb(RESIZE_CQ, core, 8, private, answer)
        finally:
            self.file.destroy(DESTROY_CQ, handle)

    def create_qp(self, kind, private, answer, srq=0):
        xrc = kind in (XRC_INI, XRC_TGT)
        core = struct.pack('=QQIIIIIIIIIBBBB', 0, 0, self.xrcd if kind == XRC_TGT else self.pd,
                           self.cq, 0 if xrc else self.cq, srq, self.counts['wr'],
                           0 if xrc else self.counts['wr'], self.counts['sge'],
                           0 if xrc else self.counts['sge'], 0, 0, kind, bool(srq), 0)
        return self.file.handle(CREATE_QP, core, 32, private, answer)

    def try_qp(self, kind, private, answer):
        self.file.destroy(DESTROY_QP, self.create_qp(kind, private, answer))

    def try_modify(self, private, answer):
        """To INIT, and back to RESET."""
        state, rights, pkey_index, port = 1, 8, 16, 32
        for number, mask in ((1, state | rights | pkey_index | port), (0, state)):
            core = bytearray(120)
            struct.pack_into('=II', core, 64, self.qp, mask)
            struct.pack_into('=B', core, 96, number)
            struct.pack_into('=B', core, 104, 1)
            self.file.verb(EX_MODIFY_QP, bytes(core), 8, private if number else b'',
                           answer if number else 0)

    def create_srq(self, private, answer):
        core = struct.pack('=QQIIII', 0, 0, self.pd, self.counts['wr'], self.counts['sge'], 0)
        return self.file.handle(CREATE_SRQ, core, 16, private, answer)

    def try_srq(self, private, answer):
        self.file.destroy(DESTROY_SRQ, self.create_srq(private, answer))

    def try_xsrq(self, private, answer):
        core = struct.pack('=QQIIIIIIII', 0, 0, 1, self.pd, self.counts['wr'],
                           self.counts['sge'], 0, 0, self.xrcd, self.cq)
        self.file.destroy(DESTROY_SRQ, self.file.handle(CREATE_XSRQ, core, 16, private, answer))

    def open_xrcd(self, private, answer):
        core = struct.pack('=QII', 0, 0xffffffff, os.O_CREAT)
        return self.file.handle(OPEN_XRCD, core, 4, private, answer)

    def try_xrcd(self, private, answer):
        self.file.destroy(CLOSE_XRCD, self.open_xrcd(private, answer))

    def try_ah(self, private, answer):
        self.file.destroy(DESTROY_AH, self.file.handle(CREATE_AH, self.ah, 4, private, answer))

    def edges(self):
        for verb, request in self.requests.items():
            request.run(request.right, request.answer)      # a valid one must work
            for name, private, answer in request.edges():
                before = pinned()
                try:
                    request.run(private, answer)
                    print(verb, name, 'accepted', sep='\t')
                except Refused as refused:
                    print(verb, name, 'refused', errno.errorcode[refused.errno], sep='\t')
                if pinned() != before:
                    print('after %s %s: %s, before %s' % (verb, name, pinned(), before))

    def random(self, seed, seconds):
        rng = random.Random(seed)
        usual = dict(self.counts)
        tries = accepted = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.counts.update(usual)
            if rng.random() < 0.3:
                name = rng.choice(list(usual))
                self.counts[name] = rng.choice((*EDGES[:34], 15, 255)) & 0x3fffffff
            verb = rng.choice(list(self.requests))
            request = self.requests[verb]
            private, answer = request.garbage(rng)
            before = pinned()
            tries += 1
            try:
                request.run(private, answer)
                accepted += 1
            except Refused:
                pass
            if pinned() != before:
                print('after %s of %s with %s: %s, before %s' %
                      (verb, private.hex(), self.counts, pinned(), before))
        print('seed %d: %d requests, %d accepted' % (seed, tries, accepted))
        self.counts.update(usual)
        for request in self.requests.values():
            request.run(request.right, request.answer)


def read_edges(path):
    with open(path) as file:
        rows = [line.rstrip('\n').split('\t') for line in file if line.count('\t') > 1]
    return {(row[0], row[1]): row[2:] for row in rows}


def compare(theirs, ours, reasons):
    theirs, ours = read_edges(theirs), read_edges(ours)
    with open(reasons) as file:
        reasons = [line.split(None, 1)[0] for line in file if line.strip() and line[0] != '#']
    unused, unexplained = set(reasons), 0
    for case in sorted(set(theirs) | set(ours)):
        if case[1].startswith('~'):
            continue
        answers = theirs.get(case, ['not tried']), ours.get(case, ['not tried'])
        if answers[0][0] == answers[1][0]:
            continue
        found = [reason for reason in reasons if fnmatch.fnmatch('/'.join(case), reason)]
        unused.difference_update(found)
        if not found:
            unexplained += 1
            print('%s: mlx5_ib %s, ours %s' % ('/'.join(case), ' '.join(answers[0]),
                                               ' '.join(answers[1])))
    for reason in sorted(unused):
        print('no difference any more: %s' % reason)
    print('%d cases, %d unexplained' % (len(ours), unexplained))
    return 1 if unexplained or unused or len(ours) < 1000 else 0


def main():
    if sys.argv[1] == 'compare':
        return compare(*sys.argv[2:])
    before = pinned()
    verbs = Verbs(sys.argv[2], int(sys.argv[3]))
    if sys.argv[1] == 'edges':
        verbs.edges()
    else:
        verbs.random(int(sys.argv[4]), float(sys.argv[5]))
    verbs.file.close()
    if pinned() != before:
        print('FAIL pinned before: %s, now: %s' % (before, pinned()))
        return 0 if sys.argv[2].startswith('mlx5_') else 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
