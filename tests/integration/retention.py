# SPDX-License-Identifier: GPL-3.0-or-later
"""Old reports give way by number and by size, oldest first, never a running one, never the newest; ids never repeat."""

from condprof_test import (Daemon, Refused, color_condition, contains, control, counter_action, endless_scenario, equal, event,
                           make_scenario, png, run, until, write_frames)

MIB = 1024 * 1024


def frames(daemon):
    return write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))])


def busy(daemon):
    return make_scenario('busy', screen=frames(daemon) + '?loop=1', counters={'seen': 0}, screen_events=[
        event('always', [color_condition('black', 0x000000)], [counter_action('seen')])])


def short(daemon, client, passes=5):
    return client.start(busy(daemon), max_passes=passes, wait=True).id


def ids(client):
    return [session.id for session in client.list()]


def test_by_number():
    with Daemon(config={'max-reports': 3}) as daemon, daemon.client() as client:
        running = client.start(endless_scenario(frames(daemon)))
        started = [short(daemon, client) for _ in range(6)]
        # the running one is the oldest and stays; it counts
        until(lambda: ids(client) == [running] + started[-2:], 'two that are left')
        client.stop(running)
        newest = short(daemon, client)
        until(lambda: ids(client) == started[-2:] + [newest], 'the oldest, now ended, to go')
        daemon.wait_log(f'report {running} was removed to make room')
        try:
            client.report(running)
            raise AssertionError('read')
        except Refused as refused:
            equal(refused.code, control.NO_SUCH_SESSION)
        equal(sorted(path.name for path in (daemon.state / 'reports').iterdir()), sorted(map(str, ids(client))))


def test_by_size():
    with Daemon(config={'max-report-bytes': '2 MiB', 'max-messages-bytes': '1 MiB'}) as daemon, daemon.client() as client:
        started = [short(daemon, client, 20000) for _ in range(5)]
        until(lambda: ids(client) == started[-len(ids(client)):] and len(ids(client)) < 5, 'the oldest to go')
        taken = sum(path.stat().st_size for path in (daemon.state / 'reports').glob('*/*'))
        assert 512 * 1024 < taken <= 2 * MIB, taken


def test_unknown_files_are_left_alone():
    with Daemon(config={'max-reports': 1}) as daemon, daemon.client() as client:
        first = short(daemon, client)
        notes = daemon.state / 'reports' / str(first) / 'notes.txt'
        notes.write_text('mine')
        (daemon.state / 'reports' / 'lost+found').mkdir()
        (daemon.state / 'reports' / '0007').mkdir()
        second = short(daemon, client)
        until(lambda: ids(client) == [second], 'the first to go')
        equal((daemon.state / 'reports' / f'{first}.kept' / 'notes.txt').read_text(), 'mine')
        assert (daemon.state / 'reports' / 'lost+found').is_dir() and (daemon.state / 'reports' / '0007').is_dir()


def test_ids_never_repeat():
    with Daemon() as daemon:
        with daemon.client() as client:
            newest = [short(daemon, client) for _ in range(3)][-1]
            quiet = client.start(busy(daemon), max_passes=1, wait=True, no_report=True).id
            equal(quiet, newest + 1)
            equal(client.delete(newest), [newest])
        daemon.stop()
        daemon.start()
        with daemon.client() as client:
            equal(short(daemon, client), quiet + 1)
        daemon.stop()
        # whatever became of the mark, no folder's id is given again
        (daemon.state / 'ids').write_text('rubbish')
        daemon.start()
        contains(daemon.log(), 'ids is damaged')
        with daemon.client() as client:
            equal(short(daemon, client), quiet + 2)


def test_damaged_folders_are_listed():
    with Daemon() as daemon, daemon.client() as client:
        whole = short(daemon, client)
        reports = daemon.state / 'reports'
        for number in range(50, 55):
            (reports / str(number)).mkdir()
        (reports / '51' / 'overview.pb').write_bytes(b'\xff' * 100)
        (reports / '52' / 'overview.pb').mkdir()
        (reports / '53' / 'messages.pb').symlink_to('/dev/zero')
        (reports / '54' / 'overview.pb').symlink_to('/dev/zero')
        listed = client.list()
        equal([session.id for session in listed], [whole, 50, 51, 52, 53, 54])
        for number in range(50, 55):
            equal(client.report(number, messages=True).messages, [])
        equal(client.delete(50, 51, 53, 54), [50, 51, 53, 54])
        equal(ids(client)[0], whole)


run(globals())
