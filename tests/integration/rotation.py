# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of running sessions are rotated: by command, by a scenario, by the configuration. What runs counts its
occurrences in a counter, so that whatever was lost between two reports would show; a kill, a full disk, a stop and an
end may come at any moment.

CONDPROF_TEST_SEED chooses other moments."""

import json
import os
import random
import signal
import subprocess
import threading

from condprof_test import (CONDPROFCTL, PATIENCE, SECOND, Closed, Daemon, Refused, broadcast_condition, color_condition, contains, control,
                           counter_action, equal, event, folder, make_scenario, note, png, report, run, scenario, until,
                           write_frames)

SEED = int(os.environ.get('CONDPROF_TEST_SEED', '1'))
ROTATIONS = 50
LOOKS = 20
KILLS = 6


def busy(daemon, **fields):
    """An occurrence a pass, which counts itself."""
    screen = write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))])
    return make_scenario('busy', screen=screen + '?loop=1', counters={'seen': 0}, **fields, screen_events=[
        event('always', [color_condition('black', 0x000000)], [counter_action('seen')])])


def slow(daemon, per_second=100, **fields):
    message = busy(daemon, **fields)
    message.rate.passes, message.rate.per_ns = per_second, SECOND
    return message


def brisk(daemon):
    """Thousands of passes a second, but not more than a test can read."""
    return slow(daemon, 3000)


def rotate(client, session=None):
    """(the closed session, the id it goes on as)"""
    rotated = client.call(rotate=control.RotateRequest(session=session)).rotated
    return rotated.closed, rotated.session


def occurrences(kept):
    return [message.image_event for message in kept.messages if message.HasField('image_event')]


def check_chain(reports):
    """Reports of one run, in order: nothing is missing within or between them, and each knows its neighbours. The last
    occurrence may be without its action, where a stop cut it off."""
    value = 0.0
    for number, kept in enumerate(reports):
        ids = [one.overview.session_id for one in reports]
        equal(kept.overview.continues_session, ids[number - 1] if number else 0)
        equal(kept.overview.continued_by, ids[number + 1] if number + 1 < len(ids) else 0)
        equal(kept.messages[0].counters_init.counters[0].initial_value, value, f'report {number}')
        told = kept.aggregates.condition_details.events[0]
        equal(kept.overview.lost_occurrences + kept.overview.dropped_occurrences, 0)
        equal(len(occurrences(kept)), told.fulfilled)
        equal([getattr(one, 'pass') for one in occurrences(kept)][:1], [1] if told.fulfilled else [])
        for one in occurrences(kept):
            for change in one.counter_changes:
                equal(change.old_value, value)
                value = change.new_value
        time = kept.overview.time
        equal(time.frame_wait_ns + time.frame_get_ns + time.processing_ns + time.limiter_wait_ns + time.safety_wait_ns
              + time.report_wait_ns + time.other_ns, time.duration_ns)
        if number:
            equal(kept.overview.started_unix_ns, reports[number - 1].overview.ended_unix_ns)
    return value


# --- by command ------------------------------------------------------------------------------------------------------

def test_the_command():
    with Daemon() as daemon, daemon.client() as client:
        first = client.start(slow(daemon))
        shown = daemon.ctl('rotate').ok()
        equal(shown.out.split(), ['Closed', 'Goes', 'on', 'as', str(first), str(first + 1)])
        contains(shown.err, f'session {first} finished, ok', 'its report was rotated')
        shown = daemon.ctl('rotate', first + 1, '--json').json()
        equal((shown['session']['id'], shown['session']['state'], shown['session']['result'], shown['continued_by']),
              (first + 1, 'finished', 'ok', first + 2))
        equal(shown['session']['reason']['code'], 'rotated')
        equal([session.id for session in client.status()], [first + 2])
        for words in (['stop', first], ['rotate', first + 1], ['watch', first]):
            daemon.ctl(*words).fails(3)
        daemon.ctl('rotate', 77).fails(4)
        overviews = [daemon.ctl('report', word, '--json').json()['session'] for word in (first, first + 1, 'latest')]
        equal([one['id'] for one in overviews], [first, first + 1, first + 2])
        equal([one['continues_session'] for one in overviews], [None, first, first + 1])
        equal([one['continued_by'] for one in overviews], [first + 1, first + 2, None])
        contains(daemon.ctl('report', first + 1).ok().out, f'session {first}', f'session {first + 2}')
        equal([(one['state'], one['continues_session'], one['continued_by'])
               for one in daemon.ctl('list', '--json').json()['sessions']],
              [('finished', None, first + 1), ('finished', first, first + 2), ('running', first + 1, None)])
        client.stop()
        daemon.ctl('rotate').fails(4)
        daemon.ctl('rotate', first + 2).fails(3)


def test_nothing_is_lost_over_many_rotations():
    with Daemon() as daemon, daemon.client() as client:
        first = client.start(brisk(daemon))
        for number in range(ROTATIONS):
            closed, following = rotate(client, first + number)
            equal((closed.id, closed.state, closed.reason, following),
                  (first + number, report.FINISHED, report.REASON_ROTATED, first + number + 1))
        ended = client.stop()[0]
        equal(ended.id, first + ROTATIONS)
        reports = [client.report(number, messages=True) for number in range(first, ended.id + 1)]
        seen = check_chain(reports)
        passes = sum(kept.overview.frame_count for kept in reports)
        assert passes - 1 <= seen <= passes, (seen, passes)  # the pass that the stop cut off
        for kept in reports[:-1]:
            equal(kept.checks()['black'], kept.overview.frame_count)


def test_limits_count_over_the_run():
    with Daemon() as daemon, daemon.client() as client:
        number = client.upload(slow(daemon, 1000), max_passes=3000, wait=True)  # 3 s: not over before it is rotated
        first = client.reply_to(number).started.session
        with daemon.client() as other:
            until(lambda: other.status()[0].passes >= 20, '20 passes')
            rotate(other)
        ended = client.reply_to(number).sessions.sessions[0]  # of the last report, when all has ended
        equal((ended.id, ended.reason), (first + 1, report.REASON_PASSES))
        equal(sum(session.passes for session in client.list()), 3000)


def test_who_waits_stays_with_what_runs():
    with Daemon() as daemon, daemon.client() as client, daemon.client() as other:
        message = slow(daemon)
        message.trigger_events.append(event('hello', [broadcast_condition('hello')]))
        first = client.start(message)
        waiting = client.send(wait=control.WaitRequest(session=first))
        rotate(other)
        equal(other.emit('hello'), [first + 1])
        closed = other.wait(first)  # that one has ended
        equal((closed.id, closed.reason), (first, report.REASON_ROTATED))
        other.stop(first + 1)
        equal(client.reply_to(waiting).sessions.sessions[0].id, first + 1)


def test_event_states_and_counters_go_on():
    with Daemon() as daemon, daemon.client() as client:
        message = slow(daemon)
        message.screen_events[0].actions.append(scenario.Action(event_state=scenario.EventStateAction(
            change=scenario.DISABLE, events=['always'])))
        message.trigger_events.append(event('idle', [broadcast_condition('never')]))
        first = client.start(message)
        until(lambda: client.status()[0].passes >= 2, 'two passes')
        rotate(client)
        client.stop()
        before, after = (client.report(number, messages=True) for number in (first, first + 1))
        equal((len(before.messages), before.messages[0].HasField('event_states')), (2, False))
        equal(len(after.messages), 1)
        equal(after.messages[0].counters_init.counters[0].initial_value, 1)
        _, names = after.names()
        equal([(names[one.event_id], one.new_value) for one in after.messages[0].event_states.events], [('always', False)])
        check_beginning_shown(daemon, first)


def check_beginning_shown(daemon, first):
    for where in (first + 1, daemon.state / 'reports' / str(first + 1)):
        words = ['report', where, '--view', 'timeline']
        shown = daemon.ctl(*words, '--json').json()['occurrences']
        equal([(one['at_ns'], one['event'], one['beginning'], one['counters'], one['event_states']) for one in shown],
              [(0, None, 'continues-session', [{'name': 'seen', 'old': None, 'new': 1}],
                [{'event': 'always', 'enabled': False}, {'event': 'idle', 'enabled': True}])])
        contains(daemon.ctl(*words).ok().out, f'(continues session {first})', 'counter seen ', 'to 1', 'event always  disabled')
        contains(daemon.ctl(*words, '--output', 'csv').ok().out, '0,,,,,,,continues-session,[],"[{""name"":""seen""')
        contains(daemon.ctl('report', where, '--output', 'html').ok().out, f'(continues session {first})')
        equal(daemon.ctl(*words, '--json', '--event', 'always').json()['occurrences'], [])
    equal([one['beginning'] for one in daemon.ctl('report', first, '--view', 'timeline', '--json').json()['occurrences']],
          [None])


def test_watching_goes_on_in_the_next_report():
    with Daemon() as daemon, daemon.client() as client:
        first = client.start(slow(daemon))
        words = [CONDPROFCTL, '--socket', daemon.socket_path, 'watch', '--json', '--interval', '100ms']
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            lines = [json.loads(watching.stdout.readline())]
            rotate(client)
            rotate(client)
            while lines[-1]['session']['id'] < first + 2:
                lines.append(json.loads(watching.stdout.readline()))
            client.stop()
            out, err = watching.communicate(timeout=PATIENCE)
            lines += [json.loads(line) for line in out.splitlines()]
        equal(watching.returncode, 0, err)
        contains(err, f'session {first} goes on as session {first + 1}', f'session {first + 2} finished')
        last = {line['session']['id']: line for line in lines}
        equal({number: line['session']['passes'] for number, line in last.items()},
              {session.id: session.passes for session in client.list()})
        # what one report began with is the whole of its first interval
        begun = next(line for line in lines if line['session']['id'] == first + 1)
        equal(begun['interval']['checks'], begun['session']['checks'])


# --- every so often --------------------------------------------------------------------------------------------------

def test_by_scenario_and_configuration():
    with Daemon(config={'rotate': '1 s'}) as daemon, daemon.client() as client:
        mine = client.start(slow(daemon, rotate_ns=3600 * SECOND))  # its own wins
        client.start(slow(daemon))
        daemon.wait_log('session 2: goes on as session 3')
        assert client.status(mine)[0].state == report.RUNNING
        equal(client.report(2).overview.reason, report.REASON_ROTATED)
        daemon.write_config({'rotate': 'never'})
        daemon.signal(signal.SIGHUP)
        daemon.wait_log('again')
        client.stop(everything=True)


def test_by_scenario_alone_and_a_reload():
    with Daemon() as daemon, daemon.client() as client:
        client.start(slow(daemon, rotate_ns=SECOND))
        other = client.start(slow(daemon))
        daemon.wait_log('session 1: goes on as session 3')
        equal(client.status(other)[0].state, report.RUNNING)
        daemon.write_config({'rotate': '1 s'})
        daemon.signal(signal.SIGHUP)
        daemon.wait_log(f'session {other}: goes on as session')
        first = client.report(1).overview.time.duration_ns
        assert first >= SECOND, first
        client.stop(everything=True)


# --- what cannot be --------------------------------------------------------------------------------------------------

def refusal(client, code, session=None):
    try:
        rotate(client, session)
    except Refused as refused:
        equal(refused.code, code, refused.error.message)
        return refused.error.message
    raise AssertionError('it was rotated')


def test_without_a_report_there_is_nothing_to_rotate():
    with Daemon() as daemon, daemon.client() as client:
        refusal(client, control.NO_SUCH_SESSION)
        number = client.start(slow(daemon, rotate_ns=SECOND), no_report=True)
        contains(refusal(client, control.BAD_REQUEST), 'no-report')
        other = client.start(slow(daemon))
        refusal(client, control.AMBIGUOUS)
        equal(rotate(client, other)[1], other + 1)
        client.stop(number)
        refusal(client, control.ALREADY_ENDED, other)
        refusal(client, control.NO_SUCH_SESSION, 99)
        client.stop()


def test_two_at_once_are_one_or_two():
    with Daemon() as daemon, daemon.client() as client:
        first = client.start(brisk(daemon))
        for _ in range(10):
            number = client.status()[0].id
            both = [client.send(rotate=control.RotateRequest(session=number)) for _ in range(2)]
            replies = [client.reply_to(one) for one in both]
            equal(replies[0].rotated.session, number + 1)
            assert replies[1].rotated.session == number + 1 or replies[1].error.code == control.ALREADY_ENDED, replies[1]
        last = client.stop()[0].id
        check_chain([client.report(number, messages=True) for number in range(first, last + 1)])


def test_a_stop_and_an_end_may_come_at_the_same_time():
    dice = random.Random(SEED)
    with Daemon() as daemon, daemon.client() as client:
        for turn in range(20):
            limit = dice.randrange(1, 200)
            number = client.upload(busy(daemon), max_passes=0 if turn % 2 else limit)
            first = client.reply_to(number).started.session
            asked = client.send(rotate=control.RotateRequest(session=first))
            if turn % 2:
                client.send(stop=control.StopRequest(session=first))
            answer = client.reply_to(asked)
            with daemon.client() as other:
                other.stop(everything=True)
            if answer.WhichOneof('body') == 'error':
                assert answer.error.code in (control.ALREADY_ENDED, control.NO_SUCH_SESSION), answer
        listed = client.list()
        assert all(session.state == report.FINISHED for session in listed), listed
        for session in listed:  # none but those that ran, or were rotated into
            kept = client.report(session.id)
            equal(kept.overview.continued_by != 0, kept.overview.reason == report.REASON_ROTATED)
        assert len({session.id for session in listed}) == len(listed)


# --- what happens meanwhile ------------------------------------------------------------------------------------------

def test_a_reader_of_the_old_report_reads_it_to_its_end():
    with Daemon() as daemon, daemon.client() as client, daemon.client() as other:
        first = client.start(busy(daemon))
        until(lambda: client.status()[0].passes >= 20000, '20,000 passes')
        reading = client.send(report=control.ReportRequest(session=first, messages=True))
        begun = client.reply_to(reading)  # it is open, and the client takes its time
        equal(rotate(other)[1], first + 1)
        equal(rotate(other)[1], first + 2)
        parts = [begun] + list(client.replies(reading))
        assert all(part.report.session == first for part in parts)
        other.stop()


def test_snapshots_while_it_is_rotated():
    """Whatever is asked meanwhile is answered about the one id or the other, never about both."""
    with Daemon() as daemon, daemon.client() as client, daemon.client() as other:
        first = client.start(brisk(daemon))
        stop = threading.Event()
        failed = []

        def look():
            try:
                while not stop.is_set():
                    kept = other.report()
                    equal(kept.overview.session_id, kept.session)
                    listed = [session.id for session in other.list()]
                    equal(listed, list(range(first, listed[-1] + 1)))
                    running = other.status()
                    assert len(running) == 1 and running[0].state == report.RUNNING, running
            except BaseException as error:  # pylint: disable=broad-except
                failed.append(error)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            for _ in range(LOOKS):
                rotate(client)
        finally:
            stop.set()
            thread.join()
        assert not failed, failed
        client.stop()


def test_retention_while_rotating():
    with Daemon(config={'max-reports': 3}) as daemon, daemon.client() as client:
        first = client.start(busy(daemon))
        for _ in range(8):
            rotate(client)
        equal([session.id for session in client.list()], [first + 6, first + 7, first + 8])
        client.stop()


def test_kill_9_in_the_middle():
    dice = random.Random(SEED)
    with folder() as home:
        highest = 0
        for _ in range(KILLS):
            daemon = Daemon(state=home / 'state').start()
            with daemon.client() as client:
                first = client.start(brisk(daemon))
                assert first > highest, (first, highest)
                for _ in range(dice.randrange(1, 6)):
                    highest = rotate(client)[1]
                client.send(rotate=control.RotateRequest())
                until(lambda moment=dice.randrange(4): moment == 0 or len(client_lines(daemon)) >= moment, 'the moment')
                daemon.kill()
                try:
                    while True:
                        reply = client.receive()
                        highest = max(highest, reply.rotated.session)
                except Closed:
                    pass
        daemon = Daemon(state=home / 'state')
        with daemon, daemon.client() as client:
            listed = client.list()
            equal(len({session.id for session in listed}), len(listed))
            for session in listed:
                kept = client.report(session.id, messages=True)
                assert session.state in (report.FINISHED, report.INTERRUPTED), session
                if session.state == report.FINISHED:
                    equal((kept.overview.reason, kept.overview.continued_by),
                          (report.REASON_ROTATED, session.id + 1))
                    equal(len(occurrences(kept)), kept.aggregates.condition_details.events[0].fulfilled)
            note(f'{sum(session.state == report.FINISHED for session in listed)} of {len(listed)} finished')
            number = client.start(brisk(daemon), max_passes=1, wait=True).id
            assert number > max(session.id for session in listed) and number > highest


def client_lines(daemon):
    return [line for line in daemon.log().splitlines() if 'goes on' in line or 'rotated' in line]


if __name__ == '__main__':
    run(globals())
