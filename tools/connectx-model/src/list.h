/* SPDX-License-Identifier: GPL-2.0 */
/* A doubly linked list whose links live inside the elements. */
#ifndef CONNECTX_LIST_H
#define CONNECTX_LIST_H

#include "util.h"

struct list {
	struct list *next;
	struct list *prev;
};

static inline void list_init(struct list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_append(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

static inline void list_unlink(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

#define list_first(head, type, member) \
	container_of((head)->next, type, member)
#define list_last(head, type, member) \
	container_of((head)->prev, type, member)
#define list_each(pos, head, type, member) \
	for (pos = container_of((head)->next, type, member); \
	     &pos->member != (head); \
	     pos = container_of(pos->member.next, type, member))

#endif
