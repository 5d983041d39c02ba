# SPDX-License-Identifier: GPL-3.0-or-later
"""A check that hangs ends its own session, with a report, and nobody else's; the watchdog goes on being fed. The daemon is
tests/support/test_daemon, whose checks for #010203 hang while a file is there."""

import os
import pathlib

from condprof_test import (BUILD, MS, SECOND, Daemon, color_condition, contains, control, endless_scenario, equal, event, make_scenario,
                           pause_action, png, report, run, timer_condition, until, write_frames)

LIMIT_MS = 2400  # so long that a busy machine does not make others look stuck
HANGING = 0x010203


class StuckDaemon(Daemon):
    def __init__(self):
        super().__init__(prefix=['sh', '-c', 'export WATCHDOG_PID=$$; exec "$@"', 'sh'], environment={
            'WATCHDOG_USEC': '200000', 'CONDPROF_TEST_STUCK_MS': str(LIMIT_MS)})
        self.hang = self.home / 'hang'
        self.hang.touch()
        self.environment['CONDPROF_TEST_HANG'] = str(self.hang)

    def command(self):
        return [word if os.path.basename(word) != 'condprofd' else str(BUILD / 'tests/support/test_daemon')
                for word in super().command()]

    def start_hanging(self, client):
        session = client.start(hanging_scenario(self))
        until((self.home / 'hang.reached').exists, 'the check to hang')
        return session

    def threads(self):
        return len(list(pathlib.Path(f'/proc/{self.process.pid}/task').iterdir()))


def hanging_scenario(daemon):
    return make_scenario('hangs', screen=write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))]) + '?loop=1', screen_events=[
        event('looks', [color_condition('no such colour', HANGING)])])


def waiting_scenario(daemon):
    """It is in a pause of its own choice."""
    screen = write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))]) + '?loop=1'
    return make_scenario('waits', screen=screen, trigger_events=[
        event('rests', [timer_condition('soon', 1 * MS, repeat=True)], [pause_action(1000 * SECOND)])])


def state_of(session):
    return report.SessionState.Name(session.state), report.EndReason.Name(session.reason)


def test_a_hanging_check_ends_its_session_alone():
    with StuckDaemon() as daemon:
        client = daemon.client()
        endless = endless_scenario(write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))]))
        waiting, running = client.start(waiting_scenario(daemon)), client.start(endless)
        hanging = daemon.start_hanging(client)
        request = client.send(wait=control.WaitRequest(session=hanging))
        until(lambda: daemon.poll_notify().count('WATCHDOG=1') >= 3, 'the watchdog fed meanwhile')
        equal(client.status(hanging)[0].state, report.RUNNING)
        ended = client.reply_to(request).sessions.sessions[0]
        equal((state_of(ended), ended.result), (('FAILED', 'REASON_CHECK_STUCK'), report.SESSION_FAILED))
        contains(ended.reason_text, 'no progress', 'no such colour', 'looks')
        equal(ended.report_error, '')
        kept = client.report(hanging)
        equal((kept.overview.reason, kept.overview.frame_count, kept.overview.time.duration_ns),
              (report.REASON_CHECK_STUCK, 0, ended.duration_ns))
        assert ended.duration_ns >= LIMIT_MS * MS, ended
        contains(daemon.log(), f'session {hanging}: is stuck')
        daemon.wait_log(f'session {hanging}: does not end')

        # the others never noticed
        equal([session.state for session in client.status()], [report.RUNNING] * 2)
        before = client.status(running)[0].passes
        until(lambda: client.status(running)[0].passes > before, 'passes of the other session')
        daemon.notified.clear()
        until(lambda: daemon.poll_notify().count('WATCHDOG=1') >= 2, 'the watchdog fed after it')

        # its thread comes back, and goes
        threads = daemon.threads()
        daemon.hang.unlink()
        until(lambda: daemon.threads() < threads, 'its thread to end')
        for session in (waiting, running):
            equal(state_of(client.stop(session)[0]), ('FINISHED', 'REASON_STOPPED'))


def test_its_recording_has_an_end():
    with StuckDaemon() as daemon, daemon.client() as client:
        daemon.hang.unlink()
        session = client.start(hanging_scenario(daemon), record=str(daemon.home / 'r'))
        until(lambda: client.status(session)[0].passes >= 3, 'passes')
        daemon.hang.touch()
        until((daemon.home / 'hang.reached').exists, 'the check to hang')
        client.stop(session)
        recorded = client.report(session).overview.recording
        contains(recorded.cut_short, 'hangs')
        assert recorded.passes >= 3, recorded
        daemon.hang.unlink()
        played = client.start(hanging_scenario(daemon), wait=True, screen=f'replay:{daemon.home}/r?clock=virtual')
        equal((played.reason, played.passes), (report.REASON_SOURCE_ENDED, recorded.passes))
        daemon.wait_log('ends before its session did: its session hangs')
        assert 'has no end' not in daemon.log(), daemon.log()


def test_a_hanging_session_is_stopped():
    with StuckDaemon() as daemon, daemon.client() as client:
        hanging = daemon.start_hanging(client)
        equal(state_of(client.stop(hanging)[0]), ('FINISHED', 'REASON_STOPPED'))
        equal(client.report(hanging).overview.reason, report.REASON_STOPPED)
        daemon.wait_log(f'session {hanging}: does not end')
        daemon.hang.unlink()


def test_a_rotated_session_hangs_by_its_new_id():
    with StuckDaemon() as daemon:
        client = daemon.client()
        daemon.hang.unlink()
        first = client.start(hanging_scenario(daemon))
        session = client.call(rotate=control.RotateRequest(session=first)).rotated.session
        daemon.hang.touch()
        until((daemon.home / 'hang.reached').exists, 'the check to hang')
        equal(state_of(client.stop(session)[0]), ('FINISHED', 'REASON_STOPPED'))
        daemon.wait_log(f'session {session}: does not end')
        equal(client.report(first).overview.reason, report.REASON_ROTATED)
        equal(client.report(session).overview.reason, report.REASON_STOPPED)
        daemon.hang.unlink()


def test_the_daemon_stops_with_a_check_that_hangs():
    with StuckDaemon() as daemon:
        with daemon.client() as client:
            hanging = daemon.start_hanging(client)
        daemon.stop()
        daemon.start()
        with daemon.client() as client:
            equal([(session.id, state_of(session)) for session in client.list()], [(hanging, ('FINISHED', 'REASON_DAEMON_STOPPED'))])


if __name__ == '__main__':
    run(globals())
