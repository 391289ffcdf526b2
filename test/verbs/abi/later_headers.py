#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes headers that a later rdma-core might have.

    later_headers.py NAMES DIR < HEADER-PATHS

Copies each header named on stdin to DIR (infiniband/verbs.h, ...). In the copy every enumeration has one more
value, and every struct one more member: struct verbs_context at its front, others at their end. A copy of
verbs.h or rdma_cma.h also declares functions of the files NAMES (comma-separated): those since rdma-core 44
that no header declares yet. Their types are none that nornic knows.
"""
import os, re, sys

# what other structs of the ABI have a fixed place for, or a fixed size
OLDEST = 44 # the oldest rdma-core that nornic is built with
FIXED = {'ibv_sge', 'ibv_send_wr', 'ibv_recv_wr', 'ibv_wc', 'ibv_qp_attr', 'ibv_cq', 'ibv_qp', 'ibv_context',
         'ibv_context_ops', 'ibv_device'}


def without_comments(text):
    return re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)


def closing(text, at):
    """Where the brace that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {'{': 1, '}': -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError('a brace is open at the end')


def grow(text, stem):
    count = 0
    out, at = '', 0
    for found in re.finditer(r'^(?:typedef\s+)?(enum|struct)\s*(\w*)\s*\{', text, flags=re.M):
        if found.start() < at:
            continue
        end = closing(text, found.end() - 1)
        body = text[found.end():end]
        count += 1
        later = 'later_%s_%d' % (stem, count)
        out += text[at:found.end()]
        if found[1] == 'enum':
            out += body.rstrip().rstrip(',') + ',\n\t' + later.upper() + '\n'
        elif found[2] == 'verbs_context':
            out += '\n\tint (*%s)(void);' % later + body
        elif found[2] in FIXED or re.search(r'\[0?\];\s*$', body):
            out += body
        else:
            out += body + '\tunsigned long %s;\n' % later
        at = end
    return out + text[at:], count


def main():
    names, to = sys.argv[1].split(','), sys.argv[2]
    headers = {path: without_comments(open(path).read()) for path in sys.stdin.read().split()}
    declared = ' '.join(headers.values())
    later = {'libibverbs': [], 'librdmacm': []}
    for path in names:
        for line in open(path):
            if line.startswith('#'):
                continue
            _, name, since = line.split()
            if int(since) > OLDEST and not re.search(r'\b%s\b' % name, declared):
                later[os.path.basename(path)[:-4]].append(name)
    total = 0
    for path, text in headers.items():
        room, file = path.split('/')[-2:]
        text, count = grow(text, file[:-2])
        total += count
        home = {'verbs.h': 'libibverbs', 'rdma_cma.h': 'librdmacm'}.get(file)
        if home:
            text += 'struct later;\n' + ''.join('struct later *%s(struct later *);\n' % n for n in later[home])
        os.makedirs(os.path.join(to, room), exist_ok=True)
        with open(os.path.join(to, room, file), 'w') as out:
            out.write(text)
    print(total, 'enumerations and structs in', len(headers), 'headers')


main()
