# SPDX-License-Identifier: GPL-3.0-or-later
"""condprofctl report --output prometheus: held against the format's grammar, against the same report as JSON, and, where
it is installed, by promtool. Reports of every shape: by hand, of a running session, of hostile names."""

import math
import re
import subprocess

from condprof_test import (CONDPROFCTL, MS, SECOND, SOURCE, Daemon, contains, control, ctl, endless_scenario, equal,
                           folder, need_program, note, png, run, scenario, until, write_frames)

if control:
    import make_reports

REPORTS = SOURCE / 'tests' / 'data' / 'reports'
SHAPES = sorted(path.name for path in REPORTS.iterdir() if path.is_dir())
NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'


class Family:
    def __init__(self, name, kind):
        self.name, self.kind, self.samples = name, kind, {}

    def value(self, suffix='', **labels):
        found = [value for (name, known), value in self.samples.items()
                 if name == self.name + suffix and labels.items() <= dict(known).items()]
        equal(len(found), 1, f'samples of {self.name}{suffix} {labels}')
        return found[0]


def unescape(text):
    return re.sub(r'\\(.)', lambda found: '\n' if found[1] == 'n' else found[1], text)


def check_histogram(family):
    series = {}
    for (name, labels), value in family.samples.items():
        rest = tuple(label for label in labels if label[0] != 'le')
        entry = series.setdefault(rest, {'buckets': []})
        if name.endswith('_bucket'):
            entry['buckets'].append((float(dict(labels)['le']), value))
        else:
            entry[name.rsplit('_', 1)[1]] = value
    for labels, entry in series.items():
        buckets = entry['buckets']
        equal(sorted(bound for bound, _ in buckets), [bound for bound, _ in buckets], f'bounds of {labels}')
        equal(sorted(count for _, count in buckets), [count for _, count in buckets], f'counts of {labels}')
        equal(buckets[-1], (math.inf, entry['count']), f'the last bucket of {labels}')
        assert entry['sum'] >= 0


def parse(text):
    """All families by name; anything that the format does not allow is an error."""
    families, family = {}, None
    assert text == '' or text.endswith('\n')
    lines = text.split('\n')[:-1]
    for number, line in enumerate(lines):
        head = re.fullmatch(rf'# HELP ({NAME}) ([^\n]+)', line)
        if head:
            kind = re.fullmatch(rf'# TYPE {head[1]} (counter|gauge|histogram)', lines[number + 1])
            assert kind, lines[number + 1]
            assert head[1] not in families, f'{head[1]} stands twice'
            family = families[head[1]] = Family(head[1], kind[1])
            continue
        if line.startswith('# TYPE '):
            continue
        sample = re.fullmatch(rf'({NAME})\{{((?:{LABEL}(?:,(?!\}}))?)*)\}} (\d+(?:\.\d+)?)', line)
        assert sample, f'line {number + 1}: {line!r}'
        name, labels = sample[1], tuple((label[1], unescape(label[2])) for label in re.finditer(LABEL, sample[2]))
        equal(','.join(label[0] for label in re.finditer(LABEL, sample[2])), sample[2], 'labels')
        suffixes = ('_bucket', '_sum', '_count') if family.kind == 'histogram' else ('',)
        assert name in [family.name + suffix for suffix in suffixes], f'{name} among the samples of {family.name}'
        equal(len({label for label, _ in labels}), len(labels), f'labels of {line}')
        assert (name, labels) not in family.samples, f'twice: {line}'
        assert not any(label == 'session' for label, _ in labels), line
        family.samples[name, labels] = float(sample[5])
    for family in families.values():
        assert family.samples, f'{family.name} has no samples'
        assert (family.kind == 'counter') == family.name.endswith('_total'), family.name
        if family.kind == 'histogram':
            check_histogram(family)
    return families


def exported(path):
    done = ctl('report', path, '--output', 'prometheus').ok()
    equal(done.err, '')
    assert not re.search('[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\ufffd]', done.out), 'control characters'
    return parse(done.out)


def test_every_shape_is_in_the_format():
    for shape in SHAPES:
        families = exported(REPORTS / shape)
        note(f'{shape}: {len(families)} metrics, {sum(len(family.samples) for family in families.values())} samples')
        assert 'condprof_session_state' in families


def test_promtool_agrees():
    promtool = need_program('promtool')
    for shape in SHAPES:
        text = ctl('report', REPORTS / shape, '--output', 'prometheus').ok().out
        done = subprocess.run([promtool, 'check', 'metrics'], input=text, capture_output=True, text=True, check=False)
        equal((done.returncode, done.stdout, done.stderr), (0, '', ''), shape)


def seconds(ns):
    return ns / SECOND


def test_figures_are_those_of_json():
    families = exported(REPORTS / 'finished')
    view = ctl('report', REPORTS / 'finished', '--json', '--view', 'conditions').json()
    duration = families['condprof_condition_check_duration_seconds']
    for row in view['conditions']:
        labels = {'scenario': 'kiosk login', 'event': row['event'], 'condition': row['name'], 'kind': row['kind'],
                  'id': str(row['id'])}
        equal(families['condprof_condition_checks_total'].value(**labels), row['checks'])
        equal(families['condprof_condition_fulfilled_total'].value(**labels), row['fulfilled'])
        equal(families['condprof_condition_reused_total'].value(**labels), row['reused'])
        equal(duration.value('_count', **labels), row['checks'])
        equal(duration.value('_sum', **labels), seconds(row['total_ns']))
        equal(families['condprof_condition_short_circuited_total'].value(**labels), row['short_circuited'])
        longest = families['condprof_condition_check_max_seconds'].samples
        known = [value for (_, found), value in longest.items() if dict(found)['id'] == labels['id']]
        equal(known, [] if row['max_ns'] is None else [seconds(row['max_ns'])], row['name'])
    events = ctl('report', REPORTS / 'finished', '--json', '--view', 'events').json()['events']
    for row in events:
        equal(families['condprof_event_evaluated_total'].value(id=str(row['id'])), row['evaluated'])
        equal(families['condprof_event_fulfilled_total'].value(event=row['name']), row['fulfilled'])
        equal(families['condprof_event_acting_seconds_total'].value(event=row['name']), seconds(row['acting_ns']))
        for reason in ('disabled', 'cooling', 'ended_before'):
            equal(families['condprof_event_skipped_total'].value(event=row['name'], reason=reason), row[reason])
    parts = families['condprof_session_time_seconds_total'].samples
    time = view['session']['time']
    assert math.isclose(sum(parts.values()), seconds(time['duration_ns']), rel_tol=1e-12)
    equal(families['condprof_session_time_seconds_total'].value(part='engine'), seconds(time['processing']['engine_ns']))
    equal(families['condprof_session_id'].value(), 12)
    equal(families['condprof_session_failed'].value(), 1)
    equal(families['condprof_session_state'].value(state='finished'), 1)
    equal(families['condprof_session_state'].value(state='running'), 0)


def test_buckets_count_what_is_not_longer():
    durations = [0, 1, 127, 128, 129, 1024, 1025, 8192, 8193, 5 * MS, 2 ** 27, 2 ** 27 + 1, 2 ** 35, 2 ** 36, 2 ** 36 + 1]
    with folder() as home:
        make_reports.write(home / 'r', make_reports.kiosk(), make_reports.kiosk_overview(), messages=[
            make_reports.closing([make_reports.timing(1, durations)], [make_reports.detail(1, durations)])])
        family = exported(home / 'r')['condprof_condition_check_duration_seconds']
        buckets = {dict(labels)['le']: value for (name, labels), value in family.samples.items()
                   if name.endswith('_bucket') and dict(labels)['id'] == '1'}
    assert 18 <= len(buckets) <= 24, len(buckets)
    for bound, count in buckets.items():
        equal(count, sum(duration <= float(bound) * SECOND for duration in durations), f'le={bound}')
    contains(buckets, '1.28e-07', '0.134217728', '+Inf')


def test_never_checked_counts_nothing_and_has_no_extremes():
    families = exported(REPORTS / 'never-checked')
    assert 'condprof_condition_check_max_seconds' not in families
    duration = families['condprof_condition_check_duration_seconds']
    equal({value for (name, _), value in duration.samples.items() if not name.endswith('_sum')}, {0})
    equal(duration.value('_sum', condition='popup'), 0)


def test_what_is_not_known_is_left_out():
    families = exported(REPORTS / 'first-shape')
    equal([name for name in families if 'condition' in name], [])
    families = exported(REPORTS / 'timed-shape')
    equal(families['condprof_session_time_seconds_total'].value(part='processing'), 0.21)
    equal(families['condprof_condition_checks_total'].value(id='9'), 3)
    duration = families['condprof_condition_check_duration_seconds']
    equal([value for (name, labels), value in duration.samples.items() if name.endswith('_bucket')
           and dict(labels)['id'] == '9'], [3])  # no histogram: +Inf alone


def test_names_that_would_break_lines():
    names = ['a"b', 'a\\b', 'a\nb', '\\', '{}', 'a,b="c"', '\x1b[31m', '</script>', 'é漢', '']
    conditions = [scenario.Condition(name=name, id=number, timer=scenario.TimerCondition(duration_ns=1))
                  for number, name in enumerate(names, 1)]
    with folder() as home:
        message = scenario.Scenario(name='q"\\\n', trigger_events=[
            scenario.Event(name='same', id=1, conditions=conditions[:5]),
            scenario.Event(name='same', id=2, conditions=conditions[5:]),
            scenario.Event(name='other', id=3, conditions=[scenario.Condition(name='a"b', id=99)])])
        make_reports.write(home / 'r', message, make_reports.kiosk_overview(scenario_name='q"\\\n'), messages=[
            make_reports.closing([make_reports.timing(number, [5]) for number in [*range(1, 11), 99]])])
        families = exported(home / 'r')
        equal(len(families['condprof_condition_checks_total'].samples), 11)
        checks = families['condprof_condition_checks_total']
        equal(checks.value(condition='a"b', event='same'), 1)
        equal(checks.value(condition='a"b', event='other'), 1)
        equal(checks.value(condition='a\\b'), 1)
        equal(checks.value(condition='a\\nb'), 1)  # control characters show as what they are, as in CSV
        equal(checks.value(condition='\\x1b[31m'), 1)
        equal(checks.value(condition='é漢', scenario='q"\\\\n'), 1)


def test_a_running_session():
    with folder() as home, Daemon() as daemon, daemon.client() as client:
        screen = write_frames(home / 'frames', [png(16, 16, (1, 2, 3))])
        number = client.start(endless_scenario(screen, name='live'))

        def checks():
            families = parse(daemon.ctl('report', number, '--output', 'prometheus').ok().out)
            equal(families['condprof_session_state'].value(state='running', scenario='live'), 1)
            assert 'condprof_session_end_time_seconds' not in families
            family = families.get('condprof_condition_checks_total')
            return family and family.value(condition='no such colour') >= 3
        until(checks, 'three checks')
        client.stop(number)


def test_other_commands_and_options_say_so():
    contains(ctl('list', '--output', 'prometheus').fails(2).err, '--output prometheus is for report')
    for words in (['--view', 'events'], ['--sort', 'total'], ['--limit', '3'], ['--filter', 'a'], ['--event', 'error']):
        done = ctl('report', REPORTS / 'finished', '--output', 'prometheus', *words).fails(2)
        contains(done.err, words[0], 'it has all views')
        equal(done.out, '')


def test_a_full_disk_is_told():
    with open('/dev/full', 'w') as full:
        done = subprocess.run([CONDPROFCTL, 'report', str(REPORTS / 'finished'), '--output', 'prometheus'], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    equal(done.returncode, 1)
    contains(done.stderr, 'standard output')


run(globals())
