#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the seeds of the fuzz targets frame, png, report, request, scenario and yaml: make_seeds.py FOLDER writes FOLDER/NAME/*.

The seeds are kept in the tree; this is how they came to be. Messages are put together field by field (the numbers are
those of proto/*.proto), PNG files chunk by chunk, so that wrong ones can be made as well as right ones. Crashes that were
found and mended are in the same folders under other names, and are left alone here. Those of yaml are the cases of the
tables in tests/data/scenarios, so that a case added there becomes a seed.
"""

import os
import re
import struct
import sys
import zlib

# --- protobuf ---------------------------------------------------------------------------------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def signed(field, value):
    return number(field, (value << 1) ^ (value >> 63))


def data(field, value):
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def frame(body):
    return varint(len(body)) + body


# --- PNG --------------------------------------------------------------------------------------------------------------


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def rows(width, height, bits, filters, seed):
    out = b""
    size = (width * bits + 7) // 8
    for y in range(height):
        out += bytes([filters[y % len(filters)]]) + bytes((seed + 31 * i + 17 * y) % 256 for i in range(size))
    return out


def png(width, height, kind=2, depth=8, interlaced=False, extra=b"", filters=(0, 1, 2, 3, 4), header=None):
    bits = CHANNELS[kind] * depth
    if interlaced:
        raw = b""
        for x, y, dx, dy in ADAM7:
            columns, lines = (width - x + dx - 1) // dx, (height - y + dy - 1) // dy
            if columns > 0 and lines > 0:
                raw += rows(columns, lines, bits, filters, x + y)
    else:
        raw = rows(width, height, bits, filters, 0)
    ihdr = header or struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    palette = chunk(b"PLTE", bytes(i % 251 for i in range(3 << depth))) if kind == 3 else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + palette + extra
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def png_seeds():
    seeds = {}
    for kind, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            # palette indexes must not run over the palette: depth 8 has 256 entries, the others all there can be
            seeds[f"type{kind}-{depth}"] = png(7, 5, kind, depth)
            seeds[f"type{kind}-{depth}-interlaced"] = png(9, 6, kind, depth, True)
    seeds["gray-transparent"] = png(5, 5, 0, 8, extra=chunk(b"tRNS", struct.pack(">H", 31)))
    seeds["rgb16-transparent"] = png(5, 5, 2, 16, extra=chunk(b"tRNS", struct.pack(">HHH", 31, 93, 155)))
    seeds["palette-transparent"] = png(5, 5, 3, 4, True, extra=chunk(b"tRNS", bytes([0, 128, 255])))
    seeds["gamma"] = png(3, 3, extra=chunk(b"gAMA", struct.pack(">I", 100000)))
    seeds["profile-bomb"] = png(3, 3, extra=chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(1 << 20), 9)))
    seeds["text-bomb"] = png(3, 3, extra=chunk(b"zTXt", b"t\0\0" + zlib.compress(bytes(1 << 20), 9)))
    seeds["one-pixel"] = png(1, 1, 6)
    seeds["wide"] = png(300, 1, 0, 1)
    seeds["bad-filter"] = png(4, 4, filters=(9,))
    seeds["cut"] = png(20, 20)[:-30]
    seeds["no-data"] = png(2, 2)[:33]
    seeds["huge-header"] = png(2, 2, header=struct.pack(">IIBBBBB", 16384, 4096, 16, 6, 0, 0, 0))
    seeds["short-for-its-size"] = png(2, 2, header=struct.pack(">IIBBBBB", 500, 500, 8, 6, 0, 0, 1))
    seeds["bad-depth"] = png(2, 2, header=struct.pack(">IIBBBBB", 2, 2, 3, 2, 0, 0, 0))
    seeds["jpeg"] = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"
    seeds["empty"] = b""
    return seeds


# --- frames -----------------------------------------------------------------------------------------------------------


def request(identity, field, body):
    return frame(number(1, identity) + data(field, body))


def frame_seeds():
    hello = request(1, 2, number(1, 1) + number(2, 0) + data(3, "fuzz"))
    options = (data(1, "x11::0") + data(2, "log:") + number(3, 1) + double(4, 10) + number(5, 10**9) + number(6, 5)
               + number(7, 10**9) + number(8, 0) + number(9, 1))
    session = (number(1, 7) + data(2, "kiosk") + number(3, 1) + number(4, 3) + data(5, "passes") + number(6, 0)
               + number(7, 1700000000 * 10**9) + number(9, 5) + number(10, 6) + data(13, "x11::0") + data(14, "log:"))
    return {
        "hello": hello,
        "hello-of-another-version": request(1, 2, number(1, 99)),
        "pipelined": hello + request(2, 7, b"") + request(3, 6, number(1, 4)) + request(4, 11, data(1, "give-up")),
        "upload": hello + request(2, 3, number(1, 0) + number(2, 3) + data(3, options)) + request(2, 4, data(1, b"abc")),
        "stop": request(9, 5, number(1, 4) + number(2, 1)),
        "report": request(9, 9, number(1, 4) + number(2, 1) + number(3, -5) + number(4, 2**62) + number(5, 1)
                          + number(5, 2) + number(6, 10) + number(7, 0)),
        "delete-many": request(9, 10, b"".join(number(1, i) for i in range(300))),
        "delete-packed": request(9, 10, data(1, b"".join(varint(i) for i in range(300)))),
        "sessions": frame(number(1, 9) + number(2, 0) + data(6, data(1, session) + data(1, session))),
        "error": frame(number(1, 9) + data(4, number(1, 12) + data(2, "no") + data(3, "rate")
                                           + data(4, data(1, "rate") + data(2, "bad")))),
        "report-chunk": frame(number(1, 9) + number(2, 0) + data(8, number(1, 3) + number(2, 3) + data(3, bytes(300)))),
        "torn": hello[:-3],
        "oversized": b"\x81\x80\x04" + bytes(50),
        "endless-length": b"\xff" * 11,
        "empty-frames": bytes(20),
        "unknown-fields": frame(number(1, 5) + data(200, "x") + double(201, 1) + varint(202 << 3 | 5) + bytes(4)),
        "group": frame(varint(5 << 3 | 3) + varint(5 << 3 | 4)),
        "bad-text": request(1, 2, data(3, b"\xff\xfe")),
        "nul-in-text": request(1, 2, data(3, b"a\0b")),
        "two-members": frame(data(2, number(1, 1)) + data(11, data(1, "x")) + data(2, number(2, 2))),
        "many-empty": frame(data(6, data(1, b"") * 3000)),
    }


# --- scenarios --------------------------------------------------------------------------------------------------------


def point(x, y):
    return signed(1, x) + signed(2, y)


def area(x, y, width, height):
    return signed(1, x) + signed(2, y) + signed(3, width) + signed(4, height)


def image(**more):
    body = data(1, "ok.png") + data(2, more.get("png", png(8, 6)))
    if "area" in more:
        body += number(3, 1) + data(4, more["area"])
    if "at" in more:
        body += number(3, 2) + data(5, more["at"])
    return data(10, body + number(7, more.get("present", 1)))


def color():
    return data(11, number(1, 0xFF8800) + data(2, area(10, 20, 30, 5)) + double(3, 4))


def condition(name, kind, identity=None):
    return data(9, data(1, name) + (b"" if identity is None else number(2, identity)) + kind)


def action(field, body):
    return data(10, data(field, body))


def text(*parts):
    return b"".join(data(1, data(2, part[1:]) if part.startswith("$") else data(1, part)) for part in parts)


def operand(value):
    return data(2, value) if isinstance(value, str) else double(1, value)


ACTIONS = (
    action(1, data(1, "ok") + data(4, point(0, -4)) + number(5, 10**7)),
    action(1, number(2, 1)),
    action(1, data(3, point(10, 20))),
    action(2, data(1, point(1, 2)) + data(1, point(100, 2)) + number(2, 10**8)),
    action(3, number(1, 5 * 10**8)),
    action(4, data(1, "ctrl+alt+Delete")),
    action(5, text("try ", "$retries")),
    action(6, data(1, "retries") + number(2, 0) + data(3, operand(1.5))),
    action(6, data(1, "total") + number(2, 2) + data(3, operand("retries"))),
    action(7, number(1, 1) + data(2, "popup") + data(2, "give up")),
    action(7, number(1, 0) + number(3, 1)),
    action(8, text("closed ", "$total") + number(2, 2)),
    action(10, text("done") + number(2, 1)),
)
TRIGGERS = (
    condition("30 s", data(14, number(1, 30 * 10**9) + number(2, 1)))
    + condition("many", data(15, data(1, "retries") + number(2, 3) + data(3, operand(3.0))))
    + condition("more", data(15, data(1, "retries") + number(2, 2) + data(3, operand("total"))))
    + condition("reset", data(16, data(1, "reset")))
)


def scenario(*parts):
    return (data(1, "kiosk") + data(5, double(1, 10) + number(2, 10**9)) + data(9, data(1, "retries"))
            + data(9, data(1, "total") + double(2, 2.5)) + b"".join(parts))


def event(field, name, *parts):
    return data(field, data(1, name) + b"".join(parts))


def scenario_seeds():
    popup = event(10, "popup", condition("ok", image()), condition("spot", color()), *ACTIONS)
    give_up = event(11, "give up", number(4, 1), TRIGGERS, action(7, number(1, 1) + number(3, 1)))
    flat = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)) \
        + chunk(b"IDAT", zlib.compress((b"\0" + b"\x77" * 4) * 4)) + chunk(b"IEND", b"")
    return {
        "good": scenario(popup, give_up),
        "searches": scenario(
            event(10, "a", condition("x", image(area=area(0, 0, 50, 50))), number(6, 10**9), number(7, 1), number(8, 1)),
            event(10, "b", condition("x", image(at=point(100, 40), present=0)), number(5, 0))),
        "ids": scenario(event(10, "a", number(2, 2), condition("x", color(), 3), condition("y", color())),
                        event(10, "b", condition("x", color(), 1), condition("y", color())), give_up),
        "same-ids": scenario(event(10, "a", number(2, 2), condition("x", color(), 3)),
                             event(10, "b", number(2, 2), condition("x", color(), 3))),
        "same-names": scenario(event(10, "a", condition("x", color()), condition("x", color())),
                               event(10, "a", condition("found", color())), data(9, data(1, "retries"))),
        "unknown-names": scenario(event(10, "popup", condition("ok", image()), action(1, data(1, "okk")),
                                        action(6, data(1, "retires") + data(3, operand("totla"))),
                                        action(7, number(1, 1) + data(2, "popop")), action(5, text("$x")))),
        "wrong-places": scenario(event(10, "a", TRIGGERS), event(11, "b", condition("x", color()), ACTIONS[0])),
        "text-number-bus": scenario(
            event(10, "a", condition("t", data(12, data(1, "Sign in") + data(2, area(0, 0, 9, 9)) + data(3, "eng")
                                               + data(3, "deu"))),
                  condition("n", data(13, number(1, 2) + data(2, operand(3.0)) + data(3, area(0, 0, 9, 9)))),
                  action(9, data(1, "org.example.A.B") + data(2, "/")), action(5, data(2, "pin"))),
            event(11, "b", condition("c", data(16, data(1, "org.example.A.B") + number(2, 2))))),
        "bad-numbers": scenario(
            event(10, "a", condition("x", data(11, number(1, 1 << 31) + data(2, area(-1, 0, 1 << 31, 0))
                                               + double(3, float("nan")))), number(6, -1), number(4, 9),
                  action(3, number(1, -(1 << 63))), action(1, data(3, point(-(1 << 31), (1 << 31) - 1)))),
            data(5, double(1, float("inf")) + number(2, 0)), number(6, -1), number(7, 1)),
        "flat": scenario(event(10, "a", condition("x", image(png=flat)))),
        "bad-png": scenario(event(10, "a", condition("x", image(png=png(8, 6)[:-20])))),
        "no-events": scenario(),
        "empty": b"",
        "empty-parts": data(10, b"") + data(11, b"") + data(9, b"") + data(5, b""),
        "empty-kinds": scenario(event(10, "a", *(condition("x", data(kind, b"")) for kind in range(10, 18)),
                                      *(action(kind, b"") for kind in range(1, 12)))),
        "bad-text": data(1, b"\xff"),
        "long-name": data(1, "x" * 300) + event(10, "y" * 300, condition("z" * 300, color())),
    }


# --- report folders ---------------------------------------------------------------------------------------------------

OVERVIEW, CHECKPOINT, SCENARIO, FIRST, SECOND, MESSAGES = range(6)


def file(which, *messages):
    """A piece of fuzz_report's input: these delimited messages in that file."""
    content = b"".join(message if isinstance(message, bytes) else varint(len(message[0])) + message[0]
                       for message in messages)
    return bytes([which]) + struct.pack("<H", len(content)) + content


def report_seeds():
    def init(value):
        return (number(1, 0) + data(4, data(1, data(1, "n") + double(2, value))),)

    def occurrence(ms, event_id, field=2, *more):
        return (number(1, ms) + data(field, number(1, event_id) + b"".join(more)) + number(6, ms * 999_000)
                + number(7, ms * 1_000_000),)

    def profile(*ids):
        return (data(5, b"".join(data(1, number(1, i) + number(2, 3) + number(4, 9)) for i in ids)) + data(50, b""),)

    overview = (number(1, 7) + number(2, 61000) + number(3, 600) + data(7, "n") + number(8, 5) + number(9, 6)
                + number(50, 1) + number(51, 3) + data(57, "kiosk") + data(62, number(1, 9)),)
    change = data(5, data(1, "n") + double(4, 2.0) + double(5, 3.0))
    first_overview = (number(1, 3) + number(2, 61000) + number(3, 600) + number(4, 4) + number(5, 1) + number(6, 0),)
    first = (number(1, 1500) + data(2, number(1, 11) + number(2, 7) + data(4, number(1, 21) + number(4, 1))),)
    run = [occurrence(i, 1 + i % 3, 2 + i % 2, change) for i in range(1, 12)]
    return {
        "whole": b"\x12" + file(OVERVIEW, overview) + file(SCENARIO, data(1, "kiosk")) + file(FIRST, init(2.0), *run[:4])
                 + file(SECOND, init(3.0), *run[4:8]) + file(MESSAGES, init(3.0), *run[8:], profile(1, 2)),
        "aggregates-before-the-rest": b"\x03" + file(OVERVIEW, overview) + file(SECOND, profile(1), run[0])
                                      + file(MESSAGES, *run),
        "first-shape": b"\x00" + file(OVERVIEW, first_overview) + file(MESSAGES, init(2.0), first),
        "interrupted": b"\x09" + file(CHECKPOINT, overview, profile(1, 2, 3)) + file(MESSAGES, init(0.0), *run),
        "torn": b"\x01" + file(CHECKPOINT, overview, profile(1))[:-2] + file(FIRST, *run)[:-5],
        "torn-overview": b"\x01" + file(OVERVIEW, b"\x7f" + overview[0]) + file(CHECKPOINT, overview, profile(4)),
        "empty-files": b"\x00" + b"".join(file(which) for which in range(6)),
        "nothing": b"",
        "zeros": b"\x3f" + file(FIRST, *run[:2], bytes(500)) + file(MESSAGES, bytes(70), run[3]),
        "endless-length": b"\x01" + file(FIRST, run[0], b"\xff" * 11, run[1]) + file(MESSAGES, run[2], b"\xff\x7f"),
        "bad-fields": b"\x01" + file(MESSAGES, (b"\x12\x05\x08",), run[0], (b"\x13",), (b"\x08" + b"\xff" * 10,), run[1]),
        "no-event-id": b"\x0a" + file(MESSAGES, (data(2, b""),), (data(3, number(9, 9)),), (data(2, data(1, "x")),)),
        "times": b"\x2a" + file(MESSAGES, (number(1, -1) + data(2, b""),), (number(1, (1 << 63) - 1) + data(2, b""),),
                                (number(7, 1 << 63) + data(3, b""),), (data(51, number(1, 5)),)),
        "bad-text": b"\x00" + file(OVERVIEW, (data(57, b"\xff"),)) + file(CHECKPOINT, (data(57, "a\0b"),)),
        "many-names": b"\x00" + file(OVERVIEW, (data(7, "") * 3000,)),
    }


# --- what clients send ------------------------------------------------------------------------------------------------

def request_seeds():
    hello = request(1, 2, number(1, 1) + number(2, 0) + data(3, "seed"))
    runs = scenario(data(3, "memory:fuzz"), event(10, "a", condition("spot", color())), event(11, "b", TRIGGERS))

    def upload(kind, body, said=None, options=b""):
        begin = number(1, kind) + number(2, len(body) if said is None else said) + data(3, options)
        return request(2, 3, begin) + b"".join(request(2, 4, data(1, body[at:at + 60])) for at in range(0, len(body), 60))
    everything = b"".join(request(10 + field, field, body) for field, body in (
        (6, b""), (7, b""), (8, number(1, 4)), (9, b""), (11, data(1, "reset")), (11, data(1, "go")), (11, b""),
        (9, number(1, 1) + number(2, 1) + number(3, 5) + number(4, 500) + number(5, 1) + number(6, 2)), (5, number(1, 1)),
        (5, number(2, 1)), (5, b""), (6, number(1, 3)), (8, b""), (10, number(1, 1) + number(1, 2)), (10, b""),
        (2, number(1, 1)), (99, b"")))
    some = number(3, 1) + double(4, 2.5) + number(5, 10**9) + number(6, 3)
    seeds = {
        "hello": hello, "everything": hello + everything, "no-hello": everything, "twice": hello + hello,
        "other-major": request(1, 2, number(1, 2)), "check": hello + upload(1, runs),
        "start": hello + upload(0, runs) + everything, "wait": hello + upload(0, runs, options=some + number(9, 1)),
        "options": hello + upload(0, runs, options=data(1, "replay:/nowhere") + data(2, "log:") + some + number(8, 1)),
        "too-many-bytes": hello + upload(0, runs, said=30) + everything,
        "too-big": hello + upload(0, runs, said=1 << 40) + everything,
        "torn": hello + upload(0, runs)[:-30], "huge": hello + b"\xff" * 9 + b"\x01", "zeros": hello + bytes(100),
        "no-id": frame(data(2, number(1, 1))) + frame(data(6, b"")), "bad-text": hello + request(3, 11, data(1, b"\xff")),
        "many-parts": hello + frame(data(4, b"") * 3000),
        "installed": hello + b"".join(upload(2, runs, options=data(11, name)) for name in ("kiosk", "b", "kiosk")) + b"".join(
            request(20 + field, field, body) for field, body in (
                (14, b""), (3, data(3, data(11, "kiosk"))), (3, data(3, data(11, "kisok"))), (15, data(1, "b")), (15, data(1, "../x")),
                (15, b""), (14, b""), (3, data(3, data(11, "a/b"))), (3, number(1, 2) + data(3, data(11, "no-size"))))),
    }
    return {f"{name}-{who}": bytes([7 if who == "slow" else 6, {"stranger": 1, "looks": 20}.get(who, 200)]) + content
            for name, content in seeds.items() for who in
            (("slow", "fast", "stranger", "looks") if name in ("everything", "start") else ("slow", "fast"))}


# --- scenario files -----------------------------------------------------------------------------------------------------

def yaml_seeds():
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    seeds = {}
    for table in "mistakes", "warnings":
        with open(os.path.join(top, "tests", "data", "scenarios", table + ".txt"), encoding="utf-8") as text:
            cases = re.split("^## ", text.read(), flags=re.MULTILINE)[1:]
        for case in cases:
            title, rest = case.split("\n", 1)
            seeds[re.sub("[^a-z]+", "-", title)[:40].strip("-")] = rest.split(">>\n", 1)[0].encode()
    for path in "tests/data/scenarios/all-keys.yaml", "docs/demo/press-line.yaml":
        with open(os.path.join(top, path), "rb") as text:
            seeds[os.path.basename(path)[:-5]] = text.read()
    return seeds


def main():
    for name, seeds in {"frame": frame_seeds(), "png": png_seeds(), "report": report_seeds(), "request": request_seeds(),
                        "scenario": scenario_seeds(), "yaml": yaml_seeds()}.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for seed, content in seeds.items():
            with open(os.path.join(folder, seed), "wb") as out:
                out.write(content)


main()
