# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium, driven by chromedriver and the WebDriver protocol over plain HTTP on the loopback: standard library
only. Its profile is a temporary folder; what it asks of the network is recorded, so that a test can demand nothing.
"""

import base64
import http.client
import json
import re
import subprocess

from condprof_test import PATIENCE, Skip, end_with_parent, folder, need_program, until

ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'  # the key of elements in WebDriver's JSON
OPTIONS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
           '--disable-component-update', '--disable-sync', '--disable-default-apps', '--disable-extensions',
           '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--lang=en']

class Browser:
    """`with Browser() as browser:` starts it; skipped where Chromium or its driver is not installed."""

    def __init__(self, preferences=None):
        self.driver_path, self.chromium = need_program('chromedriver'), need_program('chromium')
        self.preferences = preferences or {}
        self.driver = self.session = self.connection = None
        self._home = folder()

    def __enter__(self):
        home = self._home.__enter__()
        try:
            self._start(home)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self, home):
        log = home / 'driver.log'
        with open(log, 'wb') as out:
            self.driver = subprocess.Popen([self.driver_path, '--port=0'], stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=subprocess.STDOUT, preexec_fn=end_with_parent, start_new_session=True,
                                           env={'HOME': str(home), 'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8',
                                                'TMPDIR': str(home)})

        def port():
            assert self.driver.poll() is None, log.read_text()
            return re.search(r'started successfully on port (\d+)', log.read_text())
        self.connection = http.client.HTTPConnection('127.0.0.1', int(until(port, 'chromedriver')[1]), timeout=PATIENCE)
        try:
            value = self.call('POST', '/session', {'capabilities': {'alwaysMatch': {
                'browserName': 'chrome',
                'goog:chromeOptions': {'binary': self.chromium, 'args': OPTIONS + [f'--user-data-dir={home}/profile'],
                                       'prefs': self.preferences},
                'goog:loggingPrefs': {'performance': 'ALL', 'browser': 'ALL'}}}})
        except AssertionError as error:
            if 'cannot start' in str(error) or 'failed to start' in str(error):
                raise Skip(f'chromium does not start here: {str(error)[:200]}') from error
            raise
        self.session = f'/session/{value["sessionId"]}'

    def __exit__(self, *_):
        if self.session:
            self.call('DELETE', self.session)
        if self.driver:
            self.driver.terminate()
            self.driver.wait()
        self._home.__exit__(None, None, None)

    def call(self, method, path, body=None):
        data = None if method != 'POST' else json.dumps(body or {})
        self.connection.request(method, path, data, {'Content-Type': 'application/json'})
        answer = json.loads(self.connection.getresponse().read())
        value = answer.get('value')
        assert not (isinstance(value, dict) and 'error' in value), f'{path}: {value["error"]}: {value.get("message")}'
        return value

    def do(self, path, **body):
        return self.call('POST', self.session + path, body)

    # pages

    def open(self, path):
        self.do('/url', url=f'file://{path}')

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.do('/execute/sync', script=script, args=list(arguments))

    def devtools(self, command, **parameters):
        return self.do('/goog/cdp/execute', cmd=command, params=parameters)

    def resize(self, width, height, scale=1, mobile=False):
        self.devtools('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def prefer(self, scheme):
        """What the desktop would say: light or dark."""
        self.devtools('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def scripts(self, enabled):
        self.devtools('Emulation.setScriptExecutionDisabled', value=not enabled)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.devtools('Page.captureScreenshot', format='png')['data']))

    # what a person does

    def element(self, selector):
        return self.do('/element', using='css selector', value=selector)[ELEMENT]

    def click(self, selector):
        """What is replaced just now is looked for again."""
        def clicked():
            try:
                self.do(f'/element/{self.element(selector)}/click')
            except AssertionError as error:
                if 'stale element' not in str(error):
                    raise
                return False
            return True
        until(clicked, f'a click on {selector}')

    def type(self, selector, text):
        self.do(f'/element/{self.element(selector)}/value', text=text)

    def clear(self, selector):
        self.do(f'/element/{self.element(selector)}/clear')

    def choose(self, selector, label):
        """An option of a <select>, by what it says."""
        self.run('''const select = document.querySelector(arguments[0]);
                    select.value = [...select.options].find(option => option.text === arguments[1]).value;
                    select.dispatchEvent(new Event('change', {bubbles: true}));''', selector, label)

    def drag(self, selector, begin, end):
        """Over an element's middle, from one part of its width to another (0 to 1)."""
        box = self.run('''const element = document.querySelector(arguments[0]);
                          element.scrollIntoView({block: 'center'});
                          const box = element.getBoundingClientRect();
                          return [box.left, box.top + box.height / 2, box.width];''', selector)
        places = [(round(box[0] + part * box[2]), round(box[1])) for part in (begin, (begin + end) / 2, end)]
        moves = [{'type': 'pointerMove', 'x': x, 'y': y, 'duration': 0} for x, y in places]
        self.do('/actions', actions=[{'type': 'pointer', 'id': 'mouse', 'parameters': {'pointerType': 'mouse'}, 'actions': [
            moves[0], {'type': 'pointerDown', 'button': 0}, *moves[1:], {'type': 'pointerUp', 'button': 0}]}])

    # logs

    def log(self, kind):
        return self.do('/se/log', type=kind)

    def requests(self):
        """Addresses that were asked for since the last call, but for data in the page itself and the browser's own pages."""
        messages = [json.loads(entry['message'])['message'] for entry in self.log('performance')]
        urls = [message['params']['request']['url'] for message in messages
                if message['method'] == 'Network.requestWillBeSent']
        return [url for url in urls if not url.startswith(('data:', 'chrome:', 'chrome-'))]

    def complaints(self):
        """What the console says: errors of scripts, and what the page's policy has refused."""
        return [entry['message'] for entry in self.log('browser')]
