// SPDX-License-Identifier: GPL-2.0
#include "ifc.h"

u64 ifc_get_bits(const u8 *base, u32 bit, u32 bits)
{
	u64 value = 0;
	u32 i;

	if (!(bit % 8) && !(bits % 8)) {
		for (i = 0; i < bits / 8; i++)
			value = value << 8 | base[bit / 8 + i];
		return value;
	}
	for (i = bit; i < bit + bits; i++)
		value = value << 1 | (base[i / 8] >> (7 - i % 8) & 1);
	return value;
}

void ifc_set_bits(u8 *base, u32 bit, u32 bits, u64 value)
{
	u32 i, at;

	for (i = 0; i < bits; i++, value >>= 1) {
		at = bit + bits - 1 - i;
		if (value & 1)
			base[at / 8] |= 1 << (7 - at % 8);
		else
			base[at / 8] &= ~(1 << (7 - at % 8));
	}
}
