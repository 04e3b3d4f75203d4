// SPDX-License-Identifier: GPL-2.0
/*
 * Loss recovery and congestion control of a software HCA's port as files, ports/1/cc/. Adapters
 * have the same names, units and place. A new value applies from the next packet on.
 */
#include <linux/stddef.h>
#include <rdma/ib_sysfs.h>

#include "core/port/port.h"
#include "core/rules/cc.h"
#include "sw/verbs/port.h"

/* A parameter file */
struct cc_file {
	struct ib_port_attribute attr;	/* the file */
	size_t offset;			/* of the value in struct rhca_cc */
	u32 least;			/* least value */
	u32 most;			/* greatest value */
};

static u32 *value_of(struct ib_device *ibdev, u32 port_num,
		     const struct cc_file *file)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	return (void *)&port->cc + file->offset;
}

static ssize_t show_value(struct ib_device *ibdev, u32 port_num,
			  struct ib_port_attribute *attr, char *buf)
{
	const struct cc_file *file = container_of(attr, struct cc_file, attr);

	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(*value_of(ibdev, port_num, file)));
}

static ssize_t store_value(struct ib_device *ibdev, u32 port_num,
			   struct ib_port_attribute *attr, const char *buf,
			   size_t len)
{
	const struct cc_file *file = container_of(attr, struct cc_file, attr);
	u32 value;
	int ret;

	ret = kstrtou32(buf, 0, &value);
	if (ret)
		return ret;
	if (value < file->least || value > file->most)
		return -EINVAL;
	WRITE_ONCE(*value_of(ibdev, port_num, file), value);
	return len;
}

#define MAX_MBITS	400000		/* the fastest Ethernet */

#define CC_FILE(_name, _least, _most)					\
	&((struct cc_file) {						\
		.attr	= __ATTR(_name, 0644, show_value, store_value),	\
		.offset	= offsetof(struct rhca_cc, _name),		\
		.least	= (_least),					\
		.most	= (_most),					\
	}).attr.attr

static struct attribute *attributes[] = {
	CC_FILE(enable, 0, 1),
	CC_FILE(selective_repeat, 0, 1),
	CC_FILE(adp_retrans, 0, 1),
	CC_FILE(np_min_time_between_cnps, 0, 1000),
	CC_FILE(np_cnp_dscp, 0, 63),
	CC_FILE(np_cnp_prio, 0, 7),
	CC_FILE(np_cnp_prio_mode, 0, 1),
	CC_FILE(rp_clamp_tgt_rate, 0, 1),
	CC_FILE(rp_clamp_tgt_rate_ati, 0, 1),
	CC_FILE(rp_time_reset, 1, 131071),
	CC_FILE(rp_byte_reset, 1, 32767),
	CC_FILE(rp_threshold, 1, 31),
	CC_FILE(rp_max_rate, 0, MAX_MBITS),
	CC_FILE(rp_ai_rate, 1, MAX_MBITS),
	CC_FILE(rp_hai_rate, 1, MAX_MBITS),
	CC_FILE(rp_min_dec_fac, 1, 100),
	CC_FILE(rp_min_rate, 1, MAX_MBITS),
	CC_FILE(rp_rate_to_set_on_first_cnp, 0, MAX_MBITS),
	CC_FILE(rp_dce_tcp_g, 0, 1023),
	CC_FILE(rp_dce_tcp_rtt, 1, 131071),
	CC_FILE(rp_rate_reduce_monitor_period, 1, 131071),
	CC_FILE(rp_initial_alpha_value, 1, 1023),
	CC_FILE(rp_gd, 10, 11),
	NULL
};

static const struct attribute_group group = {
	.name	= "cc",
	.attrs	= attributes,
};

static const struct attribute_group *port_groups[] = {
	&rhca_port_group,
	&group,
	NULL
};

/* Set before the core's groups, which lack this folder */
const struct ib_device_ops rhca_cc_verbs = {
	.port_groups	= port_groups,
};
