#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""DCQCN as its paper writes it, in real numbers and with every timer expiry as an event of its own: the second
opinion that roce/cc/dcqcn.c is held against. Writes test/roce/dcqcn_vectors.txt:

    test/roce/dcqcn_model.py > test/roce/dcqcn_vectors.txt

Lines: "config" with the parameters starts a flow; "cnp AT", "sent AT BYTES" and "look AT" are events at AT ns, each
followed by what holds after it: limited, Rc, Rt in bit/s, alpha, i_T, i_B."""
import random


class Flow:
    def __init__(self, line, g, k, f, t, b, rai, rhai, floor):
        self.line, self.g, self.k, self.f, self.t, self.b = line, g, k, f, t, b
        self.rai, self.rhai, self.floor = rai, rhai, floor
        self.fresh()

    def fresh(self):
        self.rc = self.rt = float(self.line)
        self.alpha, self.limited = 1.0, False
        self.i_t = self.i_b = self.bytes = 0
        self.alpha_at = self.increase_at = None

    def run_timers(self, now):
        while self.limited and min(self.alpha_at, self.increase_at) <= now:
            if self.alpha_at <= self.increase_at:
                self.alpha *= 1 - self.g
                self.alpha_at += self.k
            else:
                self.increase_at += self.t
                self.i_t += 1
                self.increase()

    def increase(self):
        low, high = min(self.i_t, self.i_b), max(self.i_t, self.i_b)
        if low > self.f:
            self.rt += (low - self.f) * self.rhai
        elif high >= self.f:
            self.rt += self.rai
        self.rt = min(self.rt, self.line)
        self.rc = (self.rt + self.rc) / 2
        if self.rc > self.line - 1:  # whole bits per second
            self.fresh()

    def cnp(self, now):
        self.run_timers(now)
        self.rt = self.rc
        self.rc = max(self.rc * (1 - self.alpha / 2), self.floor)
        self.alpha = (1 - self.g) * self.alpha + self.g
        self.i_t = self.i_b = self.bytes = 0
        self.alpha_at, self.increase_at = now + self.k, now + self.t
        self.limited = True

    def sent(self, now, n):
        self.run_timers(now)
        self.bytes += n
        while self.limited and self.bytes >= self.b:
            self.bytes -= self.b
            self.i_b += 1
            self.increase()
        if not self.limited:
            self.bytes = 0

    def state(self):
        return f"{int(self.limited)} {self.rc:.0f} {self.rt:.0f} {self.alpha:.7f} {self.i_t} {self.i_b}"


def scenario(rnd, events, line, g1024, k, f, t, b, rai, rhai, floor):
    print("config", line, g1024, k, f, t, b, rai, rhai, floor)
    flow = Flow(line, g1024 / 1024, k, f, t, b, rai, rhai, floor)
    now = 1_000_000
    for _ in range(events):
        calm = rnd.randrange(12) == 0
        now += rnd.randrange(1, 60 * t) if calm else rnd.randrange(1, 2 * t)
        kind = rnd.randrange(8)
        if kind < 3:
            flow.cnp(now)
            print("cnp", now, flow.state())
        elif kind < 7:
            n = rnd.randrange(1, 3 * b if calm else b)
            flow.sent(now, n)
            print("sent", now, n, flow.state())
        else:
            flow.run_timers(now)
            print("look", now, flow.state())


def main():
    rnd = random.Random(20150817)
    G, M, K = 10**9, 10**6, 10**3
    scenario(rnd, 60, 40 * G, 4, 55 * K, 5, 55 * K, 10 * M, 40 * M, 400 * M, M)  # the paper
    scenario(rnd, 60, 10 * G, 5, 5 * K, 1, 300 * K, 32767, 5 * M, 50 * M, M)  # an adapter
    scenario(rnd, 60, 100 * G, 64, 60 * K, 3, 20 * K, 100 * K, 10 * M, 20 * M, 500 * M)
    scenario(rnd, 60, 1 * G, 4, 55 * K, 5, 70 * K, 50 * K, 100 * K, 300 * K, 10 * M)


main()
