# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in the journal: fields and message ids of the lines that programs look for, who started, stopped and was
refused, what repeats counted, nothing a pass; and that a journal that takes nothing stalls nobody. The journal is a file that
tests/support/test_daemon writes in its place."""

import os
import pathlib
import re
import subprocess
import sys

from condprof_test import (BUILD, SOURCE, SUPPORT_FOR_OTHERS, Daemon, Refused, color_condition, contains, control, counter_action,
                           endless_scenario, equal, event, make_scenario, need_program, png, run, run_program, skip_unless, until,
                           write_frames)

BLACK = png(16, 16, (0, 0, 0))
IDS = dict(re.findall(r'\[LOG_MESSAGE_(\w+)\] = "([0-9a-f]{32})"', (SOURCE / 'daemon/log/messages.c').read_text()))


class JournalDaemon(Daemon):
    """Its stderr is the journal's, as far as it knows."""

    def __init__(self, **options):
        super().__init__(**options)
        self.journal_path = self.home / 'journal'
        self.log_path.touch()
        status = self.log_path.stat()
        self.environment.update(JOURNAL_STREAM=f'{status.st_dev}:{status.st_ino}', CONDPROF_TEST_JOURNAL=str(self.journal_path))

    def command(self):
        return [word if os.path.basename(word) != 'condprofd' else str(BUILD / 'tests/support/test_daemon')
                for word in super().command()]

    def entries(self, message=None):
        text = self.journal_path.read_text() if self.journal_path.exists() else ''
        found = [dict(line.split('=', 1) for line in entry.split('\n')) for entry in text.split('\n\n')[:-1]]
        return [entry for entry in found if not message or entry.get('MESSAGE_ID') == IDS[message]]

    def entry(self, message, count=1):
        return until(lambda: len(self.entries(message)) >= count and self.entries(message)[count - 1], f'{message} in the journal')


def frames(daemon):
    return write_frames(daemon.home / 'frames', [BLACK])


def test_every_id_is_in_the_man_page_and_no_two_are_the_same():
    page = (SOURCE / 'docs/condprofd.8').read_text()
    assert len(IDS) >= 14 and len(set(IDS.values())) == len(IDS), IDS
    for value in IDS.values():
        contains(page, value)


def test_a_session_from_start_to_end():
    with JournalDaemon() as daemon:
        with daemon.client() as client:
            session = client.start(endless_scenario(frames(daemon)))
            client.stop(session)
        daemon.stop()
        mine = {'CONDPROF_UID': str(os.getuid()), 'CONDPROF_PID': str(os.getpid())}
        about = {'CONDPROF_SESSION': str(session), 'CONDPROF_SCENARIO': 'endless', 'CONDPROF_MODULE': 'control',
                 'SYSLOG_IDENTIFIER': 'condprofd'}
        for message, fields in (('UP', {'PRIORITY': '6'}), ('STARTED', {**about, **mine, 'PRIORITY': '5'}),
                                ('STOP_ASKED', {**about, **mine}), ('ENDED', {**about, 'CONDPROF_REASON': 'stopped', 'PRIORITY': '6'}),
                                ('STOPPING', {})):
            entry = daemon.entry(message)
            equal({name: entry.get(name) for name in fields}, fields, message)
        contains(daemon.entry('ENDED')['MESSAGE'], f'session {session}: ended after', 'stopped')
        equal(daemon.log(), '')  # nothing twice


def test_what_goes_wrong_has_its_id():
    with JournalDaemon() as daemon:
        with daemon.client() as client:
            try:
                client.start(endless_scenario('replay:/no/such/folder'))
            except Refused:
                pass
            running = client.start(endless_scenario(frames(daemon)))
        daemon.write_config('nonsense = 1\n')
        os.kill(daemon.process.pid, 1)
        daemon.entry('RELOAD_REFUSED')
        daemon.write_config('')
        os.kill(daemon.process.pid, 1)
        daemon.entry('RELOADED')
        daemon.kill()
        daemon.start()
        contains(daemon.entry('INTERRUPTED')['MESSAGE'], str(running))
        not_started = daemon.entry('NOT_STARTED')
        equal((not_started['CONDPROF_UID'], not_started['CONDPROF_SCENARIO']), (str(os.getuid()), 'endless'))
        contains(not_started['MESSAGE'], '/no/such/folder')


def test_no_line_a_pass():
    with JournalDaemon() as daemon, daemon.client() as client:
        message = make_scenario('busy', screen=frames(daemon) + '?loop=1', counters={'n': 0}, screen_events=[
            event('always', [color_condition('black', 0)], [counter_action('n')])])
        equal(client.start(message, max_passes=2000, wait=True).passes, 2000)
        daemon.entry('ENDED')
        assert len(daemon.entries()) <= 4, daemon.entries()


def test_levels_a_part():
    with JournalDaemon(config={'log-level': 'warning control:debug'}) as daemon:
        with daemon.client() as client:
            client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True)
        daemon.stop()
        levels = {(entry['CONDPROF_MODULE'], int(entry['PRIORITY'])) for entry in daemon.entries()}
        assert ('control', 7) in levels and all(level <= 4 for module, level in levels if module != 'control'), levels
    with JournalDaemon(config={'log-level': 'debug'}, environment={'CONDPROF_LOG_LEVEL': 'error'}) as daemon:
        with daemon.client() as client:
            client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True)
        daemon.stop()
        equal(daemon.entries(), [])


def test_a_journal_that_takes_nothing_stalls_nobody():
    with JournalDaemon() as daemon:
        daemon.stop()
        daemon.journal_path.unlink()
        os.mkfifo(daemon.journal_path)
        daemon.start()  # until READY: the line that says so cannot be written
        with daemon.client() as client:
            sessions = [client.start(endless_scenario(frames(daemon))) for _ in range(3)]
            for session in sessions:
                until(lambda: client.status(session)[0].passes > 3, 'passes')
            client.stop(sessions[0])
            for _ in range(300):  # more lines than the queue has room for
                client.start(endless_scenario(frames(daemon)), max_passes=1, wait=True, no_report=True)
            equal(len(client.status()), 2)
        # it takes something again: the first lines are there, and how many were lost
        with open(daemon.journal_path, encoding='utf-8') as journal:
            text = ''
            while f'MESSAGE_ID={IDS["LOST"]}' not in text:
                text += os.read(journal.fileno(), 65536).decode()
            contains(text, 'listens on', 'log lines were lost')
            reader = subprocess.Popen(['cat', str(daemon.journal_path)], stdout=subprocess.DEVNULL)
        try:
            daemon.stop()
        finally:
            reader.kill()
            reader.wait()


def test_it_stops_though_the_journal_takes_nothing():
    with JournalDaemon() as daemon:
        daemon.stop()
        daemon.journal_path.unlink()
        os.mkfifo(daemon.journal_path)
        daemon.start()
        daemon.stop()


# Connects as often as it is told, and shows the codes of what it is answered.
REFUSED_SCRIPT = '''
import sys
sys.path[:0] = sys.argv[3:]
from condprof_test import Client, Refused, control
for _ in range(int(sys.argv[2])):
    try:
        Client(sys.argv[1]).start(b'x')
    except Refused as why:
        print(control.Code.Name(why.code))
'''


def as_user(user, groups, path, times):
    words = [need_program('setpriv'), f'--reuid={user}', f'--regid={user}', f'--groups={groups}' if groups else '--clear-groups']
    return run_program(*words, sys.executable, '-c', REFUSED_SCRIPT, path, times, *SUPPORT_FOR_OTHERS, cwd='/').ok().out.split()


def test_refusals_are_there_with_uid_and_pid_and_do_not_flood():
    skip_unless(os.geteuid() == 0, 'needs root to be other users')
    with JournalDaemon(config={'observe-group': '54321'}) as daemon:
        equal(as_user(4321, '54321', daemon.socket_path, 1), ['DENIED'])
        entry = daemon.entry('REFUSED')
        equal((entry['CONDPROF_UID'], entry['PRIORITY']), ('4321', '5'))
        assert int(entry['CONDPROF_PID']) > 1, entry
        contains(entry['MESSAGE'], 'begin', 'observe-group')
        equal(as_user(1234, None, daemon.socket_path, 50), ['DENIED'] * 50)
        daemon.stop()
        refused = [entry for entry in daemon.entries('REFUSED') if entry['CONDPROF_UID'] == '1234']
        more = [int(re.search(r'… (\d+) more of these: .*user 1234', entry['MESSAGE']).group(1)) for entry in daemon.entries('REPEATED')]
        equal(len(refused) + sum(more), 50)
        assert len(refused) < 50 and len(more) >= 1, (len(refused), more)


if __name__ == '__main__':
    run(globals())
