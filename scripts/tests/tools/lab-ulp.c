// SPDX-License-Identifier: GPL-2.0
/* The smallest ULP: logs the devices that it is informed of. */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static int add_one(struct ib_device *dev)
{
	pr_info("ulp: %s\n", dev_name(&dev->dev));
	return 0;
}

static struct ib_client client = { .name = "ulp", .add = add_one };

static int __init ulp_init(void)
{
	return ib_register_client(&client);
}
module_init(ulp_init);

static void __exit ulp_exit(void)
{
	ib_unregister_client(&client);
}
module_exit(ulp_exit);
MODULE_DESCRIPTION("A ULP");
MODULE_LICENSE("GPL");
