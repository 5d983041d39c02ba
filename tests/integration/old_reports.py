# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of every shape (the first, the timed, torn, empty, hostile) in a daemon's state folder: what the daemon streams
of them is shown as the same folder read without a daemon, whatever is asked for."""

import shutil

from condprof_test import SOURCE, Daemon, control, endless_scenario, equal, folder, png, run, write_frames

SHAPES = ('finished', 'first-shape', 'timed-shape', 'torn', 'empty', 'never-checked', 'hostile', 'continued', 'dropped')
QUESTIONS = (
    ['--view', 'overview'],
    ['--view', 'conditions'],
    ['--view', 'events'],
    ['--view', 'timeline'],
    ['--view', 'timeline', '--limit', '1'],
    ['--view', 'timeline', '--limit', '2', '--until', '3 min'],
    ['--view', 'timeline', '--since', '2 s', '--until', '1 h'],
    ['--view', 'timeline', '--since', '1500 ms'],
    ['--view', 'timeline', '--until', '1500 ms'],
)


def answer(daemon, what, words):
    shown = daemon.ctl('--json', 'report', str(what), *words).json()
    # What only the folder's place tells: its id, and when it was made.
    shown['session']['id'] = None
    if shown['session']['state'] == 'interrupted':
        shown['session']['started'] = None
    return shown


def test_stream_and_folder_agree():
    data = SOURCE / 'tests' / 'data' / 'reports'
    with folder() as home:
        (home / 'state' / 'reports').mkdir(parents=True)
        for number, shape in enumerate(SHAPES, 1):
            shutil.copytree(data / shape, home / 'state' / 'reports' / str(number), copy_function=shutil.copyfile)
        with Daemon(state=home / 'state') as daemon:
            for number, shape in enumerate(SHAPES, 1):
                for words in QUESTIONS:
                    if shape == 'hostile' and '--limit' in words:
                        continue  # a message that is none: the daemon leaves it out, the folder's reader counts it
                    equal(answer(daemon, number, words), answer(daemon, data / shape, words), f'{shape} {words}')


def where(daemon):
    return [(one['screen'], one['input'], one['dry_run']) for one in daemon.ctl('list', '--json').json()['sessions']]


def test_lists_say_where_it_ran():
    """Of reports of ours, whatever ended them; older ones keep what is not known."""
    with Daemon() as daemon:
        (daemon.state / 'reports').mkdir(exist_ok=True)
        with daemon.client() as client:
            screen = write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))])
            client.start(endless_scenario('replay:/nowhere'), wait=True, screen=screen, input='log:', dry_run=True, max_passes=1)
            first = client.start(endless_scenario(screen))
            client.call(rotate=control.RotateRequest(session=first))
            expected = [(screen, 'log:', True)] + 2 * [(screen + '?loop=1', 'log:', False)]
            equal(where(daemon), expected)
        daemon.kill()
        shutil.copytree(SOURCE / 'tests' / 'data' / 'reports' / 'finished', daemon.state / 'reports' / '9',
                        copy_function=shutil.copyfile)
        daemon.start()
        equal(where(daemon), expected + [(None, None, None)])
        equal([one['state'] for one in daemon.ctl('list', '--json').json()['sessions']],
              ['finished', 'finished', 'interrupted', 'finished'])
        for number, (screen, given, dry_run) in enumerate(expected, 1):
            shown = daemon.ctl('report', number, '--json').json()['session']
            equal((shown['screen'], shown['input'], shown['dry_run']), (screen, given, dry_run))


def test_only_some_events():
    data = SOURCE / 'tests' / 'data' / 'reports' / 'finished'
    with folder() as home:
        (home / 'state' / 'reports').mkdir(parents=True)
        shutil.copytree(data, home / 'state' / 'reports' / '1', copy_function=shutil.copyfile)
        with Daemon(state=home / 'state') as daemon:
            for names in (['close popup'], ['give up'], ['give up', 'close popup'], ['error']):
                words = ['--view', 'timeline'] + [word for name in names for word in ('--event', name)]
                shown = answer(daemon, 1, words)
                equal(shown, answer(daemon, data, words), names)
                assert {one['event'] for one in shown['occurrences']} <= set(names)


run(globals())
