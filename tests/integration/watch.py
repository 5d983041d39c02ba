# SPDX-License-Identifier: GPL-3.0-or-later
"""condprofctl watch: rows, JSON lines and the full screen of a running session; how it ends."""

import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from condprof_test import CONDPROFCTL, PATIENCE, Daemon, contains, equal, folder, note, png, run, until, write_frames

RED = (255, 0, 0)

_daemon = None
_home = None


def write(name):
    path = _home / f'{name}.yaml'
    path.write_text(f'''scenario: {name}
screen: replay:red?loop=1
rate: 100/s
counters: {{told: 0}}
screen-events:
  - event: never
    conditions:
      - {{color: "#00ff00", name: green, area: [0, 0, 4, 4], threshold: 0}}
      - {{color: "#0000ff", name: blue, area: [0, 0, 4, 4]}}
    actions: []
  - event: always
    conditions:
      - {{color: "#ff0000", name: red, area: [0, 0, 4, 4]}}
    actions: [{{counter: told, add: 1}}]
trigger-events:
  - event: told
    conditions: [broadcast: go]
    actions: [{{stop: enough, result: failed}}]
''')
    return path


def start(*words):
    return int(_daemon.ctl('start', write('watched'), *words).ok().out)


@contextlib.contextmanager
def running(*words):
    number = start(*words)
    try:
        yield number
    finally:
        _daemon.ctl('stop', number)


def check_interval(line, before):
    """An interval's figures agree with each other and with the totals on both sides of it."""
    session, interval = line['session'], line['interval']
    equal(line['schema'], 1)
    equal(interval['checks'], sum(condition['checks'] for condition in line['conditions']))
    equal(session['checks'], sum(condition['session']['checks'] for condition in line['conditions']))
    total = sum(condition['total_ns'] for condition in line['conditions'])
    equal(interval['conditions_ns'], total)
    for condition in line['conditions']:
        assert condition['checks'] >= 0 and condition['total_ns'] >= 0, condition
        equal(condition['average_ns'] is None, condition['checks'] == 0)
        assert abs(condition['share'] - (condition['total_ns'] / total if total else 0)) < 1e-9, condition
    if interval['passes']:
        assert abs(interval['passes_per_s'] - interval['passes'] * 1e9 / interval['duration_ns']) < 1e-6
        assert 0 < interval['processing_share'] <= 1
    if before:
        for name in ('passes', 'checks', 'occurrences', 'missed_passes', 'processing_ns', 'conditions_ns', 'duration_ns'):
            equal(interval[name], session[name] - before['session'][name], name)
        for condition, earlier in zip(line['conditions'], before['conditions']):
            for name in ('checks', 'fulfilled', 'total_ns'):
                equal(condition[name], condition['session'][name] - earlier['session'][name], name)
        equal(interval['number'], before['interval']['number'] + 1)


def test_json_lines():
    with running() as number:
        lines = _daemon.ctl('--json', 'watch', number, '--interval', '200ms', '--count', '4').ok().out.splitlines()
        equal(len(lines), 4)
        before = None
        for line in map(json.loads, lines):
            check_interval(line, before)
            before = line
        equal((before['session']['id'], before['session']['state'], before['session']['reason']), (number, 'running', None))
        equal([condition['name'] for condition in before['conditions']][:3], ['green', 'blue', 'red'])
        blue = before['conditions'][1]  # never reached
        equal((blue['checks'], blue['average_ns'], blue['session']['checks'], blue['session']['max_ns']), (0, None, 0, None))
        assert before['session']['passes'] > 0 and before['interval']['top_condition']['name'], before


def test_rows_in_a_pipe():
    with running() as number:
        shown = _daemon.ctl('watch', '--interval', '100ms', '--count', '3').ok().out.splitlines()
        text = '\n'.join(shown)
        contains(' '.join(shown[:4]), f'Session {number}, watched', 'since its start')
        equal(text.count('Passes/s'), 1)
        rows = [line for line in shown if re.match(r' *[\d.]+ m?s ', line)]
        equal(len(rows), 3)
        rows = list(csv.DictReader(io.StringIO(_daemon.ctl('--output', 'csv', 'watch', '--interval', '100ms', '--count', '2').ok().out)))
        equal(len(rows), 2)
        equal(int(rows[1]['session.checks']) - int(rows[0]['session.checks']), int(rows[1]['checks']))


def watching(*words, **options):
    names = {**os.environ, 'LC_ALL': 'C.UTF-8', **options.pop('environment', {})}
    return subprocess.Popen([CONDPROFCTL, '--socket', _daemon.socket_path, *map(str, words)], env=names, text=True,
                            **{'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options})


def test_lines_are_flushed_and_the_end_is_said():
    number = start()
    process = watching('watch', number, '--json', '--interval', '100ms')
    equal(json.loads(process.stdout.readline())['interval']['number'], 1)
    _daemon.ctl('stop', number).ok()
    out, err = process.communicate(timeout=PATIENCE)
    equal(process.returncode, 0)
    last = json.loads(out.splitlines()[-1])
    equal((last['session']['state'], last['session']['result'], last['session']['reason']['code']), ('finished', 'ok', 'stopped'))
    kept = _daemon.ctl('--json', 'report', number, '--view', 'conditions').json()
    lasts = {condition['name']: condition['last'] for condition in last['conditions']}
    equal(lasts['blue'], None)  # never checked
    for name in ('green', 'red'):  # colours: a check of one always knows how near it was
        equal((0 <= lasts[name]['confidence'] <= 1, type(lasts[name]['fulfilled'])), (True, bool))
    equal([condition['session']['total_ns'] for condition in last['conditions']],
          [next(row['total_ns'] for row in kept['conditions'] if row['id'] == condition['id']) for condition in last['conditions']])
    equal(last['session']['passes'], kept['session']['passes'])
    contains(err, f'session {number} finished, ok, after', 'it was stopped')


def test_a_session_that_fails():
    number = start()
    process = watching('watch', '--interval', '1h')
    until(lambda: select.select([process.stdout], [], [], 0)[0], 'the first words')
    _daemon.ctl('emit', 'go').ok()
    out, _ = process.communicate(timeout=PATIENCE)
    equal(process.returncode, 1)
    contains(out.splitlines()[-1], f'session {number} finished, failed, after', 'enough')
    equal(out.count('Passes/s'), 1)


def test_sessions_that_cannot_be_watched():
    contains(_daemon.ctl('watch').fails(4).err, 'no session is running')
    _daemon.ctl('watch', '12345').fails(4)
    with running() as number:
        with running():
            contains(_daemon.ctl('watch').fails(2).err, 'several')
            _daemon.ctl('watch', number, '--count', '1', '--interval', '100ms').ok()
    contains(_daemon.ctl('watch', number).fails(3).err, 'has ended')
    for words in (['--interval', '1'], ['--interval', '1ms'], ['--count', '0'], ['x']):
        _daemon.ctl('watch', *words).fails(2)


def test_a_session_without_a_report():
    with running('--no-report') as number:
        out = _daemon.ctl('--json', 'watch', number, '--interval', '200ms', '--count', '2').ok().out
        line = json.loads(out.splitlines()[-1])
        assert line['interval']['passes'] >= 0 and line['session']['passes'] > 0, line
        equal((line['interval']['checks'], line['session']['checks'], line['interval']['processing_share'], line['conditions']),
              (None, None, None, []))
        _daemon.ctl('watch', number, '--interval', '100ms', '--count', '1').ok()


def test_time_out_and_a_daemon_that_goes():
    with running() as number:
        _daemon.ctl('watch', number, '--timeout', '300ms').fails(5)
    with Daemon() as other:
        number = int(other.ctl('start', write('watched')).ok().out)
        process = watching('watch', '--socket', other.socket_path, '--interval', '100ms')
        until(lambda: select.select([process.stdout], [], [], 0)[0], 'the first words')
        other.kill()
        _, err = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 3)
        contains(err, 'gone')


class Terminal:
    """A command on a terminal of its own; what it wrote, and what that leaves on the screen."""

    def __init__(self, *words, columns=110, lines=24, environment=None):
        self.master, slave = pty.openpty()
        self.written, self.seen = '', 0
        self.resize(columns, lines)
        names = {name: value for name, value in os.environ.items() if name not in ('COLUMNS', 'NO_COLOR')}
        names.update(LC_ALL='C.UTF-8', TERM='xterm')
        names.update(environment or {})
        self.before = termios.tcgetattr(slave)
        # A session of its own, so that the terminal's signals reach it.
        self.process = subprocess.Popen([CONDPROFCTL, '--socket', _daemon.socket_path, *map(str, words)], stdin=slave,
                                        stdout=slave, stderr=slave, env=names, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # pylint: disable=W1509
        self.slave = slave

    def resize(self, columns, lines):
        self.mark()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))

    def mark(self):
        """What is drawn from now on counts."""
        self.seen = len(self.frames())

    def press(self, keys):
        self.mark()
        os.write(self.master, keys.encode())

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.written += os.read(self.master, 65536).decode(errors='replace')
            except OSError:
                break
        return self.written

    def frames(self):
        """All that were drawn whole, as lines."""
        parts = self.read().split('\x1b[H')[1:]
        return [re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', '', part).replace('\r', '').split('\n') for part in parts if '\x1b[J' in part]

    def shows(self, *texts):
        """Waits for a frame, drawn since the last key, that has all of these."""

        def found():
            return next((lines for lines in self.frames()[self.seen:] if all(text in '\n'.join(lines) for text in texts)), None)
        return until(found, f'{texts} on the screen')

    def ends(self):
        """Its exit code; the terminal is as it was."""
        until(lambda: self.read() is not None and self.process.poll() is not None, 'the end')
        self.read()
        equal(termios.tcgetattr(self.slave), self.before)
        equal(self.written.count('\x1b[?1049h'), self.written.count('\x1b[?1049l'))
        equal(self.written.count('\x1b[?25l'), self.written.count('\x1b[?25h'))
        assert self.written.count('\x1b[?1049h') > 0
        os.close(self.slave)
        os.close(self.master)
        return self.process.returncode

    def after(self):
        return self.written.split('\x1b[?1049l')[-1]


def names_of(lines):
    head = next(number for number, line in enumerate(lines) if line.startswith('Condition'))
    return [line.split()[0] for line in lines[head + 1:] if line.strip()]


def test_the_full_screen():
    with running() as number:
        terminal = Terminal('watch', '--interval', '200ms')
        lines = terminal.shows(f'Session {number}, watched: running', 'Interval of ', 'Since its start', 'By total')
        equal(len(names_of(lines)), 4)
        contains(lines[1], 'Passes', 'Missed', 'Mean pass', 'Processing', 'Checks', 'Occurrences')
        contains('\n'.join(lines), 'All average', 'never', 'always', 'green', 'blue', 'red', ' %')
        contains(terminal.written, '\x1b[7m', '\x1b[1m')
        terminal.press('n')
        by_name = names_of(terminal.shows('By name.'))
        equal(by_name, sorted(by_name))
        terminal.press('r')
        equal(names_of(terminal.shows('By name, backwards')), by_name[::-1])
        for key, name in (('a', 'average'), ('c', 'checks'), ('m', 'max'), ('s', 'share'), ('t', 'total')):
            terminal.press(key)
            terminal.shows(f'By {name}, least first')
        terminal.press('r')
        names = names_of(terminal.shows('By total.'))
        assert names.index('blue') > names.index('red'), names  # blue is never checked
        terminal.press('xyz\x1b[A')  # nothing
        terminal.resize(60, 10)
        lines = terminal.shows('By total', ' more')
        assert len(lines) <= 10 and all(len(line) < 60 for line in lines), lines
        assert 'All average' not in '\n'.join(lines)
        terminal.resize(4, 2)
        until(lambda: len(terminal.frames()[-1]) <= 2, 'two lines')
        terminal.resize(200, 50)
        terminal.shows('All average')
        terminal.press('q')
        equal(terminal.ends(), 0)
        equal(terminal.after(), '')
        equal(_daemon.ctl('--json', 'status', number).json()['sessions'][0]['state'], 'running')


def test_the_full_screen_before_the_first_interval():
    with running():
        terminal = Terminal('watch', '--interval', '1h')
        contains('\n'.join(terminal.shows('Interval   ')), 'Since its start', '–')
        terminal.press('n')
        terminal.shows('By name')
        terminal.press('q')
        equal(terminal.ends(), 0)


def test_the_full_screen_ends_with_the_session():
    number = start()
    terminal = Terminal('watch', number, '--interval', '1h')
    terminal.shows('By total')
    _daemon.ctl('emit', 'go').ok()
    equal(terminal.ends(), 1)
    contains(terminal.after(), f'session {number} finished, failed, after', 'enough')
    with running():
        terminal = Terminal('watch', '--interval', '100ms', '--count', '2')
        equal(terminal.ends(), 0)


def test_signals_leave_the_terminal_as_it_was():
    with running():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            terminal = Terminal('watch', '--interval', '1h')
            terminal.shows('By total')
            if number == signal.SIGINT:
                terminal.press('\x03')
            else:
                terminal.process.send_signal(number)
            equal(terminal.ends(), -number)
        terminal = Terminal('watch', '--interval', '1h')
        terminal.shows('By total')
        terminal.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT)
        terminal.mark()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows('By total')
        terminal.press('q')
        equal(terminal.ends(), 0)


def test_a_daemon_that_dies_under_a_full_screen():
    global _daemon  # pylint: disable=global-statement
    kept = _daemon
    with Daemon() as other:
        _daemon = other
        try:
            start()
            terminal = Terminal('watch', '--interval', '1h')
            terminal.shows('By total')
            other.kill()
            equal(terminal.ends(), 3)
            contains(terminal.after(), 'gone')
        finally:
            _daemon = kept


def test_screens_without_colour_and_without_utf_8():
    with running():
        terminal = Terminal('watch', '--interval', '200ms', environment={'NO_COLOR': '1', 'LC_ALL': 'C'})
        terminal.shows('Interval of ')
        terminal.press('q')
        equal(terminal.ends(), 0)
        assert terminal.written.isascii() and not re.search(r'\x1b\[[0-9;]*m', terminal.written), terminal.written
        for words in (['--plain'], ['--json'], ['--output', 'csv']):
            terminal = Terminal('watch', '--interval', '100ms', '--count', '1', *words, environment={'NO_COLOR': '1'})
            until(lambda: terminal.read() is not None and terminal.process.poll() is not None, 'the end')
            equal(terminal.process.returncode, 0)
            assert '\x1b' not in terminal.read() and terminal.written, terminal.written
            os.close(terminal.slave)
            os.close(terminal.master)


if __name__ == '__main__':
    with folder() as _home, Daemon() as _daemon:
        os.chmod(_home, 0o755)
        write_frames(_home / 'red', [png(8, 8, RED)] * 3)
        try:
            run(globals())
        except SystemExit as ended:
            code = ended.code
        if code:
            note(_daemon.log()[-5000:])
    raise SystemExit(code)
