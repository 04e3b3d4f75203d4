#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The kernel's tables for SMC. Enterprise IDs set by users: two hosts that have one in
common speak version 2 to each other. Physical networks: connections through a netdev
use an RDMA device in the same one.

usage: smc-tables.py id NAME | no-ids | network NAME NETDEV RDMA-DEVICE
"""

import os
import socket
import struct
import sys

NETLINK_GENERIC = 16
NLM_F_REQUEST, NLM_F_ACK = 1, 4
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
SMC_NETLINK_ADD_UEID, SMC_NETLINK_FLUSH_UEID = 10, 12
SMC_NLA_EID_TABLE_ENTRY = 1
SMC_MAX_EID_LEN = 32
SMC_PNETID_ADD = 2
SMC_PNETID_NAME, SMC_PNETID_ETHNAME, SMC_PNETID_IBNAME, SMC_PNETID_IBPORT = 1, 2, 3, 4


def attribute(kind, value):
    data = bytes([value]) if isinstance(value, int) else value.encode() + b"\0"
    return (struct.pack("=HH", 4 + len(data), kind) + data).ljust((len(data) + 7) & ~3, b"\0")


def ask(sock, family, command, data=b"", flags=NLM_F_ACK):
    """The payload of the answer, without the generic header."""
    sock.send(struct.pack("=IHHIIBBH", 20 + len(data), family, NLM_F_REQUEST | flags, 1, 0,
                          command, 1, 0) + data)
    answer = sock.recv(65536)
    if struct.unpack_from("=H", answer, 4)[0] == 2:
        error = -struct.unpack_from("=i", answer, 16)[0]
        if error:
            sys.exit(f"smc-tables: {os.strerror(error)}")
    return answer[20:]


def family_id(sock, name):
    attributes = ask(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                     attribute(CTRL_ATTR_FAMILY_NAME, name), 0)
    at = 0
    while at < len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, at)
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack_from("=H", attributes, at + 4)[0]
        at += (length + 3) & ~3
    sys.exit(f"smc-tables: no family {name}")


def main():
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.bind((0, 0))
    if sys.argv[1:] == ["no-ids"]:
        ask(sock, family_id(sock, "SMC_GEN_NETLINK"), SMC_NETLINK_FLUSH_UEID)
    elif sys.argv[1:2] == ["id"] and len(sys.argv) == 3:
        ask(sock, family_id(sock, "SMC_GEN_NETLINK"), SMC_NETLINK_ADD_UEID,
            attribute(SMC_NLA_EID_TABLE_ENTRY, sys.argv[2].ljust(SMC_MAX_EID_LEN)))
    elif sys.argv[1:2] == ["network"] and len(sys.argv) == 5:
        ask(sock, family_id(sock, "SMC_PNETID"), SMC_PNETID_ADD,
            attribute(SMC_PNETID_NAME, sys.argv[2]) + attribute(SMC_PNETID_ETHNAME, sys.argv[3]) +
            attribute(SMC_PNETID_IBNAME, sys.argv[4]) + attribute(SMC_PNETID_IBPORT, 1))
    else:
        sys.exit(__doc__)


main()
