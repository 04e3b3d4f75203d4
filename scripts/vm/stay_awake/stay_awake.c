// SPDX-License-Identifier: GPL-2.0
/*
 * While it is loaded, a machine that is suspended leaves its virtio devices alone. The
 * root of a guest is a folder of the host's over virtio, whose driver (9pnet_virtio) has
 * no restore(): after a suspend nothing could be read any more.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

static void keep_all(bool awake)
{
	struct pci_dev *pdev = NULL;

	while ((pdev = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, PCI_ANY_ID, pdev)))
		dev_pm_syscore_device(&pdev->dev, awake);
}

static int __init stay_awake_init(void)
{
	keep_all(true);
	return 0;
}

static void __exit stay_awake_exit(void)
{
	keep_all(false);
}

module_init(stay_awake_init);
module_exit(stay_awake_exit);
MODULE_DESCRIPTION("Virtio devices that a suspend leaves alone");
MODULE_LICENSE("GPL");
