// SPDX-License-Identifier: GPL-2.0
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "device.h"
#include "eq.h"
#include "qp.h"
#include "trace.h"

#define LINE_BYTES	4096
#define NS_PER_US	1000ull
#define PAGE_REQUEST_COUNT	4	/* where an event has it, after the function */

static int listen_fd = -1;
static struct client {
	int fd;
	u32 used;
	char line[LINE_BYTES];
} clients[CONTROL_CLIENTS];

bool control_listen(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	u32 i;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		clients[i].fd = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return false;
	strcpy(address.sun_path, path);
	unlink(path);
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listen_fd < 0 || bind(listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listen_fd, CONTROL_CLIENTS)) {
		perror(path);
		return false;
	}
	return true;
}

/* The text after "key": in a line, or NULL. Sufficient for flat objects. */
static const char *value_of(const char *line, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	at = strstr(line, quoted);
	if (!at)
		return NULL;
	at += strlen(quoted);
	at += strspn(at, " \t");
	if (*at != ':')
		return NULL;
	return at + 1 + strspn(at + 1, " \t");
}

static u64 number_of(const char *line, const char *key, u64 otherwise)
{
	const char *text = value_of(line, key);

	if (!text)
		return otherwise;
	if (!strncmp(text, "true", 4))
		return 1;
	if (!strncmp(text, "false", 5))
		return 0;
	return strtoull(text, NULL, 0);
}

/* A text that contains no quotes. Return: false if there is none, or it is too long. */
static bool text_of(const char *line, const char *key, char *to, size_t room)
{
	const char *text = value_of(line, key);
	size_t length = text && *text == '"' ? strcspn(text + 1, "\"") : room;

	if (length >= room)
		return false;
	memcpy(to, text + 1, length);
	to[length] = 0;
	return true;
}

struct request {
	const char *line;
	struct device *dev;
	char answer[LINE_BYTES];
};

static void answer_text(struct request *r, const char *text)
{
	size_t used = strlen(r->answer);

	snprintf(r->answer + used, sizeof(r->answer) - used, "%s", text);
}

static void answer_number(struct request *r, const char *key, u64 value)
{
	size_t used = strlen(r->answer);

	snprintf(r->answer + used, sizeof(r->answer) - used, ",\"%s\":%llu", key,
		 (unsigned long long)value);
}

static void answer_counters(struct request *r)
{
	static const char *const casts[] = { "unicast", "multicast", "broadcast" };
	const struct device_counters *c = &r->dev->counters;
	char key[64];
	u32 d, k, t;

	for (d = 0; d < DIRECTIONS; d++) {
		for (k = 0; k < TRAFFIC_KINDS; k++) {
			for (t = 0; t < CASTS; t++) {
				snprintf(key, sizeof(key), "%s_%s_%s_packets", d ? "tx" : "rx",
					 k ? "roce" : "ethernet", casts[t]);
				answer_number(r, key, c->traffic[d][k][t].packets);
			}
		}
	}
	answer_number(r, "rx_icrc_errors", c->rx_icrc_errors);
	answer_number(r, "rx_malformed", c->rx_malformed);
	answer_number(r, "rx_no_qp", c->rx_no_qp);
	answer_number(r, "rx_dropped", c->rx_dropped);
	answer_number(r, "wire_tx_errors", c->wire_tx_errors);
	answer_number(r, "impaired_lost", c->impaired_lost);
	answer_number(r, "impaired_corrupted", c->impaired_corrupted);
	answer_number(r, "impaired_reordered", c->impaired_reordered);
	answer_number(r, "impaired_duplicated", c->impaired_duplicated);
	answer_number(r, "wire_rx_packets", r->dev->port.wire_packets[COUNT_RX]);
	answer_number(r, "wire_tx_packets", r->dev->port.wire_packets[COUNT_TX]);
	answer_number(r, "ecn_marked", c->ecn_marked);
	answer_number(r, "cnp_sent", c->cnp_sent);
	answer_number(r, "cnp_handled", c->cnp_handled);
	answer_number(r, "send_requests", c->work.requests);
	answer_number(r, "send_doorbells", c->work.doorbells);
	answer_number(r, "register_writes", c->work.register_writes);
	answer_number(r, "memory_stretches", c->work.stretches);
	answer_number(r, "completions", c->work.completions);
	answer_number(r, "cq_arms", c->work.arms);
	answer_number(r, "completion_events", c->work.completion_events);
	answer_number(r, "commands", r->dev->commands.executed);
	answer_number(r, "commands_refused", r->dev->commands.failed);
	answer_number(r, "dma_misses", r->dev->dma.misses);
	answer_number(r, "violations", violation_count());
}

/* How often each command was executed since the model started, including refused ones */
static void answer_commands(struct request *r)
{
	const u64 *executed = r->dev->counters.work.commands;
	u32 i;

	for (i = 0; i < command_table_rows; i++)
		if (executed[i])
			answer_number(r, command_name(command_table[i].opcode), executed[i]);
}

static void answer_objects(struct request *r)
{
	u32 kind;

	for (kind = OBJ_NONE + 1; kind < OBJ_KINDS; kind++)
		answer_number(r, object_kind_name(kind), r->dev->objects.count[kind]);
}

static void set_link(struct request *r)
{
	port_set_link(&r->dev->port, number_of(r->line, "up", 1));
}

static void set_impairment(struct request *r)
{
	struct impairment *i = &r->dev->port.impairment;

	i->loss_ppm = number_of(r->line, "loss_ppm", i->loss_ppm);
	i->reorder_ppm = number_of(r->line, "reorder_ppm", i->reorder_ppm);
	i->corrupt_ppm = number_of(r->line, "corrupt_ppm", i->corrupt_ppm);
	i->duplicate_ppm = number_of(r->line, "duplicate_ppm", i->duplicate_ppm);
	i->mark_ppm = number_of(r->line, "mark_ppm", i->mark_ppm);
}

static void set_fatal(struct request *r)
{
	r->dev->faults.health_syndrome = number_of(r->line, "syndrome", 1);
}

/* Doorbells rung while firmware hung are handled when it continues. */
static void set_hang(struct request *r)
{
	u32 slots = r->dev->commands.hung_slots;

	r->dev->faults.hung = number_of(r->line, "on", 1);
	if (r->dev->faults.hung || !slots)
		return;
	r->dev->commands.hung_slots = 0;
	command_doorbell(r->dev, slots);
}

/* Execution time of each command from now on, also after a reset. */
static void set_latency(struct request *r)
{
	r->dev->command_latency_ns = number_of(r->line, "us", 0) * NS_PER_US;
}

/* Time to flush each request of a QP in error, for those that fail from now on. */
static void set_flush(struct request *r)
{
	r->dev->flush_ns = number_of(r->line, "us", 0) * NS_PER_US;
}

/* Firmware requests memory from the driver, or with a negative count returns some. */
static void request_pages(struct request *r)
{
	u8 data[EQE_DATA_BYTES] = { 0 };
	u32 count = number_of(r->line, "count", 0);

	put_be32(data + PAGE_REQUEST_COUNT, count);
	if (count)
		event_raise(r->dev, EVENT_PAGE_REQUEST, 0, data);
	answer_number(r, "lent", r->dev->pages.count);
}

/* An event of a queue, such as WQ_CATAS_ERROR (5) of a send queue (kind 2). */
static void raise_event(struct request *r)
{
	event_queue_number(r->dev, number_of(r->line, "type", 0), number_of(r->line, "kind", 0),
			   number_of(r->line, "number", 0));
}

/* A send queue is drained by the adapter itself: there is no command for it. */
static void drain(struct request *r)
{
	struct qp *qp = qp_find(r->dev, number_of(r->line, "number", 0));

	answer_number(r, "drained", qp && qp_drain(qp));
}

static void unplug(struct request *r)
{
	device_reset(r->dev);
	r->dev->faults.gone = true;
}

/* As after power on: the guest notices when it looks. */
static void plug(struct request *r)
{
	r->dev->faults.gone = false;
}

static void set_demand(struct demand *demand, const char *line)
{
	demand->left = number_of(line, "after", 1);
	demand->times = number_of(line, "times", 1);
}

/* Without an opcode no command is refused any more. */
static void set_refusal(struct request *r)
{
	struct command_queue *commands = &r->dev->commands;
	struct demand *refusal = &commands->refusal;
	char name[64];

	refusal->left = 0;
	if (text_of(r->line, "opcode", name, sizeof(name))) {
		refusal->opcode = command_opcode(name);
		commands->refusal_status = number_of(r->line, "status", STATUS_LIMIT);
		if (refusal->opcode && commands->refusal_status)
			set_demand(refusal, r->line);
	}
	answer_number(r, "left", refusal->left);
	answer_number(r, "refused", refusal->done);
}

static void answer_lost(struct request *r)
{
	const struct demand *loss = &r->dev->commands.loss;
	const struct demand *requests = &r->dev->commands.request_loss;

	answer_number(r, "left", loss->left + requests->left);
	answer_number(r, "lost", loss->done + requests->done);
}

static void answer_late(struct request *r)
{
	answer_number(r, "answered", command_answer_lost(r->dev));
}

static void set_loss(struct request *r)
{
	struct demand *loss = &r->dev->commands.loss;
	struct demand *requests = &r->dev->commands.request_loss;
	char name[64];

	loss->left = 0;
	requests->left = 0;
	if (text_of(r->line, "opcode", name, sizeof(name))) {
		loss->opcode = command_opcode(name);
		r->dev->commands.loss_executes = number_of(r->line, "executed", 0);
		if (!strcmp(name, "UMR"))
			set_demand(requests, r->line);
		else if (loss->opcode)
			set_demand(loss, r->line);
	}
	answer_lost(r);
}

/* Names of the commands since the last call; the oldest may be lost. */
static void answer_log(struct request *r)
{
	struct command_queue *commands = &r->dev->commands;
	u64 lost = 0;

	if (commands->logged - commands->told > COMMAND_LOG) {
		lost = commands->logged - commands->told - COMMAND_LOG;
		commands->told += lost;
	}
	answer_number(r, "lost", lost);
	answer_text(r, ",\"names\":\"");
	for (; commands->told != commands->logged; commands->told++) {
		if (strlen(r->answer) + 64 > sizeof(r->answer))
			break;		/* the next answer has the rest */
		answer_text(r, command_name(commands->log[commands->told % COMMAND_LOG]));
		answer_text(r, " ");
	}
	answer_text(r, "\"");
}

/* Topics printed from now on, after a line that separates parts of the log. */
static void set_trace(struct request *r)
{
	char text[64];

	if (text_of(r->line, "topics", text, sizeof(text))) {
		trace_topics = 0;
		trace_parse(text);
	}
	if (text_of(r->line, "mark", text, sizeof(text)))
		trace_line(TRACE_NOTE, "mark %s", text);
}

static const struct {
	const char *name;
	void (*serve)(struct request *r);
} verbs[] = {
	{ "counters", answer_counters }, { "commands", answer_commands },
	{ "objects", answer_objects }, { "link", set_link },
	{ "impair", set_impairment }, { "fatal", set_fatal }, { "hang", set_hang },
	{ "unplug", unplug }, { "plug", plug }, { "refuse", set_refusal },
	{ "latency", set_latency }, { "flush", set_flush }, { "pages", request_pages },
	{ "log", answer_log }, { "trace", set_trace }, { "event", raise_event },
	{ "drain", drain }, { "lose", set_loss }, { "lost", answer_lost },
	{ "answer", answer_late },
};

static void serve_line(struct client *client, const char *line)
{
	struct request r = { .line = line };
	const char *verb = value_of(line, "cmd");
	u64 index = number_of(line, "device", 0);
	size_t length = verb && *verb == '"' ? strcspn(verb + 1, "\"") : 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (length == strlen(verbs[i].name) && !memcmp(verb + 1, verbs[i].name, length))
			break;
	if (i == ARRAY_SIZE(verbs) || index >= device_count) {
		dprintf(client->fd, "{\"error\":\"unknown cmd or device\"}\n");
		return;
	}
	r.dev = devices[index];
	verbs[i].serve(&r);
	dprintf(client->fd, "{\"ok\":true%s}\n", r.answer);
}

static void read_client(struct client *client)
{
	ssize_t got = read(client->fd, client->line + client->used,
			   sizeof(client->line) - 1 - client->used);
	char *end;

	if (got <= 0) {
		close(client->fd);
		client->fd = -1;
		return;
	}
	client->used += got;
	client->line[client->used] = 0;
	while ((end = strchr(client->line, '\n')) != NULL) {
		*end = 0;
		serve_line(client, client->line);
		client->used -= end + 1 - client->line;
		memmove(client->line, end + 1, client->used + 1);
	}
	if (client->used == sizeof(client->line) - 1)
		client->used = 0;
}

static void accept_client(void)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	u32 i;

	for (i = 0; i < CONTROL_CLIENTS; i++) {
		if (fd >= 0 && clients[i].fd < 0) {
			clients[i].fd = fd;
			clients[i].used = 0;
			return;
		}
	}
	if (fd >= 0)
		close(fd);
}

u32 control_poll(struct pollfd *fds)
{
	u32 count = 0, i;

	if (listen_fd < 0)
		return 0;
	fds[count++] = (struct pollfd){ .fd = listen_fd, .events = POLLIN };
	for (i = 0; i < CONTROL_CLIENTS; i++)
		if (clients[i].fd >= 0)
			fds[count++] = (struct pollfd){ .fd = clients[i].fd, .events = POLLIN };
	return count;
}

void control_serve(const struct pollfd *fds, u32 count)
{
	u32 i, c;

	for (i = 0; i < count; i++) {
		if (!fds[i].revents)
			continue;
		if (fds[i].fd == listen_fd)
			accept_client();
		for (c = 0; c < CONTROL_CLIENTS; c++)
			if (clients[c].fd == fds[i].fd)
				read_client(&clients[c]);
	}
}
