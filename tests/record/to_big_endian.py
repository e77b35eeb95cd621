#!/usr/bin/env python3
"""Rewrites a recording of a little-endian machine as a big-endian one would have made it.

to_big_endian.py FROM TO [LONG]    LONG: bytes of the machine's long, 8 (default) or 4, which is that of feature bits

Knows nothing of weir's code: layouts are those of perf_event_open(2), of tools/perf/util/header.c and of
tools/lib/perf/include/perf/event.h. What has no byte order stays: texts, build ids, AUX areas, weir's own records.
"""
import ctypes
import ctypes.util
import os
import re
import struct
import sys

SAMPLE, ATTR, TRACING_DATA, AUXTRACE, COMPRESSED, COMPRESSED2 = 9, 64, 66, 71, 81, 83
KERNEL_RECORDS = 64
PIECE_BYTES = 32768  # that are compressed at once
FRAME_ROOM = 65520

# sample_type
IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD, STREAM, RAW, BRANCH, REGS_USER, STACK_USER, WEIGHT, DATA_SRC = (
    1 << n for n in range(16)
)
IDENTIFIER, TRANSACTION, REGS_INTR, PHYS, AUX, CGROUP, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = (
    1 << n for n in range(16, 25)
)


def mirror(value, widths, bits=64):
    """The fields of a word, of which the first has the lowest bits, where the first has the highest."""
    result = at = 0
    for width in widths + [1] * (bits - sum(widths)):
        result |= (value >> at & (1 << width) - 1) << (bits - at - width)
        at += width
    return result


class Walk:
    """Reads little-endian numbers from data and collects them in the other order."""

    def __init__(self, data, at=0):
        self.data, self.at, self.out = data, at, bytearray()

    def left(self):
        return len(self.data) - self.at

    def take(self, form, change=lambda value: value):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        self.out += struct.pack(">" + form, change(value))
        return value

    def u16(self):
        return self.take("H")

    def u32(self):
        return self.take("I")

    def u64(self):
        return self.take("Q")

    def many(self, form, count):
        for _ in range(count):
            self.take(form)

    def rest(self, form):
        self.many(form, self.left() // struct.calcsize(form))
        self.keep(self.left())

    def keep(self, count):
        assert count <= self.left(), "cut"
        self.out += self.data[self.at : self.at + count]
        self.at += count

    def string(self):
        self.keep(self.u32())

    def text(self):
        end = self.data.index(b"\0", self.at) + 1
        text = self.data[self.at : end - 1].decode()
        self.keep(end - self.at)
        return text

    def whole(self):
        self.keep(self.left())
        return bytes(self.out)


# ---- attrs and events ----

ATTR_FIELDS = "IIQQQQfIIQQQQIIQIHHIaQQQ"  # f: flags, a: aux_action


def swap_attr(attr):
    walk = Walk(attr)
    for form in ATTR_FIELDS:
        width = struct.calcsize({"f": "Q", "a": "I"}.get(form, form))
        if walk.left() < width:
            break
        if form == "f":
            walk.take("Q", lambda value: mirror(value, [1] * 15 + [2]))
        elif form == "a":
            walk.take("I", lambda value: mirror(value, [], 32))
        else:
            walk.take(form)
    return walk.whole()


class Event:
    def __init__(self, attr):
        padded = attr + bytes(256)
        self.type, _, self.config = struct.unpack_from("<IIQ", padded)
        self.sample_type, self.read_format, flags = struct.unpack_from("<QQQ", padded, 24)
        self.has_trailer = flags >> 18 & 1
        self.branch_type, self.regs_user = struct.unpack_from("<QQ", padded, 72)
        (self.regs_intr,) = struct.unpack_from("<Q", padded, 96)


class Events:
    def __init__(self):
        self.list, self.by_id, self.formats = [], {}, {}

    def add(self, attr, ids):
        self.list.append(Event(attr))
        for number in struct.unpack(f"<{len(ids) // 8}Q", ids):
            self.by_id[number] = self.list[-1]

    def of_sample(self, record):
        first = self.list[0]
        if first.sample_type & IDENTIFIER:
            at = 8
        elif first.sample_type & ID:
            at = 8 + 8 * bin(first.sample_type & (IP | TID | TIME | ADDR)).count("1")
        else:
            return first
        (number,) = struct.unpack_from("<Q", record, at)
        return self.by_id.get(number, first)


# ---- tracepoints ----

FIELD = re.compile(r"\tfield:(.*);\toffset:(\d+);\tsize:(\d+);\tsigned:\d;")
WIDTHS = {"char": 1, "u8": 1, "__u8": 1, "unsigned char": 1, "u16": 2, "__u16": 2, "short": 2}


def element_bytes(declared, size):
    found = re.search(r"\[(\d+)\]$", declared)
    if not found:
        return size
    kind = declared[: declared.rindex(" ")].replace("const ", "").strip()
    return WIDTHS.get(kind, size // max(int(found.group(1)), 1))


def swap_raw(raw, text):
    raw = bytearray(raw)
    for declared, offset, size in FIELD.findall(text):
        at, size = int(offset), int(size)
        if declared.startswith(("__data_loc", "__rel_loc")):
            assert "char[]" in declared, declared
        width = element_bytes(declared, size) if size else 0
        if width in (2, 4, 8) and at + size <= len(raw):
            for place in range(at, at + size, width):
                raw[place : place + width] = raw[place : place + width][::-1]
    return bytes(raw)


def swap_tracing_data(section, formats):
    walk = Walk(section)
    walk.keep(10)
    walk.text()
    walk.keep(1)
    walk.out[-1] = 1
    walk.keep(1)
    walk.u32()
    for _ in range(2):
        walk.text()
        walk.keep(walk.u64())

    def system():
        for _ in range(walk.u32()):
            size = walk.u64()
            text = walk.data[walk.at : walk.at + size].decode()
            formats[int(re.search(r"^ID: (\d+)", text, re.M).group(1))] = text
            walk.keep(size)

    system()
    for _ in range(walk.u32()):
        walk.text()
        system()
    walk.keep(walk.u32())
    walk.keep(walk.u32())
    if walk.left() >= 8:
        walk.keep(walk.u64())
    return walk.whole()


# ---- samples ----


def swap_read(walk, read_format):
    times = (read_format & 1) + (read_format >> 1 & 1)
    words = 1 + (read_format >> 2 & 1) + (read_format >> 4 & 1)
    members = walk.u64() if read_format & 8 else 1
    walk.many("Q", times + members * words)


def swap_branches(walk, event):
    count = walk.u64()
    if event.branch_type & 1 << 17:  # HW_INDEX
        walk.u64()
    for _ in range(count):
        walk.many("Q", 2)
        walk.take("Q", lambda value: mirror(value, [1, 1, 1, 1, 16, 4, 2, 4, 3, 31]))
    if event.branch_type & 1 << 19:  # COUNTERS
        walk.many("Q", count)


def swap_sample(walk, events):
    event = events.of_sample(walk.data)
    kind = event.sample_type
    for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM, CPU, PERIOD):
        if kind & bit:
            walk.many(*(("I", 2) if bit in (TID, CPU) else ("Q", 1)))
    if kind & READ:
        swap_read(walk, event.read_format)
    if kind & CHAIN:
        walk.many("Q", walk.u64())
    if kind & RAW:
        size = walk.u32()
        raw = walk.data[walk.at : walk.at + size]
        walk.keep(size)
        if event.type == 2 and event.config in events.formats:
            walk.out[-size:] = swap_raw(raw, events.formats[event.config])
    if kind & BRANCH:
        swap_branches(walk, event)
    if kind & REGS_USER and walk.u64():
        walk.many("Q", bin(event.regs_user).count("1"))
    if kind & STACK_USER:
        size = walk.u64()
        if size:
            walk.many("Q", size // 8)
            walk.u64()
    for bit in (WEIGHT, WEIGHT_STRUCT, DATA_SRC, TRANSACTION):
        if kind & bit:
            walk.u64()
    if kind & REGS_INTR and walk.u64():
        walk.many("Q", bin(event.regs_intr).count("1"))
    for bit in (PHYS, CGROUP, DATA_PAGE, CODE_PAGE):
        if kind & bit:
            walk.u64()
    if kind & AUX:
        walk.keep(walk.u64())


# ---- other records ----


def swap_cpus(walk):
    kind = walk.u16()
    if kind == 0:
        walk.many("H", min(walk.u16(), walk.left() // 2))
    elif kind == 1:
        words, width = walk.u16(), walk.u16()
        walk.keep(2 if width == 8 else 0)
        walk.many("Q" if width == 8 else "I", words)
    else:
        walk.keep(2)
        walk.many("H", 2)


def swap_mmap2(walk, misc):
    walk.many("I", 2)
    walk.many("Q", 3)
    if misc & 1 << 14:
        walk.keep(24)
    else:
        walk.many("I", 2)
        walk.many("Q", 2)
    walk.many("I", 2)


def swap_update(walk, _):
    kind = walk.u64()
    walk.u64()
    if kind == 1:
        walk.u64()
    elif kind == 3:
        swap_cpus(walk)


def swap_threads(walk, _):
    for _ in range(walk.u64()):
        walk.u64()
        walk.keep(16)


def fields(form):
    """Numbers in order: I, Q, H, xN to keep N bytes; a * repeats the last to the end."""

    def swap(walk, _):
        for part in re.findall(r"x\d+|.\*?", form):
            if walk.left() < (int(part[1:]) if part[0] == "x" else struct.calcsize(part[0])):
                break  # a record that is made up and too short
            if part[0] == "x":
                walk.keep(int(part[1:]))
            elif part.endswith("*"):
                walk.rest(part[0])
            else:
                walk.take(part)

    return swap


RECORDS = {
    1: fields("IIQQQ"),
    2: fields("QQ"),
    3: fields("II"),
    4: fields("IIIIQ"),
    5: fields("QQQ"),
    6: fields("QQQ"),
    7: fields("IIIIQ"),
    8: fields("IIQ*"),
    10: swap_mmap2,
    11: fields("QQQ"),
    12: fields("II"),
    13: fields("Q"),
    15: fields("II"),
    16: fields("IIQ*"),
    17: fields("QIHH"),
    18: fields("HHI"),
    19: fields("Q"),
    20: fields("QHH"),
    21: fields("Q"),
    22: fields("Q*"),
    66: fields("I"),
    67: fields("I"),
    69: fields("Q*"),
    70: fields("IIQ*"),
    71: fields("QQQIIII"),
    72: fields("IIIIIIQQ"),
    73: swap_threads,
    74: lambda walk, _: swap_cpus(walk),
    75: fields("Q*"),
    76: fields("QIIQQQ"),
    77: fields("QQ"),
    78: swap_update,
    79: fields("QQQQQ"),
    84: fields("x512Q"),
    85: fields("QIHHIIIIIIQ*"),
    86: fields("QIHHI*"),
}


def swap_record(record, events):
    kind, misc, _ = struct.unpack_from("<IHH", record)
    first = events.list[0] if events.list else None
    trailer = 0
    if kind < KERNEL_RECORDS and kind != SAMPLE and first and first.has_trailer:
        trailer = 8 * bin(first.sample_type & (TID | TIME | ID | STREAM | CPU | IDENTIFIER)).count("1")
    walk = Walk(record[: len(record) - trailer])
    walk.u32()
    walk.many("H", 2)
    if kind == SAMPLE:
        swap_sample(walk, events)
    elif kind == ATTR:
        (size,) = struct.unpack_from("<I", record, 12)
        size = size or 64
        events.add(record[8 : 8 + size], record[8 + size :])
        walk.keep(size)
        walk.out[8:] = swap_attr(record[8 : 8 + size])
        walk.rest("Q")
    elif kind == 80:
        feature = walk.u64()
        payload = record[16:]
        walk.at = len(record)
        walk.out += swap_feature(feature, payload, events)
    elif kind == 72 and struct.unpack_from("<I", record, 28)[0] >= 2 and len(record) >= 120:
        fields("IIIIIIQQx64II")(walk, misc)
    elif kind == 79 and len(record) < 48:
        fields("QQQ")(walk, misc)
    elif kind in RECORDS:
        RECORDS[kind](walk, misc)
    out = walk.whole()
    if trailer:
        walk = Walk(record[-trailer:])
        for bit in (TID, TIME, ID, STREAM, CPU, IDENTIFIER):
            if first.sample_type & bit:
                walk.many(*(("I", 2) if bit in (TID, CPU) else ("Q", 1)))
        out += walk.whole()
    assert len(out) == len(record)
    return out


# ---- features ----


def swap_topology(walk, cpus):
    for _ in range(2):
        for _ in range(walk.u32()):
            walk.string()
    walk.many("I", 2 * cpus)
    if walk.left():
        for _ in range(walk.u32()):
            walk.string()
        walk.many("I", cpus)


def swap_programs(walk):
    for _ in range(walk.u32()):
        info, data = walk.u32(), walk.u32()
        walk.u64()
        walk.many("I", 2)
        walk.keep(info - 8 + data)


def swap_event_desc(walk):
    count, size = walk.u32(), walk.u32()
    for _ in range(count):
        walk.out += swap_attr(walk.data[walk.at : walk.at + size])
        walk.at += size
        ids = walk.u32()
        walk.string()
        walk.many("Q", ids)


def swap_build_ids(walk):
    while walk.left() >= 8:
        walk.u32()
        walk.u16()
        size = walk.u16()
        walk.u32()
        walk.keep(size - 12)


def swap_domains(walk):
    version, _ = walk.u32(), walk.u32()
    while walk.left():
        walk.u32()
        for _ in range(walk.u32()):
            swap_list("Isss" if version >= 17 else "Iss")(walk)


def swap_list(form):
    """Of a list: s a string, I and Q numbers; ( ) a list in it."""

    def one(walk, form):
        at = 0
        while at < len(form):
            if form[at] == "(":
                end = form.index(")", at)
                for _ in range(walk.u32()):
                    one(walk, form[at + 1 : end])
                at = end
            elif form[at] == "s":
                walk.string()
            else:
                walk.take(form[at])
            at += 1

    return lambda walk: one(walk, form)


def swap_caps(walk):
    for _ in range(walk.u32()):
        swap_list("(ss)s")(walk)


FEATURES = {
    2: swap_build_ids,
    **{bit: swap_list("s") for bit in (3, 4, 5, 6, 8, 9)},
    7: swap_list("II"),
    10: swap_list("Q"),
    11: swap_list("(s)"),
    12: swap_event_desc,
    14: swap_list("(IQQs)"),
    16: swap_list("(Is)"),
    17: swap_list("(sII)"),
    18: lambda walk: walk.rest("Q"),
    20: swap_list("I(IIIIsss)"),
    21: swap_list("QQ"),
    22: lambda walk: walk.rest("Q"),
    23: swap_list("Q"),
    24: swap_list("Q"),
    25: swap_programs,
    26: swap_list("(Is)"),
    27: swap_list("IIIII"),
    28: swap_list("(ss)"),
    29: swap_list("IIQQ"),
    30: swap_list("(ss)"),
    31: swap_caps,
    32: swap_domains,
    33: swap_list("II"),
    34: swap_list("I"),
}


def swap_feature(bit, payload, events):
    if bit == 1:
        return swap_tracing_data(payload, events.formats)
    walk = Walk(payload)
    if bit == 7:
        (events.cpus,) = struct.unpack_from("<I", payload)
    if bit == 13:
        swap_topology(walk, events.cpus)
    elif bit in FEATURES and payload:
        FEATURES[bit](walk)
    return walk.whole()


# ---- compressed ----


class Pointer(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


class Zstd:
    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        for name in ("ZSTD_createDStream", "ZSTD_compress", "ZSTD_decompressStream"):
            getattr(self.lib, name).restype = ctypes.c_size_t
        self.lib.ZSTD_createDStream.restype = ctypes.c_void_p
        self.stream = ctypes.c_void_p(self.lib.ZSTD_createDStream())

    def expand(self, data):
        held = ctypes.create_string_buffer(data, len(data))
        room = ctypes.create_string_buffer(1 << 20)
        source = Pointer(ctypes.addressof(held), len(data), 0)
        out = b""
        while True:
            target = Pointer(ctypes.addressof(room), len(room), 0)
            left = self.lib.ZSTD_decompressStream(self.stream, ctypes.byref(target), ctypes.byref(source))
            assert not self.lib.ZSTD_isError(ctypes.c_size_t(left)), "damaged"
            out += room.raw[: target.pos]
            if source.pos == source.size and target.pos < target.size:
                return out

    def pack(self, data):
        room = ctypes.create_string_buffer(FRAME_ROOM)
        used = self.lib.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 1)
        assert used <= len(room), "cannot compress"
        return room.raw[:used]


# ---- the data ----


def records_of(data, at, end):
    while at < end:
        (size,) = struct.unpack_from("<H", data, at + 6)
        assert size >= 8 and at + size <= end, "cut"
        yield at, data[at : at + size]
        at += size
        kind = struct.unpack_from("<I", data, at - size)[0]
        if kind == AUXTRACE:
            at += struct.unpack_from("<Q", data, at - size + 8)[0]
        elif kind == TRACING_DATA:
            at += -(-struct.unpack_from("<I", data, at - size + 8)[0] // 8) * 8


def packed_record(kind, piece, zstd):
    frame = zstd.pack(piece)
    if kind == COMPRESSED2:  # which is filled up, and so has the size of what it holds
        frame = struct.pack(">Q", len(frame)) + frame + bytes(-len(frame) % 8)
    return struct.pack(">IHH", kind, 0, 8 + len(frame)) + frame


def swap_expanded(kind, expanded, events, zstd):
    """Whole records, swapped and compressed again; and the rest."""
    out = piece = b""
    at = 0
    while at + 8 <= len(expanded):
        (size,) = struct.unpack_from("<H", expanded, at + 6)
        if at + size > len(expanded):
            break
        piece += swap_record(expanded[at : at + size], events)
        at += size
        if len(piece) >= PIECE_BYTES:
            out += packed_record(kind, piece, zstd)
            piece = b""
    if piece:
        out += packed_record(kind, piece, zstd)
    return out, expanded[at:]


def swap_data(data, at, end, events):
    out, rest, zstd = bytearray(), b"", None
    for place, record in records_of(data, at, end):
        kind = struct.unpack_from("<I", record)[0]
        if kind in (COMPRESSED, COMPRESSED2):
            zstd = zstd or Zstd()
            frame = record[8:]
            if kind == COMPRESSED2:
                frame = record[16 : 16 + struct.unpack_from("<Q", record, 8)[0]]
            packed, rest = swap_expanded(kind, rest + zstd.expand(frame), events, zstd)
            out += packed
            continue
        out += swap_record(record, events)
        behind = place + len(record)
        if kind == AUXTRACE:
            out += data[behind : behind + struct.unpack_from("<Q", record, 8)[0]]
        elif kind == TRACING_DATA:
            (size,) = struct.unpack_from("<I", record, 8)
            section = data[behind : behind + -(-size // 8) * 8]
            out += swap_tracing_data(section[:size], events.formats) + section[size:]
    assert not rest, "cut"
    return bytes(out)


def swap_file(data, width, events):
    magic, size, attr_size, attrs_at, attrs_size, at, bytes_, _, _ = struct.unpack_from("<9Q", data)
    bits = int.from_bytes(data[72:104], "little")
    out = bytearray(data[:at])
    for place in range(attrs_at, attrs_at + attrs_size, attr_size):
        attr = data[place : place + attr_size - 16]
        ids_at, ids_size = struct.unpack_from("<QQ", data, place + attr_size - 16)
        (said,) = struct.unpack_from("<I", attr, 4)
        events.add(attr[: said or 64], data[ids_at : ids_at + ids_size])
        out[place : place + attr_size] = swap_attr(attr) + struct.pack(">QQ", ids_at, ids_size)
        ids = struct.unpack_from(f"<{ids_size // 8}Q", data, ids_at)
        out[ids_at : ids_at + ids_size] = struct.pack(f">{len(ids)}Q", *ids)
    table = [
        (bit, *struct.unpack_from("<QQ", data, at + bytes_ + 16 * number))
        for number, bit in enumerate(bit for bit in range(256) if bits >> bit & 1)
    ]
    features = [swap_feature(bit, data[place : place + size], events) for bit, place, size in table]
    body = swap_data(data, at, at + bytes_ if bytes_ else len(data), events)
    out += body
    place = at + len(body) + 16 * len(table)
    for feature in features:
        out += struct.pack(">QQ", place, len(feature))
        place += len(feature)
    words = struct.unpack(f"<{32 // width}{'Q' if width == 8 else 'I'}", data[72:104])
    out[:104] = struct.pack(">9Q", magic, size, attr_size, attrs_at, attrs_size, at, len(body) if bytes_ else 0, 0, 0) + struct.pack(
        f">{len(words)}{'Q' if width == 8 else 'I'}", *words
    )
    return bytes(out) + b"".join(features)


def swap(source, target, how):
    with open(source, "rb") as file:
        data = file.read()
    swapped = how(data)
    with open(target, "wb") as file:
        file.write(swapped)


def swap_stream(data, events):
    return struct.pack(">QQ", struct.unpack_from("<Q", data)[0], 16) + swap_data(data, 16, len(data), events)


def main(source, target, width=8):
    events = Events()

    def recording(data):
        is_stream = struct.unpack_from("<Q", data, 8)[0] == 16
        return swap_stream(data, events) if is_stream else swap_file(data, int(width), events)

    if not os.path.isdir(source):
        swap(source, target, recording)
        return
    os.mkdir(target)
    for name in sorted(os.listdir(source)):  # "data" is the first
        how = recording if name == "data" else lambda data: swap_data(data, 0, len(data), events)
        swap(os.path.join(source, name), os.path.join(target, name), how)


if __name__ == "__main__":
    main(*sys.argv[1:])
