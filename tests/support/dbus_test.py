# SPDX-License-Identifier: GPL-3.0-or-later
"""D-Bus for integration tests: a bus of the test's own (dbus-daemon in a temporary folder), a client that speaks the
protocol from here, so that what the daemon is compared with owes nothing to the library it uses, and a bus that takes
connections and never answers."""

import os
import pathlib
import signal
import socket
import struct
import subprocess

import condprof_test
from condprof_test import PATIENCE, need_program, until

CONFIGURATION = '''<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
  {limits}
</busconfig>
'''


class Bus:
    """A dbus-daemon. limits: of busconfig, by name. environment(kind): what makes it the daemon's session or system bus."""

    def __init__(self, home, name, **limits):
        self.path = pathlib.Path(home) / f'{name}.bus'
        self.address = f'unix:path={self.path}'
        self.configuration = self.path.with_suffix('.conf')
        self.configuration.write_text(CONFIGURATION.format(path=self.path, limits=''.join(
            f'<limit name="{key}">{value}</limit>' for key, value in limits.items())))
        self.process = None

    def start(self):
        self.path.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [need_program('dbus-daemon'), f'--config-file={self.configuration}', '--nofork', '--nopidfile', '--nosyslog'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        condprof_test._running.append(self.process)  # pylint: disable=protected-access

        def answers():
            assert self.process.poll() is None, 'dbus-daemon ended'
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(str(self.path)) == 0
        until(answers, 'dbus-daemon')
        return self

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        condprof_test._running.remove(self.process)  # pylint: disable=protected-access
        self.process = None

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def connect(self):
        return Connection(self.path)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process:
            self.kill()


class MuteBus:
    """Takes connections and never answers."""

    def __init__(self, home, name='mute'):
        self.path = pathlib.Path(home) / f'{name}.bus'
        self.address = f'unix:path={self.path}'

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.socket.listen()
        return self

    def __exit__(self, *_):
        self.socket.close()


# --- the protocol, as far as the tests need it -----------------------------------------------------------------------

ALIGN = {'y': 1, 'g': 1, 'v': 1, 'n': 2, 'q': 2, 'b': 4, 'i': 4, 'u': 4, 's': 4, 'o': 4, 'a': 4, 'x': 8, 't': 8, 'd': 8,
         '(': 8, '{': 8}
NUMBERS = {'y': 'B', 'n': 'h', 'q': 'H', 'b': 'I', 'i': 'i', 'u': 'I', 'x': 'q', 't': 'Q', 'd': 'd'}
CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE = range(1, 9)
FIELD_TYPES = {PATH: 'o', REPLY_SERIAL: 'u', SIGNATURE: 'g'}


def _pad(data, alignment):
    data += b'\0' * (-len(data) % alignment)


def _put(data, kind, value):
    _pad(data, ALIGN[kind])
    if kind in NUMBERS:
        data += struct.pack('<' + NUMBERS[kind], value)
    elif kind == 'g':
        data += bytes([len(value)]) + value.encode() + b'\0'
    else:
        text = value.encode()
        data += struct.pack('<I', len(text)) + text + b'\0'


def _one(signature, place):
    """Where the complete type at `place` ends."""
    kind = signature[place]
    if kind == 'a':
        return _one(signature, place + 1)
    if kind in '({':
        place += 1
        while signature[place] not in ')}':
            place = _one(signature, place)
    return place + 1


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, kind):
        self.at += -self.at % ALIGN[kind[0]]
        if kind[0] in NUMBERS:
            form = '<' + NUMBERS[kind[0]]
            value, = struct.unpack_from(form, self.data, self.at)
            self.at += struct.calcsize(form)
            return value
        if kind[0] == 'a':
            end = self.take('u')
            self.at += -self.at % ALIGN[kind[1]]
            end += self.at
            items = []
            while self.at < end:
                items.append(self.take(kind[1:]))
            return dict(items) if kind[1] == '{' else items
        if kind[0] in '({':
            return tuple(self.several(kind[1:-1]))
        if kind[0] == 'v':
            return self.take(self.take('g'))
        length = self.take('y' if kind[0] == 'g' else 'u')
        value = self.data[self.at:self.at + length].decode()
        self.at += length + 1
        return value

    def several(self, signature):
        values, place = [], 0
        while place < len(signature):
            end = _one(signature, place)
            values.append(self.take(signature[place:end]))
            place = end
        return values


class Message:
    """kind (CALL, …), serial, fields (PATH: …), body: a list."""

    def __init__(self, kind, serial, fields, body):
        self.kind, self.serial, self.fields, self.body = kind, serial, fields, body

    def signal(self):
        return (self.fields.get(PATH), f'{self.fields.get(INTERFACE)}.{self.fields.get(MEMBER)}')


class Connection:
    """A client of a bus. receive() gives what comes, but for the replies that call() waits for."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.buffer, self.serial, self.waiting = b'', 0, []
        self.socket.sendall(b'\0AUTH EXTERNAL ' + str(os.geteuid()).encode().hex().encode() + b'\r\n')
        line = self._bytes(lambda data: data.find(b'\r\n') + 2 if b'\r\n' in data else 0)
        assert line.startswith(b'OK '), line
        self.socket.sendall(b'BEGIN\r\n')
        self.name, = self.call('Hello')

    def _bytes(self, enough):
        while not enough(self.buffer):
            data = self.socket.recv(65536)
            assert data, 'the bus is gone'
            self.buffer += data
        count = enough(self.buffer)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, kind, fields, signature='', body=()):
        self.serial += 1
        payload, header = bytearray(), bytearray()
        for letter, value in zip(signature, body):
            _put(payload, letter, value)
        if signature:
            fields = {**fields, SIGNATURE: signature}
        for code, value in fields.items():
            _pad(header, 8)
            header.append(code)
            _put(header, 'g', FIELD_TYPES.get(code, 's'))
            _put(header, FIELD_TYPES.get(code, 's'), value)
        data = bytearray(struct.pack('<cBBBIII', b'l', kind, 0, 1, len(payload), self.serial, len(header))) + header
        _pad(data, 8)
        self.socket.sendall(data + payload)
        return self.serial

    def _next(self):
        def whole(data):
            if len(data) < 16:
                return 0
            body, _, header = struct.unpack_from('<III', data, 4)
            size = (16 + header + 7) // 8 * 8 + body
            return size if len(data) >= size else 0
        data = self._bytes(whole)
        assert data[0:1] == b'l', 'a big-endian bus'
        reader = _Reader(data)
        reader.at = 12
        fields = dict(reader.take('a(yv)'))
        reader.at += -reader.at % 8
        return Message(data[1], struct.unpack_from('<I', data, 8)[0], fields, reader.several(fields.get(SIGNATURE, '')))

    def receive(self):
        return self.waiting.pop(0) if self.waiting else self._next()

    def call(self, member, signature='', *body, destination='org.freedesktop.DBus', path='/org/freedesktop/DBus',
             interface='org.freedesktop.DBus'):
        serial = self.send(CALL, {PATH: path, INTERFACE: interface, MEMBER: member, DESTINATION: destination}, signature,
                           body)
        while True:
            message = self._next()
            if message.fields.get(REPLY_SERIAL) != serial:
                self.waiting.append(message)
                continue
            assert message.kind == RETURN, (message.fields, message.body)
            return message.body

    def emit(self, name, path='/org/example/Test', signature='', *body):
        interface, member = name.rsplit('.', 1)
        self.send(SIGNAL, {PATH: path, INTERFACE: interface, MEMBER: member}, signature, body)
        self.call('GetId')  # the bus has taken it

    def listen(self, rule="type='signal',interface='org.example.Kiosk'"):
        self.call('AddMatch', 's', rule)
        return self

    def next_signal(self, interface='org.example.Kiosk'):
        """(path, interface.member) of the next one."""
        while True:
            message = self.receive()
            if message.kind == SIGNAL and message.fields[INTERFACE] == interface:
                return message.signal()

    def next_call(self):
        while True:
            message = self.receive()
            if message.kind == CALL:
                return message

    def answer(self, call, signature='', *body):
        self.send(RETURN, {REPLY_SERIAL: call.serial, DESTINATION: call.fields[SENDER]}, signature, body)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
