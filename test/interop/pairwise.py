# SPDX-License-Identifier: BSD-2-Clause
"""The cases of CI: as few cases of the whole list as hold each value and each pair of values of the whole list.

A case has one value in each dimension: program, role, port, family, PMTU, size, weather and the others of its values()
in cases.py. Two cases are of one kind if they have the same judge, so that a pair is counted for each kind: that
iWARP has met IPv6 with a READ of 65,535 bytes says nothing of RoCE.

The choice begins with the unique cases. The whole list, in an order that SEED makes, then gives the case with the most
pairs that no chosen case has, until no pair is left. At last each case goes whose pairs the others have.
The order depends on the names and SEED alone, so the same list always gives the same cases.
"""
import hashlib, itertools

SEED = 1   # another seed chooses other cases, and about as many


def pairs(case):
    """Returns the values of a case as pairs; a value with itself is the value alone."""
    values = sorted((dimension, str(value)) for dimension, value in case.values().items())
    return {(case.judge.__name__, *pair) for pair in itertools.combinations_with_replacement(values, 2)}


def pairs_of(cases):
    return set().union(*map(pairs, cases))


def order(case):
    return hashlib.sha256(('%d %s' % (SEED, case.name)).encode()).digest()


def choose(cases):
    """Returns the chosen cases in the order of `cases`."""
    chosen = [c for c in cases if c.is_unique]
    left = sorted((c for c in cases if not c.is_unique), key=order)
    missing = pairs_of(cases) - pairs_of(chosen)
    while missing:
        best = max(left, key=lambda c: len(pairs(c) & missing))
        left.remove(best)
        chosen.append(best)
        missing -= pairs(best)
    for case in reversed(chosen):
        others = [c for c in chosen if c is not case]
        if not case.is_unique and not pairs(case) - pairs_of(others):
            chosen = others
    names = {c.name for c in chosen}
    return [c for c in cases if c.name in names]


def lost(chosen, cases):
    """Returns each pair of values that `cases` have and `chosen` have not, as a sentence."""
    found, known = [], set()
    for case, is_chosen in [(c, True) for c in chosen] + [(c, False) for c in cases]:
        values = list(case.values().items())
        for at, (one, a) in enumerate(values):
            for other, b in values[at:]:
                pair = case.judge, one, a, other, b
                if not is_chosen and pair not in known:
                    found.append('%s: no case has %s %s with %s %s' % (case.judge.__name__, one, a, other, b))
                known.add(pair)
    return found


def check(cases):
    """Returns what is wrong with the choice from `cases`, as sentences. Without any of the cases that are not unique a
    pair has to be lost, which shows that this function finds a lost pair."""
    names = [c.name for c in cases]
    wrong = ['two cases are called %s' % name for name in sorted(set(names)) if names.count(name) > 1]
    chosen = choose(cases)
    wrong += ['%s is unique, and left out' % c.name for c in cases if c.is_unique and c not in chosen]
    wrong += lost(chosen, cases)
    for case in chosen:
        if not case.is_unique and not lost([c for c in chosen if c is not case], [case]):
            wrong.append('%s adds no pair to the others' % case.name)
    return wrong
