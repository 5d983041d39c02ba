# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person does with reports: sessions over the demo's frames, held against each other and asked for advice."""

import contextlib
import shutil

from condprof_test import SOURCE, Daemon, contains, ctl, equal, folder, note, run

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
