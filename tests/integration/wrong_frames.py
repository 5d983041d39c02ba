# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that are wrong, each in its own way: every one gets an answer that says what is wrong, the daemon goes on, and
whoever behaves is served meanwhile."""

import random
import select

from condprof_test import (Closed, Daemon, Refused, SECOND, contains, control, endless_scenario, equal, frame,
                           frames, note, png, run, until, varint, write_frames)

_daemon = None


def refused(client, code, closes=True):
    """The next reply is this error; then the connection ends, or not."""
    reply = client.receive()
    equal(reply.WhichOneof('body'), 'error')
    equal(control.Code.Name(reply.error.code), control.Code.Name(code), reply.error.message)
    assert reply.last and reply.error.message, reply
    if closes:
        assert client.closed(), 'the connection is still open'
    return reply


def works(client):
    equal(client.status(), [])
    return True


def expect(code, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except Refused as error:
        equal(control.Code.Name(error.code), control.Code.Name(code), str(error))
        return error.error
    raise AssertionError(f'was not refused with {control.Code.Name(code)}')


# --- framing -------------------------------------------------------------------------------------------------------

def test_a_torn_frame_then_the_end():
    for data in (b'\x05', b'\x05ab', b'\x80', frame(control.Request(id=1, hello=control.Hello(major=1)))[:-1]):
        client = _daemon.client(hello=False)
        client.send_bytes(data)
        client.socket.shutdown(1)
        assert client.closed()
    client = _daemon.client()
    client.send_bytes(frame(control.Request(id=1, status=control.StatusRequest()))[:-1])
    client.close()


def test_a_frame_torn_after_hello_gets_no_answer_but_the_ones_before_do():
    client = _daemon.client()
    whole = frame(control.Request(id=7, list=control.ListRequest()))
    client.send_bytes(whole + whole[:-1])
    client.socket.shutdown(1)
    equal(client.receive().id, 7)
    assert client.closed()


def test_oversized_before_hello():
    client = _daemon.client(hello=False)
    client.send_bytes(varint(1025))  # the length alone is enough
    contains(refused(client, control.TOO_LARGE).error.message, '1 KiB')


def test_1024_bytes_before_hello_are_fine():
    hello = control.Request(id=1, hello=control.Hello(major=1, minor=0, client='x'))
    hello.hello.client = 'x' * (1024 - hello.ByteSize() + 1 - 2)  # its length takes two bytes more
    while hello.ByteSize() < 1024:
        hello.hello.client += 'x'
    while hello.ByteSize() > 1024:
        hello.hello.client = hello.hello.client[:-1]
    equal(hello.ByteSize(), 1024)
    client = _daemon.client(hello=False)
    client.send_bytes(frame(hello))
    equal(client.receive().WhichOneof('body'), 'hello')
    assert works(client)


def test_oversized_after_hello():
    client = _daemon.client()
    client.send_bytes(varint(64 * 1024 + 1))
    contains(refused(client, control.TOO_LARGE).error.message, '64 KiB')


def test_the_largest_frame_is_taken():
    client = _daemon.client()
    request = control.Request(id=3, chunk=control.Chunk(data=b'x' * (64 * 1024 - 16)))
    while request.ByteSize() < 64 * 1024:
        request.chunk.data += b'x'
    equal(request.ByteSize(), 64 * 1024)
    client.send_bytes(frame(request))
    refused(client, control.BAD_REQUEST, closes=False)
    assert works(client)


def test_huge_lengths():
    for data in (b'\xff' * 9 + b'\x01', b'\xff\xff\xff\xff\x0f', b'\xff' * 8 + b'\x7f', varint(1 << 63)):
        client = _daemon.client()
        client.send_bytes(data)
        refused(client, control.TOO_LARGE)


def test_a_length_that_is_no_varint():
    for data in (b'\x80' * 11, b'\x80' * 10 + b'\x01', b'\x80' * 9 + b'\x02'):
        client = _daemon.client()
        client.send_bytes(data)
        refused(client, control.BAD_FRAME)


def test_garbage():
    seed = random.randrange(1 << 32)
    note('seed', seed)
    chance = random.Random(seed)
    for _ in range(200):
        client = _daemon.client(hello=chance.random() < 0.5)
        body = chance.randbytes(chance.randrange(0, 300))
        data = chance.choice((body, varint(len(body)) + body))
        try:
            client.send_bytes(data)
            client.socket.shutdown(1)
            while True:
                client.receive()
        except (Closed, BrokenPipeError, ConnectionResetError):
            pass
        client.close()
    with _daemon.client() as client:
        assert works(client)


def test_a_body_that_is_no_message():
    for body in (b'\x07', b'\x0a\xff', b'\x08', b'\xff' * 20, b'\x12\x05ab'):
        client = _daemon.client()
        client.send_bytes(varint(len(body)) + body)
        refused(client, control.BAD_FRAME)


def test_strings_that_are_not_text():
    for text in (b'\xff\xfe', b'a\0b', b'\xed\xa0\x80', b'\xc0\x80'):
        client = _daemon.client()
        emit = b'\x0a' + varint(len(text)) + text
        body = b'\x08\x05' + b'\x5a' + varint(len(emit)) + emit
        client.send_bytes(varint(len(body)) + body)
        refused(client, control.BAD_FRAME)


def test_a_request_of_many_small_parts():
    # Empty submessages amplify: each would be an allocation. The daemon gives up after a few.
    client = _daemon.client()
    body = b'\x22\x00' * 30000  # chunk {} again and again
    client.send_bytes(varint(len(body)) + body)
    reply = client.receive()
    equal(reply.WhichOneof('body'), 'error')
    with _daemon.client() as other:
        assert works(other)
        expect(control.NO_SUCH_SESSION, other.delete, *range(1, 4097))
        expect(control.BAD_REQUEST, other.delete, *range(1, 4098))
        expect(control.TOO_LARGE, other.delete, *range(1, 20000))


def test_an_empty_frame():
    client = _daemon.client()
    client.send_bytes(b'\x00')
    reply = refused(client, control.BAD_REQUEST, closes=False)
    assert not reply.HasField('id')
    assert works(client)


def test_bytes_one_at_a_time():
    client = _daemon.client(hello=False)
    requests = [control.Request(id=1, hello=control.Hello(major=1, minor=9)),
                control.Request(id=2, status=control.StatusRequest()), control.Request(id=3, list=control.ListRequest())]
    for byte in b''.join(map(frame, requests)):
        client.send_bytes(bytes([byte]))
    equal([client.receive().id for _ in requests], [1, 2, 3])


def test_a_long_frame_one_byte_at_a_time_at_its_end():
    client = _daemon.client()
    data = frame(control.Request(id=4, chunk=control.Chunk(data=b'x' * 60000)))
    client.send_bytes(data[:-500])
    for byte in data[-500:]:
        client.send_bytes(bytes([byte]))
    equal(refused(client, control.BAD_REQUEST, closes=False).id, 4)


def test_pipelined_requests_are_answered_in_order():
    client = _daemon.client()
    count = 5000
    data = b''.join(frame(control.Request(id=number, status=control.StatusRequest())) for number in range(1, count + 1))
    client.socket.setblocking(False)
    got, sent = [], 0
    while len(got) < count:
        readable, writable, _ = select.select([client.socket], [client.socket] if sent < len(data) else [], [], 30)
        assert readable or writable, f'stuck after {len(got)} replies'
        if writable:
            sent += client.socket.send(data[sent:sent + 65536])
        if readable:
            client.buffer += client.socket.recv(65536)
            bodies = frames(client.buffer)
            client.buffer = bytearray(client.buffer[sum(len(varint(len(body))) + len(body) for body in bodies):])
            got += [control.Reply.FromString(body).id for body in bodies]
    equal(got, list(range(1, count + 1)))


def test_everything_in_one_write_hello_too():
    client = _daemon.client(hello=False)
    client.send_bytes(b''.join(map(frame, (control.Request(id=1, hello=control.Hello(major=1)),
                                           control.Request(id=2, status=control.StatusRequest()),
                                           control.Request(id=3, list=control.ListRequest())))))
    client.socket.shutdown(1)  # and no more comes: the answers come all the same
    equal(sorted(client.receive().id for _ in range(3)), [1, 2, 3])
    assert client.closed()


# --- hello ---------------------------------------------------------------------------------------------------------

def test_no_hello():
    client = _daemon.client(hello=False)
    client.send(status=control.StatusRequest())
    equal(refused(client, control.BAD_REQUEST).id, 1)


def test_hello_twice():
    client = _daemon.client()
    expect(control.BAD_REQUEST, client.call, hello=control.Hello(major=1))
    assert works(client)


def test_another_major_version():
    for hello in (control.Hello(major=2), control.Hello(major=0), control.Hello(minor=3), control.Hello(major=0xffffffff)):
        client = _daemon.client(hello=False)
        client.send(hello=hello)
        contains(refused(client, control.VERSION).error.message, '1.1')


def test_a_newer_minor_version_is_fine():
    client = _daemon.client(hello=False)
    reply = client.call(hello=control.Hello(major=1, minor=77, client='from the future'))
    equal((reply.hello.major, reply.hello.minor, reply.hello.control), (1, 1, True))
    assert reply.hello.daemon and 'x11' in ' '.join(reply.hello.features), reply
    assert works(client)


def test_the_errors_before_hello_can_be_read_by_a_client_that_goes_on_sending():
    client = _daemon.client(hello=False)
    client.send_bytes(varint(1 << 20) + b'x' * 100000)
    refused(client, control.TOO_LARGE)


# --- requests ------------------------------------------------------------------------------------------------------

def test_an_unknown_request():
    client = _daemon.client()
    body = b'\x08\x09' + b'\xa2\x06\x00'  # id 9, field 100, empty
    client.send_bytes(varint(len(body)) + body)
    reply = refused(client, control.UNSUPPORTED, closes=False)
    equal(reply.id, 9)
    assert works(client)


def test_a_request_without_a_body():
    client = _daemon.client()
    client.send()
    refused(client, control.BAD_REQUEST, closes=False)
    assert works(client)


def test_a_request_without_an_id_is_answered_without_one():
    client = _daemon.client()
    client.send_bytes(frame(control.Request(status=control.StatusRequest())))
    reply = client.receive()
    assert not reply.HasField('id') and reply.WhichOneof('body') == 'sessions', reply


def test_too_many_requests_at_once():
    with _daemon.client() as client:
        session = client.start(endless_scenario(_daemon.frames))
        numbers = [client.send(wait=control.WaitRequest(session=session)) for _ in range(70)]
        reply = client.receive()
        equal((reply.id, control.Code.Name(reply.error.code)), (numbers[64], 'BUSY'))
        for number in numbers[65:]:
            equal(client.receive().id, number)
        with _daemon.client() as other:
            other.stop(session)
        equal(sorted(client.receive().id for _ in range(64)), numbers[:64])


# --- uploads -------------------------------------------------------------------------------------------------------

def test_a_chunk_without_begin():
    client = _daemon.client()
    expect(control.BAD_REQUEST, client.call, chunk=control.Chunk(data=b'x'))
    assert works(client)


def test_an_upload_that_is_too_big():
    client = _daemon.client()
    number = client.send(begin=control.Begin(size=64 * 1024 * 1024 + 1))
    for _ in range(3):  # on their way already: no answer of their own
        client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x' * 1000))))
    equal(refused(client, control.TOO_LARGE, closes=False).id, number)
    assert works(client)


def test_uploads_of_all_clients_together():
    # Promises alone count, and are given back when their clients leave.
    clients = [_daemon.client() for _ in range(3)]
    for client in clients:
        client.send(begin=control.Begin(size=60 * 1024 * 1024))
        number = client.send(status=control.StatusRequest())
        if client is clients[2]:
            refused(client, control.BUSY, closes=False)
        equal(client.receive().id, number)
    clients[0].close()
    until(lambda: not _busy(clients[2]), 'room for uploads')
    clients[1].close()
    clients[2].close()


def _busy(client):
    number = client.send(begin=control.Begin(size=60 * 1024 * 1024))
    if client.send(status=control.StatusRequest()) and client.receive().id == number:
        client.receive()
        return True
    return False


def test_an_upload_without_a_size():
    client = _daemon.client()
    for begin in (control.Begin(), control.Begin(size=0)):
        number = client.send(begin=begin)
        equal(refused(client, control.BAD_REQUEST, closes=False).id, number)
    assert works(client)


def test_more_bytes_than_begin_said():
    client = _daemon.client()
    number = client.send(begin=control.Begin(size=10))
    client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x' * 6))))
    client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x' * 6))))
    client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x' * 6))))
    equal(refused(client, control.BAD_REQUEST, closes=False).id, number)
    assert works(client)


def test_a_chunk_after_the_last_and_an_empty_one():
    client = _daemon.client()
    number = client.send(begin=control.Begin(size=1, upload=control.CHECK))
    client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'\xff'))))
    client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x'))))
    equal({control.Code.Name(client.receive().error.code) for _ in range(2)} - {'BAD_SCENARIO'}, {'BAD_REQUEST'})
    number = client.send(begin=control.Begin(size=1))
    client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b''))))
    equal(refused(client, control.BAD_REQUEST, closes=False).id, number)
    assert works(client)


def test_two_uploads_at_once_on_a_connection():
    client = _daemon.client()
    client.send(begin=control.Begin(size=10))
    second = client.send(begin=control.Begin(size=10))
    equal(refused(client, control.BAD_REQUEST, closes=False).id, second)
    assert works(client)


def test_a_chunk_of_another_upload():
    client = _daemon.client()
    client.send(begin=control.Begin(size=10))
    expect(control.BAD_REQUEST, client.call, chunk=control.Chunk(data=b'x'))


def test_bytes_that_are_no_scenario():
    client = _daemon.client()
    for data in (b'\xff' * 100, b'\x0a\x05ab', b'\x0a\x02\xff\xff'):
        try:
            raise AssertionError(f'{data} started session {client.start(data)}')
        except Refused as why:
            assert why.code in (control.BAD_REQUEST, control.BAD_SCENARIO), why
    assert works(client)


def test_options_that_make_no_sense():
    client = _daemon.client()
    message = endless_scenario(_daemon.frames)
    for options in ({'rate_passes': -1.0}, {'rate_passes': float('nan')}, {'rate_passes': float('inf')},
                    {'rate_passes': 1.0}, {'rate_passes': 1.0, 'rate_per_ns': 0}, {'rate_per_ns': SECOND},
                    {'rate_passes': 1e300, 'rate_per_ns': SECOND}, {'max_passes': -1}, {'max_duration_ns': -1},
                    {'screen': ''}, {'screen': 'x' * 5000}, {'input': ''}):
        error = expect(control.BAD_REQUEST, client.start, message, **options)
        contains(error.place, 'options.')
    for options in ({'screen': 'nonsense'}, {'screen': 'telepathy:x'}, {'input': 'x'}):
        try:
            client.start(message, **options)
        except Refused as why:
            assert why.code in (control.BAD_REQUEST, control.UNSUPPORTED), why
        else:
            raise AssertionError(options)
    equal(client.status(), [])


def test_a_client_that_leaves_in_the_middle_of_an_upload():
    for _ in range(20):
        client = _daemon.client()
        number = client.send(begin=control.Begin(size=50 * 1024 * 1024))
        client.send_bytes(frame(control.Request(id=number, chunk=control.Chunk(data=b'x' * 40000))))
        client.close()
    with _daemon.client() as client:
        assert works(client)


def test_numbers_out_of_range():
    client = _daemon.client()
    expect(control.NO_SUCH_SESSION, client.status, -1)
    expect(control.NO_SUCH_SESSION, client.wait, 1 << 62)
    expect(control.NO_SUCH_SESSION, client.stop, 0)
    expect(control.NO_SUCH_SESSION, client.report, -5)
    expect(control.NO_SUCH_SESSION, client.delete, 1 << 62)
    expect(control.BAD_REQUEST, client.delete)
    expect(control.BAD_REQUEST, client.report, first=-1)
    expect(control.BAD_REQUEST, client.report, first=1, last=1)
    expect(control.BAD_REQUEST, client.stop, session=1, everything=True)
    for name in ('', 'x' * 257):
        expect(control.BAD_REQUEST, client.emit, name)


if __name__ == '__main__':
    with Daemon() as _daemon:
        _daemon.frames = write_frames(_daemon.home / 'frames', [png(16, 16, (0, 0, 0))])
        try:
            run(globals())
        except SystemExit as done:
            code = done.code
        if code:
            note(_daemon.log())
    raise SystemExit(code)
