# SPDX-License-Identifier: GPL-3.0-or-later
"""Text and number conditions end to end: a scenario file over replayed pictures is read, clicks where the text stands, and its
report tells the number; what is missing is named when a session starts; the library is opened when it is needed."""

import os
import shutil

from condprof_test import (CONDPROFD, SOURCE, Daemon, Refused, area, color_condition, contains, equal, event, make_scenario, note,
                           report, run, run_program, scenario, skip_unless, until)

PICTURES = SOURCE / 'tests/data/ocr'
PASSES = 3


def lines(picture):
    """(area, size, kind, text) of a picture, as lines.txt has them."""
    for line in (PICTURES / 'lines.txt').read_text(encoding='utf-8').splitlines():
        name, x, y, width, height, size, kind, text = line.split(' ', 7)
        if name == picture:
            yield [int(x), int(y), int(width), int(height)], int(size), kind, text


def line(picture, text):
    return next(place for place, _, _, what in lines(picture) if what == text)


def write_screen(daemon, picture, count=PASSES, name='frames'):
    folder = daemon.home / name
    folder.mkdir(exist_ok=True)
    for number in range(count):
        shutil.copy(PICTURES / picture, folder / f'{number:03}.png')
    return f'replay:{folder}'


def write_file(daemon, picture, screen, name='reads.yaml'):
    """A scenario that clicks on a text while the number beside it is large enough."""
    settings, number = line(picture, 'Settings'), line(picture, '1.234.567,890')
    path = daemon.home / name
    path.write_text(f'''
scenario: reads
screen: {screen}
input: 'log:'
rate: unlimited
counters: {{limit: 1000, seen: 0}}
screen-events:
  - event: open settings
    conditions:
      - {{text: SETTINGS, area: {settings}, ignore-case: true}}
      - {{number: "> limit", area: {number}, format: comma, name: total}}
      - {{text: Nothing like it, area: {settings}, present: false, name: absent}}
    actions:
      - click: SETTINGS
      - {{counter: seen, add: 1}}
  - event: never
    conditions:
      - {{text: Settings, area: {number}}}
    actions: []
  - event: less
    conditions:
      - {{number: "< limit", area: {number}, format: comma, name: small}}
    actions: []
''', encoding='utf-8')
    return path, settings, number


def need_tesseract():
    skip_unless('tesseract=yes' in run_program(CONDPROFD, '--version').ok().out, 'reading text is not built')


def maps(daemon):
    with open(f'/proc/{daemon.process.pid}/maps', encoding='utf-8') as file:
        return file.read()


def test_reads_clicks_and_tells():
    need_tesseract()
    with Daemon() as daemon:
        picture = 'sans-light.png'
        path, settings, _ = write_file(daemon, picture, write_screen(daemon, picture))
        daemon.ctl('check', str(path)).ok()
        daemon.ctl('start', str(path), '--wait').ok()
        timeline = daemon.ctl('--json', 'report', '--view', 'timeline').json()['occurrences']
        equal([row['event'] for row in timeline], ['open settings'] * PASSES)
        for row in timeline:
            text, number, absent = row['conditions']
            equal((text['name'], text['fulfilled'], text['confidence']), ('SETTINGS', True, 1))
            equal((number['name'], number['fulfilled'], number['confidence'], number['value']),
                  ('total', True, None, 1234567.89))
            assert absent['fulfilled'] and absent['confidence'] < 0.8, absent
            x, y, width, height = settings
            click = row['actions'][0]
            assert x < click['x'] < x + width and y < click['y'] < y + height and not click['skipped'], click
        rows = {row['name']: row for row in daemon.ctl('--json', 'report', '--view', 'conditions').json()['conditions']}
        equal({name: (row['kind'], row['checks'], row['fulfilled'], row['reused']) for name, row in rows.items()},
              {'SETTINGS': ('text', PASSES, PASSES, PASSES - 1), 'total': ('number', PASSES, PASSES, PASSES - 1),
               'absent': ('text', PASSES, PASSES, PASSES - 1), 'Settings': ('text', 0, 0, 0), 'small': ('number', 0, 0, 0)})
        contains(daemon.ctl('report', '--view', 'timeline').ok().out, '1234567.89')


def reading_event(name, picture, text, wanted=None, **fields):
    x, y, width, height = line(picture, text)
    condition = scenario.Condition(name=name, text=scenario.TextCondition(text=wanted or text, area=area(x, y, width, height),
                                                                          **fields))
    return event(name, [condition], keep_detecting=True)


def test_what_is_not_there_is_neither_found_nor_a_number():
    need_tesseract()
    with Daemon() as daemon:
        picture = 'serif-dark.png'
        screen = write_screen(daemon, picture)
        x, y, width, height = line(picture, 'Settings')

        def number(name, comparison, place=area(x, y, width, height)):
            return scenario.Condition(name=name, number=scenario.NumberCondition(
                comparison=comparison, operand=scenario.Operand(number=0), area=place))

        message = make_scenario('nothing', screen, [
            event('numbers', [number('greater', scenario.GREATER), number('less', scenario.LESS_OR_EQUAL),
                              number('other', scenario.NOT_EQUAL),
                              number('outside', scenario.NOT_EQUAL, area(790, 0, 100, 20))], keep_detecting=True,
                  match=scenario.MATCH_ANY),
            reading_event('seen', picture, 'Settings'),
            reading_event('not', picture, 'Settings', present=False),
            reading_event('other text', picture, 'Settings', 'Password'),
        ])
        with daemon.client() as client:
            session = client.start(message)
            client.wait(session)
        rows = daemon.ctl('--json', 'report', '--view', 'conditions').json()['conditions']
        checks = {row['name']: (row['checks'], row['fulfilled']) for row in rows}
        equal(checks, {'greater': (PASSES, 0), 'less': (PASSES, 0), 'other': (PASSES, 0), 'outside': (PASSES, 0),
                       'seen': (PASSES, PASSES), 'not': (PASSES, 0), 'other text': (PASSES, 0)})


def test_try_says_what_was_read():
    need_tesseract()
    with Daemon() as daemon:
        picture = 'sans-dark.png'
        path, _, _ = write_file(daemon, picture, write_screen(daemon, picture))
        words = ['try', str(path), '--frame', str(PICTURES / picture)]
        rows = {row['name']: row for row in daemon.ctl('--json', *words).json()['conditions']}
        equal({name: (row['fulfilled'], row['text']) for name, row in rows.items()},
              {'SETTINGS': (True, 'Settings'), 'total': (True, '1.234.567,890'), 'absent': (True, 'Settings'),
               'Settings': (False, '1.234.567,890'), 'small': (False, '1.234.567,890')})
        equal(rows['small']['number'], 1234567.89)
        contains(daemon.ctl(*words).ok().out, 'SETTINGS: “Settings” was read.', '1234567.89', 'small: “1.234.567,890” was read.')


def test_a_missing_language_is_said_at_start():
    need_tesseract()
    with Daemon() as daemon:
        picture = 'sans-dark.png'
        screen = write_screen(daemon, picture)
        for languages, package in (['xyz'], 'tesseract-ocr-xyz'), (['eng', 'chi_nowhere'], 'tesseract-ocr-chi-nowhere'):
            message = make_scenario('missing', screen, [
                event('colour', [color_condition('c', 0)]),
                reading_event('read', picture, 'Settings', languages=languages)])
            with daemon.client() as client:
                try:
                    client.start(message)
                    raise AssertionError('it started')
                except Refused as refused:
                    contains(str(refused.error.message), 'install the package ' + package)
                    equal(refused.error.place, 'screen-events[1].conditions[0]')
                equal(client.list(), [])


def test_opened_when_needed():
    need_tesseract()
    with Daemon() as daemon:
        picture = 'mono-light.png'
        screen = write_screen(daemon, picture)
        with daemon.client() as client:
            client.wait(client.start(make_scenario('colour', screen, [event('colour', [color_condition('c', 0)])])))
            assert 'tesseract' not in maps(daemon) and 'libgomp' not in maps(daemon)
            client.wait(client.start(make_scenario('text', screen, [reading_event('read', picture, 'Settings')])))
            assert 'tesseract' in maps(daemon)


def test_sessions_read_side_by_side_and_stop_at_once():
    need_tesseract()
    with Daemon() as daemon:
        pictures = ['mono-dark.png', 'serif-light.png']
        sessions = []
        with daemon.client() as client:
            for picture in pictures:
                folder = write_screen(daemon, picture, 2, picture)
                sessions.append(client.start(make_scenario(picture, f'{folder}?loop=1', [
                    event('all of it', [scenario.Condition(name='all', text=scenario.TextCondition(
                        text='zzz', area=area(0, 0, 800, 400)))], keep_detecting=True),
                    reading_event('line', picture, 'Settings')])))
            for session in sessions:
                until(lambda: client.report(session).checks().get('line', 0) > 1, 'two passes of each')
            threads = os.listdir(f'/proc/{daemon.process.pid}/task')
            for session in sessions:
                equal([report.EndReason.Name(entry.reason) for entry in client.stop(session)], ['REASON_STOPPED'])
        note(len(threads), 'threads')
        assert len(threads) <= 12, 'reading has started threads of its own'


run(globals())
