# SPDX-License-Identifier: GPL-2.0
"""Tests of RDMA in a lab: see lab.rst."""

import time

import pytest
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
import pyverbs.enums as e


def test_memory_is_registered(rdma_lab):
    with Context(name=rdma_lab.device) as context, PD(context) as pd:
        region = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
        region.write('bytes', 5)
        assert region.read(5, 0) == b'bytes'


@pytest.mark.rdma_lab(hosts=2)
def test_bytes_arrive_though_packets_are_lost(rdma_hosts):
    a, b = rdma_hosts
    b.set('loss', '2%')
    before = b.counter('port_rcv_data')
    server = b.popen(['ibv_rc_pingpong', '-e', '-c', '-n', 100, '-d', b.device, '-g', b.gid_index])
    while ':4853' not in b.output(['cat', '/proc/net/tcp', '/proc/net/tcp6']):
        time.sleep(0.1)
    a.run(['ibv_rc_pingpong', '-e', '-c', '-n', 100, '-d', a.device, '-g', a.gid_index, b.name],
          check=True)
    assert server.wait() == 0
    b.set('loss', 0)
    # Counted in words of four bytes
    assert (b.counter('port_rcv_data') - before) * 4 >= 100 * 4096
