# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of an SMC-R case must hold, and what the guest's kernel may say. Each function says what is wrong
with it, or ''."""
import json, re, subprocess
import judge
from lab import GUEST, HOST, NORNIC

# The kernel tells of its link groups, of a device that comes again, and that the queue pair of a second link, which
# nornic has no port for, could not be stopped before it was started. What it sends to a process that has ended comes
# back by ICMP.
USUAL_WORDS = re.compile(r'^.*(\bsmc: |PF_SMC|rxe_modify_qp: returned err = -22|infiniband rxe0: added eth0).*$\n?',
                         re.M)
SHORT_BYTES = 20000
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
    """The CLC messages of version 2 and, unless one side declined, the link's and the data's; none between peers of
    which one does not offer SMC-R."""
    text = explained(capture)
    wanted = {'smcr': ['CLC Proposal', 'CLC Accept', 'CLC Confirm', 'CONFIRM LINK', 'ADD LINK', 'CDC'],
              'tcp': ['CLC Decline, ' + case.diagnosis], 'plain': []}[case.travels]
    if case.travels == 'smcr' and case.pairs > 1 and case.program != 'afsmc':   # which has a process a connection
        wanted += ['%s RKEY %s' % (what, part) for what in ('CONFIRM', 'DELETE') for part in ('request', 'response')]
    if case.mode in ('abort', 'sabort'):
        wanted.append('the %s aborts connection' % ('client' if case.mode == 'abort' else 'server'))
    if case.guest_ends_group:
        wanted.append('the %s ends group 1: ' % ('server' if case.way == 'guest-serves' else 'client'))
    for words in wanted:
        if not re.search(words, text):
            return '`nornic explain` does not show %s' % words
    if case.travels == 'plain' and re.search('CLC (Proposal|Accept|Decline)', text):
        return 'there are CLC messages, though only one side offers SMC-R'
    return ''


def links(case, capture, _log):
    """Two links where nornic has two interfaces, and where one of them went: gone, and made again."""
    confirmed = [line for line in explained(capture).splitlines() if 'CONFIRM LINK response' in line]
    deleted = re.findall(r'DELETE LINK request: link', explained(capture))
    wanted = 3 if case.at_quarter else 2
    if len(confirmed) < wanted:
        return '%d links were confirmed, not %d' % (len(confirmed), wanted)
    return '' if deleted or not case.at_quarter else 'no link was deleted'


def ways(case, log):
    """How smctalk, or the service, says that its connections' bytes have travelled."""
    ours = case.pairs if case.travels == 'smcr' else 0
    return '' if re.search('^%d of %d by SMC-R' % (ours, case.pairs), log, re.M) else 'the bytes went another way'


def links_of_guest(log):
    """number: (connections, user id here, and there), by netlink."""
    lines = re.findall(r'^link (.*)$', log.partition('--- guest')[2], re.M)
    links = [dict(word.split('=') for word in line.split()) for line in lines]
    return {int(n['number']): (int(n['conns']), int(n['uid']), int(n['peer_uid'])) for n in links}


def links_of_nornic(log):
    """The same by `nornic smc stat`."""
    stat = json.loads(re.search(r'^{"processes".*$', log, re.M).group())
    links = [n for p in stat['processes'] if 'smctalk' in p['command'] for n in p['links']]
    return {n['number']: (n['conns'], n['peer_user_id'], n['user_id']) for n in links}


def groups_of_guest(log):
    """For each link group, by netlink: (connections, release, EID)."""
    lines = re.findall(r'^group (.*)$', log.partition('--- guest')[2], re.M)
    groups = [dict(word.split('=') for word in line.split()) for line in lines]
    return [(int(g['conns']), int(g['release']), g['eid']) for g in groups]


def groups_of_nornic(log):
    """The same by `nornic smc stat`; the release as netlink has it, of version 2."""
    stat = json.loads(re.search(r'^{"processes".*$', log, re.M).group())
    found = []
    for p in stat['processes']:
        for g in p['groups'] if 'smctalk' in p['command'] else []:
            conns = sum(n['conns'] for n in p['links'] if n['group'] == g['id'])
            found.append((conns, int(g['version'].partition('.')[2]), g['eid']))
    return found


def agree(case, log):
    """Both ends say the same of their links and groups while nothing moves."""
    guest, nornic = links_of_guest(log), links_of_nornic(log)
    conns = [sum(link[0] for link in links.values()) for links in (guest, nornic)]
    ids = [{n: link[1:] for n, link in links.items()} for links in (guest, nornic)]
    if conns != [case.pairs] * 2 or ids[0] != ids[1]:   # which link a connection sends over is up to each end
        return 'the guest says %s of its links, `nornic smc stat` %s' % (guest, nornic)
    guest, nornic = groups_of_guest(log), groups_of_nornic(log)
    if guest != nornic or len(guest) != 1:
        return 'the guest says %s of its groups, `nornic smc stat` %s' % (guest, nornic)
    return ''


def replays(case, capture):
    """The engine in the place of either end says the same, message by message, in cases so short that nothing is left
    to loss, to full windows, and to what the programs were doing at the moment. In Linux's place not where `nornic smc`
    ends the group at once: what Linux still has of the connection then is a matter of chance. Nor is it an answer too
    many if the program was gone before it could answer what Linux says as the group ends (DELETE RKEY, DELETE LINK)."""
    is_short = case.mode in ('echo', 'late', 'urgent', 'idle') and case.size * case.pairs <= SHORT_BYTES
    if case.travels != 'smcr' or not is_short or case.has_second or case.loss_ppm:
        return ''
    ends = [('nornic', HOST['4'])] + [('Linux', GUEST['4'])] * (case.program != 'afsmc')
    for name, addr in ends:
        out = subprocess.run([NORNIC, 'replay', '--json', capture, '--as', addr], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, check=False)
        counts = json.loads(out.stdout.splitlines()[-1])['smc']['outcomes'] if out.stdout else {}
        may_be_left = 1 if case.program == 'afsmc' else 0
        failures = [k for k in ('smc_different', 'smc_only_recorded') if counts.get(k)]
        failures += ['smc_only_engine'] * (counts.get('smc_only_engine', 0) > may_be_left)
        if failures or not counts.get('smc_equal'):
            return '`nornic replay` as %s: %s' % (name, counts or out.stderr)
    return ''


def check(case, capture, log):
    why = judge.nornic_verifies(capture, log) or conversation(case, capture, log) or replays(case, capture)
    if why or case.program == 'afsmc':
        return why
    with open(log) as f:
        text = f.read()
    looks = case.mode == 'idle' and not case.at_idle
    return ways(case, text) or (links(case, capture, log) if case.has_second else '') or \
        (agree(case, text) if looks else '')
