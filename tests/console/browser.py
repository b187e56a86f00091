"""Chromium without a window, driven over two pipes (--remote-debugging-pipe): no websocket is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

_PATIENCE_S = 30


class Browser:
    def __init__(self):
        program = shutil.which('chromium')
        if program is None:
            raise RuntimeError('chromium not found; `scripts/install-deps` installs it')
        self._folder = tempfile.mkdtemp(prefix='sm-chromium-')
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()

        def take_pipes():  # the browser reads from 3 and writes to 4
            high = [os.dup(to_browser), os.dup(from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [program, '--headless=new', '--remote-debugging-pipe', '--disable-gpu', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage',
             f'--user-data-dir={self._folder}', *(['--no-sandbox'] if os.geteuid() == 0 else []),
             'about:blank'],
            preexec_fn=take_pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._rest = b''
        self.complaints = []  # of pages: errors on the console, exceptions, what the policy forbade
        self._session = None
        target = self._call('Target.createTarget', {'url': 'about:blank'})['targetId']
        self._session = self._call('Target.attachToTarget', {'targetId': target, 'flatten': True})['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self._call(f'{domain}.enable')
        self.size(1200, 800)

    def close(self):
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _call(self, method, parameters=None):
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': parameters or {}}
        if self._session is not None:
            message['sessionId'] = self._session
        os.write(self._to, json.dumps(message).encode() + b'\0')
        while True:
            answer = self._next()
            if answer.get('id') == self._number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']

    def _next(self):
        while b'\0' not in self._rest:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError('chromium ended')
            self._rest += more
        text, self._rest = self._rest.split(b'\0', 1)
        message = json.loads(text)
        method, parameters = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.complaints.append(json.dumps(parameters['exceptionDetails'])[:500])
        if method == 'Runtime.consoleAPICalled' and parameters['type'] in ('error', 'assert'):
            self.complaints.append(json.dumps(parameters['args'])[:500])
        if method == 'Log.entryAdded' and parameters['entry']['level'] == 'error':
            self.complaints.append(parameters['entry']['text'] + ' ' + parameters['entry'].get('url', ''))
        return message

    def size(self, width, height):
        self._call('Emulation.setDeviceMetricsOverride',
                   {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})

    def scheme(self, value):
        """'light' or 'dark', as if the system were set so."""
        self._call('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': value}]})

    def open(self, url):
        self._call('Page.navigate', {'url': url})

    def run(self, script):
        """The value of an expression in the page."""
        result = self._call('Runtime.evaluate', {'expression': script, 'awaitPromise': True, 'returnByValue': True})
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{script}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def wait(self, script, what=None):
        """Until the expression is true."""
        until = time.monotonic() + _PATIENCE_S
        while not (value := self.run(f'(() => {{ try {{ return {script} }} catch {{ return false }} }})()')):
            if time.monotonic() > until:
                raise RuntimeError(f'not so after {_PATIENCE_S} s: {what or script}\nThe page says:\n' +
                                   self.run('document.body.innerText')[:3000] + '\n' + '\n'.join(self.complaints))
            time.sleep(0.03)
        return value

    def type(self, text):
        for letter in text:
            self._call('Input.dispatchKeyEvent', {'type': 'keyDown', 'text': letter, 'key': letter})
            self._call('Input.dispatchKeyEvent', {'type': 'keyUp', 'key': letter})

    def press(self, key):
        """'Tab', 'Enter', 'ArrowDown', 'End', ..."""
        code = {'Tab': 9, 'Enter': 13, 'ArrowDown': 40, 'ArrowUp': 38, 'PageDown': 34, 'PageUp': 33, 'End': 35,
                'Home': 36, 'Escape': 27}[key]
        more = {'text': '\r'} if key == 'Enter' else {}
        self._call('Input.dispatchKeyEvent', {'type': 'keyDown', 'key': key, 'code': key, 'windowsVirtualKeyCode': code, **more})
        self._call('Input.dispatchKeyEvent', {'type': 'keyUp', 'key': key, 'code': key, 'windowsVirtualKeyCode': code})

    def hide(self, hidden):
        """The page is behind others, or seen again."""
        self.run(f"Object.defineProperty(document, 'hidden', {{value: {str(hidden).lower()}, configurable: true}});"
                 "document.dispatchEvent(new Event('visibilitychange'))")

    def picture(self, path):
        data = self._call('Page.captureScreenshot', {'format': 'png'})['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))
