# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of an SMC-R case must hold, and what the guest's kernel may say. Each function says what is wrong
with it, or ''."""
import re, subprocess
import judge
from lab import NORNIC

# The kernel tells of its link groups, and that the queue pair of a second link, which nornic has no port for, could not
# be stopped before it was started. What it sends to a process that has ended comes back by ICMP.
USUAL_WORDS = re.compile(r'^.*(\bsmc: |PF_SMC|rxe_modify_qp: returned err = -22).*$\n?', re.M)
USUAL_COUNTS = {'Icmp.InMsgs', 'Icmp.InErrors'}


def guest_saw(case, counted, said):
    """As judge.guest_saw()."""
    counted = {name: 0 if name in USUAL_COUNTS else count for name, count in counted.items()}
    return judge.guest_saw(case, counted, USUAL_WORDS.sub('', said))


def explained(capture):
    out = subprocess.run([NORNIC, 'explain', capture], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=60, check=False)
    return out.stdout + out.stderr


def conversation(case, capture, _log):
    """The CLC messages of version 2 and, unless one side declined, the link's and the data's."""
    text = explained(capture)
    wanted = ['CLC Proposal'] + (['CLC Decline'] if case.travels == 'tcp' else
                                 ['CLC Accept', 'CLC Confirm', 'CONFIRM LINK', 'ADD LINK', 'CDC'])
    for words in wanted:
        if words not in text:
            return '`nornic explain` does not show %s' % words
    return ''


def check(case, capture, log):
    return judge.nornic_verifies(capture, log) or conversation(case, capture, log)
