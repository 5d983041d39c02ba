# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual X server for integration tests, the small client with the button on it, and a view of the screen that owes
nothing to the program tested: a few requests of the X protocol, spoken from here."""

import os
import pathlib
import signal
import socket
import struct
import subprocess

import condprof_test
from condprof_test import BUILD, PATIENCE, need_program, png, skip_unless, until

BUTTON = BUILD / 'tests' / 'support' / 'x11_button'


def _receive(connection, size):
    data = b''
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, 'the X server is gone'
        data += part
    return data


class Eye:
    """A connection to the X server that only looks."""

    def __init__(self, display):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(f'/tmp/.X11-unix/X{display}')
        self.socket.sendall(struct.pack('<BxHHHHxx', ord('l'), 11, 0, 0, 0))
        status, _, _, words = struct.unpack('<BxHHH', _receive(self.socket, 8))
        setup = _receive(self.socket, words * 4)
        assert status == 1, setup
        vendor, formats = struct.unpack_from('<H', setup, 16)[0], setup[21]
        screen = 32 + (vendor + 3) // 4 * 4 + formats * 8
        self.root, = struct.unpack_from('<I', setup, screen)
        self.width, self.height = struct.unpack_from('<HH', setup, screen + 20)

    def _ask(self, opcode, detail, *words):
        body = b''.join(words)
        self.socket.sendall(struct.pack('<BBH', opcode, detail, 1 + len(body) // 4) + body)
        while True:
            head = _receive(self.socket, 32)
            assert head[0] != 0, f'error {head[1]} from the X server'
            if head[0] == 1:
                return head + _receive(self.socket, struct.unpack_from('<I', head, 4)[0] * 4)

    def picture(self, x=0, y=0, width=None, height=None):
        """A function of x, y that gives the colour (r, g, b) of a pixel of that area of the screen, as it is now."""
        width, height = width or self.width - x, height or self.height - y
        data = self._ask(73, 2, struct.pack('<IhhHHI', self.root, x, y, width, height, 0xffffffff))[32:]

        def pixel(left, top):
            blue, green, red = data[(top * width + left) * 4:][:3]
            return (red, green, blue)
        return pixel

    def png(self, x=0, y=0, width=None, height=None):
        width, height = width or self.width - x, height or self.height - y
        return png(width, height, self.picture(x, y, width, height))

    def color(self, x, y):
        red, green, blue = self.picture(x, y, 1, 1)(0, 0)
        return f'{red:02x}{green:02x}{blue:02x}'

    def pointer(self):
        """x, y and whether a button is down."""
        reply = self._ask(38, 0, struct.pack('<I', self.root))
        x, y, _, _, mask = struct.unpack_from('<hhhhH', reply, 16)
        return x, y, bool(mask & 0x1f00)

    def keys_down(self):
        return sum(byte.bit_count() for byte in self._ask(44, 0)[8:40])

    def close(self):
        self.socket.close()


class Xvfb:
    """`with Xvfb() as x:` starts a server on a free display; it ends by its pid."""

    def __init__(self, geometry='640x480x24', arguments=()):
        program = need_program('Xvfb')
        skip_unless(BUTTON.exists(), 'built without X11')
        ready, tell = os.pipe()
        words = [program, '-displayfd', str(tell), '-screen', '0', geometry, '-nolisten', 'tcp', '-noreset', *arguments]
        self.process = subprocess.Popen(words, pass_fds=[tell], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        condprof_test._running.append(self.process)  # pylint: disable=protected-access
        os.close(tell)
        with os.fdopen(ready) as answer:
            line = answer.readline()
        assert line, 'Xvfb did not start'
        self.display = int(line)
        self.uri = f'x11::{self.display}'

    def eye(self):
        return Eye(self.display)

    def kill(self):
        """As a crash would: its socket and lock stay behind, and go here."""
        self.process.kill()
        self.process.wait()
        for path in (f'/tmp/.X{self.display}-lock', f'/tmp/.X11-unix/X{self.display}'):
            pathlib.Path(path).unlink(missing_ok=True)

    def stop_answering(self):
        self.process.send_signal(signal.SIGSTOP)

    def answer_again(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.answer_again()
            self.process.terminate()
            self.process.wait()


class Button:
    """The client with the button, and the lines it printed so far."""

    def __init__(self, xvfb):
        self.process = subprocess.Popen([str(BUTTON), f':{xvfb.display}'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        condprof_test._running.append(self.process)  # pylint: disable=protected-access
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text, self.lines = b'', []
        ready = self.wait_line(lambda line: line.startswith('READY')).split()
        self.x, self.y, self.width, self.height = map(int, ready[1:])

    def read(self):
        while (data := self.process.stdout.read()):
            self.text += data
        *lines, self.text = self.text.split(b'\n')
        self.lines += [line.decode() for line in lines]
        return self.lines

    def wait_line(self, fits):
        """The first line that fits, a text or a function of a line."""
        wanted = fits if callable(fits) else fits.__eq__

        def found():
            return next((line for line in self.read() if wanted(line)), None)
        return until(found, f'a line of the client; there are {self.lines if hasattr(self, "lines") else []}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
