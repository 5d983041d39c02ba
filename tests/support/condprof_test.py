# SPDX-License-Identifier: GPL-3.0-or-later
"""What every integration test shares: TAP output, a real daemon on sockets and folders of its own, a client that speaks
the protocol by Python's protobuf runtime, and makers of frames and scenarios.

A test file is a list of functions named test_...; `run(globals())` at its end runs them in order and prints TAP.
Nothing here sleeps for a fixed time: it waits for READY, for a reply, or for a condition with `until()`. Whatever a
test starts ends with it, by its own process id.
"""

import atexit
import contextlib
import ctypes
import faulthandler
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib

SOURCE = pathlib.Path(os.environ.get('top_srcdir') or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get('top_builddir') or os.getcwd())


def _for_others():
    """A folder with the programs and this module that other users can read: the build itself, or (a checkout in root's
    home, say) a copy that goes with this process."""
    reach = [BUILD / 'condprofd', BUILD / 'tests/support', SOURCE / 'tests/support']
    folders = {parent for path in reach for parent in path.resolve().parents}
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in folders):
        return BUILD, [str(SOURCE / 'tests/support'), str(BUILD / 'tests/support')]
    copy = pathlib.Path(tempfile.mkdtemp(prefix='cp-'))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    for path in (BUILD / 'condprofd', BUILD / 'condprofctl', *(SOURCE / 'tests/support').glob('*.py'),
                 *(BUILD / 'tests/support').glob('*_pb2.py')):
        if path.exists():
            shutil.copy(path, copy)
    return copy, [str(copy)]


PROGRAMS, SUPPORT_FOR_OTHERS = _for_others()
CONDPROFD = str(PROGRAMS / 'condprofd')
CONDPROFCTL = str(PROGRAMS / 'condprofctl')
PATIENCE = float(os.environ.get('CONDPROF_TEST_PATIENCE', '60'))  # s; sanitizers on a busy machine are slow

if str(BUILD / 'tests' / 'support') not in sys.path:
    sys.path.insert(0, str(BUILD / 'tests' / 'support'))
try:
    import control_pb2 as control
    import report_pb2 as report
    import scenario_pb2 as scenario
except ImportError as missing:  # protoc or python3-protobuf is not there
    control = report = scenario = None
    PROTOBUF_MISSING = str(missing)

MS = 1_000_000
SECOND = 1_000_000_000


# --- TAP -------------------------------------------------------------------------------------------------------------

class Skip(Exception):
    """Ends a test that cannot run here; the reason is printed."""


def skip_unless(condition, why):
    if not condition:
        raise Skip(why)


def need_program(name):
    path = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
    skip_unless(path, f'{name} is not installed')
    return path


def sanitized():
    """Whether the daemon was built with a sanitizer: its memory and threads are then not its own."""
    return 'sanitizers=no' not in run_program(CONDPROFD, '--version').out


def note(*words):
    """A diagnostic line: in the log, never a result."""
    for line in ' '.join(str(word) for word in words).splitlines():
        print('#', line, flush=True)


def run(names, limit_s=300):
    """Runs every test_... of a module in order and exits. A test that hangs is cut off with all stacks printed."""
    tests = [(name, value) for name, value in names.items() if name.startswith('test_') and callable(value)]
    only = sys.argv[1:]
    if only:
        tests = [(name, value) for name, value in tests if name in only or name[5:] in only]
    if control is None:
        print(f'1..0 # SKIP no Python protocol: {PROTOBUF_MISSING}')
        sys.exit(0)
    print(f'1..{len(tests)}', flush=True)
    faulthandler.dump_traceback_later(limit_s, exit=True)
    failed = 0
    for number, (name, function) in enumerate(tests, 1):
        title = name[5:].replace('_', ' ')
        begin = time.monotonic()
        try:
            function()
            print(f'ok {number} - {title}', flush=True)
        except Skip as why:
            print(f'ok {number} - {title} # SKIP {why}', flush=True)
        except BaseException as error:  # pylint: disable=broad-except
            failed += 1
            note(traceback.format_exc())
            print(f'not ok {number} - {title}', flush=True)
            if isinstance(error, KeyboardInterrupt):
                break
        if os.environ.get('CONDPROF_TEST_TIMES'):
            note(f'{title}: {time.monotonic() - begin:.2f} s')
    faulthandler.cancel_dump_traceback_later()
    sys.exit(1 if failed else 0)


def equal(got, wanted, what=''):
    assert got == wanted, f'{what + ": " if what else ""}got {got!r}, wanted {wanted!r}'


def contains(text, *parts):
    for part in parts:
        assert part in text, f'{part!r} is not in {text!r}'


def until(condition, what='a condition', patience_s=None):
    """Waits until condition() is true, and returns what it returned."""
    deadline = time.monotonic() + (patience_s or PATIENCE)
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f'waited in vain for {what}'
        time.sleep(0.005)


@contextlib.contextmanager
def folder():
    """A temporary folder that goes away; short, because socket paths are."""
    path = pathlib.Path(tempfile.mkdtemp(prefix='cp-', dir=os.environ.get('CONDPROF_TEST_TMP', '/tmp')))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def end_with_parent():
    """For preexec_fn: SIGTERM when this process is gone, also when it was killed and could not say so."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


# --- the daemon ------------------------------------------------------------------------------------------------------

SANITIZER_MARKS = ('ERROR: AddressSanitizer', 'ERROR: LeakSanitizer', 'WARNING: ThreadSanitizer', 'runtime error:')

_running = []


def _kill_leftovers():
    for process in _running:
        if process.poll() is None:
            process.kill()
            process.wait()


atexit.register(_kill_leftovers)


class Daemon:
    """A condprofd of the build. `with Daemon() as daemon:` starts it, waits for READY, and at the end stops it by
    SIGTERM and demands exit code 0 and a clean sanitizer log.

    config: lines of its configuration file (a dict or text); state, socket: paths, default in a folder of its own;
    prefix: words before the program (strace, setpriv, systemd-socket-activate); environment: added variables;
    leave_out: of the options state-dir, config and socket, those that are not given.
    """

    def __init__(self, config='', state=None, socket_path=None, arguments=(), environment=None, prefix=(),
                 wait_ready=True, leave_out=()):
        self._home = contextlib.ExitStack()
        self.home = self._home.enter_context(folder())
        os.chmod(self.home, 0o755)
        self.state = pathlib.Path(state or self.home / 'state')
        self.socket_path = str(socket_path or self.home / 'socket')
        self.log_path = self.home / 'log'
        self.config_path = self.home / 'condprofd.conf'
        self.write_config(config)
        self.arguments, self.prefix, self.wait_ready = list(arguments), list(prefix), wait_ready
        self.leave_out = leave_out
        self.environment = environment or {}
        self.notified = []
        self.process = self._notify = None

    def write_config(self, config):
        if isinstance(config, dict):
            config = ''.join(f'{key} = {value}\n' for key, value in config.items())
        self.config_path.write_text(config)

    def command(self):
        options = {'state-dir': self.state, 'config': self.config_path, 'socket': self.socket_path}
        words = [word for name, value in options.items() if name not in self.leave_out for word in (f'--{name}', str(value))]
        return self.prefix + [CONDPROFD] + words + self.arguments

    def start(self):
        notify_path = self.home / 'notify'
        self.notified = []
        with contextlib.suppress(FileNotFoundError):
            notify_path.unlink()
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(str(notify_path))
        os.chmod(notify_path, 0o777)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(('CONDPROF_SOCKET', 'XDG_', 'LISTEN_', 'WATCHDOG_', 'JOURNAL_STREAM', 'DBUS_',
                                           'CREDENTIALS_'))}
        environment.update(NOTIFY_SOCKET=str(notify_path), LC_ALL='C.UTF-8')
        environment.update(self.environment)
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, preexec_fn=end_with_parent)
        _running.append(self.process)
        if self.wait_ready:
            self.wait_notified('READY=1')
        return self

    def poll_notify(self):
        """Takes over what the daemon told its service manager meanwhile."""
        self._notify.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.notified += self._notify.recv(4096).decode().splitlines()
        return self.notified

    def wait_notified(self, line):
        def told():
            ended = self.process.poll()
            if line in self.poll_notify():
                return True
            assert ended is None, f'condprofd ended with {ended} before {line}:\n{self.log()}'
            return False
        until(told, line)

    def log(self):
        return self.log_path.read_text(errors='replace') if self.log_path.exists() else ''

    def wait_log(self, text):
        until(lambda: text in self.log(), f'{text!r} in the log:\n{self.log()}')

    def signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self):
        code = self.process.wait(PATIENCE)
        _running.remove(self.process)
        self._notify.close()
        return code

    def stop(self):
        """SIGTERM, and all must be well."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        code = self.wait_exit()
        self.check_log()
        assert code == 0, f'condprofd ended with {code}:\n{self.log()}'

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait_exit()

    def check_log(self):
        log = self.log()
        assert not any(mark in log for mark in SANITIZER_MARKS), log

    def client(self, hello=True):
        return Client(self.socket_path, hello=hello)

    def ctl(self, *words, **options):
        """condprofctl against this daemon; see ctl()."""
        return ctl('--socket', self.socket_path, *words, **options)

    def resident_kib(self):
        for line in pathlib.Path(f'/proc/{self.process.pid}/status').read_text().splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1])
        raise AssertionError('no VmRSS')

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__(AssertionError, None, None)
            raise

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                if self.process in _running:
                    self.stop()
            else:
                if self.process in _running:
                    self.kill()
                note(f'log of condprofd:\n{self.log()[-6000:]}')
        finally:
            if self._notify:
                self._notify.close()
            self._home.close()


class HungServer:
    """Something on a display's TCP port that takes connections and says nothing."""

    def __enter__(self):
        self.socket = socket.socket()
        for number in range(200, 900):
            try:
                self.socket.bind(('127.0.0.1', 6000 + number))
                break
            except OSError:
                continue
        self.socket.listen()
        self.display = f'127.0.0.1:{number}'
        self.uri = f'x11:{self.display}'
        return self

    def __exit__(self, *_):
        self.socket.close()


class Result:
    """What a command printed and how it ended."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def ok(self):
        assert self.code == 0, f'exit code {self.code}\n{self.out}\n{self.err}'
        return self

    def fails(self, code):
        assert self.code == code, f'exit code {self.code}, wanted {code}\n{self.out}\n{self.err}'
        return self

    def json(self):
        return json.loads(self.ok().out)


def run_program(*words, environment=None, cwd=None, stdin=None, timeout_s=None):
    names = {name: value for name, value in os.environ.items() if not name.startswith('CONDPROF_SOCKET')}
    names.update(LC_ALL='C.UTF-8', COLUMNS='120')
    names.update(environment or {})
    options = {'input': stdin} if stdin is not None else {'stdin': subprocess.DEVNULL}
    done = subprocess.run([str(word) for word in words], env=names, cwd=cwd, text=True, errors='replace',
                          capture_output=True, timeout=timeout_s or PATIENCE, check=False, **options)
    assert not any(mark in done.stderr for mark in SANITIZER_MARKS), done.stderr
    return Result(done)


def ctl(*words, **options):
    return run_program(CONDPROFCTL, *words, **options)


# --- the protocol ----------------------------------------------------------------------------------------------------

def varint(number):
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7f
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def frame(message):
    """Length and body, as on the socket and in the files."""
    body = message if isinstance(message, bytes) else message.SerializeToString()
    return varint(len(body)) + body


def take_frame(data):
    """(body, rest), or (None, data) when the first frame of data is not complete."""
    length = shift = 0
    for place, byte in enumerate(data):
        length |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            begin = place + 1
            if len(data) < begin + length:
                break
            return bytes(data[begin:begin + length]), data[begin + length:]
    return None, data


def frames(data):
    """The bodies of all complete frames."""
    bodies = []
    while data:
        body, data = take_frame(data)
        if body is None:
            break
        bodies.append(body)
    return bodies


class Refused(Exception):
    """The daemon answered with an Error."""

    def __init__(self, error):
        super().__init__(f'{control.Code.Name(error.code)}: {error.message}' + (f' ({error.place})' if error.place else ''))
        self.error, self.code = error, error.code


class Closed(Exception):
    """The daemon closed the connection."""


class Client:
    """A connection. call() sends a request and returns its last reply; replies() yields all of them."""

    def __init__(self, path, hello=True, timeout_s=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout_s or PATIENCE)
        self.socket.connect(str(path))
        self.buffer, self.next_id, self.waiting = bytearray(), 1, []
        self.hello = self.call(hello=control.Hello(major=1, minor=0, client='condprof tests')).hello if hello else None

    def send_bytes(self, data):
        self.socket.sendall(data)

    def send(self, **body):
        """Sends a request, returns its id."""
        number = self.next_id
        self.next_id += 1
        self.send_bytes(frame(control.Request(id=number, **body)))
        return number

    def receive(self):
        """The next reply, whatever request it answers."""
        while True:
            body, rest = take_frame(self.buffer)
            if body is not None:
                self.buffer = bytearray(rest)
                return control.Reply.FromString(body)
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b''
            if not data:
                raise Closed()
            self.buffer += data

    def reply_to(self, number):
        """The next reply to that request, or an error about the connection; others are kept."""
        for reply in self.waiting:
            if reply.id == number:
                self.waiting.remove(reply)
                return reply
        while True:
            reply = self.receive()
            if reply.id == number or (reply.HasField('error') and not reply.HasField('id')):
                return reply
            self.waiting.append(reply)

    def replies(self, number):
        while True:
            reply = self.reply_to(number)
            if reply.WhichOneof('body') == 'error':
                raise Refused(reply.error)
            yield reply
            if reply.last:
                return

    def call(self, **body):
        *_, last = self.replies(self.send(**body))
        return last

    def closed(self):
        """Whether the daemon ends the connection without another reply."""
        try:
            self.receive()
        except Closed:
            return True
        return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- requests that a test makes all the time

    def upload(self, message, what=None, chunk=48 * 1024, **options):
        """Begin and all chunks; returns the request's id."""
        data = message if isinstance(message, bytes) else message.SerializeToString()
        begin = control.Begin(upload=control.START if what is None else what, size=len(data))
        if options:
            begin.options.CopyFrom(control.StartOptions(**options))
        number = self.send(begin=begin)
        for place in range(0, len(data), chunk):
            self.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=data[place:place + chunk]))))
        return number

    def start(self, message, **options):
        """Starts a session, returns its id; with wait=True its Session instead."""
        replies = list(self.replies(self.upload(message, **options)))
        return replies[-1].sessions.sessions[0] if options.get('wait') else replies[0].started.session

    def check(self, message):
        return list(self.replies(self.upload(message, control.CHECK)))[-1].checked

    def sessions(self, **body):
        return [session for reply in self.replies(self.send(**body)) for session in reply.sessions.sessions]

    def status(self, session=None):
        return self.sessions(status=control.StatusRequest(session=session))

    def list(self):
        return self.sessions(list=control.ListRequest())

    def wait(self, session):
        return self.sessions(wait=control.WaitRequest(session=session))[0]

    def stop(self, session=None, everything=None):
        return self.sessions(stop=control.StopRequest(session=session, all=everything))

    def delete(self, *numbers):
        return list(self.call(delete=control.DeleteRequest(sessions=numbers)).deleted.sessions)

    def emit(self, name):
        return list(self.call(emit=control.EmitRequest(broadcast=name)).emitted.sessions)

    def report(self, session=None, **request):
        return Report(self.replies(self.send(report=control.ReportRequest(session=session, **request))))


class Report:
    """A report as the stream carries it, decoded."""

    def __init__(self, replies):
        parts = {part: bytearray() for part in range(4)}
        self.session, order = None, []
        for reply in replies:
            chunk = reply.report
            self.session = chunk.session if chunk.HasField('session') else self.session
            if chunk.HasField('part'):
                parts[chunk.part] += chunk.data
                order.append(chunk.part)
        assert order == sorted(order), f'parts out of order: {order}'
        self.raw = parts
        self.scenario = scenario.Scenario.FromString(bytes(parts[control.PART_SCENARIO]))
        self.overview = report.DebugReportOverview.FromString(bytes(parts[control.PART_OVERVIEW]))
        self.aggregates = report.DebugReportMessage.FromString(bytes(parts[control.PART_AGGREGATES]))
        self.messages = [report.DebugReportMessage.FromString(body) for body in frames(parts[control.PART_MESSAGES])]

    def names(self):
        """Condition and event names by id."""
        events = list(self.scenario.screen_events) + list(self.scenario.trigger_events)
        return ({condition.id: condition.name for event in events for condition in event.conditions},
                {event.id: event.name for event in events})

    def checks(self):
        """Check count by condition name."""
        names, _ = self.names()
        return {names[timing.condition_id]: timing.check_count for timing in self.aggregates.condition_profile.conditions}


# --- frames and scenarios --------------------------------------------------------------------------------------------

def png(width, height, pixel):
    """Bytes of an RGB PNG; pixel is a colour (r, g, b) or a function of x, y."""
    color = pixel if callable(pixel) else lambda x, y: pixel
    rows = b''.join(b'\0' + bytes(part for x in range(width) for part in color(x, y)) for y in range(height))

    def piece(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + piece(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))
            + piece(b'IDAT', zlib.compress(rows)) + piece(b'IEND', b''))


def texture(x, y):
    """A pattern without repeats that image conditions can find."""
    value = (x * 7919 + y * 104729 + x * y * 31) & 0xffff
    return (value & 0xff, value >> 8, (value * 37 >> 3) & 0xff)


def write_frames(path, pictures):
    """A replay folder: the PNG bytes of `pictures` in name order. Returns its URI."""
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(pictures, 1):
        (path / 'new').write_bytes(data)  # whole or not at all, for a session that reads there already
        (path / 'new').rename(path / f'{number:05d}.png')
    os.chmod(path, 0o755)
    return f'replay:{path}'


def area(x, y, width, height):
    return scenario.Area(x=x, y=y, width=width, height=height)


def color_condition(name, rgb, place=(0, 0, 8, 8), **fields):
    return scenario.Condition(name=name, color=scenario.ColorCondition(rgb=rgb, area=area(*place), **fields))


def image_condition(name, data, **fields):
    return scenario.Condition(name=name, image=scenario.ImageCondition(file=name + '.png', png=data, **fields))


def timer_condition(name, duration_ns, repeat=False):
    return scenario.Condition(name=name, timer=scenario.TimerCondition(duration_ns=duration_ns, repeat=repeat))


def counter_condition(name, counter, comparison, number):
    return scenario.Condition(name=name, counter=scenario.CounterCondition(
        counter=counter, comparison=comparison, operand=scenario.Operand(number=number)))


def broadcast_condition(name, broadcast=None):
    return scenario.Condition(name=name, broadcast=scenario.BroadcastCondition(broadcast=broadcast or name))


def counter_action(counter, number=1, operation=0):
    return scenario.Action(counter=scenario.CounterAction(counter=counter, operation=operation,
                                                          operand=scenario.Operand(number=number)))


def pause_action(duration_ns):
    return scenario.Action(pause=scenario.PauseAction(duration_ns=duration_ns))


def click_action(x, y):
    return scenario.Action(click=scenario.ClickAction(position=scenario.Point(x=x, y=y)))


def stop_action(text='', failed=False):
    return scenario.Action(stop=scenario.StopAction(text=[scenario.TextPart(literal=text)] if text else [],
                                                    result=scenario.RESULT_FAILED if failed else scenario.RESULT_OK))


def event(name, conditions, actions=(), **fields):
    return scenario.Event(name=name, conditions=conditions, actions=actions, **fields)


def make_scenario(name, screen=None, screen_events=(), trigger_events=(), counters=None, unlimited=True, **fields):
    """A Scenario message; without a limiter unless told."""
    message = scenario.Scenario(name=name, screen_events=screen_events, trigger_events=trigger_events, **fields)
    if screen:
        message.screen = screen
    if unlimited and not message.HasField('rate'):
        message.rate.passes = 0
        message.rate.per_ns = SECOND
    for counter, value in (counters or {}).items():
        message.counters.add(name=counter, initial_value=value)
    return message


def endless_scenario(screen, name='endless', passes_per_second=100):
    """Runs until it is stopped: looks for a colour that is not there, on a replay that begins again."""
    return make_scenario(
        name, screen=screen + ('&' if '?' in screen else '?') + 'loop=1', unlimited=False,
        rate=scenario.Rate(passes=passes_per_second, per_ns=SECOND),
        screen_events=[event('never', [color_condition('no such colour', 0xff00ff, threshold=0)])],
        trigger_events=[event('told', [broadcast_condition('go')], [counter_action('told')])], counters={'told': 0})
