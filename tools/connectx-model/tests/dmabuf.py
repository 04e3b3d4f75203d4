#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Register a DMA buffer, WRITE to it and READ from it over a loopback connection.

usage: dmabuf.py DEVICE GID-INDEX

The kernel's udmabuf driver creates the buffer from shared memory, so no other device
is needed. pyverbs only registers those of graphics devices: the registration is done
by the library itself, in a second view of the same context.
"""
import ctypes
import fcntl
import mmap
import os
import struct
import sys
import time

import pyverbs.enums as e
from loopback import ACCESS, connect_to_itself
from objects import traced
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.wr import SGE, SendWR

PAGES = 16
BYTES = PAGES * mmap.PAGESIZE
OFFSET = mmap.PAGESIZE          # of the registered part in the buffer
LENGTH = BYTES - 2 * mmap.PAGESIZE
IOVA = 0x7000_0000_0000         # chosen by the process
PATIENCE_S = 30
UDMABUF_CREATE = 0x40187542     # _IOW('u', 0x42, struct udmabuf_create)
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


class VerbsMR(ctypes.Structure):
    _fields_ = [('context', ctypes.c_void_p), ('pd', ctypes.c_void_p),
                ('addr', ctypes.c_void_p), ('length', ctypes.c_size_t),
                ('handle', ctypes.c_uint32), ('lkey', ctypes.c_uint32),
                ('rkey', ctypes.c_uint32)]


def make_dmabuf():
    memory = os.memfd_create('dmabuf', os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, BYTES)
    fcntl.fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK)
    device = os.open('/dev/udmabuf', os.O_RDWR)
    # For a request that can be modified ioctl() returns the kernel's result.
    request = bytearray(struct.pack('IIQQ', memory, 0, 0, BYTES))
    dmabuf = fcntl.ioctl(device, UDMABUF_CREATE, request)
    return dmabuf, mmap.mmap(memory, BYTES)


def library():
    lib = ctypes.CDLL('libibverbs.so.1', use_errno=True)
    lib.ibv_import_device.restype = lib.ibv_import_pd.restype = ctypes.c_void_p
    lib.ibv_import_pd.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    lib.ibv_reg_dmabuf_mr.restype = ctypes.POINTER(VerbsMR)
    lib.ibv_reg_dmabuf_mr.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t,
                                      ctypes.c_uint64, ctypes.c_int, ctypes.c_int]
    lib.ibv_dereg_mr.argtypes = [ctypes.POINTER(VerbsMR)]
    return lib


def register(lib, context, pd, dmabuf, access):
    view = lib.ibv_import_device(os.dup(context.cmd_fd))
    assert view, 'ibv_import_device: %s' % os.strerror(ctypes.get_errno())
    view_pd = lib.ibv_import_pd(view, pd.handle)
    assert view_pd, 'ibv_import_pd: %s' % os.strerror(ctypes.get_errno())
    mr = lib.ibv_reg_dmabuf_mr(view_pd, OFFSET, LENGTH, IOVA, dmabuf, access)
    assert mr, 'ibv_reg_dmabuf_mr: %s' % os.strerror(ctypes.get_errno())
    return mr


def transfer(qp, cq, opcode, sge, address, rkey):
    wr = SendWR(opcode=opcode, num_sge=1, sg=[sge], send_flags=e.IBV_SEND_SIGNALED)
    wr.set_wr_rdma(rkey, address)
    qp.post_send(wr)
    end = time.time() + PATIENCE_S
    while time.time() < end:
        count, completions = cq.poll(1)
        if count:
            assert completions[0].status == e.IBV_WC_SUCCESS, completions[0]
            return
    raise TimeoutError('no completion')


def use(context, pd, cq, qp, local, access):
    """Register a buffer and transfer both ways."""
    dmabuf, memory = make_dmabuf()
    lib = library()
    mr = register(lib, context, pd, dmabuf, access)
    data = os.urandom(LENGTH)
    local.write(data, LENGTH)
    transfer(qp, cq, e.IBV_WR_RDMA_WRITE, SGE(local.buf, LENGTH, local.lkey),
             IOVA, mr.contents.rkey)
    assert memory[OFFSET:OFFSET + LENGTH] == data, 'WRITE went elsewhere'
    assert not any(memory[:OFFSET] + memory[OFFSET + LENGTH:]), 'WRITE went too far'

    memory[OFFSET:OFFSET + LENGTH] = data[::-1]
    transfer(qp, cq, e.IBV_WR_RDMA_READ, SGE(local.buf, LENGTH, local.lkey),
             IOVA, mr.contents.rkey)
    assert local.read(LENGTH, 0) == data[::-1], 'READ came from elsewhere'
    assert lib.ibv_dereg_mr(mr) == 0


def main():
    context = Context(name=sys.argv[1])
    pd = PD(context)
    cq = CQ(context, 16)
    qp = connect_to_itself(context, pd, int(sys.argv[2]), cq, cq)
    relaxed = ACCESS | e.IBV_ACCESS_RELAXED_ORDERING
    local = MR(pd, LENGTH, ACCESS)
    # With relaxed ordering its addresses are translated by the adapter, if it has ATS
    traced('memory-relaxed', lambda: MR(pd, LENGTH, relaxed).close())
    for step, access in ('dmabuf', ACCESS), ('dmabuf-relaxed', relaxed):
        traced(step, lambda access=access: use(context, pd, cq, qp, local, access))


if __name__ == '__main__':
    main()
