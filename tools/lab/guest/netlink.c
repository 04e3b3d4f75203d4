// SPDX-License-Identifier: GPL-2.0
/*
 * Netlink requests: one at a time, each with an acknowledgement.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

#define ROOM	4096

void netlink_open(struct netlink *nl, int protocol)
{
	struct sockaddr_nl self = { .nl_family = AF_NETLINK };

	memset(nl, 0, sizeof(*nl));
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (nl->fd < 0 || bind(nl->fd, (struct sockaddr *)&self, sizeof(self)))
		die("netlink: %s", strerror(errno));
	nl->text = must_alloc(ROOM);
}

static void put(struct netlink *nl, const void *bytes, size_t size)
{
	size_t padded = NLMSG_ALIGN(size);

	if (nl->size + padded > ROOM)
		die("netlink: a request that is too long");
	memset(nl->text + nl->size, 0, padded);
	if (size)
		memcpy(nl->text + nl->size, bytes, size);
	nl->size += padded;
}

void netlink_begin(struct netlink *nl, uint16_t type, uint16_t flags, const void *head,
		   size_t size)
{
	struct nlmsghdr header = {
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
		.nlmsg_seq = ++nl->seq,
	};

	nl->size = 0;
	put(nl, &header, sizeof(header));
	put(nl, head, size);
}

void netlink_put(struct netlink *nl, uint16_t type, const void *value, size_t size)
{
	struct nlattr attr = { .nla_type = type, .nla_len = NLA_HDRLEN + size };

	put(nl, &attr, sizeof(attr));
	put(nl, value, size);
}

void netlink_put_text(struct netlink *nl, uint16_t type, const char *value)
{
	netlink_put(nl, type, value, strlen(value) + 1);
}

void netlink_put_u32(struct netlink *nl, uint16_t type, uint32_t value)
{
	netlink_put(nl, type, &value, sizeof(value));
}

size_t netlink_nest(struct netlink *nl, uint16_t type)
{
	size_t start = nl->size;

	netlink_put(nl, type, NULL, 0);
	return start;
}

void netlink_unnest(struct netlink *nl, size_t start)
{
	struct nlattr *attr = (struct nlattr *)(nl->text + start);

	attr->nla_len = nl->size - start;
}

static int send_request(struct netlink *nl)
{
	struct nlmsghdr *header = (struct nlmsghdr *)nl->text;

	header->nlmsg_len = nl->size;
	return send(nl->fd, nl->text, nl->size, 0) < 0 ? -errno : 0;
}

/* Read answers up to the end or the error; with NULL data, nothing marks the end. */
static int receive(struct netlink *nl, void (*each)(const void *, size_t, void *), void *arg)
{
	static char answer[65536];
	struct nlmsghdr *header;
	ssize_t got;
	size_t left;

	for (;;) {
		got = recv(nl->fd, answer, sizeof(answer), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		left = got;
		for (header = (struct nlmsghdr *)answer; NLMSG_OK(header, left);
		     header = NLMSG_NEXT(header, left)) {
			if (header->nlmsg_seq != nl->seq)
				continue;
			if (header->nlmsg_type == NLMSG_DONE)
				return 0;
			if (header->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(header))->error;
			if (each)
				each(NLMSG_DATA(header), NLMSG_PAYLOAD(header, 0), arg);
		}
	}
}

/* Returns 0 or a negative errno. */
int netlink_do(struct netlink *nl)
{
	int ret;

	((struct nlmsghdr *)nl->text)->nlmsg_flags |= NLM_F_ACK;
	ret = send_request(nl);
	return ret ? ret : receive(nl, NULL, NULL);
}

int netlink_dump(struct netlink *nl, void (*each)(const void *data, size_t size, void *arg),
		 void *arg)
{
	int ret = send_request(nl);

	return ret ? ret : receive(nl, each, arg);
}
