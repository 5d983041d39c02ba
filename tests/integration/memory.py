# SPDX-License-Identifier: GPL-3.0-or-later
"""What scenarios may take of the machine: a limit on the images of all sessions together, and on what a message of the largest
size can make of itself. The figures are in the unit, condprofd(8) and proto/limits.h."""

import os
import pathlib
import re
import struct
import zlib

from condprof_test import (BUILD, SOURCE, Daemon, Refused, contains, control, equal, event, frame, image_condition, make_scenario, note,
                           png, run, sanitized, skip_unless, texture, until, varint, write_frames)

SCENARIO_MAX = 64 << 20
PIXELS_MAX = 128 << 20
UNIT_MIB = int(re.search(r'^MemoryMax=(\d+)G$', (SOURCE / 'systemd/condprofd.service.in').read_text(), re.M).group(1)) * 1024


def peak_mib(daemon):
    text = pathlib.Path(f'/proc/{daemon.process.pid}/status').read_text()
    return int(re.search(r'^VmHWM:\s+(\d+)', text, re.M).group(1)) // 1024


class FullDaemon(Daemon):
    """Sessions that nobody sees hold all images there may be, but for `room` pixels."""

    def __init__(self, room):
        super().__init__(environment={'CONDPROF_TEST_PIXELS': str(PIXELS_MAX - room)})

    def command(self):
        return [word if os.path.basename(word) != 'condprofd' else str(BUILD / 'tests/support/test_daemon')
                for word in super().command()]


def looking_for(daemon, *pictures):
    return make_scenario('looks', screen=write_frames(daemon.home / 'frames', [png(64, 64, (0, 0, 0))]) + '?loop=1', screen_events=[
        event(f'e{number}', [image_condition(f'i{number}', data)]) for number, data in enumerate(pictures)])


def test_images_of_all_sessions_together():
    small = png(20, 20, texture)
    with FullDaemon(room=3 * 400) as daemon, daemon.client() as client:
        first = client.start(looking_for(daemon, small, small))
        for attempt in (lambda: client.start(looking_for(daemon, small, small)), lambda: client.check(looking_for(daemon, small, small))):
            try:
                attempt()
                raise AssertionError('it took more than there is')
            except Refused as why:
                equal(control.Code.Name(why.code), 'BUSY', str(why))
                contains(why.error.message, '134 million pixels')
        second = client.start(looking_for(daemon, small))  # what was refused holds nothing
        client.stop(first)
        # its images go when the worker has freed it, after the answer

        def fits():
            try:
                return client.check(looking_for(daemon, small, small)).events == 2
            except Refused:
                return False
        until(fits, 'the room of a session that is gone')
        client.stop(second)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def hostile_messages():
    """Messages of the largest size that try to become something larger. Field numbers are those of proto/scenario.proto."""
    def fill(piece, head=b''):
        count = (SCENARIO_MAX - len(head)) // len(piece)
        return head + piece * count
    yield 'empty screen events', fill(field(3, b''))
    yield 'unknown fields', fill(varint(1000 << 3) + b'\1')
    yield 'one long name', field(1, b'n' * (SCENARIO_MAX - 16))


def test_a_message_becomes_no_larger_than_it_may():
    skip_unless(not sanitized(), 'a sanitizer has memory of its own')
    with Daemon() as daemon:
        with daemon.client() as client:
            worst = 0
            for name, data in hostile_messages():
                try:
                    client.check(data)
                    raise AssertionError(f'{name}: accepted')
                except Refused:
                    pass
                worst = max(worst, peak_mib(daemon))
        note(f'peak after {SCENARIO_MAX >> 20} MiB of every kind: {worst} MiB; the unit allows {UNIT_MIB} MiB')
        assert worst < 400, worst


def wide_png(width, height):
    """Black and white, a bit a pixel; its bytes are few, its pixels many."""
    rows = (b'\0' + b'\x0f' * (width // 8) + b'\0' + b'\xf0' * (width // 8)) * (height // 2)

    def piece(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + piece(b'IHDR', struct.pack('>IIBBBBB', width, height, 1, 0, 0, 0, 0))
            + piece(b'IDAT', zlib.compress(rows, 1)) + piece(b'IEND', b''))


def test_images_of_the_largest_size_fit_into_the_unit():
    """128 million pixels, as many as all sessions may have, in one scenario that is decoded and checked."""
    skip_unless(not sanitized(), 'a sanitizer has memory of its own')
    with Daemon() as daemon:
        with daemon.client() as client:
            large = wide_png(8192, 8192)
            equal(client.check(looking_for(daemon, large, large)).conditions, 2)
            note(f'peak with {PIXELS_MAX >> 20} million pixels: {peak_mib(daemon)} MiB')
            assert peak_mib(daemon) < UNIT_MIB // 2, peak_mib(daemon)  # as much again for what detection prepares


if __name__ == '__main__':
    run(globals())
