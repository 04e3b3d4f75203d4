# SPDX-License-Identifier: GPL-2.0
"""What the counters of ports count in a period."""

import roce_hints as hints

WATCHED = ("tx_packets", "rx_packets")


def growth(before, after):
    """Growth of ports' counters. Those of a port that was created again start at 0."""
    def counted(devices):
        return {(device["dev"], port["port"]): port["counters"]
                for device in devices for port in device["ports"]}

    old = counted(before)
    return {where: {name: value - old.get(where, {}).get(name, 0)
                    if value >= old.get(where, {}).get(name, 0) else value
                    for name, value in counters.items()}
            for where, counters in counted(after).items()}


def per_second(grown, seconds):
    """For each port: packets, bits, and counters that indicate trouble, per second."""
    for (dev, port), counters in grown.items():
        row = {"dev": dev, "port": port}
        row.update({name: round(counters.get(name, 0) / seconds, 1) for name in WATCHED})
        row.update({f"{way}_mbit": round(counters.get(f"{way}_bytes", 0) * 8e-6 / seconds, 2)
                    for way in ("tx", "rx")})
        row["trouble"] = {name: round(value / seconds, 1) for name, value in counters.items()
                          if value and hints.known(name)}
        yield row
