# SPDX-License-Identifier: GPL-3.0-or-later
"""Installed scenarios: install, scenarios, remove and start by name; that a name is never a path; that what is installed is
the old one or the new one, whole, after a kill, a full disk, or whatever a person did to the folder."""

import os
import socket
import threading

from condprof_test import (CONDPROFCTL, Daemon, Refused, color_condition, contains, control, ctl, endless_scenario, equal,
                           event, folder, frame, make_scenario, need_program, note, png, run, run_program, skip_unless,
                           until, write_frames)
from full_disk import fill, small_daemon

RED = (255, 0, 0)
BAD_NAMES = ['', '.', '..', '../x', 'a/b', '/etc/passwd', '.hidden', '-x', '_x', 'x' * 65, 'a b', 'a\tb', 'kiosk.yaml', 'ü',
             'a\\b', 'a%2fb', 'a:b', 'a@b', '~', '$(id)']
GOOD_NAMES = ['a', '9', 'A.b_c-9', 'x' * 64, 'a..b', 'yaml', 'kiosk.yaml.old', 'pb.pb']

_daemon = None


def frames(daemon):
    return write_frames(daemon.home / 'red', [png(16, 16, RED)])


def endless(daemon, name='endless', **fields):
    return endless_scenario(frames(daemon), name=name, **fields)


def install(client, message, name):
    replies = list(client.replies(client.upload(message, control.INSTALL, name=name)))
    equal(len(replies), 1)
    return replies[0].installed.scenarios[0]


def scenarios(client):
    return [item for reply in client.replies(client.send(scenarios=control.ScenariosRequest()))
            for item in reply.installed.scenarios]


def names(client):
    return [item.name for item in scenarios(client)]


def start(client, name, **options):
    return client.call(begin=control.Begin(options=control.StartOptions(name=name, **options))).started.session


def remove(client, name):
    return client.call(remove=control.RemoveRequest(name=name)).installed.scenarios[0]


def refused(code, function, *words, **fields):
    try:
        function(*words, **fields)
    except Refused as why:
        equal(control.Code.Name(why.code), code)
        return why.error
    raise AssertionError(f'{words} {fields} was not refused')


def write_scenario(path, name='kiosk login', color='#00ff00'):
    path.write_text(f'''scenario: {name}
screen: replay:red?loop=1
screen-events:
  - event: never
    conditions: [{{color: "{color}", area: [0, 0, 4, 4], name: it}}]
    actions: []
''')
    return path


# --- the commands -----------------------------------------------------------------------------------------------------

def test_the_commands():
    frames(_daemon)
    path = write_scenario(_daemon.home / 'kiosk.yaml')
    equal(_daemon.ctl('scenarios').ok().out, 'No scenario is installed.\n')
    equal(_daemon.ctl('--json', 'scenarios').json(), {'schema': 1, 'scenarios': []})
    equal(_daemon.ctl('install', path).ok().out, 'kiosk\n')
    again = _daemon.ctl('install', path, '--json').ok()
    contains(again.err, 'took the place')
    installed = again.json()['installed']
    equal((installed['name'], installed['scenario'], installed['replaced']), ('kiosk', 'kiosk login', True))
    equal(_daemon.ctl('install', path, '--name', 'press-line_4').ok().out, 'press-line_4\n')
    listed = _daemon.ctl('--json', 'scenarios').json()['scenarios']
    equal([(item['name'], item['scenario'], item['bytes']) for item in listed],
          [(name, 'kiosk login', installed['bytes']) for name in ('kiosk', 'press-line_4')])
    rows = _daemon.ctl('--output', 'csv', 'scenarios').ok().out.splitlines()
    equal((rows[0], len(rows)), ('name,scenario,bytes,installed', 3))
    path.unlink()  # it is not needed any more
    number = int(_daemon.ctl('start', 'kiosk', '--dry-run').ok().out)
    session = _daemon.ctl('--json', 'status', number).json()['sessions'][0]
    equal((session['scenario'], session['dry_run']), ('kiosk login', True))
    contains(_daemon.ctl('report', '--view', 'timeline').ok().out.splitlines()[0], 'kiosk login (dry run)')
    _daemon.ctl('stop', number).ok()
    equal(_daemon.ctl('start', 'kiosk', '--passes', '2', '--wait', '--json').json()['session']['passes'], 2)
    equal(_daemon.ctl('remove', 'kiosk', '--json').json()['removed']['name'], 'kiosk')
    equal(_daemon.ctl('remove', 'press-line_4').ok().out, 'press-line_4\n')
    contains(_daemon.log(), 'installed the scenario "kiosk"', 'installed anew', 'removed the scenario', f'user {os.getuid()}')


def test_what_the_commands_say_of_mistakes():
    path = write_scenario(_daemon.home / 'kiosk.yaml')
    _daemon.ctl('install', path).ok()
    contains(_daemon.ctl('start', 'kisok').fails(4).err, 'kisok', 'did you mean "kiosk"?')
    contains(_daemon.ctl('remove', 'kiosks').fails(4).err, 'did you mean "kiosk"?')
    (_daemon.home / 'plain').write_text(path.read_text())
    contains(_daemon.ctl('start', 'plain', cwd=_daemon.home).fails(4).err, 'write ./plain')
    (_daemon.home / 'ended.yaml').touch()
    contains(_daemon.ctl('start', 'ended', cwd=_daemon.home).fails(4).err, 'write ended.yaml')
    for name in BAD_NAMES:
        contains(_daemon.ctl('install', path, f'--name={name}').fails(2).err, 'name')
        _daemon.ctl('remove', '--', name).fails(2)
        if '/' not in name and not name.endswith('.yaml'):
            contains(_daemon.ctl('start', '--', name).fails(2).err, './' if name else '')
    odd = write_scenario(_daemon.home / 'kiosk login.yaml')
    contains(_daemon.ctl('install', odd).fails(2).err, '--name')
    odd.write_text('scenario: x\nscreen-events: []\n')
    _daemon.ctl('install', odd, '--name', 'kiosk').fails(1)
    equal(_daemon.ctl('--json', 'scenarios').json()['scenarios'][0]['scenario'], 'kiosk login')
    odd.write_text(path.read_text().replace('screen: replay:red?loop=1\n', ''))
    contains(_daemon.ctl('install', odd, '--name', 'blind').ok().err, '--screen')
    contains(_daemon.ctl('start', 'blind').fails(1).err, '--screen')
    for name in ('kiosk', 'blind'):
        _daemon.ctl('remove', name).ok()


def test_an_older_daemon_is_said_to_be_one():
    with folder() as home:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(home / 's'))
        listener.listen()

        def talk():
            peer, _ = listener.accept()
            peer.recv(4096)
            peer.sendall(frame(control.Reply(id=1, last=True, hello=control.HelloReply(major=1, minor=0, daemon='old'))))
            peer.recv(4096)
            peer.close()
        thread = threading.Thread(target=talk)
        thread.start()
        contains(ctl('--socket', home / 's', 'start', 'kiosk').fails(1).err, 'older')
        thread.join()


# --- names ------------------------------------------------------------------------------------------------------------

def test_a_name_is_never_a_path():
    with _daemon.client() as client:
        before = sorted(str(path) for path in _daemon.home.rglob('*') if 'reports' not in str(path))
        for name in BAD_NAMES + ['kiosk/../../x', 'x' * 20000]:
            error = refused('BAD_REQUEST', install, client, endless(_daemon), name)
            equal(error.place, 'options.name')
            refused('BAD_REQUEST', start, client, name)
            refused('BAD_REQUEST', remove, client, name)
        equal(sorted(str(path) for path in _daemon.home.rglob('*') if 'reports' not in str(path)), before)
        equal(names(client), [])


def test_every_good_name():
    with _daemon.client() as client:
        for name in GOOD_NAMES:
            equal(install(client, endless(_daemon), name).name, name)
        equal(names(client), sorted(GOOD_NAMES))
        for name in GOOD_NAMES:
            client.stop(start(client, name))
            equal(remove(client, name).name, name)
        equal(names(client), [])


def test_a_begin_that_makes_no_sense():
    with _daemon.client() as client:
        def begin(**fields):
            return client.call(begin=control.Begin(**fields))
        refused('BAD_REQUEST', begin, upload=control.INSTALL, size=10)
        refused('BAD_REQUEST', begin, upload=control.INSTALL, options=control.StartOptions(name='a'))
        refused('BAD_REQUEST', begin, upload=control.CHECK, options=control.StartOptions(name='a'))
        refused('BAD_REQUEST', begin, upload=control.CHECK, size=10, options=control.StartOptions(name='a'))
        refused('BAD_REQUEST', begin, upload=control.START, size=10, options=control.StartOptions(name='a'))
        refused('BAD_REQUEST', begin)
        refused('NO_SUCH_NAME', begin, upload=control.START, options=control.StartOptions(name='a'))
        install(client, endless(_daemon), 'a')
        refused('BAD_REQUEST', begin, options=control.StartOptions(name='a', max_passes=-1))
        number = client.send(begin=control.Begin(options=control.StartOptions(name='a')))
        client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x'))))
        bodies = {client.reply_to(number).WhichOneof('body') for _ in range(2)}
        equal(bodies, {'started', 'error'})
        client.stop(everything=True)
        remove(client, 'a')


# --- what stays -------------------------------------------------------------------------------------------------------

def test_a_session_keeps_the_one_it_was_started_with():
    with _daemon.client() as client:
        equal(install(client, endless(_daemon, 'old'), 'it').replaced, False)
        first = start(client, 'it')
        equal(install(client, endless(_daemon, 'new'), 'it').replaced, True)
        second = start(client, 'it')
        remove(client, 'it')
        equal([session.scenario for session in client.status()], ['old', 'new'])
        equal([client.report(session).scenario.name for session in (first, second)], ['old', 'new'])
        client.stop(everything=True)
        refused('NO_SUCH_NAME', start, client, 'it')


def test_a_client_that_leaves_after_begin_leaves_a_session():
    with _daemon.client() as client:
        install(client, endless(_daemon), 'it')
        other = _daemon.client()
        other.send(begin=control.Begin(options=control.StartOptions(name='it')))
        other.close()
        until(client.status, 'the session')
        client.stop()
        remove(client, 'it')


def test_many_starts_at_once():
    with _daemon.client() as client:
        install(client, endless(_daemon), 'it')
        others = [_daemon.client() for _ in range(16)]
        numbers = [other.send(begin=control.Begin(options=control.StartOptions(name='it'))) for other in others]
        ids = [other.reply_to(number).started.session for other, number in zip(others, numbers)]
        equal(len(set(ids)), 16)
        client.stop(everything=True)
        remove(client, 'it')


def test_it_survives_the_daemon():
    with Daemon() as daemon:
        with daemon.client() as client:
            install(client, endless(daemon, 'kept'), 'it')
        daemon.stop()
        daemon.start()
        with daemon.client() as client:
            equal(names(client), ['it'])
            client.stop(start(client, 'it'))


# --- who --------------------------------------------------------------------------------------------------------------

def test_observers_may_look():
    skip_unless(os.geteuid() == 0, 'only root can be somebody else')
    setpriv = need_program('setpriv')
    with Daemon(config={'observe-group': 54322}) as daemon:
        path = write_scenario(daemon.home / 'kiosk.yaml')
        daemon.ctl('install', path).ok()
        observer = [setpriv, '--reuid=4321', '--regid=4321', '--groups=54322', CONDPROFCTL,
                    '--socket', daemon.socket_path]
        contains(run_program(*observer, 'scenarios').ok().out, 'kiosk login')
        for words in (['install', path], ['remove', 'kiosk'], ['start', 'kiosk']):
            contains(run_program(*observer, *words).fails(7).err, 'only look')
        equal(len(daemon.ctl('--json', 'scenarios').json()['scenarios']), 1)


# --- the folder on bad days -------------------------------------------------------------------------------------------

def test_whatever_is_in_the_folder():
    with Daemon() as daemon, folder() as outside, daemon.client() as client:
        equal(names(client), [])
        install(client, endless(daemon), 'good')
        kept = daemon.state / 'scenarios'
        equal(oct(kept.stat().st_mode & 0o777), '0o700')
        secret = outside / 'secret'
        secret.write_bytes((kept / 'good.pb').read_bytes())
        (kept / 'link.pb').symlink_to(secret)
        (kept / 'dangling.pb').symlink_to(outside / 'nothing')
        (kept / 'up.pb').symlink_to('..')
        os.mkfifo(kept / 'fifo.pb')
        (kept / 'folder.pb').mkdir()
        (kept / 'a b.pb').write_bytes(b'x')
        (kept / 'noise').write_bytes(b'x')
        (kept / 'noise.pb.bak').write_bytes(b'x')
        (kept / 'empty.pb').write_bytes(b'')
        (kept / 'garbage.pb').write_bytes(b'\xff' * 1000)
        (kept / 'text.pb').write_bytes(b'scenario: x\n')
        with open(kept / 'huge.pb', 'wb') as huge:
            huge.truncate(1 << 40)
        listed = {item.name: item for item in scenarios(client)}
        equal(sorted(listed), ['empty', 'garbage', 'good', 'huge', 'text'])
        equal([name for name, item in listed.items() if item.HasField('scenario')], ['good'])
        for name in ('link', 'dangling', 'up', 'fifo', 'folder', 'empty', 'garbage', 'text', 'huge'):
            contains(refused('IO', start, client, name).message, name, 'damaged')
        refused('BUSY', install, client, endless(daemon), 'another')  # huge is larger than all may be
        remove(client, 'huge')
        # a new one takes the place of all but a folder, and goes through no link
        for name in ('link', 'dangling', 'up', 'fifo', 'garbage', 'empty'):
            install(client, endless(daemon), name)
            client.stop(start(client, name))
        equal(secret.read_bytes(), (kept / 'good.pb').read_bytes())
        assert not (outside / 'nothing').exists()
        refused('IO', install, client, endless(daemon), 'folder')
        refused('IO', remove, client, 'folder')
        (kept / 'link2.pb').symlink_to(secret)
        remove(client, 'link2')
        assert secret.exists()
        # what is half written is nothing, whatever it is
        (kept / '.new').symlink_to(secret)
        install(client, endless(daemon, 'other'), 'good')
        equal(secret.read_bytes() == (kept / 'good.pb').read_bytes(), False)
        (kept / '.new').mkdir()
        install(client, endless(daemon), 'good')
        (kept / '.new').write_bytes(b'x' * 1000)
        daemon.stop()
        daemon.start()
        assert not (kept / '.new').exists()


def test_a_folder_that_is_none():
    with Daemon() as daemon, folder() as outside, daemon.client() as client:
        (daemon.state / 'scenarios').symlink_to(outside)
        refused('IO', install, client, endless(daemon), 'it')
        refused('IO', client.call, scenarios=control.ScenariosRequest())
        equal(list(outside.iterdir()), [])
        (daemon.state / 'scenarios').unlink()
        (daemon.state / 'scenarios').write_text('x')
        refused('IO', install, client, endless(daemon), 'it')
        (daemon.state / 'scenarios').unlink()
        install(client, endless(daemon), 'it')


def test_how_many_and_how_much():
    with Daemon() as daemon, daemon.client() as client:
        install(client, endless(daemon), 'first')
        kept = daemon.state / 'scenarios'
        data = (kept / 'first.pb').read_bytes()
        for number in range(255):
            (kept / f'n{number}.pb').write_bytes(data)
        contains(refused('BUSY', install, client, endless(daemon), 'more').message, '256', 'remove')
        equal(install(client, endless(daemon, 'anew'), 'first').replaced, True)
        equal(len(scenarios(client)), 256)
        remove(client, 'n0')
        install(client, endless(daemon), 'more')
        with open(kept / 'n1.pb', 'wb') as big:
            big.truncate(512 << 20)
        contains(refused('BUSY', install, client, endless(daemon), 'more').message, '512 MiB')


def wide(name, conditions):
    """A scenario of a size that takes many blocks; which one it is shows in all of it."""
    return make_scenario(name, screen='replay:/nowhere', screen_events=[
        event(f'{name} {number}', [color_condition(f'{name} {number} {"x" * 150}', 0)]) for number in range(conditions)])


def test_kill_9_leaves_the_old_one_or_the_new_one():
    with Daemon() as daemon:
        kept = daemon.state / 'scenarios' / 'it.pb'
        versions = {name: wide(name, 1000).SerializeToString() for name in ('old', 'new')}
        with daemon.client() as client:
            install(client, versions['old'], 'it')
        seen = set()
        for turn in range(12):
            client = daemon.client()
            for name in ('new', 'old') * 2:
                client.upload(versions[name], control.INSTALL, name='it')
            if turn % 3:
                client.receive()
            daemon.kill()
            data = kept.read_bytes()
            assert data in versions.values(), f'{len(data)} bytes'
            seen.add(data)
            daemon.start()
            with daemon.client() as client:
                equal(names(client), ['it'])
        note(f'{len(seen)} of 2 versions seen')


def test_a_full_disk_leaves_the_old_one():
    with small_daemon(4 << 20) as daemon, daemon.client() as client:
        install(client, wide('old', 100), 'it')
        before = (daemon.disk / 'scenarios' / 'it.pb').read_bytes()
        fill(daemon.disk / 'ballast')
        for _ in range(3):
            contains(refused('IO', install, client, wide('new', 1000), 'it').message, 'No space left', 'make room')
        equal((daemon.disk / 'scenarios' / 'it.pb').read_bytes(), before)
        equal(os.listdir(daemon.disk / 'scenarios'), ['it.pb'])
        remove(client, 'it')  # needs no room
        (daemon.disk / 'ballast').unlink()
        install(client, wide('new', 1000), 'it')


if __name__ == '__main__':
    with Daemon() as _daemon:
        try:
            run(globals())
        except SystemExit as done:
            code = done.code
        if code:
            note(_daemon.log()[-5000:])
    raise SystemExit(code)
