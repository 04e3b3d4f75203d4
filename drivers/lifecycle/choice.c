// SPDX-License-Identifier: GPL-2.0
/*
 * A device is made by the best backend there is: hardware before software, which serves
 * where hardware fails. What the user has set for its ports goes along, under the same
 * name.
 *
 * A port whose partitions are not the default ones stays with software: hardware
 * has but one, and isolation between partitions would be lost.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "lifecycle/choice.h"
#include "core/device.h"
#include "core/offer.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/registry.h"
#include "lifecycle/slot.h"

#define NAME_TRIES		20
#define NAME_INTERVAL_MS	50

static void free_settings(const struct rhca_dev_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->num_ports; i++)
		kfree(spec->settings[i]);
}

/* What is kept for its ports goes into @spec, for free_settings() */
static int use_settings(struct rhca_dev_spec *spec)
{
	struct rhca_settings *settings;
	u32 i;

	for (i = 0; i < spec->num_ports; i++) {
		settings = rhca_slot_copy(spec->netdevs[i]);
		if (IS_ERR(settings)) {
			free_settings(spec);
			return PTR_ERR(settings);
		}
		if (!settings)
			continue;
		if (!spec->name && settings->name[0])
			spec->name = settings->name;
		spec->pkeys[i] = &settings->pkeys;
		spec->settings[i] = settings;
	}
	return 0;
}

static bool has_kept_name(const struct rhca_dev_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->num_ports; i++)
		if (spec->settings[i] && spec->name == spec->settings[i]->name)
			return true;
	return false;
}

static bool can_take(const struct rhca_settings *settings)
{
	return !settings || !rhca_pkeys_part_tenants(&settings->pkeys);
}

/*
 * The old device of that name may be held for a moment by who looks at it. A name
 * that the user gives is taken, or refused, as it is.
 */
static int create_under_name(struct rhca_dev_spec *spec)
{
	bool kept_name = has_kept_name(spec);
	u32 tries = NAME_TRIES;
	int ret;

	while ((ret = rhca_dev_create(spec)) == -ENFILE && kept_name && tries--)
		msleep(NAME_INTERVAL_MS);
	if (ret == -ENFILE && kept_name) {
		spec->name = NULL;
		ret = rhca_dev_create(spec);
	}
	return ret;
}

/* Hardware that cannot serve after all does not cost the port its device */
static int create_by(struct rhca_dev_spec *spec, struct rhca_offer *offer)
{
	const struct rhca_backend_ops *software = spec->backend;
	int ret;

	spec->backend = offer->backend;
	spec->offer = offer;
	ret = create_under_name(spec);
	if (!ret || ret == -EEXIST || ret == -ENODEV || ret == -ENFILE ||
	    ret == -EALREADY)
		return ret;
	trace_rhca_netdev(spec->netdevs[0]->name, "hardware could not", ret);
	pr_warn("no RDMA device by hardware on %s: error %d; software serves it\n",
		netdev_name(spec->netdevs[0]), ret);
	rhca_offer_fail(offer);
	spec->backend = software;
	spec->offer = NULL;
	return create_under_name(spec);
}

/**
 * rhca_choice_create - Make a device, by the best backend there is
 * @spec: what it should be; its backend is the one that always can
 *
 * Hardware serves single ports only: of devices with several it would have to own
 * all.
 *
 * Context: may sleep, RTNL not held.
 * Return: as rhca_dev_create(). After -EALREADY hardware will serve, once its last
 * device has gone. -ENOMEM also where what was set before cannot be taken over.
 */
int rhca_choice_create(struct rhca_dev_spec *spec)
{
	struct net_device *ndev = spec->netdevs[0];
	struct rhca_offer *offer = NULL;
	int ret;

	ret = use_settings(spec);
	if (ret)
		return ret;
	if (spec->num_ports == 1)
		offer = rhca_offer_find(ndev);
	if (offer && can_take(spec->settings[0]))
		ret = create_by(spec, offer);
	else
		ret = create_under_name(spec);
	if (offer)
		rhca_offer_release(offer);
	free_settings(spec);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_choice_create);
