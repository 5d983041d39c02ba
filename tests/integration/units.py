# SPDX-License-Identifier: GPL-3.0-or-later
"""The units as they are installed: understood by systemd, alone and with every drop-in, and closed as far as their comments
say. Nothing of it needs systemd to run; what they do in a booted system is not for here."""

import json
import os
import re
import signal
import subprocess

from condprof_test import (BUILD, CONDPROFCTL, CONDPROFD, PATIENCE, SOURCE, Daemon, contains, equal, folder, need_program, note, png,
                           report, run, run_program, until, write_frames)

UNITS = SOURCE / 'systemd'
DROP_INS = {'x11.conf': 1.5, 'fb.conf': 1.5}
MOST_EXPOSED = 0.8


def install(home, drop_ins=()):
    """The units in a folder, with drop-ins enabled as their first lines say, and with programs that are there."""
    for name in ('condprofd.service', 'condprof-scenario@.service'):
        text = (UNITS / (name + '.in')).read_text()
        for word, path in (('@sbindir@/condprofd', CONDPROFD), ('@bindir@/condprofctl', CONDPROFCTL), ('@sysconfdir@', '/etc'),
                           ('@pkgdatadir@', '/usr/share/condprof')):
            text = text.replace(word, path)
        assert not re.search(r'@\w+@', text), text
        (home / name).write_text(text)
    (home / 'condprofd.socket').write_text((UNITS / 'condprofd.socket').read_text())
    for name in drop_ins:
        (home / 'condprofd.service.d').mkdir(exist_ok=True)
        (home / 'condprofd.service.d' / name).write_text((UNITS / 'drop-ins' / name).read_text())


def analyze(home, *words):
    return run_program(need_program('systemd-analyze'), *words, cwd=home)


def exposure(home, unit='condprofd.service'):
    out = analyze(home, 'security', '--offline=true', '--no-pager', f'./{unit}').ok().out
    note(*(line + '\n' for line in out.splitlines() if line.startswith('✗')))
    return float(re.search(r'exposure level for \S+: ([0-9.]+)', out).group(1))


def test_the_units_are_understood():
    for drop_ins in ((), *((name,) for name in DROP_INS), tuple(DROP_INS)):
        with folder() as home:
            install(home, drop_ins)
            result = analyze(home, 'verify', '--recursive-errors=yes', '--man=no', './condprofd.service', './condprofd.socket',
                             './condprof-scenario@.service').ok()
            equal(result.err, '', str(drop_ins))


def test_a_wrong_key_would_be_noticed():
    with folder() as home:
        install(home)
        path = home / 'condprofd.service'
        path.write_text(path.read_text().replace('NoNewPrivileges=', 'NoNewPrivilege='))
        contains(analyze(home, 'verify', '--recursive-errors=yes', '--man=no', './condprofd.service').fails(1).err, 'NoNewPrivilege')


def test_the_daemon_is_closed_off():
    with folder() as home:
        install(home)
        level = exposure(home)
        note(f'condprofd.service: {level}')
        assert level <= MOST_EXPOSED, level


def test_every_drop_in_opens_little():
    equal(sorted(path.name for path in (UNITS / 'drop-ins').glob('*.conf')), sorted(DROP_INS))
    for name, most in DROP_INS.items():
        with folder() as home:
            install(home, [name])
            level = exposure(home)
            note(f'condprofd.service with {name}: {level}')
            assert level <= most, (name, level)
    with folder() as home:
        install(home, DROP_INS)
        note(f'condprofd.service with all drop-ins: {exposure(home)}')


def test_the_drop_ins_show_what_they_are_for():
    with folder() as home:
        install(home)
        closed = exposed_points(home)
        install(home, DROP_INS)
        opened = exposed_points(home)
    assert closed['PrivateDevices='] == 0 < opened['PrivateDevices='], (closed, opened)
    equal({name for name in opened if opened[name] > closed[name]}, {'PrivateDevices=', 'SupplementaryGroups='})


def exposed_points(home):
    points = json.loads(analyze(home, 'security', '--offline=true', '--json=short', './condprofd.service').ok().out)
    return {point['name']: float(point['exposure'] or 0) for point in points}


def test_the_scenario_unit_is_closed_off():
    with folder() as home:
        install(home)
        level = exposure(home, 'condprof-scenario@.service')
        note(f'condprof-scenario@.service: {level}')
        assert level <= MOST_EXPOSED, level


def test_every_point_that_is_not_had_is_justified():
    """Whoever reads the unit finds the option's name, in a comment or with its value."""
    text = (UNITS / 'condprofd.service.in').read_text()
    with folder() as home:
        install(home)
        for name, level in exposed_points(home).items():
            option = re.match(r'\w+', name).group(0)
            assert level == 0 or f'{option}=' in text or option == 'DeviceAllow', name


def scenario_command(daemon, name):
    """What the unit runs, as systemd would put it together."""
    line = re.search(r'^ExecStart=(.*)$', (UNITS / 'condprof-scenario@.service.in').read_text(), re.M).group(1)
    words = line.replace('@bindir@/condprofctl', CONDPROFCTL).replace('%i', name).split()
    return subprocess.Popen(words, env=dict(os.environ, CONDPROF_SOCKET=daemon.socket_path), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def runs(daemon):
    with daemon.client() as client:
        return [session for session in client.status() if session.state == report.RUNNING and session.passes]


def test_what_the_scenario_unit_runs():
    with Daemon() as daemon:
        screen = write_frames(daemon.home / 'frames', [png(16, 16, (0, 0, 0))])
        (daemon.home / 'kiosk.yaml').write_text(f'scenario: kiosk\nscreen: {screen}?loop=1\nscreen-events:\n'
                                                '  - {event: never, conditions: [{color: "#00ff00", area: [0, 0, 4, 4]}], actions: []}\n')
        daemon.ctl('install', daemon.home / 'kiosk.yaml').ok()
        # systemctl stop: the session ends, its report is closed, and the unit has not failed
        process = scenario_command(daemon, 'kiosk')
        session = until(lambda: runs(daemon), 'the session')[0].id
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 0, err)
        equal((json.loads(out)['session']['id'], json.loads(out)['session']['reason']['code']), (session, 'stopped'))
        # the daemon dies: a code for which the unit starts again
        process = scenario_command(daemon, 'kiosk')
        until(lambda: runs(daemon), 'the session')
        daemon.kill()
        process.communicate(timeout=PATIENCE)
        equal(process.returncode, 3)
        # and by itself again when the daemon is back
        daemon.start()
        process = scenario_command(daemon, 'kiosk')
        until(lambda: runs(daemon), 'the session')
        daemon.stop()
        process.communicate(timeout=PATIENCE)
        # what trying again does not mend
        daemon.start()
        process = scenario_command(daemon, 'no-such-scenario')
        process.communicate(timeout=PATIENCE)
        prevented = re.search(r'^RestartPreventExitStatus=(.*)$', (UNITS / 'condprof-scenario@.service.in').read_text(), re.M)
        assert str(process.returncode) in prevented.group(1).split(), process.returncode


def test_paths_are_filled_in():
    unit = (BUILD / 'systemd' / 'condprofd.service').read_text()
    assert not re.search(r'@\w+@', unit), unit
    contains((BUILD / 'systemd' / 'condprof-scenario@.service').read_text(), 'condprofctl --output json start %i --wait --stop-on-signal')


if __name__ == '__main__':
    run(globals())
