# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that are many, silent, slow, greedy, or nobody's friends: the daemon serves the others as if they were not
there, and its memory stays where it is."""

import contextlib
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
import zlib

from condprof_test import (BUILD, MS, SOURCE, Daemon, color_condition, contains, control, counter_action, counter_condition,
                           endless_scenario, equal, event, frame, image_condition, make_scenario, need_program, note, png, report,
                           run, sanitized, scenario, skip_unless, stop_action, SUPPORT_FOR_OTHERS, until, write_frames)

_daemon = None


def works():
    with _daemon.client() as client:
        client.status()
        client.list()


def state_line(daemon, wanted):
    """Asks the daemon for its state until a line of it has `wanted`."""
    def seen():
        before = len(daemon.log())
        daemon.signal(signal.SIGUSR1)
        until(lambda: 'state:' in daemon.log()[before:], 'a state line')
        return wanted in daemon.log()[before:]
    until(seen, wanted)


def long_report(client, occurrences):
    """A session with a report of so many occurrences; returns its id."""
    return client.start(make_scenario(
        'long report', screen=_daemon.black + '?loop=1', counters={'n': 0},
        screen_events=[event('black seen', [color_condition('black', 0)], [counter_action('n')])],
        trigger_events=[event('enough', [counter_condition('count', 'n', scenario.GREATER_OR_EQUAL, occurrences)],
                              [stop_action()])]), wait=True).id


def test_two_hundred_clients_at_once():
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(_daemon.client()) for _ in range(200)]
        session = clients[0].start(endless_scenario(_daemon.black))
        numbers = [client.send(wait=control.WaitRequest(session=session)) for client in clients]
        for client in clients:
            equal([entry.id for entry in client.status()], [session])
        clients[7].stop(session)
        for client, number in zip(clients, numbers):
            equal(client.reply_to(number).sessions.sessions[0].reason, report.REASON_STOPPED)
    state_line(_daemon, '0 clients')


def test_clients_beyond_the_limit_wait_their_turn():
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(_daemon.client()) for _ in range(512)]
        waiting = [stack.enter_context(_daemon.client(hello=False)) for _ in range(5)]
        for client in waiting:
            client.send(hello=control.Hello(major=1))
            client.send(status=control.StatusRequest())
        equal(select.select([client.socket for client in waiting], [], [], 0.2)[0], [])
        clients[0].status()
        for client in clients[:5]:
            client.close()
        for client in waiting:
            equal(client.receive().WhichOneof('body'), 'hello')
    works()


def test_a_client_that_says_nothing():
    begin = time.monotonic()
    silent, half = _daemon.client(hello=False), _daemon.client(hello=False)
    half.send_bytes(b'\x20abc')
    works()
    for client in (silent, half):
        reply = client.receive()
        equal(control.Code.Name(reply.error.code), 'BAD_REQUEST')
        contains(reply.error.message, 'Hello')
        assert client.closed()
    assert time.monotonic() - begin > 9, 'too early'


def test_a_client_that_never_reads_a_report():
    with _daemon.client() as client:
        session = long_report(client, 30000)
        size = sum(path.stat().st_size for path in (_daemon.state / 'reports' / str(session)).iterdir())
        assert size > 1 << 20, size
        before = _daemon.resident_kib()
        greedy = [_daemon.client() for _ in range(10)]
        for other in greedy:
            for _ in range(20):
                other.send(report=control.ReportRequest(session=session, messages=True))
        for _ in range(20):
            client.status()
        got = client.report(session, messages=True)
        assert len(got.messages) >= 30000
        grown = _daemon.resident_kib() - before
        note(f'{len(greedy)} clients that ask for 20 reports of {size >> 10} KiB each and read none: {grown} KiB more')
        assert sanitized() or grown < 24 * 1024, grown
        # One of them reads after all, and gets everything.
        received = 0
        for number in range(2, 22):
            for reply in greedy[0].replies(number):
                received += len(reply.report.data)
        assert received > 20 * size * 0.9, (received, size)
        for other in greedy:
            other.close()
    state_line(_daemon, ' 0 bytes for them to read')


def test_a_client_that_asks_and_never_reads():
    client = _daemon.client()
    client.socket.setblocking(False)
    data, sent = frame(control.Request(id=1, status=control.StatusRequest())) * 1000, 0
    with contextlib.suppress(BlockingIOError):
        while sent < 64 << 20:
            sent += client.socket.send(data)
        raise AssertionError('it is read without end')
    note(f'{sent >> 10} KiB of requests taken before the daemon stopped reading')
    works()
    client.close()
    works()


def large_image(side):
    """A PNG whose decoding takes its time, made quickly: every row is the same."""
    def piece(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    row = b'\0' + bytes(x * 7 % 251 for x in range(3 * side))
    return (b'\x89PNG\r\n\x1a\n' + piece(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0))
            + piece(b'IDAT', zlib.compress(row * side, 1)) + piece(b'IEND', b''))


def test_scenarios_with_large_images_keep_nobody_waiting():
    image = large_image(2000)
    large = make_scenario('large', screen=_daemon.black, screen_events=[
        event('seen', [image_condition(f'image {number}', image) for number in range(8)])])
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(_daemon.client())
        clients = [stack.enter_context(_daemon.client()) for _ in range(4)]
        numbers = [client.upload(large, control.CHECK) for client in clients]
        other.list()
        answered = len(select.select([client.socket for client in clients], [], [], 0)[0])
        for client, number in zip(clients, numbers):
            equal(client.reply_to(number).checked.conditions, 8)
        assert answered < 3, f'the list came after {answered} of 4 scenarios were decoded'


def test_a_flood_does_not_keep_others_waiting():
    floods = [_daemon.client() for _ in range(4)]
    for flood in floods:
        flood.socket.setblocking(False)
    data = frame(control.Request(id=1, status=control.StatusRequest())) * 5000
    times, answered, client = [], 0, _daemon.client()
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        for flood in floods:
            with contextlib.suppress(BlockingIOError):
                flood.socket.send(data[:64 * len(data) // 5000])
            with contextlib.suppress(BlockingIOError):
                answered += len(flood.socket.recv(1 << 20))
        begin = time.perf_counter_ns()
        client.status()
        times.append(time.perf_counter_ns() - begin)
    times.sort()
    note(f'status beside 4 floods ({answered >> 10} KiB of answers): p50 {times[len(times) // 2] / MS:.3f} ms, '
         f'p99 {times[len(times) * 99 // 100] / MS:.3f} ms')
    for flood in floods:
        flood.close()


def test_a_client_that_is_gone_while_it_waits():
    with _daemon.client() as client:
        session = client.start(endless_scenario(_daemon.black))
        for _ in range(30):
            other = _daemon.client()
            other.send(wait=control.WaitRequest(session=session))
            other.send(report=control.ReportRequest(messages=True))
            other.send(list=control.ListRequest())
            other.close()
        state_line(_daemon, 'state: 1 clients')
        client.stop(session)


def test_a_client_that_only_waits_for_its_last_answer():
    with _daemon.client() as client:
        session = client.start(endless_scenario(_daemon.black))
        other = _daemon.client()
        other.send(wait=control.WaitRequest(session=session))
        other.socket.shutdown(1)  # no more requests: what nc and the like do
        client.status()
        client.stop(session)
        equal(other.receive().sessions.sessions[0].id, session)
        assert other.closed()
        third = _daemon.client()
        session = client.start(endless_scenario(_daemon.black))
        third.send(wait=control.WaitRequest(session=session))
        third.socket.shutdown(1)
        client.status()
        third.close()  # and then it is gone altogether: noticed within a second
        state_line(_daemon, 'state: 1 clients')
        client.stop(session)


def test_out_of_descriptors():
    with Daemon(prefix=['/bin/sh', '-c', 'ulimit -n 40; exec "$@"', 'sh']) as daemon:
        clients = []
        for _ in range(60):
            clients.append(daemon.client(hello=False))
            clients[-1].send(hello=control.Hello(major=1))
        daemon.wait_log('no more clients for now')
        equal(clients[0].receive().WhichOneof('body'), 'hello')
        for client in clients[:40]:
            client.close()
        for client in clients[40:]:
            equal(client.receive().WhichOneof('body'), 'hello')
            client.close()


# --- who may ---------------------------------------------------------------------------------------------------------

AS_OTHER = '''
import sys
sys.path[:0] = sys.argv[3:]
from condprof_test import *
try:
    with Client(sys.argv[1]) as client:
        print('hello', client.hello.control)
        for name, call in (('status', client.status), ('list', client.list), ('stop', lambda: client.stop(everything=True)),
                           ('emit', lambda: client.emit('go')), ('delete', lambda: client.delete(1)),
                           ('start', lambda: client.start(b'x')),
                           ('try', lambda: list(client.replies(client.upload(b'x', control.TRY)))),
                           ('capture', lambda: client.call(capture=control.CaptureRequest()))):
            try:
                call()
                print(name, 'done')
            except Refused as why:
                print(name, control.Code.Name(why.code))
except Refused as why:
    print('connect', why)
except Closed:
    print('closed')
'''


def as_user(daemon, user, *groups):
    """What a user may: lines of a small client run as that user."""
    setpriv = need_program('setpriv')
    words = [setpriv, f'--reuid={user}', f'--regid={user}', f'--groups={",".join(map(str, groups))}' if groups
             else '--clear-groups', sys.executable, '-c', AS_OTHER, daemon.socket_path, '', *SUPPORT_FOR_OTHERS]
    done = subprocess.run(words, capture_output=True, text=True, cwd='/', check=False, timeout=60,
                          env=dict(os.environ, top_srcdir=str(SOURCE), top_builddir=str(BUILD)))
    if 'ModuleNotFoundError' in done.stderr or 'Permission denied' in done.stderr:
        skip_unless(False, 'the source or build folder cannot be read by other users')
    equal(done.returncode, 0, done.stderr)
    return dict(line.split(' ', 1) for line in done.stdout.splitlines())


def test_who_may_do_what():
    skip_unless(os.geteuid() == 0, 'needs root to be other users')
    with Daemon(config={'control-group': 54321, 'observe-group': 54322}) as daemon:
        everything = {'hello': 'True', 'status': 'done', 'list': 'done', 'stop': 'done', 'emit': 'NO_SUCH_SESSION',
                      'delete': 'NO_SUCH_SESSION', 'start': 'BAD_REQUEST', 'try': 'BAD_REQUEST',
                      'capture': 'NO_SUCH_SESSION'}
        looking = {'hello': 'False', 'status': 'done', 'list': 'done', 'stop': 'DENIED', 'emit': 'DENIED',
                   'delete': 'DENIED', 'start': 'DENIED', 'try': 'DENIED', 'capture': 'DENIED'}
        equal(as_user(daemon, 0), everything)
        equal(as_user(daemon, 1234, 54321), everything)
        equal(as_user(daemon, 54321), everything)           # its own group, not a supplementary one
        equal(as_user(daemon, 1234, 7, 54322, 9), looking)
        equal(as_user(daemon, 1234, 54322, 54321), everything)
        stranger = as_user(daemon, 1234, 7)
        equal(list(stranger), ['connect'])
        contains(stranger['connect'], 'DENIED', '1234', '54321')


def test_a_users_own_daemon():
    skip_unless(os.geteuid() == 0, 'needs root to be other users')
    setpriv = need_program('setpriv')
    with Daemon(prefix=[setpriv, '--reuid=1234', '--regid=1234', '--clear-groups'], wait_ready=False) as daemon:
        os.chown(daemon.home, 1234, 1234)
        daemon.wait_notified('READY=1')
        equal(as_user(daemon, 1234)['hello'], 'True')
        equal(as_user(daemon, 0)['hello'], 'True')
        equal(list(as_user(daemon, 4321)), ['connect'])


def test_strangers_are_told_before_anything_is_read():
    skip_unless(os.geteuid() == 0, 'needs root to be other users')
    setpriv = need_program('setpriv')
    script = '''
import socket, sys
for first in (b"\\xff\\xff\\xff\\xff", b"\\x05", b"\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80"):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(first)
    data = b""
    while True:
        got = s.recv(4096)
        if not got:
            break
        data += got
    assert b"1234" in data, data
print("told")
'''
    done = subprocess.run([setpriv, '--reuid=1234', '--regid=1234', '--clear-groups', sys.executable, '-c', script,
                           _daemon.socket_path], capture_output=True, text=True, check=False, cwd='/', timeout=60)
    equal((done.stdout, done.stderr), ('told\n', ''))


def test_strangers_cannot_take_the_places():
    skip_unless(os.geteuid() == 0, 'needs root to be other users')
    setpriv = need_program('setpriv')
    script = '''
import socket, sys
socks = []
for _ in range(600):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    socks.append(s)
print("there", flush=True)
sys.stdin.read()
'''
    crowd = subprocess.Popen([setpriv, '--reuid=1234', '--regid=1234', '--clear-groups', sys.executable, '-c', script,
                              _daemon.socket_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd='/')
    try:
        equal(crowd.stdout.readline(), 'there\n')
        works()
    finally:
        crowd.communicate('')


if __name__ == '__main__':
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with Daemon() as _daemon:
        _daemon.black = write_frames(_daemon.home / 'black', [png(16, 16, (0, 0, 0))])
        try:
            run(globals())
        except SystemExit as done:
            code = done.code
        if code:
            note(_daemon.log()[-5000:])
    raise SystemExit(code)
