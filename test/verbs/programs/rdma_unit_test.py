#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs each case of google/rdma-unit-test in a process of its own and holds what became of it against a table.

  rdma_unit_test.py PROGRAM TABLE [PATTERN]   PATTERN: of gtest's --gtest_filter; without: all cases

A line of TABLE names a case that does not pass: what becomes of it (skips, fails, hangs, and "may" where it depends on
the machine), its name, why. The environment says what libibverbs and port. A case has PATIENCE seconds; one that the
table does not have and that fails is tried once more, alone. The last line: how many passed, skipped, failed and hung.
"""
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys

PATIENCE = 1500  # for two of two million messages, one at a time, beside others
TOLD_TO_HANG = 40  # seconds for one of which the table says so
FLAGS = ["--ipv4_only", "--completion_wait_multiplier=5"]  # six ACK timeouts of 1.07 s are longer than 2 s


def read_table(path):
    rows = (line.split(None, 2) for line in pathlib.Path(path).read_text().splitlines()
            if line.strip() and not line.startswith("#"))
    return {name: how for how, name, _ in rows}


def cases_of(program, pattern):
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"], capture_output=True,
                            text=True, timeout=60, check=True).stdout
    suite, cases = "", []
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if not word.startswith(" "):
            suite = word
        elif word:
            cases.append(suite + word.strip())
    return cases


def run_one(program, case, patience):
    try:
        done = subprocess.run([program, f"--gtest_filter={case}", *FLAGS], capture_output=True, text=True,
                              errors="replace", timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    if done.returncode:
        return "fails", f"status {done.returncode}: " + " ".join(done.stdout.split())[-300:]
    return ("skips" if "[  SKIPPED ]" in done.stdout else "passes"), ""


def is_as_said(said, how):
    return how == (said or "passes") or (said == "may" and how in ("passes", "skips", "hangs"))


def main():
    program, table = os.path.abspath(sys.argv[1]), read_table(sys.argv[2])
    cases = cases_of(program, sys.argv[3] if len(sys.argv) > 3 else "*")
    count, wrong, again = collections.Counter(), [], []

    def judge(case, how, said):
        count[how] += 1
        if not is_as_said(table.get(case), how):
            wrong.append(f"{case} {how}, and the table says {table.get(case, 'passes')}: {said}")

    def patience_of(case):
        return TOLD_TO_HANG if table.get(case) in ("hangs", "may") else PATIENCE

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() + 1) as pool:
        runs = pool.map(lambda case: run_one(program, case, patience_of(case)), cases)
        for case, (how, said) in zip(cases, runs):
            if how == "fails" and case not in table:
                again.append(case)
            else:
                judge(case, how, said)
    for case in again:
        judge(case, *run_one(program, case, PATIENCE))
    for line in wrong:
        print(line)
    print(f"{len(cases)} cases: {count['passes']} pass, {count['skips']} skipped, {count['fails']} fail, "
          f"{count['hangs']} wait for ever; {len(wrong)} are otherwise than said")
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()
