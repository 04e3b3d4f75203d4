/* SPDX-License-Identifier: GPL-2.0 */
/* PCI configuration space of the adapter. */
#ifndef CONNECTX_PCI_H
#define CONNECTX_PCI_H

#include "util.h"

#define PCI_CONFIG_BYTES	4096
#define PCI_BAR_BYTES		(32u << 20)

struct pci {
	u8 config[PCI_CONFIG_BYTES];
	bool is_virtual;	/* a virtual function, survives pci_init() */
};

void pci_init(struct pci *pci);

/* Return: true when the write asks for a function level reset. */
bool pci_config_write(struct pci *pci, u32 at, const u8 *from, u32 bytes);

#endif
