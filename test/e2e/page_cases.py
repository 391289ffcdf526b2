# SPDX-License-Identifier: BSD-2-Clause
"""What all cases of the page need: pages, what --json says, waiting for what a browser shows."""
import json, os, subprocess, sys, traceback

NORNIC, TMP = os.environ['NORNIC'], sys.argv[1]
# a desktop's, a tablet's, a telephone's
WIDTHS = ((1440, 900), (820, 1180), (390, 844))
ACT_SECONDS = 4  # generous for a busy machine of two cores
SHOWN = 'document.getElementById("status").dataset.shown'
CHOSEN = '(document.querySelector(".row.chosen") || {}).id'
failed = []


def explain(*arguments):
    return subprocess.run([NORNIC, 'explain', *arguments], capture_output=True, text=True, timeout=120).stdout


def as_json(*arguments):
    objects = [json.loads(line) for line in explain('--json', *arguments).splitlines()]
    return [o for o in objects if 'n' in o], [o['finding'] for o in objects if 'finding' in o]


def page_of(name, *arguments):
    path = os.path.join(TMP, name)
    subprocess.run([NORNIC, 'explain', '--html', path, *arguments], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)
    return path


def case(name):
    """Runs what it decorates at once, as the case of that name."""
    def go(act):
        try:
            act()
            print('ok ' + name)
        except Exception as e:  # a case must not take the others with it
            failed.append(name)
            where = traceback.extract_tb(e.__traceback__)[-1].lineno
            print('not ok %s: line %d: %s' % (name, where, ' '.join(('%s %s' % (type(e).__name__, e)).split())[:600]))
        sys.stdout.flush()
    return go


def same(got, wanted, what=''):
    if got != wanted:
        raise AssertionError('%s: the page has %r, wanted is %r' % (what, got, wanted))


def shown(b):
    return int(b.run('document.getElementById("status").dataset.shown || -1'))


def settle(b, expression, wanted, what=''):
    """Waits a little until the expression has the value wanted."""
    try:
        b.until('String(%s) === %s' % (expression, json.dumps(str(wanted))), ACT_SECONDS)
    except TimeoutError:
        same(b.run(expression), wanted, what)


def resize(b, width=1440, height=900):
    b.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
