#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Migrates a running guest (guest.c) from one QEMU to another, both started by qemu.sh, and looks whether it goes on.

    migrate.py [--stopped] SOURCE-DIR TARGET-DIR URI [CAPABILITY...]

A directory has QEMU's QMP socket, "qmp", and what the guest said on its serial port, "said". Prints one line:
"passes A + B, M MiB in T ms", with A the passes that the guest ended before it moved and B those after, or says what
went wrong and ends with 1. SECONDS bounds each wait. --stopped: the guest does nothing while it is moved.
"""
import json
import os
import re
import socket
import sys
import time

SECONDS = 150
PASSES = 2  # of the guest, before and after


class Monitor:
    """QEMU's QMP: one command, one answer; what happens besides is passed over."""
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(path)
        self.lines = self.socket.makefile('r')
        self.lines.readline()
        self.ask('qmp_capabilities')

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({'execute': command, 'arguments': arguments}).encode() + b'\n')
        while True:
            line = self.lines.readline()
            if not line:
                sys.exit('migrate: QEMU ended at %s' % command)
            answer = json.loads(line)
            if 'error' in answer:
                sys.exit('migrate: %s: %s' % (command, answer['error']['desc']))
            if 'return' in answer:
                return answer['return']


def passes(directory):
    """Of the guest there: the numbers of the passes that it has ended. Ends the program where a page was wrong."""
    with open(directory + '/said', errors='replace') as file:
        said = file.read()
    if 'wrong' in said:
        sys.exit('migrate: in %s the guest says: %s' % (os.path.basename(directory), said.splitlines()[-1]))
    return [int(number) for number in re.findall(r'pass (\d+) right\r?\n', said)]


def until(what, is_so):
    end = time.monotonic() + SECONDS
    while not is_so():
        if time.monotonic() > end:
            sys.exit('migrate: waited %d seconds until %s' % (SECONDS, what))
        time.sleep(0.05)


def main(is_stopped, source_dir, target_dir, uri, *capabilities):
    for directory in (source_dir, target_dir):
        until('QEMU listens', lambda: os.path.exists(directory + '/qmp'))
    source, target = Monitor(source_dir + '/qmp'), Monitor(target_dir + '/qmp')
    until('the guest has ended passes', lambda: len(passes(source_dir)) >= PASSES)
    wanted = [{'capability': capability, 'state': True} for capability in capabilities]
    for monitor in (source, target):
        monitor.ask('migrate-set-capabilities', capabilities=wanted)
    target.ask('migrate-incoming', uri=uri)
    source.ask('migrate-set-parameters', **{'max-bandwidth': 1 << 40})
    if is_stopped:
        source.ask('stop')
    source.ask('migrate', uri=uri)
    state = {}

    def is_over():
        state.update(source.ask('query-migrate'))
        return state.get('status') in ('completed', 'failed', 'cancelled')
    until('the migration is over', is_over)
    if state['status'] != 'completed':
        sys.exit('migrate: %s: %s' % (state['status'], state.get('error-desc')))
    if is_stopped:
        until('the guest is there', lambda: target.ask('query-status')['status'] == 'paused')
        target.ask('cont')
    before = passes(source_dir)
    until('the guest has ended passes over there', lambda: len(passes(target_dir)) >= PASSES)
    after = passes(target_dir)
    numbers = before + after
    if numbers != list(range(1, len(numbers) + 1)):
        sys.exit('migrate: passes %s there, and then %s' % (before, after))
    ram = state['ram']
    print('passes %d + %d, %d MiB in %d ms, %d pages of zeros, %d rounds' % (
        len(before), len(after), ram['transferred'] >> 20, state['total-time'], ram['duplicate'],
        ram['dirty-sync-count']))
    for monitor in (source, target):
        monitor.ask('quit')


if __name__ == '__main__':
    words = sys.argv[1:]
    main('--stopped' in words, *[word for word in words if word != '--stopped'])
