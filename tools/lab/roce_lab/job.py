# SPDX-License-Identifier: GPL-2.0
"""What the guest is told: the command, its caller, his files, the hosts and their wire."""

import os
import pwd
import resource

from roce_lab.place import Failure

BIN = '/run/roce-lab/bin'
HOSTFILE = '/run/roce-lab/hostfile'
# What leads to processes of the machine outside, or to a folder that is another inside
LEFT_OUT = ('SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY')
# Each host of a lab has its own of these.
OWN_FOLDERS = ('/tmp', '/var/tmp', '/run', '/dev/shm')
# The guest's own, or in memory; nothing there is written through.
NOT_WRITTEN = ('/proc', '/sys', '/dev', '/etc')
# Of Linux, whatever the architecture
RLIM_NLIMITS = 16
UNLIMITED = (1 << 64) - 1


def is_below(path, folder):
    return path == folder or path.startswith(folder.rstrip('/') + '/')


def current_folder(options):
    if options.cwd is not None:
        if not os.path.isdir(options.cwd):
            raise Failure('--cwd %s: no such folder' % options.cwd)
        return os.path.abspath(options.cwd)
    try:
        here = os.getcwd()
    except FileNotFoundError:
        raise Failure('the current folder does not exist any more (--cwd names another)')
    # As the shell calls it, where it came by a symbolic link
    named = os.environ.get('PWD', '')
    try:
        if named.startswith('/') and os.path.samefile(named, here):
            return named
    except OSError:
        pass
    return here


def written_folders(cwd, options):
    """Real paths that are written through, outer ones first."""
    folders = []
    for given in [cwd] + options.rwdir:
        path = os.path.realpath(given)
        if given != cwd and not os.path.isdir(path):
            raise Failure('--rwdir %s: no such folder' % given)
        if path in ('/', '/run') or (any(is_below(path, top) for top in NOT_WRITTEN) and
                                     not is_below(path, '/dev/shm')):
            if given != cwd:
                raise Failure('--rwdir %s: it cannot be written through' % given)
            continue
        folders.append(path)
    return sorted(set(folders))


def overlays(options):
    for given in options.overlay_rwdir:
        path = os.path.realpath(given)
        if not os.path.isdir(path):
            raise Failure('--overlay-rwdir %s: no such folder' % given)
        yield path


def mpi_variables(hosts):
    """How MPI's launchers start what they need on other hosts, and that it is RDMA."""
    agent = BIN + '/lab-rsh'
    variables = {
        'OMPI_MCA_plm_rsh_agent': agent,
        'PRTE_MCA_plm_ssh_agent': agent,
        'HYDRA_LAUNCHER': 'rsh',
        'HYDRA_LAUNCHER_EXEC': agent,
        # There are more ranks than processors.
        'OMPI_MCA_rmaps_base_oversubscribe': '1',
        'OMPI_MCA_hwloc_base_binding_policy': 'none',
        'PRTE_MCA_rmaps_default_mapping_policy': ':oversubscribe',
    }
    if os.getuid() == 0:
        variables.update({'OMPI_ALLOW_RUN_AS_ROOT': '1',
                          'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'})
    if hosts > 1:
        variables.update({
            'OMPI_MCA_orte_default_hostfile': HOSTFILE,
            'PRTE_MCA_prte_default_hostfile': HOSTFILE,
            'HYDRA_HOST_FILE': HOSTFILE,
            # Debian turns UCX off, and Open MPI takes it for some adapters only.
            'OMPI_MCA_pml': 'ucx',
            'OMPI_MCA_osc': 'ucx',
            'OMPI_MCA_opal_common_ucx_devices': 'any',
            'OMPI_MCA_opal_common_ucx_tls': 'any',
        })
    return variables


def environment(options):
    variables = dict(os.environ)
    for name in list(variables):
        if name in LEFT_OUT or name.startswith('DBUS_'):
            del variables[name]
    for name in ('TMPDIR', 'TMP', 'TEMP'):
        value = variables.get(name)
        if value is not None and (not value or
                                  any(is_below(value, folder) for folder in OWN_FOLDERS)):
            del variables[name]
    variables['PATH'] = BIN + ':' + variables.get('PATH', '/usr/bin:/bin')
    for name, value in mpi_variables(options.hosts).items():
        variables.setdefault(name, value)
    return variables


def caller():
    uid = os.getuid()
    try:
        entry = pwd.getpwuid(uid)
        return entry.pw_name, entry.pw_dir
    except KeyError:
        return 'user', os.environ.get('HOME', '/')


def current_umask():
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def limits():
    """The caller's, by number: they are the same in the guest. Memory is locked without one."""
    for number in range(RLIM_NLIMITS):
        if number != resource.RLIMIT_MEMLOCK:
            soft, hard = resource.getrlimit(number)
            yield '%d:%d:%d' % (number, soft & UNLIMITED, hard & UNLIMITED)


def fields(options, command, terminals, window):
    """Pairs of a name and a value, for guest/job.c."""
    cwd = current_folder(options)
    user, home = caller()
    yield 'cwd', cwd
    yield 'uid', os.getuid()
    yield 'gid', os.getgid()
    yield 'groups', ','.join(str(group) for group in os.getgroups())
    yield 'umask', current_umask()
    for limit in limits():
        yield 'limit', limit
    yield 'user', user
    yield 'home', home
    yield 'root', int(options.user == 'root')
    yield 'hosts', options.hosts
    yield 'devices', options.devices
    yield 'driver', options.driver
    yield 'mtu', options.mtu
    yield 'vlan', options.vlan
    for name in ('loss', 'delay', 'rate', 'pcap'):
        value = getattr(options, name)
        if value is not None:
            yield name, value
    yield 'ecn', int(options.ecn)
    if options.tos is not None:
        yield 'tos', options.tos
        yield 'tos_set', 1
    if options.seed is not None:
        yield 'seed', options.seed
        yield 'seed_set', 1
    for name, terminal in zip(('tty_in', 'tty_out', 'tty_err'), terminals):
        yield name, int(terminal)
    if window:
        yield 'window', window
    for setting in options.set:
        yield 'set', setting
    if options.trace is not None:
        yield 'trace', options.trace[0]
    for path in options.module:
        if not os.access(path, os.R_OK):
            raise Failure('--module %s: it cannot be read' % path)
        yield 'module', os.path.realpath(path)
    for path in written_folders(cwd, options):
        yield 'rwdir', path
    for path in overlays(options):
        yield 'overlay', path
    for name, value in environment(options).items():
        yield 'env', '%s=%s' % (name, value)
    for argument in command:
        yield 'arg', argument


def message(pairs):
    """Bytes as they are: names of files need be no text."""
    parts = [b'%s=%s\0' % (name.encode(), value if isinstance(value, bytes) else
                           os.fsencode(str(value))) for name, value in pairs]
    return b''.join(parts) + b'\0'
