# SPDX-License-Identifier: GPL-2.0
"""pytest plugin: tests that need RDMA run in a lab.

    def test_one(rdma_lab):                     # its own host
        open_device(rdma_lab.device, rdma_lab.gid_index)

    @pytest.mark.rdma_lab(hosts=2)
    def test_two(rdma_hosts):                   # all hosts; the test itself is on the first
        a, b = rdma_hosts
        server = b.popen(['my_server', b.device])
        b.set('loss', '5%')

A session with such tests is run again as a whole inside one lab, so options, breakpoints,
output and coverage work as usual. Without a lab the tests are skipped, with the reason;
with --rdma-lab=require they fail. They are not skipped if a lab ends before its session
does: the status is 125 then.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading

import pytest

FIXTURES = ('rdma_lab', 'rdma_hosts')
FAILED = 125
# The number of a pipe, to which roce-lab writes when the session has started, or has wrong options
STARTED = 'ROCE_LAB_STARTED'
HERE = os.path.dirname(os.path.abspath(__file__))
# A lab has its own, empty ones
OWN_FOLDERS = ('/tmp', '/var/tmp', '/run', '/dev/shm')


def pytest_addoption(parser):
    group = parser.getgroup('rdma_lab')
    group.addoption('--rdma-lab', choices=('auto', 'require', 'off'), default='auto',
                    help='auto: tests that want RDMA are skipped where no lab can be; '
                    'require: they fail; off: no lab is begun')
    parser.addini('rdma_lab_options', 'options of "roce-lab run", such as --loss 1%%',
                  type='args', default=[])


def pytest_configure(config):
    config.addinivalue_line('markers', 'rdma_lab(hosts=N): the test wants a lab of N hosts')
    config.rdma_lab_reason = 'roce-lab: the test is not in a lab'


def inside():
    return 'ROCE_LAB_HOST' in os.environ


def wanted_hosts(items):
    """The largest number that a test requests, or 0."""
    most = 0
    for item in items:
        if not any(name in FIXTURES for name in getattr(item, 'fixturenames', ())):
            continue
        mark = item.get_closest_marker('rdma_lab')
        default = 2 if 'rdma_hosts' in item.fixturenames else 1
        most = max(most, mark.kwargs.get('hosts', default) if mark else default)
    return most


def command():
    """roce-lab from the path, or the one that this plugin belongs to."""
    for beside in ('../../bin/roce-lab', 'roce-lab'):
        path = os.path.normpath(os.path.join(HERE, beside))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which('roce-lab')


def has_root(options):
    """If set, no folder of this machine is written through."""
    return any(option.split('=')[0] == '--root' for option in options)


class Signals:
    """Forward signals that would end this process to the lab, and end only after it has ended."""

    def __init__(self, stack):
        self.lab = None
        self.came = []
        if threading.current_thread() is not threading.main_thread():
            return
        for number, default in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL),
                                (signal.SIGINT, signal.default_int_handler)):
            # Keep signals that are ignored or have a handler.
            if signal.getsignal(number) == default:
                signal.signal(number, self.take)
                stack.callback(signal.signal, number, default)

    def take(self, number, _frame):
        self.came.append(number)
        if self.lab:
            self.lab.send_signal(number)

    def run(self, words, started):
        """Returns its status."""
        if self.came:
            return 128 + self.came[0]
        environment = dict(os.environ, **{STARTED: str(started)})
        with subprocess.Popen(words, env=environment, pass_fds=[started]) as self.lab:
            try:
                # A signal may have come before there was a process to send it to.
                for number in self.came:
                    self.lab.send_signal(number)
                return self.lab.wait()
            except BaseException:
                self.lab.kill()
                raise

    def end_by_same(self, status):
        """Raise the signal again if it has ended the lab."""
        for number in self.came:
            if status in (-number, 128 + number):
                os.kill(os.getpid(), number)


def ends_with_this():
    """Words before a command that end it, with its lab, if this process is killed."""
    words = ['setpriv', '--pdeathsig', 'TERM', '--']
    try:
        # Busybox's does not have that option.
        works = not subprocess.call(words + ['true'], stderr=subprocess.DEVNULL)
    except OSError:
        works = False
    return words if works else []


def shows_this():
    """Options by which the session inside finds this plugin and Python, wherever they are."""
    hidden = {place for place in (HERE, sys.prefix, sys.base_prefix)
              if any(place.startswith(folder + '/') for folder in OWN_FOLDERS)}
    return [word for place in sorted(hidden) for word in ('--rwdir', place)]


def run_again(config, hosts):
    """Run the whole session in a lab: returns its status, or None if there is none."""
    lab = command()
    if not lab:
        config.rdma_lab_reason = 'roce-lab: it is not installed here'
        return None
    words = ends_with_this() + [lab, 'run', '--hosts', str(hosts)]
    options = config.getini('rdma_lab_options')
    words += options + ([] if has_root(options) else shows_this())
    session = ['--cwd', str(config.invocation_params.dir), '--', sys.executable, '-m', 'pytest'] + [
        str(arg) for arg in config.invocation_params.args]
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        signals = Signals(stack)
        ends = os.pipe()
        for end in ends:
            stack.callback(os.close, end)
        status = signals.run(words + session, ends[1])
        # Else its kernel crashed after the start, a capture ran out of space, or its options are wrong.
        if status == FAILED and not select.select(ends[:1], [], [], 0)[0]:
            config.rdma_lab_reason = 'roce-lab: no lab here ("roce-lab check" says why)'
            status = None
    signals.end_by_same(status)
    return status


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    config = session.config
    hosts = wanted_hosts(session.items)
    if not hosts or inside() or config.option.collectonly or config.option.rdma_lab == 'off':
        return
    if 'PYTEST_XDIST_WORKER' in os.environ:
        config.rdma_lab_reason = ('roce-lab: with xdist, run "roce-lab run --hosts %d -- pytest '
                                  '..."' % hosts)
        return
    capture = config.pluginmanager.getplugin('capturemanager')
    if capture:
        capture.suspend_global_capture(in_=True)
    status = run_again(config, hosts)
    if status is not None:
        sys.stdout.flush()
        os._exit(status)
    if capture:
        capture.resume_global_capture()


class Host:
    """A host of the lab, as seen by a test."""

    def __init__(self, name, number, addresses):
        self.name = name
        self.address = addresses[number]
        variables = dict(line.split('=', 1) for line in self.output(['env']).splitlines()
                         if line.startswith('ROCE_LAB_'))
        self.device = variables['ROCE_LAB_DEVICE']
        self.devices = variables['ROCE_LAB_DEVICES'].split()
        self.gid_index = variables.get('ROCE_LAB_GID_INDEX_V2', '0')
        self.gid_index_v1 = variables.get('ROCE_LAB_GID_INDEX_V1')

    def words(self, arguments):
        return ['lab', self.name] + [str(argument) for argument in arguments]

    def run(self, arguments, **options):
        """As subprocess.run(), on this host."""
        return subprocess.run(self.words(arguments), **options)

    def popen(self, arguments, **options):
        return subprocess.Popen(self.words(arguments), **options)

    def output(self, arguments):
        return subprocess.run(self.words(arguments), check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout

    def set(self, what, value=None):
        """Set loss, delay or rate of its cable to a value, or set it up or down."""
        subprocess.run(['lab', 'set', self.name, what] + ([] if value is None else [str(value)]),
                       check=True)

    def fault(self, what, value):
        """Set memlock, the size of memory that its programs may lock."""
        subprocess.run(['lab', 'fault', self.name, '%s=%s' % (what, value)], check=True)

    def unplug(self):
        subprocess.run(['lab', 'unplug', self.name], check=True)

    def counter(self, name, device=None, port=1):
        folder = '/sys/class/infiniband/%s/ports/%d' % (device or self.device, port)
        return int(self.output(['sh', '-c', 'cat "$1"/hw_counters/"$2" 2> /dev/null || '
                                'cat "$1"/counters/"$2"', 'sh', folder, name]))


@pytest.fixture(scope='session')
def all_rdma_hosts(pytestconfig):
    if not inside():
        if pytestconfig.option.rdma_lab == 'require':
            pytest.fail(pytestconfig.rdma_lab_reason, pytrace=False)
        pytest.skip(pytestconfig.rdma_lab_reason)
    names = os.environ['ROCE_LAB_HOSTS'].split()
    addresses = os.environ['ROCE_LAB_ADDRESSES'].split()
    return [Host(name, number, addresses) for number, name in enumerate(names)]


@pytest.fixture
def rdma_hosts(request, all_rdma_hosts):
    """As many hosts as the test's mark requests (default 2); the test runs on the first."""
    mark = request.node.get_closest_marker('rdma_lab')
    hosts = mark.kwargs.get('hosts', 2) if mark else 2
    if len(all_rdma_hosts) < hosts:
        pytest.skip('roce-lab: this lab has %d hosts' % len(all_rdma_hosts))
    return all_rdma_hosts[:hosts]


@pytest.fixture
def rdma_lab(all_rdma_hosts):
    """The host on which the test runs."""
    return all_rdma_hosts[0]
