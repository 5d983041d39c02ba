# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way, on a live screen: the daemon looks at an X server, finds a button, really clicks it, sees what comes of
it; another client's view of the same screen confirms it, and the report tells it. Then the bad days of X servers."""

import os

from condprof_test import (MS, SECOND, Daemon, Refused, broadcast_condition, click_action, color_condition, contains, control,
                           counter_action, equal, event, folder, make_scenario, need_program, note, png, report, run, run_program,
                           scenario, stop_action, texture, timer_condition, until, write_frames)
from xvfb_test import Button, Xvfb

BLUE, GREEN = '2266cc', '22aa44'

PRESS_THE_BUTTON = """\
scenario: press the button
screen: {screen}
rate: 50/s
counters: {{clicks: 0, seen: 0}}
screen-events:
  - event: it is green
    conditions:
      - {{color: "#{green}", area: [{x}, {y}, 4, 4], name: green, threshold: 1}}
    actions:
      - {{counter: seen, add: 1}}
      - type: "Grüße {{clicks}}\\n"
      - key: ctrl+a
      - {{stop: "pressed {{clicks}} times", result: ok}}
  - event: press it
    cooldown: 20 s
    conditions:
      - {{image: button.png, name: button}}
      - {{image: nowhere.png, name: nowhere, present: false}}
    actions:
      - {{click: button, offset: [5, -3], press: 20 ms}}
      - {{counter: clicks, add: 1}}
trigger-events:
  - event: give up
    conditions: [{{timer: 60 s}}]
    actions: [{{stop: it never became green, result: failed}}]
"""


def write_scenario(home, xvfb, button):
    eye = xvfb.eye()
    (home / 'button.png').write_bytes(eye.png(button.x + 10, button.y + 10, 100, 40))
    (home / 'nowhere.png').write_bytes(png(24, 24, texture))
    eye.close()
    path = home / 'press.yaml'
    path.write_text(PRESS_THE_BUTTON.format(screen=xvfb.uri, green=GREEN, x=button.x + 4, y=button.y + 4))
    return path


def check_client(button):
    """What the button's own program received."""
    x, y = button.x + 10 + 50 + 5, button.y + 10 + 20 - 3
    button.wait_line(f'press 1 {x} {y}')
    button.wait_line(f'release 1 {x} {y}')
    button.wait_line(f'colour {GREEN}')
    button.wait_line('key-up Control_L')
    lines = button.read()
    equal(sum(line.startswith('press ') for line in lines), 1, 'presses')
    typed = [line.split(' U+')[1] for line in lines if line.startswith('key ') and ' U+' in line]
    equal(''.join(chr(int(code, 16)) for code in typed[:8]), 'Grüße 1\r', 'typed')
    contains(lines, 'key Control_L')
    return x, y


def check_report(daemon, session, x, y):
    overview = daemon.ctl('report', session, '--json').json()
    equal((overview['session']['reason']['code'], overview['session']['result']), ('stop-action', 'ok'))
    contains(overview['session']['reason']['text'], 'pressed 1 times')
    conditions = {row['name']: row for row in daemon.ctl('report', session, '--view', 'conditions', '--json').json()['conditions']}
    passes = overview['session']['passes']
    assert 2 <= passes <= 60 * 50, passes
    assert 2 <= conditions['green']['checks'] <= passes, conditions['green']  # a pass may find the screen stalled
    equal(conditions['green']['fulfilled'], 1)
    # While it cools down the button is not looked for.
    equal((conditions['button']['checks'], conditions['button']['fulfilled']), (1, 1))
    equal((conditions['nowhere']['checks'], conditions['nowhere']['fulfilled']), (1, 1))
    assert conditions['button']['min_ns'] > 0
    occurrences = daemon.ctl('report', session, '--view', 'timeline', '--json').json()['occurrences']
    equal([one['event'] for one in occurrences], ['press it', 'it is green'])
    click = next(action for action in occurrences[0]['actions'] if action['kind'] == 'click')
    equal((click['x'], click['y'], click['skipped']), (x, y, False))
    assert click['duration_ns'] >= 20 * MS, click
    equal(occurrences[0]['counters'], [{'name': 'clicks', 'old': 0, 'new': 1}])
    contains([action['kind'] for action in occurrences[1]['actions']], 'type', 'key', 'stop')
    time = overview['session']['time']
    parts = ('frame_wait_ns', 'frame_get_ns', 'limiter_wait_ns', 'safety_wait_ns', 'report_wait_ns', 'other_ns')
    equal(time['duration_ns'], time['processing']['total_ns'] + sum(time[part] for part in parts))
    assert time['frame_get_ns'] > 0, time


def press_the_button(*arguments, geometry='640x480x24'):
    with Xvfb(geometry, arguments) as xvfb, Button(xvfb) as button, Daemon() as daemon:
        eye = xvfb.eye()
        equal(eye.color(button.x + 4, button.y + 4), BLUE)
        path = write_scenario(daemon.home, xvfb, button)
        session = daemon.ctl('start', path, '--wait', '--json', timeout_s=120).json()['session']
        equal((session['state'], session['result']), ('finished', 'ok'))
        x, y = check_client(button)
        # The screen itself, seen by somebody else.
        equal(eye.color(button.x + 4, button.y + 4), GREEN)
        equal(eye.pointer(), (x, y, False))
        equal(eye.keys_down(), 0)
        check_report(daemon, session['id'], x, y)
        text = daemon.ctl('report', session['id'], '--view', 'conditions').ok().out
        contains(text, 'green', 'button', 'nowhere')


def test_finds_the_button_and_presses_it():
    press_the_button()


def test_the_same_without_shared_memory():
    press_the_button('-extension', 'MIT-SHM')


def test_xwd_sees_it_too():
    program = need_program('xwd')
    with Xvfb() as xvfb, Button(xvfb) as button, Daemon() as daemon:
        path = write_scenario(daemon.home, xvfb, button)
        daemon.ctl('start', path, '--wait', timeout_s=120).ok()
        dump = daemon.home / 'screen.xwd'
        run_program(program, '-root', '-silent', '-display', f':{xvfb.display}', '-out', dump).ok()
        data = dump.read_bytes()
        header = [int.from_bytes(data[place:place + 4], 'big') for place in range(0, 100, 4)]
        size, line_bytes, colors = header[0], header[12], header[19]
        start = size + colors * 12 + (button.y + 4) * line_bytes + (button.x + 4) * 4
        equal(data[start:start + 3][::-1].hex(), GREEN)


def test_dry_run_touches_nothing():
    with Xvfb() as xvfb, Button(xvfb) as button, Daemon() as daemon:
        path = write_scenario(daemon.home, xvfb, button)
        eye = xvfb.eye()
        pointer = eye.pointer()
        session = daemon.ctl('start', path, '--dry-run', '--passes', 20, '--wait', '--json', timeout_s=60).json()['session']
        equal(session['reason']['code'], 'passes')
        occurrences = daemon.ctl('report', session['id'], '--view', 'timeline', '--json').json()['occurrences']
        equal([one['event'] for one in occurrences], ['press it'])
        equal(eye.pointer(), pointer)
        equal(eye.color(button.x + 4, button.y + 4), BLUE)
        equal(len(button.read()), 1, button.read())


# --- what is held down ------------------------------------------------------------------------------------------------

def hold_scenario(screen, button, **fields):
    """Presses at once and holds for an hour."""
    action = click_action(button.x + 20, button.y + 20)
    action.click.press_ns = 3600 * SECOND
    return make_scenario('hold', screen=screen, trigger_events=[event('hold', [timer_condition('at once', 0)], [action])], **fields)


def await_held(eye, held):
    until(lambda: eye.pointer()[2] == held, f'the button to be {"down" if held else "up"}')


def test_a_dry_run_releases_nothing_of_others():
    with Xvfb() as xvfb, Button(xvfb) as button, Daemon() as daemon, daemon.client() as client:
        eye = xvfb.eye()
        number = client.start(hold_scenario(xvfb.uri, button))
        await_held(eye, True)
        equal(client.start(hold_scenario(xvfb.uri, button, id=7), dry_run=True, max_duration_ns=100 * MS, wait=True).reason,
              report.REASON_DURATION)
        equal(eye.pointer()[2], True)
        client.stop(number)
        equal(eye.pointer()[2], False)


def test_stop_releases_the_button():
    with Xvfb() as xvfb, Button(xvfb) as button, Daemon() as daemon, daemon.client() as client:
        eye = xvfb.eye()
        client.start(hold_scenario(xvfb.uri, button))
        await_held(eye, True)
        session, = client.stop()
        equal(session.reason, report.REASON_STOPPED)
        equal(eye.pointer()[2], False)
        button.wait_line(f'release 1 {button.x + 20} {button.y + 20}')


def test_a_killed_daemon_leaves_nothing_pressed_for_long():
    with Xvfb() as xvfb, Button(xvfb) as button:
        eye = xvfb.eye()
        daemon = Daemon()
        with daemon:
            with daemon.client() as client:
                client.start(hold_scenario(xvfb.uri, button))
            await_held(eye, True)
            daemon.kill()
            await_held(eye, True)
            daemon.start()
            with daemon.client() as client:
                still = make_scenario('look', screen=xvfb.uri, screen_events=[event('never', [color_condition('no', 0xff00ff)])])
                client.start(still, max_passes=1, wait=True)
            await_held(eye, False)


# --- bad days ---------------------------------------------------------------------------------------------------------

def looking_scenario(screen, **fields):
    return make_scenario('look', screen=screen, unlimited=False, rate=scenario.Rate(passes=100, per_ns=SECOND),
                         screen_events=[event('never', [color_condition('no', 0xff00ff, threshold=0)])], **fields)


def await_passes(client, session, passes=3):
    until(lambda: client.status(session)[0].passes >= passes, 'passes')


def await_checks(client, session, checks=3):
    until(lambda: client.report(session).checks()['no'] >= checks, 'checks')


def reason_of(daemon, number):
    return next(one for one in daemon.ctl('list', '--json').json()['sessions'] if one['id'] == number)


def test_a_server_that_dies_ends_the_session():
    for arguments in ((), ('-extension', 'MIT-SHM')):
        with Xvfb(arguments=arguments) as xvfb, Daemon() as daemon, daemon.client() as client:
            number = client.start(looking_scenario(xvfb.uri))
            await_checks(client, number)
            xvfb.kill()
            session = client.wait(number)
            equal(session.reason, report.REASON_SOURCE_FAILED)
            row = reason_of(daemon, number)
            equal((row['state'], row['reason']['code'], row['result']), ('failed', 'source-failed', 'failed'))
            contains(row['reason']['text'], 'the X server is gone', xvfb.uri)
            kept = client.report(number)
            assert 0 < kept.checks()['no'] <= kept.overview.frame_count  # a pass may find the screen stalled
            equal(client.status(), [])


def test_an_input_that_dies_ends_the_session():
    with Xvfb() as xvfb, Daemon() as daemon, daemon.client() as client:
        frames = write_frames(daemon.home / 'frames', [png(32, 32, (0, 0, 0))])
        clicks = make_scenario(
            'click', screen=frames + '?loop=1', input=xvfb.uri, unlimited=False, rate=scenario.Rate(passes=100, per_ns=SECOND),
            trigger_events=[event('often', [timer_condition('tick', 10 * MS, repeat=True)],
                                  [click_action(5, 5), counter_action('clicks')])], counters={'clicks': 0})
        number = client.start(clicks)
        await_passes(client, number, 10)
        xvfb.kill()
        client.wait(number)
        row = reason_of(daemon, number)
        equal((row['state'], row['reason']['code']), ('failed', 'input-failed'))
        contains(row['reason']['text'], 'the X server is gone')
        assert client.report(number).overview.frame_count >= 10


def test_triggers_run_while_the_screen_hangs():
    with Xvfb() as xvfb, Daemon() as daemon, daemon.client() as client:
        message = looking_scenario(xvfb.uri, trigger_events=[
            event('give up', [timer_condition('patience', SECOND)], [stop_action('the screen hangs', failed=True)])])
        number = client.start(message)
        await_passes(client, number)
        xvfb.stop_answering()
        client.wait(number)
        row = reason_of(daemon, number)
        equal((row['reason']['code'], row['reason']['text']), ('stop-action', 'the screen hangs'))
        xvfb.answer_again()


def test_a_hung_screen_goes_on_when_it_does():
    with Xvfb() as xvfb, Daemon() as daemon, daemon.client() as client:
        number = client.start(looking_scenario(xvfb.uri))
        await_passes(client, number)
        xvfb.stop_answering()
        before = client.status(number)[0].passes
        await_passes(client, number, before + 20)
        xvfb.answer_again()
        await_checks(client, number, before + 1)
        client.stop(number)
        row = reason_of(daemon, number)
        equal(row['reason']['code'], 'stopped')


def test_a_hung_server_holds_up_nobody():
    """One session waits for a server to answer at all: others start and stop meanwhile, and a stop ends the wait."""
    with Xvfb() as xvfb, Daemon() as daemon, daemon.client() as client, daemon.client() as waiting:
        xvfb.stop_answering()
        pending = waiting.upload(looking_scenario(xvfb.uri))
        opening = until(client.status, 'the session that opens')[0]
        frames = write_frames(daemon.home / 'frames', [png(32, 32, (0, 0, 0))])
        session = client.start(looking_scenario(frames), wait=True)
        equal(session.passes, 1)
        client.send(stop=control.StopRequest(session=opening.id))
        try:
            list(waiting.replies(pending))
            raise AssertionError('started on a server that does not answer')
        except Refused as refused:
            note(refused)
        equal(client.status(), [])
        xvfb.answer_again()


def test_a_refused_connection_is_explained():
    with folder() as home, Xvfb() as nobody:
        nobody.kill()
        with Daemon(config=f'xauthority = {home}/missing\n') as daemon:
            scenario_path = daemon.home / 'look.yaml'
            scenario_path.write_text(f'scenario: look\nscreen: {nobody.uri}\nscreen-events:\n  - event: never\n    conditions: '
                                     '[{color: "#ff00ff", area: [0, 0, 4, 4]}]\n')
            failed = daemon.ctl('start', scenario_path).fails(1)
            contains(failed.err, nobody.uri, 'no X server runs there')
        authority = home / 'authority'
        authority.write_bytes(bytes.fromhex('ffff 0000 0000 0012') + b'MIT-MAGIC-COOKIE-1' + bytes.fromhex('0010') + b'0123456789abcdef')
        wrong = home / 'wrong'
        wrong.write_bytes(authority.read_bytes()[:-1] + b'!')
        for path, code in ((authority, 0), (wrong, 1), (home / 'missing', 1)):
            with Xvfb(arguments=('-auth', str(authority))) as xvfb, Daemon(config=f'xauthority = {path}\n') as daemon:
                scenario_path = daemon.home / 'look.yaml'
                scenario_path.write_text(f'scenario: look\nscreen: {xvfb.uri}\nscreen-events:\n  - event: never\n    conditions: '
                                         '[{color: "#ff00ff", area: [0, 0, 4, 4]}]\n')
                done = daemon.ctl('start', scenario_path, '--passes', 2, '--wait', timeout_s=60).fails(code)
                if code:
                    contains(done.err, xvfb.uri, 'xauthority', str(path))


def test_a_vanishing_replay_folder():
    with Daemon() as daemon, daemon.client() as client:
        pictures = [png(32, 32, (number, 0, 0)) for number in range(40)]
        frames = write_frames(daemon.home / 'frames', pictures)
        number = client.start(looking_scenario(frames + '?loop=1'))
        await_passes(client, number)
        for path in (daemon.home / 'frames').iterdir():
            path.unlink()
        os.rmdir(daemon.home / 'frames')
        client.wait(number)
        row = reason_of(daemon, number)
        equal((row['state'], row['reason']['code']), ('failed', 'source-failed'))
        contains(row['reason']['text'], str(daemon.home / 'frames'), '.png', 'is gone')
        assert client.report(number).overview.frame_count >= 3


def test_a_broken_picture_in_a_replay():
    with Daemon() as daemon, daemon.client() as client:
        whole = png(32, 32, (1, 2, 3))
        frames = write_frames(daemon.home / 'frames', [whole] * 5 + [whole[:-30]] + [whole])
        session = client.start(looking_scenario(frames), wait=True)
        row = reason_of(daemon, session.id)
        equal((row['reason']['code'], row['passes']), ('source-failed', 5))
        contains(row['reason']['text'], '00006.png')


def test_frame_folders():
    with folder() as home:
        allowed, secret = home / 'allowed', home / 'secret'
        for path in (allowed, secret):
            write_frames(path, [png(16, 16, (0, 0, 0))])
        (allowed / 'link').symlink_to(secret)
        with Daemon(config=f'frame-folders = {allowed}\n') as daemon, daemon.client() as client:
            equal(client.start(looking_scenario(f'replay:{allowed}'), wait=True).passes, 1)
            for path in (secret, allowed / 'link', allowed / '..' / 'secret', home):
                try:
                    client.start(looking_scenario(f'replay:{path}'))
                    raise AssertionError(f'{path} was read')
                except Refused as refused:
                    contains(refused.error.message, 'frame-folders')


run(globals())
