# SPDX-License-Identifier: GPL-2.0
"""The options of "run" and "shell", in one table: argparse would take a third of the time
that is left for Python."""

from roce_lab.place import Failure

MAX_HOSTS = 16
MAX_DEVICES = 4
DRIVERS = ('roce', 'rxe', 'siw')

# Name, words for its values (None: a flag), default ([]: may be given again), help
TABLE = (
    ('--hosts', 'N', 1, 'hosts a, b, c ... on one switch, 1 to 16; the command runs on a'),
    ('--devices', 'N', 1, 'RDMA devices of each host, each on a switch of its own, 1 to 4'),
    ('--driver', 'NAME', 'roce', 'roce, or the in-tree rxe or siw'),
    ('--set', 'NAME=VALUE', [], 'a parameter of the module roce_hca'),
    ('--tos', 'N', None, 'type of service of connections by rdma_cm'),
    ('--loss', 'PART', None, 'of packets that a port of the switch loses, such as 1%'),
    ('--delay', 'TIME', None, 'that a packet takes, such as 1ms'),
    ('--rate', 'RATE', None, 'of a port, such as 1gbit'),
    ('--ecn', None, False, 'packets that --loss chooses are marked instead, where they can'),
    ('--seed', 'N', None, 'the same seed chooses the same packets'),
    ('--mtu', 'BYTES', 4200, 'of the netdevs (4200)'),
    ('--vlan', 'ID', 0, 'addresses are on this VLAN'),
    ('--pcap', 'FILE', None, 'what the switch receives'),
    ('--trace', 'EVENTS FILE', None, "the kernel's trace events, such as 'rhca:*'"),
    ('--cpus', 'N', None, 'processors of the guest, 1 to 4 (2)'),
    ('--memory', 'SIZE', None, 'of the guest at most, such as 512M (1G; with --debug 2G)'),
    ('--user', 'NAME', None, 'root: the command is root of the lab'),
    ('--pwd', None, False, 'the current folder is the same inside: it always is'),
    ('--cwd', 'FOLDER', None, 'the current folder of the command'),
    ('--rwdir', 'FOLDER', [], 'written through, as the current folder is'),
    ('--overlay-rwdir', 'FOLDER', [], 'can be written, in memory'),
    ('--append', 'WORD', [], 'for the command line of the kernel'),
    ('--debug', None, False, 'the kernel with KASAN and lockdep'),
    ('--kernel', 'DIR', None, 'a User-Mode Linux kernel of your own'),
    ('--module', 'FILE.ko', [], 'loaded once the devices are there'),
    ('--gdb', None, False, 'the kernel waits for a debugger before it starts'),
    ('--timeout', 'SECONDS', None, 'end the command after that time (status 124)'),
    ('--verbose', None, False, "show the kernel's log"),
)

NUMBERS = {'--hosts': (1, MAX_HOSTS), '--devices': (1, MAX_DEVICES), '--tos': (0, 255),
           '--seed': (0, 2**32 - 1), '--mtu': (256, 65000), '--vlan': (1, 4094),
           '--cpus': (1, 4), '--timeout': (1, 10**9)}


class Options:
    """An attribute for each row of the table."""

    def __init__(self):
        for name, _word, default, _help in TABLE:
            setattr(self, attribute(name), list(default) if default == [] else default)


def attribute(name):
    return name[2:].replace('-', '_')


def number(name, value):
    least, most = NUMBERS[name]
    if not value.isdecimal() or not least <= int(value) <= most:
        raise Failure('%s %s: a number from %d to %d' % (name, value, least, most))
    return int(value)


def take(options, name, value, default):
    if name in NUMBERS:
        value = number(name, value)
    if name == '--driver' and value not in DRIVERS:
        raise Failure('--driver %s: there are %s' % (value, ', '.join(DRIVERS)))
    if default == []:
        getattr(options, attribute(name)).append(value)
    else:
        setattr(options, attribute(name), value)


def parse(words):
    """Options and what follows them: the first word that is none, or what follows "--"."""
    rows = {row[0]: row for row in TABLE}
    options = Options()
    words = list(words)
    while words and words[0].startswith('-'):
        word = words.pop(0)
        if word == '--':
            break
        name, equals, value = word.partition('=')
        if name not in rows:
            raise Failure('no option %s (roce-lab --help has them)' % name)
        _name, value_word, default, _help = rows[name]
        if value_word is None:
            if equals:
                raise Failure('%s has no value' % name)
            setattr(options, attribute(name), True)
            continue
        values = [value] if equals else []
        while len(values) < len(value_word.split()):
            if not words:
                raise Failure('%s needs a value: %s' % (name, value_word))
            values.append(words.pop(0))
        take(options, name, values if len(values) > 1 else values[0], default)
    check(options)
    return options, words


def check(options):
    if options.set and options.driver != 'roce':
        raise Failure('--set is for the driver roce')
    if options.debug and options.kernel:
        raise Failure('--debug and --kernel: a lab has one kernel')
    if options.driver == 'siw' and options.hosts > 1:
        raise Failure('siw knows no network namespaces, so it has one host')
    if options.ecn and not options.loss:
        raise Failure('--ecn marks what --loss chooses: give --loss, too')


def help_lines():
    for name, word, _default, text in TABLE:
        yield '  %-26s %s' % (name + (' ' + word if word else ''), text)
