#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run rdma-core's own pyverbs tests and judge each result by two lists.

usage: pyverbs-run.py TESTS_FOLDER DEVICE GID_INDEX ADDRESS MAC KERNEL_SERIES [PATTERN]

TESTS_FOLDER holds Debian's /usr/share/doc/rdma-core/tests, unpacked.
pyverbs-required.txt: must pass. pyverbs-skips.txt: may skip, with the reason.
pyverbs-13-required.txt and pyverbs-13-skips.txt list tests that only Debian 13 has.

Each class runs in a process of its own: newer pyverbs may crash when it frees what an
earlier class has left behind.
"""

import fnmatch
import multiprocessing
import os
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
folder, device, index, address, mac, series = sys.argv[1:7]
pattern = sys.argv[7] if len(sys.argv) > 7 else '*'
sys.path.insert(0, os.path.dirname(folder))
sys.path.insert(0, folder)
sys.argv[1:] = ['--dev', device, '--gid', index]

from args_parser import parser  # noqa: E402

parser.parse_args()
VENDORS = ('mlx5', 'efa', 'cuda')
# Classes for features that librxe lacks, in which newer pyverbs crash instead of skipping
CRASHES = ('dmabuf', 'devicememory', 'dmtest', 'flowtest', 'parentdomaintraffic', 'rsstraffic')


def rows(name):
    with open(os.path.join(here, name)) as file:
        for line in file:
            if not line.startswith('#') and line.strip():
                yield line.rstrip('\n').split('\t')


if tuple(int(n) for n in series.split('.')) > (6, 12):
    series = 'newer'
with open(os.path.join(folder, 'test_qpex.py')) as file:
    newer = 'test_qp_ex_rc_flush' in file.read()
must_pass = list(rows('pyverbs-required.txt'))
may_skip = dict(rows('pyverbs-skips.txt'))
if newer:
    must_pass += rows('pyverbs-13-required.txt')
    may_skip.update(rows('pyverbs-13-skips.txt'))
required = {name for name, kernels in must_pass
            if kernels == 'all' or series in kernels.split(',')}
optional = {name for name, _ in must_pass} - required


def tell_address():
    """The RDMA device of a veth has no PCI device by which its netdev could be found."""
    from tests.base import RDMATestCase

    def add(self, dev, port, idx):
        self.args.append([dev, port, idx, address, mac])
    RDMATestCase._get_ip_mac = add


def load():
    import importlib
    for file in sorted(os.listdir(folder)):
        if file.startswith('test_') and file.endswith('.py') and \
           not any(vendor in file for vendor in VENDORS):
            module = importlib.import_module('tests.' + file[:-3])
            yield from flatten(unittest.defaultTestLoader.loadTestsFromModule(module))


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


class Judge(unittest.TestResult):
    """Print a line for each test as soon as it ends."""

    failed = 0
    drawn_again = False

    def verdict(self, test, what, detail=''):
        name = test.id()
        # Some tests draw QP flags at random and skip if the device does not support the draw:
        # then they have not run yet.
        self.drawn_again = what == 'SKIP' and name in required and self.tries > 0
        if self.drawn_again:
            return
        detail = detail.strip().splitlines()[-1][:160] if detail else ''
        good = what == 'PASS' or (what == 'SKIP' and name in may_skip and name not in required) \
            or name in optional
        if what == 'SKIP' and good:
            print(f'ok   {name} SKIP: {may_skip.get(name, detail)}', flush=True)
        elif good:
            print(f'ok   {name} {what}', flush=True)
        else:
            Judge.failed += 1
            print(f'FAIL {name}: expected {"PASS" if name in required else "PASS or a listed skip"}, '
                  f'got {what}: {detail}', flush=True)

    def addSuccess(self, test):
        self.verdict(test, 'PASS')

    def addSkip(self, test, reason):
        self.verdict(test, 'SKIP', reason)

    def addError(self, test, err):
        self.verdict(test, 'ERROR', self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        self.verdict(test, 'FAIL', self._exc_info_to_string(err, test))


def run(tests):
    Judge.failed = 0
    tell_address()
    for test in tests:
        judge = Judge()
        for judge.tries in range(9, -1, -1):
            test.run(judge)
            if not judge.drawn_again:
                break
    sys.exit(min(Judge.failed, 255))


def run_apart(name, tests):
    """Runs in another process. Returns the number of failures."""
    process = multiprocessing.Process(target=run, args=(tests,))
    process.start()
    process.join()
    if process.exitcode < 0:
        print(f'FAIL {name}: expected an end, died of signal {-process.exitcode}')
    return abs(process.exitcode)


classes = {}
for test in load():
    name = unittest.util.strclass(type(test))
    if fnmatch.fnmatch(test.id(), pattern) and \
       not (newer and any(word in name.lower() for word in CRASHES)):
        classes.setdefault(name, []).append(test)
for name, tests in classes.items():
    Judge.failed += run_apart(name, tests)
seen = {test.id() for tests in classes.values() for test in tests}
for name in sorted(required - seen):
    if fnmatch.fnmatch(name, pattern):
        Judge.failed += 1
        print(f'FAIL {name}: expected it to exist and pass, it was not loaded')
print(f'# {len(seen)} tests, {Judge.failed} misjudged')
sys.exit(1 if Judge.failed else 0)
