# SPDX-License-Identifier: GPL-3.0-or-later
"""A client in another language, by Python's protobuf runtime alone: start, status, wait, report, stop, list, emit,
delete, check, as docs/PROTOCOL.md describes them."""

import concurrent.futures
import re
import sys
import time

from condprof_test import (BUILD, MS, SECOND, SOURCE, Daemon, Refused, broadcast_condition, click_action, color_condition, contains, control,
                           counter_action, counter_condition, endless_scenario, equal, event, frame, image_condition, make_scenario,
                           note, png, report, run, run_program, scenario, stop_action, texture, timer_condition, until, write_frames)

_daemon = None

BLACK, RED = (0, 0, 0), (255, 0, 0)


def counting_scenario(screen, name='counting', passes=5):
    """Counts red frames; one condition that is never reached; stops at the count."""
    return make_scenario(
        name, screen=screen, counters={'seen': 0},
        screen_events=[
            event('red seen', [color_condition('red', 0xff0000), color_condition('also red', 0xff0000, (2, 2, 4, 4))],
                  [counter_action('seen'), click_action(3, 4)], keep_detecting=True),
            event('blue seen', [color_condition('blue', 0x0000ff), color_condition('not reached', 0x00ff00)])],
        trigger_events=[event('enough', [counter_condition('count', 'seen', scenario.GREATER_OR_EQUAL, passes)],
                              [stop_action('seen enough')])])


def refused(code, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except Refused as error:
        equal(control.Code.Name(error.code), control.Code.Name(code), str(error))
        return error.error
    raise AssertionError(f'was not refused with {control.Code.Name(code)}')


def test_start_wait_report():
    client = _daemon.client()
    replies = list(client.replies(client.upload(counting_scenario(_daemon.red), wait=True)))
    session = replies[0].started.session
    assert session > 0 and not replies[0].last
    ended = replies[-1].sessions.sessions[0]
    equal(ended.id, session)
    equal(ended.scenario, 'counting')
    equal(report.SessionState.Name(ended.state), 'FINISHED', ended.reason_text)
    equal(report.EndReason.Name(ended.reason), 'REASON_STOP_ACTION')
    contains(ended.reason_text, 'seen enough')
    equal((ended.result, ended.dry_run, ended.no_report), (report.SESSION_OK, False, False))
    assert 0 < ended.started_unix_ns <= ended.ended_unix_ns and ended.duration_ns > 0

    got = client.report(session, messages=True)
    equal(got.session, session)
    equal(got.scenario.name, 'counting')
    equal([(condition.name, condition.id, condition.id_given) for entry in got.scenario.screen_events
           for condition in entry.conditions],
          [('red', 1, False), ('also red', 2, False), ('blue', 3, False), ('not reached', 4, False)])
    equal(got.checks(), {'red': 5, 'also red': 5, 'blue': 5, 'not reached': 0, 'count': 6})
    equal(got.overview.session_id, session)
    equal(got.overview.frame_count, ended.passes)
    timings = {timing.condition_id: timing for timing in got.aggregates.condition_profile.conditions}
    details = {detail.condition_id: detail for detail in got.aggregates.condition_details.conditions}
    equal(sorted(timings), sorted(details))
    for number, timing in timings.items():
        histogram = details[number].histogram
        equal(histogram.zero + sum(histogram.buckets) + histogram.overflow, timing.check_count)
    parts = got.overview.time
    equal(parts.duration_ns, parts.frame_wait_ns + parts.frame_get_ns + parts.processing_ns + parts.limiter_wait_ns
          + parts.safety_wait_ns + parts.report_wait_ns + parts.other_ns)
    equal(sum(1 for message in got.messages if message.HasField('image_event')), 5)
    equal(sum(1 for message in got.messages if message.HasField('trigger_event')), 1)

    quiet = client.report(session)
    equal(quiet.messages, [])
    equal(quiet.aggregates, got.aggregates)


def test_the_report_request_chooses_messages():
    client = _daemon.client()
    session = client.start(counting_scenario(_daemon.red), wait=True).id

    def occurrences(**request):
        return [message for message in client.report(session, messages=True, **request).messages
                if message.HasField('image_event') or message.HasField('trigger_event')]
    everything = occurrences()
    equal(len(everything), 6)
    equal(occurrences(first=2), everything[:2])
    equal(occurrences(last=2), everything[-2:])
    red = everything[0].image_event.event_id
    equal(occurrences(event_ids=[red]), everything[:5])
    equal(occurrences(event_ids=[red], last=1), everything[4:5])
    middle = everything[2].actions_completed_at_ns
    equal(occurrences(since_ns=middle), everything[2:])
    equal(occurrences(until_ns=middle), everything[:2])
    equal(occurrences(event_ids=[12345]), [])


def test_status_and_stop():
    client = _daemon.client()
    equal(client.status(), [])
    session = client.start(endless_scenario(_daemon.black, name='to be stopped'))
    running = client.status()
    equal([(entry.id, entry.scenario, report.SessionState.Name(entry.state)) for entry in running],
          [(session, 'to be stopped', 'RUNNING')])
    assert not running[0].HasField('result') and not running[0].HasField('ended_unix_ns'), running[0]
    equal(client.status(session)[0].id, session)
    until(lambda: client.status(session)[0].passes > 3, 'passes')
    stopped = client.stop(session)
    equal([(entry.id, report.SessionState.Name(entry.state), report.EndReason.Name(entry.reason)) for entry in stopped],
          [(session, 'FINISHED', 'REASON_STOPPED')])
    # The report is closed when stop answers.
    equal(client.report(session).overview.state, report.FINISHED)
    equal(client.status(), [])
    equal(report.SessionState.Name(client.status(session)[0].state), 'FINISHED')
    refused(control.ALREADY_ENDED, client.stop, session)
    refused(control.NO_SUCH_SESSION, client.stop, session + 1000)
    refused(control.NO_SUCH_SESSION, client.stop)


def test_which_session():
    client = _daemon.client()
    first, second = (client.start(endless_scenario(_daemon.black, name=name)) for name in ('first', 'second'))
    contains(refused(control.AMBIGUOUS, client.stop).message, str(first), str(second))
    refused(control.AMBIGUOUS, client.call, wait=control.WaitRequest())
    equal([entry.id for entry in client.status()], [first, second])
    client.stop(first)
    equal([entry.id for entry in client.stop()], [second])
    third, fourth = (client.start(endless_scenario(_daemon.black, name=name)) for name in ('third', 'fourth'))
    equal(sorted(entry.id for entry in client.stop(everything=True)), [third, fourth])
    equal(client.stop(everything=True), [])


def test_wait():
    client, other = _daemon.client(), _daemon.client()
    session = client.start(endless_scenario(_daemon.black))
    waiting = other.send(wait=control.WaitRequest(session=session))
    equal(other.status()[0].id, session)  # the connection is not held up by it
    client.stop(session)
    equal(other.reply_to(waiting).sessions.sessions[0].id, session)
    equal(other.wait(session).reason, report.REASON_STOPPED)  # ended meanwhile: at once
    refused(control.NO_SUCH_SESSION, other.wait, session + 1000)


def test_a_report_of_a_running_session():
    client = _daemon.client()
    session = client.start(endless_scenario(_daemon.black))
    until(lambda: client.status(session)[0].passes > 5, 'passes')
    equal(client.emit('go'), [session])
    got = until(lambda: next((got for got in [client.report(session, messages=True)]
                              if any(message.HasField('trigger_event') for message in got.messages)), None),
                'an occurrence in the messages')
    equal(report.SessionState.Name(got.overview.state), 'RUNNING')
    assert not got.overview.HasField('result') and got.checks()['no such colour'] > 5
    equal(client.report().session, session)  # the one started last
    later = client.report(session)
    assert later.checks()['no such colour'] >= got.checks()['no such colour']
    assert later.overview.time.duration_ns > got.overview.time.duration_ns
    client.stop(session)


def test_emit():
    client = _daemon.client()
    contains(refused(control.NO_SUCH_SESSION, client.emit, 'go').message, 'no session')
    first, second = (client.start(endless_scenario(_daemon.black)) for _ in range(2))
    third = client.start(make_scenario('waits for others', screen=_daemon.black + '?loop=1', trigger_events=[
        event('a', [broadcast_condition('alpha')]), event('b', [broadcast_condition('beta')])]))
    equal(client.emit('go'), [first, second])
    equal(client.emit('beta'), [third])
    contains(refused(control.NO_SUCH_NAME, client.emit, 'gamma').message, 'gamma', 'alpha', 'beta', 'go')
    client.stop(everything=True)


def test_list_and_delete():
    client = _daemon.client()
    kept = [client.start(counting_scenario(_daemon.red, passes=1), wait=True).id for _ in range(3)]
    running = client.start(endless_scenario(_daemon.black, name='still there'))
    silent = client.start(endless_scenario(_daemon.black, name='no report'), no_report=True)
    listed = client.list()
    ids = [entry.id for entry in listed]
    equal(ids, sorted(ids))
    equal(ids[-5:], kept + [running, silent])
    equal([report.SessionState.Name(entry.state) for entry in listed[-5:]], ['FINISHED'] * 3 + ['RUNNING'] * 2)
    equal(listed[-1].no_report, True)
    refused(control.STILL_RUNNING, client.delete, kept[0], running)
    refused(control.NO_SUCH_SESSION, client.delete, kept[0], 1 << 40)
    contains([entry.id for entry in client.list()], kept[0])  # nothing was deleted
    equal(client.delete(kept[1], kept[0], kept[1]), sorted(kept[:2]))
    refused(control.NO_SUCH_SESSION, client.report, kept[0])
    refused(control.NO_SUCH_SESSION, client.delete, kept[0])
    contains(refused(control.NO_SUCH_SESSION, client.report, silent).message, 'no-report')
    contains(refused(control.NO_SUCH_SESSION, client.report).message, 'no-report')  # it was started last
    client.stop(everything=True)
    ids = [entry.id for entry in client.list()]
    assert silent not in ids and running in ids, ids
    refused(control.ALREADY_ENDED, client.stop, silent)
    equal(client.wait(silent).reason, report.REASON_STOPPED)


def test_ids_never_repeat():
    client = _daemon.client()
    first = client.start(counting_scenario(_daemon.red, passes=1), wait=True).id
    client.delete(first)
    assert client.start(counting_scenario(_daemon.red, passes=1), wait=True).id > first


def test_options():
    client = _daemon.client()
    ended = client.start(endless_scenario(_daemon.black), wait=True, max_passes=7)
    equal((ended.passes, ended.reason), (7, report.REASON_PASSES))
    ended = client.start(endless_scenario(_daemon.black), wait=True, max_duration_ns=30 * MS)
    equal(ended.reason, report.REASON_DURATION)
    ended = client.start(endless_scenario(_daemon.black), wait=True, rate_passes=20.0, rate_per_ns=SECOND, max_passes=3)
    assert ended.duration_ns > 90 * MS, ended.duration_ns  # three passes, 50 ms apart
    ended = client.start(endless_scenario(_daemon.black, passes_per_second=1), wait=True, rate_passes=0.0, max_passes=200)
    assert ended.duration_ns < 30 * SECOND, ended.duration_ns
    ended = client.start(counting_scenario('replay:/nowhere'), wait=True, screen=_daemon.red, input='log:', dry_run=True)
    equal((ended.screen, ended.input, ended.dry_run), (_daemon.red, 'log:', True))
    equal(ended.reason, report.REASON_STOP_ACTION)
    ended = client.start(counting_scenario(_daemon.red), wait=True, no_report=True)
    equal((ended.no_report, ended.reason), (True, report.REASON_STOP_ACTION))
    assert not (_daemon.state / 'reports' / str(ended.id)).exists()


def test_a_source_that_ends():
    client = _daemon.client()
    ended = client.start(make_scenario('short', screen=_daemon.black,
                                       screen_events=[event('x', [color_condition('c', 0xff00ff)])]), wait=True)
    equal((ended.reason, ended.passes), (report.REASON_SOURCE_ENDED, 1))


def test_images_travel_in_chunks():
    big = png(700, 500, texture)
    assert len(big) > 3 * 64 * 1024, len(big)
    screen = write_frames(_daemon.home / 'big', [big])
    client = _daemon.client()
    ended = client.start(make_scenario('find it', screen=screen, screen_events=[
        event('found', [image_condition('itself', big)], [stop_action('found it')])]), wait=True)
    equal(ended.reason_text and ended.reason, report.REASON_STOP_ACTION)
    got = client.report(ended.id)
    image = got.scenario.screen_events[0].conditions[0].image
    equal((image.width, image.height, image.png), (700, 500, b''))
    assert image.pixels_digest


def test_check():
    client = _daemon.client()
    checked = client.check(counting_scenario(_daemon.red))
    equal((checked.events, checked.conditions, checked.actions), (3, 5, 3))
    equal(client.status(), [])


def test_a_scenario_with_mistakes_is_refused_with_their_places():
    client = _daemon.client()
    message = counting_scenario(_daemon.red)
    message.screen_events[1].conditions[0].color.area.width = 0
    message.trigger_events[0].conditions[0].counter.counter = 'sene'
    for call in (client.start, client.check):
        error = refused(control.BAD_SCENARIO, call, message)
        equal(len(error.problems), 2, error.message)
        equal(error.place, error.problems[0].place)
        contains(error.problems[0].place, 'screen-events[1].conditions[0]')
        contains(error.problems[1].place, 'trigger-events[0].conditions[0]')


def test_screens_that_do_not_open():
    client = _daemon.client()
    error = refused(control.SCREEN_FAILED, client.start, counting_scenario('replay:/nowhere'))
    contains(error.message, '/nowhere')
    empty = _daemon.home / 'empty'
    empty.mkdir(exist_ok=True)
    refused(control.SCREEN_FAILED, client.start, counting_scenario(f'replay:{empty}'))
    error = refused(control.BAD_REQUEST, client.start, make_scenario('no screen', trigger_events=[
        event('t', [timer_condition('t', SECOND)])]))
    contains(error.message, 'screen')
    equal(client.status(), [])
    assert not [name for name in (_daemon.state / 'reports').iterdir() if not (name / 'overview.pb').exists()]


def test_many_sessions_at_once_and_no_more():
    client = _daemon.client()
    started = [client.start(endless_scenario(_daemon.black, name=f'{number:02} ' + 'x' * 200)) for number in range(64)]
    contains(refused(control.BUSY, client.start, endless_scenario(_daemon.black)).message, '64')
    equal([entry.id for entry in client.status()], started)
    replies = list(client.replies(client.send(status=control.StatusRequest())))
    assert all(reply.ByteSize() <= 64 * 1024 for reply in replies)
    equal(sorted(entry.id for entry in client.stop(everything=True)), started)
    client.start(counting_scenario(_daemon.red), wait=True)


def test_started_from_many_connections_at_once():
    def one(number):
        with _daemon.client() as client:
            return client.start(counting_scenario(_daemon.red, name=f'number {number}'), wait=True)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        ended = list(pool.map(one, range(48)))
    equal(len({entry.id for entry in ended}), 48)
    assert all(entry.reason == report.REASON_STOP_ACTION for entry in ended)


def test_a_starter_that_leaves_before_the_answer():
    for _ in range(10):
        client = _daemon.client()
        client.upload(endless_scenario(_daemon.black, name='left alone'), wait=True)
        client.close()
    with _daemon.client() as client:
        until(lambda: len(client.status()) == 10, 'the sessions to run')
        equal(len(client.stop(everything=True)), 10)


# --- docs/PROTOCOL.md -----------------------------------------------------------------------------------------------

def test_the_client_of_the_documentation():
    page = (SOURCE / 'docs' / 'PROTOCOL.md').read_text()
    code = re.search(r'```python\n(.*?)```', page, re.S).group(1)
    with _daemon.client() as client:
        session = client.start(counting_scenario(_daemon.red), wait=True).id
    result = run_program(sys.executable, '-c', code, _daemon.socket_path,
                         environment={'PYTHONPATH': str(BUILD / 'tests' / 'support')}).ok()
    contains(result.out, f'{session} counting FINISHED\n', 'red 5\n', 'not reached 0\n')


def test_the_bytes_of_the_documentation():
    page = (SOURCE / 'docs' / 'PROTOCOL.md').read_text()
    shown = [bytes.fromhex(line) for line in re.findall(r'^    [→←] ([0-9a-f ]+)$', page, re.M)]
    hello = control.HelloReply(major=1, minor=0, daemon='0.1.0', features=['x11=yes'], control=True)
    error = control.Error(code=control.NO_SUCH_SESSION, message='there is no session 300')
    equal(shown, [frame(message) for message in (
        control.Request(id=1, hello=control.Hello(major=1, minor=0, client='demo')),
        control.Reply(id=1, last=True, hello=hello),
        control.Request(id=2, status=control.StatusRequest()),
        control.Reply(id=2, last=True, sessions=control.Sessions()),
        control.Request(id=3, stop=control.StopRequest(session=300)),
        control.Reply(id=3, last=True, error=error))])
    with _daemon.client(hello=False) as client:
        client.send_bytes(shown[0] + shown[2])
        client.receive()
        equal(frame(client.receive()), shown[3])


def test_every_code_and_request_is_documented():
    page = (SOURCE / 'docs' / 'PROTOCOL.md').read_text()
    for name in control.Code.keys():
        assert re.search(rf'^\|.*\b{name}\b', page, re.M), name
    for field in control.Request.DESCRIPTOR.oneofs_by_name['body'].fields:
        assert re.search(rf'^\| .*`{field.name}`', page, re.M), field.name
    for name in control.ReportPart.keys():
        contains(page, name)
    for field in control.StartOptions.DESCRIPTOR.fields:
        contains(page, f'`{field.name}`')


def test_the_round_trip_of_status_while_the_engine_is_busy():
    client = _daemon.client()
    session = client.start(make_scenario('busy', screen=_daemon.black + '?loop=1', screen_events=[
        event(f'e{number}', [color_condition(f'c{number}', 0xff00ff)], keep_detecting=True) for number in range(50)]))
    times = []
    for _ in range(1000):
        begin = time.perf_counter_ns()
        client.status()
        times.append(time.perf_counter_ns() - begin)
    times.sort()
    note(f'1000 status round trips: p50 {times[500] / MS:.3f} ms, p99 {times[990] / MS:.3f} ms, max {times[-1] / MS:.3f} ms')
    begin = time.perf_counter_ns()
    client.stop(session)
    note(f'stop and close: {(time.perf_counter_ns() - begin) / MS:.2f} ms')


if __name__ == '__main__':
    with Daemon() as _daemon:
        _daemon.black = write_frames(_daemon.home / 'black', [png(16, 16, BLACK)])
        _daemon.red = write_frames(_daemon.home / 'red', [png(16, 16, RED)]) + '?loop=1'
        try:
            run(globals())
        except SystemExit as done:
            code = done.code
        if code:
            note(_daemon.log()[-5000:])
    raise SystemExit(code)
