# SPDX-License-Identifier: GPL-2.0
"""Problems with congestion control: unsuitable priorities, classes and queues, and marks
that nobody answers. Each is reported only if the facts are known, together with the
command that fixes it.
"""

import roce_hints as hints

SMALL_RING = 1024		# bursts of all peers share it
LARGE_RING = 4096
# Queues that mark if given the option ecn
MARKERS = ("choke", "codel", "fq_codel", "fq_pie", "pie", "red", "sfb")
# Of these, the option alone suffices to change the queue
EASY_MARKERS = ("codel", "fq_codel", "fq_pie", "pie")
# Queues that can only drop
DROPPERS = ("bfifo", "fq", "pfifo", "pfifo_fast", "pfifo_head_drop", "sfq", "tbf")
CNP_PRIORITIES = (6, 7, 5, 4, 2, 1)
CNP_DSCPS = (48, 56, 40)
FIXED_RXE = (5, 12)		# from this kernel on rdma_rxe tells CNPs from acknowledgements


def used(port):
    """Priorities and DSCPs of data: of connected queue pairs, or else of the APP table."""
    qps = [qp for qp in port.get("qps", []) if "dscp" in qp and qp.get("type") != "GSI"]
    priorities = {qp["priority"] for qp in qps}
    return sorted(priorities) or (port["classes"] or {}).get("roce", []), \
        {qp["dscp"] for qp in qps}


def lossless(port):
    return (port["flow_control"] or {}).get("pfc") or []


def several_classes(port):
    """prio -> class, if there are several"""
    class_of = (port["classes"] or {}).get("class_of") or []
    return class_of if len(set(class_of)) > 1 else []


def file_of(device, port, name):
    return f"/sys/class/infiniband/{device['dev']}/ports/{port['port']}/cc/{name}"

# --- priorities and classes ----------------------------------------------------------


def class_of_priority(port, prio):
    """A traffic class whose upper bits are prio, by a DSCP of the APP table if possible"""
    known = (port["classes"] or {}).get("dscp", {})
    return next((dscp for dscp in sorted(known) if known[dscp] == prio == dscp >> 3),
                prio << 3) << 2


def give_priority(device, port, prio):
    """Gives it to packets without one; by class if the APP table accepts no entry for RoCE"""
    if port["apps_of_roce"]:
        return (f"dcb app add dev {port['netdev']} ethtype-prio 0x8915:{prio} "
                f"dgram-port-prio 4791:{prio}")
    return (f"echo {class_of_priority(port, prio)} > "
            f"/sys/class/infiniband/{device['dev']}/tc/{port['port']}/traffic_class")


def pfc_trouble(device, port):
    on, netdev = lossless(port), port["netdev"]
    for prio in used(port)[0] if on else []:
        if prio in on:
            continue
        mend = (f"dcb pfc set dev {netdev} prio-pfc {prio}:on" if prio else
                give_priority(device, port, on[0]))
        yield (f"PFC is off on priority {prio}, which RoCE uses, and on for "
               f"{','.join(map(str, on))}. Next: {mend}; the same at the switch")


def halved(shares, number):
    """Shares of the classes, with one for this class, in dcb's format: 100 in total"""
    largest = max(range(len(shares)), key=lambda other: shares[other])
    if not shares[largest]:
        return f"{number}:100"
    part = shares[largest] // 2
    return f"{largest}:{shares[largest] - part} {number}:{part}"


def ets_trouble(port):
    """A class with share 0 only gets bandwidth that others leave."""
    classes = port["classes"] or {}
    class_of, kinds, shares = (classes.get(name) for name in ("class_of", "kinds", "shares"))
    if not (class_of and kinds and shares):
        return
    for prio in used(port)[0]:
        number = class_of[prio]
        if kinds[number] == "ets" and not shares[number]:
            yield (f"priority {prio}, which RoCE uses, is in traffic class {number}, whose ETS "
                   f"share is 0. Next: dcb ets set dev {port['netdev']} tc-bw "
                   f"{halved(shares, number)}")


def trust_trouble(port):
    """DSCPs are ignored: the lossless priority gets none of the packets."""
    on, (priorities, dscps) = lossless(port), used(port)
    classes = port["classes"] or {}
    tagged = any("vlan" in qp for qp in port.get("qps", []))
    if not on or tagged:
        return
    if classes.get("trust") is not None and "dscp" not in classes["trust"]:
        yield (f"{port['netdev']} does not trust DSCP: without a VLAN tag what comes has no "
               f"priority, and PFC none to stop. Next: dcb apptrust set dev {port['netdev']} "
               f"order dscp")
    elif classes.get("has_apps"):
        for dscp in sorted(dscps - set(classes["dscp"]) - {0}):
            prio = next((prio for prio in priorities if prio in on), on[0])
            yield (f"no priority is known for DSCP {dscp}, which RoCE uses: what comes with it is "
                   f"not lossless. Next: dcb app add dev {port['netdev']} dscp-prio {dscp}:{prio}")


def free_priority(port):
    """For CNPs: neither lossless nor in a class of data"""
    taken, class_of = set(used(port)[0]) | set(lossless(port)), several_classes(port)
    full = {class_of[prio] for prio in taken} if class_of else set()
    return next((prio for prio in CNP_PRIORITIES
                 if prio not in taken and not (class_of and class_of[prio] in full)), 6)


def cnp_priority_trouble(device, port):
    priority, on, class_of = port["cc"]["np_cnp_prio"], lossless(port), several_classes(port)
    mend = f"echo {free_priority(port)} > {file_of(device, port, 'np_cnp_prio')}"
    data = used(port)[0]
    if port["cc"].get("np_cnp_prio_mode"):
        yield (f"CNPs have the priority of data, and wait behind it. Next: echo 0 > "
               f"{file_of(device, port, 'np_cnp_prio_mode')}")
    elif priority in on:
        yield (f"CNPs have priority {priority}, which is lossless: they stop with the data that "
               f"they are to slow down. Next: {mend}")
    elif priority in data or (class_of and class_of[priority] in {class_of[prio] for prio in data}):
        yield f"CNPs have priority {priority}, and so the class of data. Next: {mend}"


def cnp_dscp_trouble(device, port):
    dscp, dscps = port["cc"]["np_cnp_dscp"], used(port)[1]
    priority = (port["classes"] or {}).get("dscp", {}).get(dscp)
    if dscp in dscps:
        free = next(other for other in CNP_DSCPS if other not in dscps)
        yield (f"CNPs have DSCP {dscp}, as data has: switches put them into its class. Next: "
               f"echo {free} > {file_of(device, port, 'np_cnp_dscp')}")
    elif priority in lossless(port):
        yield (f"DSCP {dscp}, which CNPs have, has the lossless priority {priority}. Next: dcb app "
               f"replace dev {port['netdev']} dscp-prio {dscp}:{free_priority(port)}")


def cnp_trouble(device, port):
    if port["cc"].get("enable") == 0:
        return
    if "np_cnp_prio" in port["cc"]:
        yield from cnp_priority_trouble(device, port)
    if "np_cnp_dscp" in port["cc"]:
        yield from cnp_dscp_trouble(device, port)

# --- rings and queues that the software HCA shares with its netdev -------------------


def ring_trouble(port):
    ring = port["ring"]
    if ring and ring["now"] < SMALL_RING and ring["now"] < ring["most"]:
        yield (f"{port['netdev']} has room for {ring['now']} received packets, which is little "
               f"for bursts. Next: ethtool -G {port['netdev']} rx {min(ring['most'], LARGE_RING)}")


def queue_words(netdev, queue):
    kind, where = queue["kind"], queue["where"]
    if kind in EASY_MARKERS:
        mend = f"tc qdisc change dev {netdev} {where} {kind} ecn"
    elif kind in MARKERS:
        mend = f"tc qdisc replace dev {netdev} {where} {kind} with ecn, the rest as it is"
    elif " :" in where:	# children of the default mq, one for each transmit queue, have no names
        mend = f"sysctl net.core.default_qdisc=fq_codel; tc qdisc replace dev {netdev} root mq"
    else:
        mend = f"tc qdisc replace dev {netdev} {where} fq_codel"
    return (f"the queue {kind} of {netdev} drops packets that it could mark, since they are "
            f"ECN-capable. Next: {mend}")


def queue_trouble(port):
    if not port["cc"].get("enable") or "v2" not in (port["versions"] or []):
        return
    found = []
    for queue in port["queues"]:
        many = queue["drops"] * hints.FREQUENT_SHARE > queue["packets"]
        if not queue["ecn"] and (queue["kind"] in MARKERS or queue["kind"] in DROPPERS and many):
            found.append(queue_words(port["netdev"], queue))
    yield from dict.fromkeys(found)	# those of mq's children are equal

# --- marks and notifications ----------------------------------------------------------


def mark_trouble(device, port):
    counted = port["counters"]
    marked = counted.get("np_ecn_marked_roce_packets", 0)
    if not marked or counted.get("np_cnp_sent") != 0:
        return
    if port["cc"].get("enable") == 0:
        why, mend = "cc/enable is 0", f"echo 1 > {file_of(device, port, 'enable')}"
    else:
        why = "none of them was for a connected queue pair"
        mend = f"rdma resource show qp link {device['dev']}: TYPE and STATE"
    yield (f"packets came with a mark and no CNP was sent, since {why} "
           f"(np_ecn_marked_roce_packets {marked}, np_cnp_sent 0). Next: {mend}")


def silent_peer_trouble(device, port):
    """Loss, but no CNP: peers do not answer marks, or no queue marks."""
    counted = port["counters"]
    if not port["cc"].get("enable") or counted.get("rp_cnp_handled") != 0:
        return
    if hints.is_large_share(counted, "tx_retransmitted_packets"):
        yield (f"packets are lost and no peer has sent a CNP (rp_cnp_handled 0): the queue that "
               f"drops does not mark, or peers do not answer marks, as rdma_rxe. Next: tc -s qdisc "
               f"show there, for marked; where it marks, echo 0 > {file_of(device, port, 'enable')}")


def rate_trouble(device, port):
    """For queue pairs whose driver reports a rate, which it does while they are limited"""
    least = port["cc"].get("rp_min_rate")
    slow = [qp for qp in port.get("qps", []) if least and qp.get("rate", least + 1) <= least]
    if slow:
        yield (f"CNPs have slowed {len(slow)} queue pairs down to rp_min_rate, {least} Mbit/s, "
               f"QP {slow[0]['lqpn']} one of them: too many senders for the wire, or forged CNPs. "
               f"Next: np_cnp_sent at the peer beside rp_cnp_handled here; on a slow wire, "
               f"echo 1 > {file_of(device, port, 'rp_min_rate')}")


def old_rxe_trouble(device, kernel):
    if device["desc"] == "rxe" and kernel and kernel < FIXED_RXE:
        yield (f"rdma_rxe of kernel {kernel[0]}.{kernel[1]} takes a CNP for an acknowledgement, "
               f"unless its distribution has mended that. Next: at its peers, "
               f"echo 0 > /sys/class/infiniband/DEVICE/ports/1/cc/enable")


def trouble(device, port, kernel):
    for found in (pfc_trouble(device, port), ets_trouble(port), trust_trouble(port),
                  cnp_trouble(device, port), mark_trouble(device, port),
                  silent_peer_trouble(device, port), rate_trouble(device, port),
                  old_rxe_trouble(device, kernel)):
        yield from found
    if device["backend"] == "software":	# adapters have rings and queues of their own
        yield from ring_trouble(port)
        yield from queue_trouble(port)
