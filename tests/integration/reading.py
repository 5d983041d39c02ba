# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person does with reports: sessions over the demo's frames, held against each other and asked for advice."""

import contextlib
import shutil

import make_reports
from condprof_test import SOURCE, Daemon, contains, ctl, equal, folder, note, png, run, texture, write_frames

DEMO = SOURCE / 'docs' / 'demo'
REPORTS = SOURCE / 'tests' / 'data' / 'reports'

_daemon = None
_home = None
_sessions = []


def scenario(name, change=lambda text: text):
    """A copy of the demo's scenario beside its images, changed."""
    text = change((DEMO / 'press-line.yaml').read_text())
    path = _home / f'{name}.yaml'
    path.write_text(text)
    return path


def session(name='press-line', change=lambda text: text):
    """Runs it over the recorded frames as fast as it goes; pauses are as they are."""
    return int(_daemon.ctl('start', scenario(name, change), '--rate', 'unlimited', '--dry-run', '--wait').ok().out)


def sessions():
    """Two of the same scenario, made once."""
    while len(_sessions) < 2:
        _sessions.append(session())
    return _sessions


# --- overview --------------------------------------------------------------------------------------------------------

def test_occurrences_beyond_32_bits():
    """What the overview has no room for, the events tell; without them nothing is said."""
    with folder() as home:
        overview = make_reports.kiosk_overview()
        overview.image_event_fulfilled_count, overview.trigger_event_fulfilled_count = 2 ** 31 - 1, 7
        make_reports.write(home / 'told', make_reports.kiosk(), overview, messages=[
            make_reports.closing([], [], events=[make_reports.compared_event(1, 5 * 10 ** 9, 5 * 10 ** 9)])])
        make_reports.write(home / 'not-told', make_reports.kiosk(), overview)
        contains(ctl('report', home / 'told').ok().out, 'occurrences  5000000007 (of screen events 5000000000, of trigger events 7)')
        assert '\n  occurrences ' not in ctl('report', home / 'not-told').ok().out
        for name, count in (('told', 5 * 10 ** 9), ('not-told', None)):
            shown = ctl('--json', 'report', home / name).json()['session']
            equal((shown['screen_events_fulfilled'], shown['trigger_events_fulfilled']), (count, 7), name)


# --- diff ----------------------------------------------------------------------------------------------------------------

def test_diff_of_two_sessions():
    first, second = sessions()
    shown = _daemon.ctl('--json', 'diff', first, second).json()
    equal((shown['base']['id'], shown['new']['id']), (first, second))
    rows = {row['name']: row for row in shown['conditions']}
    equal({row['in'] for row in rows.values()}, {'both'})
    equal({row['matched_by'] for row in rows.values()}, {'name'})
    equal({row['redefined'] for row in rows.values()}, {False})
    icon = rows['error icon']
    assert icon['base']['checks'] >= 60 and icon['new']['checks'] >= 60, icon
    conditions = {row['name']: row for row in
                  _daemon.ctl('--json', 'report', second, '--view', 'conditions').json()['conditions']}
    for name in ('checks', 'fulfilled', 'average_ns', 'p50_ns', 'p90_ns', 'p99_ns', 'max_ns', 'total_ns'):
        equal(icon['new'][name], conditions['error icon'][name], name)
        equal(icon['delta'][name], icon['new'][name] - icon['base'][name], name)
    low, high = icon['interval']['low_ns'], icon['interval']['high_ns']
    assert low <= icon['delta']['average_ns'] <= high and icon['interval']['degrees'] >= 1, icon
    equal(icon['exceeds_spread'], not low <= 0 <= high)
    equal((rows['restart button']['delta']['average_ns'], rows['restart button']['interval']), (None, None))
    parts = {row['part']: row for row in shown['time']}
    equal(parts['duration']['new']['total_ns'], shown['new']['duration_ns'])
    assert len(shown['events']) == 10 and shown['failed'] == [], shown


def test_diff_of_a_session_and_a_folder():
    first, second = sessions()
    there = f'{_daemon.state}/reports/{second}'
    for output in ('text', 'json', 'csv'):
        equal(_daemon.ctl('diff', first, there, '--output', output).ok().out,
              _daemon.ctl('diff', str(first), str(second), '--output', output).ok().out)
    equal(_daemon.ctl('--json', 'diff', 'latest', second).json()['base']['id'], second)
    contains(_daemon.ctl('diff', first, second).ok().out, 'error icon', 'Where the time went')
    _daemon.ctl('diff', first, '98765').fails(4)
    _daemon.ctl('diff', '/nonexistent/1', second).fails(4)
    _daemon.ctl('diff', first).fails(2)
    ctl('diff', REPORTS / 'finished', '12', '--socket', '/nonexistent').fails(3)


def test_diff_of_a_running_session():
    first, _ = sessions()
    number = int(_daemon.ctl('start', scenario('endless', lambda text: text.replace('replay:frames', 'replay:frames?loop=1')
                                               .replace('stop: "the shift', 'notify: "the shift'))).ok().out)
    try:
        shown = _daemon.ctl('--json', 'diff', first, number).json()
        equal(shown['new']['state'], 'running')
        equal(len(shown['conditions']), 12)
    finally:
        _daemon.ctl('stop', number).ok()


def test_fail_if():
    base, new = REPORTS / 'compared-base', REPORTS / 'compared-new'
    failed = ctl('diff', base, new, '--fail-if', 'average>+10%', '--json').fails(1)
    contains(failed.err, '1 condition is worse than --fail-if allows')
    contains(failed.out, '"failed": [\n    {"rule": "average>+10%", "event": "new first", "name": "new name"')
    ctl('diff', base, new, '--fail-if', 'average>+25%').ok()
    ctl('diff', new, base, '--fail-if', 'average>+25%').fails(1)  # "faster" then is slower
    ctl('diff', base, new, '--fail-if', 'average > +25 %', '--fail-if', 'p50>+10%').fails(1)
    ctl('diff', base, new, '--fail-if', 'average>+10%', '--min-checks', '101').ok()
    contains(ctl('diff', base, new, '--fail-if', 'average>+10%', '--min-checks', '101').err, 'nothing to go by')
    contains(ctl('diff', base, new, '--fail-if', 'average>+10%', '--min-checks', '10').fails(1).err, '2 conditions')
    for wrong in ('max>+10%', 'average>10%', 'average', ''):
        contains(ctl('diff', base, new, '--fail-if', wrong).fails(2).err, "'average>+10%'")
    ctl('diff', base, new, '--min-checks', '0').fails(2)
    ctl('diff', base, base, '--fail-if', 'average>+0%').ok()


# --- advise --------------------------------------------------------------------------------------------------------------

def test_advise_on_the_demo():
    first, _ = sessions()
    shown = _daemon.ctl('--json', 'advise', first).json()
    equal(shown['session']['id'], first)
    kinds = {(row['kind'], row['event']) for row in shown['advice']}
    assert ('never-fulfilled', 'crash dialog') in kinds, kinds
    events = {row['name']: row for row in _daemon.ctl('--json', 'report', first, '--view', 'events').json()['events']}
    if events['panel gone']['share'] < .005:  # it costs next to nothing; under a sanitizer it may not
        assert ('never-fulfilled', 'panel gone') not in kinds, kinds
    unknown = {(row['why'], row['condition']) for row in shown['unknown']}
    assert {('never-checked', 'restart button'), ('never-checked', 'dark'), ('no-match', 'error icon')} <= unknown, unknown
    assert shown['assumptions'] and all(isinstance(line, str) for line in shown['assumptions'])
    there = f'{_daemon.state}/reports/{first}'
    for output in ('text', 'json', 'csv'):
        equal(ctl('advise', there, '--output', output).ok().out, _daemon.ctl('advise', first, '--output', output).ok().out)
    contains(_daemon.ctl('advise', first).ok().out, 'crash dialog', 'independent')
    contains(ctl('advise', REPORTS / 'empty').fails(1).err, 'nothing to go by')
    _daemon.ctl('advise', '98765').fails(4)
    equal(_daemon.ctl('advise').ok().out, _daemon.ctl('advise', 'latest').ok().out)


RED, GREEN, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 0)


def combinations():
    """Frames of all outcomes of two conditions, four times: red above on three of four, green below on one of four,
    independent of each other to the last frame."""
    def picture(above, below):
        return png(120, 120, lambda x, y: (RED if above else BLACK) if y < 100 else (GREEN if below else BLACK))
    kinds = {(above, below): picture(above, below) for above in (0, 1) for below in (0, 1)}
    return [kinds[(above > 0, below == 0)] for above in range(4) for below in range(4)] * 4


def ordered(*conditions):
    """Runs the two in this order, over all combinations; returns the session."""
    lines = {'big': '{color: "#ff0000", name: big, area: [0, 0, 120, 100]}',
             'small': '{color: "#00ff00", name: small, area: [0, 100, 4, 4]}'}
    path = _home / f'{"-".join(conditions)}.yaml'
    path.write_text('scenario: two\nscreen: replay:two\nrate: unlimited\nscreen-events:\n  - event: both\n    conditions:\n'
                    + ''.join(f'      - {lines[name]}\n' for name in conditions) + '    actions: []\n')
    return int(_daemon.ctl('start', path, '--wait').ok().out)


def checks(number):
    rows = _daemon.ctl('--json', 'report', number, '--view', 'conditions').json()['conditions']
    return {row['name']: row['checks'] for row in rows}


def test_a_reordered_scenario_checks_as_often_as_was_predicted():
    write_frames(_home / 'two', combinations())
    before = ordered('big', 'small')
    equal(checks(before), {'big': 64, 'small': 48})
    advice = _daemon.ctl('--json', 'advise', before).json()['advice']
    (order,) = [row for row in advice if row['kind'] == 'order']
    names = [row['name'] for row in order['order']]
    equal(names, ['small', 'big'])
    predicted = {row['name']: row['predicted_checks'] for row in order['order']}
    assert 0 < order['saving_ns'] <= order['at_most_ns'] and 0 < order['saving_share'] <= 1, order
    after = ordered(*names)
    equal(checks(after), predicted)
    events = _daemon.ctl('--json', 'diff', before, after).json()['events']
    equal([(row['base']['fulfilled'], row['new']['fulfilled']) for row in events], [(12, 12)])
    equal([row['kind'] for row in _daemon.ctl('--json', 'advise', after).json()['advice'] if row['kind'] == 'order'], [])


def test_a_suggested_area_finds_as_much():
    place = (40, 30)

    def picture(shade):
        def pixel(x, y):
            inside = place[0] <= x < place[0] + 16 and place[1] <= y < place[1] + 12
            return texture(x - place[0], y - place[1]) if inside else (shade, shade, 255 - shade)
        return png(160, 120, pixel)
    write_frames(_home / 'still', [picture(10 * number) for number in range(8)])
    (_home / 'patch.png').write_bytes(png(16, 12, texture))

    def run_with(search):
        path = _home / 'still.yaml'
        path.write_text('scenario: still\nscreen: replay:still\nrate: unlimited\nscreen-events:\n  - event: seen\n    conditions:\n'
                        f'      - {{image: patch.png, search: {search}}}\n    actions: []\n')
        return int(_daemon.ctl('start', path, '--wait').ok().out)

    number = run_with('screen')
    (row,) = _daemon.ctl('--json', 'report', number, '--view', 'conditions').json()['conditions']
    equal((row['matches'], row['match_area']), (8, {'x': 40, 'y': 30, 'width': 16, 'height': 12}))
    contains(_daemon.ctl('report', number, '--view', 'conditions').ok().out, '[40, 30, 16, 12]')
    (advice,) = _daemon.ctl('--json', 'advise', number).json()['advice']
    equal((advice['kind'], advice['condition'], advice['saving_ns']), ('area', 'patch.png', None))
    area = [advice['area'][name] for name in ('x', 'y', 'width', 'height')]
    equal(area, [32, 22, 32, 28])
    contains(advice['text'], 'search: exact, at: [40, 30]')
    for search in (area, 'exact, at: [40, 30]'):
        (again,) = _daemon.ctl('--json', 'report', run_with(search), '--view', 'conditions').json()['conditions']
        equal((again['fulfilled'], again['match_area']), (8, row['match_area']))


if __name__ == '__main__':
    with contextlib.ExitStack() as stack:
        _home = stack.enter_context(folder())
        _home.chmod(0o755)
        shutil.copytree(DEMO, _home, dirs_exist_ok=True)
        _daemon = stack.enter_context(Daemon())
        try:
            run(globals())
        except SystemExit as ended:
            code = ended.code
        if code:
            note(_daemon.log()[-3000:])
    raise SystemExit(code)
