# SPDX-License-Identifier: GPL-3.0-or-later
"""The state folder on a small tmpfs of its own that runs full: sessions go on, what is lost is counted everywhere, and
overview and aggregates are whole all the same. Needs the right to mount (root, or a user namespace)."""

import contextlib
import errno
import os
import pathlib
import subprocess

from condprof_test import (Daemon, Refused, color_condition, contains, control, counter_action, event, folder,
                           make_scenario, need_program, png, report, run, scenario, skip_unless, until, write_frames)

MIB = 1024 * 1024
MOUNT = 'mount -t tmpfs -o size="$1",mode=0700 condprof-test "$2" && shift 2 && exec "$@"'


def mount_prefix(size, path):
    """Words before a program that give it a mount namespace with a tmpfs at path."""
    unshare = need_program('unshare')
    for options in (['--mount'], ['--mount', '--map-root-user']):
        prefix = [unshare, *options, 'sh', '-c', MOUNT, 'sh', str(size), str(path)]
        if subprocess.run(prefix + ['true'], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return prefix
    skip_unless(False, 'neither root nor a user namespace may mount a tmpfs here')
    return None


@contextlib.contextmanager
def small_daemon(size, **options):
    """A daemon whose state folder has `size` bytes; .disk is that folder, seen from here."""
    with folder() as home:
        (home / 'state').mkdir()
        with Daemon(state=home / 'state', prefix=mount_prefix(size, home / 'state'), **options) as daemon:
            daemon.disk = pathlib.Path(f'/proc/{daemon.process.pid}/root{home}/state')
            yield daemon


def fill(path):
    """Takes all room there is."""
    with open(path, 'ab', buffering=0) as ballast:
        for size in (MIB // 4, 4096, 1):
            try:
                while True:
                    ballast.write(b'x' * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC, error


def busy_scenario(daemon, passes_per_second=0, more_conditions=0):
    """An occurrence a pass that counts, before events that never have their turn."""
    uri = write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))])
    message = make_scenario('busy', screen=uri + '?loop=1', counters={'seen': 0}, screen_events=[
        event('always', [color_condition('black', 0x000000)], [counter_action('seen')])])
    message.screen_events.extend(event(f'never {n}', [color_condition(f'red {n}', 0xff0000)]) for n in range(more_conditions))
    if passes_per_second:
        message.rate.passes, message.rate.per_ns = passes_per_second, 1_000_000_000
    return message


def state(client, session):
    return client.status(session)[0]


def occurrences(kept):
    return [message.image_event for message in kept.messages if message.HasField('image_event')]


def check_whole(kept, ended):
    """Overview and aggregates agree, every occurrence is there or counted, and the counter's story has no hole."""
    overview = kept.overview
    assert overview.state == report.FINISHED, overview
    assert overview.frame_count == ended.passes, (overview.frame_count, ended.passes)
    assert overview.lost_occurrences == ended.lost_occurrences, (overview.lost_occurrences, ended.lost_occurrences)
    assert len(kept.checks()) == len(kept.aggregates.condition_details.conditions) == len(kept.names()[0])
    told = kept.aggregates.condition_details.events[0]
    there = len(occurrences(kept)) + overview.lost_occurrences + overview.dropped_occurrences
    assert there == told.fulfilled, (there, told.fulfilled, overview)
    # the pass that a stop cuts off may be without its check, its occurrence without its action
    assert overview.frame_count - 1 <= told.fulfilled <= kept.checks()['black'] <= overview.frame_count, (
        told, kept.checks(), overview)
    value, last = None, kept.messages[-1:]
    for message in kept.messages:
        if message.HasField('counters_init'):
            value = message.counters_init.counters[0].initial_value
        elif message.HasField('image_event') and (message.image_event.counter_changes or [message] != last):
            change = message.image_event.counter_changes[0]
            assert change.old_value == value, f'{change} after {value}'
            value = change.new_value


def test_disk_full_by_the_session_itself():
    with small_daemon(MIB) as daemon, daemon.client() as client:
        session = client.start(busy_scenario(daemon))
        until(lambda: state(client, session).lost_occurrences > 1000, 'lost occurrences')
        before = state(client, session).passes
        until(lambda: state(client, session).passes > before + 1000, 'the session to go on')
        running = client.report(session, messages=True)
        assert running.overview.state == report.RUNNING and running.overview.lost_occurrences > 1000, running.overview
        assert len(occurrences(running)) > 1000
        ended = client.stop(session)[0]
        assert not ended.report_error, ended
        assert ended.lost_occurrences > 1000
        check_whole(client.report(session, messages=True), ended)
        contains(daemon.log(), 'occurrences of the report lost', 'No space left on device')
        lost = [kept.lost_occurrences for kept in client.list()]
        assert lost == [ended.lost_occurrences], lost


def test_room_again():
    with small_daemon(2 * MIB) as daemon, daemon.client() as client:
        ballast = daemon.disk / 'ballast'
        session = client.start(busy_scenario(daemon))
        until(lambda: (daemon.disk / 'reports' / str(session) / 'messages.pb').stat().st_size > 1000, 'messages')
        until(lambda: fill(ballast) or state(client, session).lost_occurrences > 100, 'lost occurrences')
        ballast.unlink()
        messages = daemon.disk / 'reports' / str(session) / 'messages.pb'
        size = messages.stat().st_size
        until(lambda: messages.stat().st_size > size + 10000, 'the report to go on')
        ended = client.stop(session)[0]
        kept = client.report(session, messages=True)
        check_whole(kept, ended)
        inits = [message for message in kept.messages if message.HasField('counters_init')]
        assert len(inits) > 1, 'the values after the loss are not there'


def test_disk_full_by_others():
    """Whatever else takes all room, the reserve is the report's own: also that of many conditions."""
    with small_daemon(8 * MIB) as daemon, daemon.client() as client:
        sessions = [client.start(busy_scenario(daemon, 100, more)) for more in (0, 20, 1000)]
        for session in sessions:
            until(lambda session=session: state(client, session).passes > 10, 'some passes')
        fill(daemon.disk / 'ballast')
        for session in sessions:
            before = state(client, session).passes
            until(lambda session=session, before=before: state(client, session).passes > before + 10, 'more passes')
        for session in sessions:
            fill(daemon.disk / 'ballast')
            ended = client.stop(session)[0]
            assert not ended.report_error, ended
            check_whole(client.report(session, messages=True), ended)
        assert all(kept.state == report.FINISHED for kept in client.list())


def test_checkpoints_on_a_full_disk():
    """Each is written over the one before the last: a kill costs ten seconds, as ever."""
    with small_daemon(4 * MIB) as daemon, daemon.client() as client:
        session = client.start(busy_scenario(daemon, 100))
        checkpoint = daemon.disk / 'reports' / str(session) / 'checkpoint.pb'
        until(checkpoint.exists, 'the first checkpoint')
        fill(daemon.disk / 'ballast')
        first = checkpoint.read_bytes()
        until(lambda: checkpoint.read_bytes() != first, 'a checkpoint on a full disk', 60)
        second = checkpoint.read_bytes()
        until(lambda: checkpoint.read_bytes() not in (first, second), 'another one', 60)
        assert 'checkpoint.pb could not be written' not in daemon.log(), daemon.log()
        client.stop(session)


def test_no_session_is_started_on_a_full_disk():
    with small_daemon(MIB) as daemon, daemon.client() as client:
        fill(daemon.disk / 'ballast')
        try:
            client.start(busy_scenario(daemon))
            raise AssertionError('started')
        except Refused as refused:
            assert refused.code == control.IO, refused
            contains(str(refused), 'full', '--no-report')
        assert not list((daemon.disk / 'reports').iterdir())
        # an id there is all the same
        session = client.start(busy_scenario(daemon, 100), no_report=True)
        assert session > 1, session
        client.stop(session)
        (daemon.disk / 'ballast').unlink()
        session = client.start(busy_scenario(daemon, 100))
        ended = client.stop(session)[0]
        check_whole(client.report(session, messages=True), ended)


def test_a_rotation_without_room():
    """It fails, and everything is as before; once there is room, the next one succeeds."""
    with small_daemon(2 * MIB) as daemon, daemon.client() as client:
        session = client.start(busy_scenario(daemon, 100))
        until(lambda: state(client, session).passes > 10, 'some passes')
        fill(daemon.disk / 'ballast')
        for _ in range(2):
            try:
                client.call(rotate=control.RotateRequest())
                raise AssertionError('rotated')
            except Refused as refused:
                assert refused.code == control.IO, refused
                contains(str(refused), 'full', f'Session {session} goes on')
        before = state(client, session)
        assert (before.id, before.state) == (session, report.RUNNING), before
        until(lambda: state(client, session).passes > before.passes + 10, 'more passes')
        assert [kept.id for kept in client.list()] == [session]
        assert [path.name for path in (daemon.disk / 'reports').iterdir()] == [str(session)]
        (daemon.disk / 'ballast').unlink()
        rotated = client.call(rotate=control.RotateRequest()).rotated
        assert rotated.closed.id == session and rotated.session > session, rotated
        check_whole(client.report(session, messages=True), rotated.closed)
        # and once more while there is none: closing needs no room
        fill(daemon.disk / 'ballast')
        ended = client.stop()[0]
        assert not ended.report_error, ended
        kept = client.report(ended.id, messages=True)
        check_whole(kept, ended)
        assert kept.overview.continues_session == session, kept.overview


if __name__ == '__main__':
    run(globals())
