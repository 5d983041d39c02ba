# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets that a scenario types: from credentials and from a file, typed into a real X client, and then looked for in
everything that the daemon and the client write or say."""

import contextlib
import pathlib

from condprof_test import (SECOND, Daemon, Refused, Skip, contains, control, equal, event, folder, make_scenario, png, report, run,
                           sanitized, scenario, stop_action, timer_condition, until, write_frames)
from xvfb_test import Button, Xvfb

SECRET = 'Xq7-trompe.l_oeil'
OTHER = 'Zw3 und noch eins'


def type_secret(name):
    return scenario.Action(type=scenario.TypeAction(secret=name))


def once(*actions):
    return event('once', [timer_condition('now', 0)], actions)


def typing(screen, *actions):
    return make_scenario('typing', screen=screen, unlimited=False, rate=scenario.Rate(passes=100, per_ns=SECOND),
                         trigger_events=[once(*actions), event('stop', [timer_condition('later', 0)], [stop_action('done')])])


@contextlib.contextmanager
def secrets(text=f'pin = {SECRET}\n', mode=0o600, credential=None, **options):
    """A daemon with a secrets file, and with a credential `door`."""
    with folder() as home:
        path = home / 'secrets'
        path.write_text(text)
        path.chmod(mode)
        environment = options.pop('environment', {})
        if credential is not None:
            (home / 'credentials').mkdir()
            (home / 'credentials' / 'door').write_text(credential)
            environment = {**environment, 'CREDENTIALS_DIRECTORY': str(home / 'credentials')}
        config = {'secrets-file': path, 'log-level': 'debug', **options.pop('config', {})}
        with Daemon(config=config, environment=environment, **options) as daemon:
            daemon.black = write_frames(daemon.home / 'black', [png(8, 8, (0, 0, 0))]) + '?loop=1'
            daemon.secrets_file = path
            yield daemon


def refused(client, message, **options):
    try:
        client.start(message, **options)
    except Refused as why:
        return why.error
    raise AssertionError('it started')


def look_for(daemon, *outputs):
    """That neither secret, nor a good part of one, is in the state folder, the log, or what was said."""
    texts = {str(path): path.read_bytes() for path in daemon.home.rglob('*') if path.is_file()}
    assert any('messages.pb' in name for name in texts) and any('scenario.pb' in name for name in texts), sorted(texts)
    texts.update({f'output {number}': output.encode() for number, output in enumerate(outputs)})
    for name, data in texts.items():
        for part in (SECRET, SECRET[:7], SECRET[4:], OTHER, OTHER[:7], OTHER[4:]):
            assert part.encode() not in data, f'{part} in {name}'


def says_all(daemon, session):
    """Everything that a client can be told of it."""
    words = [('status',), ('list',)] + [('report', str(session), '--view', view) for view in
                                        ('overview', 'conditions', 'events', 'timeline')]
    outputs = []
    for arguments in words:
        for form in ('text', 'json'):
            done = daemon.ctl('--output', form, *arguments)
            outputs += [done.ok().out, done.err]
    outputs.append(daemon.ctl('report', str(session), '--output', 'html').ok().out)
    return outputs


def test_typed_and_seen_nowhere():
    with secrets(credential=OTHER + '\n') as daemon, daemon.client() as client:
        ended = client.start(typing(daemon.black, type_secret('pin'), type_secret('door')), wait=True)
        equal(ended.reason_text, 'done')
        told = client.report(ended.id, messages=True)
        actions = [action for message in told.messages for action in message.trigger_event.actions]
        equal([report.ActionKind.Name(action.kind) for action in actions if not action.skipped],
              ['ACTION_TYPE', 'ACTION_TYPE', 'ACTION_STOP'])
        equal([action.type.secret for action in told.scenario.trigger_events[0].actions], ['pin', 'door'])
        contains(daemon.log(), 'input log: a text')
        outputs = says_all(daemon, ended.id)
        assert any('"type"' in output for output in outputs)
        look_for(daemon, *outputs, *(bytes(part).decode(errors='replace') for part in told.raw.values()))


def test_typed_into_an_x_client():
    with Xvfb() as server, Button(server) as button, secrets() as daemon, daemon.client() as client:
        ended = client.start(typing(server.uri, type_secret('pin')), wait=True)
        equal(ended.reason_text, 'done')
        until(lambda: len(typed(button)) >= len(SECRET), 'the keys')
        equal(typed(button), SECRET)
        look_for(daemon, *says_all(daemon, ended.id))


def typed(button):
    """What its window was told, as text."""
    return ''.join(chr(int(line.split('U+')[1], 16)) for line in button.read() if line.startswith('key ') and 'U+' in line)


def test_a_missing_secret_is_an_error_at_start():
    with secrets(credential=OTHER) as daemon, daemon.client() as client:
        error = refused(client, typing(daemon.black, type_secret('pin'), type_secret('pni')))
        equal((control.Code.Name(error.code), error.place), ('BAD_SCENARIO', 'trigger-events[0].actions[1].type'))
        contains(error.message, 'there is no secret "pni"', str(daemon.secrets_file))
        equal(client.list(), [])
        # a dry run types nothing, and asks for nothing
        equal(client.start(typing(daemon.black, type_secret('pni')), dry_run=True, wait=True).reason_text, 'done')
        for wrong, part in (('../secrets', 'no secret\'s name'), ('', 'no secret\'s name')):
            contains(refused(client, typing(daemon.black, type_secret(wrong))).message, part)


def test_a_file_that_others_can_read_is_refused():
    with secrets(mode=0o640) as daemon, daemon.client() as client:
        error = refused(client, typing(daemon.black, type_secret('pin')))
        equal(error.place, 'trigger-events[0].actions[0].type')
        contains(error.message, 'can be read by others: chmod it to 0600')
        # it is read anew for each session
        daemon.secrets_file.chmod(0o600)
        daemon.secrets_file.write_text('pin = "a\\nb"\n# more\nbroken: ' + SECRET + '\n')
        error = refused(client, typing(daemon.black, type_secret('pin')))
        contains(error.message, 'secrets:3: expected NAME = VALUE')
        assert SECRET not in error.message and SECRET not in daemon.log()
        daemon.secrets_file.write_text('pin = "a\\nb"\n')
        equal(client.start(typing(daemon.black, type_secret('pin')), wait=True).reason_text, 'done')


def test_no_core_and_no_swap():
    """What the kernel would write of the process: the mapping that holds the secret is left out, and locked."""
    with secrets() as daemon, daemon.client() as client:
        number = client.start(make_scenario('waiting', screen=daemon.black, unlimited=False,
                                            rate=scenario.Rate(passes=100, per_ns=SECOND),
                                            trigger_events=[event('never', [timer_condition('late', 3600 * SECOND)],
                                                                  [type_secret('pin')])]))
        places = places_of(daemon.process.pid, SECRET.encode())
        assert places, 'it is not in memory at all'
        for place, flags in places:
            assert 'dd' in flags and 'dc' in flags and (sanitized() or 'lo' in flags), (place, flags)
        client.stop(number)
        until(lambda: not places_of(daemon.process.pid, SECRET.encode()), 'it to be wiped')


def places_of(pid, wanted):
    """(mapping, flags) of every mapping of a process that has these bytes in it."""
    found, ranges = [], []
    for line in pathlib.Path(f'/proc/{pid}/smaps').read_text().splitlines():
        words = line.split()
        if '-' in words[0] and not words[0].endswith(':'):
            ranges.append([line, *(int(part, 16) for part in words[0].split('-')), words[1], ''])
        elif words[0] == 'VmFlags:':
            ranges[-1][4] = words[1:]
    with open(f'/proc/{pid}/mem', 'rb', buffering=0) as memory:
        for line, begin, end, access, flags in ranges:
            if 'rw' not in access or end - begin > 1 << 28 or '[v' in line:
                continue
            with contextlib.suppress(OSError, OverflowError, ValueError):
                memory.seek(begin)
                if wanted in memory.read(end - begin):
                    found.append((line, flags))
    return found


run(globals())
