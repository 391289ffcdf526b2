# SPDX-License-Identifier: BSD-2-Clause
"""The page of `nornic explain --html` in a headless browser: what it shows equals what --json says; clicks, keys,
filters, plots; 100,000 packets. Lines: "ok NAME", "not ok NAME: why".   explain_page.py TMP [DIRECTORY-FOR-SHOTS]"""
import collections, csv, glob, json, os, re, struct, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser
import captures
from page_cases import (ACT_SECONDS, CHOSEN, NORNIC, SHOWN, TMP, WIDTHS, as_json, case, explain, failed, page_of,
                        resize, same, settle, shown)

SHOTS = sys.argv[2] if len(sys.argv) > 2 else ''
CAPTURES = sorted(glob.glob('pcaps/*.pcap'))
PACKETS_MANY, FINDINGS_MANY = 100000, 70000
# generous for a busy machine of two cores; what grows with the square of the packets misses them by far
OWN_SECONDS = (0.05, 2)  # of CPU time, until that many are shown: 0.8; less than the former is a meter that stands
LOAD_SECONDS, NODES_MAX, PAGE_BYTES_A_PACKET = 25, 4000, 400

# every packet as --json has it, out of the page's own decoder
ALL_PACKETS = '''(() => {
  const out = [];
  for (let i = 0; i < model.count; i++) {
    const layers = {};
    for (const layer of layoutOf(i).layers) {
      let key = layer.key;
      for (let k = 2; key in layers; k++) key = layer.key + '_' + k;
      const fields = layers[key] = {};
      for (const f of layer.header.fields) {
        const value = f.isBytes ? bareText(i, layer, f) : fieldValue(i, layer, f);
        const digits = Math.ceil(f.width / 4);
        fields[f.name] = typeof value === 'bigint' ? '0x' + value.toString(16).padStart(digits, '0') : value;
      }
    }
    const icrc = packetIcrc(i), m = packetMessage(i);
    out.push({ n: model.number[i], len: model.wire[i], layers, payload: model.data[i], words: packetWords(i),
      icrc: icrc && { ok: icrc.ok, expected: '0x' + icrc.expected, found: '0x' + icrc.found }, message: m,
      verdict: tables.verdicts[model.verdict[i]], answers: model.answers[i], flow: model.flow[i],
      time_ns: String(model.begins + BigInt(model.time[i])) });
  }
  return JSON.stringify(out);
})()'''
ALL_FINDINGS = '''JSON.stringify(model.findings.map((f) => {
  const w = findingWhy(f), found = { kind: findingKinds[f.kind].key, n: f.number, related: f.related, rule: f.rule,
    words: findingText(f), severity: findingKinds[f.kind].severity };
  return w ? Object.assign(found, { cause: causes[w.cause].key, sure: ['unknown', 'likely', 'shown'][w.sure],
    evidence: w.evidence.map(({ number, what }) => ({ n: number, what })), silence_ns: w.silence, timeout_ns: w.timeout,
    or_cause: causes[w.other].key, way: causes[w.way].key }) : found;
}))'''
WHY = {'silence_ns': 0, 'timeout_ns': 0, 'or_cause': 'none', 'way': 'none'}  # what --json leaves out
WHY_ONLY_IN_JSON = ('behind', 'root', 'way_sure', 'candidates', 'way_candidates', 'timeout_samples', 'msn', 'ip_id')
ARROW_IS_IN_ITS_ROW = '''(() => {
  const row = document.querySelector('.row'), a = row.querySelector('.arrow').getBoundingClientRect();
  const r = row.getBoundingClientRect();
  return a.top >= r.top && a.bottom <= r.bottom;
})()'''
TABLES = '''JSON.stringify([...document.querySelectorAll('#detail details.layer')].map((d) => [d.dataset.key,
  [...d.querySelectorAll('tr')].map((r) => [r.dataset.field, r.cells[1].textContent, r.cells[2].textContent])]))'''


def value_of(text):
    """The value in a field's text, as --json has it: the hex in brackets behind a word, hex, or decimal."""
    m = re.search(r'\((0x[0-9a-f]+)\)$', text)
    return int(m[1] if m else text, 0)


def check_tables(b, packet):
    """The tables beside the packet that is chosen hold each field of each layer."""
    layers, before = [], collections.Counter()
    for key, fields in json.loads(b.run(TABLES)):  # what comes again has a number in JSON
        before[key] += 1
        layers.append((key if before[key] == 1 else '%s_%d' % (key, before[key]), fields))
    same([key for key, _ in layers if key not in packet['layers']], [], 'layers')
    same(set(key for key, _ in layers), set(packet['layers']), 'layers')
    for key, fields in layers:
        wanted = packet['layers'][key]
        same([name for name, _, _ in fields], list(wanted), key)
        for name, text, _ in fields:
            value = wanted[name]
            if isinstance(value, str) and not (value.startswith('0x') and text.startswith('0x')):
                same(text, value, key + '.' + name)
            else:
                same(value_of(text), int(str(value), 0), key + '.' + name)


def golden(b):
    wanted, at_end = as_json(*CAPTURES)
    page = page_of('golden.html', *CAPTURES)
    b.open(page)

    @case('page-decodes-every-packet-as-json-does')
    def _():
        got = json.loads(b.run(ALL_PACKETS))
        same(len(got), len(wanted), 'packets')
        for g, w in zip(got, wanted):
            w = dict(w, flow=w.get('qp', {}).get('flow', 0), answers=w.get('answers', 0), time_ns=str(w['time_ns']))
            for key in w['layers']:
                for name in w['layers'][key]:
                    same(g['layers'].get(key, {}).get(name), w['layers'][key][name],
                         'packet %d, %s.%s' % (w['n'], key, name))
            for key in ('n', 'len', 'layers', 'words', 'icrc', 'message', 'answers', 'flow', 'time_ns'):
                same(g[key], w.get(key), 'packet %d, %s' % (w['n'], key))
            if 'verdict' in w:
                same((g['verdict'], g['payload']), (w['verdict'], w['payload']), 'packet %d' % w['n'])

    @case('page-has-every-finding')
    def _():
        got = sorted(json.dumps(f, sort_keys=True) for f in json.loads(b.run(ALL_FINDINGS)))
        found = [f for p in wanted for f in p['remarks']] + at_end
        found = [dict(f, related=f.get('related', 0), rule=f.get('rule', '')) for f in found]
        found = [dict(WHY, **f) if 'cause' in f else f for f in found]
        found = [{key: f[key] for key in f if key not in WHY_ONLY_IN_JSON} for f in found]
        same(len(got), len(found), 'findings')
        same(got, sorted(json.dumps(f, sort_keys=True) for f in found), 'findings')
        counts = collections.Counter(f['kind'] for f in found)
        groups = b.run('''Object.fromEntries([...document.querySelectorAll('#findings .group')].map((g) =>
            [g.dataset.key, Number(g.querySelector('.badge').textContent)]))''')
        same(groups, dict(counts), 'groups of findings')

    @case('page-filters-as-the-command-does')
    def _():
        for expression in ('bth.opcode == RC_RDMA_WRITE_FIRST && bth.psn > 0x100', 'aeth && aeth.syndrome != ACK',
                           'ip.src == 10.77.0.1', 'ip6.dst == fd77::2', '!bth', 'flow == 2 || message >= 30',
                           'n > 100 && (len < 70 || reth.va >= 0x500000000000)', 'cm_req', 'bth.ack_req',
                           'deth.src_qpn',
                           'ip.src == 10.77.0.0/28', 'ip6.dst != fd77::/64'):
            # the page was made without what is not RoCE
            count = len({p['n'] for p in as_json('-f', expression, *CAPTURES)[0]} & {p['n'] for p in wanted})
            b.type('#filter', expression)
            settle(b, SHOWN, count, expression)
        # the page knows with the findings of the end, too, which packet each is about
        told = {f['n'] for p in wanted for f in p['remarks']} | {f['n'] for f in at_end}
        every = [f for p in wanted for f in p['remarks']] + at_end
        late = [f for f in every if f['kind'] == 'timeout']
        for expression, numbers in (('finding', told), ('finding == timeout', {f['n'] for f in late})):
            b.type('#filter', expression)
            settle(b, SHOWN, len(numbers & {p['n'] for p in wanted}), expression)
        b.type('#filter', 'bth.nothing == 1')
        b.until('document.getElementById("filter").classList.contains("wrong")', ACT_SECONDS)
        same('no field of this name' in b.run('document.getElementById("status").textContent'), True, 'the reason')
        b.press('Escape', 27)
        settle(b, SHOWN, len(wanted), 'everything again')

    @case('page-chooses-a-flow-and-a-finding')
    def _():
        b.click('[data-flow="3"]')
        settle(b, SHOWN, sum(p.get('qp', {}).get('flow') == 3 for p in wanted), 'flow 3')
        b.click('[data-flow="3"]')
        for kind in sorted({f['kind'] for p in wanted for f in p['remarks']}):
            b.click('.group[data-key="%s"] .only' % kind)
            with_kind = {f['n'] for p in wanted for f in p['remarks'] if f['kind'] == kind}
            with_kind |= {f['n'] for f in at_end if f['kind'] == kind}
            settle(b, SHOWN, len(with_kind & {p['n'] for p in wanted}), kind)
            b.click('.group[data-key="%s"] .only' % kind)
        b.click('.group[data-key="nak_fatal"] summary b')
        number = next(f['n'] for p in wanted for f in p['remarks'] if f['kind'] == 'nak_fatal')
        b.click('.group[data-key="nak_fatal"] li a')
        settle(b, CHOSEN, 'p%d' % number, 'the packet of the finding')

    @case('page-finds-words')
    def _():
        b.type('#find', 'rnr nak')
        settle(b, SHOWN, sum('rnr nak' in p['words'].lower() for p in wanted), 'RNR NAKs')
        b.press('Escape', 27)
        settle(b, SHOWN, len(wanted), 'everything again')

    @case('page-shows-the-fields-of-a-packet-clicked')
    def _():
        kinds = {}
        for p in wanted:  # one packet of each set of layers
            kinds.setdefault(tuple(p['layers']), p)
        same(len(kinds) > 20, True, 'kinds of packets')
        for p in kinds.values():
            b.type('#filter', 'n == %d' % p['n'])
            settle(b, SHOWN, 1, 'n == %d' % p['n'])
            b.click('#p%d' % p['n'])
            same(b.run('location.hash').split('&')[0], '#%d' % p['n'])
            check_tables(b, p)
            same(b.run('document.querySelector("#detail .words").textContent'), p['words'], 'words')
        b.press('Escape', 27)

    return wanted


def one_capture(b):
    path = 'pcaps/lossy_loss.pcap'
    wanted, _ = as_json(path)
    b.open(page_of('loss.html', path))

    @case('page-obeys-the-keyboard')
    def _():
        b.run('document.getElementById("ladder").focus()')
        b.press('ArrowDown', 40)
        settle(b, CHOSEN, 'p1')
        b.press('ArrowDown', 40)
        settle(b, CHOSEN, 'p2')
        b.press('End', 35)
        settle(b, CHOSEN, 'p%d' % wanted[-1]['n'])
        b.press('Home', 36)
        b.press('n')
        first = next(p['n'] for p in wanted if p['remarks'])
        settle(b, CHOSEN, 'p%d' % first, 'the first packet with a finding')
        answers = next(p for p in wanted if p.get('answers'))
        b.run('location.hash = "#%d"' % answers['n'])
        settle(b, CHOSEN, 'p%d' % answers['n'], 'by the address')
        b.press('a')
        settle(b, CHOSEN, 'p%d' % answers['answers'], 'what it answers')
        b.press('/')
        same(b.run('document.activeElement.id'), 'filter')
        b.press('Escape', 27)
        same(b.run('document.activeElement.id'), 'ladder')
        for key, height in (('+', 50), ('-', 30), ('-', 14), ('-', 7)):
            b.press(key)
            same(b.run('document.querySelector(".row").getBoundingClientRect().height'), height, 'height of a row')
            same(b.run(ARROW_IS_IN_ITS_ROW), True, 'the arrow is seen at a height of %d' % height)
        b.press('+')
        b.press('+')

    @case('page-zooms-the-time')
    def _():
        b.drag('#psn', 0.3, 0.6)
        b.until('Number(%s) < %d' % (SHOWN, len(wanted)), ACT_SECONDS)
        low, high = b.run('[state.from, state.to]')
        start = wanted[0]['time_ns']
        same(shown(b), sum(low <= p['time_ns'] - start <= high for p in wanted), 'packets within the time')
        b.click('#reset')
        settle(b, SHOWN, len(wanted))

    @case('page-marks-what-went-wrong-in-the-plots')
    def _():
        for name in ('retransmission', 'nak'):
            for plot in ('psn', 'rate'):
                same(b.run('!!document.querySelector("#%s .is-%s")' % (plot, name)), True, '%s in %s' % (name, plot))
        number = b.run('model.count')
        same(b.run('!!document.querySelector("#psn .is-cnp")'), False, 'CNPs where there are none')
        same(number, len(wanted))
        b.open(page_of('rnr.html', 'pcaps/rc_rnr.pcap'))
        for plot in ('psn', 'rate'):
            same(b.run('!!document.querySelector("#%s .is-rnr")' % plot), True, 'RNR NAKs in ' + plot)
        same(b.run('document.getElementById("fill-figure").hidden'), True, 'SMC-R where there is none')
        # who rejects a connection sends no NAK
        b.open(page_of('reject.html', 'pcaps/cm_reject.pcap'))
        same(b.run('!!document.querySelector("#rate .is-refused")'), True, 'rejects')
        same(b.run('!!document.querySelector("#rate .is-nak, #legend .is-nak")'), False, 'NAKs where there are none')
        # nor who refuses a second link of SMC-R
        b.open(page_of('link.html', 'pcaps/smcr_echo.pcap'))
        same(b.run('!!document.querySelector("#rate .is-refused")'), True, 'refused links')
        same(b.run('!!document.querySelector("#psn .is-nak, #legend .is-nak")'), False, 'NAKs where there are none')

    @case('page-plots-no-psns-of-the-cm')
    def _():
        # its messages lead to the flow that they make; QP1's PSNs are none of that
        b.open(page_of('cm.html', 'pcaps/cm_rping.pcap'))
        same(b.run('model.kind.some((kind, i) => kind === 2 && model.flow[i] > 0)'), True, 'the CM names the flow')
        same(b.run('model.kind.some((kind, i) => kind === 2 && !Number.isNaN(model.ahead[i]))'), False, 'QP1')
        same(b.run('model.ahead.some((ahead) => Math.abs(ahead) > 10000)'), False, 'PSNs far away')

    @case('page-follows-smc-connections')
    def _():
        capture = 'pcaps/smc2_down.pcap'
        b.open(page_of('smc.html', capture))
        packets = as_json(capture)[0]
        objects = [json.loads(line) for line in explain('--json', capture).splitlines()]
        connections = [o['smc_connection'] for o in objects if 'smc_connection' in o]
        same(b.run('tables.connections'), connections, 'connections')
        same(b.run('tables.groups'), [o['smc_group'] for o in objects if 'smc_group' in o], 'groups')
        same(b.run('document.querySelectorAll("#connections .flow").length'), len(connections), 'in the list')
        same(b.run('document.querySelectorAll("#fill path.fill").length'), 2 * len(connections), 'lines')
        b.click('[data-connection="2"].flow')
        count = sum(p.get('smc', {}).get('connection') == 2 for p in packets)
        settle(b, SHOWN, count, 'connection 2')
        b.until('document.querySelectorAll("#fill path.fill").length === 2', ACT_SECONDS)
        b.click('[data-connection="2"].flow')
        b.type('#filter', 'connection == 1')
        settle(b, SHOWN, sum(p.get('smc', {}).get('connection') == 1 for p in packets), 'connection == 1')
        b.press('Escape', 27)


# rows of which less than 6 pixels of the arrow are to be seen beside its label
HIDDEN_ARROWS = '''[...document.querySelectorAll('.row')].filter((row) => {
  const arrow = row.querySelector('.arrow').getBoundingClientRect(), label = row.querySelector('.label');
  if (!label || !label.textContent) return false;
  const l = label.getBoundingClientRect();
  return arrow.width - Math.max(0, Math.min(arrow.right, l.right) - Math.max(arrow.left, l.left)) < 6;
}).map((row) => row.id)'''
LEGEND_OF_EDGE = '["credit", "window"].map((kind) => document.getElementById("legend-" + kind).hidden)'
DOWNLOAD = '''(() => {
  window.saved = [];
  save = (name, type, text) => saved.push([name, type, text]);
})()'''


def new_elements(b):
    page = page_of('elements.html', 'pcaps/lossy_all.pcap')
    wanted, at_end = as_json('pcaps/lossy_all.pcap')
    smc = page_of('lanes.html', 'pcaps/smc2_down.pcap')
    credits = page_of('credits.html', 'pcaps/nornic_credits.pcap')
    for width, height in WIDTHS:
        resize(b, width, height)

        @case('page-%d-wide-tells-what-rules-and-fields-mean' % width)
        def _():
            b.open(page, '#2')
            same(b.run('document.documentElement.scrollWidth <= innerWidth'), True, 'nothing sticks out')
            b.click('#detail [data-rule="ROCE-RC-4"]')
            settle(b, 'document.getElementById("note").hidden', 'false')
            rule = json.loads(subprocess.run([NORNIC, 'explain', '--json', '--rule', 'ROCE-RC-4'], check=True,
                                             capture_output=True, text=True, timeout=20).stdout)
            text = b.run('document.getElementById("note").textContent')
            same([part in text for part in (rule['name'], rule['text'], rule['source'])], [True] * 3, text)
            box = b.run('(() => { const r = document.getElementById("note").getBoundingClientRect(); '
                        'return r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight; })()')
            same(box, True, 'the note is in sight')
            b.press('Escape', 27)
            same(b.run('document.getElementById("note").hidden'), True, 'Escape closes it')
            b.run('document.querySelector("#detail [data-term=\\"bth.psn\\"]").focus()')
            b.press('Enter', 13)
            settle(b, 'document.getElementById("note").textContent.includes("packet sequence number")', 'true',
                   'by a key')
            b.press('Escape', 27)

        @case('page-%d-wide-groups-findings-by-cause' % width)
        def _():
            counts = collections.Counter(f['cause'] for p in wanted for f in p['remarks']
                                         if f['kind'] == 'retransmission')
            counts.update(f['cause'] for f in at_end if f['kind'] == 'retransmission')
            b.click('.group[data-key="retransmission"] summary b')
            numbers = ('[...document.querySelectorAll(".group[data-key=retransmission] .cause b")]'
                       '.map((n) => parseInt(n.textContent))')
            settle(b, numbers + '.length', len(counts))
            same(sorted(b.run(numbers)), sorted(counts.values()), 'findings of each cause')
            same(b.run('!!document.querySelector(".group[data-key=retransmission] .advice")'), True, 'what may be done')
            number = next(p['n'] for p in wanted for f in p['remarks']
                          if f['kind'] == 'retransmission' and f.get('evidence'))
            b.run('chooseNumber(%d)' % number)
            told = next(p for p in wanted if p['n'] == number)['remarks']
            evidence = next(f['evidence'] for f in told if f.get('evidence'))
            links = b.run('[...document.querySelectorAll("#detail .evidence a")]'
                          '.map((a) => Number(a.textContent.slice(1)))')
            same(set(e['n'] for e in evidence) <= set(links), True, 'what it rests on')

        @case('page-%d-wide-draws-edges-strips-and-latencies' % width)
        def _():
            b.open(page)
            for what in ('edge.is-sent', 'edge.is-acked', 'edge.is-window'):
                same(b.run('document.querySelectorAll("#psn .%s").length > 0' % what), True, what)
            same(b.run('document.querySelectorAll("#psn .strip.is-retransmission").length > 3'), True,
                 'a strip where marks are dense')
            same(b.run('document.querySelectorAll("#latency .points").length > 0'), True, 'latencies')
            acked = b.run('edges().every((s) => s.points.every((p, k) => p[1] >= p[2] && '
                          '(!k || p[2] >= s.points[k - 1][2])))')
            same(acked, True, 'what is acknowledged was sent, and stays acknowledged')
            same(b.run(LEGEND_OF_EDGE), [True, False], 'a window that nobody granted is called what it is')

        @case('page-%d-wide-draws-the-credits-that-a-receiver-grants' % width)
        def _():
            b.open(credits)
            same(b.run('[...document.querySelectorAll("#psn .edge")].map((n) => n.classList[1])'),
                 ['is-credit', 'is-sent', 'is-acked'], 'lines')
            same(b.run(LEGEND_OF_EDGE), [False, True])
            # four receives were posted (docs/exercises.txt): all eight messages are one packet each
            edge = [(p[1], p[3]) for p in b.run('edges()[0].points') if p[3] is not None]
            same(edge[-1], (5, 4), 'granted: four; sent: these and a probe')
            same(sorted({granted for _, granted in edge}), [4], 'granted')

        @case('page-%d-wide-saves-and-links' % width)
        def _():
            b.open(page)
            b.run(DOWNLOAD)
            b.click('[data-svg="psn"]')
            settle(b, 'saved.length', 1)
            same(b.run('new DOMParser().parseFromString(saved[0][2], "image/svg+xml").documentElement.tagName'), 'svg')
            for k, what in enumerate(('packets', 'operations')):
                b.run('(() => { const e = document.getElementById("export"); e.value = "%s"; '
                      'e.dispatchEvent(new Event("change")); })()' % what)
                rows = list(csv.reader(b.run('saved[%d][2]' % (k + 1)).splitlines()))
                same({len(r) for r in rows}, {len(rows[0])}, 'columns of ' + what)
                same(len(rows) > (len(wanted) if what == 'packets' else 20), True, 'rows of ' + what)
            b.type('#filter', 'bth.psn > 0x3020')
            b.run('document.getElementById("filter").dispatchEvent(new Event("input"))')
            count = sum(p.get('layers', {}).get('bth', {}).get('psn', 0) > 0x3020 for p in wanted)
            settle(b, SHOWN, count, 'filtered')
            b.run('chooseNumber(60)')
            address = b.run('location.hash')
            b.open(page, address)
            settle(b, SHOWN, count, 'filtered again, by the address')
            settle(b, CHOSEN if count and b.run('ladder.packets.includes(59)') else '"p60"', 'p60')

        @case('page-%d-wide-has-a-lane-for-each-end' % width)
        def _():
            b.open(smc)
            hosts = b.run('document.querySelectorAll("#end-lanes b").length')
            heads = b.run('[...document.querySelectorAll("#end-lanes b")].map((n) => n.textContent)')
            same(len(set(heads)), hosts, 'heads %s' % heads)
            same(b.run('[...document.querySelectorAll("#end-lanes b")].filter((n) => '
                       'n.scrollWidth > n.clientWidth + 1).length'), 0, 'heads that are cut')
            b.run('document.getElementById("ladder").focus()')
            b.press('l')
            settle(b, 'document.getElementById("lanes").value', 'qps')
            lanes = b.run('document.querySelectorAll("#end-lanes b").length')
            same(hosts > 2 and lanes > hosts, True, '%d hosts, %d lanes' % (hosts, lanes))
            apart = b.run('(() => { const x = [...document.querySelectorAll("#end-lanes b")].map((n) => '
                          'n.getBoundingClientRect()); '
                          'return x.every((r, k) => !k || r.left >= x[k - 1].right - 1); })()')
            same(apart, True, 'names do not cover each other')
            same(b.run('document.querySelectorAll(".gap").length > 0'), True, 'silences are named')
            same(b.run(HIDDEN_ARROWS), [], 'arrows that their labels hide')
            if width > 700:
                b.click('#time-button')
                settle(b, 'document.querySelectorAll(".row .c-time")[1].textContent[0]', '+')

        @case('page-%d-wide-teaches' % width)
        def _():
            lessons(b, width)

        @case('page-%d-wide-teaches-by-keys-alone' % width)
        def _():
            for key in ('loss', 'rnr', 'timeout', 'read', 'atomic', 'cm', 'cnp', 'smcr'):
                lesson_by_keys(b, key)

        @case('page-%d-wide-knows-units-and-the-end-of-a-lesson' % width)
        def _():
            lesson_answers(b)

        @case('page-%d-wide-tells-a-screen-reader-what-is-what' % width)
        def _():
            b.open(page, '#16')
            names = b.focusable()
            roles = ('button', 'searchbox', 'combobox', 'image')
            same([role for role, name in names if not name and role in roles], [])
            same([name for _, name in names if name in ('only', 'svg', '?', '×')], [], 'names that say nothing')
            same(len([name for _, name in names if name.startswith('only packets with the finding')]),
                 b.run('document.querySelectorAll(".group").length'))
    resize(b)


def write_pcap(path, head, records):
    with open(path, 'wb') as f:
        f.write(head)
        for us, rest in sorted(records, key=lambda record: record[0]):
            f.write(struct.pack('<2I', us // 1000000, us % 1000000) + rest)


def both_ends():
    """rc_long.pcap as its requester's end saw it, and the responder's, whose clock is 2 s ahead. Requests took 15 us,
    answers 12 us; each 9th answer was lost, and the responder's capture misses each 40th request."""
    data = open('pcaps/rc_long.pcap', 'rb').read()
    a, b, at, requests, answers, lost = [], [], 24, 0, 0, 0
    while at < len(data):
        sec, part, length, wire = struct.unpack('<4I', data[at:at + 16])
        us, rest = sec * 1000000 + part, data[at + 8:at + 16 + length]
        at += 16 + length
        if rest[8 + 42] in range(0x0d, 0x13):  # an answer, by its opcode
            answers += 1
            b.append((us + 2000000 - 12, rest))
            lost += answers % 9 == 0
            if answers % 9:
                a.append((us, rest))
        else:
            requests += 1
            a.append((us, rest))
            if requests % 40:
                b.append((us + 2000000 + 15, rest))
    paths = [os.path.join(TMP, name) for name in ('end_a.pcap', 'end_b.pcap')]
    for path, records in zip(paths, (a, b)):
        write_pcap(path, data[:24], records)
    return paths, lost, requests // 40


def joined(b):
    paths, lost, missed = both_ends()
    page = page_of('joined.html', '--join', *paths)
    told = subprocess.run([NORNIC, 'explain', '--json', '--join'] + paths, check=True, capture_output=True, text=True,
                          timeout=60).stdout.splitlines()
    wanted = [p for p in map(json.loads, told) if 'n' in p]
    begin = min(p['time_ns'] for p in wanted)
    for width, height in WIDTHS:
        resize(b, width, height)

        @case('page-%d-wide-has-both-ends-of-a-join' % width)
        def _():
            b.open(page)
            same(b.run('document.documentElement.scrollWidth <= innerWidth'), True, 'nothing sticks out')
            there, back = (collections.Counter(b.run('model.ends.slice(0, model.count).filter((e) => e.from === %d)'
                                                     '.map((e) => e.fate)' % side)) for side in (0, 1))
            same((back['lost'], back['missed_at_receiver']), (lost, 0), 'answers that were lost')
            same(there['lost'] + there['missed_at_receiver'], missed, 'requests missed by a capture, or lost')
            ways = b.run('[0, 1].map((from) => model.ends.slice(0, model.count).filter((e) => e.from === from && '
                         'e.fate === "arrived").map((e) => e.at[1 - from] - e.at[from]).sort((x, y) => x - y))')
            there, back = (way[len(way) // 2] for way in ways)
            same(abs(there + back - 27000) < 1000, True, 'there and back: %d ns' % (there + back))
            times = b.run('model.ends.slice(0, model.count).map((e) => e.at)')
            of_json = [[p['join'][end]['time_ns'] - begin if end in p['join'] else None for end in 'ab']
                       for p in wanted]
            same(times, of_json, 'times at either end')

        @case('page-%d-wide-draws-packets-between-both-ends' % width)
        def _():
            b.open(page)
            same(b.run('document.querySelectorAll("#ways .way.is-gone").length'), 1, 'crosses')
            n, at_ns = next((p['n'], p['time_ns'] - begin) for p in wanted if p['join']['fate'] == 'lost'
                            and p['join']['from'] == 'b')
            b.run('zoomTime(%d, %d)' % (at_ns - 60000, at_ns + 60000))
            gone = sum(p['join']['fate'] == 'lost' and abs(p['time_ns'] - begin - at_ns) <= 60000 for p in wanted)
            crosses = 'document.querySelector("#ways .way.is-gone").getAttribute("d").split("M").length - 1'
            same(b.run(crosses), gone, 'lost in sight')
            b.run('zoomTime(model.time[30], model.time[36])')
            slopes = b.run('''[...document.querySelectorAll("#ways .way")]
              .filter((n) => /at-request0/.test(n.classList) && !/half/.test(n.classList))
              .flatMap((n) => n.getAttribute("d").match(/M[^ML]*L[^ML]*(?=M|L|$)/g))
              .map((d) => d.match(/[-0-9.]+/g).map(Number)).filter((p) => Math.abs(p[3] - p[1]) > 40)''')
            same(len(slopes) > 3, True, '%d arrows of requests' % len(slopes))
            same([p for p in slopes if p[0] > p[2] or p[1] > p[3]], [], 'they go down, and on in time')
            b.run('zoomTime(%d, %d), chooseNumber(%d)' % (at_ns - 60000, at_ns + 60000, n))
            words = b.run('document.querySelector("#detail .ends").textContent')
            same(words.startswith('left B at '), True, words)
            same(b.run('document.querySelectorAll(".row.chosen .arrow.is-gone").length'), 1, 'a cross in its row')
            b.run('document.getElementById("ways").focus()')
            span = b.run('plot.to - plot.from')
            b.press('ArrowUp', 38)
            settle(b, 'plot.to - plot.from < %d' % span, 'true', 'zoomed by a key')
            b.run(DOWNLOAD)
            b.click('[data-svg="ways"]')
            settle(b, 'saved.length', 1)
    resize(b)


def lessons(b, width):
    """Each question is answered wrongly, then rightly: a packet chosen in the ladder, a button, or a number."""
    page = page_of('lessons.html')
    b.open(page)
    settle(b, 'document.getElementById("tours").open', 'true', 'the list of lessons')
    same(b.run('document.documentElement.scrollWidth <= innerWidth'), True, 'nothing sticks out')
    keys = b.run('[...document.querySelectorAll("#tour-list [data-tour]")].map((n) => n.dataset.tour)')
    same(sorted(keys), sorted(['loss', 'rnr', 'timeout', 'read', 'atomic', 'cm', 'cnp', 'smcr']), 'lessons')
    b.click('[data-tour="rnr"]')  # another capture: the page is read anew
    b.until('document.documentElement?.dataset.ready === "yes" && typeof lesson === "object" && '
            'lesson.tour?.key === "rnr"', 20)
    for key in keys:
        b.open(page, '#&tour=' + key)
        settle(b, 'lesson.tour.key', key)
        steps = b.run('lesson.tour.steps')
        for k, step in enumerate(steps):
            if step.get('at'):
                same(b.run('model.indexOf.has(%d)' % step['at']), True, '%s, step %d: the packet' % (key, k + 1))
            if step.get('ask'):
                answer(b, step, False)
                same(b.run('document.getElementById("lesson-answer").className'), 'wrong', '%s, step %d' % (key, k + 1))
                answer(b, step, True)
                same(b.run('document.getElementById("lesson-answer").className'), 'right', '%s, step %d' % (key, k + 1))
            if k + 1 < len(steps):
                b.run('document.getElementById("lesson-next").click()')
                settle(b, 'lesson.step', k + 1)


def lesson_answers(b):
    """Numbers with units, and a lesson that is ended while a packet is to be chosen: Enter then is no answer."""
    b.open(page_of('lessons.html'), '#&tour=loss')
    settle(b, 'lesson.tour.key', 'loss')
    for text, unit, wanted in (('10.24', 'ms', 10.24), ('10.24 ms', 'ms', 10.24), ('10240 µs', 'ms', 10.24),
                               ('10240us', 'ms', 10.24), ('0.01024 s', 'ms', 10.24), ('10.24 s', 'ms', 10240),
                               ('2,452 bytes', 'bytes', 2452), ('2.452 kB', 'bytes', 2452), ('15 packets', None, 15),
                               ('0xF0A097', None, 0xf0a097), ('2452 ms', 'bytes', None), ('15 ms', None, None),
                               ('15 %', None, None), ('', None, None)):
        got = b.run('(() => { const n = numberIn(%s, %s); return Number.isNaN(n) ? null : n; })()' %
                    (json.dumps(text), json.dumps(unit)))
        same(got, wanted, text)
    b.run('tourStep(lesson.tour.steps.findIndex((s) => s.packet))')
    same(b.run('!!document.getElementById("lesson-this")'), True, 'a packet is to be chosen')
    b.run('document.getElementById("lesson-end").click()')
    b.press('Enter', 13)
    same(b.run('!!document.getElementById("lesson-this")'), False, 'its button is gone')
    same(b.complaints(), [], 'complaints')


def tab_to(b, what, shift=False):
    for _ in range(12):
        b.press('Tab', 9, shift)
        if b.run('document.activeElement.matches(%s)' % json.dumps(what)):
            return
    raise AssertionError('Tab does not come to %s, but to %s' % (what, b.run('document.activeElement.outerHTML')))


def lesson_by_keys(b, key):
    """From the list of lessons to the end of one, without a mouse: each question is answered rightly."""
    b.open(page_of('lessons.html'))
    settle(b, 'document.getElementById("tours").open', 'true')
    same(b.run('document.activeElement.id'), 'tours-title', 'begins at the top')
    b.press('Escape', 27)
    settle(b, 'document.getElementById("tours").open', 'false', 'Escape')
    b.press('?')
    settle(b, 'document.getElementById("help").open', 'true', 'help')
    same(b.run('document.getElementById("help").scrollTop'), 0, 'its beginning is in sight')
    b.press('Escape', 27)
    b.run('document.getElementById("tours-button").focus()')
    b.press('Enter', 13)
    tab_to(b, '[data-tour="%s"]' % key)
    b.press('Enter', 13)
    b.until('document.documentElement?.dataset.ready === "yes" && typeof lesson === "object" && '
            'lesson.tour?.key === "%s"' % key, 20)
    steps = b.run('lesson.tour.steps')
    for k, step in enumerate(steps):
        settle(b, 'lesson.step', k)
        same(b.run('document.activeElement.id'), 'lesson-text', 'the focus goes with the step')
        same(b.run('(() => { const r = byId("lesson-text").getBoundingClientRect(); '
                   'return r.top >= 0 && r.bottom <= innerHeight; })()'), True, 'the step is in sight')
        if 'choices' in step:
            tab_to(b, '[data-choice="0"]')
            b.press('Enter', 13)
        elif 'number' in step:
            tab_to(b, '#lesson-number')
            b.call('Input.insertText', text='%s %s' % (step['number'], step.get('unit', 'packets')))
            b.press('Enter', 13)
        elif 'packet' in step:
            place = b.run('[...ladder.packets].findIndex((i) => (state.chosen = i, isRight(lesson.tour.steps[%d])))'
                          % k)
            b.press('Home', 36)
            for _ in range(place):
                b.press('ArrowDown', 40)
            b.press('Enter', 13)
        if 'ask' in step:
            settle(b, 'document.getElementById("lesson-answer").className', 'right', 'step %d' % (k + 1))
        b.run('document.getElementById("lesson-text").focus()')
        if k + 1 < len(steps):
            tab_to(b, '#lesson-next', shift=True)
            b.press('Enter', 13)


def answer(b, step, right):
    if 'choices' in step:
        b.run('document.querySelector("[data-choice=\\"%d\\"]").click()' % (0 if right else 1))
    elif 'number' in step:
        b.run('document.getElementById("lesson-number").value = "%s"' % (step['number'] if right else 7777))
        b.run('document.getElementById("lesson-check").click()')
    else:
        if not right:
            number = b.run('model.number[[...model.number.keys()].find((i) => i < model.count && !(%s))]' % (
                'hasFinding(i, kindOf.get(%s))' % json.dumps(step['packet']) if isinstance(step['packet'], str)
                else '%s.includes(model.number[i])' % json.dumps(step['packet'])))
        elif isinstance(step['packet'], str):
            number = b.run('model.findings.find((f) => findingKinds[f.kind].key === %s).number'
                           % json.dumps(step['packet']))
        else:
            number = step['packet'][0]
        b.run('chooseNumber(%d)' % number)
        b.run('document.getElementById("lesson-this").click()')


def same_numbers(b):
    """The page reckons operations by itself; --csv and the analysis' own numbers are to agree with it."""
    @case('page-has-the-operations-of-csv')
    def _():
        for name in ('lossy_all', 'lossy_ackloss', 'rc_mix', 'rc_rnr', 'smc2_down'):
            capture = 'pcaps/%s.pcap' % name
            b.open(page_of('numbers.html', capture))
            got = {tuple(o) for o in b.run('model.operations.map((o) => [o.flow, o.message, o.bytes, Math.round(o.ns), '
                                           'model.number[o.first], model.number[o.end]])')}
            rows = list(csv.DictReader(explain('--csv', 'operations', capture).splitlines()))
            names = ('flow', 'message', 'bytes', 'latency_ns', 'first_packet', 'answer_packet')
            same(got, {tuple(int(r[n]) for n in names) for r in rows}, name)

    @case('page-and-csv-tell-no-latency-where-the-capture-does-not')
    def _():
        """From the first operation on where clocks of two ends differ; of one, where its answer stands before it."""
        packets = captures.records('pcaps/rc_send_1024.pcap')
        ahead = [(ns + 5_000_000 * (frame[26:30] == packets[0][2][26:30]), wire, frame) for ns, wire, frame in packets]
        swapped = packets[:45] + [(packets[45][0], *packets[46][1:]), (packets[46][0], *packets[45][1:])] + packets[47:]
        ahead.sort(key=lambda r: r[0])
        for name, records, least, most in (('ahead', ahead, 1, 1), ('swapped', swapped, 1e-9, 0.2)):
            path = os.path.join(TMP, name + '.pcap')
            captures.write(path, records)
            b.open(page_of(name + '.html', path))
            told = b.run('model.operations.map((o) => Number.isNaN(o.ns))')
            rows = list(csv.DictReader(explain('--csv', 'operations', path).splitlines()))
            same(sorted(told), sorted(r['latency_ns'] == '' for r in rows), name)
            same(least <= sum(told) / len(told) <= most, True, '%s: %d of %d without' % (name, sum(told), len(told)))


def cut_short(b):
    @case('page-says-what-the-capture-cut-off')
    def _():
        path = os.path.join(TMP, 'short.pcap')
        captures.write(path, [(ns, wire, frame[:128]) for ns, wire, frame in captures.records('pcaps/cm_rping.pcap')])
        b.open(page_of('short.html', path), '#1')
        text = b.run('document.querySelector("#detail").textContent')
        same(('(not captured)' in text, 'beyond what the page keeps' in text), (True, False), 'fields')


def bad_bits(b):
    """A packet whose ICRC, and one whose IP checksum is wrong."""
    data = bytearray(open('pcaps/rc_write_1024.pcap', 'rb').read())
    data[24 + 16 + 14 + 10] ^= 1  # the first record's IP checksum
    second = 24 + 16 + struct.unpack('<I', data[24 + 8:24 + 12])[0]
    length = struct.unpack('<I', data[second + 8:second + 12])[0]
    data[second + 16 + length - 1] ^= 1  # the second record's ICRC
    path = os.path.join(TMP, 'bad.pcap')
    with open(path, 'wb') as f:
        f.write(data)
    wanted, _ = as_json(path)
    b.open(page_of('bad.html', path), '#1')

    @case('page-marks-the-bits-that-offend')
    def _():
        same(wanted[0]['verdict'] != 'rx_taken' and not wanted[1]['icrc']['ok'], True, 'verdicts')
        marked = b.run('[...document.querySelectorAll("#detail tr.bad")].map((r) => r.dataset.field)')
        same(marked, ['checksum'], 'what is marked')
        same(b.run('document.querySelectorAll("#detail .cell.bad").length') > 0, True, 'cells')
        same(b.run('document.querySelectorAll("#detail .byte.bad").length'), 2, 'bytes')
        b.click('#p2')
        text = b.run('document.querySelector("#detail .icrc.bad").textContent')
        icrc = wanted[1]['icrc']
        same(icrc['found'][2:] in text and icrc['expected'][2:] in text, True, text)


def iwarp(b):
    """Pages of iWARP: the same layers, words and findings as --json; connections that a click shows alone."""
    paths = sorted(glob.glob('pcaps/iwarp/*.pcap'))
    wanted, at_end = as_json(*paths)
    page, one = page_of('iwarp.html', '--whole', *paths), page_of('iwarp_one.html', 'pcaps/iwarp/crc_mix.pcap')

    @case('page-of-iwarp-is-as-json-has-it')
    def _():
        b.open(page)
        got = json.loads(b.run(ALL_PACKETS))
        same(len(got), len(wanted), 'packets')
        for g, w in zip(got, wanted):
            # a field that the capture cut is named, and is not in --json
            layers = {key: {name: value for name, value in fields.items() if value != '(not captured)'}
                      for key, fields in g['layers'].items()}
            same(layers, w['layers'], 'packet %d' % w['n'])
            same((g['n'], g['words'], g['answers']), (w['n'], w['words'], w.get('answers', 0)), 'packet')
        found = [f['kind'] for p in wanted for f in p['remarks']] + [f['kind'] for f in at_end]
        same(collections.Counter(f['kind'] for f in json.loads(b.run(ALL_FINDINGS))), collections.Counter(found))

    for width, height in WIDTHS:
        @case('page-%d-wide-lists-connections-of-iwarp' % width)
        def _():
            resize(b, width, height)
            b.open(page)
            same(b.run('document.documentElement.scrollWidth <= innerWidth'), True, 'nothing sticks out')
            text = explain('--json', *paths)
            conns = [json.loads(line)['iwarp_connection'] for line in text.splitlines() if '"iwarp_connection"' in line]
            same(b.run('document.querySelectorAll("#iwarp [data-iwarp]").length'), len(conns), 'connections')
            alone = sum(p.get('iwarp', {}).get('connection') == 6 for p in wanted)
            b.click('#iwarp [data-iwarp="6"]')
            settle(b, SHOWN, alone, 'the packets of connection 6')
            b.click('#iwarp [data-iwarp="6"]')
            settle(b, SHOWN, len(wanted), 'all again')
            b.open(one, '#14')
            same(b.run('document.getElementById("psn-figure").hidden'), True, 'no PSNs, no plot of them')
            labels = b.run('[...document.querySelectorAll(".row .label")].map((n) => n.textContent).join()')
            same('MPA,MPA,Send,RDMA Read Request,RDMA Read Response,RDMA Write' in labels, True, labels)
    resize(b)


def odd_name(b):
    @case('page-shows-odd-names-as-text')
    def _():
        b.open(os.path.join(TMP, 'odd.html'))
        same(b.run('model.files[0].split("/").pop()'), '<b>&"\'.pcap')
        same(b.run('document.querySelectorAll("#summary b").length'), 0, 'elements out of a name')


def many(b):
    """A capture of 100,000 packets: one that went wrong a lot, again and again, its queue pair going on each time."""
    path = os.path.join(TMP, 'many.pcap')
    captures.write(path, captures.lasting(captures.records('pcaps/lossy_all.pcap'), PACKETS_MANY))
    page = page_of('many.html', path)
    os.unlink(path)
    nodes = 'document.querySelectorAll("*").length'

    @case('many-packets-load')
    def _():
        seconds = b.open(page)
        own = b.own_seconds()
        print('# %d packets: page of %.1f MB, shown after %.1f s, %.2f s of CPU time' % (
            PACKETS_MANY, os.path.getsize(page) / 1e6, seconds, own))
        same(b.run('model.count'), PACKETS_MANY, 'packets')
        same(b.run('model.findings.length') > FINDINGS_MANY, True, '%d findings' % b.run('model.findings.length'))
        same(seconds < LOAD_SECONDS, True, 'shown after %.1f s' % seconds)
        same(OWN_SECONDS[0] < own < OWN_SECONDS[1], True, 'shown after %.2f s of CPU time' % own)
        same(os.path.getsize(page) < PACKETS_MANY * PAGE_BYTES_A_PACKET, True, 'bytes of the page')
        same(b.run(nodes) < NODES_MAX, True, 'elements: %d' % b.run(nodes))

    for width, height in WIDTHS:
        @case('many-packets-%d-wide-show-where-marks-are-dense' % width)
        def _():
            resize(b, width, height)
            b.until('byId("psn").viewBox.baseVal.width === byId("psn").clientWidth', ACT_SECONDS)
            check_strips(b, 'nak', PACKETS_MANY)
    resize(b)

    @case('many-packets-scroll')
    def _():
        for part in (0.25, 0.5, 1):
            b.run('(() => { const l = document.getElementById("ladder"); '
                  'l.scrollTop = l.scrollHeight * %g; })()' % part)
            row = '[...document.querySelectorAll(".row")].pop().id'
            if part == 1:
                settle(b, 'document.getElementById("p%d") !== null' % PACKETS_MANY, 'true', 'the last packet')
            else:
                b.until('Math.abs(Number(%s.slice(1)) - %d) < 200' % (row, part * PACKETS_MANY), ACT_SECONDS)
            same(b.run(nodes) < NODES_MAX, True, 'elements: %d' % b.run(nodes))
        b.click('#p%d' % PACKETS_MANY)
        same(b.run(CHOSEN), 'p%d' % PACKETS_MANY)

    @case('many-packets-filter')
    def _():
        b.type('#filter', 'aeth && bth.psn > 0x3010')
        seconds = b.until('%s !== "%d"' % (SHOWN, PACKETS_MANY), LOAD_SECONDS)
        same(seconds < ACT_SECONDS, True, 'filtered after %.1f s' % seconds)
        print('# filtered after %.2f s' % seconds)
        count = b.run('(() => { let n = 0; for (let i = 0; i < model.count; i++) if (layoutOf(i).layers.some((l) => '
                      'l.key === "aeth") && model.psn[i] > 0x3010) n++; return n; })()')
        same(shown(b), count, 'packets')
        same(b.run(nodes) < NODES_MAX, True, 'elements: %d' % b.run(nodes))
        b.press('Escape', 27)
        settle(b, SHOWN, PACKETS_MANY)


def check_strips(b, name, packets):
    """Marks of that class stand in a strip, with the curve below them in sight, and as many as a plot has room for."""
    same(b.run('model.count'), packets)
    same(b.run('document.querySelectorAll("#psn .strip.is-%s").length > document.getElementById("psn").clientWidth / 16'
               % name), True, 'a strip all along')
    same(b.run('document.querySelectorAll("#psn .points.is-%s:not(.is-dense)").length' % name), 0,
         'crosses and triangles that hide the rest')
    same(b.run('document.querySelectorAll("#psn .edge.is-sent").length > 0'), True, 'the sent edge')


def many_cnps(b):
    path = os.path.join(TMP, 'cnps.pcap')
    captures.write(path, captures.lasting(captures.records('pcaps/nornic_cnp.pcap'), PACKETS_MANY))
    page = page_of('cnps.html', path)
    os.unlink(path)
    for width, height in WIDTHS:
        @case('many-cnps-%d-wide-show-where-they-are-dense' % width)
        def _():
            resize(b, width, height)
            b.open(page)
            for name in ('cnp', 'mark'):
                check_strips(b, name, PACKETS_MANY)
    resize(b)


def screenshots(b):
    """For docs/: a page with losses, light and dark, and a bad packet."""
    page = page_of('lossy_loss.html', 'pcaps/lossy_loss.pcap')
    for scheme in ('light', 'dark'):
        b.scheme(scheme)
        b.open(page, '#128')
        b.shot(os.path.join(SHOTS, 'explain-%s.png' % scheme))
    b.scheme('light')
    b.open(os.path.join(TMP, 'bad.html'), '#1')
    b.shot(os.path.join(SHOTS, 'explain-bad.png'))
    moved = [p['n'] for p in as_json('pcaps/smc2_down.pcap')[0] if any(f['kind'] == 'smc_moved' for f in p['remarks'])]
    b.open(os.path.join(TMP, 'smc.html'), '#%d&lanes=qps' % moved[0])
    b.shot(os.path.join(SHOTS, 'explain-smc.png'))
    b.open(os.path.join(TMP, 'joined.html'))
    lost = b.run('model.ends.findIndex((e) => e && e.fate === "lost" && e.from === 1)')
    b.run('(() => { const t = model.time[%d]; chooseNumber(model.number[%d]); zoomTime(t - 7e5, t + 7e5); })()' %
          (lost, lost))
    b.shot(os.path.join(SHOTS, 'explain-join.png'))
    b.open(os.path.join(TMP, 'iwarp_one.html'), '#14')
    b.shot(os.path.join(SHOTS, 'explain-iwarp.png'))
    b.open(os.path.join(TMP, 'lessons.html'), '#&tour=rnr')
    b.run('tourStep(1), chooseNumber(2), document.getElementById("lesson-this").click()')
    b.shot(os.path.join(SHOTS, 'explain-lesson.png'))
    resize(b, 390, 844)
    b.open(page, '#16')
    b.run('document.getElementById("tools").scrollIntoView()')
    b.shot(os.path.join(SHOTS, 'explain-narrow.png'))


def main():
    if not browser.find():
        print('skip page-in-a-browser: chromium is not installed')
        return 0
    with browser.Browser() as b:
        golden(b)
        one_capture(b)
        new_elements(b)
        joined(b)
        iwarp(b)
        same_numbers(b)
        cut_short(b)
        bad_bits(b)
        odd_name(b)
        many(b)
        many_cnps(b)
        if SHOTS:
            screenshots(b)

        @case('page-asks-nothing-of-the-network-and-complains-of-nothing')
        def _():
            same(b.complaints(), [], 'complaints')
    return 1 if failed else 0


sys.exit(main())
