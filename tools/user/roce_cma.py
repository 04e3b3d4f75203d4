# SPDX-License-Identifier: GPL-2.0
"""rdma_cm's defaults of a port, which are set through configfs: for cma_roce_*.

configfs shows a device once a folder with its name has been created. The settings
are kept by rdma_cm, so the folder may be removed again afterwards.
"""

import contextlib
import fcntl
import os
import subprocess

import roce_sysfs as roce

MOUNT_POINT = "sys/kernel/config"


def is_mounted():
    mounts = (roce.read("proc/self/mounts") or "").splitlines()
    return any(line.split()[1:3] == ["/" + MOUNT_POINT, "configfs"] for line in mounts)


def mount():
    if is_mounted():
        return
    subprocess.run(["modprobe", "-q", "configfs"], check=False)
    if subprocess.run(["mount", "-t", "configfs", "none", "/" + MOUNT_POINT],
                      check=False).returncode:
        raise roce.Trouble("cannot mount configfs")


@contextlib.contextmanager
def locked():
    """Another of these commands waits: it must not remove the folder that this one uses."""
    try:
        lock = os.open(roce.path(MOUNT_POINT, "rdma_cm"), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise roce.Trouble("rdma_cm is not loaded (modprobe rdma_cm)") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def port_folder(device, port):
    """The folder of a port, created, and removed again, if it does not exist."""
    folder = os.path.join(MOUNT_POINT, "rdma_cm", device)
    made = False
    try:
        os.mkdir(roce.path(folder))
        made = True
    except FileExistsError:
        pass
    except OSError as error:
        raise roce.Trouble(f"rdma_cm does not know {device}: {error.strerror}") from error
    try:
        inner = os.path.join(folder, "ports", str(port))
        if not os.path.isdir(roce.path(inner)):
            raise roce.Trouble(f"{device} has no port {port}")
        yield inner
    finally:
        if made:
            os.rmdir(roce.path(folder))


def arguments(doc):
    args = roce.parser(doc)
    args.add_argument("-d", "--device", help="RDMA device (default: the only one)")
    args.add_argument("-p", "--port", type=int, default=1, help="its port (default: 1)")
    return args


def change(options, attribute, value):
    """Write the value, if there is one, and print the current one."""
    device = roce.only_device(options.device)
    if os.geteuid():
        raise roce.Trouble("only root may look into configfs")
    mount()
    with locked(), port_folder(device.name, options.port) as folder:
        if value is not None:
            roce.write(value, folder, attribute)
        now = roce.read(folder, attribute)
    if now is None:
        raise roce.Trouble(f"cannot read {attribute} of {device.name} port {options.port}")
    if options.json:
        roce.print_json({"dev": device.name, "port": options.port, attribute: now})
    else:
        print(now)
