#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One module of Python's own tests, and what became of each test: test/preload/suites.

    suite.py run MODULE FILE                     writes a line for each test into FILE: its id, ok, skip, fail or error
    suite.py compare MODULE MODE FILE-OF-TCP FILE EXPECTED-FILE
                                                 exits with 1 where a test's outcome is another than over TCP, and it
                                                 is not in EXPECTED-FILE (MODULE MODE ID), or the other way round;
                                                 a line that ends in `perhaps`: it may be either
"""
import os, sys, unittest


class Outcomes(unittest.TestResult):
    def __init__(self, out):
        super().__init__()
        self.out, self.how = out, {}

    def startTest(self, test):
        super().startTest(test)
        self.how[test.id()] = 'ok'

    def note(self, test, how):
        owner = getattr(test, 'test_case', test)   # of a subtest
        self.how[owner.id()] = how

    def addError(self, test, err):
        super().addError(test, err)
        print(test, self.errors[-1][1], file=sys.stderr)
        self.note(test, 'error')

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(test, self.failures[-1][1], file=sys.stderr)
        self.note(test, 'fail')

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.note(test, 'fail')

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, 'skip')

    def stopTest(self, test):
        super().stopTest(test)
        if test.id() in self.how:
            print(test.id(), self.how[test.id()], file=self.out, flush=True)


def read(path):
    with open(path) as f:
        return dict(line.split() for line in f)


def compare(module, mode, tcp_path, path, expected_path):
    with open(expected_path) as f:
        lines = [line.split()[2:] for line in f if line.split()[:2] == [module, mode]]
    expected = {words[0] for words in lines if 'perhaps' not in words}
    open_ones = {words[0] for words in lines} - expected
    tcp, ours = read(tcp_path), read(path)
    names = tcp.keys() | ours.keys()
    differ = {n for n in names if tcp.get(n) != ours.get(n)}
    wrong = (differ ^ expected) - open_ones
    for n in sorted(wrong):
        print('%s: over TCP %s, here %s' % (n, tcp.get(n), ours.get(n)))
    counts = {how: sum(o == how for o in ours.values()) for how in ('ok', 'skip', 'fail', 'error')}
    print('%d tests: %s; %d expected to differ' % (len(ours), counts, len(expected)), file=sys.stderr)
    return bool(wrong) or not ours


def each(suite):
    """Its tests, but those of sockets that wait for a host of this machine's, which a namespace has not."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from each(part)
        elif 'VSOCK' not in type(part).__name__:
            yield part


if sys.argv[1] == 'compare':
    sys.exit(compare(*sys.argv[2:]))
with open(sys.argv[3], 'w') as results:
    tests = unittest.defaultTestLoader.loadTestsFromName('test.' + sys.argv[2])
    unittest.TestSuite(each(tests)).run(Outcomes(results))
sys.stdout.flush()
os._exit(0)   # some leave threads behind that never end
