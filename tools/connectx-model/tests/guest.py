# SPDX-License-Identifier: GPL-2.0
"""A guest without a virtual machine: speaks vfio-user to the model as QEMU does,
puts a command queue into its own memory and rings the doorbell.

Commands and their fields have their names from the kernel's mlx5_ifc.h:

    guest.run('create_cq', {'cq_context.log_cq_size': 4})
"""
import importlib.machinery
import importlib.util
import json
import mmap
import os
import re
import socket
import struct
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

VERSION, DMA_MAP, REGION_READ, REGION_WRITE = 1, 2, 9, 10
MEMORY = 1 << 20
QUEUE, MAILBOX_IN, MAILBOX_OUT, FREE = 0x1000, 0x10000, 0x40000, 0x80000
BLOCK, DATA, ENTRY = 0x400, 512, 64
SEG_QUEUE_HIGH, SEG_QUEUE_LOW, SEG_DOORBELL = 0x10, 0x14, 0x18
PAGES = 68
PATIENCE_S = 60		# for the model to start, on a busy machine

OK, INTERNAL, BAD_OP, BAD_PARAM, BAD_SYS_STATE, BAD_RESOURCE, BUSY = range(7)
LIMIT, BAD_RES_STATE, BAD_QP_STATE, BAD_INPUT_LEN, BAD_OUTPUT_LEN = 8, 9, 0x10, 0x50, 0x51

failed = 0


def expect(name, got, wanted):
    global failed
    failed += got != wanted
    print('PASS' if got == wanted else 'FAIL', name, '' if got == wanted else
          '(got %r, wanted %r)' % (got, wanted), flush=True)


class Layouts:
    """Opcodes and fields, from the same input as gen-tables."""
    def __init__(self):
        loader = importlib.machinery.SourceFileLoader('gen_tables', HERE + '/src/gen-tables')
        spec = importlib.util.spec_from_loader('gen_tables', loader)
        tables = importlib.util.module_from_spec(spec)
        loader.exec_module(tables)
        text = tables.read_headers(subprocess.check_output(HERE + '/get-headers', text=True).strip())
        self.layouts = tables.Layouts(tables.parse_types(text))
        self.opcodes = {name.lower(): int(value, 16) for name, value in
                        re.findall(r'^\tMLX5_CMD_OP_(\w+)\s*= (0x[0-9a-f]+),', text, re.M)}

    def build(self, name, fields):
        members, bits = self.layouts.members(name)
        places = {path: (at, width) for path, at, width in members}
        value = 0
        for path, content in fields.items():
            at, width = places[path]
            value |= (content & (1 << width) - 1) << bits - at - width
        return value.to_bytes(bits // 8, 'big')

    def size(self, name):
        return self.layouts.members(name)[1] // 8

    def field(self, name, data, path):
        at, width = next((a, w) for p, a, w in self.layouts.members(name)[0] if p == path)
        return int.from_bytes(data, 'big') >> len(data) * 8 - at - width & (1 << width) - 1


layouts = Layouts()


def connected(path):
    """Connect to a socket that exists a moment before it listens."""
    end = time.monotonic() + PATIENCE_S
    while True:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(path)
            return sock
        except ConnectionRefusedError:
            sock.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


class Model:
    """The program, with an adapter for each string of options."""
    def __init__(self, program, *adapters, options=()):
        self.folder = tempfile.TemporaryDirectory()
        self.control_path = os.path.join(self.folder.name, 'control')
        self.paths = [os.path.join(self.folder.name, 'adapter%d' % i)
                      for i in range(len(adapters))]
        arguments = [program, '--once', '--control', self.control_path, *options]
        for path, settings in zip(self.paths, adapters):
            arguments += ['--device', ','.join(filter(None, (path, settings)))]
        self.log = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen(arguments, stderr=self.log)
        while not os.path.exists(self.paths[-1]):
            if self.process.poll() is not None:
                raise OSError('the model ended with status %d' % self.process.returncode)
            time.sleep(0.01)
        self.guests = [Guest(path) for path in self.paths]

    def control(self, **request):
        with connected(self.control_path) as control:
            control.sendall(json.dumps(request).encode() + b'\n')
            return json.loads(control.makefile().readline())

    def end(self, wanted=0):
        for guest in self.guests:
            guest.sock.close()
        status = self.process.wait(60)
        expect('model-ended', status, wanted)
        if status != wanted:
            self.log.seek(0)
            print(self.log.read())


class Guest:
    def __init__(self, path):
        self.sock = connected(path)
        fd = os.memfd_create('guest')
        os.ftruncate(fd, MEMORY)
        self.memory = mmap.mmap(fd, MEMORY)
        self.message(VERSION, struct.pack('<HH', 0, 1) + b'{}\0')
        self.message(DMA_MAP, struct.pack('<IIQQQ', 32, 3, 0, 0, MEMORY), [fd])
        os.close(fd)
        self.token = 0
        self.next_page = FREE
        self.bar_write(SEG_QUEUE_HIGH, 0)
        self.bar_write(SEG_QUEUE_LOW, QUEUE)

    def message(self, command, body, fds=()):
        head = struct.pack('<HHIII', 1, command, 16 + len(body), 0, 0)
        socket.send_fds(self.sock, [head + body], list(fds))
        answer = self.sock.recv(16, socket.MSG_WAITALL)
        if len(answer) < 16:
            raise EOFError
        size = struct.unpack('<HHIII', answer)[2] - 16
        return self.sock.recv(size, socket.MSG_WAITALL) if size else b''

    def bar_write(self, at, value, bytes_count=4):
        self.message(REGION_WRITE, struct.pack('<QII', at, 0, bytes_count) +
                     value.to_bytes(bytes_count, 'big'))

    def bar_read(self, at):
        # A write may be acknowledged before its effect: a read is answered after it.
        return int.from_bytes(self.message(REGION_READ, struct.pack('<QII', at, 0, 4))[16:], 'big')

    def page(self):
        self.next_page += 4096
        return self.next_page - 4096

    def lay_mailboxes(self, base, length):
        for number in range((max(length - 16, 0) + DATA - 1) // DATA):
            at = base + number * BLOCK
            self.memory[at:at + 576] = bytes(560) + struct.pack(
                '>QI', at + BLOCK, number) + bytes([0, self.token, 0, 0])

    def ring_several(self, commands):
        """Post short ones, in their own slots, with one doorbell. Returns their statuses."""
        for slot, data in enumerate(commands):
            at = QUEUE + slot * ENTRY
            self.memory[at:at + ENTRY] = struct.pack('>B3xIQ', 7, len(data), 0) + \
                data.ljust(16, b'\0') + bytes(16) + struct.pack('>QI', 0, 16) + bytes([0, 0, 0, 1])
        self.bar_write(SEG_DOORBELL, (1 << len(commands)) - 1)
        self.bar_read(0)
        return [self.memory[QUEUE + slot * ENTRY + 32] for slot in range(len(commands))
                if not self.memory[QUEUE + slot * ENTRY + 63] & 1]

    def ring(self, data, out_bytes, token=None):
        self.token = self.token + 1 & 0xff or 1
        self.lay_mailboxes(MAILBOX_IN, len(data))
        self.lay_mailboxes(MAILBOX_OUT, out_bytes)
        for at in range(16, len(data), DATA):
            where = MAILBOX_IN + (at - 16) // DATA * BLOCK
            part = data[at:at + DATA]
            self.memory[where:where + len(part)] = part
        entry = struct.pack('>B3xIQ', 7, len(data), MAILBOX_IN) + data[:16].ljust(16, b'\0') + \
            bytes(16) + struct.pack('>QI', MAILBOX_OUT, out_bytes) + \
            bytes([self.token if token is None else token, 0, 0, 1])
        self.memory[QUEUE:QUEUE + 64] = entry
        self.bar_write(SEG_DOORBELL, 1)
        self.bar_read(0)

    def answered(self):
        return not self.memory[QUEUE + 63] & 1

    def outcome(self):
        """The status of the command posted last."""
        return self.memory[QUEUE + 32]

    def command(self, data, out_bytes=16, token=None):
        """Returns (delivery status, command status, output)."""
        self.ring(data, out_bytes, token)
        entry = self.memory[QUEUE:QUEUE + 64]
        out = entry[32:48]
        for at in range(16, out_bytes, DATA):
            where = MAILBOX_OUT + (at - 16) // DATA * BLOCK
            out += self.memory[where:where + min(DATA, out_bytes - at)]
        return entry[63] >> 1, entry[32], out[:out_bytes]

    def run(self, name, fields=(), rest=b'', layout=None, op_mod=0, out_rest=0):
        """Returns the status; for a successful command its output."""
        data = bytearray(layouts.build((layout or name) + '_in', dict(fields)))
        struct.pack_into('>H4xH', data, 0, layouts.opcodes[name], op_mod)
        delivery, status, out = self.command(
            bytes(data) + rest, layouts.size((layout or name) + '_out') + out_rest)
        return out if not delivery and not status else delivery << 8 | status

    def status(self, *arguments, **named):
        result = self.run(*arguments, **named)
        return result if isinstance(result, int) else OK

    def create(self, name, field, *arguments, **named):
        """Returns the number of the created object."""
        return layouts.field(name + '_out', self.run(name, *arguments, **named), field)

    def give_pages(self):
        return self.status('manage_pages', {'input_num_entries': PAGES}, op_mod=1, rest=b''.join(
            struct.pack('>Q', 0x80000 + 4096 * (i % 16)) for i in range(PAGES)))

    def start(self):
        self.run('enable_hca')
        self.give_pages()
        return self.status('init_hca')
