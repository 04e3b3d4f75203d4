/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access to firmware structures by the names that the kernel's mlx5_ifc.h gives to their bits. In
 * that header one byte of a C structure represents one bit of the big-endian structure on the wire,
 * so offsetof() and sizeof() are bit offsets and widths.
 */
#ifndef CONNECTX_IFC_H
#define CONNECTX_IFC_H

#include "util.h"

#ifndef BIT
#define BIT(n)			(1u << (n))
#define BIT_ULL(n)		(1ull << (n))
#endif
#define DECLARE_FLEX_ARRAY(type, name) \
	struct { struct {} empty_##name; type name[]; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include "mlx5_ifc.h"
#pragma GCC diagnostic pop

/* One field of a command, for checks and for printing. */
struct ifc_field {
	const char *name;
	u32 bit;
	u32 bits;
};

struct ifc_opcode {
	u16 opcode;
	const char *name;
};

u64 ifc_get_bits(const u8 *base, u32 bit, u32 bits);
void ifc_set_bits(u8 *base, u32 bit, u32 bits, u64 value);

#define IFC_TYPE(type)		struct mlx5_ifc_##type##_bits
#define IFC_BIT(type, field)	((u32)offsetof(IFC_TYPE(type), field))
#define IFC_WIDTH(type, field)	((u32)sizeof(((IFC_TYPE(type) *)0)->field))
#define IFC_BYTES(type)		(sizeof(IFC_TYPE(type)) / 8)
#define IFC_OFFSET(type, field)	(offsetof(IFC_TYPE(type), field) / 8)

#define GET(type, base, field) \
	ifc_get_bits((const u8 *)(base), IFC_BIT(type, field), IFC_WIDTH(type, field))
#define SET(type, base, field, value) \
	ifc_set_bits((u8 *)(base), IFC_BIT(type, field), IFC_WIDTH(type, field), (value))
#define AT(type, base, field)	((u8 *)(base) + IFC_OFFSET(type, field))

/* A 64-bit number in two fields. */
#define SET_HALVES(type, base, field, value)				\
	do {								\
		SET(type, base, field##_high, (value) >> 32);		\
		SET(type, base, field##_low, (value));			\
	} while (0)

#endif
