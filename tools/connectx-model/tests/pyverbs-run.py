#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run pyverbs tests and print PASS, SKIP or FAIL for each.

usage: pyverbs-run.py SKIPS --dev DEVICE --gid INDEX -- [PATTERN...]

SKIPS lists what may skip: a test (a pattern is allowed), a tab, the reason. A third
column is part of an error message that means the same on some kernels.

Some tests choose their parameters at random, and skip if the driver refuses them. The
random seed is the same in each run, and a test whose skip is not listed tries again.

A test that skips half-way leaves objects in a reference cycle. The garbage collector may close a
pyverbs context before its objects, which is a use after free (libibverbs 56): it is disabled.
"""
import fnmatch
import gc
import importlib
import os
import random
import sys
import time
import unittest

split = sys.argv.index('--')
patterns = sys.argv[split + 1:] or ['*']
skips = sys.argv[1]
DRAWS = 10
sys.argv = [sys.argv[0]] + sys.argv[2:split]

from args_parser import parser  # noqa: E402

parser.parse_args()


def allowed_skips():
    with open(skips) as file:
        return [line.rstrip('\n').split('\t') for line in file
                if line.strip() and not line.startswith('#')]


class Lines(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.may_skip = allowed_skips()
        self.bad = 0

    def line(self, verdict, test, text=''):
        self.bad += verdict == 'FAIL'
        print(verdict, test.id().replace('tests.', '', 1), text.replace('\n', ' '),
              '%.1fs' % (time.time() - self.started), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.started = time.time()

    def addSuccess(self, test):
        self.line('PASS', test)

    def addSkip(self, test, reason):
        name = test.id().replace('tests.', '', 1)
        known = any(fnmatch.fnmatch(name, row[0]) for row in self.may_skip)
        self.draw_again = not known and self.draws_left > 0
        if not self.draw_again:
            self.line('SKIP' if known else 'FAIL', test, '(skipped: %s)' % reason)

    def addError(self, test, error):
        name = test.id().replace('tests.', '', 1)
        means_skip = any(len(row) > 2 and row[0] == name and row[2] in str(error[1])
                         for row in self.may_skip)
        self.line('SKIP' if means_skip else 'FAIL', test, '(%s)' % str(error[1])[:300])

    addFailure = addError

    def try_out(self, test):
        for self.draws_left in reversed(range(DRAWS)):
            random.seed('%s %d' % (test.id(), self.draws_left))
            self.draw_again = False
            test.run(self)
            if not self.draw_again:
                return


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def match(name, found):
    """Whether a pattern matches the test; matching patterns are added to @found."""
    fitting = [pattern for pattern in patterns if fnmatch.fnmatch(name, pattern)]
    found.update(fitting)
    return fitting


def main():
    gc.disable()
    result = Lines()
    found = set()
    for file in sorted(os.listdir('tests')):
        if not (file.startswith('test_') and file.endswith('.py')):
            continue
        if 'efa' in file or 'cuda' in file:
            continue
        module = importlib.import_module('tests.' + file[:-3])
        for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(module)):
            name = test.id().replace('tests.', '', 1)
            if match(name, found):
                result.try_out(test)
    for pattern in sorted(set(patterns) - found):
        result.bad += 1
        print('FAIL', pattern, '(no such test)')
    sys.stdout.flush()
    os._exit(1 if result.bad else 0)


main()
