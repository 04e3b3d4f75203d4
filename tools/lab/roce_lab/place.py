# SPDX-License-Identifier: GPL-2.0
"""Where the parts of a lab are: a kernel, its modules and its pid 1."""

import os


class Failure(Exception):
    """roce-lab itself cannot go on; its text says why in a line."""


def candidates():
    """Folders that may have base/, best first."""
    if os.environ.get('ROCE_LAB_FOLDER'):
        yield os.environ['ROCE_LAB_FOLDER']
        return
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    yield here                                              # as built or installed
    yield os.path.join(here, '..', '..', 'build', 'lab', 'lib', 'roce-lab')  # a work tree


def own_kernel(folder):
    """Of a kernel that the user has built: what tools/lab/build has put beside it."""
    beside = os.path.join(folder, 'roce-lab')
    place = beside if os.path.isdir(beside) else folder
    linux, driver = (os.path.join(place, name) for name in ('linux', 'modules/roce_hca.ko'))
    command = '"tools/lab/build --kernel %s" in the work tree' % folder
    if not os.path.exists(linux) or not os.path.exists(driver):
        raise Failure('--kernel %s: the modules for it are missing: %s builds them' %
                      (folder, command))
    if os.path.getmtime(linux) > os.path.getmtime(driver):
        raise Failure('--kernel %s: the kernel is newer than the modules for it: %s' %
                      (folder, command))
    return place


def packed_kernel(flavour):
    for folder in candidates():
        place = os.path.join(folder, flavour)
        if os.path.exists(os.path.join(place, 'linux')):
            return place
    if flavour == 'debug':
        raise Failure('there is no debug kernel here: it is in roce-lab-debug, and '
                      '"make lab-debug" in the work tree builds it')
    raise Failure('there is no kernel here; "make lab" in the work tree builds it')


def programs(options=None):
    """The folder with linux, init and modules/."""
    if options and options.kernel is not None:
        place = own_kernel(options.kernel)
    else:
        place = packed_kernel('debug' if options and options.debug else 'base')
    for name in ('linux', 'init', 'modules/lab_channel.ko'):
        path = os.path.join(place, name)
        if not os.access(path, os.R_OK):
            raise Failure('%s cannot be read' % path)
    if not os.access(os.path.join(place, 'linux'), os.X_OK):
        raise Failure('%s cannot be executed: is the file system mounted noexec?' %
                      os.path.join(place, 'linux'))
    return os.path.realpath(place)


def version():
    """What "make lab" wrote down: a name and a value a line."""
    for folder in candidates():
        try:
            with open(os.path.join(folder, 'version')) as file:
                return file.read().rstrip('\n')
        except OSError:
            pass
    return 'roce-lab from a work tree in which nothing is built'
