# SPDX-License-Identifier: BSD-2-Clause
"""The place where the benchmarks run: two namespaces with a veth pair between them, a CPU for each side."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VETH_MTU = 4200  # the largest PMTU, 4096, with its headers
TCP_PORT = 18515


class BenchError(Exception):
    pass


class Lab:
    """Two namespaces and a veth pair, removed on exit, whatever happens. Each side has CPUs of its own, unless
    nothing is pinned."""

    def __init__(self, pid, mtu=VETH_MTU, is_pinned=True):
        self.mtu = mtu
        self.is_pinned = is_pinned
        self.names = [f"nn-bench-{pid}-a", f"nn-bench-{pid}-b"]
        self.running = []

    def __enter__(self):
        a, b = self.names
        try:
            for name in self.names:
                ip("netns", "add", name)
            ip("link", "add", "nn0", "netns", a, "mtu", str(self.mtu), "type", "veth",
               "peer", "name", "nn1", "netns", b, "mtu", str(self.mtu))
            for i, name in enumerate(self.names):
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", f"nn{i}")
                ip("-n", name, "addr", "add", f"fd77::{i + 1}/64", "dev", f"nn{i}", "nodad")
                ip("-n", name, "link", "set", f"nn{i}", "up")
            self.wait_addresses()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # timeout(1) sends it to the process and to its group
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    def wait_addresses(self):
        """Until duplicate address detection is over: before, the table of GIDs lacks its first entry, the
        link-local address, and index 0 is another address on either side."""
        for _ in range(100):
            if not any(ip("-n", name, "addr", "show", "tentative").strip() for name in self.names):
                return
            time.sleep(0.1)
        raise BenchError("duplicate address detection is not over after 10 s")

    def mac(self, side):
        links = json.loads(ip("-n", self.names[side], "-j", "link", "show", f"nn{side}"))
        return links[0]["address"]

    def start(self, side, *command, stdin=None):
        def pin():
            os.sched_setaffinity(0, cpus_of(side))

        process = subprocess.Popen(["ip", "netns", "exec", self.names[side], *map(str, command)],
                                   stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=pin if self.is_pinned else None)
        self.running.append(process)
        return process

    def finish(self, process, timeout_s):
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise BenchError(f"`{' '.join(process.args[4:])}` did not end within {timeout_s} s") from None
        finally:
            self.running.remove(process)
        if process.returncode != 0:
            said = (err.strip() or out.strip()).splitlines()
            raise BenchError(f"`{' '.join(process.args[4:])}` failed: {said[-1] if said else 'no message'}")
        return out

    def wait_listening(self, side, port, process):
        """A server is ready when the port is there; its process dying first is the end."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            out = subprocess.run(["ip", "netns", "exec", self.names[side], "ss", "-Hltn", f"sport = :{port}"],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout
            if out.strip():
                return
            if process.poll() is not None:
                self.finish(process, 1)
                raise BenchError(f"`{' '.join(process.args[4:])}` ended before it listened")
            time.sleep(0.02)
        raise BenchError(f"`{' '.join(process.args[4:])}` did not listen within 10 s")


def cpus_of(side):
    """Half of the CPUs for each side: processes that wake each other are otherwise put on one, now and then,
    whatever is measured. With a single CPU both have it."""
    cpus = sorted(os.sched_getaffinity(0))
    half = len(cpus) // 2
    return (cpus[:half] if side == 0 else cpus[half:]) or cpus


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise BenchError(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout


def need(built, tools):
    """Root, what `make bench` builds, and the commands."""
    if os.geteuid() != 0:
        raise BenchError("needs root, to make network namespaces")
    for path in built:
        if not (ROOT / path).exists():
            raise BenchError(f"{path} is not built; run `make bench`")
    for tool in tools:
        if not shutil.which(tool):
            raise BenchError(f"the command {tool} is missing; `make deps` installs it")
