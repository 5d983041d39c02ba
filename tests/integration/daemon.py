# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon's own life: its options and configuration, whom it leaves the socket and the state folder to, what signals
do, and what it costs while nothing runs."""

import os
import pathlib
import re
import signal
import socket
import time

from condprof_test import (CONDPROFD, PATIENCE, SOURCE, Closed, Daemon, Refused, contains, control, endless_scenario, equal,
                           folder, frame, need_program, note, png, report, run, run_program, sanitized, skip_unless, until, write_frames)

BLACK = png(16, 16, (0, 0, 0))


def condprofd(*words, **options):
    return run_program(CONDPROFD, *words, **options)


def frames(daemon):
    return write_frames(daemon.home / 'frames', [BLACK])


# --- options and configuration ----------------------------------------------------------------------------------------

def test_version_and_help():
    out = condprofd('--version').ok().out
    assert re.match(r'condprofd \S+\nprotocol: 1\.\d+\nbuilt: .*x11=', out), out
    contains(out, 'screens: replay', 'inputs: log')
    out = condprofd('--help').ok().out
    for option in ('--socket', '--state-dir', '--config', '--check-config', '--version', '--help'):
        contains(out, option)


def test_wrong_options():
    for words in (['--nonsense'], ['extra'], ['--socket'], ['-x'], ['--version=1'], ['--socket', ''], ['--state-dir='], ['--config', '']):
        result = condprofd(*words).fails(2)
        equal(result.out, '')
        contains(result.err, '--help')


def test_every_option_is_in_the_man_page():
    page = (SOURCE / 'docs' / 'condprofd.8').read_text().replace('\\-', '-')
    for option in re.findall(r'^ +(--[a-z-]+)', condprofd('--help').out, re.M):
        contains(page, option)


def test_every_key_is_in_the_man_page_and_the_packaged_file():
    text = (SOURCE / 'daemon' / 'system' / 'configuration.c').read_text()
    keys = re.findall(r'"([a-z-]+)"', re.search(r'keys\[\] = \{(.*?)\};', text, re.S).group(1))
    assert len(keys) >= 8, keys
    page = (SOURCE / 'docs' / 'condprofd.conf.5').read_text().replace('\\-', '-')
    packaged = (SOURCE / 'systemd' / 'condprofd.conf').read_text()
    for key in keys:
        contains(page, f'.B {key}\n')
        assert re.search(f'^#?{key} = ', packaged, re.M), key


def test_check_config():
    with folder() as home:
        good = home / 'good.conf'
        good.write_text('# a comment\n\n  control-group = 0  \nobserve-group=root\nlog-level = debug\n'
                        'frame-folders = /srv/frames:/var/tmp\nmax-reports = 10\nmax-report-bytes = 1 GiB\n'
                        'rotate = 24 h\nmax-messages-bytes = 16M\nxauthority = /root/.Xauthority\n')
        contains(condprofd('--check-config', '--config', good).ok().out, 'good.conf')
        condprofd('--check-config', '--config', home / 'missing.conf').fails(1)
        contains(condprofd('--check-config', '--config', home).fails(1).err, 'not a regular file')
        condprofd('--check-config').ok()  # the default file need not exist
        condprofd('--check-config', '--config', '/dev/null').ok()


def test_standard_descriptors_that_are_closed():
    with Daemon(prefix=['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh'], config={'log-level': 'debug'}) as daemon:
        with daemon.client() as client:
            client.start(endless_scenario(frames(daemon)), max_passes=3, wait=True)
        for number in range(3):
            equal(os.readlink(f'/proc/{daemon.process.pid}/fd/{number}'), '/dev/null')


def test_every_mistake_has_its_place():
    with folder() as home:
        bad = home / 'bad.conf'
        bad.write_text('control-grup = root\nlog-level\nlog-level = loud\nmax-reports = many\nmax-reports = 3\n'
                       'max-report-bytes = 1 KiB\nframe-folders = frames\nobserve-group = no-such-group-here\n= 3\nxauthority =\nrotate = daily\n')
        err = condprofd('--check-config', '--config', bad).fails(1).err
        lines = err.splitlines()
        equal([line.split(': ')[0] for line in lines], [f'{bad}:{number}' for number in range(1, 12)])
        contains(lines[0], "'control-grup'", "'control-group'")
        contains(lines[1], 'key = value')
        contains(lines[2], 'debug')
        contains(lines[4], 'already')
        contains(lines[6], 'absolute')
        contains(lines[7], 'no-such-group-here')
        contains(lines[10], "'daily'", '24 h', 'never')
        bad.write_bytes(b'log-level = in\0fo\n')
        contains(condprofd('--check-config', '--config', bad).fails(1).err, ':1: ', 'NUL')
        bad.write_text('x = 1\n' * 100)
        contains(condprofd('--check-config', '--config', bad).fails(1).err, 'and 80 more')
        bad.write_text('#' * (1 << 20) + '\n')
        contains(condprofd('--check-config', '--config', bad).fails(1).err, '1 MiB')
        contains(condprofd('--config', bad, '--state-dir', home / 'state', '--socket', home / 's').fails(1).err, '1 MiB')
        assert not (home / 'state').exists()


def test_drop_ins_come_after_the_file_in_name_order():
    with folder() as home:
        main = home / 'condprofd.conf'
        main.write_text('log-level = error\n')
        drops = home / 'condprofd.conf.d'
        drops.mkdir()
        (drops / '10-a.conf').write_text('log-level = debug\n')
        (drops / '20-b.conf').write_text('log-level = warning\n')
        (drops / 'README').write_text('not read')
        (drops / '.hidden.conf').write_text('not read')
        condprofd('--check-config', '--config', main).ok()
        (drops / '15-c.conf').write_text('\nnonsense = 1\n')
        contains(condprofd('--check-config', '--config', main).fails(1).err, '15-c.conf:2: ')


def test_log_level_and_reload():
    with Daemon(config={'log-level': 'warning'}) as daemon:
        assert 'listens' not in daemon.log()
        daemon.write_config('log-level = debug\n')
        daemon.signal(signal.SIGHUP)
        daemon.wait_log('again')
        with daemon.client():
            daemon.wait_log('condprof tests')
        daemon.write_config('log-level = deafening\n')
        daemon.signal(signal.SIGHUP)
        daemon.wait_log('stays as it was')
        contains(daemon.log(), 'condprofd.conf:1:', 'deafening')
        with daemon.client() as client:
            equal(client.status(), [])


def test_frame_folders():
    with folder() as home:
        (home / 'allowed').mkdir()
        os.chmod(home, 0o755)
        inside = write_frames(home / 'allowed' / 'x', [BLACK])
        outside = write_frames(home / 'forbidden', [BLACK])
        with Daemon(config={'frame-folders': home / 'allowed'}) as daemon, daemon.client() as client:
            client.start(endless_scenario(inside), max_passes=1, wait=True)
            for screen in (outside, f'replay:{home}/allowed/../forbidden'):
                try:
                    client.start(endless_scenario(screen), max_passes=1, wait=True)
                    raise AssertionError(f'{screen} was opened')
                except Refused as why:
                    assert why.code in (control.SCREEN_FAILED, control.DENIED, control.BAD_REQUEST), why
            # After a reload the key is gone, and the session that was refused may run.
            daemon.write_config('')
            daemon.signal(signal.SIGHUP)
            daemon.wait_log('again')
            client.start(endless_scenario(outside), max_passes=1, wait=True)


# --- the socket and the state folder ----------------------------------------------------------------------------------

def test_a_second_daemon_on_a_live_socket():
    with Daemon() as daemon, folder() as home:
        result = condprofd('--socket', daemon.socket_path, '--state-dir', home / 'state').fails(1)
        contains(result.err, daemon.socket_path, 'another')
        with daemon.client() as client:
            equal(client.status(), [])


def test_a_second_daemon_on_a_live_state_folder():
    with Daemon() as daemon, folder() as home:
        result = condprofd('--socket', home / 's', '--state-dir', daemon.state).fails(1)
        contains(result.err, str(daemon.state))
        assert not (home / 's').exists()
        with daemon.client() as client:
            equal(client.status(), [])


def test_a_stale_socket_is_taken_over():
    with Daemon() as daemon:
        daemon.kill()
        assert os.path.exists(daemon.socket_path)
        daemon.start()
        daemon.wait_log('stale')
        with daemon.client() as client:
            equal(client.status(), [])


def test_a_stale_socket_of_somebody_else():
    with folder() as home:
        path = home / 's'
        other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        other.bind(str(path))
        other.listen()
        contains(condprofd('--socket', path, '--state-dir', home / 'state').fails(1).err, 'listens')
        other.close()
        with Daemon(socket_path=path) as daemon, daemon.client() as client:
            equal(client.status(), [])


def test_what_is_no_socket_stays():
    with folder() as home:
        path = home / 's'
        path.write_text('precious')
        contains(condprofd('--socket', path, '--state-dir', home / 'state').fails(1).err, 'not a socket')
        equal(path.read_text(), 'precious')


def test_a_socket_path_that_cannot_be():
    with folder() as home:
        contains(condprofd('--socket', home / ('x' * 120), '--state-dir', home / 'state').fails(1).err, 'longer')
        contains(condprofd('--socket', home / 'no' / 's', '--state-dir', home / 'state').fails(1).err, 'No such file')


def test_the_socket_goes_with_the_daemon_but_not_another_ones():
    with Daemon() as daemon:
        daemon.stop()
        assert not os.path.exists(daemon.socket_path)
        daemon.start()
        os.unlink(daemon.socket_path)
        pathlib.Path(daemon.socket_path).write_text('not ours')
        daemon.stop()
        equal(pathlib.Path(daemon.socket_path).read_text(), 'not ours')


def test_default_paths_of_a_user():
    prefix = []
    with folder() as home:
        if os.geteuid() == 0:
            prefix = [need_program('setpriv'), '--reuid=1234', '--regid=1234', '--clear-groups']
            os.chown(home, 1234, 1234)
        runtime, state = home / 'condprof', home / 'state' / 'condprof'
        with Daemon(prefix=prefix, leave_out=('state-dir', 'config', 'socket'), socket_path=runtime / 'control.sock',
                    environment={'XDG_RUNTIME_DIR': str(home), 'XDG_STATE_HOME': str(home / 'state'),
                                 'XDG_CONFIG_HOME': str(home / 'config')}) as daemon:
            with daemon.client() as client:
                equal(client.status(), [])
            equal((runtime.stat().st_mode & 0o777, state.stat().st_mode & 0o777), (0o700, 0o700))
        with Daemon(prefix=prefix, leave_out=('socket',), state=home / 'other', socket_path=home / 'named',
                    environment={'CONDPROF_SOCKET': str(home / 'named')}) as daemon, daemon.client() as client:
            equal(client.status(), [])
        # Its configuration is its own, not the system's.
        (home / 'conf' / 'condprof').mkdir(parents=True)
        (home / 'conf' / 'condprof' / 'condprofd.conf').write_text('nonsense = 1\n')
        result = run_program(*prefix, CONDPROFD, '--check-config', environment={'XDG_CONFIG_HOME': str(home / 'conf')})
        if os.geteuid() != 0 or prefix:
            contains(result.fails(1).err, 'conf/condprof/condprofd.conf:1: ', 'nonsense')
        run_program(*prefix, CONDPROFD, '--check-config', environment={'XDG_CONFIG_HOME': str(home / 'none')}).ok()
        for name, wanted in (('socket', 'XDG_RUNTIME_DIR'), ('state-dir', 'XDG_STATE_HOME')):
            words = prefix + [CONDPROFD] + (['--state-dir', home / 'third'] if name == 'socket' else ['--socket', home / 'x'])
            if prefix:
                result = run_program(*prefix, 'env', '-i', *words[len(prefix):]).fails(1)
                contains(result.err, wanted, f'--{name}')


def listens(path):
    try:
        socket.socket(socket.AF_UNIX).connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    return True


def test_socket_activation():
    activate = need_program('systemd-socket-activate')
    with folder() as home:
        path = home / 's'
        with Daemon(socket_path=path, leave_out=('socket',), wait_ready=False,
                    prefix=[activate, '--listen', str(path), '--setenv=NOTIFY_SOCKET']) as daemon:
            until(lambda: listens(path), 'the socket')
            with daemon.client() as client:
                equal(client.status(), [])
            daemon.wait_log('service manager')
            daemon.stop()
        assert path.exists()  # not ours to remove


# --- signals ----------------------------------------------------------------------------------------------------------

def test_sigterm_ends_sessions_and_answers_who_waits():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Daemon() as daemon:
            client, other = daemon.client(), daemon.client()
            sessions = [client.start(endless_scenario(frames(daemon))) for _ in range(3)]
            waiting = [other.send(wait=control.WaitRequest(session=session)) for session in sessions]
            other.status()
            begin = time.monotonic()
            daemon.signal(number)
            for session, request in zip(sessions, waiting):
                ended = other.reply_to(request).sessions.sessions[0]
                equal((ended.id, ended.reason), (session, report.REASON_DAEMON_STOPPED))
            assert client.closed() and other.closed()
            equal(daemon.wait_exit(), 0)
            note(f'{signal.Signals(number).name} with 3 sessions: {(time.monotonic() - begin) * 1000:.0f} ms')
            contains('\n'.join(daemon.notified), 'READY=1')
            daemon.start()
            with daemon.client() as after:
                equal([(entry.id, report.SessionState.Name(entry.state), entry.reason) for entry in after.list()],
                      [(session, 'FINISHED', report.REASON_DAEMON_STOPPED) for session in sessions])


def test_no_new_session_while_it_stops():
    with Daemon() as daemon:
        client = daemon.client()
        data = endless_scenario(frames(daemon)).SerializeToString()
        number = client.send(begin=control.Begin(size=len(data)))
        client.status()
        daemon.signal(signal.SIGTERM)
        until(lambda: 'STOPPING=1' in daemon.poll_notify(), 'STOPPING')
        client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=data))))
        try:
            reply = client.reply_to(number)
            equal(control.Code.Name(reply.error.code), 'STOPPING_DAEMON')
        except Closed:
            pass  # it was quicker
        equal(daemon.wait_exit(), 0)
        daemon.check_log()


def test_a_client_that_does_not_read_holds_up_no_stop():
    with Daemon() as daemon:
        client = daemon.client()
        client.socket.setblocking(False)
        try:
            while True:
                client.socket.send(frame(control.Request(id=1, status=control.StatusRequest())) * 1000)
        except BlockingIOError:
            pass
        begin = time.monotonic()
        daemon.stop()
        assert time.monotonic() - begin < PATIENCE / 2


def test_a_second_signal_hurries():
    with Daemon() as daemon:
        client = daemon.client()
        client.start(endless_scenario(frames(daemon)))
        daemon.signal(signal.SIGTERM)
        daemon.signal(signal.SIGINT)
        equal(daemon.wait_exit(), 0)
        daemon.check_log()


def test_interrupted_sessions_are_said_at_the_next_start():
    with Daemon() as daemon:
        with daemon.client() as client:
            finished = client.start(endless_scenario(frames(daemon)), max_passes=2, wait=True).id
            killed = client.start(endless_scenario(frames(daemon)))
            until(lambda: client.status(killed)[0].passes > 2, 'passes')
        daemon.kill()
        daemon.start()
        daemon.wait_log('interrupted')
        contains(daemon.log(), f': {killed}\n')
        with daemon.client() as client:
            equal([(entry.id, report.SessionState.Name(entry.state), report.EndReason.Name(entry.reason), entry.HasField('result'))
                   for entry in client.list()],
                  [(finished, 'FINISHED', 'REASON_PASSES', True), (killed, 'INTERRUPTED', 'REASON_DAEMON_DIED', False)])
            equal(client.wait(killed).state, report.INTERRUPTED)
            equal(client.report(killed).scenario.name, 'endless')
            client.delete(killed)
            assert client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True).id > killed


def test_kill_9_at_any_moment_leaves_the_state_folder_usable():
    with Daemon() as daemon:
        seen = 0
        for turn in range(12):
            client = daemon.client()
            for _ in range(3):
                client.upload(endless_scenario(frames(daemon)), max_passes=1 + turn)
            time.sleep(turn * 0.004)  # the moments differ; nothing depends on them
            daemon.kill()
            daemon.start()
            with daemon.client() as after:
                listed = after.list()
                for entry in listed:
                    assert entry.state in (report.FINISHED, report.INTERRUPTED), entry
                    got = after.report(entry.id, messages=True)
                    if entry.state == report.FINISHED:
                        equal(got.overview.frame_count, entry.passes)
                ids = [entry.id for entry in listed]
                equal(ids, sorted(set(ids)))
                assert len(ids) >= seen
                seen = len(ids)


# --- the service manager, and what it costs -----------------------------------------------------------------------------

def test_what_the_service_manager_is_told():
    with Daemon() as daemon:
        daemon.poll_notify()
        equal(daemon.notified, ['STATUS=no session runs', 'READY=1'])
        with daemon.client() as client:
            session = client.start(endless_scenario(frames(daemon)))
            daemon.wait_notified(f'STATUS=1 session: {session} endless')
            other = client.start(endless_scenario(frames(daemon)))
            daemon.wait_notified(f'STATUS=2 sessions: {session} endless, {other} endless')
            client.stop(session)
            daemon.wait_notified(f'STATUS=1 session: {other} endless')
            client.stop(other)
            until(lambda: daemon.poll_notify()[-1] == 'STATUS=no session runs', 'the end of it')
        equal(daemon.notified.count('READY=1'), 1)
        daemon.signal(signal.SIGTERM)
        daemon.process.wait(PATIENCE)
        equal(daemon.poll_notify()[-2:], ['STOPPING=1', 'STATUS=stopping 0 sessions'])


def test_a_name_is_no_line_for_the_service_manager():
    with Daemon() as daemon, daemon.client() as client:
        message = endless_scenario(frames(daemon))
        for name in ('a\nMAINPID=1', 'long ' * 50, 'ü' * 120):
            message.name = name
            try:
                session = client.start(message)
            except Refused:
                continue  # no such name gets that far
            until(lambda: daemon.poll_notify()[-1].startswith(f'STATUS=1 session: {session} {name[:1]}'), name)
            client.stop(session)
            until(lambda: daemon.poll_notify()[-1] == 'STATUS=no session runs', 'the end of it')
        assert all(line.startswith('STATUS=') or line == 'READY=1' for line in daemon.notified), daemon.notified


def test_the_service_manager_hears_of_a_reload():
    with Daemon() as daemon:
        for config in ('log-level = debug\n', 'nonsense = 1\n'):
            daemon.notified.clear()
            daemon.write_config(config)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            daemon.signal(signal.SIGHUP)
            daemon.wait_notified('READY=1')
            equal([line.split('=')[0] for line in daemon.notified], ['RELOADING', 'MONOTONIC_USEC', 'READY'])
            assert before <= int(daemon.notified[1].split('=')[1]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        # However many are asked for, what was written before the last one is what holds.
        daemon.write_config('max-reports = 7\n')
        for _ in range(50):
            daemon.signal(signal.SIGHUP)
        daemon.write_config('frame-folders = /nowhere\n')
        daemon.signal(signal.SIGHUP)

        def refuses():
            with daemon.client() as client:
                try:
                    client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True)
                except Refused:
                    return True
            return False
        until(refuses, 'the last configuration')

        def ready_again():
            lines = daemon.poll_notify()
            return 'READY=1' in lines[len(lines) - lines[::-1].index('RELOADING=1'):]
        until(ready_again, 'READY after the last of them')


def test_what_is_kept_follows_a_reload():
    with Daemon() as daemon, daemon.client() as client:
        for _ in range(5):
            client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True)
        equal(len(client.list()), 5)
        daemon.write_config('max-reports = 2\nmax-messages-bytes = 1 MiB\n')
        daemon.notified.clear()
        daemon.signal(signal.SIGHUP)
        daemon.wait_notified('READY=1')
        equal([entry.id for entry in client.list()], [4, 5])
        client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True)
        until(lambda: [entry.id for entry in client.list()] == [5, 6], 'the new limit to hold on')


def test_an_error_names_the_drop_in_that_the_service_needs():
    with folder() as home:
        hidden = home / 'not' / 'there'
        wanted = {'x11::31999': 'x11.conf', 'fb:/dev/fb31': 'fb.conf', f'replay:{hidden}': 'BindReadOnlyPaths'}

        def why(daemon, screen):
            with daemon.client() as client:
                try:
                    client.start(endless_scenario(frames(daemon)), max_passes=1, screen=screen, input='log:')
                except Refused as refused:
                    return refused.error.message
            raise AssertionError(f'{screen} was opened')
        inside = {'CONDPROF_DROP_INS': '/usr/share/condprof/drop-ins'}
        enabled = {**inside, 'CONDPROF_SEES_X11': '1', 'CONDPROF_SEES_FB': '1'}
        for environment, hints in (({}, False), (inside, True), (enabled, False)):
            with Daemon(environment=environment) as daemon:
                for screen, drop_in in wanted.items():
                    message = why(daemon, screen)
                    if 'not supported' in message or 'not built' in message:
                        continue
                    equal(drop_in in message, hints or (drop_in == 'BindReadOnlyPaths' and bool(environment)), message)


def test_the_watchdog():
    with Daemon(prefix=['sh', '-c', 'export WATCHDOG_PID=$$; exec "$@"', 'sh'], environment={'WATCHDOG_USEC': '200000'}) as daemon:
        daemon.wait_notified('WATCHDOG=1')
        daemon.notified.clear()
        begin = time.monotonic()
        until(lambda: daemon.poll_notify().count('WATCHDOG=1') >= 5, 'five barks')
        assert time.monotonic() - begin > 0.3


def wakeups(pid):
    """Times any thread of the process gave up the CPU by itself."""
    total = 0
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        total += int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', (task / 'status').read_text(), re.M).group(1))
    return total


def test_an_idle_daemon_sleeps_and_is_small():
    skip_unless(not sanitized(), 'a sanitizer has memory and a thread of its own')
    with Daemon() as daemon:
        with daemon.client() as client:
            client.start(endless_scenario(frames(daemon)), max_passes=3, wait=True)
        until(lambda: len(list(pathlib.Path(f'/proc/{daemon.process.pid}/task').iterdir())) <= 6, 'the session to be gone')
        until(lambda: not moved(daemon), 'rest')
        before = wakeups(daemon.process.pid)
        time.sleep(1.5)  # what is measured is that nothing happens
        equal(wakeups(daemon.process.pid) - before, 0, 'wake-ups')
        resident = daemon.resident_kib()
        note(f'idle after a session: {resident} KiB resident')
        assert resident < 10 * 1024, resident


def moved(daemon):
    before = wakeups(daemon.process.pid)
    time.sleep(0.2)
    return wakeups(daemon.process.pid) != before


if __name__ == '__main__':
    run(globals())
