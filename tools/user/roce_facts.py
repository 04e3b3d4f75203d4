# SPDX-License-Identifier: GPL-2.0
"""What roce-status knows: gathered from /sys, /proc, rdma, ethtool, dcb and tc."""

import collections
import glob
import ipaddress
import os
import re

import roce_sysfs as roce

IB_HEADER_BYTES = 96		# ib_core subtracts them from a netdev's MTU
PATH_MTUS = (4096, 2048, 1024, 512, 256)
ROCE_V2_PORT = 4791
ROCE_V1_ETHERTYPE = 0x8915
CAP_IPC_LOCK = 14
ADAPTER_DRIVERS = ("mlx4_core", "mlx5_core")
# PCI ids of virtual functions of these adapters (in 6.12): a machine to which one was passed
# does not see the physical function
VIRTUAL_IDS = ("0x1002", "0x1004", "0x1012", "0x1014", "0x1016", "0x1018", "0x101a", "0x101c",
               "0x101e", "0xa2d3")
# Drivers of netdevs whose APP tables accept entries for DSCP only: their ieee_setapp() rejects
# others with EINVAL (in 6.12)
DSCP_ONLY_DRIVERS = ("hns3", "ice", "mlx5_core")
FORCED_FILE = "/etc/roce-hca/forced.conf"	# applied by roce-forced


def number(text):
    return int(text) if text and text.isdigit() else None


def active_mtu(netdev_mtu):
    """As ib_core computes it for RoCE; sysfs does not show it."""
    room = (netdev_mtu or 0) - IB_HEADER_BYTES
    return next((mtu for mtu in PATH_MTUS if mtu <= room), None)


def flow_control(netdev):
    """Pause and PFC; None if the netdev does not report them."""
    pause = roce.command_json("ethtool", "--json", "-a", netdev) or [{}]
    pfc = roce.command_json("dcb", "-j", "pfc", "show", "dev", netdev) or {}
    priorities = pfc.get("prio_pfc")
    return {"pause_rx": pause[0].get("rx"), "pause_tx": pause[0].get("tx"),
            "pfc": priorities and [prio for prio, on in enumerate(priorities)
                                   if on not in (False, "off", 0)]}


def classes(netdev):
    """Traffic classes, DSCPs and trust; {} and None where the netdev's driver has no DCB.

    With iproute2 before 6.2 the trust setting is unknown.
    """
    def shown(what):
        return roce.command_json("dcb", "-j", what, "show", "dev", netdev) or {}

    ets, apps = shown("ets"), shown("app")
    roce_apps = [(apps.get("ethtype_prio"), ROCE_V1_ETHERTYPE),
                 (apps.get("dgram_port_prio"), ROCE_V2_PORT), (apps.get("port_prio"), ROCE_V2_PORT)]
    return {"class_of": ets.get("prio_tc"), "kinds": ets.get("tc_tsa"),
            "shares": ets.get("tc_bw"), "has_apps": bool(ets.get("prio_tc")),
            "dscp": {dscp: prio for dscp, prio in apps.get("dscp_prio", [])},
            "roce": sorted({prio for table, number in roce_apps
                            for what, prio in table or [] if what == number}),
            "trust": shown("apptrust").get("order")}


def receive_ring(netdev):
    """Its size and maximum, or None. ethtool 6.1 has no JSON output for them."""
    sizes = re.findall(r"^RX:\s+(\d+)$", roce.command("ethtool", "-g", netdev) or "", re.MULTILINE)
    return {"most": int(sizes[0]), "now": int(sizes[1])} if len(sizes) == 2 else None


def queues(netdev):
    """Queueing disciplines for transmission."""
    rows = roce.command_json("tc", "-s", "-j", "qdisc", "show", "dev", netdev) or []
    return [{"kind": row.get("kind"), "ecn": bool(row.get("options", {}).get("ecn")),
             "where": "root" if row.get("root") else f"parent {row.get('parent')}",
             "drops": row.get("drops", 0), "packets": row.get("packets", 0)} for row in rows]


def kernel():
    """(major, minor) of this kernel, or None"""
    found = re.match(r"(\d+)\.(\d+)", roce.read("proc/sys/kernel/osrelease") or "")
    return found and tuple(map(int, found.groups()))


def numbers(port, folder):
    """A port's files in it, except those that cannot be read as the device is being removed."""
    found = {name: number(port.read(folder, name)) for name in roce.listing(port.folder, folder)}
    return {name: value for name, value in found.items() if value is not None}


def counters(port):
    """All counters of the driver. Its files are in the device's own namespace only."""
    found = numbers(port, "hw_counters")
    if not found:
        rows = roce.command_json("rdma", "-j", "statistic", "show", "link",
                                 f"{port.device.name}/{port.number}") or [{}]
        found = rows[0]
    return {name: value for name, value in found.items()
            if isinstance(value, int) and name not in ("lifespan", "ifindex", "port")}


def packets(counted):
    """Number of packets received and sent, or None if they are not counted."""
    known = [counted[name] for name in ("rx_packets", "tx_packets") if name in counted]
    return sum(known) if known else None


def unanswered(netdevs):
    """Addresses on these netdevs for which ARP or neighbour discovery got no answer."""
    found = []
    for netdev in netdevs:
        for entry in roce.command_json("ip", "-j", "neigh", "show", "dev", netdev) or []:
            if "FAILED" in entry.get("state", []) or "INCOMPLETE" in entry.get("state", []):
                found.append({"netdev": netdev, "address": entry.get("dst")})
    return found


def names_port(expression):
    """Does a rule or set of nftables name the UDP port? Numbers that it counted do not matter."""
    if isinstance(expression, dict):
        return any(names_port(value) for key, value in expression.items()
                   if key not in ("counter", "handle"))
    if isinstance(expression, list):
        return any(map(names_port, expression))
    return str(expression) == str(ROCE_V2_PORT)


def names_port_in_words(items):
    """A match of iptables, such as multiport, only has its name in JSON."""
    parts = [part for item in items if "rule" in item for part in item["rule"].get("expr", [])]
    if not any(isinstance(part, dict) and "xt" in part for part in parts):
        return False
    words = roce.command("nft", "--stateless", "list", "ruleset") or ""
    return re.search(rf"\b{ROCE_V2_PORT}\b", words) is not None


def drops_the_rest(rules):
    """Does the last one drop or reject whatever comes to it?"""
    verdicts = [part for part in (rules[-1].get("expr", []) if rules else [])
                if not {"counter", "log"} & set(part)]
    return len(verdicts) == 1 and ("drop" in verdicts[0] or "reject" in verdicts[0] or
                                   (verdicts[0].get("xt") or {}).get("name") in ("DROP", "REJECT"))


def blocking_chains():
    """(family, table, name) of the chains of hook input that drop what no rule lets in.

    Empty if any rule names the UDP port.
    """
    items = (roce.command_json("nft", "-j", "list", "ruleset") or {}).get("nftables", [])
    if any(names_port(item.get(kind)) for item in items for kind in ("rule", "set", "map")) or \
            names_port_in_words(items):
        return []
    rules = collections.defaultdict(list)
    for rule in (item["rule"] for item in items if "rule" in item):
        rules[rule["family"], rule["table"], rule["chain"]].append(rule)
    chains = {(chain["family"], chain["table"], chain["name"]): chain.get("policy")
              for chain in (item["chain"] for item in items if "chain" in item)
              if chain.get("hook") == "input"}
    return [chain for chain, policy in chains.items()
            if policy == "drop" or drops_the_rest(rules[chain])]


def pkeys(port):
    """The valid ones; an empty entry reads as 0."""
    values = [port.read("pkeys", index) for index in roce.listing(port.folder, "pkeys")]
    return [value for value in values if value and int(value, 16) & 0x7fff]


def forced(device, port):
    """Rules for the traffic class in their order; 0 means no TTL."""
    rules = (device.read("tc", str(port.number), "traffic_class") or "").splitlines()
    return {"traffic_class": [rule for rule in rules
                              if rule != "Global tclass=-1" and not rule.startswith("#")],
            "ttl": number(device.read("tc", str(port.number), "ttl"))}


def wanted(device, port):
    """(file, value) of the lines of FORCED_FILE for a port, as read by roce-forced."""
    names = ("*", device.name,
             os.path.basename(os.path.realpath(roce.path(device.folder, "device"))))
    lines = [line.split(maxsplit=3) for line in
             (roce.read(FORCED_FILE.lstrip("/")) or "").splitlines()]
    return [words[2:] for words in lines if len(words) == 4 and words[0] in names and
            words[1] in ("*", str(port.number))]


def driver_of(netdev):
    return os.path.basename(os.path.realpath(
        roce.path("sys/class/net", netdev, "device/driver")))


def is_virtual(device):
    """Is it a virtual function's? Its port is that of the physical one."""
    return (os.path.exists(roce.path(device.folder, "device/physfn")) or
            device.driver() in ADAPTER_DRIVERS and device.read("device/device") in VIRTUAL_IDS)


def port_facts(device, port):
    netdev = port.netdev()
    here = bool(netdev) and port.is_here()
    driver = driver_of(netdev) if here else None
    gids = port.gids()
    versions = port.read("roce_versions")	# other drivers do not report them
    netdev_mtu = number(roce.read("sys/class/net", netdev, "mtu")) if here else None
    return {
        "port": port.number, "netdev": netdev, "here": here, "state": port.state(),
        "link": port.link(),
        "rate": port.read("rate"), "netdev_mtu": netdev_mtu, "mtu": active_mtu(netdev_mtu),
        "versions": None if versions is None else versions.split(),
        "gids": [gid._asdict() for gid in gids],
        "gid_room": len(roce.listing(port.folder, "gids")), "pkeys": pkeys(port),
        "forced": forced(device, port), "wanted": wanted(device, port),
        "knows_forced": bool(roce.listing(device.folder, "tc", str(port.number))),
        "counters": counters(port), "own_files": bool(roce.listing(port.folder, "hw_counters")),
        "unanswered": unanswered(sorted({netdev} | {gid.netdev for gid in gids
                                                    if gid.netdev})) if here else [],
        "flow_control": flow_control(netdev) if here else None,
        "classes": classes(netdev) if here else None,
        "ring": receive_ring(netdev) if here else None,
        "queues": queues(netdev) if here else [],
        "cc": numbers(port, "cc"),
        "adapter": driver in ADAPTER_DRIVERS, "virtual": is_virtual(device),
        "apps_of_roce": driver not in DSCP_ONLY_DRIVERS,
    }


def queue_pairs():
    """All queue pairs of this kernel with their drivers' details, or None without rdma.

    This is one dump, not single queries: iproute2 writes broken JSON for those.
    """
    return roce.command_json("rdma", "-j", "-dd", "resource", "show", "qp")


def qp_facts(entry):
    """A queue pair with plain names; in the dump those of drivers are marked."""
    qp = {(name[4:] if name.startswith("drv_") else name).replace("-", "_"): value
          for name, value in entry.items()}
    if "traffic_class" in qp:
        qp["dscp"] = qp["traffic_class"] >> 2
        # The priority of its packets, if the driver does not report it, is the tag's PCP.
        qp.setdefault("priority", qp["sl"] & 7)
    return qp


def same_address(one, other):
    return ipaddress.IPv6Address(one) == ipaddress.IPv6Address(other)


def memlock(pid):
    """Limit and use of pinned memory in bytes; a limit of None means unlimited."""
    status = roce.read("proc", str(pid), "status") or ""
    limits = roce.read("proc", str(pid), "limits") or ""
    limit = re.search(r"^Max locked memory +(\d+)", limits, re.MULTILINE)
    pinned = re.search(r"^VmPin:\s+(\d+) kB", status, re.MULTILINE)
    capabilities = re.search(r"^CapEff:\s+([0-9a-f]+)", status, re.MULTILINE)
    free = capabilities and int(capabilities.group(1), 16) >> CAP_IPC_LOCK & 1
    return {"limit": int(limit.group(1)) if limit and not free else None,
            "pinned": int(pinned.group(1)) << 10 if pinned else 0}


def udp_inodes(port):
    """Inodes of the sockets on a UDP port, in this network namespace."""
    for table in ("udp", "udp6"):
        for line in (roce.read("proc/self/net", table) or "").splitlines()[1:]:
            words = line.split()
            if int(words[1].rsplit(":", 1)[1], 16) == port:
                yield words[9]


def udp_owner():
    """A description of the process that uses the UDP port of RoCE v2."""
    sockets = {f"socket:[{inode}]" for inode in udp_inodes(ROCE_V2_PORT)}
    for fd in glob.glob(roce.path("proc/[0-9]*/fd/*")):
        try:
            if os.readlink(fd) in sockets:
                pid = fd.split("/")[-3]
                return f"process {pid} ({roce.read('proc', pid, 'comm')})"
        except OSError:
            continue
    if os.path.exists(roce.path("sys/module/rdma_rxe")):
        return "perhaps rdma_rxe, which is loaded"
    return "another namespace's process or a kernel module"


def wants_v2():
    return roce.read("sys/module/roce_hca/parameters/roce_mode") in ("2", "4")


def everything(names):
    """Every fact: devices with their ports, and these with their queue pairs."""
    roce.links.cache_clear()
    pairs = queue_pairs()
    found = []
    for device in roce.devices(names):
        ports = [port_facts(device, port) for port in device.ports() if port.is_roce()]
        if not ports:		# InfiniBand, iWARP, or about to be removed
            continue
        by_number = {port["port"]: port for port in ports}
        for entry in pairs or []:
            # Before INIT a queue pair has no port.
            where = by_number.get(entry.get("port", ports[0]["port"]))
            if entry.get("ifname") == device.name and where:
                where.setdefault("qps", []).append(qp_facts(entry))
        found.append({"dev": device.name, "backend": device.backend(),
                      "driver": device.driver(), "fw": device.read("fw_ver"),
                      "desc": device.read("node_desc"), "ports": ports})
    if not found:
        raise roce.Trouble("no RoCE port here")
    return found, pairs is not None
