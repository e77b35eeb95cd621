"""branch_stacks.py PROGRAM START OFFSET ADDRESS...: writes a recording to standard output whose only sample has its
user's call stack as branches, as a CPU with LBR gives it (PERF_SAMPLE_BRANCH_CALL_STACK).

PROGRAM is mapped at START from OFFSET on. The sample is at the first ADDRESS, the calls are at the following ones; the
kernel's part of its call chain is an address without a symbol, and its user part is wrong: the branches take its place.
"""
import struct
import sys

IP, TID, TIME, CALLCHAIN, PERIOD, BRANCH_STACK = 1, 2, 4, 1 << 5, 1 << 8, 1 << 11
CALL_STACK, OF_USER = 1 << 11, 1
CONTEXT_KERNEL, CONTEXT_USER = (1 << 64) - 128, (1 << 64) - 512
KERNEL_ADDRESS, WRONG_ADDRESS = (1 << 64) - (1 << 30), 16
PID, ATTR_BYTES, HEAD_BYTES = 4242, 120, 104


def record(kind, misc, body):
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def text(name):
    raw = name.encode() + b"\0"
    return raw + b"\0" * (-len(raw) % 8)


def sample(addresses):
    # The last branch goes to the sampled function; each branch comes from a call.
    chain = [CONTEXT_KERNEL, KERNEL_ADDRESS, CONTEXT_USER, WRONG_ADDRESS]
    branches = [(call, place, 0) for place, call in zip(addresses, addresses[1:])]
    return struct.pack("=QIIQQQ", KERNEL_ADDRESS, PID, PID, 2000, 1, len(chain)) + struct.pack("=4Q", *chain) + \
        struct.pack("=Q", len(branches)) + b"".join(struct.pack("=QQQ", *branch) for branch in branches)


def main():
    program, numbers = sys.argv[1], [int(number, 16) for number in sys.argv[2:]]
    start, offset, addresses = numbers[0], numbers[1], numbers[2:]
    sample_type = IP | TID | TIME | CALLCHAIN | PERIOD | BRANCH_STACK
    attr = struct.pack("=IIQQQQQIIQQQ", 1, ATTR_BYTES, 0, 1, sample_type, 0, 0, 0, 0, 0, 0, CALL_STACK | OF_USER)
    attr += b"\0" * (ATTR_BYTES - len(attr))
    data = record(3, 1 << 13, struct.pack("=II", PID, PID) + text("branches"))
    data += record(1, 2, struct.pack("=IIQQQ", PID, PID, start, 0x10000, offset) + text(program))
    data += record(9, 1, sample(addresses))
    at = HEAD_BYTES
    head = b"PERFILE2" + struct.pack("=QQQQQQQQ", HEAD_BYTES, ATTR_BYTES + 16, at, ATTR_BYTES + 16,
                                     at + ATTR_BYTES + 16, len(data), 0, 0) + b"\0" * 32
    sys.stdout.buffer.write(head + attr + struct.pack("=QQ", 0, 0) + data)


main()
