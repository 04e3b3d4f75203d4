# SPDX-License-Identifier: GPL-2.0
"""The tools on simulated hosts: adapters, faults and races that no guest has.

Each test creates a tree of /sys and /proc in a folder, puts commands with canned
answers in front of PATH, and runs the tool as users do.
"""

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
TOOLS = os.path.join(TREE, "tools/user")
sys.path.insert(0, TOOLS)
import roce_hints as hints	# pylint: disable=wrong-import-position
import roce_rates as rates	# pylint: disable=wrong-import-position
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
LINK_LOCAL = "fe80:0000:0000:0000:0202:c9ff:fe00:0001"
TEN = "0000:0000:0000:0000:0000:ffff:0a00:0001"

# A connected queue pair as iproute2 6.1 prints it
QP = {"ifindex": 0, "ifname": "roce0", "port": 1, "lqpn": 17, "rqpn": 18, "type": "RC",
      "state": "RTS", "rq-psn": 1, "sq-psn": 2, "path-mig-state": "MIGRATED", "pdn": 1, "pid": 42,
      "comm": "client", "drv_pkey_index": 0, "drv_pkey": 65535, "drv_path_mtu": 1024,
      "drv_timeout": 14, "drv_retry_cnt": 7, "drv_rnr_retry": 6, "drv_sgid": "::ffff:10.0.0.1",
      "drv_dgid": "::ffff:10.0.0.2", "drv_gid_type": "v2", "drv_sgid_index": 3, "drv_sl": 3,
      "drv_traffic_class": 104, "drv_hop_limit": 64, "drv_flow_label": 0, "drv_udp_sport": 50000}


class Host:
    """A folder that represents a host, and the tools run on it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.links = []
        self.put("proc/self/net/udp", "head\n")
        self.put("links", "[]")
        self.put("statistic", "[]")
        self.answer("rdma", "[]")
        for command, text in (("ethtool", "[{}]"), ("dcb", "{}"), ("ip", "[]"), ("nft", "{}"),
                              ("tc", "[]")):
            self.answer(command, text)

    def put(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def link(self, name, target):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.makedirs(os.path.join(self.folder.name, target), exist_ok=True)
        os.symlink(os.path.join(self.folder.name, target), path)

    def answer(self, command, text):
        words = f"cat <<'END'\n{text}\nEND"
        if command == "rdma" and text.startswith("["):	# text is the dump of queue pairs
            words = (f'case "$*" in\n*"link show"*) cat {self.folder.name}/links ;;\n'
                     f'*statistic*) cat {self.folder.name}/statistic ;;\n*) {words}\n;;\nesac')
        self.put(f"bin/{command}", f"#!/bin/sh\n{words}")
        os.chmod(os.path.join(self.folder.name, "bin", command), 0o755)

    def device(self, name, netdev, gids, mtu=1500, **files):
        top, port = f"sys/class/infiniband/{name}", f"sys/class/infiniband/{name}/ports/1"
        for index, gid in enumerate(gids + [NO_GID]):
            self.put(f"{port}/gids/{index}", gid)
            if gid != NO_GID:
                self.put(f"{port}/gid_attrs/types/{index}",
                         "RoCE v2" if index % 2 else "IB/RoCE v1")
                self.put(f"{port}/gid_attrs/ndevs/{index}", netdev)
        for key, text in {"node_desc": "host", "fw_ver": "1.0.0", "ports/1/state": "4: ACTIVE",
                          "ports/1/link_layer": "Ethernet", "ports/1/rate": "10 Gb/sec",
                          "ports/1/pkeys/0": "0xffff", "ports/1/pkeys/1": "0x0000",
                          **files}.items():
            self.put(f"{top}/{key}", text)
        self.links.append({"ifname": name, "port": 1, "netdev": netdev})
        self.put("links", json.dumps(self.links))
        self.put(f"sys/class/net/{netdev}/mtu", str(mtu))
        self.put(f"sys/class/net/{netdev}/carrier", "1")

    def software(self, gids=None, **files):
        self.device("roce0", "eth0", [LINK_LOCAL, LINK_LOCAL, TEN, TEN] if gids is None else gids,
                    **{"backend": "software", "ports/1/roce_versions": "v1 v2", **files})

    def adapter(self, **files):
        self.device("mlx5_0", "ens1", [LINK_LOCAL, LINK_LOCAL, TEN, TEN],
                    **{"device/device": "0x1019", **files})
        self.link("sys/class/infiniband/mlx5_0/device/driver", "sys/bus/pci/drivers/mlx5_core")

    def process(self, pid, limit, pinned_kib, capabilities=0):
        self.put(f"proc/{pid}/limits",
                 f"Max cpu time  unlimited  unlimited  seconds\n"
                 f"Max locked memory         {limit}              {limit}              bytes")
        self.put(f"proc/{pid}/status", f"VmPin:\t{pinned_kib} kB\nCapEff:\t{capabilities:016x}")

    def run(self, tool, *words, said=""):
        environment = {**os.environ, "ROCE_ROOT": self.folder.name,
                       "PATH": f"{self.folder.name}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        done = subprocess.run([sys.executable, os.path.join(TOOLS, tool), *words],
                              env=environment, capture_output=True, text=True, check=False,
                              input=said)
        return done.returncode, done.stdout, done.stderr

    def status(self, *words):
        """Problems that roce-status reports, and its exit status."""
        code, text, errors = self.run("roce-status", "--json", *words)
        return code, json.loads(text)["trouble"] if text else errors


class Findings(unittest.TestCase):
    """Problems that roce-status reports on a host"""

    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.folder.cleanup)

    def finds(self, *patterns):
        code, trouble = self.host.status()
        self.assertEqual(code, 1)
        self.assertEqual(len(trouble), len(patterns), trouble)
        for pattern, words in zip(patterns, trouble):
            self.assertRegex(words, pattern)


class RoceStatus(Findings):

    def test_healthy_host_has_no_trouble(self):
        self.host.software()
        self.assertEqual(self.host.status(), (0, []))

    def test_no_device(self):
        code, _, errors = self.host.run("roce-status")
        self.assertEqual(code, 1)
        self.assertIn("no RDMA device here", errors)

    def test_unknown_device(self):
        self.host.software()
        code, _, errors = self.host.run("roce-status", "mlx5_7")
        self.assertEqual(code, 1)
        self.assertIn("no RDMA device mlx5_7 here; there is: roce0", errors)

    def test_wrong_usage(self):
        self.assertEqual(self.host.run("roce-status", "--nonsense")[0], 2)

    def test_port_without_gid(self):
        self.host.software(gids=[])
        self.finds("^roce0 port 1: no GID")

    def test_port_without_ip_address(self):
        self.host.software(gids=[LINK_LOCAL, LINK_LOCAL])
        self.finds("^roce0 port 1: no GID of an IP address")

    def test_port_down(self):
        self.host.software(**{"ports/1/state": "1: DOWN"})
        self.host.put("sys/class/net/eth0/carrier", "0")
        self.finds("^roce0 port 1: is DOWN: netdev eth0 is Down")

    def test_mtu_too_small_for_anything(self):
        self.host.software(mtu=300)
        self.finds("the MTU of eth0, 300, is too small")

    def counted(self, **counters):
        self.host.software(**{f"ports/1/hw_counters/{name}": str(value)
                              for name, value in counters.items()})

    def test_each_certain_counter_has_a_hint(self):
        for name in hints.CERTAIN:
            with self.subTest(name=name):
                self.setUp()
                self.counted(**{name: 1})
                self.finds(rf"^roce0 port 1: .* \({name} 1\)\. Next: ")

    def test_frequent_counters_are_trouble_when_they_are_many(self):
        for name in hints.FREQUENT:
            with self.subTest(name=name):
                self.setUp()
                self.counted(**{name: 20, "rx_packets": 5000, "tx_packets": 5000})
                self.finds(rf"^roce0 port 1: .* \({name} 20\)\. Next: ")

    def test_shares_are_trouble_when_they_are_large(self):
        for name, (of, _) in hints.SHARES.items():
            with self.subTest(name=name):
                self.setUp()
                self.counted(**{name: 11, of: 1000})
                self.finds(rf"^roce0 port 1: .* \({name} 11 of {of} 1000\)\. Next: ")
                self.setUp()
                self.counted(**{name: 10, of: 1000})
                self.assertEqual(self.host.status(), (0, []))

    def test_what_was_dropped_without_anything_held(self):
        self.counted(rx_held_dropped=1, rx_held=0)
        self.finds(r"\(rx_held_dropped 1 of rx_held 0\)")

    def test_a_few_losses_are_no_trouble(self):
        self.counted(local_ack_timeout_err=3, out_of_sequence=9, tx_dropped=2,
                     rx_packets=9000, tx_packets=9000)
        self.assertEqual(self.host.status(), (0, []))
        self.assertIn("seen: local_ack_timeout_err 3, out_of_sequence 9, tx_dropped 2\n",
                      self.host.run("roce-status")[1])

    def test_hints_name_device_and_netdev(self):
        self.counted(tx_dropped_no_route=1)
        self.finds("Next: ip route get PEER from ADDRESS oif eth0$")

    def test_every_counter_that_is_documented_is_judged(self):
        harmless = {"rx_packets", "rx_bytes", "rx_multicast_packets", "tx_packets", "tx_bytes",
                    "tx_multicast_packets", "rx_write_requests", "rx_read_requests",
                    "rx_atomic_requests", "duplicate_request", "req_cqe_error",
                    "req_cqe_flush_error", "resp_cqe_error", "resp_cqe_flush_error",
                    "np_ecn_marked_roce_packets", "rp_cnp_ignored", "link_downed",
                    "cc_rx_ce_pkts", "cc_rx_cnp_pkts", "rx_ecn_capable_pkts",
                    "rp_cnp_handled", "np_cnp_sent", "roce_adp_retrans", "roce_slow_restart",
                    "rx_held",
                    "roce_slow_restart_cnps", "roce_slow_restart_trans"}
        with open(os.path.join(TREE, "Documentation/counters.rst"),
                  encoding="utf-8") as file:
            table = file.read().split("counter                         counts")[1]
        names = re.findall(r"^([a-z_]+) {2,}\S", table.split("A multicast packet")[0], re.MULTILINE)
        self.assertGreater(len(names), 50)
        for name in names:
            with self.subTest(name=name):
                self.assertNotEqual(hints.known(name), name in harmless)

    def test_full_gid_table(self):
        self.host.software(gids=[LINK_LOCAL, LINK_LOCAL, TEN, TEN])
        os.remove(os.path.join(self.host.folder.name,
                               "sys/class/infiniband/roce0/ports/1/gids/4"))
        self.finds("the GID table is full with 4 entries")

    def test_address_that_nobody_answers_for(self):
        self.host.software()
        self.host.answer("ip", '[{"dst": "10.0.0.9", "state": ["FAILED"]},'
                               ' {"dst": "10.0.0.2", "state": ["REACHABLE"]}]')
        self.finds("nobody answers for 10.0.0.9 on eth0: .*Next: ping 10.0.0.9")

    def firewall(self, rules, policy="drop", table="filter"):
        chain = {"family": "inet", "table": table}
        self.host.answer("nft", json.dumps({"nftables": [
            {"metainfo": {}}, {"chain": {**chain, "name": "input", "hook": "input",
                                         "policy": policy}}] +
            [{"rule": {**chain, "chain": "input", **rule}} for rule in rules]}))

    def test_firewall_that_lets_nothing_in(self):
        self.host.software()
        self.firewall([{"expr": [{"match": {"right": 22}}]}])
        self.finds("chain inet filter input drops .* Next: nft insert rule inet filter input udp "
                   "dport 4791 accept")

    def test_firewall_whose_last_rule_lets_nothing_in(self):
        self.host.software()
        some = {"expr": [{"match": {"right": 22}}, {"accept": None}]}
        for verdict in ({"reject": {"type": "icmpx", "expr": "admin-prohibited"}}, {"drop": None},
                        {"xt": {"type": "target", "name": "REJECT"}}):
            last = {"expr": [{"counter": {"packets": 1, "bytes": 60}}, {"log": None}, verdict]}
            with self.subTest(verdict=verdict):
                self.firewall([some, last], "accept")
                self.finds("chain inet filter input drops .* Next: nft insert rule inet filter ")
        for last in ({"expr": [{"match": {"right": 23}}, {"drop": None}]},
                     {"chain": "other", "expr": [{"drop": None}]}, some):
            with self.subTest(last=last):
                self.firewall([some, last], "accept")
                self.assertEqual(self.host.status(), (0, []))

    def test_firewalld(self):
        self.host.software()
        self.firewall([{"expr": [{"reject": {"type": "icmpx"}}]}], "accept", "firewalld")
        self.finds("chain inet firewalld input drops .* Next: firewall-cmd --add-port=4791/udp$")

    def test_firewall_whose_counters_are_like_the_port(self):
        self.host.software()
        for rule in ({"handle": 4791}, {"expr": [{"counter": {"packets": 4791, "bytes": 1479100}}]},
                     {"expr": [{"match": {"right": 14791}}]}):
            with self.subTest(rule=rule):
                self.firewall([rule])
                self.finds("chain inet filter input drops")

    def test_firewall_that_lets_roce_in(self):
        self.host.software()
        for right in 4791, {"set": [22, 4791]}, {"range": [4791, 4800]}, "4791":
            self.firewall([{"expr": [{"match": {"right": right}}]}])
            self.assertEqual(self.host.status(), (0, []))
        self.host.answer("nft", json.dumps({"nftables": [
            {"chain": {"family": "inet", "table": "filter", "name": "input", "hook": "input",
                       "policy": "drop"}},
            {"set": {"name": "open", "elem": [22, 4791]}}, {"rule": {"expr": ["@open"]}}]}))
        self.assertEqual(self.host.status(), (0, []))
        self.firewall([], "accept")
        self.assertEqual(self.host.status(), (0, []))

    def test_firewall_of_iptables_with_several_ports(self):
        self.host.software()
        self.firewall([{"expr": [{"xt": {"type": "match", "name": "multiport"}},
                                 {"counter": {"packets": 4791, "bytes": 1}}]}])
        with open(os.path.join(self.host.folder.name, "bin/nft"), encoding="utf-8") as file:
            in_json = file.read().split("\n", 1)[1].strip()
        for ports, blocked in ("53, 4791", False), ("53, 14791", True):
            self.host.put("bin/nft", f'#!/bin/sh\ncase "$*" in\n*-j*) {in_json}\n;;\n'
                          f"*stateless*) echo 'udp dport {{ {ports} }} accept' ;;\nesac")
            with self.subTest(ports=ports):
                if blocked:
                    self.finds("chain inet filter input drops")
                else:
                    self.assertEqual(self.host.status(), (0, []))

    def test_netdev_of_another_namespace_with_a_name_of_this_one(self):
        self.host.software()
        self.host.device("roce1", "eth0", [TEN], mtu=9000, **{"backend": "software"})
        self.host.links[1] = {"ifname": "roce1", "port": 1}
        self.host.put("links", json.dumps(self.host.links))
        text = self.host.run("roce-status", "roce1")[1]
        self.assertIn("port 1 on eth0 in another network namespace", text)
        self.assertIn("MTU - (netdev -)", text)
        self.assertEqual(self.host.run("ibdev2netdev")[1],
                         "roce0 port 1 ==> eth0 (Up)\nroce1 port 1 ==> eth0 (NA)\n")
        self.assertEqual(self.host.run("dat_conf")[1].count("ofa-v2-eth0 "), 1)

    def test_driver_whose_files_are_elsewhere(self):
        self.host.software()
        self.host.put("statistic", '[{"ifname": "roce0", "port": 1, "tx_dropped_filtered": 2}]')
        self.finds("tx_dropped_filtered 2")
        self.assertIn("files of the driver (tc/, ttl/, partitions/, hw_counters/) are in the "
                      "network namespace that the device belongs to",
                      self.host.run("roce-status")[1])

    def test_watch_tells_of_what_is_counted_meanwhile(self):
        self.counted(tx_dropped_filtered=7, tx_packets=1000, tx_bytes=1000000)
        code, text, _ = self.host.run("roce-status", "-w", "0.1", "-n", "2")
        self.assertEqual(code, 0, text)
        self.assertEqual(text, "roce0/1: sends 0.0 packets/s 0.0 Mbit/s, receives 0.0 packets/s "
                               "0.0 Mbit/s\n" * 2)

    def test_watch_wants_time(self):
        self.host.software()
        for words in (("-w", "0"), ("-w", "nan"), ("-w", "inf"), ("-w", "1e300"),
                      ("-w", "1", "-n", "0"), ("-w", "1", "-n", "-1"), ("-n", "1")):
            with self.subTest(words=words):
                code, text, errors = self.host.run("roce-status", *words)
                self.assertEqual((code, text), (2, ""))
                self.assertIn("roce-status: error: ", errors)

    def test_rates_are_of_the_time_that_passed(self):
        self.counted(tx_packets=0)
        counter = os.path.join(self.host.folder.name,
                               "sys/class/infiniband/roce0/ports/1/hw_counters/tx_packets")
        # It is slow; packets counted meanwhile belong to the first interval.
        self.host.put("bin/ethtool", f"#!/bin/sh\nsleep 0.5\necho 1000 > {counter}\necho '[{{}}]'")
        text = self.host.run("roce-status", "-w", "0.1", "-n", "1")[1]
        sent = float(re.match(r"roce0/1: sends ([0-9.]+) packets/s", text).group(1))
        self.assertLess(sent, 1000 / 0.6)

    def test_rates(self):
        def devices(**counters):
            return [{"dev": "roce0", "ports": [{"port": 1, "counters": counters}]}]

        grown = rates.growth(devices(tx_packets=100, tx_bytes=0, tx_dropped_filtered=9),
                             devices(tx_packets=300, tx_bytes=1000000, tx_dropped_filtered=3,
                                     rx_packets=50))
        self.assertEqual(list(rates.per_second(grown, 2)), [
            {"dev": "roce0", "port": 1, "tx_packets": 100.0, "rx_packets": 25.0, "tx_mbit": 4.0,
             "rx_mbit": 0.0, "trouble": {"tx_dropped_filtered": 1.5}}])

    def test_udp_port_taken_by_a_process(self):
        self.host.software(**{"ports/1/roce_versions": "v1"})
        self.host.put("sys/module/roce_hca/parameters/roce_mode", "4")
        self.host.put("proc/self/net/udp", "head\n"
                      " 1: 00000000:0035 00000000:0000 07 0:0 00:0 0 0 0 7001 2 0 0\n"
                      " 2: 00000000:12B7 00000000:0000 07 0:0 00:0 0 0 0 7002 2 0 0")
        self.host.put("proc/77/comm", "thief")
        os.makedirs(os.path.join(self.host.folder.name, "proc/77/fd"))
        os.symlink("socket:[7002]", os.path.join(self.host.folder.name, "proc/77/fd/3"))
        self.finds(r"no RoCE v2: UDP port 4791 is taken by process 77 \(thief\)")

    def test_udp_port_taken_by_the_kernels_driver(self):
        self.host.software(**{"ports/1/roce_versions": ""})
        self.host.put("sys/module/roce_hca/parameters/roce_mode", "2")
        self.host.put("sys/module/rdma_rxe/refcnt", "1")
        self.finds("taken by perhaps rdma_rxe")

    def test_v1_only_mode_needs_no_udp_port(self):
        self.host.software(**{"ports/1/roce_versions": "v1"})
        self.host.put("sys/module/roce_hca/parameters/roce_mode", "0")
        self.assertEqual(self.host.status(), (0, []))

    def test_hardware_without_flow_control(self):
        self.host.adapter()
        self.host.answer("ethtool", '[{"ifname": "ens1", "rx": false, "tx": false}]')
        self.host.answer("dcb", '{"prio_pfc": [false, false, false, false]}')
        self.finds("^mlx5_0 port 1: flow control is off: .*Next: dcb pfc set dev ens1 prio-pfc 3:on, ")

    def test_hardware_whose_flow_control_nobody_tells(self):
        self.host.adapter()
        self.host.answer("ethtool", "")
        self.host.answer("dcb", "")
        self.assertEqual(self.host.status(), (0, []))
        self.host.answer("ethtool", '[{"ifname": "ens1", "rx": false, "tx": false}]')
        self.finds("flow control is off")
        del self.host.links[0]["netdev"]	# it is in another network namespace
        self.host.put("links", json.dumps(self.host.links))
        self.assertEqual(self.host.status(), (0, []))

    def test_virtual_function_does_not_know_flow_control(self):
        self.host.adapter(**{"device/device": "0x1018"})
        self.host.answer("ethtool", '[{"ifname": "ens1", "rx": false, "tx": false}]')
        self.assertEqual(self.host.status(), (0, []))
        self.host.put("sys/class/infiniband/mlx5_0/device/device", "0x1019")
        self.finds("flow control is off")
        self.host.put("sys/class/infiniband/mlx5_0/device/physfn/device", "0x1019")
        self.assertEqual(self.host.status(), (0, []))

    def test_hardware_with_pause(self):
        self.host.adapter()
        self.host.answer("ethtool", '[{"ifname": "ens1", "rx": true, "tx": true}]')
        self.assertEqual(self.host.status(), (0, []))

    def test_hardware_with_pfc(self):
        self.host.adapter()
        self.host.answer("dcb", '{"prio_pfc": [false, false, false, true]}')
        self.assertEqual(self.host.status(), (0, []))
        self.assertIn("no pause, PFC of priority 3", self.host.run("roce-status")[1])

    def test_infiniband_port_is_not_judged(self):
        self.host.software()
        self.host.adapter(**{"ports/1/link_layer": "InfiniBand"})
        self.assertEqual(self.host.status(), (0, []))
        self.assertNotIn("mlx5_0", self.host.run("roce-status")[1])

    def test_iwarp_port_is_not_judged(self):
        self.host.software()
        self.host.device("siw0", "eth1", [NO_GID.replace("0000:", "0266:", 1)],
                         node_desc="Software iWARP stack", node_type="4: RNIC")
        os.remove(os.path.join(self.host.folder.name,
                               "sys/class/infiniband/siw0/ports/1/gids/1"))
        self.assertEqual(self.host.status(), (0, []))
        code, _, errors = self.host.run("roce-status", "siw0")
        self.assertEqual((code, errors), (1, "roce-status: no RoCE port here\n"))
        self.assertNotIn("siw0", self.host.run("roce-backend")[1])

    def test_software_on_an_adapters_netdev(self):
        for desc in ("Software iWARP stack", "rxe"):
            self.host.adapter(node_desc=desc)
            row, = json.loads(self.host.run("ibdev2netdev", "--json")[1])
            self.assertEqual(row["backend"], "software")
            self.setUp()

    def test_queue_pair_of_a_device_that_goes(self):
        self.host.software()
        os.makedirs(os.path.join(self.host.folder.name, "sys/class/infiniband/gone/ports"))
        self.host.answer("rdma", '[{"ifname": "gone", "lqpn": 17}]')
        self.assertEqual(self.host.status(), (0, []))

    def test_adapter_served_in_software(self):
        self.host.software()
        self.host.link("sys/class/net/eth0/device/driver", "sys/bus/pci/drivers/mlx5_core")
        self.finds("served in software although eth0 is an adapter's")

    def test_queue_pair_line(self):
        self.host.software()
        self.host.process(42, 1 << 30, 100)
        self.host.answer("rdma", json.dumps([QP]))
        code, text, _ = self.host.run("roce-status")
        row = next(line for line in text.splitlines() if line.strip().startswith("17"))
        self.assertEqual(row.split(), "17 RC RTS 18 10.0.0.2 3 v2 1024 3 3 26 64 0xffff 7 6 14 "
                                      "client 42".split())
        self.assertEqual(code, 0)

    def test_names_of_processes_are_anybodys_to_choose(self):
        self.host.software()
        self.host.process(42, 1 << 30, 100)
        # iproute2 writes text in any encoding unchanged, also into JSON.
        self.host.answer("rdma", json.dumps([{**QP, "comm": "NAME"}]).replace(
            "NAME", "\x1b[2J\x9bm\x01x"))
        code, text, _ = self.host.run("roce-status")
        self.assertEqual(code, 0, text)
        self.assertIn(" ?[2J?m?x 42\n", text)

    def test_names_that_are_no_utf8(self):
        self.host.software()
        top = os.fsencode(os.path.join(self.host.folder.name, "sys/class"))
        os.rename(top + b"/infiniband/roce0", top + b"/infiniband/roce\xff")
        os.rename(top + b"/net/eth0", top + b"/net/eth\xfe")
        folder = top + b"/infiniband/roce\xff/ports/1/gid_attrs/ndevs/"
        for index in os.listdir(folder):
            with open(folder + index, "wb") as file:
                file.write(b"eth\xfe\n")
        with open(os.path.join(self.host.folder.name, "links"), "wb") as file:
            file.write(b'[{"ifname": "roce\xff", "port": 1, "netdev": "eth\xfe"}]')
        os.environ["PYTHONIOENCODING"] = "utf-8:strict"	# as in most locales
        self.addCleanup(os.environ.pop, "PYTHONIOENCODING")
        self.assertEqual(self.host.run("ibdev2netdev"),
                         (0, "roce? port 1 ==> eth? (Up)\n", ""))
        self.assertEqual(self.host.status(), (0, []))
        row, = json.loads(self.host.run("ibdev2netdev", "--json")[1])
        self.assertEqual(os.fsencode(row["dev"]), b"roce\xff")

    def test_queue_pair_whose_mtu_is_more_than_the_ports(self):
        self.host.software()
        self.host.answer("rdma", json.dumps([{**QP, "drv_path_mtu": 4096}]))
        self.finds("QP 17: its path MTU 4096 is more than the port's 1024")

    def test_queue_pair_whose_gid_has_left(self):
        self.host.software(gids=[LINK_LOCAL, LINK_LOCAL, TEN.replace("0001", "0009")])
        self.host.answer("rdma", json.dumps([QP]))
        self.finds("QP 17: its own GID ::ffff:10.0.0.1 has left")

    def test_queue_pair_in_error(self):
        self.host.software()
        self.host.answer("rdma", json.dumps([{**QP, "state": "ERR"}]))
        self.finds("QP 17: is in state ERR")

    def test_queue_pair_of_a_driver_that_tells_nothing(self):
        self.host.software()
        bare = {name: value for name, value in QP.items() if not name.startswith("drv_")}
        self.host.answer("rdma", json.dumps([bare]))
        self.assertEqual(self.host.status(), (0, []))
        self.assertRegex(self.host.run("roce-status")[1], r"17 +RC +RTS +18 +- +- +- ")

    def test_forced_values(self):
        self.host.software(**{"tc/1/traffic_class": "Global tclass=-1", "tc/1/ttl": "0"})
        self.assertNotIn("forced", self.host.run("roce-status")[1])
        self.host.put("sys/class/infiniband/roce0/tc/1/traffic_class",
                      "Global tclass=16\ntclass=8,src_ip=10.0.0.1")
        self.host.put("sys/class/infiniband/roce0/tc/1/ttl", "5")
        text = self.host.run("roce-status")[1]
        self.assertIn("forced traffic class: Global tclass=16; tclass=8,src_ip=10.0.0.1\n", text)
        self.assertIn("forced TTL: 5\n", text)

    def test_forced_values_that_the_driver_does_not_know(self):
        self.host.adapter(**{"ports/1/hw_counters/lifespan": "10"})
        self.host.put("etc/roce-hca/forced.conf",
                      "# DEVICE PORT FILE VALUE\n\nmlx5_0 * traffic_class 104\n"
                      "mlx5_1 1 ttl 7\n* 1 traffic_class tclass=8,dst_ip=10.1.0.0/16")
        wrong = [words for words in self.host.status()[1] if "forced.conf" in words]
        self.assertEqual(len(wrong), 1, wrong)
        self.assertRegex(wrong[0], r"^mlx5_0 port 1: a traffic class is set in /etc/roce-hca/"
                         r"forced.conf \(104; tclass=8,dst_ip=10.1.0.0/16\), and the driver knows")

    def test_forced_values_that_the_driver_knows(self):
        self.host.adapter(**{"ports/1/hw_counters/lifespan": "10", "tc/1/traffic_class": "-1"})
        self.host.put("etc/roce-hca/forced.conf", "* * traffic_class 104")
        self.assertNotIn("forced.conf", str(self.host.status()))

    def test_forced_values_of_another_namespace(self):
        self.host.adapter()
        self.host.put("etc/roce-hca/forced.conf", "* * traffic_class 104")
        self.assertNotIn("forced.conf", str(self.host.status()))

    def test_no_rdma_command(self):
        self.host.software()
        self.host.answer("rdma", "broken [")
        self.finds("the command rdma")

    def test_memlock_is_low(self):
        self.host.software()
        self.host.process(42, 8 << 20, 100)
        self.host.answer("rdma", json.dumps([QP]))
        self.finds(r"memlock of process 42 \(client\) is low: 8192 KiB, 100 KiB in use")

    def test_memlock_nearly_used_up(self):
        self.host.software()
        self.host.process(42, 128 << 20, 110 << 10)
        self.host.answer("rdma", json.dumps([QP]))
        self.finds("memlock of process 42")

    def test_memlock_does_not_bind_the_privileged(self):
        self.host.software()
        self.host.process(42, 8 << 20, 100, capabilities=1 << 14)
        self.host.answer("rdma", json.dumps([QP]))
        self.assertEqual(self.host.status(), (0, []))


CNP_FILES = {"enable": 1, "np_cnp_dscp": 48, "np_cnp_prio": 6, "np_cnp_prio_mode": 0,
             "rp_min_rate": 10}

# As "dcb -j" prints pfc, ets, app and apptrust: priority 3 with DSCP 26 is for RoCE
DCB = {"prio_pfc": [False, False, False, True, False, False, False, False],
       "tc_bw": [50, 50, 0, 0, 0, 0, 0, 0],
       "tc_tsa": ["ets", "ets", "strict", "strict", "strict", "strict", "strict", "strict"],
       "prio_tc": [0, 0, 0, 1, 0, 0, 2, 0], "dscp_prio": [[26, 3], [48, 6]],
       "dgram_port_prio": [[4791, 3]], "order": ["dscp", "pcp"]}
RING = """Ring parameters for eth0:
Pre-set maximums:
RX:		%d
RX Mini:	n/a
TX:		4096
Current hardware settings:
RX:		%d
RX Mini:	n/a
TX:		256"""


class Congestion(Findings):
    """Each hint appears for its fact, and not for a similar one."""

    def port(self, dcb=None, qp=None, counters=None, **cc):
        """A software port without problems, but for the arguments"""
        self.host.software(**{f"ports/1/cc/{name}": str(value)
                              for name, value in {**CNP_FILES, **cc}.items()},
                           **{f"ports/1/hw_counters/{name}": str(value)
                              for name, value in (counters or {}).items()})
        if dcb is not None:
            self.host.answer("dcb", json.dumps({**DCB, **dcb}))
        if qp is not None:
            self.host.answer("rdma", json.dumps([{**QP, "drv_priority": 3, **qp}]))

    def is_well(self):
        self.assertEqual(self.host.status(), (0, []))

    def test_everything_as_it_should_be(self):
        self.port(dcb={}, qp={})
        self.is_well()

    def test_pfc_is_off_on_the_priority_in_use(self):
        self.port(dcb={}, qp={"drv_priority": 4})
        self.finds("PFC is off on priority 4, which RoCE uses, and on for 3. "
                   "Next: dcb pfc set dev eth0 prio-pfc 4:on; the same at the switch$")

    def test_no_priority_is_given_beside_a_lossless_one(self):
        self.port(dcb={}, qp={"drv_priority": 0})
        self.finds("PFC is off on priority 0.*Next: dcb app add dev eth0 ethtype-prio 0x8915:3 "
                   "dgram-port-prio 4791:3;")

    def test_no_priority_where_the_app_table_takes_none_for_roce(self):
        for dscps, tclass in (([[26, 3]], 104), ([[8, 3], [24, 2], [48, 6]], 96), ([], 96)):
            with self.subTest(dscps=dscps):
                self.setUp()
                self.host.link("sys/class/net/eth0/device/driver", "sys/bus/pci/drivers/mlx5_core")
                self.port(dcb={"dscp_prio": dscps}, qp={"drv_priority": 0, "drv_traffic_class": 0})
                self.finds("is served in software", "PFC is off on priority 0.*Next: "
                           f"echo {tclass} > /sys/class/infiniband/roce0/tc/1/traffic_class;")

    def test_pfc_is_off_on_the_priority_of_the_app_table(self):
        self.port(dcb={"dgram_port_prio": [[4791, 5], [53, 3]]})
        self.finds("PFC is off on priority 5")

    def test_a_network_without_pfc_is_no_trouble_for_software(self):
        self.port(dcb={"prio_pfc": [False] * 8}, qp={"drv_priority": 4})
        self.is_well()

    def test_class_without_a_share(self):
        self.port(dcb={"tc_bw": [100, 0, 0, 0, 0, 0, 0, 0]}, qp={})
        self.finds("priority 3, .* is in traffic class 1, whose ETS share is 0. "
                   "Next: dcb ets set dev eth0 tc-bw 0:50 1:50$")

    def test_strict_class_needs_no_share(self):
        self.port(dcb={"tc_bw": [100, 0, 0, 0, 0, 0, 0, 0], "tc_tsa": ["ets"] + ["strict"] * 7},
                  qp={})
        self.is_well()

    def test_dscp_is_not_trusted(self):
        self.port(dcb={"order": ["pcp"]}, qp={})
        self.finds("eth0 does not trust DSCP: .*Next: dcb apptrust set dev eth0 order dscp$")

    def test_pcp_is_enough_in_a_vlan(self):
        self.port(dcb={"order": ["pcp"]}, qp={"drv_vlan": 5})
        self.is_well()

    def test_iproute2_that_knows_no_trust(self):
        self.port(dcb={"order": None}, qp={})
        self.is_well()

    def test_dscp_without_a_priority(self):
        self.port(dcb={"dscp_prio": [[48, 6]]}, qp={})
        self.finds("no priority is known for DSCP 26, .*Next: dcb app add dev eth0 dscp-prio 26:3$")

    def test_dscp_0_needs_no_priority(self):
        self.port(dcb={"dscp_prio": [[48, 6]]}, qp={"drv_traffic_class": 0})
        self.is_well()

    def test_cnps_are_lossless(self):
        self.port(dcb={}, qp={}, np_cnp_prio=3)
        self.finds("CNPs have priority 3, which is lossless: .*"
                   "Next: echo 6 > /sys/class/infiniband/roce0/ports/1/cc/np_cnp_prio$")

    def test_cnps_have_the_priority_of_data(self):
        self.port(qp={"drv_priority": 6})
        self.finds("CNPs have priority 6, and so the class of data. Next: echo 7 > .*/np_cnp_prio$")

    def test_cnps_have_the_class_of_data(self):
        self.port(dcb={"prio_tc": [0, 0, 0, 1, 0, 2, 1, 1]}, qp={})
        self.finds("CNPs have priority 6, and so the class of data. Next: echo 5 > .*/np_cnp_prio$")

    def test_one_class_for_everything_is_no_choice(self):
        self.port(dcb={"prio_tc": [0] * 8}, qp={})
        self.is_well()

    def test_cnps_follow_data(self):
        self.port(np_cnp_prio_mode=1)
        self.finds("CNPs have the priority of data, .*Next: echo 0 > .*/np_cnp_prio_mode$")

    def test_cnps_have_the_dscp_of_data(self):
        self.port(qp={}, np_cnp_dscp=26)
        self.finds("CNPs have DSCP 26, as data has.*Next: echo 48 > .*/np_cnp_dscp$")

    def test_files_that_cannot_be_read(self):
        for name in CNP_FILES:	# the device is being removed, or the firmware rejects it
            for text in "", "none":
                with self.subTest(name=name, text=text):
                    self.setUp()
                    self.port(dcb={}, qp={}, **{name: text})
                    self.is_well()

    def test_dscp_of_cnps_is_lossless(self):
        self.port(dcb={"dscp_prio": [[26, 3], [48, 3]]}, qp={})
        self.finds("DSCP 48, which CNPs have, has the lossless priority 3. "
                   "Next: dcb app replace dev eth0 dscp-prio 48:6$")

    def test_no_cnps_no_trouble_with_them(self):
        self.port(dcb={}, qp={}, np_cnp_prio=3, np_cnp_dscp=26, enable=0)
        self.is_well()

    def test_small_ring(self):
        self.port()
        self.host.answer("ethtool", RING % (8192, 1023))
        self.finds("eth0 has room for 1023 received packets.*Next: ethtool -G eth0 rx 4096$")

    def test_ring_that_is_large_or_cannot_be_larger(self):
        for most, now in (4096, 1024), (256, 256):
            with self.subTest(now=now):
                self.setUp()
                self.port()
                self.host.answer("ethtool", RING % (most, now))
                self.is_well()

    def queue(self, *rows, **cc):
        self.setUp()
        self.port(**cc)
        self.host.answer("tc", json.dumps([{"root": True, "packets": 1000, "drops": 0, **row}
                                           for row in rows]))

    def test_queue_that_could_mark(self):
        for kind, mend in (("codel", "change dev eth0 root codel ecn$"),
                           ("red", "replace dev eth0 root red with ecn, the rest as it is$")):
            with self.subTest(kind=kind):
                self.queue({"kind": kind, "options": {}})
                self.finds(f"the queue {kind} of eth0 drops .*Next: tc qdisc {mend}")

    def test_queue_that_marks(self):
        self.queue({"kind": "fq_codel", "options": {"ecn": True}, "drops": 500})
        self.is_well()

    def test_queue_that_drops(self):
        child = {"kind": "pfifo_fast", "root": None, "parent": ":1", "drops": 2}
        self.queue({"kind": "mq", "drops": 4}, child, {**child, "parent": ":2"})
        self.finds("the queue pfifo_fast of eth0 drops .*Next: sysctl "
                   "net.core.default_qdisc=fq_codel; tc qdisc replace dev eth0 root mq$")
        self.queue({"kind": "tbf"}, {**child, "kind": "pfifo", "parent": "1:1"})
        self.finds("Next: tc qdisc replace dev eth0 parent 1:1 fq_codel$")

    def test_queue_that_hardly_drops(self):
        self.queue({"kind": "pfifo_fast", "drops": 1})
        self.is_well()

    def test_queue_where_nothing_is_ecn_capable(self):
        self.queue({"kind": "codel"}, enable=0)
        self.is_well()

    def marks(self, marked, sent, **cc):
        self.setUp()
        self.port(counters={"np_ecn_marked_roce_packets": marked, "np_cnp_sent": sent}, **cc)

    def test_marks_without_cnps(self):
        self.marks(7, 0, enable=0)
        self.finds(r"no CNP was sent, since cc/enable is 0 \(np_ecn_marked_roce_packets 7, "
                   r"np_cnp_sent 0\)\. Next: echo 1 > .*/cc/enable$")
        self.marks(7, 0)
        self.finds("since none of them was for a connected queue pair .*Next: rdma resource show")

    def test_marks_with_cnps(self):
        for marked, sent in (7, 1), (0, 0):
            with self.subTest(marked=marked):
                self.marks(marked, sent)
                self.is_well()

    def test_marks_where_nobody_counts_cnps(self):
        self.port(counters={"np_ecn_marked_roce_packets": 7})
        self.is_well()

    def lost(self, again, handled, **cc):
        self.setUp()
        self.port(counters={"tx_packets": 1000, "tx_retransmitted_packets": again,
                            "rp_cnp_handled": handled}, **cc)

    def test_peer_that_answers_no_marks(self):
        self.lost(11, 0)
        self.finds("packets are sent again", "no peer has sent a CNP .*Next: .*; where it marks, "
                   "echo 0 > /sys/class/infiniband/roce0/ports/1/cc/enable$")

    def test_peer_that_answers_marks(self):
        self.lost(11, 1)
        self.finds("packets are sent again")
        self.lost(11, 0, enable=0)
        self.finds("packets are sent again")
        self.lost(10, 0)
        self.is_well()

    def test_rate_at_its_least(self):
        self.port(qp={"drv_rate": 10})
        self.finds("CNPs have slowed 1 queue pairs down to rp_min_rate, 10 Mbit/s, QP 17 .*"
                   "Next: np_cnp_sent at the peer")

    def test_rate_above_its_least(self):
        self.port(qp={"drv_rate": 11})
        self.is_well()

    def rxe(self, release):
        self.host.device("rxe0", "eth0", [TEN, TEN], node_desc="rxe")
        self.host.put("proc/sys/kernel/osrelease", release)

    def test_old_rxe_takes_cnps_for_acknowledgements(self):
        self.rxe("5.10.0-33-amd64")
        self.finds("rdma_rxe of kernel 5.10 takes a CNP for an acknowledgement.*cc/enable$")

    def test_newer_rxe_knows_cnps(self):
        self.rxe("5.12.0")
        self.is_well()

    def test_old_kernel_with_other_devices(self):
        self.port()
        self.host.put("proc/sys/kernel/osrelease", "5.10.0-33-amd64")
        self.is_well()


class RoceForced(unittest.TestCase):
    """The program that the udev rule of the patched mlx5_ib calls"""
    FILE = ("# DEVICE PORT FILE VALUE\n* * ttl 7\n0000:3b:00.0 1 traffic_class 104\n"
            "0000:3b:00.1 1 traffic_class 8")

    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.folder.cleanup)
        self.host.answer("logger", "")
        self.host.put("etc/roce-hca/forced.conf", self.FILE)
        for number in (0, 1):
            self.host.link(f"sys/class/infiniband/mlx5_{number}/device",
                           f"sys/devices/0000:3b:00.{number}")
            self.host.put(f"sys/class/infiniband/mlx5_{number}/ports/1/state", "4: ACTIVE")
            self.values(number, "-1", "0")

    def values(self, number, tclass, ttl):
        self.host.put(f"sys/class/infiniband/mlx5_{number}/tc/1/traffic_class", tclass)
        self.host.put(f"sys/class/infiniband/mlx5_{number}/tc/1/ttl", ttl)

    def apply(self, *words):
        done = subprocess.run([os.path.join(TREE, "tools/mlx5_ib/roce-forced"), "apply", *words],
                              env={"ROCE_ROOT": self.host.folder.name,
                                   "PATH": f"{self.host.folder.name}/bin:/usr/bin:/bin"},
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def found(self, number):
        texts = []
        for name in ("traffic_class", "ttl"):
            with open(os.path.join(self.host.folder.name, "sys/class/infiniband",
                                   f"mlx5_{number}/tc/1", name), encoding="utf-8") as file:
                texts.append(file.read().strip())
        return texts

    def test_one_adapter(self):
        self.assertEqual(self.apply("0000:3b:00.0"), (0, ""))
        self.assertEqual(self.found(0), ["104", "7"])
        self.assertEqual(self.found(1), ["-1", "0"])

    def test_all_adapters(self):
        self.assertEqual(self.apply(), (0, ""))
        self.assertEqual([self.found(0), self.found(1)], [["104", "7"], ["8", "7"]])

    def test_last_line_without_an_end(self):
        path = os.path.join(self.host.folder.name, "etc/roce-hca/forced.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("* * ttl 7\n* * traffic_class 104")
        self.assertEqual(self.apply(), (0, ""))
        self.assertEqual(self.found(0), ["104", "7"])

    def test_driver_that_knows_none(self):
        folder = os.path.join(self.host.folder.name, "sys/class/infiniband/mlx5_0/tc/1")
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        code, said = self.apply("0000:3b:00.0")
        self.assertEqual(code, 1)
        self.assertIn("mlx5_0: traffic_class 104 is wanted, and its driver has no forced values",
                      said)

    def test_nothing_wanted(self):
        os.remove(os.path.join(self.host.folder.name, "etc/roce-hca/forced.conf"))
        self.assertEqual(self.apply(), (0, ""))
        self.assertEqual(self.found(0), ["-1", "0"])

    def test_a_line_that_is_none(self):
        self.host.put("etc/roce-hca/forced.conf", "* * tclass 104")
        code, said = self.apply("0000:3b:00.0")
        self.assertEqual(code, 1)
        self.assertIn("'tclass' is no file of forced values", said)


class CompatGid(unittest.TestCase):
    """The formula; addresses computed by hand from the MAC's bytes."""

    CASES = (
        ("00:02:c9:01:02:03", None, "fe80::202:c9ff:fe01:203"),
        ("00:02:c9:01:02:03", 7, "fe80::202:c900:701:203"),
        ("00:02:c9:01:02:03", 258, "fe80::202:c901:201:203"),
        ("00:02:c9:01:02:03", 4094, "fe80::202:c90f:fe01:203"),
        ("02:00:00:00:00:01", None, "fe80::ff:fe00:1"),
        ("ff:ff:ff:ff:ff:ff", 1, "fe80::fdff:ff00:1ff:ffff"),
    )

    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.folder.cleanup)

    def bond(self, policy):
        self.host.put("sys/class/net/bond0/type", "1")
        self.host.put("sys/class/net/bond0/address", "00:02:c9:00:00:0b")
        self.host.put("sys/class/net/bond0/bonding/fail_over_mac", policy)
        self.host.put("sys/class/net/bond0/bonding/slaves", "eth1 eth2")
        self.host.put("sys/class/net/eth1/address", "00:02:c9:00:00:01")
        self.host.put("sys/class/net/eth2/address", "00:02:c9:00:00:02")
        self.host.put("proc/sys/net/ipv6/conf/bond0/disable_ipv6", "0")

    def test_formula(self):
        tool = runpy.run_path(os.path.join(TOOLS, "compat_gid_gen"))
        for mac, vlan, address in self.CASES:
            with self.subTest(mac=mac, vlan=vlan):
                self.assertEqual(tool["compat_address"](mac, vlan), address)

    def test_bond_with_one_mac(self):
        self.bond("none 0")
        self.assertEqual(self.host.run("compat_gid_gen", "-d", "bond0", "-n")[:2],
                         (0, "ip -6 addr add fe80::202:c9ff:fe00:b/64 dev bond0\n"))

    def test_bond_whose_members_keep_theirs(self):
        self.bond("active 1")
        self.assertEqual(self.host.run("compat_gid_gen", "-d", "bond0", "-n")[:2],
                         (0, "ip -6 addr add fe80::202:c9ff:fe00:1/64 dev bond0\n"
                             "ip -6 addr add fe80::202:c9ff:fe00:2/64 dev bond0\n"))

    def test_example_of_the_manual_page(self):
        self.host.put("sys/class/net/eth0/type", "1")
        self.host.put("sys/class/net/eth0/address", "00:02:c9:00:00:01")
        self.host.put("proc/sys/net/ipv6/conf/eth0/disable_ipv6", "0")
        with open(os.path.join(TREE, "Documentation/man/compat_gid_gen.8"), encoding="utf-8") as page:
            words, text = re.search(r"^# compat_gid_gen (.*)\n((?:ip .*\n)+)", page.read(),
                                    re.MULTILINE).groups()
        self.assertEqual(self.host.run("compat_gid_gen", *words.split()), (0, text, ""))

    def test_member_that_has_gone(self):
        self.bond("active 1")
        os.remove(os.path.join(self.host.folder.name, "sys/class/net/eth2/address"))
        code, _, errors = self.host.run("compat_gid_gen", "-d", "bond0", "-n")
        self.assertEqual((code, errors), (1, "compat_gid_gen: netdev eth2 has no address\n"))

    def test_ipv6_is_switched_on(self):
        self.bond("none 0")
        self.host.put("proc/sys/net/ipv6/conf/bond0/disable_ipv6", "1")
        self.assertIn("sysctl -q -w net.ipv6.conf.bond0.disable_ipv6=0\n",
                      self.host.run("compat_gid_gen", "-d", "bond0", "-n")[1])

    def test_wrong_usage(self):
        for words in ((), ("-d", "eth0", "-v", "0"), ("-d", "eth0", "-v", "4095"),
                      ("-d", "eth0", "-v", "1", "-V", "1"), ("-d", "eth0", "-v", "x")):
            with self.subTest(words=words):
                self.assertEqual(self.host.run("compat_gid_gen", *words)[0], 2)

    def test_no_such_netdev(self):
        code, _, errors = self.host.run("compat_gid_gen", "-d", "eth7")
        self.assertEqual(code, 1)
        self.assertIn("no Ethernet netdev eth7", errors)


class Tables(unittest.TestCase):
    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.folder.cleanup)

    def test_ibdev2netdev_of_an_adapter(self):
        self.host.adapter()
        vpd = b"\x82\x05\x00Model\x90\x10\x00PN\x0cMCX556A-ECATSN\x01X\x78"
        path = os.path.join(self.host.folder.name, "sys/class/infiniband/mlx5_0/device/vpd")
        with open(path, "wb") as file:
            file.write(vpd)
        self.assertEqual(self.host.run("ibdev2netdev")[:2], (0, "mlx5_0 port 1 ==> ens1 (Up)\n"))
        self.assertEqual(self.host.run("ibdev2netdev", "-v")[1],
                         "- mlx5_0 (MT4121 - MCX556A-ECAT) host fw 1.0.0 port 1 (ACTIVE) ==> "
                         "ens1 (Up)\n")

    def test_ibdev2netdev_of_software_on_an_adapters_netdev(self):
        self.host.adapter(backend="software")	# its parent is that of the netdev
        self.assertEqual(self.host.run("ibdev2netdev", "-v")[1],
                         "- mlx5_0 (NA - NA) host fw 1.0.0 port 1 (ACTIVE) ==> ens1 (Up)\n")

    def test_ibdev2netdev_where_the_netdev_is_elsewhere(self):
        self.host.software()
        os.rename(os.path.join(self.host.folder.name, "sys/class/net/eth0"),
                  os.path.join(self.host.folder.name, "sys/class/net/eth9"))
        self.assertEqual(self.host.run("ibdev2netdev")[1], "roce0 port 1 ==> eth0 (NA)\n")

    def test_show_gids_columns(self):
        self.host.software()
        code, text, _ = self.host.run("show_gids", "roce0")
        lines = text.splitlines()
        self.assertEqual(code, 0)
        self.assertEqual(lines[0].split(), "DEV PORT INDEX GID IPv4 VER NETDEV".split())
        self.assertEqual([cell.strip() for cell in lines[5].split("\t")],
                         ["roce0", "1", "3", TEN, "10.0.0.1", "v2", "eth0"])
        self.assertEqual([cell.strip() for cell in lines[2].split("\t")],
                         ["roce0", "1", "0", LINK_LOCAL, "", "v1", "eth0"])
        self.assertEqual(lines[-1], "n_gids_found=4")

    def test_closed_streams(self):
        self.host.software()
        for words, closed, status in (("--nonsense", "2>&-", 2), ("mlx5_7", "2>&-", 1),
                                      ("roce0", ">&-", 0), ("--help", ">&-", 0)):
            with self.subTest(words=words):
                done = subprocess.run(
                    f"{sys.executable} {TOOLS}/show_gids {words} {closed}", shell=True, text=True,
                    env={**os.environ, "ROCE_ROOT": self.host.folder.name},
                    capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", ""))

    def test_output_that_cannot_be_written(self):
        self.host.software()
        for words in (["show_gids"], ["show_gids", "--help"], ["roce-status", "--json"]):
            for buffered in ("", "1"):
                with self.subTest(words=words, buffered=buffered), \
                        open("/dev/full", "w", encoding="utf-8") as full:
                    done = subprocess.run(
                        [sys.executable, os.path.join(TOOLS, words[0]), *words[1:]],
                        env={**os.environ, "ROCE_ROOT": self.host.folder.name,
                             "PYTHONUNBUFFERED": buffered},
                        stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                    self.assertEqual((done.returncode, done.stderr),
                                     (1, f"{words[0]}: output: No space left on device\n"))

    def test_commands_in_sbin_are_found(self):
        # The path of users other than root, and of "su" without "-"
        words = "import roce_sysfs; print(roce_sysfs.command('ldconfig', '--version'))"
        done = subprocess.run([sys.executable, "-c", words], env={"PATH": "/usr/bin:/bin"},
                              cwd=TOOLS, capture_output=True, text=True, check=True)
        self.assertIn("ldconfig", done.stdout)

    def test_show_gids_without_gids(self):
        self.host.software(gids=[])
        code, text, _ = self.host.run("show_gids", "--json")
        self.assertEqual((code, json.loads(text)), (1, []))

    def test_indices_are_in_numeric_order(self):
        self.host.software(gids=[TEN] * 12)
        rows = json.loads(self.host.run("show_gids", "--json")[1])
        self.assertEqual([row["index"] for row in rows], list(range(12)))

    def test_gid_that_goes_meanwhile(self):
        self.host.software()
        for attribute in "types", "ndevs":
            os.remove(os.path.join(self.host.folder.name, "sys/class/infiniband/roce0/ports/1",
                                   "gid_attrs", attribute, "3"))
        rows = json.loads(self.host.run("show_gids", "--json")[1])
        self.assertEqual([row["index"] for row in rows], [0, 1, 2])

    def test_dat_conf(self):
        self.host.software()
        self.assertEqual(self.host.run("dat_conf")[:2], (0, (
            'ofa-v2-eth0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth0 1" ""\n'
            'ofa-v2-roce0-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "roce0 1" ""\n')))

    def test_cma_needs_a_name_where_there_are_two(self):
        self.host.software()
        self.host.adapter()
        code, _, errors = self.host.run("cma_roce_mode")
        self.assertEqual(code, 1)
        self.assertIn("say which device with -d: mlx5_0 roce0", errors)

    def test_perfquery_names_its_own_option(self):
        self.host.software()
        self.host.adapter()
        code, _, errors = self.host.run("roce-perfquery")
        self.assertEqual(code, 1)
        self.assertIn("say which device with -C: mlx5_0 roce0", errors)

    def test_perfquery_wrong_values(self):
        self.host.software()
        for words in (("-t", "0"), ("-t", "-5"), ("-t", "5000000000"), ("300",), ("1", "0x10000"),
                      ("1", "-1"), ("1", "nine")):
            with self.subTest(words=words):
                code, _, errors = self.host.run("roce-perfquery", *words)
                self.assertEqual(code, 2, errors)
                self.assertRegex(errors, "error: argument (-t|target|mask).* not a number in")
        for address in "", "10..0.1", "x" * 70:
            with self.subTest(address=address):
                code, _, errors = self.host.run("roce-perfquery", "-G", address)
                self.assertEqual((code, errors), (
                    1, f"roce-perfquery: '{address}' is neither a GID nor an address\n"))

    def test_perfquery_says_where_an_address_goes(self):
        self.host.software()
        for address in "10.0.0.1", "fe80::1":
            with self.subTest(address=address):
                code, _, errors = self.host.run("roce-perfquery", address)
                self.assertEqual(code, 2, errors)
                self.assertIn(f"a port, not an address: -G {address} asks another host", errors)

    def test_perfquery_takes_an_address_with_its_netdev(self):
        self.host.software()
        code, _, errors = self.host.run("roce-perfquery", "-G", "fe80::1%eth0")
        self.assertEqual(code, 1)
        self.assertIn("no umad node of roce0", errors)	# the address is valid

    def test_cma_wrong_values(self):
        for words in (("cma_roce_mode", "-m", "0"), ("cma_roce_mode", "-m", "v2"),
                      ("cma_roce_tos", "-t", "256"), ("cma_roce_tos", "-t", "-1"),
                      ("cma_roce_tos", "-t", "x"), ("cma_roce_tos", "-p", "one")):
            with self.subTest(words=words):
                self.assertEqual(self.host.run(*words)[0], 2)


class RoceBackend(unittest.TestCase):
    """A ConnectX function, drivers for it, and its netdev ens1."""
    NAME = "mlx5_core.rdma.0"
    PCI = "0000:03:00.0"

    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.folder.cleanup)
        folder = f"sys/devices/{self.PCI}"
        self.host.link(f"sys/bus/auxiliary/devices/{self.NAME}", f"{folder}/{self.NAME}")
        self.host.link("sys/class/net/ens1/device", folder)
        self.host.link(f"sys/bus/pci/devices/{self.PCI}", folder)
        self.host.put(f"{folder}/net/ens1/x", "")
        self.host.answer("devlink", "{}")
        self.host.answer("modprobe", "")
        for module in ("mlx5_ib", "roce_hca_mlx5"):
            self.host.put(f"sys/bus/auxiliary/drivers/{module}.rdma/x", "")

    def bind(self, module):
        self.host.put(f"sys/module/{module}/x", "")
        self.host.link(f"sys/devices/{self.PCI}/{self.NAME}/driver",
                       f"sys/bus/auxiliary/drivers/{module}.rdma")

    def written(self, module, file):
        path = os.path.join(self.host.folder.name,
                            f"sys/bus/auxiliary/drivers/{module}.rdma", file)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as text:
            return text.read()

    def in_tree(self, *gids):
        self.bind("mlx5_ib")
        self.host.device("mlx5_0", "ens1", list(gids) or [TEN])

    def open_by(self, pid, comm, device="mlx5_0"):
        self.host.put("sys/class/infiniband_verbs/uverbs3/ibdev", device)
        self.host.put(f"proc/{pid}/comm", comm)
        folder = os.path.join(self.host.folder.name, f"proc/{pid}/fd")
        os.makedirs(folder)
        os.symlink("/dev/infiniband/uverbs3", os.path.join(folder, "5"))

    def test_nothing_there(self):
        host = Host()
        self.addCleanup(host.folder.cleanup)
        code, _, errors = host.run("roce-backend")
        self.assertEqual(code, 1)
        self.assertIn("no RoCE device and no ConnectX adapter here", errors)

    def test_in_tree_driver_was_first(self):
        self.in_tree()
        self.assertEqual(self.host.run("roce-backend")[:2], (0, (
            f"mlx5_0/1 on ens1: in-tree (mlx5_ib): mlx5_ib has {self.NAME}: "
            "roce_hca_mlx5 is not loaded\n")))
        self.host.put("sys/module/roce_hca_mlx5/parameters/ports", "none")
        self.assertIn("ports= of roce_hca_mlx5 leaves it out",
                      self.host.run("roce-backend", "ens1")[1])

    def test_hardware(self):
        self.bind("roce_hca_mlx5")
        self.host.device("roce0", "ens1", [TEN], backend="mlx5")
        row, = json.loads(self.host.run("roce-backend", "--json", "roce0")[1])
        self.assertEqual((row["backend"], row["driver"], row["pci"]),
                         ("hardware", "roce_hca_mlx5", self.PCI))
        self.assertEqual(json.loads(self.host.run("ibdev2netdev", "--json")[1])[0]["backend"],
                         "hardware")

    def test_software_says_why(self):
        self.host.device("roce0", "ens1", [TEN], backend="software")
        self.assertIn("no driver has mlx5_core.rdma.0: software stands in",
                      self.host.run("roce-backend")[1])
        self.bind("roce_hca_mlx5")
        self.assertIn("the kernel log says why", self.host.run("roce-backend")[1])
        self.host.answer("devlink", json.dumps({"param": {f"pci/{self.PCI}": [
            {"name": "enable_roce", "values": [{"cmode": "driverinit", "value": False}]}]}}))
        self.assertIn("RoCE is off on the adapter", self.host.run("roce-backend")[1])
        self.host.put("sys/class/infiniband/roce0/ports/1/pkeys/1", "0x8001")
        self.assertIn("it has P_Keys, which the adapter has not",
                      self.host.run("roce-backend")[1])

    def test_software_without_an_adapter(self):
        self.host.software()
        self.assertIn("roce0/1 on eth0: software (roce_hca): eth0 is no port of a ConnectX adapter",
                      self.host.run("roce-backend", "eth0")[1])
        code, _, errors = self.host.run("roce-backend", "eth0", "hardware")
        self.assertEqual(code, 1)
        self.assertIn("there is nothing to choose", errors)

    def test_function_without_a_device(self):
        self.assertEqual(self.host.run("roce-backend")[1],
                         f"no RDMA device on ens1: none: no driver has {self.NAME}\n")

    def test_unknown_name_and_wrong_usage(self):
        code, _, errors = self.host.run("roce-backend", "mlx5_7")
        self.assertEqual(code, 1)
        self.assertIn("mlx5_7 is no RoCE device", errors)
        self.assertEqual(self.host.run("roce-backend", "ens1", "firmware")[0], 2)

    def test_refuses_while_it_is_used(self):
        self.in_tree()
        self.open_by(77, "ib_write_bw")
        self.host.answer("rdma", json.dumps([
            {"ifname": "mlx5_0", "port": 1, "type": "GSI", "comm": "ib_core"},
            {"ifname": "mlx5_0", "port": 1, "type": "RC", "comm": "nvme_rdma"},
            {"ifname": "other", "port": 1, "type": "RC", "comm": "smc"}]))
        code, _, errors = self.host.run("roce-backend", "mlx5_0", "hardware")
        self.assertEqual(code, 1)
        self.assertIn("mlx5_0: process 77 (ib_write_bw)\n  mlx5_0: the kernel's nvme_rdma\n",
                      errors)
        self.assertNotIn("smc", errors)
        self.assertNotIn("ib_core", errors)
        self.assertIsNone(self.written("mlx5_ib", "unbind"))

    def test_an_empty_name_is_nobodys(self):
        self.in_tree()
        self.host.put("sys/module/roce_hca_mlx5/x", "")
        code, _, errors = self.host.run("roce-backend", "-w", "0", "", "hardware")
        self.assertIsNone(self.written("mlx5_ib", "unbind"))
        self.assertEqual(code, 1)
        self.assertIn("'' is no RoCE device", errors)

    def test_netdev_of_another_namespace_with_its_name(self):
        self.bind("roce_hca_mlx5")
        self.host.device("roce0", "ens1", [TEN], backend="mlx5")
        self.host.link("sys/class/infiniband/roce0/device", f"sys/devices/{self.PCI}")
        self.host.device("roce1", "ens1", [TEN], backend="software")
        del self.host.links[1]["netdev"]
        self.host.put("links", json.dumps(self.host.links))
        self.assertIn("roce1/1 on ens1: software (roce_hca): ens1 is no port of a ConnectX",
                      self.host.run("roce-backend", "roce1")[1])
        self.assertNotIn("roce1", self.host.run("roce-backend", "ens1")[1])
        # Otherwise it would be served by software already
        self.host.put("sys/module/roce_hca/x", "")
        self.host.run("roce-backend", "-w", "0", "ens1", "software")
        self.assertEqual(self.written("roce_hca_mlx5", "unbind"), self.NAME)

    def test_refuses_where_nobody_tells_who_uses_it(self):
        self.in_tree()
        self.host.put("sys/module/roce_hca_mlx5/x", "")
        self.host.put("bin/rdma", "#!/bin/sh\nexit 1")
        code, _, errors = self.host.run("roce-backend", "-w", "0", "ens1", "hardware")
        self.assertIsNone(self.written("mlx5_ib", "unbind"))
        self.assertEqual(code, 1)
        self.assertIn("mlx5_0: perhaps users in the kernel: the command rdma (iproute2) is missing "
                      "or fails\n", errors)
        self.host.run("roce-backend", "-w", "0", "--force", "ens1", "hardware")
        self.assertEqual(self.written("mlx5_ib", "unbind"), self.NAME)

    def test_force_moves_it(self):
        self.in_tree()
        self.open_by(77, "ib_write_bw")
        self.host.put("sys/module/roce_hca_mlx5/parameters/ports", f"0000:09:00.0,{self.PCI}")
        code, _, errors = self.host.run("roce-backend", "-w", "0", "--force", "ens1", "hardware")
        self.assertEqual(self.written("mlx5_ib", "unbind"), self.NAME)
        self.assertEqual(self.written("roce_hca_mlx5", "bind"), self.NAME)
        self.assertEqual(code, 1)	# on this simulated host no kernel creates the device
        self.assertIn("ens1 is not served as asked for", errors)

    def test_a_function_that_is_not_taken_goes_back(self):
        self.in_tree()
        self.host.put("sys/module/roce_hca_mlx5/x", "")
        os.makedirs(os.path.join(self.host.folder.name, "sys/bus/auxiliary/drivers",
                                 "roce_hca_mlx5.rdma/bind"))	# not a file
        code, _, errors = self.host.run("roce-backend", "ens1", "hardware")
        self.assertEqual(code, 1)
        self.assertIn("bind", errors)
        self.assertEqual(self.written("mlx5_ib", "bind"), self.NAME)

    def test_a_function_left_out_stays_where_it_is(self):
        self.in_tree()
        self.host.put("sys/module/roce_hca_mlx5/parameters/ports", "none")
        code, _, errors = self.host.run("roce-backend", "ens1", "hardware")
        self.assertEqual(code, 1)
        self.assertIn("leaves 0000:03:00.0 out", errors)
        self.assertIsNone(self.written("mlx5_ib", "unbind"))

    def test_software_is_made_where_none_stands_in(self):
        self.bind("mlx5_ib")
        self.host.put("sys/module/roce_hca/x", "")
        made = os.path.join(self.host.folder.name, "sys/class/infiniband/roce_ens1")
        self.host.device("spare", "ens1", [TEN], backend="software")
        spare = os.path.join(self.host.folder.name, "sys/class/infiniband/spare")
        hidden = os.path.join(self.host.folder.name, "spare")
        os.rename(spare, hidden)
        self.host.put("bin/rdma", f"""#!/bin/sh
[ "$*" != "link add roce_ens1 type roce netdev ens1" ] || mv {hidden} {made}
echo '[{{"ifname": "roce_ens1", "port": 1, "netdev": "ens1"}}]'""")
        code, text, errors = self.host.run("roce-backend", "-w", "0.2", "ens1", "software")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(self.written("mlx5_ib", "unbind"), self.NAME)
        self.assertIn("roce_ens1/1 on ens1: software", text)

    def test_already_so(self):
        self.in_tree()
        self.open_by(77, "ib_write_bw")
        self.assertEqual(self.host.run("roce-backend", "ens1", "in-tree")[0], 0)
        self.assertIsNone(self.written("mlx5_ib", "unbind"))


class HardwareReport(unittest.TestCase):
    def setUp(self):
        self.tool = runpy.run_path(os.path.join(TOOLS, "hardware-report"))

    def test_no_secret_is_left(self):
        text = """host-17.example.org: mlx5_core 0000:3b:00.0: firmware version: 16.35.2000
  serial_number MT2013X01234
  board.serial_number "MT2013X01234"
\t\t\t[SN] Serial number: MT2013X01234
\t\t\t[V3] Vendor specific: 0a1b2c3d4e5f
\tCapabilities: [100 v1] Device Serial Number b8-59-9f-03-00-aa-bb-cc
eth0 b8:59:9f:aa:bb:cc, b859:9fff:feaa:bbcc, fe80::ba59:9fff:feaa:bbcc/64 on host-17
GID fe80:0000:0000:0000:ba59:9fff:feaa:bbcc ::ffff:192.168.7.8 192.168.7.8 node 0xb8599f0300aabbcc"""
        hidden = self.tool["Mask"](["host-17.example.org", "host-17"]).hide(text)
        for secret in ("MT2013", "0a1b2c", "b8", "ba59", "host-17", "192.168"):
            self.assertNotIn(secret, hidden.lower().replace("mt2013", "MT2013"))
        for kept in ("0000:3b:00.0", "16.35.2000", "[100 v1]"):
            self.assertIn(kept, hidden)

    def test_addresses_beside_other_words(self):
        for text, hidden in (
                ("enabling port 1 (10.0.0.1:4420)", "enabling port 1 (<ip-1>:4420)"),
                ("10.0.0.1: unreachable", "<ip-1>: unreachable"), ("at 10.0.0.1.", "at <ip-1>."),
                ("src:10.0.0.1", "src:<ip-1>"), ("fe80::1: unreachable", "<ip-1>: unreachable"),
                ("[fe80::1]:4420", "[<ip-1>]:4420"), ("::ffff:10.0.0.1", "<ip-1>"),
                ("at 2001:db8::5.", "at <ip-1>."), ("fe80::", "<ip-1>"),
                ("enxb8599faabbcc", "enx<mac-1>"), ("rocexb8599f0300aabbcc", "rocex<mac-1>"),
                ("roce_enxb8599faabbcc/1", "roce_enx<mac-1>/1"),
                ("host_10.0.0.1_up", "host_<ip-1>_up"), ("version 1.10.0.0.1", "version 1.10.0.0.1"),
                ("0000:3b:00.0: 12:30:45", "0000:3b:00.0: 12:30:45")):
            with self.subTest(text):
                self.assertEqual(self.tool["Mask"]().hide(text), hidden)

    def test_unreadable_log_is_not_an_empty_one(self):
        host = Host()
        self.addCleanup(host.folder.cleanup)
        host.software()
        host.answer("dmesg", "")
        host.put("bin/dmesg", "#!/bin/sh\necho 'dmesg: Operation not permitted'\nexit 1")
        self.assertIn("(status 1)", host.run("hardware-report")[1])

    def test_other_lines_of_the_log_are_left_out(self):
        host = Host()
        self.addCleanup(host.folder.cleanup)
        host.software()
        host.answer("dmesg", "[1.0] systemd[1]: Mounted the disk of somebody (private)")
        self.assertIn("== kernel log\n(nothing)\n", host.run("hardware-report")[1])

    def test_equal_addresses_get_equal_words(self):
        hidden = self.tool["Mask"]().hide("a 10.0.0.1 b 10.0.0.2 c 10.0.0.1 d ::").split()
        self.assertEqual(hidden, "a <ip-1> b <ip-2> c <ip-1> d ::".split())
        self.assertEqual(self.tool["Mask"]().hide("b8:59:9f:aa:bb:cc B8-59-9F-AA-BB-CC enxb8599faabbcc"),
                         "<mac-1> <mac-1> enx<mac-1>")
        self.assertEqual(self.tool["Mask"]().hide(
            f"fe80::202:c9ff:fe00:1 {LINK_LOCAL} 10.0.0.1 ::ffff:10.0.0.1 {TEN}"),
                         "<ip-1> <ip-1> <ip-2> <ip-2> <ip-2>")

    PCI = "0000:3b:00.0"
    FOLDER = "sys/bus/pci/devices/" + PCI

    def unused(self):
        """An adapter's function, and substitutes for the commands that load a module."""
        host = Host()
        self.addCleanup(host.folder.cleanup)
        host.software()
        host.put(self.FOLDER + "/vendor", "0x15b3")
        host.put(self.FOLDER + "/mlx5_core.rdma.3/uevent", "")
        host.put(self.FOLDER + "/net/ens1/mtu", "1500")
        host.put("sys/class/net/ens1/flags", "0x1002")
        for command in ("dmesg", "lspci", "devlink", "ibv_devinfo", "make", "rmmod"):
            host.answer(command, "")
        answers = os.path.join(host.folder.name, "sys/module/ask_firmware/parameters")
        host.put("bin/insmod", f'#!/bin/sh\nmkdir -p {answers}\nshift\necho "$@" > {answers}/answers')
        host.put("bin/rmmod", f"#!/bin/sh\nrm -r {os.path.dirname(answers)}")
        for command in ("insmod", "rmmod"):
            os.chmod(os.path.join(host.folder.name, "bin", command), 0o755)
        return host

    def ask(self, host, said):
        code, text, errors = host.run("hardware-report", "--ask-firmware", self.PCI, said=said)
        loaded = os.path.exists(os.path.join(host.folder.name, "sys/module/ask_firmware"))
        return code, text, errors, loaded

    def test_firmware_is_asked_after_a_yes(self):
        code, text, _, loaded = self.ask(self.unused(), "yes\n")
        self.assertEqual((code, loaded), (0, False))
        self.assertIn(f"of {self.PCI}, asked\npci={self.PCI} function=mlx5_core.rdma.3\n", text)

    def test_nothing_is_asked_without(self):
        for said in ("", "no\n", "y\n"):
            host = self.unused()
            host.answer("insmod", "loaded")
            code, text, errors, _ = self.ask(host, said)
            self.assertEqual((code, text), (1, ""))
            self.assertIn("nothing was asked", errors)

    def test_who_uses_the_function_is_not_disturbed(self):
        for name, use, words in (
                ("netdev", lambda host: host.put("sys/class/net/ens1/flags", "0x1003"),
                 "is used by ens1: ip link set ens1 down"),
                ("driver", lambda host: host.link(self.FOLDER + "/mlx5_core.rdma.3/driver",
                                                  "sys/bus/auxiliary/drivers/mlx5_ib.rdma"),
                 "is used by mlx5_ib.rdma: unbind it first")):
            with self.subTest(name):
                host = self.unused()
                use(host)
                code, text, errors, loaded = self.ask(host, "yes\n")
                self.assertEqual((code, text, loaded), (1, "", False))
                self.assertIn(words, errors)
                self.assertNotIn("yes", errors)

    def test_no_such_adapter(self):
        host = self.unused()
        code, _, errors = host.run("hardware-report", "--ask-firmware", "0000:99:00.0")
        self.assertEqual(code, 1)
        self.assertIn("0000:99:00.0 has no RDMA function", errors)

    def test_module_that_cannot_be_built(self):
        host = self.unused()
        host.put("bin/make", "#!/bin/sh\necho no headers\nexit 2")
        code, _, errors, loaded = self.ask(host, "yes\n")
        self.assertEqual((code, loaded), (1, False))
        self.assertIn("cannot be built", errors)
        self.assertIn("no headers", errors)

    def test_command_that_is_not_there(self):
        host = self.unused()
        os.remove(os.path.join(host.folder.name, "bin/make"))
        done = subprocess.run([sys.executable, os.path.join(TOOLS, "hardware-report"),
                               "--ask-firmware", self.PCI], input="yes\n",
                              env={"ROCE_ROOT": host.folder.name, "PATH": f"{host.folder.name}/bin"},
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("hardware-report: make: No such file or directory\n", done.stderr)

    def test_report_goes_on_without_an_adapter(self):
        host = Host()
        self.addCleanup(host.folder.cleanup)
        host.software()
        for command in ("dmesg", "lspci", "devlink", "ibv_devinfo"):
            host.answer(command, "mlx5_core said so at 10.0.0.1")
        code, text, errors = host.run("hardware-report")
        self.assertEqual(code, 1)
        self.assertIn("no ConnectX adapter here", errors)
        self.assertIn("== kernel log\nmlx5_core said so at <ip-", text)
        self.assertNotIn("10.0.0.1", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
