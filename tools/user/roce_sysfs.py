# SPDX-License-Identifier: GPL-2.0
"""Common to the tools: RDMA devices as /sys shows them, tables, exit codes.

Device names are never assumed: udev rules may have changed them.
"""

import argparse
import collections
import functools
import io
import ipaddress
import json
import os
import signal
import subprocess
import sys

# Tests put a tree of their own here, with sys/ and proc/ below it.
ROOT = os.environ.get("ROCE_ROOT", "/")

# Folders of ethtool, dcb, nft and modprobe: not in the path of users other than root, or after "su"
os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"

Gid = collections.namedtuple("Gid", "index gid type netdev")

SOFTWARE_DRIVERS = {"rxe": "rdma_rxe", "Software iWARP stack": "siw"}	# by node_desc


class Trouble(Exception):
    """Shown to the user; exit status 1."""


def path(*parts):
    return os.path.join(ROOT, *parts)


def read(*parts):
    """The text of a file without its line end, or None if it does not exist."""
    try:
        with open(path(*parts), "rb") as file:
            return os.fsdecode(file.read()).strip()
    except OSError:
        return None


def listing(*parts):
    """Names in a folder, with numbers in numerical order; none if it does not exist."""
    try:
        names = os.listdir(path(*parts))
    except OSError:
        return []
    return sorted(names, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0,
                                           name))


def write(text, *parts):
    """Trouble with the kernel's reason if writing the file fails."""
    try:
        with open(path(*parts), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Trouble(f"{path(*parts)} does not take '{text}': {error.strerror}") from error


def ipv4_of(gid):
    """The IPv4 address contained in a GID, or None."""
    mapped = ipaddress.IPv6Address(gid).ipv4_mapped
    return str(mapped) if mapped else None


def short_address(gid):
    """The address of a GID as people write it."""
    return ipv4_of(gid) or str(ipaddress.IPv6Address(gid))


@functools.lru_cache(maxsize=1)
def links():
    """Netdevs of this namespace by (device, port), or None without rdma."""
    table = command_json("rdma", "-j", "link", "show")
    if table is None:
        return None
    return {(row.get("ifname"), row.get("port")): row.get("netdev") for row in table}


class Port:
    def __init__(self, device, number):
        self.device = device
        self.number = number
        self.folder = os.path.join(device.folder, "ports", str(number))

    def read(self, *parts):
        return read(self.folder, *parts)

    def is_roce(self):
        """Neither InfiniBand nor iWARP, whose devices are no channel adapters"""
        return (self.read("link_layer") == "Ethernet" and
                (self.device.read("node_type") or "1: CA").startswith("1:"))

    def state(self):
        """ACTIVE, DOWN, ..."""
        return (self.read("state") or "0: NA").split(": ")[-1]

    def gids(self):
        """The entries in use. Addresses may be added or removed meanwhile."""
        found = []
        for index in listing(self.folder, "gids"):
            gid = self.read("gids", index)
            if not gid or not int(gid.replace(":", ""), 16):
                continue
            kind = self.read("gid_attrs", "types", index)
            netdev = self.read("gid_attrs", "ndevs", index) or ""
            if kind is None:	# it was removed
                continue
            found.append(Gid(int(index), gid, "v2" if kind.endswith("v2") else "v1", netdev))
        return found

    def netdev(self):
        """The name of the netdev of its first GID, which is the port's own; or ''.

        In this network namespace another netdev may have that name.
        """
        return (self.read("gid_attrs", "ndevs", "0") or
                next((gid.netdev for gid in self.gids() if gid.netdev), "") or
                (self.number == 1 and self.device.read("parent")) or "")

    def is_here(self):
        """Is its netdev in this network namespace?

        The kernel shows an RDMA device in every namespace, and only netlink tells which one
        the netdev is in. Without the rdma command it is assumed to be in this one.
        """
        ports = links()
        if ports is None:
            return os.path.exists(path("sys/class/net", self.netdev()))
        return bool(ports.get((self.device.name, self.number)))

    def link(self):
        """Up, Down, or NA if the netdev is not in this namespace."""
        netdev = self.netdev()
        return carrier(netdev) if netdev and self.is_here() else "NA"


class Device:
    def __init__(self, name):
        self.name = name
        self.folder = os.path.join("sys/class/infiniband", name)

    def read(self, *parts):
        return read(self.folder, *parts)

    def driver(self):
        """The kernel driver of the adapter, or '' if there is no adapter."""
        link = path(self.folder, "device/driver")
        return os.path.basename(os.path.realpath(link)) if os.path.exists(link) else ""

    def backend(self):
        """The datapath: 'hardware' or 'software'."""
        said = self.read("backend")
        if said:		# a device of roce_hca: software, or the kind of adapter
            return "software" if said == "software" else "hardware"
        # The kernel's software drivers set their own node descriptions.
        software = self.read("node_desc") in SOFTWARE_DRIVERS or not self.driver()
        return "software" if software else "hardware"

    def ports(self):
        return [Port(self, int(number)) for number in listing(self.folder, "ports")]


def devices(names=()):
    """Those named, or all."""
    present = listing("sys/class/infiniband")
    for name in names:
        if name not in present:
            raise Trouble(f"no RDMA device {name} here; there is: {' '.join(present) or 'none'}")
    found = [Device(name) for name in names or present]
    if not found:
        raise Trouble("no RDMA device here")
    return found


def only_device(name, option="-d"):
    """The device of that name; without a name, which option gives, the only one."""
    found = devices([name] if name else [])
    if len(found) > 1:
        names = " ".join(device.name for device in found)
        raise Trouble(f"say which device with {option}: {names}")
    return found[0]


def carrier(netdev):
    """Up, Down, or NA if the netdev is not in this namespace."""
    if not os.path.exists(path("sys/class/net", netdev)):
        return "NA"
    return "Up" if read("sys/class/net", netdev, "carrier") == "1" else "Down"


def command(*words):
    """Output of a command, or None if it does not exist or fails."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return os.fsdecode(done.stdout)


def command_json(*words):
    """Likewise, parsed as JSON. iproute2 leaves control characters in names unchanged."""
    try:
        return json.loads(command(*words) or "null", strict=False)
    except ValueError:
        return None


def parser(doc, **options):
    """Arguments that every tool understands; invalid ones end with status 2."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit status: 0 done, 1 trouble or nothing found, 2 wrong usage", **options)


def add_json(args):
    args.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(value):
    print(json.dumps(value, indent=4))


class Screen(io.TextIOWrapper):
    """Names are chosen by others: characters that are no text or control a terminal become '?'."""

    def write(self, text):
        return super().write("".join(char if char.isprintable() or char in "\n\t" else "?"
                                     for char in text))


def run(main):
    """Run a tool's main() and exit with its status."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")	# it was closed
        how = {"encoding": stream.encoding, "line_buffering": stream.line_buffering,
               "write_through": name == "stderr"}
        setattr(sys, name, Screen(stream.detach(), errors="replace", **how))
    try:
        try:
            sys.exit(main() or 0)
        finally:
            sys.stdout.flush()
    except Trouble as trouble:
        print(f"{os.path.basename(sys.argv[0])}: {trouble}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:	# the disk for the output is full, a command does not exist
        print(f"{os.path.basename(sys.argv[0])}: {error.filename or 'output'}: {error.strerror}",
              file=sys.stderr)
        # Output that could not be written is not tried again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
