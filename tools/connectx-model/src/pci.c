// SPDX-License-Identifier: GPL-2.0
#include "pci.h"

#include "vfio_user.h"

/* Offset of each capability, and of the next one. */
enum { CAP_PM = 0x40, CAP_EXPRESS = 0x60, CAP_MSIX = 0x9c };

/* The MSI-X table and pending bits are in the BAR, below the UAR pages. */
#define MSIX_TABLE	0x2000u
#define MSIX_PENDING	0x3000u

#define EXPRESS_CONTROL		(CAP_EXPRESS + 8)
#define EXPRESS_FLR		0x80	/* in the high byte of device control */
#define MSIX_CONTROL_HIGH	(CAP_MSIX + 3)

#define DEVICE_ID	0x02

struct config_value {
	u16 at;
	u8 bytes;
	u32 value;
};

static const struct config_value defaults[] = {
	{ 0x00, 2, 0x15b3 },			/* vendor */
	{ DEVICE_ID, 2, 0x1017 },		/* ConnectX-5 */
	{ 0x06, 2, 0x0010 },			/* has a capability list */
	{ 0x0a, 2, 0x0200 },			/* Ethernet controller */
	{ 0x10, 4, 0x0000000c },		/* BAR 0: 64 bit, prefetchable */
	{ 0x2c, 2, 0x15b3 },
	{ 0x2e, 2, 0x0006 },
	{ 0x34, 1, CAP_PM },
	{ CAP_PM, 4, 0x00030001 | CAP_EXPRESS << 8 },
	{ CAP_EXPRESS, 4, 0x00020010 | CAP_MSIX << 8 },
	{ CAP_EXPRESS + 4, 4, 0x10008002 },	/* 512 byte payload, FLR */
	{ CAP_EXPRESS + 12, 4, 0x00000103 },	/* 8 GT/s, 16 lanes */
	{ CAP_EXPRESS + 18, 2, 0x0103 },
	{ CAP_MSIX, 4, 0x00000011 | (VFIO_USER_VECTORS - 1) << 16 },
	{ CAP_MSIX + 4, 4, MSIX_TABLE },
	{ CAP_MSIX + 8, 4, MSIX_PENDING },
};

/* Bits that a guest may change, byte by byte. */
static const struct {
	u16 first;
	u16 last;
} writable[] = {
	{ 0x04, 0x05 }, { 0x0c, 0x0c }, { 0x10, 0x17 }, { 0x3c, 0x3c },
	{ CAP_PM + 4, CAP_PM + 4 }, { EXPRESS_CONTROL, EXPRESS_CONTROL + 1 },
	{ MSIX_CONTROL_HIGH, MSIX_CONTROL_HIGH },
};

void pci_init(struct pci *pci)
{
	u32 i, b;

	memset(pci->config, 0, sizeof(pci->config));
	for (i = 0; i < ARRAY_SIZE(defaults); i++)
		for (b = 0; b < defaults[i].bytes; b++)
			pci->config[defaults[i].at + b] = defaults[i].value >> (8 * b);
	if (pci->is_virtual)
		pci->config[DEVICE_ID]++;	/* the device id of each virtual function */
}

static bool may_write(u32 at)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(writable); i++)
		if (at >= writable[i].first && at <= writable[i].last)
			return true;
	return false;
}

/* Address bits below the BAR's size are not writable. */
static void mask_bar(struct pci *pci)
{
	u64 bar;

	memcpy(&bar, pci->config + 0x10, sizeof(bar));
	bar = htole64((le64toh(bar) & ~(u64)(PCI_BAR_BYTES - 1)) | 0xc);
	memcpy(pci->config + 0x10, &bar, sizeof(bar));
}

bool pci_config_write(struct pci *pci, u32 at, const u8 *from, u32 bytes)
{
	bool reset = false;
	u32 i;

	for (i = 0; i < bytes; i++) {
		if (!may_write(at + i))
			continue;
		pci->config[at + i] = from[i];
		if (at + i == EXPRESS_CONTROL + 1 && (from[i] & EXPRESS_FLR)) {
			pci->config[at + i] &= ~EXPRESS_FLR;
			reset = true;
		}
	}
	mask_bar(pci);
	return reset;
}
