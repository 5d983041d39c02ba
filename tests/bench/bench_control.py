# SPDX-License-Identifier: GPL-3.0-or-later
"""What the control thread answers in while an engine takes a whole core, and beside clients that flood, trickle and never read; how
soon a stop is through; what an idle daemon costs. Prints figures and judges nothing."""

import contextlib
import multiprocessing
import socket
import time

from condprof_test import (MS, Daemon, control, endless_scenario, event, frame, image_condition, make_scenario, png,
                           texture, until, varint, write_frames)

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


# --- hostile clients, each in a process of its own --------------------------------------------------------------------

def connected(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.sendall(frame(control.Request(id=1, hello=control.Hello(major=1))))
    return client


def floods(path):
    """Asks as fast as it can, and reads all of it."""
    client, many = connected(path), frame(control.Request(id=2, status=control.StatusRequest())) * 200
    while True:
        client.sendall(many)
        client.recv(1 << 20)


def never_reads(path):
    """Asks for a report again and again, and for what else there is, until nothing is taken any more."""
    client = connected(path)
    many = frame(control.Request(id=2, report=control.ReportRequest())) + frame(control.Request(id=3, list=control.ListRequest())) * 50
    with contextlib.suppress(OSError):
        while True:
            client.sendall(many)
    time.sleep(3600)


def trickles(path):
    """A large request, some bytes at a time; and another that stops in the middle."""
    clients = [connected(path) for _ in range(20)]
    for client in clients:
        client.sendall(varint(60000))
    while True:
        for client in clients:
            client.sendall(b'x')
        time.sleep(0.05)


def connects(path):
    """Comes and goes; says nothing, or half a word."""
    while True:
        with contextlib.suppress(OSError):
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            client.sendall(b'\x05\x08')
            client.close()


def nonsense(path):
    while True:
        with contextlib.suppress(OSError):
            client = connected(path)
            client.sendall(varint(1000) + bytes(range(250)) * 4)
            client.recv(100000)
            client.close()


def status_beside_hostile_clients(daemon, client):
    begin = daemon.resident_kib()
    for hostile, count in ((trickles, 1), (never_reads, 8), (nonsense, 1), (connects, 1), (floods, 1)):
        processes = [multiprocessing.Process(target=hostile, args=(daemon.socket_path,), daemon=True) for _ in range(count)]
        for process in processes:
            process.start()
        time.sleep(0.5)  # until they are at it
        percentiles(f'{ROUNDS} status round trips, {count} that {hostile.__name__.replace("_", " ")}',
                    [timed(client.status) for _ in range(ROUNDS)])
        for process in processes:
            process.kill()
            process.join()
    everybody = [multiprocessing.Process(target=hostile, args=(daemon.socket_path,), daemon=True)
                 for hostile in (trickles, never_reads, nonsense, connects, floods)]
    for process in everybody:
        process.start()
    time.sleep(0.5)
    percentiles(f'{ROUNDS} status round trips, all of these at once', [timed(client.status) for _ in range(ROUNDS)])
    say('  resident, more than before them', f'{daemon.resident_kib() - begin} KiB')
    for process in everybody:
        process.kill()
        process.join()


def main():
    with Daemon() as daemon, daemon.client() as client:
        screen = write_frames(daemon.home / 'black', [png(16, 16, (0, 0, 0))])
        say('idle daemon, resident', f'{daemon.resident_kib()} KiB')
        status_beside_a_busy_engine(client, daemon.home)
        stops(client, screen)
        start_and_list(client, screen)
        status_beside_hostile_clients(daemon, client)
        say('idle daemon after all that, resident', f'{daemon.resident_kib()} KiB')


if __name__ == '__main__':
    if control is None:
        print('  skipped: no Python protocol (protoc, python3-protobuf)')
    else:
        main()
