#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Messages over RDS, which guarantees order and delivery: each is answered with its
complement, and every byte of the answers is compared.

usage: rds-bytes.py server ADDRESS PORT
       rds-bytes.py client ADDRESS PORT SERVER MESSAGES BYTES
The server ends when it receives an empty message.
"""

import socket
import struct
import sys

SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB = 276, 8, 0
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
UNANSWERED = 8      # at most, of the client's
SILENCE_S = 100     # of the other end, until one gives up
BUFFERS_BYTES = 4 << 20
COMPLEMENT = bytes(255 - byte for byte in range(256))
PATTERN = bytes(range(251)) * 1024


def message(number, size):
    start = number * 31 % 251
    return number.to_bytes(8, "little") + PATTERN[start:start + size - 8]


def open_socket(address, port):
    sock = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    sock.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFERS_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFERS_BYTES)
    # Not settimeout(): a non-blocking socket reports congestion as an error.
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", SILENCE_S, 0))
    sock.bind((address, port))
    return sock


def serve(sock):
    print("serving", flush=True)
    while True:
        data, peer = sock.recvfrom(1 << 18)
        if not data:
            return
        sock.sendto(data.translate(COMPLEMENT), peer)


def ask(sock, server, messages, size):
    asked = 0
    for answered in range(messages):
        while asked < min(answered + UNANSWERED, messages):
            sock.sendto(message(asked, size), server)
            asked += 1
        data = sock.recvfrom(1 << 18)[0]
        if data.translate(COMPLEMENT) != message(answered, size):
            sys.exit(f"answer {answered} differs")
    sock.sendto(b"", server)
    print(f"ok {messages} messages")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    port = int(sys.argv[3])
    if sys.argv[1] == "server":
        serve(open_socket(sys.argv[2], port))
    else:
        ask(open_socket(sys.argv[2], port + 1), (sys.argv[4], port), int(sys.argv[5]),
            int(sys.argv[6]))


main()
