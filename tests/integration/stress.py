# SPDX-License-Identifier: GPL-3.0-or-later
"""Many clients that do everything at once, in an order that differs every time; some leave without a word, some ask and do not
read. What is said here is only what always holds: answers are whole and fit their requests, nothing is left behind, and the
daemon ends as it should. The seed is printed; CONDPROF_TEST_SEED repeats the choices, though not their timing."""

import os
import random
import threading

from condprof_test import (Daemon, Refused, color_condition, control, counter_action, counter_condition, endless_scenario,
                           equal, event, make_scenario, note, png, report, run, scenario, stop_action, until, write_frames)

CLIENTS = 8
TURNS = 60
EXPECTED = {control.NO_SUCH_SESSION, control.NO_SUCH_NAME, control.AMBIGUOUS, control.ALREADY_ENDED, control.STILL_RUNNING,
            control.BUSY} if control else set()

_daemon = None


def short_scenario(occurrences):
    return make_scenario(
        'short', screen=_daemon.black + '?loop=1', counters={'n': 0},
        screen_events=[event('black seen', [color_condition('black', 0)], [counter_action('n')])],
        trigger_events=[event('enough', [counter_condition('count', 'n', scenario.GREATER_OR_EQUAL, occurrences)],
                              [stop_action()])])


class Person:
    """A client with a will of its own."""

    def __init__(self, seed):
        self.chance, self.failure, self.done = random.Random(seed), None, 0
        self.thread = threading.Thread(target=self.live)

    def live(self):
        try:
            client = None
            for _ in range(TURNS):
                if client is None or self.chance.random() < 0.15:
                    if client:
                        client.close()
                    client = _daemon.client()
                try:
                    self.turn(client)
                    self.done += 1
                except Refused as why:
                    if why.code not in EXPECTED:
                        raise
            client.close()
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error

    def some_session(self, client):
        listed = client.list()
        return self.chance.choice(listed).id if listed else 1

    def turn(self, client):
        self.chance.choice((self.start, self.start, self.start_and_wait, self.start_and_leave, self.stop, self.stop_all, self.look,
                            self.wait, self.report, self.report, self.report_and_leave, self.delete, self.emit))(client)

    def start(self, client):
        session = client.start(endless_scenario(_daemon.black), max_passes=self.chance.randrange(1, 200),
                               no_report=self.chance.random() < 0.2)
        assert session > 0

    def start_and_wait(self, client):
        ended = client.start(short_scenario(self.chance.randrange(1, 500)), wait=True)
        assert ended.state == report.FINISHED, ended
        if ended.reason == report.REASON_STOP_ACTION and self.chance.random() < 0.5:
            got = client.report(ended.id, messages=True)
            equal(got.overview.frame_count, ended.passes)

    def start_and_leave(self, _):
        with _daemon.client() as other:
            other.upload(short_scenario(50), wait=True, chunk=self.chance.choice((30, 100, 5000)))

    def stop(self, client):
        client.stop(self.some_session(client) if self.chance.random() < 0.8 else None)

    def stop_all(self, client):
        if self.chance.random() < 0.3:
            for ended in client.stop(everything=True):
                assert ended.state in (report.FINISHED, report.FAILED), ended

    def look(self, client):
        for entry in client.status():
            assert entry.state in (report.STARTING, report.RUNNING, report.STOPPING), entry
        client.status(self.some_session(client))
        ids = [entry.id for entry in client.list()]
        equal(ids, sorted(set(ids)))

    def wait(self, client):
        number = client.send(wait=control.WaitRequest(session=self.some_session(client)))
        client.send(stop=control.StopRequest(all=True))
        reply = client.reply_to(number)
        assert reply.WhichOneof('body') in ('sessions', 'error'), reply

    def report(self, client):
        number = self.some_session(client)
        got = client.report(number, messages=self.chance.random() < 0.7, last=self.chance.choice((0, 0, 5)))
        equal(got.session, number)
        if got.aggregates.HasField('condition_profile'):
            assert got.names()

    def report_and_leave(self, client):
        with _daemon.client() as other:
            for _ in range(self.chance.randrange(1, 6)):
                other.send(report=control.ReportRequest(session=self.some_session(client), messages=True))
                other.send(list=control.ListRequest())

    def delete(self, client):
        if self.chance.random() < 0.5:
            client.delete(self.some_session(client))

    def emit(self, client):
        client.emit(self.chance.choice(('go', 'nothing')))


def test_everything_at_once():
    seed = int(os.environ.get('CONDPROF_TEST_SEED') or random.randrange(1 << 32))
    note('seed', seed)
    before = descriptors()
    people = [Person(seed + number) for number in range(CLIENTS)]
    for person in people:
        person.thread.start()
    for person in people:
        person.thread.join()
    for person in people:
        if person.failure:
            raise person.failure
    note('requests done:', sum(person.done for person in people))
    with _daemon.client() as client:
        client.stop(everything=True)
        # one that was only being made when it was stopped is listed until it is given up
        until(lambda: not client.status() and all(entry.state in (report.FINISHED, report.FAILED) for entry in client.list()),
              'the end of all sessions')
        for entry in client.list():
            got = client.report(entry.id, messages=True)
            equal((got.session, got.overview.session_id), (entry.id, entry.id))
            assert entry.state in (report.FINISHED, report.FAILED), entry
    until(lambda: descriptors() <= before, f'descriptors to be closed: {before} before')


def descriptors():
    return len(os.listdir(f'/proc/{_daemon.process.pid}/fd'))


if __name__ == '__main__':
    with Daemon() as _daemon:
        _daemon.black = write_frames(_daemon.home / 'black', [png(16, 16, (0, 0, 0))])
        try:
            run(globals())
        except SystemExit as done:
            code = done.code
        if code:
            note(_daemon.log()[-5000:])
    raise SystemExit(code)
