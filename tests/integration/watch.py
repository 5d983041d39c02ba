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
