#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""start --record and replay:DIR?clock=virtual through the real daemon and client: a run that is played again has the same
checks and the same occurrences, also one that was stopped from outside in the middle of a pause, or heard broadcasts."""

import os
import shutil

from condprof_test import Daemon, contains, equal, folder, png, run, texture, until, write_frames

SCENARIO = '''
scenario: recorded
screen: replay:frames?fps=40&loop=1
rate: 50/s
randomize: true
counters: {seen: 0, heard: 0}
screen-events:
  - event: red
    cooldown: 60 ms
    conditions: [{color: "#ff0000", area: [0, 0, 8, 8], threshold: 10, name: red}]
    actions: [{click: red}, {counter: seen, add: 1}, pause: 15 ms]
  - event: not blue
    keep-detecting: true
    refresh: true
    conditions: [{color: "#0000ff", area: [0, 0, 8, 8], threshold: 10, name: blue, present: false}]
    actions: []
trigger-events:
  - event: tick
    conditions: [{timer: 90 ms, repeat: true}]
    actions: [{counter: seen, add: 0.5}]
  - event: heard
    conditions: [{broadcast: knock}]
    actions: [{counter: heard, add: 1}]
'''

COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (250, 0, 5), (0, 0, 0)]


def decided(daemon, number):
    """All of a report that does not say how long something took."""
    timeline = daemon.ctl('--json', 'report', number, '--view', 'timeline').json()['occurrences']
    conditions = daemon.ctl('--json', 'report', number, '--view', 'conditions').json()['conditions']
    return ([(o['event'], o['pass'], [(c['name'], c['fulfilled'], c['confidence']) for c in o['conditions']], o['counters'],
              o['event_states'], [(a['kind'], a['x'], a['y'], a['skipped']) for a in o['actions']]) for o in timeline],
            sorted((c['event'], c['name'], c['checks'], c['fulfilled'], c['short_circuited']) for c in conditions))


def prepare(home, scenario=SCENARIO):
    write_frames(home / 'frames', [png(8, 8, colour) for colour in COLOURS])
    (home / 's.yaml').write_text(scenario)
    return home / 's.yaml'


def play(daemon, home, path='r'):
    screen = f'replay:{home}/{path}?clock=virtual'
    return daemon.ctl('start', home / 's.yaml', '--screen', screen, '--wait', '-q', '--json').json()['session']['id']



def compare(daemon, home, number):
    again = play(daemon, home)
    equal(decided(daemon, again), decided(daemon, number))
    overview = daemon.ctl('--json', 'report', number).json()['session']
    equal(overview['recording']['exact'], True)
    equal(overview['recording']['passes'] in (overview['passes'], overview['passes'] + 1), True)  # the one that a stop cut short
    return overview


def test_a_run_of_so_many_passes():
    with folder() as home, Daemon() as daemon:
        scenario = prepare(home)
        daemon.ctl('start', scenario, '--record', home / 'r', '--passes', '120', '--wait').ok()
        overview = compare(daemon, home, 1)
        equal(overview['recording']['passes'], 120)
        contains(daemon.ctl('report', '1').out, f'{home}/r: 120 passes', 'exact')
        # faster than it was
        assert daemon.ctl('--json', 'report', '2').json()['session']['duration_ns'] < overview['duration_ns']
        # its frames, put together, are a replay like any other
        daemon.ctl('start', scenario, '--screen', f'replay:{home}/r', '--rate', 'unlimited', '--wait').ok()
        equal(daemon.ctl('--json', 'report', '3').json()['session']['frames'], overview['recording']['frames'])
        # and tune finds them by the session's id; what was not recorded is said to be so
        (home / 'dot.png').write_bytes(png(4, 4, texture))
        (home / 't.yaml').write_text('scenario: t\nscreen-events:\n  - event: e\n    conditions: [{image: dot.png}]\n    actions: []\n')
        tuned = daemon.ctl('--json', 'tune', home / 't.yaml', '1').json()
        equal(tuned['pictures'], overview['recording']['frames'])
        contains(daemon.ctl('tune', home / 't.yaml', '2').fails(4).err, 'was not recorded')
        played = f'replay:{home}/r?clock=virtual'
        contains(daemon.ctl('capture', home / 'c.png', '--screen', played).fails(1).err, 'without clock=virtual')
        contains(daemon.ctl('try', home / 't.yaml', '--screen', played).fails(1).err, 'without clock=virtual')


def test_a_run_that_hears_and_is_stopped_in_a_pause():
    with folder() as home, Daemon() as daemon:
        scenario = prepare(home, SCENARIO + '''
  - event: sleeps
    conditions: [{counter: heard, is: ">= 3"}]
    actions: [pause: 1 h, {counter: seen, set: 0}]
''')
        daemon.ctl('start', scenario, '--record', home / 'r').ok()
        for n in range(1, 4):
            daemon.ctl('emit', 'knock').ok()
            until(lambda: occurrences(daemon, 'heard') >= n, 'a knock')
        until(lambda: daemon.ctl('--json', 'report').json()['session']['time']['processing']['actions']['pauses_ns'] > 0 and
              not progresses(daemon), 'the pause')
        daemon.ctl('stop').ok()
        compare(daemon, home, 1)


def occurrences(daemon, event):
    events = daemon.ctl('--json', 'report', '--view', 'events').json()['events']
    return next(e['fulfilled'] for e in events if e['name'] == event)


def progresses(daemon):
    before = daemon.ctl('--json', 'status').json()['sessions'][0]['passes']
    rows = daemon.ctl('--json', 'watch', '--interval', '200ms', '--count', '1').out.splitlines()
    return bool(rows) and daemon.ctl('--json', 'status').json()['sessions'][0]['passes'] > before


def test_a_run_with_a_time_limit():
    with folder() as home, Daemon() as daemon:
        daemon.ctl('start', prepare(home), '--record', home / 'r', '--duration', '700ms', '--wait').ok()
        compare(daemon, home, 1)


def test_a_daemon_that_dies():
    with folder() as home, Daemon() as daemon:
        daemon.ctl('start', prepare(home), '--record', home / 'r').ok()
        until(lambda: daemon.ctl('--json', 'report').json()['session']['recording']['passes'] > 20, 'some passes')
        daemon.kill()
        daemon.start()
        number = play(daemon, home)  # what is there is whole, and is played
        assert daemon.ctl('--json', 'report', number).json()['session']['passes'] > 20
        contains(daemon.log(), 'has no end')


def test_its_lines_are_of_the_session_that_runs():
    with folder() as home, Daemon() as daemon:
        daemon.ctl('start', prepare(home), '--record', home / 'r').ok()
        until(lambda: daemon.ctl('--json', 'report').json()['session']['recording']['passes'] > 5, 'some passes')
        daemon.ctl('rotate').ok()
        shutil.rmtree(home / 'r')
        daemon.wait_log(f'session 2: recording in {home}/r ends here')


def test_what_is_refused():
    with folder() as home, Daemon() as daemon:
        scenario = prepare(home)
        contains(daemon.ctl('start', scenario, '--record', home / 'frames').fails(1).err, 'not empty')
        contains(daemon.ctl('start', scenario, '--record', home / 'no/r').fails(1).err, 'make that first')
        contains(daemon.ctl('start', scenario, '--screen', f'replay:{home}/frames?clock=virtual').fails(1).err,
                 'start --record has made')
        contains(daemon.ctl('start', scenario, '--screen', f'replay:{home}/frames?clock=virtual&loop=1').fails(1).err,
                 'without fps and loop')
        equal(daemon.ctl('--json', 'list').json()['sessions'], [])


def test_only_where_the_configuration_allows():
    with folder() as home:
        (home / 'allowed').mkdir()
        os.symlink(home, home / 'allowed/out')
        with Daemon({'frame-folders': home / 'allowed', 'record-max-bytes': '1 MiB'}) as daemon:
            scenario = prepare(home)
            write_frames(home / 'allowed/frames', [png(8, 8, colour) for colour in COLOURS])
            screen = ('--screen', f'replay:{home}/allowed/frames')
            for path in (home / 'r', home / 'allowed/../r', home / 'allowed/out/r'):
                contains(daemon.ctl('start', scenario, *screen, '--record', path).fails(7).err, 'frame-folders')
                assert not (home / 'r').exists()
            daemon.ctl('start', scenario, *screen, '--record', home / 'allowed/r', '--wait').ok()
            equal(sorted(path.name for path in (home / 'allowed/r').iterdir())[-1], 'recording.pb')


run(globals())
