# SPDX-License-Identifier: BSD-2-Clause
"""What a reader meets in the page of `nornic explain --html` who is new to all of it, on a telephone, in the dark, or
with a screen reader: words for everything, nothing cut, nothing pale, nothing that says what is not so.
Lines: "ok NAME", "not ok NAME: why".   explain_page_reader.py TMP"""
import glob, json, re, sys
import browser
from page_cases import ACT_SECONDS, CHOSEN, SHOWN, WIDTHS, as_json, case, explain, failed, page_of, resize, same, settle

# text whose contrast with what is behind it is below that of WCAG 2.1, level AA
PALE = '''(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (a, b) => [0, 1, 2].map((n) => a[n] * a[3] / 255 + b[n] * (1 - a[3] / 255)).concat(255);
  const light = (c) => c.slice(0, 3).map((v) => v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [.2126, .7152, .0722][k], 0);
  const ground = (node) => {
    const list = [];
    for (; node; node = node.parentElement) list.push(rgba(getComputedStyle(node).backgroundColor));
    return list.reverse().reduce((back, c) => over(c, back), [255, 255, 255, 255]);
  };
  const pale = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), e = walk.currentNode.parentElement;
    if (!text || !e.checkVisibility({ visibilityProperty: true }) || e.closest('script, style, option')) continue;
    const inPlot = e instanceof SVGElement, style = getComputedStyle(e);
    const back = ground(inPlot ? e.ownerSVGElement.parentElement : e);
    const [a, c] = [light(over(rgba(inPlot ? style.fill : style.color), back)), light(back)];
    if ((Math.max(a, c) + .05) / (Math.min(a, c) + .05) < 4.5) pale.add(`${e.tagName} ${text.slice(0, 30)}`);
  }
  return [...pale];
})()'''
# what sticks out of its box, of boxes that do not scroll
CUT = '''(() => {
  const out = [];
  const within = (inner, outer) => {
    for (const box of document.querySelectorAll(outer))
      for (const node of box.querySelectorAll(inner)) {
        const [a, c] = [node.getBoundingClientRect(), box.getBoundingClientRect()];
        if (a.width && (a.left < c.left - 1 || a.right > c.right + 1))
          out.push(`${outer} ${node.textContent.slice(0, 30)}`);
      }
  };
  within('*', '.group summary');
  within('*', '.flow');
  within('.byte', '.dump');
  within('*', '#tools');
  within('*', '#summary');
  within('p, a', '#story');
  within('button, .lesson-nav', '#lesson');
  const pen = document.createElement('canvas').getContext('2d');
  for (const input of document.querySelectorAll('#filter, #find')) {
    const style = getComputedStyle(input);
    pen.font = `${style.fontSize} ${style.fontFamily}`;
    const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (pen.measureText(input.placeholder).width > room) out.push(input.placeholder);
  }
  return out;
})()'''
WORST = '''(() => {
  const f = [...model.findings].sort((a, b) => findingKinds[b.kind].severity - findingKinds[a.kind].severity)[0];
  chooseNumber(f ? f.number : model.number[0]);
  for (const group of document.querySelectorAll('.group')) group.open = true;
  for (const layer of document.querySelectorAll('.layer')) layer.open = true;
})()'''
WITHOUT_WORDS = '''Object.values(tables.headers).flatMap((h) => [h.key, ...h.fields.map((f) => h.key + '.' + f.name)])
  .filter((key) => !meaningOf(key))'''
UNKNOWN_RULES = '''[...new Set(Object.values(tables.headers).flatMap((h) => h.fields.map((f) => f.rule)).concat(
  model.findings.map((f) => f.rule)))].filter((id) => id && !tables.rules[id])'''


def innermost(packet):
    """Source and destination of a packet of --json: of the last network layer that is in it."""
    found = None
    for key, layer in packet['layers'].items():
        if re.fullmatch(r'(ip6?|grh)(_\d+)?', key):
            found = (layer.get('src') or layer.get('sgid'), layer.get('dst') or layer.get('dgid'))
    return found


def words(b):
    captures = sorted(glob.glob('pcaps/*.pcap') + glob.glob('pcaps/iwarp/*.pcap') + glob.glob('pcaps/links/*.pcap*'))
    page = page_of('everything.html', *captures)
    packets = as_json(*captures)[0]

    @case('page-has-words-for-every-layer-field-and-rule')
    def _():
        b.open(page)
        same(b.run('Object.keys(tables.headers).length > 100'), True, 'layers')
        same(b.run(WITHOUT_WORDS), [], 'without words')
        same(b.run(UNKNOWN_RULES), [], 'rules')
        same(b.run('findingKinds.filter((k) => !k.words).map((k) => k.key)'), [], 'findings without words')
        same(b.run('[...document.querySelectorAll("[data-word]")].filter((n) => !noteOf(n)[1].textContent).length'), 0)

    @case('page-tells-answers-from-repetitions')
    def _():
        """By the addresses: who repeats something has sent it, who answers has not."""
        ends = {p['n']: innermost(p) for p in packets}
        wanted = {p['n']: ends[p['n']][0] == ends[p['answers']][0] for p in packets if p.get('answers')}
        same(len(set(wanted.values())), 2, 'both')
        got = dict(b.run('[...model.number.keys()].filter((i) => i < model.count && model.answers[i])'
                         '.map((i) => [model.number[i], isRepeat(i)])'))
        same(got, wanted)
        b.run('chooseNumber(%d)' % next(p['n'] for p in packets if p['words'].startswith('CM REJ of REQ')))
        same(b.run('document.querySelector("#detail .answers").textContent').startswith('answers #'), True, 'a REJ')

    @case('page-names-the-addresses-inside-of-tunnels')
    def _():
        same(b.run('[...model.number.keys()].slice(0, model.count).map((i) => endsOf(i))'),
             [list(ends) if ends else None for ends in map(innermost, packets)])
        tunnels = [p for p in packets if len([key for key in p['layers'] if key.startswith('ip')]) > 1]
        same(len(tunnels) > 50, True, '%d in tunnels' % len(tunnels))


def truth(b):
    @case('page-calls-frames-of-the-link-what-they-are')
    def _():
        b.open(page_of('link_frames.html', '-a', 'pcaps/links/pause_dcbx.pcap'))
        labels = b.run('[...document.querySelectorAll(".row")].map((r) => [r.querySelector(".label").textContent, '
                       '!!r.querySelector(".arrow")])')
        for p, (label, has_arrow) in zip(as_json('-a', 'pcaps/links/pause_dcbx.pcap')[0], labels):
            wanted = {'lldp': 'LLDP', 'pause': 'PFC' if 'pfc' in p['layers'] else 'PAUSE'}.get(p['kind'])
            same((label if wanted else None, has_arrow), (wanted, not wanted), '#%d' % p['n'])

    @case('page-draws-no-acknowledged-edge-where-nothing-is-acknowledged')
    def _():
        for name in ('ud_4', 'ud_6', 'uc'):
            b.open(page_of(name + '.html', 'pcaps/%s.pcap' % name))
            lines = b.run('[...document.querySelectorAll("#psn .edge")].map((n) => n.classList[1])')
            same(set(lines), {'is-sent'}, name)
            same(b.run('["sent", "acked", "window", "credit"].map((k) => byId("legend-" + k).hidden)'),
                 [False, True, True, True], name)

    @case('page-counts-psns-from-zero')
    def _():
        b.open(page_of('one_psn.html', 'pcaps/cm_reject.pcap'))  # one packet of a connection
        same([text for text in b.run('[...document.querySelectorAll("#psn .axes text")].map((n) => n.textContent)')
              if text[0] == '-'], [])

    @case('page-has-the-quantiles-of-the-numbers')
    def _():
        for name in ('lossy_loss', 'lossy_all', 'nornic_cnp', 'rc_long', 'nornic_sack'):
            path = 'pcaps/%s.pcap' % name
            numbers = next(json.loads(line) for line in explain('--json', path).splitlines() if '"numbers"' in line)
            told = next(end['latency_ns'] for end in numbers['numbers']['ends'] if 'latency_ns' in end)
            b.open(page_of('quantiles.html', path))
            same(b.run('document.getElementById("latency-axis").textContent.split(": ")[1]'),
                 b.run('`median ${duration(%(p50)d)}, 90 %% ${duration(%(p90)d)}, 99 %% ${duration(%(p99)d)}, '
                       'longest ${duration(%(max)d)}`' % told), name)

    @case('page-says-once-what-cannot-be-told')
    def _():
        path = 'pcaps/lossy_all.pcap'
        b.open(page_of('once.html', path))
        for p in [p for p in as_json(path)[0] if any(f['kind'] == 'psn_gap' for f in p['remarks'])]:
            b.run('chooseNumber(%d)' % p['n'])
            text = b.run('document.querySelector("#detail .remark").textContent')
            counts = [text.count(words) for words in ('cannot be told', 'lost before it came to the capture')]
            same(counts, [1, 1], text)

    @case('page-calls-a-terminate-no-nak')
    def _():
        b.open(page_of('terminate.html', 'pcaps/iwarp/term_badread.pcap'))
        same(b.run('[".is-nak", ".is-refused"].map((s) => !!document.querySelector("#rate " + s))'), [False, True])
        same('NAK' in b.run('document.getElementById("legend").textContent'), False, 'legend')

    @case('page-shades-strips-by-how-many-there-are')
    def _():
        b.open(page_of('strips.html', 'pcaps/lossy_all.pcap'))
        strips = b.run('[...document.querySelectorAll("#psn .strip")].map((n) => [getComputedStyle(n).stroke, '
                       'n.getAttribute("fill-opacity")])')
        same({stroke for stroke, _ in strips}, {'none'}, 'outlines')
        same(len({opacity for _, opacity in strips}) > 4, True, 'shades')

    @case('page-links-to-no-packet-that-it-does-not-have')
    def _():
        b.open(page_of('few.html', '-f', 'bth.opcode == RC_ACK', 'pcaps/lossy_all.pcap'), '#5')
        b.run(WORST)
        same(b.run('model.findings.some((f) => f.related && !model.indexOf.has(f.related))'), True, 'some are gone')
        for number in b.run('[...model.number].slice(0, 40)'):
            b.run('chooseNumber(%d)' % number)
            same(b.run('[...document.querySelectorAll("#detail a.to, #findings a.to, #story a.to")]'
                       '.filter((a) => !model.indexOf.has(Number(a.hash.slice(1)))).length'), 0, '#%d' % number)


def looks(b):
    pages = [page_of('looks%d.html' % k, *arguments) for k, arguments in enumerate((
        ['pcaps/lossy_all.pcap'], ['pcaps/smcr_failover.pcap'], ['pcaps/nornic_cnp.pcap'], ['pcaps/rc_nak.pcap'],
        ['pcaps/iwarp/term_badread.pcap'], ['pcaps/rc_rnr.pcap'], ['-a', 'pcaps/links/pause_dcbx.pcap'],
        ['pcaps/nornic_sack.pcap']))]
    lessons = page_of('lessons.html')
    for width, height in WIDTHS:
        resize(b, width, height)

        @case('page-%d-wide-cuts-nothing-and-is-readable-light-and-dark' % width)
        def _():
            for scheme in ('light', 'dark'):
                b.scheme(scheme)
                for page in pages:
                    b.open(page)
                    b.run(WORST)
                    same(b.run('document.documentElement.scrollWidth <= innerWidth'), True, 'nothing sticks out')
                    same(b.run(CUT), [], 'cut, ' + page)
                    same(b.run(PALE), [], 'pale, %s, %s' % (scheme, page))
                b.open(lessons, '#&tour=smcr')
                for step in range(b.run('lesson.tour.steps.length')):
                    b.run('tourStep(%d)' % step)
                    if b.run('!!lesson.tour.steps[%d].ask' % step):
                        b.run('tell(lesson.tour.steps[%d], %s)' % (step, 'true' if step % 2 else 'false'))
                    same((b.run(CUT), b.run(PALE)), ([], []), 'step %d, %s' % (step + 1, scheme))
            b.scheme('light')

        @case('page-%d-wide-scrolls' % width)
        def _():
            b.open(pages[0])
            b.run('document.getElementById("ladder").scrollIntoView({ block: "end" })')
            same(b.run('document.querySelector("header").getBoundingClientRect().bottom <= 0'), width <= 700,
                 'story and summary leave a narrow screen')
            same(b.run('document.getElementById("ladder").clientHeight >= 110'), True, 'the ladder')
            figures = b.run('[...document.querySelectorAll("figure:not([hidden])")].map((f) => '
                            'f.getBoundingClientRect().bottom - byId("legend").getBoundingClientRect().top)')
            if width > 700:
                same([k for k, hidden in enumerate(figures) if hidden > 1], [], 'plots that the legend covers')

        @case('page-%d-wide-explains-its-own-words' % width)
        def _():
            b.open(pages[0])
            b.run('document.getElementById("legend").scrollIntoView()')
            b.click('#legend-window button')
            settle(b, 'document.getElementById("note").textContent.startsWith("window")', 'true', 'a note')
            b.press('Escape', 27)
            b.run('document.querySelector("#legend-acked button").focus()')
            b.press('Enter', 13)
            settle(b, 'document.getElementById("note").textContent.includes("the sender knows it")', 'true', 'by a key')
            b.press('Escape', 27)
            b.click('.group[data-key="read_replay"] summary b')
            meaning = b.run('findingKinds[kindOf.get("read_replay")].words')
            settle(b, 'document.querySelector(".group[data-key=read_replay] .advice")?.textContent', meaning)
            b.run('document.getElementById("help-button").scrollIntoView()')
            b.click('#help-button')
            settle(b, 'document.getElementById("help").open', 'true')
            told = b.run('[...document.querySelectorAll("#glossary dt")].map((n) => n.textContent)')
            same([t for t in ('window', 'PMTU', 'sent edge', 'iWARP') if t not in told], [], 'terms')
            b.click('#help .close button')
            settle(b, 'document.getElementById("help").open', 'false')

        @case('page-%d-wide-copies-a-link' % width)
        def _():
            b.open(pages[0])
            b.run('chooseNumber(60)')
            b.run('(() => { const e = byId("export"); e.value = "link"; e.dispatchEvent(new Event("change")); })()')
            b.until('/^the link is copied$|#60/.test(byId("status").textContent)', ACT_SECONDS)
            same(b.run('byId("export").value'), '', 'it can be chosen again')

        @case('page-%d-wide-keeps-whole-packets-on-demand' % width)
        def _():
            capture = 'pcaps/rc_send_4096.pcap'
            b.open(page_of('whole.html', '--whole', capture))
            longest = max(as_json(capture)[0], key=lambda p: p['len'])
            b.run('chooseNumber(%d)' % longest['n'])
            same(b.run('model.kept[state.chosen]'), longest['len'], 'bytes')
            b.click('.dump .more')
            settle(b, 'document.querySelectorAll("#detail .byte").length', longest['len'], 'bytes in sight')

        @case('page-%d-wide-counts-rows-for-a-screen-reader' % width)
        def _():
            b.open(page_of('rows.html', 'pcaps/smc2_down.pcap'))
            count = b.run('model.count')
            for part in (0.5, 1, 0.3, 0):
                b.run('byId("ladder").scrollTop = byId("ladder").scrollHeight * %g; ladderDraw()' % part)
                rows = b.run('[...document.querySelectorAll(".row")].map((r) => [model.number[r.dataset.i], '
                             'Number(r.dataset.i) + 1, Number(r.ariaPosInSet), Number(r.ariaSetSize)])')
                same([number for number, *_ in rows], sorted(number for number, *_ in rows), 'in the order of the page')
                same([(place, size) for _, _, place, size in rows], [(nth, count) for _, nth, _, _ in rows], 'places')
            same(b.run('document.querySelector(".gap") !== null || ladder.rows.some((r) => r < 0)'), True, 'silences')
    resize(b)


def hands(b):
    @case('page-heads-lanes-with-whole-addresses-where-there-is-room')
    def _():
        path = page_of('heads.html', 'pcaps/smcr_failover.pcap')
        b.open(path)
        heads = '[...document.querySelectorAll("#end-lanes b")].map((n) => n.textContent)'
        same(sorted(b.run(heads)), ['10.77.0.%d' % k for k in range(1, 5)])
        resize(b, 390, 844)
        settle(b, heads + '.every((t) => t[0] === "\\u2026")', 'true', 'what they have in common is left out')
        resize(b)

    @case('page-shows-which-connection-of-iwarp-is-chosen')
    def _():
        b.open(page_of('chosen.html', 'pcaps/iwarp/term_badread.pcap'))
        pressed = 'document.querySelector("[data-iwarp]").ariaPressed'
        same(b.run(pressed), 'false')
        b.click('[data-iwarp]')
        settle(b, pressed, 'true')
        b.click('#reset')
        settle(b, pressed, 'false')

    @case('page-says-what-is-open-wrong-and-moved-by-keys')
    def _():
        b.open(page_of('states.html', 'pcaps/lossy_loss.pcap'))
        expanded, invalid = 'byId("plots-button").ariaExpanded', 'byId("filter").ariaInvalid'
        same((b.run(expanded), b.run('byId("plots").hidden')), ('true', False))
        b.run('byId("ladder").focus()')
        b.press('g')
        settle(b, expanded, 'false')
        b.press('g')
        settle(b, expanded, 'true')
        b.type('#filter', 'bth.nothing == 1')
        settle(b, invalid, 'true')
        b.press('Escape', 27)
        settle(b, invalid, 'false')
        plots = [name for role, name in b.focusable() if role == 'image']
        same(len(plots) >= 3 and all('left and right move' in name for name in plots), True, plots)

    @case('page-lets-a-finger-scroll-past-a-plot')
    def _():
        b.open(page_of('finger.html', 'pcaps/lossy_loss.pcap'))
        same(b.run('getComputedStyle(byId("psn")).touchAction'), 'pan-y')
        total = b.run('Number(%s)' % SHOWN)
        b.run('''["down", "move", "cancel"].forEach((what, k) => byId("rate").dispatchEvent(new PointerEvent(
          "pointer" + what, { clientX: byId("rate").getBoundingClientRect().left + 100 + 90 * k, pointerId: 1 })))''')
        same((b.run('!!document.querySelector("#rate .band")'), b.run('Number(%s)' % SHOWN)), (False, total))
        b.drag('#rate', 0.3, 0.5)
        b.until('Number(%s) < %d' % (SHOWN, total), ACT_SECONDS)
        same(b.run(CHOSEN), None, 'a drag chooses nothing')


def main():
    if not browser.find():
        print('skip page-for-a-reader: chromium is not installed')
        return 0
    with browser.Browser() as b:
        words(b)
        truth(b)
        looks(b)
        hands(b)

        @case('page-for-a-reader-complains-of-nothing')
        def _():
            same(b.complaints(), [], 'complaints')
    return 1 if failed else 0


sys.exit(main())
