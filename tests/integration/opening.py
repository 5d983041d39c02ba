# SPDX-License-Identifier: GPL-3.0-or-later
"""Screens that take their time: an X server that accepts and never answers. Sessions on it are starting for up to 10 s, and
hold up nobody."""

import sys
import time

from condprof_test import (CONDPROFD, Daemon, HungServer, Refused, contains, control, endless_scenario, equal, note, png, report, run,
                           run_program, until, write_frames)

_daemon = None


def starting(client, server, **options):
    """Begins a session that hangs while it opens; returns the request and the session's id, which status knows already."""
    before = {entry.id for entry in client.status()}
    number = client.upload(endless_scenario(_daemon.black), screen=server.uri, **options)
    entry = until(lambda: [entry for entry in client.status() if entry.id not in before], 'a starting session')[0]
    equal(report.SessionState.Name(entry.state), 'STARTING')
    return number, entry.id


def test_a_hung_screen_holds_up_nobody():
    with HungServer() as server, _daemon.client() as client, _daemon.client() as other:
        begin = time.monotonic()
        number, session = starting(client, server)
        for _ in range(3):
            equal(other.start(endless_scenario(_daemon.black), max_passes=2, wait=True).passes, 2)
        assert session in [entry.id for entry in other.list()]
        assert time.monotonic() - begin < 6, 'held up'
        reply = client.reply_to(number)
        note(f'given up after {time.monotonic() - begin:.1f} s: {reply.error.message}')
        equal(control.Code.Name(reply.error.code), 'SCREEN_FAILED')
        assert 7 < time.monotonic() - begin < 30
        equal(client.status(), [])
        equal(report.SessionState.Name(client.status(session)[0].state), 'FAILED')
        assert session not in [entry.id for entry in client.list()]  # nothing of it is kept
        assert not (_daemon.state / 'reports' / str(session)).exists()


def test_a_starting_session_can_be_stopped_at_once():
    with HungServer() as server, _daemon.client() as client, _daemon.client() as other:
        number, session = starting(client, server)
        begin = time.monotonic()
        stopped = other.stop(session)
        took = time.monotonic() - begin
        note(f'stopped after {took * 1000:.1f} ms')
        assert took < 5, took
        equal([(entry.id, report.SessionState.Name(entry.state), entry.reason) for entry in stopped],
              [(session, 'FINISHED', report.REASON_STOPPED)])
        equal(client.reply_to(number).WhichOneof('body'), 'error')
        number, session = starting(client, server)
        waiting = other.send(wait=control.WaitRequest(session=session))
        equal([entry.id for entry in other.stop(everything=True)], [session])
        equal(other.reply_to(waiting).sessions.sessions[0].id, session)
        client.reply_to(number)


def test_two_sessions_do_not_share_an_input():
    with HungServer() as server, _daemon.client() as client:
        _, session = starting(client, server)
        for display in (server.display, server.display + '.0', 'tcp/' + server.display, server.display.replace(':', ':0')):
            try:
                client.start(endless_scenario(_daemon.black), input=f'x11:{display}')
                raise AssertionError('shared')
            except Refused as why:
                equal(control.Code.Name(why.code), 'INPUT_FAILED')
                contains(str(why), f'session {session} uses')
        # log: may be shared, and a dry run uses none.
        client.start(endless_scenario(_daemon.black), input='log:', max_passes=1, wait=True)
        dry, _ = starting(client, server, dry_run=True)
        client.stop(everything=True)
        client.reply_to(dry)


def test_the_daemon_stops_while_a_session_starts():
    with HungServer() as server, Daemon() as daemon:
        client = daemon.client()
        client.upload(endless_scenario(_daemon.black), screen=server.uri)
        until(client.status, 'a starting session')
        begin = time.monotonic()
        daemon.stop()
        assert time.monotonic() - begin < 5


def test_a_client_that_leaves_while_its_session_starts():
    with HungServer() as server:
        client = _daemon.client()
        _, session = starting(client, server)
        client.close()
        with _daemon.client() as other:
            equal([entry.id for entry in other.status()], [session])
            other.stop(session)


if __name__ == '__main__':
    if ' x11' not in run_program(CONDPROFD, '--version').out.split('screens:')[1]:
        print('1..0 # SKIP x11 is not built')
        sys.exit(0)
    with Daemon() as _daemon:
        _daemon.black = write_frames(_daemon.home / 'black', [png(16, 16, (0, 0, 0))])
        try:
            run(globals())
        except SystemExit as done:
            code = done.code
        if code:
            note(_daemon.log()[-5000:])
    raise SystemExit(code)
