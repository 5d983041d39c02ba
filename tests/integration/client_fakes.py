# SPDX-License-Identifier: GPL-3.0-or-later
"""condprofctl against daemons that are not well: other versions, silence, garbage, death in mid-sentence, floods. And
report folders, and the ways to find a socket. Every wrong thing has its exit code and a sentence, and none takes longer than
--timeout."""

import contextlib
import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import threading
import time

from condprof_test import (CONDPROFCTL, PATIENCE, SECOND, SOURCE, Skip, contains, control, ctl, equal, folder, frame, note,
                           report, run, scenario, skip_unless, take_frame, until)

REPORTS = SOURCE / 'tests' / 'data' / 'reports'
SCENARIO = '''scenario: tiny
screen: replay:/nowhere
screen-events:
  - event: one
    conditions:
      - {color: "#ff0000", area: [0, 0, 5, 5]}
    actions: []
'''


class Peer:
    """The daemon's end of one connection."""

    def __init__(self, connection):
        self.socket, self.buffer = connection, b''

    def request(self):
        """The next request, or None when the client has gone."""
        while True:
            body, rest = take_frame(self.buffer)
            if body is not None:
                self.buffer = rest
                return control.Request.FromString(body)
            data = self.socket.recv(65536)
            if not data:
                return None
            self.buffer += data

    def send(self, number, **body):
        self.socket.sendall(frame(control.Reply(id=number, **body)))

    def greet(self, **hello):
        request = self.request()
        self.send(request.id, hello=control.HelloReply(**{'major': 1, 'minor': 0, 'daemon': 'fake', 'control': True, **hello}))

    def upload(self):
        """Takes a whole scenario; returns (request id, Begin, bytes)."""
        begin = self.request()
        data = b''
        while len(data) < begin.begin.size:
            data += self.request().chunk.data
        return begin.id, begin.begin, data

    def wait_gone(self):
        with contextlib.suppress(ConnectionError):
            while self.socket.recv(65536):
                pass


@contextlib.contextmanager
def fake(talk, backlog=8):
    """A daemon that says what talk(peer) says, to every client. Yields its socket's path."""
    with folder() as home:
        path = str(home / 'socket')
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        os.chmod(path, 0o666)
        os.chmod(home, 0o755)
        listener.listen(backlog)
        problems = []

        def serve(connection):
            try:
                with connection:
                    talk(Peer(connection))
            except (ConnectionError, OSError):
                pass  # the client went away
            except BaseException as error:  # pylint: disable=broad-except
                problems.append(error)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield path
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        assert not problems, problems


def against(talk, *words, **options):
    with fake(talk) as path:
        return ctl('--socket', path, *words, **options)


def answer(*replies, hello=None):
    """A daemon that answers the first request with these bodies."""
    def talk(peer):
        peer.greet(**(hello or {}))
        request = peer.request()
        for place, body in enumerate(replies):
            peer.send(request.id, last=place == len(replies) - 1, **body)
        peer.wait_gone()
    return talk


# --- who answers ---------------------------------------------------------------------------------------------------------

def test_another_major_version():
    done = against(answer(hello={'major': 2, 'minor': 3}), 'status').fails(6)
    contains(done.err, '2.3', '1.1', 'install the same version')
    equal(done.out, '')
    shown = against(answer(hello={'major': 2, 'minor': 3}), 'version').fails(6)
    contains(shown.out, 'condprofctl')


def test_version_error():
    def talk(peer):
        request = peer.request()
        peer.send(request.id, error=control.Error(code=control.VERSION, message='too old'))
    contains(against(talk, 'list').fails(6).err, 'too old')


def test_denied_before_anything_was_read():
    def talk(peer):
        peer.send(0, error=control.Error(code=control.DENIED, message='not for you'))
    for _ in range(20):  # the client may be writing, or about to
        contains(against(talk, 'list').fails(7).err, 'not for you')


def test_every_error_code_has_its_exit_code():
    codes = {'INTERNAL': 1, 'BAD_FRAME': 6, 'TOO_LARGE': 1, 'BAD_REQUEST': 1, 'UNSUPPORTED': 1, 'VERSION': 6, 'DENIED': 7,
             'BUSY': 1, 'NO_SUCH_SESSION': 4, 'NO_SUCH_NAME': 4, 'AMBIGUOUS': 2, 'ALREADY_ENDED': 3, 'BAD_SCENARIO': 1,
             'SCREEN_FAILED': 1, 'INPUT_FAILED': 1, 'STILL_RUNNING': 1, 'IO': 1, 'STOPPING_DAEMON': 3, 'BUS_FAILED': 1}
    equal(sorted(codes), sorted(control.Code.keys()))
    for name, code in codes.items():
        error = control.Error(code=control.Code.Value(name), message=f'it is {name}\x1b[2J', place='a.place')
        done = against(answer({'error': error}), 'stop').fails(code)
        contains(done.err, f'condprofctl: a.place: it is {name}')
        assert '\x1b' not in done.err, done.err
        equal(done.out, '')


def test_nobody_listens():
    with folder() as home:
        contains(ctl('--socket', home / 'none', 'list').fails(3).err, str(home / 'none'), 'start condprofd')
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(str(home / 'stale'))
        stale.close()
        ctl('--socket', home / 'stale', 'list').fails(3)
        contains(ctl('--socket', home / ('x' * 200), 'list').fails(1).err, 'too long')


def test_version_needs_no_daemon():
    with folder() as home:
        done = ctl('--socket', home / 'none', '--json', 'version').ok()
        equal(json.loads(done.out)['daemon'], None)
        contains(done.err, 'no daemon listens')
        equal(ctl('-q', '--socket', home / 'none', 'version').ok().err, '')


# --- silence and noise ---------------------------------------------------------------------------------------------------

def bounded(function, limit_s=10):
    begin = time.monotonic()
    done = function()
    assert time.monotonic() - begin < limit_s
    return done


def test_silence_is_bounded():
    def silent(peer):
        peer.wait_gone()

    def greets(peer):
        peer.greet()
        peer.wait_gone()
    for talk in (silent, greets):
        contains(bounded(lambda: against(talk, 'list', '--timeout', '200ms')).fails(5).err, '--timeout')


def test_trickling_is_bounded():
    def talk(peer):
        peer.greet()
        request = peer.request()
        for byte in frame(control.Reply(id=request.id, sessions=control.Sessions())) * 1000:
            peer.socket.sendall(bytes([byte]))
            time.sleep(0.02)
    with fake(talk) as path:
        # Complete after a few bytes:
        ctl('--socket', path, 'list').ok()

    def endless(peer):
        peer.greet()
        peer.socket.sendall(b'\xff\xff\x03')
        with contextlib.suppress(OSError):
            while True:
                peer.socket.sendall(b'x')
                time.sleep(0.02)
    bounded(lambda: against(endless, 'list', '--timeout', '300ms')).fails(5)


def test_a_full_backlog_is_bounded():
    with folder() as home:
        path = str(home / 'socket')
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(0)
        others = []
        for _ in range(5):
            other = socket.socket(socket.AF_UNIX)
            other.setblocking(False)
            try:
                other.connect(path)
            except BlockingIOError:
                break
            others.append(other)
        bounded(lambda: ctl('--socket', path, 'list', '--timeout', '300ms')).fails(5)
        listener.close()


def test_garbage():
    def sends(data):
        def talk(peer):
            peer.greet()
            peer.request()
            peer.socket.sendall(data)
            peer.wait_gone()
        return talk
    for data in (b'\xff' * 20, b'\x05hello', b'HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n', b'\x81\x80\x04' + b'x' * 100):
        contains(against(sends(data), 'list').fails(6).err, 'protocol')


def test_amplifying_replies():
    sessions = control.Sessions()
    for _ in range(30000):
        sessions.sessions.add()

    def talk(peer):
        peer.greet()
        request = peer.request()
        peer.send(request.id, sessions=sessions)
        peer.wait_gone()
    done = against(talk, 'list', '--json')
    assert done.code in (0, 6), done.err


def test_answers_to_nothing():
    def talk(peer):
        peer.greet()
        peer.request()
        with contextlib.suppress(OSError):
            for _ in range(100000):
                peer.send(999, sessions=control.Sessions())
    bounded(lambda: against(talk, 'list', '--timeout', '20s'), 25).fails(6)


def test_another_answer():
    contains(against(answer({'started': control.Started(session=3)}), 'list').fails(6).err, 'something else')
    contains(against(answer({'sessions': control.Sessions()}), 'emit', 'x').fails(6).err, 'something else')
    against(answer({'sessions': control.Sessions()}), 'delete', '1').fails(6)
    against(answer({'sessions': control.Sessions()}), 'report', '1').fails(6)


def test_death_in_mid_sentence():
    def talk(peer):
        peer.greet()
        request = peer.request()
        peer.socket.sendall(frame(control.Reply(id=request.id, last=False, sessions=control.Sessions()))
                            + frame(control.Reply(id=request.id, sessions=control.Sessions()))[:-1])
    contains(against(talk, 'list').fails(3).err, 'gone away')

    def at_once(peer):
        del peer
    against(at_once, 'list').fails(3)


def test_replies_out_of_order():
    def talk(peer):
        peer.greet()
        request = peer.request()
        peer.send(77, sessions=control.Sessions(sessions=[control.Session(id=77)]))
        peer.send(request.id, sessions=control.Sessions(sessions=[control.Session(id=5, state=report.RUNNING)]))
        peer.wait_gone()
    equal([session['id'] for session in against(talk, '--json', 'status').json()['sessions']], [5])


# --- start ---------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def scenario_file(text=SCENARIO):
    with folder() as home:
        path = home / 'tiny.yaml'
        path.write_text(text)
        yield path


def start(talk, *words, **options):
    with scenario_file() as path:
        return against(talk, 'start', path, *words, **options)


def ended(**fields):
    values = {'id': 9, 'scenario': 'tiny', 'state': report.FINISHED, 'reason': report.REASON_PASSES,
              'result': report.SESSION_OK, 'started_unix_ns': SECOND, 'ended_unix_ns': 2 * SECOND, 'duration_ns': SECOND,
              'passes': 10}
    return control.Sessions(sessions=[control.Session(**{**values, **fields})])


def starting(*after, seen=None):
    """Takes the scenario, says 9, then the replies."""
    def talk(peer):
        peer.greet()
        number, begin, data = peer.upload()
        if seen is not None:
            seen.extend([begin.options, scenario.Scenario.FromString(data)])
        peer.send(number, last=not after, started=control.Started(session=9))
        for body in after:
            peer.send(number, **body)
        peer.wait_gone()
    return talk


def test_start_prints_the_id_alone():
    done = start(starting()).ok()
    equal((done.out, done.err), ('9\n', ''))
    equal(start(starting(), '--json').json(), {'schema': 1, 'id': 9})


def test_start_sends_its_options():
    seen = []
    with folder() as here:
        (here / 'frames').mkdir()
        done = start(starting(seen=seen), '--screen', 'replay:frames?loop=1', '--input', 'log:', '--dry-run', '--rate', '90/min',
                     '--passes', '7', '--duration', '1.5min', '--no-report', cwd=here).ok()
        equal(done.out, '9\n')
        options, message = seen
        equal(options.screen, f'replay:{here.resolve()}/frames?loop=1')
    equal((options.input, options.dry_run, options.no_report, options.wait), ('log:', True, True, False))
    equal((options.rate_passes, options.rate_per_ns, options.max_passes, options.max_duration_ns),
          (90, 60 * SECOND, 7, 90 * SECOND))
    equal(message.name, 'tiny')
    seen = []
    start(starting(seen=seen)).ok()
    equal([name for name in ('screen', 'input', 'rate_passes', 'max_passes', 'max_duration_ns') if seen[0].HasField(name)], [])


def test_start_says_what_its_options_want():
    with scenario_file() as path:
        for words in (['--rate', '10'], ['--rate', '0/s'], ['--passes', '0'], ['--passes', 'x'], ['--duration', '5'],
                      ['--duration', '0s'], ['--screen', 'nonsense'], ['--input', 'replay:/x'], ['--record', '']):
            done = ctl('start', path, *words).fails(2)
            contains(done.err, words[0])
        contains(ctl('start', 'k?').fails(2).err, 'neither an installed scenario')
        contains(ctl('start', path.parent / 'none.yaml').fails(4).err, 'none.yaml')


def test_start_wait():
    done = start(starting({'sessions': ended()}), '--wait').ok()
    equal(done.out, '9\n')
    contains(done.err, 'session 9 finished, ok, after 1.00 s and 10 passes')
    equal(start(starting({'sessions': ended()}), '--wait', '-q').ok().err, '')
    shown = start(starting({'sessions': ended()}), '--wait', '--json').json()
    equal(shown['schema'], 1)
    equal(shown['session']['reason'], {'code': 'passes', 'text': 'it has run the passes asked for'})
    equal(sorted(shown['session']), ['duration_ns', 'ended', 'id', 'passes', 'reason', 'result', 'scenario', 'started', 'state'])


def test_start_wait_of_what_fails():
    for fields in ({'result': report.SESSION_FAILED, 'reason': report.REASON_STOP_ACTION, 'reason_text': 'gave up\n'},
                   {'state': report.FAILED, 'reason': report.REASON_SOURCE_FAILED, 'result': report.SESSION_FAILED}):
        done = start(starting({'sessions': ended(**fields)}), '--wait').fails(1)
        equal(done.out, '9\n')
        contains(done.err, 'failed')
        equal(len(done.err.splitlines()), 1)
        equal(json.loads(start(starting({'sessions': ended(**fields)}), '--wait', '--json').fails(1).out)['session']['result'],
              'failed')
    done = start(starting({'sessions': ended(report_error='the disk is full')}), '--wait').ok()
    contains(done.err, 'not whole: the disk is full')


def test_start_wait_times_out_and_says_so():
    start(starting(), '--wait').fails(6)  # nothing follows

    def talk(peer):
        peer.greet()
        number, _, _ = peer.upload()
        peer.send(number, last=False, started=control.Started(session=9))
        peer.wait_gone()
    done = bounded(lambda: start(talk, '--wait', '--timeout', '300ms')).fails(5)
    equal(done.out, '9\n')
    contains(done.err, 'session 9 keeps running', 'condprofctl stop 9')


def test_start_wait_of_a_daemon_that_dies():
    def talk(peer):
        peer.greet()
        number, _, _ = peer.upload()
        peer.send(number, last=False, started=control.Started(session=9))
    done = start(talk, '--wait').fails(3)
    equal(done.out, '9\n')
    contains(done.err, 'gone away')


def test_ctrl_c_leaves_the_session_running():
    started = threading.Event()

    def talk(peer):
        peer.greet()
        number, _, _ = peer.upload()
        peer.send(number, last=False, started=control.Started(session=9))
        started.set()
        peer.wait_gone()
    for number in (signal.SIGINT, signal.SIGTERM):
        started.clear()
        with fake(talk) as path, scenario_file() as file:
            process = subprocess.Popen([CONDPROFCTL, '--socket', path, 'start', str(file), '--wait'], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            equal(process.stdout.readline(), '9\n')
            process.send_signal(number)
            _, err = process.communicate(timeout=PATIENCE)
            equal(process.returncode, -number)  # as the shell expects
            contains(err, 'session 9 keeps running')


def test_ctrl_c_before_the_answer():
    uploaded = threading.Event()

    def talk(peer):
        peer.greet()
        peer.upload()
        uploaded.set()
        peer.wait_gone()
    with fake(talk) as path, scenario_file() as file:
        process = subprocess.Popen([CONDPROFCTL, '--socket', path, 'start', str(file), '--wait'], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        assert uploaded.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        equal((process.returncode, out), (-signal.SIGINT, ''))
        contains(err, 'condprofctl status')


def stopped_by_signal(before_answer, continued_by=None, ended_by_itself=()):
    """start --wait --stop-on-signal of session 9, and a signal; the ids that were to be stopped. Session 10, when it has
    ended by itself, goes on as 11."""
    moments = {name: threading.Event() for name in ('ready', 'signalled')}
    stops, goes_on = [], dict(continued_by or {})

    def talk(peer):
        peer.greet()
        number, _, _ = peer.upload()
        if before_answer:
            moments['ready'].set()
            assert moments['signalled'].wait(PATIENCE)
        peer.send(number, last=False, started=control.Started(session=9))
        moments['ready'].set()
        while request := peer.request():
            if request.HasField('status'):
                peer.send(request.id, sessions=ended(id=request.status.session, continued_by=goes_on.get(request.status.session)))
                continue
            stops.append(request.stop.session)
            if stops[-1] in ended_by_itself:
                if stops[-1] == 10:
                    goes_on[10] = 11
                peer.send(request.id, error=control.Error(code=control.ALREADY_ENDED, message='too late'))
            else:
                peer.send(request.id, sessions=ended(id=stops[-1]))
            if stops[-1] not in goes_on:
                peer.send(number, sessions=ended(id=stops[-1], reason=report.REASON_STOPPED))
    with fake(talk) as path, scenario_file() as file:
        process = subprocess.Popen([CONDPROFCTL, '--socket', path, 'start', str(file), '--wait', '--stop-on-signal'],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert moments['ready'].wait(PATIENCE)
        process.send_signal(signal.SIGTERM)
        moments['signalled'].set()
        out, err = process.communicate(timeout=PATIENCE)
    equal((process.returncode, out), (0, '9\n'), err)
    contains(err, f'session {stops[-1]} finished')
    return stops


def test_a_signal_stops_the_session_at_whatever_moment_it_comes():
    equal(stopped_by_signal(before_answer=True), [9])
    equal(stopped_by_signal(before_answer=False), [9])


def test_a_signal_stops_what_goes_on_after_rotations():
    equal(stopped_by_signal(before_answer=False, continued_by={9: 10}), [10])
    # one more rotation, just when it is to be stopped; and an end of its own
    equal(stopped_by_signal(before_answer=True, continued_by={9: 10}, ended_by_itself=[10]), [10, 11])
    equal(stopped_by_signal(before_answer=True, ended_by_itself=[9]), [9])


def test_refusals_have_their_place_in_the_file():
    problem = control.Problem(place='screen-events[0].conditions[0].area', message='it lies outside')
    error = control.Error(code=control.BAD_SCENARIO, message='refused', place=problem.place, problems=[problem])

    def talk(peer):
        peer.greet()
        number, _, _ = peer.upload()
        peer.send(number, error=error)
        peer.wait_gone()
    done = start(talk).fails(1)
    contains(done.err, 'tiny.yaml:6:', 'it lies outside')
    equal(done.out, '')


def test_mistakes_are_found_without_a_daemon():
    with scenario_file(SCENARIO.replace('screen-events', 'screen-event')) as path:
        done = ctl('--socket', '/nonexistent', 'start', path).fails(1)
        contains(done.err, 'tiny.yaml:3:1')


def big_scenario():
    lines = [f'  - event: e{number}\n    conditions: [{{color: "#ff0000", area: [0, 0, 5, 5]}}]\n    actions: []\n'
             for number in range(8000)]
    return 'scenario: big\nscreen: replay:/nowhere\nscreen-events:\n' + ''.join(lines)


def test_an_early_no_ends_the_upload():
    def talk(peer):
        peer.greet()
        begin = peer.request()
        assert begin.begin.size > 200_000, begin.begin.size
        peer.send(begin.id, error=control.Error(code=control.TOO_LARGE, message='too much'))
        peer.socket.shutdown(socket.SHUT_WR)  # and reads nothing any more
        time.sleep(0.2)
    with scenario_file(big_scenario()) as path:
        contains(against(talk, 'start', path).fails(1).err, 'too much')


def test_large_uploads_come_whole():
    seen = []
    with scenario_file(big_scenario()) as path:
        against(starting(seen=seen), 'start', path).ok()
    equal(len(seen[1].screen_events), 8000)


# --- reports -------------------------------------------------------------------------------------------------------------

def report_parts(path):
    """The parts of a finished report's folder as the daemon would send them."""
    messages = b''.join(file.read_bytes() for file in sorted(path.glob('messages*.pb')))
    closing, rest = b'', messages
    while rest:
        body, rest = take_frame(rest)
        if report.DebugReportMessage.FromString(body).HasField('condition_profile'):
            closing = body
    return [(control.PART_SCENARIO, (path / 'scenario.pb').read_bytes()),
            (control.PART_OVERVIEW, take_frame((path / 'overview.pb').read_bytes())[0]),
            (control.PART_AGGREGATES, closing), (control.PART_MESSAGES, messages)]


def reporting(path, size, seen=None):
    parts = report_parts(path)

    def talk(peer):
        peer.greet()
        while (request := peer.request()) is not None:
            if seen is not None:
                seen.append(request.report)
            for part, data in parts:
                if part == control.PART_MESSAGES and not request.report.messages:
                    continue
                for place in range(0, len(data), size):
                    peer.send(request.id, last=False,
                              report=control.ReportChunk(session=12, part=part, data=data[place:place + size]))
            peer.send(request.id, report=control.ReportChunk(session=12))
    return talk


def test_a_stream_and_a_folder_are_alike():
    path = REPORTS / 'finished'
    for view in ('overview', 'conditions', 'events', 'timeline'):
        for output in ('text', 'json', 'csv'):
            words = ('report', '--view', view, '--output', output)
            wanted = ctl(*words, path).ok().out
            for size in (7, 40000):
                equal(against(reporting(path, size), *words).ok().out, wanted, f'{view} {output} {size}')


def test_report_asks_for_what_it_needs():
    seen = []
    against(reporting(REPORTS / 'finished', 40000, seen), 'report', '--view', 'timeline', '--event', 'give up', '--since', '1s',
            '--until', '2h', '--limit', '3').ok()
    first, second = seen
    equal((first.messages, first.HasField('session')), (False, False))
    equal((second.messages, second.session), (True, 12))  # "latest" is asked for once
    equal((list(second.event_ids), second.since_ns, second.until_ns, second.last), ([2], SECOND, 7200 * SECOND, 3))
    seen.clear()
    against(reporting(REPORTS / 'finished', 40000, seen), 'report', '3', '--view', 'events').ok()
    equal([request.session for request in seen], [3])


def test_a_slow_reader_does_not_hold_the_daemon_up():
    parts, sent = dict(report_parts(REPORTS / 'finished')), threading.Event()
    parts[control.PART_MESSAGES] *= 10000

    def talk(peer):
        peer.greet()
        while (request := peer.request()) is not None:
            for part, data in parts.items():
                if part != control.PART_MESSAGES or request.report.messages:
                    for place in range(0, len(data), 48 * 1024):
                        peer.send(request.id, last=False,
                                  report=control.ReportChunk(session=12, part=part, data=data[place:place + 48 * 1024]))
            peer.send(request.id, report=control.ReportChunk(session=12))
            if request.report.messages:
                sent.set()
    with fake(talk) as path:
        process = subprocess.Popen([CONDPROFCTL, '--socket', path, 'report', '--view', 'timeline', '--output', 'csv'],
                                   stdout=subprocess.PIPE)
        assert sent.wait(PATIENCE)  # nothing was read yet, and a pipe holds little
        equal(sum(1 for _ in process.stdout), 1 + 4 * 10000)
        equal(process.wait(PATIENCE), 0)


def test_report_death_in_mid_stream():
    def talk(peer):
        peer.greet()
        request = peer.request()
        peer.send(request.id, last=False, report=control.ReportChunk(session=1, part=control.PART_SCENARIO, data=b'\x0a'))
    done = against(talk, 'report').fails(3)
    contains(done.err, 'gone away')
    equal(done.out, '')


def test_report_folders():
    for shape in sorted(path.name for path in REPORTS.iterdir() if path.is_dir()):
        for view in ('overview', 'conditions', 'events', 'timeline'):
            done = ctl('report', REPORTS / shape, '--view', view).ok()
            assert '\x1b' not in done.out and done.out.endswith('\n')
            json.loads(ctl('report', REPORTS / shape, '--view', view, '--json').ok().out)
    contains(ctl('report', 'nothing-here').fails(4).err, 'nothing-here')
    contains(ctl('report', './12').fails(4).err, './12')
    with folder() as home:
        contains(ctl('report', home).fails(4).err, 'is no report')
        (home / 'overview.pb').write_bytes(b'\xff' * 100)
        contains(ctl('report', home).ok().out, 'interrupted')


def test_report_says_what_its_options_want():
    path = REPORTS / 'finished'
    for words, code, part in (
            (['--view', 'condition'], 2, 'conditions'), (['--view', 'x'], 2, 'timeline'),
            (['--view', 'conditions', '--sort', 'size'], 2, 'total'), (['--view', 'events', '--sort', 'p99'], 2, 'p99'),
            (['--sort', 'total'], 2, '--view'), (['--view', 'events', '--since', '1s'], 2, 'timeline'),
            (['--view', 'conditions', '--top', '0'], 2, '--top'), (['--view', 'timeline', '--limit', '-1'], 2, '--limit'),
            (['--view', 'timeline', '--since', '5'], 2, 'unit'), (['--view', 'conditions', '--filter', 'kind=imag'], 2, 'image'),
            (['--view', 'events', '--event', 'giveup'], 4, 'give up'), (['--view', 'events', '--event', 'zzz'], 4, 'zzz')):
        contains(ctl('report', path, *words).fails(code).err, part)


def test_report_chooses():
    path = REPORTS / 'finished'

    def names(*words):
        shown = ctl('report', path, '--json', *words).json()
        return [row.get('name') or row.get('event') for row in shown.get('conditions') or shown.get('events')
                or shown.get('occurrences')]
    equal(names('--view', 'conditions', '--sort', 'name', '--top', '2'), ['30 s', 'error icon'])
    equal(names('--view', 'conditions', '--event', 'close popup'), ['popup', 'orange'])
    equal(names('--view', 'conditions', '--filter', 'kind=image', '--filter', 'error'), ['error icon', 'restart'])
    equal(names('--view', 'events'), ['close popup', 'error', 'give up', 'told'])
    equal(names('--view', 'events', '--sort', 'total', '--top', '1'), ['error'])
    equal(names('--view', 'timeline', '--limit', '2'), ['give up', 'give up'])
    equal(names('--view', 'timeline', '--since', '3s', '--until', '10min'), ['close popup', 'give up'])
    equal(names('--view', 'timeline', '--event', 'give up', '--event', 'close popup', '--limit', '3'),
          ['close popup', 'give up', 'give up'])


def test_report_names_are_as_promised():
    """The names that the manual promises, and what follows from others."""
    path = REPORTS / 'finished'
    session = ctl('report', path, '--json').json()['session']
    time_tree = session['time']
    processing = time_tree['processing']
    equal(processing['total_ns'], processing['conditions_ns'] + processing['actions']['total_ns'] + processing['engine_ns'])
    equal(time_tree['duration_ns'], sum(time_tree[name] for name in (
        'frame_wait_ns', 'frame_get_ns', 'limiter_wait_ns', 'safety_wait_ns', 'report_wait_ns', 'other_ns'))
        + processing['total_ns'])
    assert {'id', 'scenario', 'state', 'reason', 'result', 'started', 'ended', 'duration_ns', 'passes', 'frames', 'missed_passes',
            'lost_occurrences', 'clock_pair_ns', 'gaps', 'not_evaluable', 'time'} <= set(session)
    conditions = ctl('report', path, '--json', '--view', 'conditions').json()['conditions']
    promised = {'id', 'event', 'name', 'kind', 'checks', 'fulfilled', 'reused', 'total_ns', 'min_ns', 'max_ns', 'max_pass',
                'average_ns', 'stddev_ns', 'p50_ns', 'p90_ns', 'p99_ns', 'share', 'reused_total_ns', 'shared_ns'}
    for row in conditions:
        assert promised <= set(row), promised - set(row)
        if row['checks'] == 0:
            equal({name: row[name] for name in promised if row[name] is not None and name not in ('id', 'event', 'name', 'kind')},
                  {'checks': 0, 'fulfilled': 0, 'reused': 0, 'total_ns': 0, 'share': 0, 'reused_total_ns': 0, 'shared_ns': 0})
        else:
            assert row['min_ns'] <= row['p50_ns'] <= row['p90_ns'] <= row['p99_ns'] <= row['max_ns'], row
            assert row['min_ns'] <= row['average_ns'] <= row['max_ns'], row
    assert abs(sum(row['share'] for row in conditions) - 1) < 1e-9
    equal([row['name'] for row in conditions if row['checks'] == 0], ['restart', 'go'])
    events = ctl('report', path, '--json', '--view', 'events').json()['events']
    promised = {'id', 'name', 'kind', 'evaluated', 'fulfilled', 'disabled', 'cooling', 'ended_before', 'first_ns', 'last_ns',
                'mean_gap_ns', 'conditions_ns', 'share', 'detecting_ns', 'checking_ns', 'acting_ns'}
    for row in events:
        assert promised <= set(row), promised - set(row)
    occurrences = ctl('report', path, '--json', '--view', 'timeline').json()['occurrences']
    for row in occurrences:
        assert {'at_ns', 'event', 'pass', 'detecting_ns', 'checking_ns', 'acting_ns', 'conditions', 'counters', 'event_states',
                'actions'} <= set(row)
    equal(occurrences[0]['actions'][0], {'kind': 'click', 'x': 120, 'y': -4, 'duration_ns': 50_000_000, 'skipped': False,
                                        'text': None})


# --- finding the socket --------------------------------------------------------------------------------------------------

def test_the_socket_is_found():
    running = answer({'sessions': control.Sessions()})
    with fake(running) as path:
        ctl('list', environment={'CONDPROF_SOCKET': path}).ok()
        ctl('--socket', path, 'list', environment={'CONDPROF_SOCKET': '/nonexistent'}).ok()
        ctl('list', environment={'CONDPROF_SOCKET': '/nonexistent'}).fails(3)


def as_nobody(*words, environment):
    skip_unless(os.geteuid() == 0, 'needs root, to be somebody else')
    try:
        nobody = pwd.getpwnam('nobody')
    except KeyError as missing:
        raise Skip('there is no user nobody') from missing
    done = subprocess.run([CONDPROFCTL, *words], capture_output=True, text=True, user=nobody.pw_uid, group=nobody.pw_gid,
                          extra_groups=[], env={'PATH': '/usr/bin', **environment}, timeout=PATIENCE, check=False)
    skip_unless(done.returncode not in (126, 127), 'the build is not readable for others')
    return done


def test_a_users_own_daemon_comes_first():
    with folder() as home:
        os.chmod(home, 0o755)
        (home / 'condprof').mkdir(mode=0o755)
        with fake(answer({'sessions': control.Sessions()})) as path:
            os.symlink(path, home / 'condprof' / 'control.sock')
            try:
                done = as_nobody('list', environment={'XDG_RUNTIME_DIR': str(home)})
            except PermissionError as error:
                raise Skip(f'the build is not readable for others: {error}') from error
            equal(done.returncode, 0, done.stderr)
        done = as_nobody('list', environment={'XDG_RUNTIME_DIR': str(home / 'nothing')})
        contains(done.stderr, f'{home}/nothing/condprof/control.sock or /run/condprof/control.sock')


def test_a_socket_that_may_not_be_used():
    with fake(answer()) as path:
        os.chmod(path, 0o600)
        try:
            done = as_nobody('list', environment={'CONDPROF_SOCKET': path})
        except PermissionError as error:
            raise Skip(f'the build is not readable for others: {error}') from error
        equal(done.returncode, 7, done.stderr)
        contains(done.stderr, path)


run(globals())
