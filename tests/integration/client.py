# SPDX-License-Identifier: GPL-3.0-or-later
"""condprofctl and condprofd together: every command and every exit code, on replays; what a terminal gets; what becomes of
a client whose reader, disk or daemon goes away."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

from condprof_test import (CONDPROFCTL, PATIENCE, SOURCE, Daemon, contains, ctl, equal, folder, note, png, run, scenario, until,
                           write_frames)

BLACK, RED = (0, 0, 0), (255, 0, 0)
REPORTS = SOURCE / 'tests' / 'data' / 'reports'

_daemon = None
_home = None


def write(name, text):
    path = _home / name
    path.write_text(text)
    return path


def endless():
    """Looks for what is not there, for ever; counts what it is told."""
    return write('endless.yaml', '''scenario: endless
screen: replay:red?loop=1
rate: 100/s
counters: {told: 0}
screen-events:
  - event: never
    conditions:
      - {color: "#00ff00", name: green, area: [0, 0, 4, 4], threshold: 0}
      - {color: "#0000ff", name: blue, area: [0, 0, 4, 4]}
    actions: []
trigger-events:
  - event: told
    conditions: [broadcast: go]
    actions: [{counter: told, add: 1}]
''')


def counting(result='ok'):
    """Sees red three times, and stops."""
    return write(f'counting-{result}.yaml', f'''scenario: counting
screen: replay:red?loop=1
rate: unlimited
counters: {{seen: 0}}
screen-events:
  - event: red seen
    conditions: [{{color: "#ff0000", name: red, area: [0, 0, 4, 4]}}]
    actions:
      - {{counter: seen, add: 1}}
      - {{click: [3, 4], press: 1 ms}}
trigger-events:
  - event: enough
    conditions: [{{counter: seen, is: ">= 3"}}]
    actions: [{{stop: seen enough, result: {result}}}]
''')


def sessions(*words):
    return {session['id']: session for session in _daemon.ctl('--json', *words).json()['sessions']}


def start(path, *words):
    return int(_daemon.ctl('start', path, *words).ok().out)


@contextlib.contextmanager
def running(*words):
    number = start(endless(), *words)
    try:
        yield number
    finally:
        _daemon.ctl('stop', number)


# --- sessions ------------------------------------------------------------------------------------------------------------

def test_nothing_runs():
    equal(_daemon.ctl('status').ok().out, 'No session is running.\n')
    equal(_daemon.ctl('--json', 'status').json(), {'schema': 1, 'sessions': []})
    equal(_daemon.ctl('--output', 'csv', 'status').ok().out.count('\n'), 1)
    _daemon.ctl('stop').fails(4)
    _daemon.ctl('stop', '--all').ok()
    contains(_daemon.ctl('stop', '12345').fails(4).err, '12345')
    _daemon.ctl('status', '12345').fails(4)
    _daemon.ctl('emit', 'go').fails(4)
    _daemon.ctl('report').fails(4)
    _daemon.ctl('report', '12345').fails(4)
    _daemon.ctl('delete', '12345').fails(4)


def test_start_status_stop():
    with running() as number:
        session = sessions('status')[number]
        equal((session['scenario'], session['state'], session['result'], session['reason'], session['ended']),
              ('endless', 'running', None, None, None))
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', session['started']), session
        contains(session['screen'], f'replay:{_home.resolve()}/red')  # relative to the file
        until(lambda: sessions('status', str(number))[number]['passes'] > 3, 'passes')
        contains(_daemon.ctl('status').ok().out, 'endless', 'running')
        equal(sessions('list')[number]['state'], 'running')
        shown = _daemon.ctl('--json', 'stop', number).json()['sessions']
        equal([(row['id'], row['state'], row['result'], row['reason']['code']) for row in shown],
              [(number, 'finished', 'ok', 'stopped')])
        assert shown[0]['ended'] >= shown[0]['started'] and shown[0]['duration_ns'] > 0
        equal(sessions('status'), {})
        listed = sessions('list')[number]
        equal((listed['state'], listed['no_report']), ('finished', False))
        contains(_daemon.ctl('stop', number).fails(3).err, str(number))


def test_one_of_several_is_asked_for():
    with running() as first, running() as second:
        contains(_daemon.ctl('stop').fails(2).err, str(first), str(second))
        equal(sorted(sessions('status')), [first, second])
        equal(sorted(row['id'] for row in _daemon.ctl('--json', 'stop', '--all').json()['sessions']), [first, second])
    with running() as number:
        contains(_daemon.ctl('stop').ok().out, str(number))


def test_start_wait():
    done = _daemon.ctl('start', counting(), '--wait').ok()
    number = int(done.out)
    contains(done.err, f'session {number} finished, ok, after', 'seen enough')
    session = _daemon.ctl('--json', 'start', counting(), '--wait').json()['session']
    equal((session['state'], session['result'], session['reason']['code']), ('finished', 'ok', 'stop-action'))
    contains(session['reason']['text'], 'seen enough')
    listed = sessions('list')[session['id']]
    equal([name for name in session if session[name] != listed[name]], [])
    equal(_daemon.ctl('--json', 'start', counting('failed'), '--wait').fails(1).err.count('\n'), 1)
    session = _daemon.ctl('--json', 'start', endless(), '--wait', '--passes', '7', '--rate', 'unlimited').json()['session']
    equal((session['passes'], session['reason']['code']), (7, 'passes'))
    session = _daemon.ctl('--json', 'start', endless(), '--wait', '--duration', '30ms').json()['session']
    equal(session['reason']['code'], 'duration')
    session = _daemon.ctl('--json', 'start', endless(), '--wait', '--screen', f'replay:{_home}/red').json()['session']
    equal(session['reason']['code'], 'source-ended')


def test_start_of_what_cannot_be():
    contains(_daemon.ctl('start', endless(), '--screen', 'replay:/nonexistent').fails(1).err, '/nonexistent')
    contains(_daemon.ctl('start', endless(), '--screen', 'wayland:').fails(1).err, 'not supported')
    contains(_daemon.ctl('start', write('bad.yaml', 'scenario: [')).fails(1).err, 'bad.yaml:1:')
    _daemon.ctl('start', _home / 'none.yaml').fails(4)
    equal(sessions('status'), {})


def test_one_duration():
    """Whoever asks, and whenever: a session's duration and passes are those of its report."""
    def of(session):
        return session['duration_ns'], session['passes']

    waited = _daemon.ctl('--json', 'start', counting(), '--wait').json()['session']
    with running() as number:
        until(lambda: sessions('status', str(number))[number]['passes'] > 2, 'passes')
        stopped = _daemon.ctl('--json', 'stop', number).json()['sessions'][0]
    for told in waited, stopped:
        shown = _daemon.ctl('--json', 'report', told['id']).json()['session']
        kept = _daemon.ctl('--json', 'report', f'{_daemon.state}/reports/{told["id"]}').json()['session']
        equal([of(shown), of(kept), of(sessions('list')[told['id']]), of(sessions('status', str(told['id']))[told['id']])],
              [of(told)] * 4)
        equal(shown['time']['duration_ns'], told['duration_ns'])


def test_rate_is_kept_as_run():
    number = int(_daemon.ctl('start', counting(), '--wait', '--rate', '30/min', '--passes', 1).ok().out)
    kept = scenario.Scenario.FromString((_daemon.state / 'reports' / str(number) / 'scenario.pb').read_bytes())
    equal((kept.rate.passes, kept.rate.per_ns, kept.HasField('random_seed')), (30, 60 * 10**9, False))


def test_emit():
    with running() as number:
        equal(_daemon.ctl('--json', 'emit', 'go').json(), {'schema': 1, 'broadcast': 'go', 'session_ids': [number]})
        contains(_daemon.ctl('emit', 'went').fails(4).err, 'go')
        for name in (b'g\xff', b'g' * 257, b''):
            contains(_daemon.ctl('emit', os.fsdecode(name)).fails(2).err, 'name')
        until(lambda: _daemon.ctl('--json', 'report', number, '--view', 'timeline').json()['occurrences'],
              'the occurrence in the report of a running session')


def test_no_report():
    with running('--no-report') as number:
        equal(sessions('status')[number]['no_report'], True)
        _daemon.ctl('report', number).fails(4)
    assert number not in sessions('list')


def test_delete():
    numbers = [int(_daemon.ctl('start', counting(), '--wait').ok().out) for _ in range(3)]
    with running() as number:
        _daemon.ctl('delete', number).fails(1)
    _daemon.ctl('delete', numbers[0], '99999').fails(4)
    assert numbers[0] in sessions('list')
    equal(_daemon.ctl('--json', 'delete', *numbers[:2]).json(), {'schema': 1, 'deleted': numbers[:2]})
    contains(_daemon.ctl('delete', numbers[2]).ok().out, str(numbers[2]))
    assert not set(numbers) & set(sessions('list'))
    _daemon.ctl('report', numbers[0]).fails(4)


def test_version():
    shown = _daemon.ctl('--json', 'version').json()
    equal(shown['client']['version'], ctl('--version').ok().out.split()[1])
    equal(shown['daemon']['version'], shown['client']['version'])
    equal((shown['daemon']['protocol'], shown['daemon']['control']), ('1.1', True))


# --- reports -------------------------------------------------------------------------------------------------------------

def test_report_views():
    number = int(_daemon.ctl('start', counting(), '--wait').ok().out)
    session = _daemon.ctl('--json', 'report').json()['session']
    equal((session['id'], session['scenario'], session['lost_occurrences']), (number, 'counting', 0))
    tree = session['time']
    equal(tree['duration_ns'], session['duration_ns'])
    equal(tree['duration_ns'], tree['processing']['total_ns'] + sum(tree[name] for name in (
        'frame_wait_ns', 'frame_get_ns', 'limiter_wait_ns', 'safety_wait_ns', 'report_wait_ns', 'other_ns')))
    conditions = {row['name']: row for row in
                  _daemon.ctl('--json', 'report', number, '--view', 'conditions').json()['conditions']}
    equal({name: (row['checks'], row['fulfilled']) for name, row in conditions.items()}, {'red': (3, 3), 'seen': (4, 1)})
    for row in conditions.values():
        assert 0 <= row['min_ns'] <= row['p50_ns'] <= row['p99_ns'] <= row['max_ns'], row
    equal(sum(row['total_ns'] for row in conditions.values()), tree['processing']['conditions_ns'])
    events = _daemon.ctl('--json', 'report', 'latest', '--view', 'events').json()['events']
    equal([(row['name'], row['kind'], row['evaluated'], row['fulfilled']) for row in events],
          [('red seen', 'screen', 3, 3), ('enough', 'trigger', 4, 1)])
    occurrences = _daemon.ctl('--json', 'report', '--view', 'timeline').json()['occurrences']
    equal([row['event'] for row in occurrences], ['red seen'] * 3 + ['enough'])
    equal([row['counters'] for row in occurrences][:2],
          [[{'name': 'seen', 'old': 0, 'new': 1}], [{'name': 'seen', 'old': 1, 'new': 2}]])
    equal([(action['kind'], action['x'], action['y'], action['skipped']) for action in occurrences[0]['actions']],
          [('counter', None, None, False), ('click', 3, 4, False)])
    equal([row['at_ns'] for row in occurrences], sorted(row['at_ns'] for row in occurrences))
    equal([row['pass'] for row in occurrences], [1, 2, 3, 4])
    tail = _daemon.ctl('--json', 'report', '--view', 'timeline', '--event', 'red seen', '--limit', '2').json()['occurrences']
    equal(tail, occurrences[1:3])
    middle = _daemon.ctl('--json', 'report', '--view', 'timeline', '--since', f'{occurrences[1]["at_ns"]}ns', '--until',
                         f'{occurrences[3]["at_ns"]}ns').json()['occurrences']
    equal(middle, occurrences[1:3])


def test_a_session_and_its_folder_are_alike():
    number = int(_daemon.ctl('start', counting(), '--wait').ok().out)
    for view in ('overview', 'conditions', 'events', 'timeline'):
        for output in ('text', 'json', 'csv'):
            words = ('report', '--view', view, '--output', output)
            equal(ctl(*words, f'{_daemon.state}/reports/{number}').ok().out, _daemon.ctl(*words, number).ok().out)


def test_report_of_a_running_session():
    with running() as number:
        def passes():
            shown = _daemon.ctl('--json', 'report', '--view', 'conditions').json()
            equal((shown['session']['id'], shown['session']['state'], shown['session']['result']), (number, 'running', None))
            rows = {row['name']: row for row in shown['conditions']}
            equal((rows['blue']['checks'], rows['blue']['average_ns']), (0, None))
            return rows['green']['checks']
        first = until(passes, 'checks')
        until(lambda: passes() > first, 'more checks')
        contains(_daemon.ctl('report').ok().out, 'still running')


# --- a daemon that goes away ---------------------------------------------------------------------------------------------

def test_a_daemon_that_hangs():
    _daemon.signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        _daemon.ctl('list', '--timeout', '300ms').fails(5)
        assert time.monotonic() - begin < 10
    finally:
        _daemon.signal(signal.SIGCONT)
    _daemon.ctl('list').ok()


def test_a_daemon_that_is_killed():
    with Daemon() as daemon:
        process = subprocess.Popen([CONDPROFCTL, '--socket', daemon.socket_path, 'start', str(endless()), '--wait'],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        number = int(process.stdout.readline())
        until(lambda: (daemon.state / 'reports' / str(number) / 'checkpoint.pb').exists(), 'a checkpoint')
        daemon.kill()
        _, err = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 3)
        contains(err, 'gone away')
        daemon.ctl('status').fails(3)
        shown = ctl('--json', 'report', daemon.state / 'reports' / str(number)).json()['session']
        equal((shown['state'], shown['reason']['code'], shown['result']), ('interrupted', 'daemon-died', None))
        daemon.notified.clear()
        daemon.start()
        listed = daemon.ctl('--json', 'list').json()['sessions']
        equal([(row['id'], row['state'], row['reason']['code']) for row in listed], [(number, 'interrupted', 'daemon-died')])
        equal(daemon.ctl('--json', 'report').json()['session']['state'], 'interrupted')
        contains(daemon.ctl('report').ok().out, 'last checkpoint')
        for file in ('checkpoint.pb', 'overview.pb', 'messages.pb'):
            (daemon.state / 'reports' / str(number) / file).unlink(missing_ok=True)
        contains(daemon.ctl('report').ok().out, 'no figures')


def test_an_empty_socket_is_a_mistake_of_the_command_line():
    contains(ctl('--socket', '', 'list').fails(2).err, '--socket is empty')


def test_what_is_not_utf8_is_a_mistake_of_the_command_line():
    folder_name = os.fsdecode(os.fsencode(_home) + b'/d\xff')
    os.makedirs(folder_name, exist_ok=True)
    shutil.copy(endless(), folder_name + '/a.yaml')
    contains(_daemon.ctl('start', endless(), '--screen', 'replay:' + folder_name).fails(2).err, '--screen', 'UTF-8')
    contains(_daemon.ctl('start', endless(), '--screen', 'replay:x', cwd=folder_name).fails(2).err, '--screen', 'UTF-8')
    equal(sessions('status'), {})


def test_a_state_folder_that_is_removed_under_the_daemon():
    with Daemon() as daemon:
        number = int(daemon.ctl('start', endless()).ok().out)
        # the daemon writes a checkpoint there now and then, also in between
        until(lambda: shutil.rmtree(daemon.state / 'reports', ignore_errors=True) or not (daemon.state / 'reports').exists(),
              'the reports to be gone')
        contains(daemon.ctl('start', endless()).fails(1).err, 'restart condprofd')
        contains(daemon.ctl('--json', 'stop', number).json()['sessions'][0]['report_error'], 'restart condprofd')
        daemon.stop()
        daemon.start()
        equal(daemon.ctl('start', counting(), '--wait').ok().code, 0)


# --- terminals, pipes and disks ------------------------------------------------------------------------------------------

def on_terminal(*words, columns=80, environment=None, until_text=None, then=None):
    """What the command shows on a terminal of that width, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    names = {name: value for name, value in os.environ.items() if name not in ('COLUMNS', 'NO_COLOR')}
    names.update(LC_ALL='C.UTF-8', TERM='xterm', TZ='UTC')
    names.update(environment or {})
    process = subprocess.Popen([CONDPROFCTL, *map(str, words)], stdin=slave, stdout=slave, stderr=slave, env=names)
    os.close(slave)
    shown, deadline = b'', time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline, shown
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        shown += data
        if until_text and until_text in shown.decode(errors='replace'):
            until_text = None
            then(process)
    os.close(master)
    return process.wait(PATIENCE), shown.decode().replace('\r\n', '\n')


def plain(text):
    return re.sub(r'\x1b\[[0-9;]*[mK]', '', text)


def many(path, count):
    """A report of so many occurrences."""
    subprocess.run([sys.executable, str(SOURCE / 'tests' / 'support' / 'make_reports.py'), 'many', str(path), str(count)],
                   check=True)


def test_colour_on_a_terminal_only():
    path = REPORTS / 'finished'
    code, shown = on_terminal('report', path)
    equal(code, 0)
    contains(shown, '\x1b[1m', '\x1b[31m')
    for environment in ({'NO_COLOR': '1'}, {'TERM': 'dumb'}):
        assert '\x1b' not in on_terminal('report', path, environment=environment)[1]
    contains(on_terminal('report', path, environment={'NO_COLOR': ''})[1], '\x1b[1m')
    assert '\x1b' not in ctl('report', path).ok().out
    assert '\x1b' not in on_terminal('report', path, '--json')[1]


def test_nothing_is_wider_than_the_terminal():
    commands = [('report', REPORTS / shape, '--view', view) for shape in ('finished', 'hostile')
                for view in ('overview', 'conditions', 'events', 'timeline')]
    commands += [('advise', REPORTS / 'advised'), ('diff', REPORTS / 'hostile', REPORTS / 'hostile'),
                 ('diff', REPORTS / 'compared-base', REPORTS / 'compared-new', '--fail-if', 'average>+10%')]
    for command in commands:
        for columns in (60, 80, 100, 200):
            _, shown = on_terminal(*command, columns=columns)
            for line in plain(shown).splitlines():
                width = sum(2 if ord(letter) > 0x2fff else 0 if ord(letter) in (0x301, 0x302) else 1 for letter in line)
                assert width <= columns, f'{width} > {columns}: {line!r}'
    _, wide = on_terminal('report', REPORTS / 'finished', '--view', 'conditions', environment={'COLUMNS': '200'})
    contains(wide, 'Max in pass')
    _, narrow = on_terminal('report', REPORTS / 'finished', '--view', 'conditions', columns=70)
    contains(narrow, 'Left out')
    whole = ctl('report', REPORTS / 'hostile', '--view', 'conditions', environment={'COLUMNS': '40'}).ok().out
    contains(whole, 'x' * 256)  # in a pipe nothing is cut


def test_a_locale_without_utf_8():
    path = REPORTS / 'finished'
    shown = ctl('report', path, '--view', 'conditions', environment={'LC_ALL': 'C'}).ok().out
    assert shown.isascii() and 'us' in shown
    code, shown = on_terminal('report', REPORTS / 'hostile', '--view', 'conditions', environment={'LC_ALL': 'C'})
    assert code == 0 and shown.isascii()
    assert ctl('report', path, environment={'LC_ALL': 'C'}).ok().out.isascii()
    contains(ctl('report', REPORTS / 'hostile', '--view', 'conditions', environment={'LC_ALL': 'C'}).ok().out, '漢')


def test_progress_on_a_terminal():
    def interrupt(process):
        process.send_signal(signal.SIGINT)
    code, shown = on_terminal('--socket', _daemon.socket_path, 'start', endless(), '--wait', until_text=' passes',
                              then=interrupt)
    equal(code, -signal.SIGINT)
    contains(shown, 'running', 'keeps running')
    assert shown.splitlines()[0].isdigit(), shown
    equal(len(sessions('status')), 1)
    _daemon.ctl('stop').ok()


def test_a_reader_that_has_had_enough():
    path = REPORTS / 'finished'
    command = f'{CONDPROFCTL} report {path} --view timeline --json; echo "code $?" >&2'
    with folder() as home:
        big = home / 'big'
        many(big, 3000)
        done = subprocess.run(['/bin/sh', '-c', f'({command.replace(str(path), str(big))}) | head -c 10'], capture_output=True,
                              text=True, check=False)
    equal(done.stderr, f'code {128 + signal.SIGPIPE}\n')


def test_a_full_disk():
    for words in (['report', str(REPORTS / 'finished')], ['report', str(REPORTS / 'finished'), '--json'], ['--help'],
                  ['--version']):
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = subprocess.run([CONDPROFCTL, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        equal(done.returncode, 1, words)
        contains(done.stderr, "can't write to standard output")


def test_closed_descriptors():
    done = subprocess.run(['/bin/sh', '-c', f'{CONDPROFCTL} --socket {_daemon.socket_path} status >&-; echo $?'],
                          capture_output=True, text=True, check=False)
    equal(done.stdout, '1\n')
    contains(done.stderr, "can't write")
    done = subprocess.run(['/bin/sh', '-c', f'{CONDPROFCTL} --socket {_daemon.socket_path} --json status <&- 2>&-'],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, json.loads(done.stdout)['sessions']), (0, []))


def test_a_huge_timeline_in_constant_memory():
    with folder() as home:
        many(home / 'big', 100000)
        usage = []
        for words in ((), ('--limit', '3')):
            done = subprocess.Popen([CONDPROFCTL, 'report', str(home / 'big'), '--view', 'timeline', '--output', 'csv', *words],
                                    stdout=subprocess.PIPE)
            lines = sum(1 for _ in done.stdout)
            _, status, resources = os.wait4(done.pid, 0)
            equal((status, lines), (0, 4 if words else 100001))
            usage.append(resources.ru_maxrss)  # at least what this test itself takes
        note(f'at most {usage[0]} KiB for all of 100,000 occurrences, {usage[1]} KiB for the last three')
        if 'sanitizers=no' in _daemon.ctl('--json', 'version').json()['daemon']['features']:
            assert usage[0] < usage[1] + 8192, usage


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
