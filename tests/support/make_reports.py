# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the report folders below tests/data/reports: reports of every shape that the client has to read, by hand and not
by the daemon, so that a mistake of one doesn't hide in the other.

    PYTHONPATH=tests/support:BUILD/tests/support python3 tests/support/make_reports.py FOLDER

tests/unit/check_report reads them; the .json files beside them say what has to come out.
    many FOLDER N           a report of N occurrences, for tests of size
    varied FOLDER N         the same of several events
    seeds REPORTS FOLDER    seeds for tests/fuzz/fuzz_view
"""

import math
import pathlib
import sys

from google.protobuf.message import DecodeError

import report_pb2 as report
import scenario_pb2 as scenario

MS = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 3600 * SECOND
STARTED = 1_772_367_296_789 * MS  # 2026-03-01T12:14:56.789Z


def delimited(message):
    body = message if isinstance(message, bytes) else message.SerializeToString()
    out, length = bytearray(), len(body)
    while length >= 0x80:
        out.append(length & 0x7f | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out) + body


def bucket(duration_ns):
    """Index i with 2^(i/8) < d <= 2^((i+1)/8), by whole numbers: d^8 lies in (2^i, 2^(i+1)]."""
    return max((duration_ns ** 8 - 1).bit_length() - 1, 0)


def histogram(durations):
    counts = {}
    message = report.Histogram(zero=0, overflow=0)
    for duration in durations:
        if duration == 0:
            message.zero += 1
        elif duration > 2 ** 36:
            message.overflow += 1
        else:
            counts[bucket(duration)] = counts.get(bucket(duration), 0) + 1
    if counts:
        message.first_bucket = min(counts)
        message.buckets.extend(counts.get(i, 0) for i in range(min(counts), max(counts) + 1))
    return message


def timing(number, durations, fulfilled=0):
    return report.ConditionTiming(
        condition_id=number, check_count=len(durations), fulfilled_count=fulfilled, total_duration_ns=sum(durations),
        min_duration_ns=min(durations, default=0), max_duration_ns=max(durations, default=0))


def detail(number, durations, max_pass=None, max_at_ns=None, **more):
    message = report.ConditionDetail(
        condition_id=number, sum_of_squares_ns2=math.fsum(float(d) * d for d in durations),
        histogram=histogram(durations), reused_count=0, reused_duration_ns=0, shared_duration_ns=0)
    if durations:
        message.max_pass, message.max_at_ns = max_pass or durations.index(max(durations)) + 1, max_at_ns or 5 * SECOND
    for name, value in more.items():
        setattr(message, name, value)
    return message


def closing(timings, details=None, **more):
    message = report.DebugReportMessage(relative_timestamp_ms=0,
                                        condition_profile=report.ConditionProfile(conditions=timings))
    if details is not None:
        message.condition_details.CopyFrom(report.ConditionDetails(conditions=details, **more))
    return message


def area(x, y, width, height):
    return scenario.Area(x=x, y=y, width=width, height=height)


def kiosk():
    """Two screen events, two trigger events; ids given on some."""
    image = scenario.ImageCondition(file='popup.png', pixels_digest=1, width=40, height=20)
    return scenario.Scenario(
        name='kiosk login', id=7, screen='x11::0', input='x11::0', rate=scenario.Rate(passes=10, per_ns=SECOND),
        counters=[scenario.Counter(name='retries', initial_value=0)],
        screen_events=[
            scenario.Event(name='close popup', id=1, cooldown_ns=500 * MS, conditions=[
                scenario.Condition(name='popup', id=1, image=image),
                scenario.Condition(name='orange', id=2, color=scenario.ColorCondition(rgb=0xff8800, area=area(0, 0, 9, 9))),
            ]),
            scenario.Event(name='error', id=40, id_given=True, conditions=[
                scenario.Condition(name='error icon', id=41, id_given=True, image=image),
                scenario.Condition(name='restart', id=3, image=image),
            ]),
        ],
        trigger_events=[
            scenario.Event(name='give up', id=2, match=scenario.MATCH_ANY, conditions=[
                scenario.Condition(name='30 s', id=4, timer=scenario.TimerCondition(duration_ns=30 * SECOND)),
                scenario.Condition(name='retries', id=5, counter=scenario.CounterCondition(counter='retries')),
            ]),
            scenario.Event(name='told', id=3, enabled=False, conditions=[
                scenario.Condition(name='go', id=6, broadcast=scenario.BroadcastCondition(broadcast='go')),
            ]),
        ])


DURATIONS = {
    1: [8 * MS + 1000 * i for i in range(100)],
    2: [100 + i for i in range(10)],
    41: [25 * MS + 20_000 * i for i in range(89)] + [312 * MS],
    3: [],
    4: [0] * 60 + [55] * 40,
    5: [61] * 40,
    6: [],
}


def occurrence(number, event_id, at, acting, passes, trigger=False, **more):
    kind = report.TriggerEventMessage if trigger else report.ImageEventMessage
    message = kind(event_id=event_id, checking_ns=8_200_000, detecting_ns=900 * MS)
    setattr(message, 'pass', passes)
    if not trigger:
        message.duration_ms, message.frame_number = 8, passes
    for name, value in more.items():
        getattr(message, name).extend(value)
    result = report.DebugReportMessage(relative_timestamp_ms=at // MS, detected_at_ns=at - acting,
                                       actions_completed_at_ns=at)
    (result.trigger_event if trigger else result.image_event).CopyFrom(message)
    return result


def kiosk_messages():
    click = report.ActionResult(kind=report.ACTION_CLICK, x=120, y=-4, duration_ns=50 * MS)
    found = report.ImageConditionResult(condition_id=1, duration_ms=8, duration_ns=8_150_000, confidence_rate=0.97,
                                        is_fulfilled=True)
    orange = report.ImageConditionResult(condition_id=2, duration_ms=0, duration_ns=104, confidence_rate=0,
                                         is_fulfilled=False, no_confidence=True)
    retry = report.CounterStateChange(name='retries', old_value=0, new_value=1)
    return [
        report.DebugReportMessage(relative_timestamp_ms=0, counters_init=report.CountersInitMessage(
            counters=[report.CounterInit(name='retries', initial_value=0)])),
        occurrence(1, 1, 2 * SECOND, 50 * MS, 20, condition_results=[found, orange], counter_changes=[retry],
                   actions=[click, report.ActionResult(kind=report.ACTION_COUNTER, duration_ns=0)]),
        occurrence(2, 1, 3040 * MS, 226 * MS, 30, condition_results=[found],
                   event_state_changes=[report.EventStateChange(event_id=3, new_value=True)],
                   actions=[report.ActionResult(kind=report.ACTION_CLICK, skipped=True)]),
        occurrence(3, 2, 137 * SECOND + 40 * MS, 30 * SECOND, 41, trigger=True,
                   condition_results=[report.TriggerConditionResult(condition_id=4, is_fulfilled=True, duration_ns=55)],
                   actions=[report.ActionResult(kind=report.ACTION_PAUSE, duration_ns=30 * SECOND)]),
        report.DebugReportMessage(relative_timestamp_ms=140_000, gap=report.Gap(at_ns=140 * SECOND, duration_ns=190 * SECOND)),
        occurrence(4, 2, HOUR + 5 * MINUTE, 1, 99, trigger=True,
                   condition_results=[report.TriggerConditionResult(condition_id=5, is_fulfilled=True, duration_ns=61)],
                   actions=[report.ActionResult(kind=report.ACTION_STOP, duration_ns=1)]),
    ]


def kiosk_closing():
    passes = [9 * MS + 1000 * i for i in range(99)] + [330 * MS]
    return closing(
        [timing(1, DURATIONS[1], 2), timing(2, DURATIONS[2]), timing(3, []), timing(4, DURATIONS[4], 1),
         timing(5, DURATIONS[5], 1), timing(6, []), timing(41, DURATIONS[41])],
        [detail(1, DURATIONS[1], shared_duration_ns=90 * MS, match_count=2, match_left=600, match_top=380, match_right=642,
                match_bottom=400, match_frame_width=1280, match_frame_height=800, last_fulfilled=True, last_confidence=0.987), detail(2, DURATIONS[2], short_circuited_count=90),
         detail(3, [], short_circuited_count=90), detail(4, DURATIONS[4], last_fulfilled=False),
         detail(5, DURATIONS[5], short_circuited_count=60), detail(6, []),
         detail(41, DURATIONS[41], max_pass=77, max_at_ns=9 * SECOND, reused_count=12, reused_duration_ns=600,
                not_evaluable_count=3, not_evaluable_why='the area lies outside the frame')],
        events=[
            report.EventDetail(event_id=1, evaluated=100, fulfilled=2, disabled=0, cooling_down=10, ended_before=0,
                               first_ns=2 * SECOND, last_ns=3040 * MS, detecting_ns=1800 * MS, checking_ns=16_400_000,
                               acting_ns=276 * MS),
            report.EventDetail(event_id=2, evaluated=100, fulfilled=2, disabled=0, cooling_down=0, ended_before=0,
                               first_ns=137_040 * MS, last_ns=65 * MINUTE, detecting_ns=1800 * MS, checking_ns=200,
                               acting_ns=30 * SECOND + 1),
            report.EventDetail(event_id=3, evaluated=0, fulfilled=0, disabled=110, cooling_down=0, ended_before=0,
                               detecting_ns=0, checking_ns=0, acting_ns=0),
            report.EventDetail(event_id=40, evaluated=90, fulfilled=0, disabled=0, cooling_down=0, ended_before=2,
                               detecting_ns=0, checking_ns=0, acting_ns=0),
        ],
        pass_time=histogram(passes), pass_time_min_ns=min(passes), pass_time_max_ns=max(passes),
        pass_time_total_ns=sum(passes))


def kiosk_time(duration):
    conditions = sum(sum(d) for d in DURATIONS.values())
    actions = 30 * SECOND + 276 * MS + 1
    engine, frame_wait, frame_get, safety, waiting, other = 40 * MS, 3 * SECOND, 120 * MS, 0, 0, 1_234_567
    processing = conditions + actions + engine
    return report.SessionTime(
        duration_ns=duration, frame_wait_ns=frame_wait, frame_get_ns=frame_get, processing_ns=processing,
        conditions_ns=conditions, actions_ns=actions, pauses_ns=30 * SECOND, engine_ns=engine,
        limiter_wait_ns=duration - frame_wait - frame_get - processing - safety - waiting - other, safety_wait_ns=safety,
        report_wait_ns=waiting, other_ns=other)


def kiosk_overview(**more):
    duration = HOUR + 5 * MINUTE + 7 * SECOND
    time = kiosk_time(duration)
    message = report.DebugReportOverview(
        scenario_id=7, duration_ms=duration // MS, frame_count=100, average_frame_processing_duration_ms=330,
        image_event_fulfilled_count=2, trigger_event_fulfilled_count=2, counters_name=['retries'],
        active_detection_duration_ns=time.processing_ns, execution_limiter_wait_duration_ns=time.limiter_wait_ns,
        session_id=12, state=report.FINISHED, reason=report.REASON_STOP_ACTION, reason_text='gave up',
        result=report.SESSION_FAILED, started_unix_ns=STARTED, ended_unix_ns=STARTED + duration + 190 * SECOND,
        scenario_name='kiosk login', frames=98, missed_passes=3, lost_occurrences=5, clock_pair_ns=62, time=time,
        gaps=[report.Gap(at_ns=140 * SECOND, duration_ns=190 * SECOND)], gap_count=1, frame_width=1280, frame_height=800,
        period_ns=100 * MS)
    for name, value in more.items():
        if hasattr(value, 'SerializeToString'):
            getattr(message, name).CopyFrom(value)
        else:
            setattr(message, name, value)
    return message


def write(path, scenario_message=None, overview=None, checkpoint=None, messages=(), tail=b'', segments=()):
    path.mkdir(parents=True, exist_ok=True)
    if scenario_message is not None:
        (path / 'scenario.pb').write_bytes(
            scenario_message if isinstance(scenario_message, bytes) else scenario_message.SerializeToString())
    if overview is not None:
        (path / 'overview.pb').write_bytes(delimited(overview))
    if checkpoint is not None:
        (path / 'checkpoint.pb').write_bytes(b''.join(delimited(message) for message in checkpoint))
    for number, segment in enumerate(segments, 1):
        (path / f'messages.{number:04d}.pb').write_bytes(b''.join(delimited(message) for message in segment))
    if messages or tail:
        (path / 'messages.pb').write_bytes(b''.join(delimited(message) for message in messages) + tail)


def finished(path):
    messages = kiosk_messages()
    # The closing message goes before occurrences that were still queued; the oldest are in a segment of their own.
    write(path, kiosk(), kiosk_overview(), segments=[messages[:2]],
          messages=messages[2:-1] + [kiosk_closing()] + messages[-1:])


def first_shape(path):
    """As the first reports were: no times in nanoseconds, no profile; nothing of ours, no scenario beside it."""
    write(path, overview=report.DebugReportOverview(
        scenario_id=3, duration_ms=61_000, frame_count=600, average_frame_processing_duration_ms=4,
        image_event_fulfilled_count=1, trigger_event_fulfilled_count=0, counters_name=['n']), messages=[
            report.DebugReportMessage(relative_timestamp_ms=0, counters_init=report.CountersInitMessage(
                counters=[report.CounterInit(name='n', initial_value=2)])),
            report.DebugReportMessage(relative_timestamp_ms=1500, image_event=report.ImageEventMessage(
                event_id=11, duration_ms=7, frame_number=15, condition_results=[report.ImageConditionResult(
                    condition_id=21, duration_ms=6, confidence_rate=0.93, is_fulfilled=True)],
                counter_changes=[report.CounterStateChange(name='n', old_value_deprecated=2, new_value_deprecated=3)])),
        ])


def timed_shape(path):
    """As its extension by timing wrote them: fields 5 to 9, nothing of ours."""
    message = closing([timing(1, [5 * MS] * 4, 1), timing(2, []), timing(9, [100] * 3)])
    occurred = report.DebugReportMessage(
        relative_timestamp_ms=1500, detected_at_ns=1_400 * MS, actions_completed_at_ns=1_500_250_000,
        image_event=report.ImageEventMessage(event_id=1, duration_ms=7, frame_number=15, condition_results=[
            report.ImageConditionResult(condition_id=1, duration_ms=6, confidence_rate=1, is_fulfilled=True)]))
    write(path, kiosk(), report.DebugReportOverview(
        scenario_id=7, duration_ms=4000, frame_count=40, average_frame_processing_duration_ms=5,
        image_event_fulfilled_count=1, trigger_event_fulfilled_count=0,
        active_detection_duration_ns=210 * MS, execution_limiter_wait_duration_ns=3_500 * MS), messages=[occurred, message])


def torn(path):
    """Interrupted: no overview, a checkpoint, and the last message cut off."""
    overview = kiosk_overview(state=report.RUNNING, reason=report.REASON_NONE)
    for name in ('result', 'ended_unix_ns', 'reason_text'):
        overview.ClearField(name)
    messages = kiosk_messages()
    write(path, kiosk(), checkpoint=[overview, kiosk_closing()], messages=messages[:3], tail=delimited(messages[3])[:20])


def empty(path):
    """Interrupted before its first checkpoint."""
    write(path, kiosk())
    (path / 'messages.pb').write_bytes(b'')


def beginning(at, values, states=None):
    """How things stood: what a report goes on from."""
    message = report.DebugReportMessage(relative_timestamp_ms=at // MS, counters_init=report.CountersInitMessage(
        counters=[report.CounterInit(name=name, initial_value=value) for name, value in values.items()]))
    if at:
        message.actions_completed_at_ns = at
    if states is not None:
        message.event_states.events.extend(report.EventStateChange(event_id=number, new_value=state)
                                           for number, state in states.items())
    return message


def continued(path):
    """Goes on where another report ended; a later segment begins with the counters too."""
    messages = kiosk_messages()
    write(path, kiosk(), kiosk_overview(session_id=13, continues_session=12),
          segments=[[beginning(0, {'retries': 3, 'tries': math.inf}, {1: False, 3: True, 99: False})] + messages[:2]],
          messages=[beginning(3040 * MS, {'retries': 4, 'tries': math.inf})] + messages[2:] + [kiosk_closing()])


def dropped(path):
    """Its oldest segments were given up."""
    messages = kiosk_messages()
    write(path, kiosk(), kiosk_overview(continues_session=11, dropped_segments=1, dropped_occurrences=2),
          messages=[beginning(3040 * MS, {'retries': 4, 'tries': -math.inf, 'odd': math.nan})] + messages[2:]
          + [kiosk_closing()])


def never_checked(path):
    """Ended before its first pass."""
    overview = kiosk_overview(frame_count=0, frames=0, missed_passes=0, lost_occurrences=0, reason=report.REASON_STOPPED,
                              result=report.SESSION_OK)
    overview.ClearField('reason_text')
    overview.ClearField('gaps')
    overview.gap_count = 0
    overview.time.CopyFrom(report.SessionTime(
        duration_ns=0, frame_wait_ns=0, frame_get_ns=0, processing_ns=0, conditions_ns=0, actions_ns=0, pauses_ns=0,
        engine_ns=0, limiter_wait_ns=0, safety_wait_ns=0, report_wait_ns=0, other_ns=0))
    numbers = (1, 2, 3, 4, 5, 6, 41)
    write(path, kiosk(), overview, messages=[closing([timing(n, []) for n in numbers], [detail(n, []) for n in numbers],
                                                     pass_time=histogram([]))])


def hostile(path):
    """Names that would steer a terminal, ids that repeat, counts that can't be, bytes that are no UTF-8."""
    big = 2 ** 63 - 1
    names = ['\x1b[31mred\x1b[0m\n2nd line', '漢字カタカナ', 'a\u202eb\u200bc', 'e\u0301\u0302 combined', '<script>"\\',
             'BAD!', 'x' * 256, '']
    message = scenario.Scenario(name='\x1b]0;title\x07BAD!', id=-1, screen_events=[scenario.Event(
        name=names[0], id=1, conditions=[scenario.Condition(name=name, id=min(i + 1, 6), color=scenario.ColorCondition())
                                         for i, name in enumerate(names)]),
        scenario.Event(name='BAD!', id=1)])
    data = message.SerializeToString().replace(b'BAD!', b'b\xff\xc0\xaf')
    overview = kiosk_overview(duration_ms=-5, frame_count=-3, frames=big, lost_occurrences=-1, reason_text='\x1b[2J',
                              gap_count=-4, started_unix_ns=big, ended_unix_ns=-big)
    overview.time.CopyFrom(report.SessionTime(duration_ns=-7, frame_wait_ns=big, processing_ns=-big))
    wrong = report.Histogram(zero=-1, first_bucket=280, buckets=[1] * 300, overflow=big)
    full = report.Histogram(zero=big, first_bucket=0, buckets=[big], overflow=big)
    write(path, data, overview, messages=[
        occurrence(1, 77, 5, 9, 1, condition_results=[report.ImageConditionResult(condition_id=88, confidence_rate=float('nan'))],
                   counter_changes=[report.CounterStateChange(name='\x1b[5m', old_value=float('inf'), new_value=1e300)],
                   event_state_changes=[report.EventStateChange(event_id=99, new_value=False)]),
        b'\xff\xff\xff no message',
        closing([report.ConditionTiming(condition_id=1, check_count=-4, fulfilled_count=-1, total_duration_ns=-big),
                 report.ConditionTiming(condition_id=2, check_count=1, total_duration_ns=big, max_duration_ns=big),
                 report.ConditionTiming(condition_id=2, check_count=9, total_duration_ns=9),
                 report.ConditionTiming(condition_id=3, check_count=2, total_duration_ns=big, max_duration_ns=big),
                 report.ConditionTiming(condition_id=1000, check_count=1, total_duration_ns=3)],
                [report.ConditionDetail(condition_id=2, histogram=wrong, sum_of_squares_ns2=float('nan')),
                 report.ConditionDetail(condition_id=3, histogram=full, sum_of_squares_ns2=-1.0)],
                events=[report.EventDetail(event_id=555, evaluated=-3, fulfilled=5, first_ns=big, last_ns=-big)]),
    ])


# --- two to be compared ----------------------------------------------------------------------------------------------

def compared_color(name, number, threshold=4, given=False):
    return scenario.Condition(name=name, id=number, id_given=given, color=scenario.ColorCondition(
        rgb=0x102030, area=area(0, 0, 9, 9), threshold=threshold))


def compared_overview(number, passes, started):
    processing, limiter, duration = passes * 20 * MS, passes * 75 * MS, passes * 100 * MS
    return report.DebugReportOverview(
        scenario_id=0, duration_ms=duration // MS, frame_count=passes, session_id=number, state=report.FINISHED,
        reason=report.REASON_SOURCE_ENDED, result=report.SESSION_OK, started_unix_ns=started,
        ended_unix_ns=started + duration, scenario_name='compared', frames=passes, clock_pair_ns=62, frame_width=640,
        frame_height=480, period_ns=100 * MS, time=report.SessionTime(
            duration_ns=duration, frame_wait_ns=duration - processing - limiter - 7, frame_get_ns=0,
            processing_ns=processing, conditions_ns=processing - 5, actions_ns=2, pauses_ns=0, engine_ns=3,
            limiter_wait_ns=limiter, safety_wait_ns=0, report_wait_ns=0, other_ns=7))


def compared_event(number, evaluated, fulfilled):
    return report.EventDetail(event_id=number, evaluated=evaluated, fulfilled=fulfilled, disabled=0, cooling_down=0,
                              ended_before=0, first_ns=SECOND, last_ns=2 * SECOND, detecting_ns=0, checking_ns=0,
                              acting_ns=fulfilled * MS)


def compared_closing(durations, fulfilled, events):
    return closing([timing(number, durations[number], fulfilled.get(number, 0)) for number in sorted(durations)],
                   [detail(number, durations[number]) for number in sorted(durations)],
                   events=[compared_event(*event) for event in events])


def compared_base(path):
    """Held against compared_new: renamed under a given id, moved, redefined, slower, faster, gone."""
    write(path, scenario.Scenario(name='compared', screen='replay:/frames', screen_events=[
        scenario.Event(name='first', id=10, id_given=True, conditions=[
            compared_color('renamed', 1, given=True), compared_color('spread', 2), compared_color('gone', 3)]),
        scenario.Event(name='second', id=2, conditions=[
            compared_color('faster', 4), compared_color('few', 5), compared_color('never', 6)]),
        scenario.Event(name='no more', id=3, conditions=[compared_color('went with it', 7)]),
    ]), compared_overview(1, 100, STARTED), messages=[compared_closing(
        {1: [8 * MS + 10_000 * (i % 10) for i in range(100)],
         2: [1 * MS if i % 10 else 60 * MS for i in range(100)],
         3: [500_000] * 50,
         4: [2 * MS + 1000 * i for i in range(100)],
         5: [3 * MS] * 10,
         6: [],
         7: [40] * 100},
        {1: 100, 2: 50, 4: 10}, [(10, 100, 50), (2, 100, 0), (3, 100, 0)])])


def compared_new(path):
    """Twice as many passes; the order and with it all ids that were not given are others."""
    write(path, scenario.Scenario(name='compared', screen='replay:/frames', screen_events=[
        scenario.Event(name='second', id=1, conditions=[
            compared_color('never', 2), compared_color('faster', 3, threshold=9), compared_color('few', 4)]),
        scenario.Event(name='new first', id=10, id_given=True, conditions=[
            compared_color('spread', 5), compared_color('new name', 1, given=True), compared_color('came', 6)]),
    ]), compared_overview(2, 200, STARTED + HOUR), messages=[compared_closing(
        {1: [10 * MS + 10_000 * (i % 10) for i in range(200)],
         2: [],
         3: [1 * MS + 1000 * (i % 100) for i in range(200)],
         4: [30 * MS] * 10,
         5: [1 * MS if i % 10 else 75 * MS for i in range(200)],
         6: [77] * 3},
        {1: 200, 3: 20, 5: 100, 6: 1}, [(1, 200, 0), (10, 200, 100)])])


# --- to be asked for advice --------------------------------------------------------------------------------------------

def searched(name, number, **fields):
    return scenario.Condition(name=name, id=number, image=scenario.ImageCondition(
        file=f'{name}.png', pixels_digest=number, width=40, height=20, **fields))


def found(number, durations, count, box, **more):
    left, top, right, bottom = box
    return detail(number, durations, match_count=count, match_left=left, match_top=top, match_right=right,
                  match_bottom=bottom, match_frame_width=1280, match_frame_height=720, **more)


def advised_overview(passes, period, limiter, processing, frame_get=0):
    duration = passes * period if limiter else passes * 10 * MS
    return report.DebugReportOverview(
        scenario_id=0, duration_ms=duration // MS, frame_count=passes, session_id=3, state=report.FINISHED,
        reason=report.REASON_STOPPED, result=report.SESSION_OK, started_unix_ns=STARTED, ended_unix_ns=STARTED + duration,
        scenario_name='advised', frames=passes, missed_passes=0, clock_pair_ns=62, frame_width=1280, frame_height=720,
        period_ns=period, time=report.SessionTime(
            duration_ns=duration, frame_wait_ns=0, frame_get_ns=frame_get, processing_ns=processing,
            conditions_ns=processing, actions_ns=0, pauses_ns=0, engine_ns=0, limiter_wait_ns=limiter, safety_wait_ns=0,
            report_wait_ns=0, other_ns=duration - processing - limiter - frame_get))


def advised(path):
    """Everything that advise has something to say about."""
    every = scenario.Scenario(name='advised', screen='x11::0', screen_events=[
        scenario.Event(name='all', id=1, conditions=[
            searched('picture', 1, search=scenario.SEARCH_AREA, area=area(0, 0, 50, 30)), compared_color('colour', 2),
            searched('last', 3, search=scenario.SEARCH_EXACT, at=scenario.Point(x=1, y=1))]),
        scenario.Event(name='any', id=2, match=scenario.MATCH_ANY, actions=[scenario.Action(
            click=scenario.ClickAction(found=True))], conditions=[
                compared_color('slow', 4), compared_color('quick', 5), compared_color('no use', 6)]),
        scenario.Event(name='places', id=3, match=scenario.MATCH_ANY, conditions=[
            searched('still', 7), searched('nearly', 8, search=scenario.SEARCH_AREA, area=area(0, 0, 1280, 360)),
            searched('everywhere', 9), searched('seldom', 10), searched('at the edge', 11)]),
        scenario.Event(name='never', id=4, conditions=[searched('not seen', 12), searched('behind it', 13)]),
        scenario.Event(name='clicked', id=5, actions=[scenario.Action(click=scenario.ClickAction(condition='button'))],
                       conditions=[compared_color('button', 14), compared_color('needless', 15), compared_color('other', 18)]),
    ], trigger_events=[
        scenario.Event(name='too short to tell', id=6, match=scenario.MATCH_ANY, conditions=[
            scenario.Condition(name='soon', id=16, timer=scenario.TimerCondition(duration_ns=SECOND)),
            scenario.Condition(name='count', id=17, counter=scenario.CounterCondition(counter='n'))]),
    ])
    durations = {1: [5 * MS] * 1000, 2: [10_000] * 900, 3: [2 * MS] * 90, 4: [3 * MS] * 500, 5: [MS] * 450, 6: [MS] * 225,
                 7: [400_000] * 1000, 8: [300_000] * 980, 9: [300_000] * 960, 10: [300_000] * 900, 11: [300_000] * 898,
                 12: [600_000] * 1000, 13: [], 14: [1000] * 1000, 15: [50_000] * 1000, 16: [100] * 1000, 17: [60] * 999,
                 18: [900_000] * 1000}
    fulfilled = {1: 900, 2: 90, 3: 90, 4: 50, 5: 225, 7: 20, 8: 20, 9: 60, 10: 2, 11: 6, 14: 1000, 15: 1000, 16: 1, 17: 500,
                 18: 300}
    details = {number: detail(number, durations[number]) for number in durations}
    details[1] = found(1, durations[1], 900, (2, 3, 42, 23), shared_duration_ns=1000 * MS)
    details[7] = found(7, durations[7], 20, (600, 380, 640, 400))
    details[8] = found(8, durations[8], 20, (600, 300, 660, 330))
    details[9] = found(9, durations[9], 60, (0, 0, 1200, 700))
    details[10] = found(10, durations[10], 2, (600, 380, 640, 400))
    details[11] = found(11, durations[11], 6, (1239, 700, 1280, 720))
    details[12] = detail(12, durations[12], match_count=0)
    processing = sum(sum(d) for d in durations.values())
    write(path, every, advised_overview(1000, 2 * MS, 0, processing), messages=[closing(
        [timing(number, durations[number], fulfilled.get(number, 0)) for number in sorted(durations)],
        [details[number] for number in sorted(durations)],
        events=[compared_event(1, 1000, 90), compared_event(2, 500, 275), compared_event(3, 1000, 108),
                compared_event(4, 1000, 0), compared_event(5, 1000, 300), compared_event(6, 1000, 501)],
        pass_time=histogram([10 * MS] * 1000), pass_time_min_ns=10 * MS, pass_time_max_ns=10 * MS,
        pass_time_total_ns=10_000 * MS)])


def advised_idle(path):
    """The limiter holds every pass, getting a frame takes a part of it, and the order of timers matters."""
    durations = {1: [900] * 600, 2: [200] * 500}
    write(path, scenario.Scenario(name='idle', trigger_events=[scenario.Event(
        name='timers', id=1, match=scenario.MATCH_ANY, conditions=[
            scenario.Condition(name='seldom', id=1, timer=scenario.TimerCondition(duration_ns=SECOND, repeat=True)),
            scenario.Condition(name='often', id=2, counter=scenario.CounterCondition(counter='n'))])]),
          advised_overview(600, 100 * MS, 595 * 89 * MS, 600 * 8 * MS, 600 * 3 * MS), messages=[closing(
              [timing(1, durations[1], 100), timing(2, durations[2], 400)], [detail(1, durations[1]), detail(2, durations[2])],
              events=[compared_event(1, 600, 500)], pass_time=histogram([8 * MS] * 596 + [150 * MS] * 4),
              pass_time_min_ns=8 * MS, pass_time_max_ns=150 * MS, pass_time_total_ns=596 * 8 * MS + 600 * MS)])


def many(path, count):
    messages = kiosk_messages()
    path.mkdir(parents=True, exist_ok=True)
    write(path, kiosk(), kiosk_overview())
    one = occurrence(1, 1, 2 * SECOND, 50 * MS, 20, condition_results=messages[1].image_event.condition_results,
                     actions=messages[1].image_event.actions)
    with open(path / 'messages.pb', 'wb') as out:
        out.write(delimited(kiosk_closing()))
        for number in range(count):
            one.actions_completed_at_ns = number * 10 * MS + SECOND
            one.detected_at_ns = one.actions_completed_at_ns - 50 * MS
            setattr(one.image_event, 'pass', number + 1)
            out.write(delimited(one))


def varied(path, count, rename=lambda name: name):
    """Six events with two conditions each that take turns to occur, over a session as long as that takes; the last event
    never occurs, and its second condition was never checked. rename: of every name."""
    events, occurred, timings, details = [], [], [], []
    for number in range(1, 7):
        conditions = [scenario.Condition(name=rename(f'{what} {number}'), id=2 * number - 1 + place,
                                         image=scenario.ImageCondition(file='a.png', pixels_digest=1, width=4, height=4))
                      for place, what in enumerate(('window', 'button'))]
        events.append(scenario.Event(name=rename(f'event {number}'), id=number, conditions=conditions))
        for condition in conditions:
            durations = [] if condition.id == 12 else [condition.id * 100_000 + (i * i * 7919) % (condition.id * 90_000)
                                                       for i in range(400)]
            timings.append(timing(condition.id, durations, len(durations) // 3))
            details.append(detail(condition.id, durations, not_evaluable_count=3, not_evaluable_why=rename('the area')))
    at = 0
    for number in range(count):
        event = number % 5 + 1
        at += 30 * MS + number % 7 * MS
        occurred.append(occurrence(number, event, at, event * MS, number + 1, condition_results=[
            report.ImageConditionResult(condition_id=2 * event - 1, duration_ns=event * 300_000, confidence_rate=.9, is_fulfilled=True)],
            counter_changes=[report.CounterStateChange(name=rename('rounds'), old_value=number, new_value=number + 1)],
            actions=[report.ActionResult(kind=report.ACTION_CLICK, x=number, y=7, duration_ns=event * MS)]))
    path.mkdir(parents=True, exist_ok=True)
    write(path, scenario.Scenario(name=rename('varied'), screen_events=events),
          kiosk_overview(scenario_name=rename('varied'), reason_text=rename('all done'), duration_ms=at // MS,
                         time=report.SessionTime(duration_ns=at, processing_ns=at // 2, conditions_ns=at // 4,
                                                 actions_ns=at // 4, engine_ns=at // 2 - at // 4 * 2, frame_wait_ns=0,
                                                 limiter_wait_ns=at - at // 2, other_ns=0)),
          messages=[closing(timings, details, events=[
              report.EventDetail(event_id=number, evaluated=400, fulfilled=(count + 5 - number) // 5 if number < 6 else 0)
              for number in range(1, 7)])] + occurred)


def seeds(reports, path):
    """Scenario, overview and aggregates with their lengths before them, then all messages."""
    path.mkdir(parents=True, exist_ok=True)
    for folder in sorted(entry for entry in reports.iterdir() if entry.is_dir()):
        messages = b''.join(file.read_bytes() for file in sorted(folder.glob('messages*.pb')))
        overview = (folder / 'overview.pb') if (folder / 'overview.pb').exists() else folder / 'checkpoint.pb'
        closing = own_closing(messages) or kiosk_closing().SerializeToString()
        parts = [(folder / 'scenario.pb').read_bytes() if (folder / 'scenario.pb').exists() else b'',
                 first_message(overview.read_bytes()) if overview.exists() else b'', closing]
        data = b''.join(len(part).to_bytes(2, 'little') for part in parts) + b''.join(parts) + messages
        (path / folder.name).write_bytes(data)


def own_closing(messages):
    """The last message that has a profile."""
    found = b''
    while messages:
        body = first_message(messages)
        messages = messages[len(delimited(body)):]
        try:
            if report.DebugReportMessage.FromString(body).HasField('condition_profile'):
                found = body
        except DecodeError:
            pass
    return found if len(found) < 1 << 16 else b''


def first_message(data):
    length = shift = place = 0
    while True:
        length |= (data[place] & 0x7f) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 0x80:
            return data[place:place + length]


SHAPES = {'finished': finished, 'first-shape': first_shape, 'timed-shape': timed_shape, 'torn': torn, 'empty': empty,
          'never-checked': never_checked, 'hostile': hostile, 'continued': continued, 'dropped': dropped, 'compared-base': compared_base, 'compared-new': compared_new,
          'advised': advised, 'advised-idle': advised_idle}

if __name__ == '__main__':
    if sys.argv[1] == 'many':
        many(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == 'varied':
        varied(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == 'seeds':
        seeds(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        for name, maker in SHAPES.items():
            maker(pathlib.Path(sys.argv[1]) / name)
