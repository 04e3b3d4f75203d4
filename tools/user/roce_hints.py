# SPDX-License-Identifier: GPL-2.0
"""Trouble indicated by counters, its likely causes, and the next command.

A hint says what is wrong and what to do next. Names in braces are replaced: dev,
port, netdev. Counters have the names used by mlx5 where the meaning is the same, so
the hints apply to adapters too.
"""

import collections

Hint = collections.namedtuple("Hint", "wrong next")

FIREWALL = "nft list ruleset"
COMPARE_GIDS = "show_gids {dev} here and at the peer: type, address and netdev"
PKEYS = "/sys/class/infiniband/{dev}/partitions/{port}/pkeys here and at the peer"
MEMORY_KEYS = "compare rkey, address, length and access flags with what was registered"

# One is enough: they do not move if everything is right.
CERTAIN = {
    "tx_dropped_filtered": Hint(
        "a netfilter rule of this host drops what it sends, or an IPsec policy does",
        f"{FIREWALL}: chains of hook output and postrouting; allow UDP 4791. "
        "ip xfrm policy; ip xfrm state"),
    "tx_dropped_too_long": Hint(
        "packets are longer than the MTU: it was lowered, or IPsec takes a part of it",
        "ip link show {netdev}; ip route get PEER; connect with a smaller path MTU"),
    "tx_dropped_no_route": Hint(
        "there is no route from a GID's address to a peer",
        "ip route get PEER from ADDRESS oif {netdev}"),
    "tx_dropped_no_netdev": Hint(
        "packets met a netdev that was down or gone", "ip link show {netdev}"),
    "tx_dropped_bad_pkey": Hint(
        "the P_Key table entry that queue pairs send with is empty", f"cat {PKEYS}"),
    "tx_dropped_no_memory": Hint("there was no memory for packets", "free -m; dmesg"),
    "tx_dropped_stack": Hint(
        "the network stack refused packets: no neighbour, or a tunnel without its peer",
        "ip neigh show dev {netdev}; ip -s link show {netdev}"),
    "rx_icrc_encapsulated": Hint(
        "packets came with a wrong ICRC: changed on the way (NAT, or another middlebox that "
        "rewrites headers), or while they were sent",
        "capture at both ends: tcpdump -i {netdev} udp port 4791"),
    "rx_dropped_truncated": Hint(
        "packets came that are shorter than their headers",
        "capture them: tcpdump -i {netdev} udp port 4791"),
    "rx_dropped_bad_length": Hint(
        "packets came whose lengths contradict each other",
        "capture them: tcpdump -i {netdev} udp port 4791"),
    "rx_dropped_bad_opcode": Hint(
        "a peer sends operations that the queue pair's type has not: RC, UC or UD at one "
        "end only, or another program on the port",
        "rdma resource show qp link {dev} here and at the peer: type"),
    "rx_dropped_bad_syndrome": Hint(
        "a peer answers with codes that are not standard",
        "capture them: tcpdump -i {netdev} udp port 4791"),
    "rx_dropped_bad_pkey": Hint(
        "a peer sends with a P_Key of another partition, or both are limited members",
        f"compare {PKEYS}"),
    "rx_dropped_bad_qkey": Hint(
        "datagrams came with another Q_Key than the queue pair's",
        "compare qkey of both programs (0x01234567 is rdma_cm's)"),
    "rx_dropped_not_for_us": Hint(
        "a peer speaks to a queue pair by another GID than it has: RoCE v1 for v2 or the "
        "other way round, another address, VLAN or netdev",
        COMPARE_GIDS),
    "rx_dropped_no_access": Hint(
        "UC writes came that the queue pair or the memory region does not allow", MEMORY_KEYS),
    "rx_dropped_no_mad_buffer": Hint(
        "connection requests came faster than the kernel takes them", "dmesg"),
    "rx_dropped_no_memory": Hint("there was no memory for packets", "free -m; dmesg"),
    "path_mtu_mismatch": Hint(
        "the path MTU is smaller than a peer's, or the other way round",
        "ip link show {netdev} here and at the peer; make the MTUs equal"),
    "req_remote_access_errors": Hint(
        "a peer refused access to its memory (status 10)", MEMORY_KEYS),
    "resp_remote_access_errors": Hint(
        "a peer asked for memory that it may not access", MEMORY_KEYS),
    "req_remote_invalid_request": Hint(
        "a peer refused requests as invalid (status 9): longer than its receive buffer, or an "
        "operation that its queue pair does not allow",
        "compare message size with the receives posted, qp_access_flags, max_dest_rd_atomic"),
    "resp_invalid_requests": Hint(
        "requests of a peer were refused as invalid",
        "compare message size with the receives posted, qp_access_flags, max_dest_rd_atomic"),
    "resp_local_length_error": Hint(
        "messages were longer than the receives posted for them", "post larger receives"),
    "req_transport_retries_exceeded": Hint(
        "a peer did not answer (status 12): it is down, a firewall there or between drops UDP "
        "4791 or EtherType 0x8915, it does not speak the RoCE version or VLAN of the GID, or "
        "the path does not carry the MTU",
        "ping PEER; there: roce-status and nft list ruleset; " + COMPARE_GIDS),
    "req_rnr_retries_exceeded": Hint(
        "a peer had no receive posted for too long (status 13)",
        "post more receives there, or rnr_retry 7 here"),
}

LATE = Hint(
    "answers of a peer come late or not at all",
    "ping PEER; there: roce-status, nft list ruleset; a larger ACK timeout")

# Loss and waiting are normal: only many are trouble.
FREQUENT = {
    "tx_dropped": Hint(
        "the queue of {netdev} is full", "tc -s qdisc show dev {netdev}; flow control"),
    "local_ack_timeout_err": LATE,
    "roce_adp_retrans_to": LATE,
    "packet_seq_err": Hint(
        "packets to a peer are lost on the way",
        "flow control: ethtool -a {netdev}, dcb pfc show dev {netdev}; ip -s link show {netdev}"),
    "out_of_sequence": Hint(
        "packets of a peer are lost on the way",
        "flow control: ethtool -a {netdev}, dcb pfc show dev {netdev}; ip -s link show {netdev}"),
    "implied_nak_seq_err": Hint(
        "answers of a peer are lost on the way",
        "flow control: ethtool -a {netdev}, dcb pfc show dev {netdev}"),
    "rnr_nak_retry_err": Hint(
        "a peer has too few receives posted", "post more receives there"),
    "out_of_buffer": Hint(
        "messages came for which no receive was posted", "post more receives"),
    "rx_dropped_no_qp": Hint(
        "packets came for queue pairs that are not there: a peer goes on after its partner has "
        "ended", "rdma resource show qp link {dev}; at the peer: rdma resource show qp"),
    "rx_dropped_qp_state": Hint(
        "packets came for queue pairs that are not connected, or in an error state",
        "rdma resource show qp link {dev}"),
    "rx_dropped_out_of_window": Hint(
        "answers came twice or late", "a larger ACK timeout; flow control"),
    "rx_dropped_bad_sequence": Hint(
        "UC messages lost packets on the way", "flow control: ethtool -a {netdev}"),
    "rx_dropped_no_resource": Hint(
        "a peer has more READs and atomics under way than are kept for repetition",
        "lower max_rd_atomic of the peer"),
}

FREQUENT_SHARE = 1000		# one in so many packets is many

Share = collections.namedtuple("Share", "of hint")

# Part of another counter: these are normal up to one in SHARE.
SHARES = {
    "rx_held_dropped": Share("rx_held", Hint(
        "packets that came before others that were lost found no room, or waited in vain",
        "rdma -dd resource show qp link {dev}: many queue pairs share 16 MiB a port; receives "
        "posted too late are rnr_nak_retry_err at the peer")),
    "tx_retransmitted_packets": Share("tx_packets", Hint(
        "packets are sent again: they, or their answers, are lost on the way",
        "here, at the peer and between: tc -s qdisc show; ip -s link show {netdev}; "
        "ethtool -S {netdev}; flow control or queues that mark, see operating.rst")),
}

SHARE = 100


def known(name):
    """Does a counter of this name indicate trouble?"""
    return name in CERTAIN or name in FREQUENT or name in SHARES


def trouble(counters, packets, where):
    """Hints from counters, most certain first.

    counters: {name: how many}; packets: number received and sent meanwhile, None if
    they are not counted; where: replacements for the names in braces.
    """
    for name, hint in CERTAIN.items():
        if counters.get(name):
            yield name, words(name, counters[name], hint, where)
    for name, hint in FREQUENT.items():
        count = counters.get(name, 0)
        if count and (packets is None or count * FREQUENT_SHARE > packets):
            yield name, words(name, count, hint, where)
    for name, (of, hint) in SHARES.items():
        if is_large_share(counters, name):
            yield name, words(f"{name} {counters[name]} of {of}", counters.get(of, 0), hint, where)


def is_large_share(counters, name):
    """For a counter in SHARES"""
    return counters.get(name, 0) * SHARE > counters.get(SHARES[name].of, 0)


def words(name, count, hint, where):
    wrong, following = (text.format(**where) for text in hint)
    return f"{wrong} ({name} {count}). Next: {following}"
