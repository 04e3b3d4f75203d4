// SPDX-License-Identifier: GPL-2.0
/*
 * The RDMA devices. RDMA namespaces are exclusive (ib_core.netns_mode=0), so a program sees the
 * devices of its own host and no others.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

/* A device whose port is not active after this time never will be. */
#define DEVICE_WAIT_MS	60000

struct search {
	const char *name;
	uint32_t index;
	bool found;
};

static void compare_device(const void *data, size_t size, void *arg)
{
	const struct nlattr *attr = data;
	struct search *search = arg;
	uint32_t index = 0;

	while (size >= sizeof(*attr) && attr->nla_len >= sizeof(*attr) &&
	       attr->nla_len <= size) {
		const void *value = (const char *)attr + NLA_HDRLEN;
		size_t step = NLMSG_ALIGN(attr->nla_len);

		if (attr->nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
			memcpy(&index, value, sizeof(index));
		if (attr->nla_type == RDMA_NLDEV_ATTR_DEV_NAME && !strcmp(value, search->name))
			search->found = true;
		if (step >= size)
			break;
		size -= step;
		attr = (const void *)((const char *)attr + step);
	}
	if (search->found && !search->index)
		search->index = index + 1;
}

/* In the namespace of the socket: the device's index, or -1 */
static int find_device(struct netlink *nl, const char *name)
{
	struct search search = { .name = name };

	netlink_begin(nl, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), NLM_F_DUMP,
		      NULL, 0);
	if (netlink_dump(nl, compare_device, &search) || !search.found)
		return -1;
	return search.index - 1;
}

static void add_link(struct netlink *nl, const struct job *job, const char *name,
		     const char *netdev)
{
	int ret;

	netlink_begin(nl, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK), 0, NULL, 0);
	netlink_put_text(nl, RDMA_NLDEV_ATTR_DEV_NAME, name);
	netlink_put_text(nl, RDMA_NLDEV_ATTR_LINK_TYPE, job->driver);
	netlink_put_text(nl, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	ret = netlink_do(nl);
	if (ret)
		die("rdma link add %s type %s netdev %s: %s", name, job->driver, netdev,
		    strerror(-ret));
}

/* The kernel takes the calling process's namespace as the source of the move. */
static void move_device(struct netlink *initial, int initial_ns, int ns, const char *name,
			int index)
{
	int ret;

	netlink_begin(initial, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SET), 0, NULL, 0);
	netlink_put_u32(initial, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	netlink_put_u32(initial, RDMA_NLDEV_NET_NS_FD, ns);
	if (setns(initial_ns, CLONE_NEWNET))
		die("setns: %s", strerror(errno));
	ret = netlink_do(initial);
	if (setns(ns, CLONE_NEWNET))
		die("setns: %s", strerror(errno));
	if (ret)
		die("the RDMA device %s does not move to its host: %s", name, strerror(-ret));
}

/* A list may miss a device while other hosts move theirs: the kernel resumes by position, and there
 * are fewer devices then.
 */
static void move_home(struct netlink *initial, int initial_ns, struct netlink *own, int own_ns,
		      const char *name)
{
	int left = DEVICE_WAIT_MS, index;

	while (find_device(own, name) < 0) {
		index = find_device(initial, name);
		if (index >= 0) {
			move_device(initial, initial_ns, own_ns, name, index);
			return;
		}
		if (!left--)
			die("the RDMA device %s is nowhere", name);
		usleep(1000);
	}
}

int device_remove(struct netlink *nl, const char *name)
{
	int index = find_device(nl, name);

	if (index < 0)
		return -ENODEV;
	netlink_begin(nl, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_DELLINK), 0, NULL, 0);
	netlink_put_u32(nl, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return netlink_do(nl);
}

/* GID of an address, in the format of sysfs */
static char *gid_text(const char *address)
{
	unsigned char byte[16] = { [10] = 0xff, [11] = 0xff };
	bool six = strchr(address, ':');
	char *gid = "";
	int i;

	inet_pton(six ? AF_INET6 : AF_INET, address, six ? byte : byte + 12);
	for (i = 0; i < 16; i += 2)
		gid = text("%s%s%02x%02x", gid, i ? ":" : "", byte[i], byte[i + 1]);
	return gid;
}

/* Index of the GID with that type and address, or -1 */
int gid_index(const char *device, const char *type, const char *address)
{
	char *wanted = gid_text(address), *port, *gid, *is;
	int i;

	port = text("/sys/class/infiniband/%s/ports/1", device);
	for (i = 0; (gid = read_text(text("%s/gids/%d", port, i))); i++) {
		if (strcmp(gid, wanted))
			continue;
		is = read_text(text("%s/gid_attrs/types/%d", port, i));
		if (is && !strcmp(is, type))
			return i;
	}
	return -1;
}

static bool is_active(const char *device)
{
	char *state = read_text(text("/sys/class/infiniband/%s/ports/1/state", device));

	return state && strstr(state, "ACTIVE");
}

static bool has_gid(const char *device, const char *type, const char *address)
{
	return gid_index(device, type, address) >= 0;
}

/* They appear in the order of the addresses: if the last one exists, all do. */
static bool has_gids(const char *device, const char *address, const char *last)
{
	bool v1 = has_gid(device, "IB/RoCE v1", last);
	bool v2 = has_gid(device, "RoCE v2", last);

	return (v1 || v2) && v1 == has_gid(device, "IB/RoCE v1", address) &&
	       v2 == has_gid(device, "RoCE v2", address);
}

static void set_cm_tos(const char *device, unsigned int tos)
{
	char *folder = text("/sys/kernel/config/rdma_cm/%s", device);

	mkdir(folder, 0755);
	if (!write_file(text("%s/ports/1/default_roce_tos", folder), "%u", tos))
		die("--tos %u: %s", tos, strerror(errno));
}

/* In the network namespace of the host, as are the following functions */
void device_add(const struct job *job, struct netlink *initial, int initial_ns,
		struct netlink *own, int own_ns, const char *name, const char *netdev)
{
	add_link(own, job, name, netdev);
	move_home(initial, initial_ns, own, own_ns, name);
}

/* Wait until it can be used with its addresses; /sys must be mounted */
void device_wait(const struct job *job, const char *name, const char *address,
		 const char *last)
{
	int left = DEVICE_WAIT_MS;

	while (!is_active(name) ||
	       (strcmp(job->driver, "siw") && !has_gids(name, address, last))) {
		if (!left--)
			die("the RDMA device %s does not become active", name);
		usleep(1000);
	}
	if (job->tos_set)
		set_cm_tos(name, job->tos);
}
