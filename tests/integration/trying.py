# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures for people: try, capture and tune, by the protocol and by condprofctl, on files, replays and an X server; and
what happens to whoever asks wrongly, goes away, or looks at a screen that does not answer."""

import os
import pty
import signal
import struct
import subprocess
import time
import zlib

from condprof_test import (CONDPROFCTL, SOURCE, Daemon, HungServer, Refused, area, broadcast_condition, color_condition, contains, control,
                           counter_condition, endless_scenario, equal, event, folder, frame, image_condition,
                           make_scenario, note, png, run, run_program, scenario, skip_unless, texture, timer_condition,
                           until, write_frames)
from xvfb_test import Button, Xvfb

DETECT = SOURCE / 'tests' / 'data' / 'detect'
DEMO = SOURCE / 'docs' / 'demo'

_daemon = None
_home = None


# --- tools -----------------------------------------------------------------------------------------------------------

def pixels(data):
    """width, height and a function of x, y of an RGB PNG without interlace."""
    width, height, depth, kind, _, _, interlace = struct.unpack('>IIBBBBB', data[16:29])
    equal((depth, interlace), (8, 0))
    step = {2: 3, 6: 4}[kind]
    place, body = 8, b''
    while place < len(data):
        length, = struct.unpack('>I', data[place:place + 4])
        if data[place + 4:place + 8] == b'IDAT':
            body += data[place + 8:place + 8 + length]
        place += 12 + length
    raw, rows, before = zlib.decompress(body), [], bytearray(width * step)
    for y in range(height):
        begin = y * (width * step + 1)
        mode, row = raw[begin], bytearray(raw[begin + 1:begin + 1 + width * step])
        for i, value in enumerate(row):
            left, up, corner = row[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
            if mode == 1:
                row[i] = (value + left) & 255
            elif mode == 2:
                row[i] = (value + up) & 255
            elif mode == 3:
                row[i] = (value + (left + up) // 2) & 255
            elif mode == 4:
                guess = min((left, up, corner), key=lambda v, p=left + up - corner: abs(p - v))
                row[i] = (value + guess) & 255
        rows.append(row)
        before = row
    return width, height, lambda x, y: tuple(rows[y][x * step:x * step + 3])


def ask_try(client, message, picture=b'', **options):
    """(Tried replies, the picture's PNG) of a TRY."""
    data = message if isinstance(message, bytes) else message.SerializeToString()
    data += picture
    begin = control.Begin(upload=control.TRY, size=len(data))
    begin.trial.CopyFrom(control.TrialOptions(picture_bytes=len(picture) or None, **options))
    number = client.send(begin=begin)
    for place in range(0, len(data), 48 * 1024):
        client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=data[place:place + 48 * 1024]))))
    tried, image = [], b''
    for reply in client.replies(number):
        if reply.HasField('tried'):
            tried.append(reply.tried)
        else:
            image += reply.captured.data
    return tried, image


def conditions(replies):
    return [condition for reply in replies for condition in reply.conditions]


def capture(client, screen=None):
    replies = [reply.captured for reply in client.replies(client.send(capture=control.CaptureRequest(screen=screen)))]
    data = b''.join(reply.data for reply in replies)
    equal((replies[0].size, len(replies[0].data) <= 48 * 1024), (len(data), True))
    return replies[0], data


def refused(code, call, *parts):
    try:
        call()
    except Refused as why:
        equal(control.Code.Name(why.code), code)
        contains(str(why), *parts)
        return
    raise AssertionError(f'was not refused with {code}')


def icon_scenario(search, threshold, image=None, **fields):
    data = image or (DETECT / 'own_icon.png').read_bytes()
    condition = image_condition('icon', data, threshold=threshold, **fields)
    if search:
        condition.image.search = scenario.SEARCH_AREA
        condition.image.area.CopyFrom(area(*search))
    return make_scenario('cases', screen_events=[event('e', [condition])])


# --- try: what it says -----------------------------------------------------------------------------------------------

CASES = [
    # search, threshold, found, x, y, score, within, colour
    ((0, 0, 320, 240), 10, True, 212, 60, 1.0, 0, 0.0),
    ((30, 20, 44, 40), 20, False, 52, 40, 1.0, 0, 38.758),
    ((30, 20, 44, 40), 60, True, 52, 40, 1.0, 0, 38.758),
    ((250, 190, 50, 40), 20, True, 272, 210, 0.99999, 1e-5, 8.530),
    ((250, 190, 50, 40), 4, False, 272, 210, 0.99999, 1e-5, 8.530),
    ((100, 180, 24, 20), 4, True, 112, 190, 1.0, 0, 0.0),
    ((99, 180, 24, 20), 4, False, 111, 190, 0.76603, 1e-5, None),
]


def test_the_small_cases_of_the_definition():
    screen = (DETECT / 'own_screen_a.png').read_bytes()
    with _daemon.client() as client:
        for search, threshold, found, x, y, score, within, colour in CASES:
            (tried,), _ = ask_try(client, icon_scenario(search, threshold), screen)
            condition, = tried.conditions
            where = f'{search} at {threshold} %'
            equal((condition.found, condition.fulfilled), (found, found), where)
            equal((condition.HasField('match'), condition.HasField('best')), (found, not found), where)
            candidate = condition.match if found else condition.best
            equal((candidate.x, candidate.y), (x, y), where)
            assert abs(candidate.score - score) <= within, (where, candidate)
            assert colour is None or abs(candidate.colour_difference - colour) < 0.0005, (where, candidate)
            needed = condition.needed_threshold
            assert (needed <= threshold) == found, (where, needed)
            equal((condition.area.x, condition.area.y, condition.area.width, condition.area.height), search)
            assert condition.duration_ns > 0 and not condition.not_tried and not condition.not_evaluable
        (tried,), _ = ask_try(client, icon_scenario((0, 0, 44, 32), 4), (DETECT / 'own_screen_flat.png').read_bytes())
        equal((tried.conditions[0].found, tried.conditions[0].best.score), (False, 0))
        (tried,), _ = ask_try(client, icon_scenario((0, 0, 80, 60), 100, (DETECT / 'own_wide.png').read_bytes()),
                              (DETECT / 'own_screen_flat.png').read_bytes())
        contains(tried.conditions[0].not_evaluable, '200x10', '80x60')
        equal((tried.conditions[0].HasField('found'), tried.conditions[0].HasField('best')), (False, False))
        refused('BAD_SCENARIO', lambda: ask_try(client, icon_scenario(None, 4, (DETECT / 'own_flat_red.png').read_bytes()),
                                                screen), 'screen-events[0].conditions[0].image', 'color condition')


def test_the_threshold_that_is_needed_is_exact():
    """Just enough finds it, a little less does not; also where the best score has the wrong colour."""
    screen = (DETECT / 'own_screen_a.png').read_bytes()
    with _daemon.client() as client:
        # in the second area stand the colourless copy (score 1) and part of the screen; all of the screen has the icon
        for search in ((30, 20, 44, 40), (99, 180, 24, 20), (250, 190, 50, 40), (20, 20, 200, 60), (0, 100, 99, 100)):
            (tried,), _ = ask_try(client, icon_scenario(search, 4), screen)
            needed = tried.conditions[0].needed_threshold
            least = tried.conditions[0].least
            assert abs(max(100 * (1 - least.score), least.colour_difference) - needed) < 1e-9, (search, needed, least)
            (more,), _ = ask_try(client, icon_scenario(search, min(needed + 1e-5, 100)), screen)
            (less,), _ = ask_try(client, icon_scenario(search, max(needed - 1e-5, 0)), screen)
            equal((more.conditions[0].found, less.conditions[0].found and needed > 1e-5), (True, False), str(search))
            note(search, 'needs', needed)


def test_every_condition_whatever_the_others_say():
    screen = png(64, 48, texture)
    message = make_scenario('all kinds', screen_events=[
        event('any', [color_condition('black', 0x000000, (0, 0, 1, 1)), color_condition('white', 0xffffff),
                      color_condition('no white', 0xffffff, present=False)], match=scenario.MATCH_ANY),
        event('off', [color_condition('outside', 0xff0000, (60, 40, 8, 8)),
                      image_condition('big', png(65, 20, texture))], enabled=False)],
        trigger_events=[event('told', [timer_condition('soon', 1), counter_condition('many', 'n', 0, 0),
                                       broadcast_condition('go')])], counters={'n': 0})
    with _daemon.client() as client:
        replies, _ = ask_try(client, message, screen)
        rows = {condition.name: condition for condition in conditions(replies)}
        equal(list(rows), ['black', 'white', 'no white', 'outside', 'big', 'soon', 'many', 'go'])
        equal([row.id for row in rows.values()], list(range(1, 9)))
        equal((rows['black'].found, rows['white'].found, rows['white'].fulfilled), (True, False, False))
        equal((rows['no white'].found, rows['no white'].fulfilled), (False, True))
        contains(rows['outside'].not_evaluable, '[60, 40, 8, 8]', '64x48')
        contains(rows['big'].not_evaluable, '65x20', '64x48')
        for name in ('soon', 'many', 'go'):
            contains(rows[name].not_tried, 'trigger')
            assert not rows[name].HasField('duration_ns')
        equal((replies[0].width, replies[0].height, replies[0].HasField('screen')), (64, 48, False))


def test_many_conditions_come_in_many_replies():
    colours = [color_condition('a name of some length ' * 8 + str(number), number) for number in range(700)]
    with _daemon.client() as client:
        replies, image = ask_try(client, make_scenario('many', screen_events=[event('e', colours)]), png(8, 8, (0, 0, 9)),
                                 with_picture=True)
        equal([row.id for row in conditions(replies)], list(range(1, 701)))
        assert len(replies) > 10, len(replies)
        equal([row.name.rsplit(' ', 1)[1] for row in conditions(replies) if row.needed_threshold == 0], ['9'])
        equal(pixels(image)[2](3, 3), (0, 0, 9))


def test_nothing_is_kept_of_it():
    with _daemon.client() as client:
        before = {path for path in _daemon.state.rglob('*')}
        ids = (_daemon.state / 'ids').read_bytes() if (_daemon.state / 'ids').exists() else None
        sessions = client.list()
        ask_try(client, icon_scenario(None, 4), (DETECT / 'own_screen_a.png').read_bytes())
        capture(client, write_frames(_home / 'kept', [png(9, 9, texture)]))
        equal(({path for path in _daemon.state.rglob('*')}, client.list()), (before, sessions))
        equal((_daemon.state / 'ids').read_bytes() if (_daemon.state / 'ids').exists() else None, ids)


# --- by condprofctl --------------------------------------------------------------------------------------------------

def test_condprofctl_try():
    uri = write_frames(_home / 'own', [(DETECT / 'own_screen_a.png').read_bytes(), png(320, 240, (0, 0, 0))])
    (_home / 'icon.png').symlink_to(DETECT / 'own_icon.png')
    (_home / 'own.yaml').write_text(
        'scenario: own screen\nscreen: replay:own\nscreen-events:\n  - event: icons\n    conditions:\n'
        '      - {image: icon.png, name: gray, search: [30, 20, 44, 40], threshold: 20}\n'
        '      - {image: icon.png, name: there, search: exact, at: [200, 50]}\n    actions: []\n'
        'trigger-events:\n  - event: later\n    conditions: [{timer: 1 s}]\n    actions: []\n')
    file = DETECT / 'own_screen_a.png'
    shown = _daemon.ctl('try', _home / 'own.yaml', '--frame', file).ok().out
    contains(shown, 'own screen', 'own_screen_a.png', '320x240', 'best 1.0000', '52,40', '38.76', 'there', '212,60', 'not tried')
    data = _daemon.ctl('--json', 'try', _home / 'own.yaml', '--frame', file).json()
    equal((data['scenario'], data['picture']['width'], len(data['conditions'])), ('own screen', 320, 3))
    gray, there, timer = data['conditions']
    equal((there['found'], there['x'], there['place'], there['best']),
          (True, 212, {'x': 200, 'y': 50, 'width': 24, 'height': 20}, None))
    equal((gray['found'], gray['score'], gray['best']['x']), (False, None, 52))
    equal((timer['not_tried'] is None, timer['duration_ns'], timer['found']), (False, None, None))
    # without a picture: the scenario's own screen, its first one
    own = _daemon.ctl('--json', 'try', _home / 'own.yaml').json()
    equal((own['picture']['name'], own['picture']['file'], own['picture']['screen']), ('00001.png', None, uri))
    equal(own['conditions'][1]['found'], True)
    lines = _daemon.ctl('--output', 'csv', 'try', _home / 'own.yaml').ok().out.splitlines()
    equal((len(lines), lines[0].split(',')[:3]), (4, ['id', 'event', 'name']))


def test_condprofctl_annotates():
    out, uri = _home / 'out.png', write_frames(_home / 'drawn', [png(160, 120, texture)])
    (_home / 'drawn.yaml').write_text('scenario: drawn\nscreen-events:\n  - event: e\n    conditions:\n'
                                      '      - {color: "#000000", name: all, area: [20, 60, 100, 50]}\n'
                                      '      - {color: "#000000", area: [30, 70, 20, 20], threshold: 100}\n    actions: []\n')
    for words in (['--frame', _home / 'drawn' / '00001.png'], ['--screen', uri]):
        _daemon.ctl('try', _home / 'drawn.yaml', *words, '--annotate', out).ok()
        width, height, pixel = pixels(out.read_bytes())
        equal((width, height), (160, 120))
        equal(pixel(40, 69), (0x1f, 0xa8, 0x4a))   # found: green around it
        equal(pixel(100, 111), (0xe8, 0x59, 0x0c))  # not found: orange
        equal(pixel(150, 10), texture(150, 10))
        out.unlink()
    assert not list(_home.glob('out.png*'))


def test_condprofctl_says_what_is_wrong():
    frame_file, scene = DETECT / 'own_screen_a.png', _home / 'own.yaml'
    contains(_daemon.ctl('try', scene, '--frame', frame_file, '--screen', 'x11::0').fails(2).err, 'go together')
    contains(_daemon.ctl('try', scene, '--frame', _home / 'none.png').fails(4).err, 'none.png')
    contains(_daemon.ctl('try', scene, '--frame', scene).fails(1).err, 'not a PNG')
    contains(_daemon.ctl('try', scene, '--frame', _home).fails(1).err, 'not a file')
    contains(_daemon.ctl('try', scene, '--screen', 'nonsense').fails(2).err, 'x11')
    contains(_daemon.ctl('try', scene, '--annotate', '-').fails(2).err, 'needs a file')
    contains(_daemon.ctl('try', scene, '--frame', frame_file, '--annotate', _home / 'no' / 'where.png').fails(1).err, 'where.png')
    contains(_daemon.ctl('try', scene, '--screen', f'replay:{_home}/nothing').fails(1).err, 'nothing')
    (_home / 'bad.yaml').write_text('scenario: bad\nscreen-events:\n  - event: e\n    conditions: [{image: nothing.png}]\n'
                                    '    actions: []\n')
    contains(_daemon.ctl('try', _home / 'bad.yaml', '--frame', frame_file).fails(1).err, 'bad.yaml:4', 'nothing.png')
    (_home / 'none.yaml').write_text('scenario: none\nscreen-events:\n  - event: e\n    conditions: '
                                     '[{color: "#000000", area: [0, 0, 1, 1]}]\n    actions: []\n')
    contains(_daemon.ctl('try', _home / 'none.yaml').fails(1).err, '--frame', '--screen')
    torn = _home / 'torn.png'
    torn.write_bytes(frame_file.read_bytes()[:2000])
    contains(_daemon.ctl('try', scene, '--frame', torn).fails(1).err, 'damaged')
    contains(_daemon.ctl('capture', _home / 'c.png').fails(4).err, '--screen x11::0')
    contains(_daemon.ctl('capture', '-', '--json').fails(2).err, 'name a file')
    for crop in ('', '1,2,3', '1,2,3,4,5', 'a,b,c,d', '-1,0,5,5', '0,0,0,5', '1,1,99999,1', '1,1,99999999999999999999,1'):
        contains(_daemon.ctl('capture', _home / 'c.png', f'--crop={crop}').fails(2).err, 'x,y,width,height')
    contains(_daemon.ctl('capture', _home / 'c.png', '--screen', f'replay:{_home}/own', '--crop', '310,0,11,5').fails(1).err,
             '320x240')
    assert not (_home / 'c.png').exists()
    for name, said in ('c.JPG', True), ('c.png', False), ('c', False):
        done = _daemon.ctl('capture', _home / name, '--screen', f'replay:{_home}/own').ok()
        equal('is a PNG file' in done.err, said)
    contains(_daemon.ctl('tune', scene, '12').fails(4).err, 'no session 12')
    contains(_daemon.ctl('tune', scene, _home / 'nothing').fails(1).err, 'nothing')


def test_capture_prints_what_finds_it():
    """What capture cuts and prints, put into a scenario, is found at 1.0 where it was."""
    icon, (left, top, width, height) = _home / 'cut icon.png', (40, 24, 20, 16)
    uri = write_frames(_home / 'cut', [png(160, 120, texture)])
    shown = _daemon.ctl('capture', icon, '--screen', uri, '--crop', f'{left},{top},{width},{height}').ok()
    contains(shown.err, '20x16')
    lines = [line for line in shown.out.splitlines() if not line.startswith('#')]
    equal(len(lines), 3)
    for number, line in enumerate(lines):
        (_home / 'cut.yaml').write_text('scenario: cut\nscreen-events:\n  - event: e\n    conditions:\n      '
                                        f'{line}\n    actions: []\n')
        row, = _daemon.ctl('--json', 'try', _home / 'cut.yaml', '--screen', uri).json()['conditions']
        equal((row['found'], row['score'], row['colour_difference']), (True, 1, 0), line)
        equal((row['place']['x'], row['place']['y'], row['place']['width']), (left, top, width), str(number))
    flat = _daemon.ctl('capture', _home / 'flat.png', '--screen', write_frames(_home / 'flat', [png(40, 40, (10, 200, 30))]),
                       '--crop', '4,4,8,8').ok()
    contains(flat.err, 'color')
    equal(flat.out, '- {color: "#0ac81e", area: [4, 4, 8, 8]}\n')
    data = _daemon.ctl('--json', 'capture', _home / 'flat.png', '--screen', f'replay:{_home}/flat', '--crop', '4,4,8,8').json()
    equal((data['flat'], data['color'], data['crop'], data['width']),
          (True, '#0ac81e', {'x': 4, 'y': 4, 'width': 8, 'height': 8}, 40))


def test_capture_to_standard_output():
    uri = write_frames(_home / 'piped', [png(70, 50, texture)])
    done = subprocess.run([CONDPROFCTL, '--socket', _daemon.socket_path, 'capture', '--screen', uri, '-'], capture_output=True, check=True)
    width, height, pixel = pixels(done.stdout)
    equal((width, height), (70, 50))
    assert all(pixel(x, y) == texture(x, y) for x in range(70) for y in range(50))
    ours, theirs = pty.openpty()
    shown = subprocess.run([CONDPROFCTL, '--socket', _daemon.socket_path, 'capture', '--screen', uri, '-'], stdout=theirs,
                           stderr=subprocess.PIPE, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    equal(shown.returncode, 2)
    contains(shown.stderr, 'terminal')


def test_capture_of_the_running_session():
    uri = write_frames(_home / 'running', [png(33, 22, (1, 2, 3))])
    with _daemon.client() as client:
        refused('NO_SUCH_SESSION', lambda: capture(client), '--screen x11::0')
        first = client.start(endless_scenario(uri))
        head, data = capture(client)
        equal((head.screen, head.width, head.height), (uri + '?loop=1', 33, 22))
        equal(pixels(data)[2](5, 5), (1, 2, 3))
        second = client.start(endless_scenario(uri))
        refused('AMBIGUOUS', lambda: capture(client), '--screen')
        client.stop(first)
        client.stop(second)


# --- tune ------------------------------------------------------------------------------------------------------------

def test_tune_on_the_demo():
    """The conditions whose searches are small, on some of the pictures."""
    few = _home / 'few'
    few.mkdir()
    for number in (1, 21, 33, 34, 44, 45, 57, 58, 68):
        (few / f'{number:03d}.png').symlink_to(DEMO / 'frames' / f'{number:03d}.png')
    lines = (DEMO / 'press-line.yaml').read_text().splitlines()
    kept = [f'      {line.strip()}' for line in lines if 'name: calculator' in line or 'name: shift end' in line]
    equal(len(kept), 2)
    (_home / 'few.yaml').write_text('\n'.join(['scenario: few', 'screen-events:', '  - event: e', '    conditions:', *kept,
                                               '      - {image: error.png, name: error, search: [1000, 0, 100, 100]}',
                                               '    actions: []', '']))
    for name in ('sqrt.png', 'shift-end.png', 'error.png'):
        (_home / name).symlink_to(DEMO / name)
    data = _daemon.ctl('--json', 'tune', _home / 'few.yaml', few).json()
    equal(data['pictures'], 9)
    rows = {row['name']: row for row in data['conditions']}
    equal((rows['error']['verdict'], rows['error']['suggested']), ('never', None))
    calculator = rows['calculator']
    equal((calculator['verdict'], calculator['missed'], calculator['mistaken'], calculator['keep_threshold']),
          ('clear', 0, 0, True))
    equal(calculator['suggested'], {'threshold': 6, 'search': 'exact', 'at_x': 710, 'at_y': 588, 'x': None, 'y': None,
                                    'width': None, 'height': None})
    assert calculator['there']['lowest_score'] > 0.999 and calculator['absent']['highest_score'] < 0.5
    assert 50 < calculator['margin']['threshold'] < 60


def moving(number, icon):
    """A picture with the icon, somewhere else each time; without it for None."""
    def pixel(x, y):
        left, top = (10 + 7 * number, 12 + number) if icon else (-100, -100)
        if left <= x < left + 12 and top <= y < top + 12:
            return icon(x - left, y - top)
        return texture(x * 5 + number * 31 & 63, y * 3 + number * 17 & 63)
    return png(120, 60, pixel)


def test_tune_by_its_folder():
    def icon(x, y):
        return (220, 40, 40) if (x - 6) ** 2 + (y - 6) ** 2 < 20 else (240, 240, 200)
    uri = write_frames(_home / 'what?is=this', [moving(number, icon if number % 2 else None) for number in range(8)])
    folder_path = uri[len('replay:'):]
    (_home / 'ball.png').write_bytes(png(12, 12, icon))
    (_home / 'ball.yaml').write_text('scenario: ball\nscreen-events:\n  - event: e\n    conditions:\n'
                                     '      - {image: ball.png, name: ball, threshold: 100}\n'
                                     '      - {color: "#000000", area: [0, 0, 1, 1]}\n    actions: []\n')
    data = _daemon.ctl('--json', 'tune', _home / 'ball.yaml', folder_path).json()
    equal((data['folder'], data['pictures'], len(data['conditions'])), (folder_path, 8, 1))
    ball, = data['conditions']
    equal((ball['verdict'], ball['there']['pictures'], ball['there']['lowest_score']), ('clear', 4, 1))
    equal((ball['missed'], ball['mistaken'] > 0, ball['keep_threshold']), (0, True, False))
    assert 0 < ball['suggested']['threshold'] < ball['absent']['lowest_needed'], ball
    equal(ball['suggested']['search'], 'area')
    # all of the places, and 8 px more
    equal([ball['suggested'][key] for key in ('x', 'y', 'width', 'height')], [9, 5, 70, 34])
    samples = _daemon.ctl('--json', 'tune', _home / 'ball.yaml', folder_path, '--samples').json()['samples']
    equal([(row['number'], row['picture']) for row in samples], [(n, f'{n:05d}.png') for n in range(1, 9)])
    equal([row['needed_threshold'] == 0 for row in samples], [False, True] * 4)
    text = _daemon.ctl('tune', _home / 'ball.yaml', folder_path).ok()
    contains(text.out, 'There on 4 pictures', 'Not there on 4 pictures', 'What this does not know')
    equal(text.err, '')  # progress is for terminals
    with _daemon.client() as client:
        message = icon_scenario(None, 4)
        refused('BAD_REQUEST', lambda: ask_try(client, message, png(40, 40, texture), measure=True), 'replay:DIR')
        replies, _ = ask_try(client, message, screen=uri + '?loop=1', measure=True)  # ends all the same
        equal([reply.picture for reply in replies], list(range(1, 9)))


def test_tune_shows_its_progress_on_a_terminal():
    ours, theirs = pty.openpty()
    done = subprocess.run([CONDPROFCTL, '--socket', _daemon.socket_path, 'tune', str(_home / 'ball.yaml'), str(_home / 'what?is=this')],
                          stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    told = os.read(ours, 65536).decode()
    os.close(ours)
    contains(told, 'of 8', '\x1b[K')
    contains(done.stdout, 'ball')


def test_frame_folders_hold_for_pictures_too():
    with folder() as home:
        allowed, secret = home / 'allowed', home / 'secret'
        for path in (allowed, secret):
            write_frames(path, [png(16, 16, texture)])
        (allowed / 'link').symlink_to(secret)
        with Daemon(config=f'frame-folders = {allowed}\n') as daemon, daemon.client() as client:
            capture(client, f'replay:{allowed}')
            for path in (secret, allowed / 'link', allowed / '..' / 'secret'):
                refused('DENIED', lambda path=path: capture(client, f'replay:{path}'), 'frame-folders')
                refused('DENIED', lambda path=path: ask_try(client, icon_scenario(None, 4), screen=f'replay:{path}',
                                                            measure=True), 'frame-folders')


# --- wrong, hostile, gone --------------------------------------------------------------------------------------------

def test_hostile_sizes():
    message = icon_scenario(None, 4).SerializeToString()
    false = bytearray(png(8, 8, (0, 0, 0)))
    false[16:24] = struct.pack('>II', 8000, 8000)  # a few bytes that promise 256 MB
    huge, wide = bytearray(false), bytearray(false)
    huge[16:24] = struct.pack('>II', 16000, 16000)
    wide[16:24] = struct.pack('>II', 20000, 2)
    with _daemon.client() as client:
        begin = control.Begin(upload=control.TRY, size=10)
        for size in (10, 11, 2 ** 63):
            begin.trial.picture_bytes = size
            refused('BAD_REQUEST', lambda: client.call(begin=begin), 'nothing is left')
        begin.size = 65 << 20
        begin.trial.picture_bytes = 1
        refused('TOO_LARGE', lambda: client.call(begin=begin), 'picture')
        refused('TOO_LARGE', lambda: ask_try(client, message, bytes(huge)), 'picture')
        refused('TOO_LARGE', lambda: ask_try(client, message, bytes(wide)), 'picture')
        refused('BAD_REQUEST', lambda: ask_try(client, message, bytes(false)), 'too short')
        refused('BAD_REQUEST', lambda: ask_try(client, message, b'GIF89a'), 'not a PNG')
        refused('BAD_REQUEST', lambda: ask_try(client, b'\xff' * 40, b'x'), 'not a Scenario')
        refused('BAD_REQUEST', lambda: ask_try(client, message), '--frame')
        for screen in ('', 'x' * 5000):
            refused('BAD_REQUEST', lambda screen=screen: ask_try(client, message, screen=screen), '4 KiB')
            refused('BAD_REQUEST', lambda screen=screen: capture(client, screen), '4 KiB')
        refused('BAD_REQUEST', lambda: capture(client, 'nonsense'), 'x11')
        equal(client.status(), [])


def need_x11():
    skip_unless(' x11' in run_program(CONDPROFCTL.replace('condprofctl', 'condprofd'), '--version').out.split('screens:')[1],
                'x11 is not built')


def test_a_hung_screen_holds_up_nobody_and_ends_with_its_client():
    need_x11()
    uri = write_frames(_home / 'quick', [png(20, 20, texture)])
    with HungServer() as server, _daemon.client() as other:
        hanging = [_daemon.client() for _ in range(4)]
        for client in hanging[:2]:
            client.send(capture=control.CaptureRequest(screen=server.uri))
        for client in hanging[2:]:
            message = icon_scenario(None, 4).SerializeToString()
            number = client.send(begin=control.Begin(upload=control.TRY, size=len(message),
                                                     trial=control.TrialOptions(screen=server.uri)))
            client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=message))))

        def looks(count):
            before = len(_daemon.log())
            _daemon.signal(signal.SIGUSR1)
            until(lambda: ' looks' in _daemon.log()[before:], 'the state')
            # what was decoded counts no longer: others may send theirs, however long a look takes
            return f' {count} looks' in _daemon.log()[before:] and ' 0 bytes of scenarios' in _daemon.log()[before:]
        until(lambda: looks(4), 'four looks under way')
        refused('BUSY', lambda: capture(other, uri), '4 pictures')
        refused('BUSY', lambda: ask_try(other, icon_scenario(None, 4), png(40, 40, texture)), '4 pictures')
        equal(other.status(), [])
        for client in hanging:
            client.close()
        begin = time.monotonic()
        until(lambda: looks(0), 'the looks to end with their clients')
        note(f'free after {time.monotonic() - begin:.3f} s')
        capture(other, uri)


def test_the_daemon_stops_while_a_screen_hangs():
    need_x11()
    with HungServer() as server, Daemon() as daemon:
        client = daemon.client()
        number = client.send(capture=control.CaptureRequest(screen=server.uri))
        equal(client.status(), [])
        daemon.stop()
        # not SCREEN_FAILED: it did not wait until the screen was given up
        equal(control.Code.Name(client.reply_to(number).error.code), 'STOPPING_DAEMON')


def test_a_client_that_goes_in_the_middle():
    big = png(300, 300, texture)
    uri = write_frames(_home / 'gone', [big] * 3)
    message = icon_scenario(None, 4).SerializeToString()
    for read in (0, 1, 2):
        for body in ({'capture': control.CaptureRequest(screen=uri)},
                     {'begin': control.Begin(upload=control.TRY, size=len(message), trial=control.TrialOptions(
                         screen=uri, with_picture=True, measure=True))}):
            client = _daemon.client()
            number = client.send(**body)
            if 'begin' in body:
                client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=message))))
            for _ in range(read):
                client.reply_to(number)
            client.close()
    with _daemon.client() as client:
        def taken():
            try:
                return capture(client, uri)
            except Refused as why:
                equal(control.Code.Name(why.code), 'BUSY')
                return None
        _, data = until(taken, 'a free place')
        equal(pixels(data)[:2], (300, 300))
        equal(client.status(), [])


def test_a_client_that_does_not_read_costs_little():
    noise = png(500, 400, lambda x, y: tuple(os.urandom(3)))
    uri = write_frames(_home / 'noise', [noise])
    with _daemon.client() as slow, _daemon.client() as other:
        number = slow.send(capture=control.CaptureRequest(screen=uri))
        equal(slow.reply_to(number).captured.width, 500)
        capture(other, uri)
        equal(other.status(), [])
        rest = b''.join(reply.captured.data for reply in slow.replies(number))
        assert len(rest) > 500000, len(rest)  # more than waits for it at a time


# --- on X ------------------------------------------------------------------------------------------------------------

def test_capture_of_an_x_screen():
    with Xvfb('320x240x24') as xvfb, Button(xvfb) as button:
        eye = xvfb.eye()
        wanted = eye.picture()
        _daemon.ctl('capture', _home / 'x.png', '--screen', xvfb.uri).ok()
        width, height, pixel = pixels((_home / 'x.png').read_bytes())
        equal((width, height), (eye.width, eye.height))
        different = [(x, y) for y in range(height) for x in range(width) if pixel(x, y) != wanted(x, y)]
        equal(different[:3], [])
        # a piece of it, found again at 1.0 by what was printed
        crop = f'{button.x - 6},{button.y - 6},24,20'
        line = _daemon.ctl('capture', _home / 'button.png', '--screen', xvfb.uri, '--crop', crop).ok().out.splitlines()[-1]
        (_home / 'x.yaml').write_text(f'scenario: x\nscreen: {xvfb.uri}\nscreen-events:\n  - event: e\n    conditions:\n'
                                      f'      {line}\n    actions: []\n')
        row, = _daemon.ctl('--json', 'try', _home / 'x.yaml').json()['conditions']
        equal((row['found'], row['score'], row['place']['x'], row['place']['y']), (True, 1, button.x - 6, button.y - 6))
        eye.close()


if __name__ == '__main__':
    with folder() as _home, Daemon() as _daemon:
        try:
            run(globals())
        except SystemExit as ended:
            code = ended.code
            if code:
                note(_daemon.log()[-3000:])
    raise SystemExit(code)
