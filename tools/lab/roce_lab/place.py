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


def programs():
    """The folder with linux, init and modules/."""
    for folder in candidates():
        place = os.path.join(folder, 'base')
        if os.path.exists(os.path.join(place, 'linux')):
            break
    else:
        raise Failure('there is no kernel here; "make lab" in the work tree builds it')
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
