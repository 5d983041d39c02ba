# SPDX-License-Identifier: GPL-3.0-or-later
"""D-Bus: broadcasts that come by it, the signals and notifications of actions, buses that die, hang and refuse. All on
buses of this test's own."""

import contextlib
import pathlib
import time

from condprof_test import (SECOND, Daemon, Refused, contains, control, counter_action, counter_condition, equal, event, folder,
                           make_scenario, note, pause_action, png, report, run, scenario, stop_action, timer_condition, until,
                           write_frames)
from dbus_test import MEMBER, Bus, MuteBus

RESET = 'org.example.Kiosk.Reset'
CLOSED = 'org.example.Kiosk.Closed'
SESSION, SYSTEM = scenario.BUS_SESSION, scenario.BUS_SYSTEM


@contextlib.contextmanager
def world(session=None, system=None, **options):
    """A daemon with these buses (a dict of limits, or a kind of bus): (daemon, client, session bus, system bus)."""
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(folder())
        buses, environment = [], {'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={home}/none'}
        for name, limits in (('session', session), ('system', system)):
            bus = None
            if limits is not None:
                bus = stack.enter_context(limits(home, name) if callable(limits) else Bus(home, name, **limits))
                environment[f'DBUS_{name.upper()}_BUS_ADDRESS'] = bus.address
            buses.append(bus)
        daemon = stack.enter_context(Daemon(environment=environment, **options))
        daemon.black = write_frames(daemon.home / 'black', [png(8, 8, (0, 0, 0))])
        yield daemon, stack.enter_context(daemon.client()), *buses


def on_bus(bus, name=RESET):
    return scenario.Condition(name=f'{name} {bus}', broadcast=scenario.BroadcastCondition(broadcast=name, bus=bus))


def signal_action(bus=None, name=CLOSED, path='/org/example/Kiosk'):
    return scenario.Action(signal=scenario.SignalAction(signal=name, path=path, bus=bus))


def notify_action(text, level=scenario.LEVEL_INFO):
    return scenario.Action(notify=scenario.NotifyAction(text=[scenario.TextPart(literal=text)], level=level))


def triggers(daemon, *events, name='buses', **fields):
    return make_scenario(name, screen=daemon.black + '?loop=1', unlimited=False,
                         rate=scenario.Rate(passes=200, per_ns=SECOND), trigger_events=events, **fields)


def once(*actions):
    """An event that happens once, in the first passes."""
    return event('once', [timer_condition('now', 0)], actions)


def counted(client, session):
    """How often the event of each name happened."""
    told = client.report(session, messages=True)
    _, events = told.names()
    names = [events[message.trigger_event.event_id] for message in told.messages if message.HasField('trigger_event')]
    return {name: names.count(name) for name in names}


def refused(client, message, **options):
    try:
        client.start(message, **options)
    except Refused as why:
        return why.error
    raise AssertionError('it started')


def test_a_signal_of_either_bus_is_a_broadcast():
    with world({}, {}) as (daemon, client, session, system):
        number = client.start(triggers(
            daemon, event('by session', [on_bus(SESSION)]), event('by system', [on_bus(SYSTEM)]),
            event('other member', [on_bus(SYSTEM, 'org.example.Kiosk.Resets')]),
            event('by emit', [scenario.Condition(name='told', broadcast=scenario.BroadcastCondition(broadcast='told'))])))
        with session.connect() as on_session, system.connect() as on_system:
            on_session.emit(RESET)
            until(lambda: counted(client, number) == {'by session': 1}, 'the session bus')
            on_system.emit(RESET, '/', 's', 'with a body')
            until(lambda: counted(client, number) == {'by session': 1, 'by system': 1}, 'the system bus')
            on_system.emit('org.example.Kiosk.Reset2')
            on_system.emit('org.example.Kiosk2.Reset')
            client.emit('told')
            until(lambda: counted(client, number).get('by emit'), 'emit')
            equal(counted(client, number), {'by session': 1, 'by system': 1, 'by emit': 1})
        client.stop(number)


def test_emit_does_not_stand_for_a_bus():
    with world(system={}) as (daemon, client, _, system):
        number = client.start(triggers(daemon, event('by system', [on_bus(SYSTEM)])))
        try:
            client.emit(RESET)
            raise AssertionError('it was taken')
        except Refused as why:
            equal(control.Code.Name(why.code), 'NO_SUCH_NAME')
        with system.connect() as on_system:
            on_system.emit(RESET)
            until(lambda: counted(client, number) == {'by system': 1}, 'the signal')
        client.stop(number)


def test_armed_before_it_runs():
    with world(system={}) as (daemon, client, _, system), system.connect() as on_system:
        for _ in range(5):
            number = client.start(triggers(daemon, event('reset', [on_bus(SYSTEM)], [stop_action('reset')])))
            on_system.emit(RESET)
            equal(client.wait(number).reason_text, 'reset')


def test_a_match_that_fails_is_an_error_at_start():
    with world(system={'max_match_rules_per_connection': 1}) as (daemon, client, _, system):
        message = triggers(daemon, event('one', [timer_condition('late', 3600 * SECOND), on_bus(SYSTEM)]),
                           event('two', [on_bus(SYSTEM, 'org.example.Kiosk.Two')]))
        error = refused(client, message)
        equal(control.Code.Name(error.code), 'BUS_FAILED')
        assert error.place in ('trigger-events[0].conditions[1].broadcast', 'trigger-events[1].conditions[0].broadcast'), error
        contains(error.message, 'the system bus does not let us wait for org.example.Kiosk.', 'LimitsExceeded')
        equal(client.status(), [])
        # nothing of it is left on the bus: there is room for one again
        number = client.start(triggers(daemon, event('one', [on_bus(SYSTEM)], [stop_action('one')])))
        with system.connect() as on_system:
            on_system.emit(RESET)
        equal(client.wait(number).reason_text, 'one')


def test_without_a_bus():
    with world() as (daemon, client, _, _):
        error = refused(client, triggers(daemon, event('one', [on_bus(SESSION)])))
        equal((control.Code.Name(error.code), error.place), ('BUS_FAILED', 'trigger-events[0].conditions[0].broadcast'))
        contains(error.message, 'there is no session bus', 'DBUS_SESSION_BUS_ADDRESS')
        error = refused(client, triggers(daemon, once(pause_action(0), signal_action())))
        equal((control.Code.Name(error.code), error.place), ('BUS_FAILED', 'trigger-events[0].actions[1].signal'))
        contains(error.message, 'cannot reach the system bus', 'No such file')
        # what needs none runs
        equal(client.start(triggers(daemon, once(notify_action('shown nowhere'), stop_action('done'))), wait=True).reason_text,
              'done')
        contains(daemon.log(), 'shown nowhere')


def test_the_signal_action():
    with world({}, {}) as (daemon, client, session, system):
        with session.connect() as on_session, system.connect() as on_system:
            on_session.listen()
            on_system.listen()
            number = client.start(triggers(daemon, once(
                signal_action(), signal_action(SYSTEM, path='/'), signal_action(SESSION, 'org.example.Kiosk.Other'),
                stop_action('sent'))), wait=True).id
            equal(on_system.next_signal(), ('/org/example/Kiosk', CLOSED))  # the system bus is the default
            equal(on_system.next_signal(), ('/', CLOSED))
            equal(on_session.next_signal(), ('/org/example/Kiosk', 'org.example.Kiosk.Other'))
            actions = client.report(number, messages=True).messages[-1].trigger_event.actions
            equal([(report.ActionKind.Name(action.kind), action.skipped, action.text) for action in actions],
                  2 * [('ACTION_SIGNAL', False, CLOSED)] + [('ACTION_SIGNAL', False, 'org.example.Kiosk.Other'),
                                                           ('ACTION_STOP', False, '')])
            contains(daemon.ctl('report', str(number), '--view', 'timeline').ok().out, CLOSED)


def test_a_dry_run_sends_nothing():
    with world({}, {}) as (daemon, client, session, system):
        with system.connect() as on_system:
            on_system.listen()
            message = triggers(daemon, event('reset', [on_bus(SYSTEM)], [signal_action(), notify_action('not said'),
                                                                        stop_action('dry')]))
            number = client.start(message, dry_run=True)
            on_system.emit(RESET)
            equal(client.wait(number).reason_text, 'dry')
            equal(on_system.next_signal(), ('/org/example/Test', RESET))  # its own
            number = client.start(message)
            on_system.emit(RESET)
            equal(on_system.next_signal(), ('/org/example/Test', RESET))
            equal(on_system.next_signal(), ('/org/example/Kiosk', CLOSED))
            client.wait(number)
        equal(daemon.log().count('not said'), 1)


def test_notifications():
    with world({}) as (daemon, client, session, _):
        with session.connect() as server:
            server.call('RequestName', 'su', 'org.freedesktop.Notifications', 0)
            number = client.start(triggers(daemon, once(notify_action('a <b> & c'), notify_action('é' * 600, scenario.LEVEL_ERROR)),
                                           event('end', [scenario.Condition(name='end', broadcast=scenario.BroadcastCondition(
                                               broadcast='end'))], [stop_action()]), name='login'))
            bodies = []
            for urgency in (0, 2):
                call = server.next_call()
                application, replaces, icon, summary, body, actions, hints, timeout = call.body
                equal((call.fields[MEMBER], application, replaces, icon, summary, actions, timeout),
                      ('Notify', 'condprof', 0, '', 'login', [], -1))
                equal(hints, {'urgency': urgency})
                bodies.append(body)
                server.answer(call, 'u', 7)
            equal(bodies, ['a &lt;b&gt; &amp; c', 'é' * 511])
            client.emit('end')
            client.wait(number)
        contains(daemon.log(), 'a <b> & c')
        # nobody owns that name any more: the journal has it, and it is said once
        equal(client.start(triggers(daemon, once(notify_action('first'), notify_action('second'), stop_action('end'))),
                           wait=True).reason_text, 'end')
        daemon.wait_log('notifications go to the journal only')
        contains(daemon.log(), 'first', 'second')


def test_a_bus_that_dies_is_said_once_and_comes_back():
    with world({}, {}) as (daemon, client, _, system):
        number = client.start(triggers(
            daemon, event('reset', [on_bus(SYSTEM)], [signal_action()]),
            event('send', [scenario.Condition(name='send', broadcast=scenario.BroadcastCondition(broadcast='send'))],
                  [signal_action()])))
        for turn in (1, 2):
            system.kill()
            until(lambda: daemon.log().count('the system bus is gone') == turn, 'the loss in the log')
            # lost, counted and said, while the bus is away
            client.emit('send')
            until(lambda: counted(client, number).get('send') == turn, 'the event')
            system.start()
            until(lambda: daemon.log().count('the system bus is back; 1 signal is waited for again') == turn, 'its return')
            equal(daemon.log().count('the system bus is gone'), turn)
            with system.connect() as on_system:
                on_system.listen()
                on_system.emit(RESET)
                equal(on_system.next_signal(), ('/org/example/Test', RESET))
                equal(on_system.next_signal(), ('/org/example/Kiosk', CLOSED))
            until(lambda: counted(client, number).get('reset') == turn, 'the broadcast')
        equal(client.stop(number)[0].passes > 0, True)
        daemon.wait_log('1 signal is lost: its bus is away')


def test_what_is_lost_is_said_of_the_session_that_runs():
    with world({}, {}) as (daemon, client, _, system):
        number = client.start(triggers(
            daemon, event('send', [scenario.Condition(name='send', broadcast=scenario.BroadcastCondition(broadcast='send'))],
                          [signal_action()])))
        until(lambda: client.status()[0].passes > 0, 'a pass')
        daemon.ctl('rotate').ok()
        names = [path.read_text().strip() for path in pathlib.Path(f'/proc/{daemon.process.pid}/task').glob('*/comm')]
        equal([name for name in names if name.startswith('engine-')], [f'engine-{number + 1}'])
        system.kill()
        daemon.wait_log('the system bus is gone')
        client.emit('send')
        daemon.wait_log(f'session {number + 1}: 1 signal is lost: its bus is away')


def test_a_bus_that_never_answers_stalls_nobody():
    with world(MuteBus, {}) as (daemon, client, _, _), daemon.client() as other:
        begin = time.monotonic()
        request = client.upload(triggers(daemon, event('one', [on_bus(SESSION)])))
        until(lambda: [entry for entry in other.status() if report.SessionState.Name(entry.state) == 'STARTING'], 'the start')
        longest = 0
        for _ in range(100):
            before = time.monotonic()
            other.status()
            longest = max(longest, time.monotonic() - before)
        # the other bus is no worse for it
        equal(other.start(triggers(daemon, once(signal_action(), stop_action('done'))), wait=True).reason_text, 'done')
        assert not client.waiting
        error = client.reply_to(request).error
        note(f'given up after {time.monotonic() - begin:.1f} s; the slowest status took {longest * 1000:.1f} ms')
        equal(control.Code.Name(error.code), 'BUS_FAILED')
        contains(error.message, 'the session bus does not answer')
        equal(error.place, 'trigger-events[0].conditions[0].broadcast')


def test_a_start_that_waits_for_a_bus_can_be_stopped():
    with world(MuteBus) as (daemon, client, _, _), daemon.client() as other:
        request = client.upload(triggers(daemon, event('one', [on_bus(SESSION)])))
        entry = until(lambda: [entry for entry in other.status() if entry.id], 'the start')[0]
        other.stop(entry.id)
        equal(control.Code.Name(client.reply_to(request).error.code), 'ALREADY_ENDED')


def test_a_bus_that_takes_nothing_costs_only_what_is_sent():
    with world(system={}) as (daemon, client, _, system):
        number = client.start(triggers(
            daemon, event('send', [timer_condition('often', 0, repeat=True)],
                          20 * [signal_action(path='/org/example' + '/long' * 200)] + [counter_action('sent', 20)]),
            event('end', [counter_condition('enough', 'sent', 3, 20000)], [stop_action('enough')]),
            counters={'sent': 0}), max_passes=100000)
        system.pause()
        until(lambda: 'the bus takes them too slowly' in daemon.log(), 'the loss in the log')
        client.stop(number)
        told = client.report(number, messages=True)
        skipped = sum(action.skipped for message in told.messages for action in message.trigger_event.actions)
        assert skipped > 0
        system.go_on()


run(globals())
