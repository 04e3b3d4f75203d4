# SPDX-License-Identifier: GPL-2.0
"""The command line of roce-lab."""

import os
import signal
import sys

from roce_lab import options
from roce_lab.place import Failure, version

FAILED = 125

USAGE = """\
usage: roce-lab run [OPTION...] [--] COMMAND [ARGUMENT...]
       roce-lab shell [OPTION...]
       roce-lab check
       roce-lab --version

Runs a command in a User-Mode Linux of its own, as who you are, with your files: hosts a,
b, c ... on one switch, each with an RDMA device. Inside, "lab b COMMAND..." runs one on b.

"""


def usage():
    return USAGE + '\n'.join(options.help_lines()) + '\n'


def start(words, shell):
    from roce_lab.run import Run

    chosen, command = options.parse(words)
    if shell:
        if command:
            raise Failure('shell takes no command: roce-lab run does')
        command = [os.environ.get('SHELL') or '/bin/sh']
    elif not command:
        raise Failure('run what? (roce-lab --help)')
    return Run(chosen, command).run()


def act(words):
    if not words or words[0] in ('-h', '--help', 'help'):
        (sys.stdout if words else sys.stderr).write(usage())
        return 0 if words else FAILED
    if words[0] == '--version':
        print(version())
        return 0
    if words[0] in ('run', 'shell'):
        return start(words[1:], words[0] == 'shell')
    if words[0] == 'check' and len(words) == 1:
        from roce_lab import check

        return check.main()
    raise Failure('no command %s (roce-lab --help)' % words[0])


def open_missing_streams():
    """Where one is closed, a pipe of the lab's would have its number."""
    fd = 0
    while fd <= 2:
        fd = os.open('/dev/null', os.O_RDWR)
    os.close(fd)
    # Python has none of its own for those.
    sys.stdout = sys.stdout or open(1, 'w', closefd=False)
    sys.stderr = sys.stderr or open(2, 'w', closefd=False)


def main(words):
    try:
        open_missing_streams()
        status = act(words)
        sys.stdout.flush()
    except BrokenPipeError:
        status = 128 + signal.SIGPIPE
    except Failure as failure:
        print('roce-lab: %s' % failure, file=sys.stderr)
        status = FAILED
    except (OSError, RuntimeError) as error:
        # What the machine does not give: processes, threads, descriptors
        print('roce-lab: the machine refuses something: %s' % error, file=sys.stderr)
        status = FAILED
    # Threads that wait for the caller's input do not end by themselves.
    os._exit(status)
