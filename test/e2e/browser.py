# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, driven over its DevTools protocol through two pipes: no port, no further library."""
import base64, json, os, select, shutil, subprocess, tempfile, time


def find():
    """The program, or None."""
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One page; every call is bounded in time. Use as a context manager: the process ends with it."""

    def __init__(self, width=1440, height=900, seconds=60):
        self.seconds, self.number, self.events, self.buffer = seconds, 0, [], b''
        self.profile = tempfile.mkdtemp(prefix='nornic-browser-')
        to_read, self.to = os.pipe()
        self.out, out_write = os.pipe()
        # the browser reads from descriptor 3 and writes to 4; these may be taken here
        script = 'exec 60<&%d 61>&%d 3<&60 4>&61; exec "$@"' % (to_read, out_write)
        flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--hide-scrollbars',
                 '--disable-background-networking', '--disable-dev-shm-usage', '--remote-debugging-pipe',
                 '--force-device-scale-factor=1', '--window-size=%d,%d' % (width, height),
                 '--user-data-dir=' + self.profile, 'about:blank']
        self.process = subprocess.Popen(['bash', '-c', script, 'browser', find()] + flags,
                                        pass_fds=(to_read, out_write),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(out_write)
        self.session = None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')
        self.call('Performance.enable', timeDomain='threadTicks')  # what was before counts for nothing
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in (self.process.terminate, self.process.kill):
            end()
            try:
                self.process.wait(10)
                break
            except subprocess.TimeoutExpired:
                pass
        os.close(self.to)
        os.close(self.out)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self, deadline):
        while b'\0' not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.out], [], [], left)[0]:
                raise TimeoutError('the browser does not answer')
            data = os.read(self.out, 1 << 20)
            if not data:
                raise EOFError('the browser has ended')
            self.buffer += data
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        request = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            request['sessionId'] = self.session
        os.write(self.to, json.dumps(request).encode() + b'\0')
        deadline = time.monotonic() + self.seconds
        while True:
            answer = self.read(deadline)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError('%s: %s' % (method, answer['error']))
                return answer['result']
            self.events.append(answer)

    def run(self, expression):
        """The value of an expression of the page's language; exceptions there are exceptions here."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            details = result['exceptionDetails']
            raise RuntimeError(details.get('exception', {}).get('description', details['text']))
        return result['result'].get('value')

    def is_true(self, expression):
        try:
            return self.run(expression)
        except RuntimeError as e:
            if 'navigated or closed' not in str(e):
                raise
            return False

    def until(self, expression, seconds=None):
        """Waits until the expression is true; the seconds that took. The page may be read anew meanwhile."""
        start = time.monotonic()
        while not self.is_true(expression):
            if time.monotonic() - start > (seconds or self.seconds):
                raise TimeoutError('never true: ' + expression)
            time.sleep(0.02)
        return time.monotonic() - start

    def open(self, path, fragment=''):
        start = time.monotonic()
        self.call('Page.navigate', url='about:blank')
        self.call('Page.navigate', url='file://' + os.path.abspath(path) + fragment)
        self.until('document.documentElement?.dataset.ready === "yes"')
        return time.monotonic() - start

    def own_seconds(self):
        """CPU time that the main thread has worked for the page that is open: what else the machine does is not in it,
        nor what pages before it took, as open() gives each a process of its own."""
        metrics = self.call('Performance.getMetrics')['metrics']
        return next(m['value'] for m in metrics if m['name'] == 'TaskDuration')

    def click(self, selector):
        """A real click in the middle of the first element that the selector finds, once there is one."""
        self.until('document.querySelector(%s) !== null' % json.dumps(selector), 5)
        x, y = self.run('(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "nearest"}); '
                        'const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()'
                        % json.dumps(selector))
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def drag(self, selector, part_from, part_to):
        """Drags across an element, between two parts of its width."""
        x, y, w, h = self.run('(() => { const b = document.querySelector(%s).getBoundingClientRect(); '
                              'return [b.x, b.y, b.width, b.height]; })()' % json.dumps(selector))
        for kind, part in (('mousePressed', part_from), ('mouseMoved', (part_from + part_to) / 2),
                           ('mouseMoved', part_to), ('mouseReleased', part_to)):
            self.call('Input.dispatchMouseEvent', type=kind, x=x + w * part, y=y + h / 2, button='left', buttons=1,
                      clickCount=1)

    def type(self, selector, text):
        self.run('(() => { const e = document.querySelector(%s); e.focus(); e.select(); })()' % json.dumps(selector))
        self.call('Input.insertText', text=text) if text else self.press('Delete', 46)

    def press(self, key, code=0, shift=False):
        printable = {'text': '\r' if key == 'Enter' else key} if len(key) == 1 or key == 'Enter' else {}
        both = {'key': key, 'windowsVirtualKeyCode': code, 'modifiers': 8 if shift else 0}
        self.call('Input.dispatchKeyEvent', type='keyDown', **both, **printable)
        self.call('Input.dispatchKeyEvent', type='keyUp', **both)

    def focusable(self):
        """(role, name) of all that can have the focus, as a screen reader is told."""
        nodes = self.call('Accessibility.getFullAXTree')['nodes']
        return [(n['role']['value'], n.get('name', {}).get('value', '')) for n in nodes
                if any(p['name'] == 'focusable' and p['value'].get('value') for p in n.get('properties', []))]

    def scheme(self, name):
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': name}])

    def shot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def complaints(self):
        """Exceptions, console errors and requests to anything but files, since the start."""
        self.call('Runtime.evaluate', expression='0')
        found = []
        for e in self.events:
            p = e.get('params', {})
            if e.get('method') == 'Runtime.exceptionThrown':
                found.append(p['exceptionDetails'].get('exception', {}).get('description', 'exception'))
            elif e.get('method') == 'Log.entryAdded' and p['entry']['level'] == 'error':
                found.append(p['entry']['text'])
            elif e.get('method') == 'Network.requestWillBeSent':
                url = p['request']['url']
                if not url.startswith(('file://', 'about:', 'data:')):
                    found.append('asks the network for ' + url)
        return found
