# SPDX-License-Identifier: GPL-3.0-or-later
"""What the control thread answers in while an engine takes a whole core; how soon a stop is through; what an idle daemon costs.
Prints figures and judges nothing."""

import time

from condprof_test import (MS, Daemon, control, endless_scenario, event, image_condition, make_scenario, png,
                           texture, until, write_frames)

ROUNDS = 1000
SHOWN = '  {:<56} {:>14}'


def say(what, figure):
    print(SHOWN.format(what, figure))


def percentiles(what, times):
    times.sort()
    for name, place in (('p50', 50), ('p99', 99)):
        say(f'{what}, {name}', f'{times[len(times) * place // 100] / MS:.3f} ms')
    say(f'{what}, max', f'{times[-1] / MS:.3f} ms')


def timed(function, *arguments):
    begin = time.perf_counter_ns()
    function(*arguments)
    return time.perf_counter_ns() - begin


def status_beside_a_busy_engine(client, home):
    noise = png(800, 600, texture)
    busy = make_scenario('busy', screen=write_frames(home / 'noise', [noise]) + '?loop=1', screen_events=[
        event(f'e{number}', [image_condition(f'i{number}', png(40, 30, lambda x, y, n=number: texture(x + 1000 * n, y + 7)))],
              keep_detecting=True) for number in range(10)])
    times = [timed(client.status) for _ in range(ROUNDS)]
    percentiles(f'{ROUNDS} status round trips, nothing running', times)
    session = client.start(busy)
    until(lambda: client.status(session)[0].passes > 1, 'passes')
    before = client.status(session)[0]
    times = [timed(client.status) for _ in range(ROUNDS)]
    after = client.status(session)[0]
    percentiles(f'{ROUNDS} status round trips, engine at 100 %', times)
    say('  passes made meanwhile', after.passes - before.passes)
    say('stop while it computes, until its report is closed', f'{timed(client.stop, session) / MS:.1f} ms')


def stops(client, screen):
    times = []
    for _ in range(20):
        session = client.start(endless_scenario(screen, passes_per_second=1))
        until(lambda: client.status(session)[0].passes, 'a pass')
        times.append(timed(client.stop, session))
    percentiles('20 stops of a limiter\'s wait, until the report is closed', times)


def start_and_list(client, screen):
    times = [timed(lambda: client.start(endless_scenario(screen), max_passes=1, wait=True)) for _ in range(20)]
    percentiles('20 sessions of one pass, from upload to closed report', times)
    say(f'list of {len(client.list())} reports', f'{timed(client.list) / MS:.2f} ms')


def main():
    with Daemon() as daemon, daemon.client() as client:
        screen = write_frames(daemon.home / 'black', [png(16, 16, (0, 0, 0))])
        say('idle daemon, resident', f'{daemon.resident_kib()} KiB')
        status_beside_a_busy_engine(client, daemon.home)
        stops(client, screen)
        start_and_list(client, screen)
        say('idle daemon after all that, resident', f'{daemon.resident_kib()} KiB')


if __name__ == '__main__':
    if control is None:
        print('  skipped: no Python protocol (protoc, python3-protobuf)')
    else:
        main()
