/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opcodes of IBTA vol. 1, table 38, and of its UC and UD columns, as numbers: the tests check the
 * driver's own definitions against these.
 */
#ifndef RHCA_KUNIT_LIB_OPCODES_H
#define RHCA_KUNIT_LIB_OPCODES_H

#define SEND_FIRST	0x00
#define SEND_MIDDLE	0x01
#define SEND_LAST	0x02
#define SEND_LAST_IMM	0x03
#define SEND_ONLY	0x04
#define SEND_ONLY_IMM	0x05
#define WRITE_FIRST	0x06
#define WRITE_MIDDLE	0x07
#define WRITE_LAST	0x08
#define WRITE_LAST_IMM	0x09
#define WRITE_ONLY	0x0a
#define WRITE_ONLY_IMM	0x0b
#define READ_REQUEST	0x0c
#define READ_FIRST	0x0d
#define READ_MIDDLE	0x0e
#define READ_LAST	0x0f
#define READ_ONLY	0x10
#define ACKNOWLEDGE	0x11
#define ATOMIC_ACK	0x12
#define CMP_SWAP	0x13
#define FETCH_ADD	0x14
#define UNDEFINED	0x15	/* reserved */
#define SEND_LAST_INV	0x16
#define SEND_ONLY_INV	0x17
#define FLUSH		0x1c
#define ATOMIC_WRITE	0x1d
#define UC		0x20
#define UD_SEND_ONLY	0x64
#define CNP		0x81

#endif
