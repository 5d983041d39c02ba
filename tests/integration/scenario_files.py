#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenario files by the real client: check, its exit codes and outputs; the examples of the manual page; the worked
examples in docs/examples run by the real daemon; the daemon's own refusals told at their places in the file.
"""

import json
import re
import shutil

from condprof_test import SOURCE, Daemon, contains, ctl, equal, folder, run, until

EXAMPLES = SOURCE / 'docs' / 'examples'
DATA = SOURCE / 'tests' / 'data' / 'scenarios'

MISTAKEN = '''scenario: x
screen-events:
  - event: a
    conditions:
      - {imgae: a.png}
      - {color: "#ff880", area: [0, 0, 1, 1]}
'''


def copy_example(path):
    """The examples as a person would have them: in a folder of their own."""
    shutil.copytree(EXAMPLES, path / 'examples')
    return path / 'examples'


def timeline(daemon, session='latest'):
    return daemon.ctl('report', session, '--view', 'timeline', '--json').json()


# --- check -----------------------------------------------------------------------------------------------------------

def test_check_says_what_it_understood():
    done = ctl('check', DATA / 'all-keys.yaml').ok()
    contains(done.out, 'all keys: 1 screen event, 1 trigger event, 14 conditions\n',
             '     if   popup: the image “icon.png” (24x20) is not seen anywhere on the screen, threshold 12.5 %\n',
             '     then click on “123”, moved by +0,-4, for 0 s\n')
    equal(done.err, '')
    equal(ctl('check', '-q', DATA / 'all-keys.yaml').ok().out, '')


def test_check_says_every_mistake_with_its_place():
    with folder() as path:
        (path / 'a.yaml').write_text(MISTAKEN)
        done = ctl('check', 'a.yaml', cwd=path).fails(1)
        equal(done.out, '')
        equal(done.err, '''a.yaml:5:10: error: a condition has no key “imgae”; did you mean “image”?
    5 |       - {imgae: a.png}
      |          ^~~~~
a.yaml:6:17: error: “color”: expected a colour like "#ff8800", found “#ff880”
    6 |       - {color: "#ff880", area: [0, 0, 1, 1]}
      |                 ^~~~~~~~
''')
        # without UTF-8 there are no letters that need it
        done = ctl('check', 'a.yaml', cwd=path, environment={'LC_ALL': 'C'}).fails(1)
        contains(done.err, 'a.yaml:5:10: error: a condition has no key "imgae"; did you mean "image"?\n')
        assert done.err.isascii(), done.err


def test_check_as_json():
    good = json.loads(ctl('check', '--json', DATA / 'all-keys.yaml').ok().out)
    equal((good['schema'], good['valid'], good['mistakes']), (1, True, 0))
    scenario = good['scenario']
    equal(scenario['rate'], {'passes': 90, 'per_ns': 60_000_000_000})
    equal([(event['name'], event['kind'], event['match'], len(event['conditions']), len(event['actions']))
           for event in scenario['events']], [('close popup', 'screen', 'any', 9, 17), ('give up', 'trigger', 'all', 5, 0)])
    equal(scenario['events'][0]['conditions'][0]['id'], 3)
    equal(scenario['events'][0]['conditions'][1]['kind'], 'image')
    with folder() as path:
        (path / 'a.yaml').write_text(MISTAKEN)
        done = ctl('check', '--json', 'a.yaml', cwd=path).fails(1)
        equal(done.err, '')
        bad = json.loads(done.out)
        equal((bad['valid'], bad['mistakes'], bad['scenario']), (False, 2, None))
        equal([(item['severity'], item['line'], item['column'], item['length']) for item in bad['diagnostics']],
              [('error', 5, 10, 5), ('error', 6, 17, 8)])
        done = ctl('check', '--output', 'csv', 'a.yaml', cwd=path).fails(1)
        equal(done.out.splitlines()[0], 'severity,line,column,length,message')
        equal(len(done.out.splitlines()), 3)


def test_files_that_are_not_there():
    with folder() as path:
        contains(ctl('check', path / 'no.yaml').fails(4).err, 'No such file')
        contains(ctl('check', path).fails(1).err, 'is a folder')
        (path / 'large.yaml').write_bytes(b'#' * (1024 * 1024 + 1))
        contains(ctl('check', path / 'large.yaml').fails(1).err, 'larger than 1 MiB')
        (path / 'secret.yaml').write_text('scenario: x')
        # a device that never ends, and one that is empty
        contains(ctl('check', '/dev/zero').fails(1).err, 'larger than 1 MiB')
        contains(ctl('check', '/dev/null').fails(1).err, 'the file is empty')


def test_a_warning_is_no_mistake():
    with folder() as path:
        (path / 'a.yaml').write_text('scenario: x\ncounters: {a: 1}\ntrigger-events: [{event: e, conditions: [timer: 1 s]}]\n')
        done = ctl('check', path / 'a.yaml').ok()
        contains(done.err, 'a.yaml:2:12: warning: nothing reads or changes the counter “a”\n')
        equal(ctl('check', '-q', path / 'a.yaml').ok().err, '')


# --- the manual page ---------------------------------------------------------------------------------------------------

def manual_scenarios():
    """The whole scenarios among the manual page's examples."""
    text = (SOURCE / 'docs' / 'condprof-scenario.5').read_text()
    for example in re.findall(r'^\.EX\n(.*?)^\.EE', text, re.DOTALL | re.MULTILINE):
        example = example.replace(r'\(dq', '"').replace(r'\-', '-').replace(r'\(ha', '^').replace(r'\(ti', '~')
        if example.startswith('scenario:'):
            yield example


def test_the_manual_page_tells_right_scenarios():
    count = 0
    for number, example in enumerate(manual_scenarios()):
        with folder() as path:
            for image in re.findall(r'[a-z]+\.png', example):
                shutil.copy(DATA / 'icon.png', path / image)
            (path / 'a.yaml').write_text(example)
            done = ctl('check', 'a.yaml', cwd=path)
            equal((done.code, done.err), (0, ''), f'example {number}')
            count += 1
    equal(count, 2)


# --- the worked examples -----------------------------------------------------------------------------------------------

def test_examples_have_no_mistakes_and_no_warnings():
    paths = sorted(EXAMPLES.glob('*.yaml'))
    equal(len(paths), 4)
    for path in paths:
        done = ctl('check', path).ok()
        equal(done.err, '')


def test_example_console():
    with folder() as path, Daemon() as daemon:
        examples = copy_example(path)
        done = daemon.ctl('start', examples / 'console.yaml', '--screen', f'replay:{examples}/kiosk/frames', '--rate', 'unlimited',
                          '--wait', '--json').json()
        equal((done['session']['result'], done['session']['reason']['code']), ('ok', 'source-ended'))
        equal([row['event'] for row in timeline(daemon)['occurrences']], ['something is shown'])  # the rest is cooldown


def test_example_recorded():
    with folder() as path, Daemon() as daemon:
        examples = copy_example(path)
        done = daemon.ctl('start', examples / 'recorded.yaml', '--wait', '--json').json()
        equal((done['session']['result'], done['session']['reason']['code'], done['session']['passes']),
              ('ok', 'source-ended', 12))
        report = daemon.ctl('report', '--view', 'conditions', '--json').json()
        equal({row['name']: (row['checks'], row['fulfilled']) for row in report['conditions']},
              {'button': (12, 2), 'page': (12, 2), 'bar': (10, 0), 'popups': (12, 0)})
        occurrences = timeline(daemon)['occurrences']
        equal([(row['pass'], row['event']) for row in occurrences],
              [(1, 'login page'), (2, 'login page'), (5, 'a popup'), (10, 'a popup')])
        # one popup more than it allows: the session fails, and so does the command
        shutil.copy(examples / 'kiosk/frames/10.png', examples / 'kiosk/frames/13.png')
        shutil.copy(examples / 'kiosk/frames/11.png', examples / 'kiosk/frames/14.png')
        done = daemon.ctl('start', examples / 'recorded.yaml', '--wait', '--json').fails(1)
        session = json.loads(done.out)['session']
        equal((session['result'], session['reason']['code'], session['reason']['text']),
              ('failed', 'stop-action', '3 popups: something opens more than it should'))


def test_example_kiosk_login():
    with folder() as path, Daemon() as daemon:
        examples = copy_example(path)
        done = daemon.ctl('start', 'kiosk-login.yaml', '--screen', 'replay:kiosk/frames', '--input', 'log:', '--wait',
                          '--json', cwd=examples).json()
        equal((done['session']['state'], done['session']['result'], done['session']['passes']), ('finished', 'ok', 12))
        occurrences = timeline(daemon)['occurrences']
        equal([(row['pass'], row['event'], [action['kind'] for action in row['actions']]) for row in occurrences], [
            (1, 'log in', ['click', 'type', 'key', 'type', 'key']),
            (5, 'close popup', ['click', 'counter', 'notify']),
            (10, 'close popup', ['click', 'counter', 'notify']),
        ])
        # the middle of the button, where it was found each time
        equal([(row['actions'][0]['x'], row['actions'][0]['y']) for row in occurrences], [(278, 131), (252, 87), (412, 157)])
        until(lambda: 'closed a popup, 2 so far' in daemon.log(), 'the notification')


def start_watchdog(daemon, path, pictures):
    examples = copy_example(path)
    (path / 'frames').mkdir()
    for number, picture in enumerate(pictures):
        shutil.copy(examples / 'lamp' / picture, path / 'frames' / f'{number}.png')
    return daemon.ctl('start', examples / 'watchdog.yaml', '--screen', f'replay:{path}/frames?loop=1', '--json').json()['id']


def test_example_watchdog_fails_in_the_dark():
    with folder() as path, Daemon() as daemon:
        session = start_watchdog(daemon, path, ['dark.png'])
        until(lambda: not daemon.ctl('status', '--json').json()['sessions'], 'the end of the session')
        report = timeline(daemon, str(session))
        equal((report['session']['result'], report['session']['reason']['text']), ('failed', 'the rig stands'))
        equal([row['event'] for row in report['occurrences']], ['a look', 'a look', 'a look', 'stands'])
        looks = [row['at_ns'] for row in report['occurrences'][:3]]
        assert looks[0] > 1_000_000_000 and looks[2] > 3_000_000_000, looks


def test_example_watchdog_listens():
    with folder() as path, Daemon() as daemon:
        session = start_watchdog(daemon, path, ['dark.png'])
        daemon.ctl('emit', 'maintenance').ok()
        until(lambda: 'not watching: maintenance' in daemon.log(), 'maintenance')
        daemon.ctl('emit', 'back-to-work').ok()
        until(lambda: ': watching' in daemon.log(), 'back to work')
        contains(daemon.ctl('emit', 'no-such-broadcast').fails(4).err, 'maintenance', 'back-to-work')
        daemon.ctl('stop', session).ok()
        report = timeline(daemon, str(session))
        equal([row['event'] for row in report['occurrences'] if row['event'] != 'a look'], ['maintenance', 'back to work'])
        equal(report['occurrences'][-1]['event_states'], [{'event': 'a look', 'enabled': True}, {'event': 'stands', 'enabled': True}])


def test_example_watchdog_sees_the_lamp():
    with folder() as path, Daemon() as daemon:
        session = start_watchdog(daemon, path, ['green.png'])
        until(lambda: timeline(daemon)['occurrences'], 'the first beat')
        daemon.ctl('stop', session).ok()
        report = timeline(daemon, str(session))
        equal({row['event'] for row in report['occurrences']} - {'a look'}, {'lamp is green'})
        equal(report['session']['result'], 'ok')


# --- the daemon's refusals ---------------------------------------------------------------------------------------------

def test_a_refusal_is_told_at_its_place():
    with folder() as path, Daemon() as daemon:
        (path / 'a.yaml').write_text('scenario: x\nscreen: replay:frames\nscreen-events:\n  - event: a\n    conditions:\n'
                                     '      - {text: Hello, area: [0, 0, 10, 10], language: klingon}\n')
        shutil.copytree(DATA / 'frames', path / 'frames')
        done = daemon.ctl('start', 'a.yaml', cwd=path).fails(1)
        contains(done.err, 'a.yaml:6:9: error: ', '    6 |       - {text: Hello, area: [0, 0, 10, 10], language: klingon}\n')


run(globals())
