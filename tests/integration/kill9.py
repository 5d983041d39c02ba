# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 of the real daemon at 50 random moments: every finished report is whole, every other one is listed as
interrupted and readable, ids never repeat, and the next daemon takes over at once.

CONDPROF_TEST_SEED chooses other moments, CONDPROF_TEST_KILLS another number of them."""

import os
import random
import time

from condprof_test import (Closed, Daemon, Refused, color_condition, contains, counter_action, event, folder, make_scenario,
                           note, png, report, run, write_frames)

KILLS = int(os.environ.get('CONDPROF_TEST_KILLS', '50'))
SEED = int(os.environ.get('CONDPROF_TEST_SEED', '1'))
LONGEST_S = 0.25
CONFIG = 'max-messages-bytes = 1 MiB\n'  # so that segments are cut and dropped all the time


def always(screen, name):
    return make_scenario(name, screen=screen + '?loop=1', counters={'seen': 0}, screen_events=[
        event('always', [color_condition('black', 0x000000)], [counter_action('seen')])])


class Moments:
    """What happens before a kill: sessions of every length are started, stopped, deleted and looked at until time is up.
    What was answered is remembered: it must hold after the kill."""

    def __init__(self, dice, screen):
        self.dice, self.screen = dice, screen
        self.started, self.ended, self.deleted = set(), set(), set()

    def step(self, client):
        choice = self.dice.random()
        running = sorted(session.id for session in client.status())
        if choice < 0.4 and len(running) < 4:
            number = client.start(always(self.screen, 'endless'))
            assert number not in self.started, f'id {number} was there before'
            self.started.add(number)
        elif choice < 0.6:
            ended = client.start(always(self.screen, 'short'), max_passes=self.dice.randrange(1, 3000), wait=True)
            assert ended.id not in self.started, f'id {ended.id} was there before'
            self.started.add(ended.id)
            self.ended.add(ended.id)
        elif choice < 0.8 and running:
            number = self.dice.choice(running)
            client.stop(number)
            self.ended.add(number)
        elif choice < 0.9 and self.ended:
            number = self.dice.choice(sorted(self.ended))
            self.ended.discard(number)
            self.deleted.add(number)
            client.delete(number)
        elif self.started - self.deleted:
            client.report(self.dice.choice(sorted(self.started - self.deleted)), messages=True)

    def until_killed(self, daemon, seconds):
        end = time.monotonic() + seconds
        with daemon.client() as client:
            while time.monotonic() < end:
                self.step(client)
            # What is under way when the kill comes: a session that begins, and its answer may never come.
            client.upload(always(self.screen, 'late'))
            if self.dice.random() < 0.5:
                time.sleep(self.dice.random() * 0.02)
            daemon.kill()
            try:
                while True:
                    reply = client.receive()
                    if reply.WhichOneof('body') == 'started':
                        self.started.add(reply.started.session)
            except Closed:
                pass


def events_of(kept):
    return [message.image_event for message in kept.messages if message.HasField('image_event')]


def check_counters(kept):
    """No hole in the counter's story: what was lost or dropped is told by a counters_init. A stop may leave the last
    occurrence without its action."""
    value, last = None, kept.messages[-1:]
    for message in kept.messages:
        if message.HasField('counters_init'):
            value = message.counters_init.counters[0].initial_value
        elif message.HasField('image_event') and (message.image_event.counter_changes or [message] != last):
            change = message.image_event.counter_changes[0]
            assert change.old_value == value, f'{change} after {value}'
            value = change.new_value


def check_finished(kept):
    overview, told = kept.overview, kept.aggregates.condition_details.events[0]
    there = len(events_of(kept)) + overview.lost_occurrences + overview.dropped_occurrences
    assert there == told.fulfilled, (there, told.fulfilled, overview)
    # the pass that a stop cuts off may be without its check
    assert overview.frame_count - 1 <= told.fulfilled <= kept.checks()['black'] <= overview.frame_count, (
        told, kept.checks(), overview)


def check_interrupted(kept, session):
    if session.HasField('passes'):  # there was a checkpoint
        assert kept.overview.state == report.INTERRUPTED and kept.overview.reason == report.REASON_DAEMON_DIED
        assert kept.checks()['black'] >= 0
    assert kept.scenario.name in ('endless', 'short', 'late'), kept.scenario.name
    assert session.scenario == kept.scenario.name


def check_all(client, moments):
    """Returns how many are finished, and how many interrupted."""
    kept = {session.id: session for session in client.list()}
    missing = moments.ended - set(kept)
    assert not missing, f'reports of ended sessions are gone: {missing}'
    for number, session in kept.items():
        assert session.state in (report.FINISHED, report.INTERRUPTED), session
        assert session.state == report.FINISHED or number not in moments.ended, f'{number} had ended'
        one = client.report(number, messages=True)
        check_counters(one)
        if session.state == report.FINISHED:
            check_finished(one)
        else:
            check_interrupted(one, session)
    finished = [number for number, session in kept.items() if session.state == report.FINISHED]
    return len(finished), len(kept) - len(finished)


def test_kill_at_random_moments():
    dice = random.Random(SEED)
    finished = interrupted = 0
    with folder() as home:
        screen = write_frames(home / 'frames', [png(16, 16, (0, 0, 0))])
        moments = Moments(dice, screen)
        for number in range(KILLS + 1):
            with Daemon(config=CONFIG, state=home / 'state') as daemon:
                with daemon.client() as client:
                    found = check_all(client, moments)
                    finished, interrupted = finished + found[0], interrupted + found[1]
                    for session in client.list():
                        client.delete(session.id)
                        moments.deleted.add(session.id)
                        moments.started.add(session.id)
                    moments.ended.clear()
                    assert not client.list()
                if number < KILLS:
                    moments.until_killed(daemon, dice.random() * LONGEST_S)
                    daemon.check_log()
        left = [path.name for path in (home / 'state' / 'reports').iterdir()]
        assert not left, left
        assert len(moments.started) >= KILLS, len(moments.started)
    note(f'{KILLS} kills, {len(moments.started)} sessions: {finished} reports finished, {interrupted} interrupted')
    assert interrupted > KILLS / 4 and finished > KILLS / 4, (finished, interrupted)


def test_the_client_says_so():
    """What a person sees after it: the daemon is gone, then the session is interrupted and its report is there."""
    with folder() as home:
        screen = write_frames(home / 'frames', [png(16, 16, (0, 0, 0))])
        with Daemon(state=home / 'state') as daemon:
            with daemon.client() as client:
                session = client.start(always(screen, 'endless'))
                while client.status(session)[0].passes < 100:
                    pass
            daemon.kill()
            daemon.ctl('list').fails(3)
        with Daemon(state=home / 'state') as daemon:
            kept = daemon.ctl('--json', 'list').json()['sessions']
            assert [one['id'] for one in kept] == [session], kept
            assert kept[0]['state'] == 'interrupted' and kept[0]['reason']['code'] == 'daemon-died', kept
            assert kept[0]['result'] is None, kept
            shown = daemon.ctl('report', str(session)).ok()
            contains(shown.out + shown.err, 'endless', 'interrupted')
            conditions = daemon.ctl('--json', 'report', str(session), '--view', 'conditions').json()['conditions']
            assert conditions[0]['name'] == 'black', conditions
            daemon.wait_log('interrupted')
            with daemon.client() as client:
                try:
                    client.stop(session)
                    raise AssertionError('stopped')
                except Refused:
                    pass


run(globals(), limit_s=900)
