// SPDX-License-Identifier: GPL-2.0
#include "commands.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "eq.h"
#include "mkey.h"
#include "trace.h"

#define ENTRY_BYTES		(1u << COMMAND_STRIDE_LOG)
#define INLINE_BYTES		16u
#define BLOCK_DATA		512u
#define BLOCK_BYTES		576u
#define BLOCK_NEXT		560u
#define BLOCK_NUMBER		568u
#define BLOCK_TOKEN		573u
#define BLOCK_ALIGN		512u

/* Offsets in a command queue entry. */
enum {
	ENTRY_TYPE = 0, ENTRY_IN_LEN = 4, ENTRY_IN_PTR = 8, ENTRY_IN = 16, ENTRY_OUT = 32,
	ENTRY_OUT_PTR = 48, ENTRY_OUT_LEN = 56, ENTRY_TOKEN = 60, ENTRY_STATUS = 63,
};

#define ENTRY_TYPE_PCIE		7
#define OWNED_BY_DEVICE		1

/* Reasons why a command could not even be read, in bits 7:1 of the entry's status. */
enum delivery {
	DELIVERY_OK = 0x0, DELIVERY_TOKEN = 0x2, DELIVERY_BLOCK_NUMBER = 0x3,
	DELIVERY_OUT_PTR = 0x4, DELIVERY_IN_PTR = 0x5, DELIVERY_IN_LENGTH = 0x7,
	DELIVERY_OUT_LENGTH = 0x8, DELIVERY_DESCRIPTOR = 0x10,
};

#define EVENT_COMMAND		0x0a

static const char *const syndrome_texts[] = {
#define SYNDROME_TEXT(name, text)	[name] = text,
	SYNDROMES(SYNDROME_TEXT)
#undef SYNDROME_TEXT
};

const char *syndrome_text(u32 syndrome)
{
	u32 i = syndrome - SYNDROME_BASE;

	return i < SYND_COUNT ? syndrome_texts[i] : "";
}

enum command_status command_fail(struct command *cmd, enum command_status status,
				 enum syndrome syndrome)
{
	cmd->syndrome = SYNDROME_BASE + syndrome;
	return status;
}

void command_note(struct command *cmd, const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(cmd->note);

	va_start(arguments, format);
	vsnprintf(cmd->note + used, sizeof(cmd->note) - used, format, arguments);
	va_end(arguments);
}

enum command_status command_add(struct command *cmd, int kind, struct object *object)
{
	if (!object_add(&cmd->dev->objects, kind, object))
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	SET(alloc_pd_out, cmd->out, pd, object->id);
	command_note(cmd, " -> %s %#x", object_kind_name(kind), object->id);
	return STATUS_OK;
}

enum command_status command_destroy(struct command *cmd, int kind, u32 id)
{
	struct object *object = object_find(&cmd->dev->objects, kind, id);

	command_note(cmd, " %s %#x", object_kind_name(kind), id);
	if (!object)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (object->users)
		return command_fail(cmd, STATUS_RESOURCE_BUSY, SYND_BUSY);
	object_remove(&cmd->dev->objects, object);
	return STATUS_OK;
}

enum command_status command_add_object(struct command *cmd)
{
	struct object *object = zalloc(sizeof(*object));
	enum command_status status = command_add(cmd, cmd->row->kind, object);

	if (status)
		free(object);
	return status;
}

enum command_status command_destroy_object(struct command *cmd)
{
	return command_destroy(cmd, cmd->row->kind,
			       ifc_get_bits(cmd->in, cmd->row->number_bit, cmd->row->number_bits));
}

static const struct command_row *find_row(u16 opcode)
{
	u32 i;

	for (i = 0; i < command_table_rows; i++)
		if (command_table[i].opcode == opcode)
			return &command_table[i];
	return NULL;
}

const struct ifc_field *command_in_fields(u16 opcode)
{
	const struct command_row *row = find_row(opcode);

	return row ? row->in_fields : NULL;
}

static bool is_reserved(const char *name)
{
	const char *last = strrchr(name, '.');

	return !strncmp(last ? last + 1 : name, "reserved", 8);
}

static bool any_bit(const u8 *base, u32 bit, u32 bits)
{
	for (; bits && bit % 8; bit++, bits--)
		if (base[bit / 8] >> (7 - bit % 8) & 1)
			return true;
	for (; bits >= 8; bit += 8, bits -= 8)
		if (base[bit / 8])
			return true;
	for (; bits; bit++, bits--)
		if (base[bit / 8] >> (7 - bit % 8) & 1)
			return true;
	return false;
}

/* Return: the first reserved field that is not zero, or NULL. */
static const struct ifc_field *reserved_in_use(const struct command_row *row,
					       const u8 *in, u32 in_bytes)
{
	const struct ifc_field *field;

	for (field = row->in_fields; field && field->name; field++)
		if (is_reserved(field->name) && field->bit + field->bits <= in_bytes * 8 &&
		    any_bit(in, field->bit, field->bits))
			return field;
	return NULL;
}

static enum command_status check(struct command *cmd)
{
	const struct command_row *row = cmd->row;
	const struct ifc_field *field;

	if (!command_knows_op_mod(cmd->opcode, cmd->op_mod))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OP_MOD);
	if (cmd->in_bytes < row->in_bytes)
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_IN_LENGTH);
	if (cmd->out_bytes < row->out_bytes)
		return command_fail(cmd, STATUS_BAD_OUTPUT_LEN, SYND_OUT_LENGTH);
	if (cmd->dev->state < row->needs)
		return command_fail(cmd, STATUS_BAD_SYS_STATE, SYND_HCA_STATE);
	field = reserved_in_use(row, cmd->in, cmd->in_bytes);
	if (field) {
		command_note(cmd, " (%s)", field->name);
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_RESERVED);
	}
	return STATUS_OK;
}

static void trace_fields(const char *side, const struct ifc_field *field, const u8 *data,
			 u32 bytes)
{
	u64 value;

	for (; field && field->name; field++) {
		if (field->bits > 64 || field->bit + field->bits > bytes * 8)
			continue;
		value = ifc_get_bits(data, field->bit, field->bits);
		if (value)
			trace_line(TRACE_FIELD, "  %s %s = %#llx", side, field->name,
				   (unsigned long long)value);
	}
}

void command_trace_pages(const u8 *list, u32 entries)
{
	u64 below = (1u << MKEY_MIN_PAGE_SHIFT) - 1, any = 0, all = below;
	u32 i, pages = 0;

	for (i = 0; i < entries; i++) {
		u64 entry = be64_at(list + 8 * i);

		if (!entry)
			continue;
		any |= entry & below;
		all &= entry;
		pages++;
	}
	trace_line(TRACE_FIELD, "  in list.pages = %#x", pages);
	trace_line(TRACE_FIELD, "  in list.low_bits = %#llx", (unsigned long long)any);
	trace_line(TRACE_FIELD, "  in list.low_bits_of_all = %#llx",
		   (unsigned long long)(pages ? all & below : 0));
}

/* These end in addresses of pages, whatever their layout calls them. */
static bool ends_in_pages(const struct command *cmd)
{
	static const u16 opcodes[] = {
		MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_CREATE_CQ, MLX5_CMD_OP_MODIFY_CQ,
		MLX5_CMD_OP_CREATE_QP, MLX5_CMD_OP_CREATE_SRQ, MLX5_CMD_OP_CREATE_XRC_SRQ,
		MLX5_CMD_OP_CREATE_RMP,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		if (opcodes[i] == cmd->opcode)
			return true;
	return false;
}

static void trace_command(const struct command *cmd)
{
	const struct command_row *row = cmd->row;

	trace_fields("in", row->in_fields, cmd->in, cmd->in_bytes);
	if (ends_in_pages(cmd) && cmd->in_bytes >= row->in_bytes + 8)
		command_trace_pages(cmd->in + row->in_bytes, (cmd->in_bytes - row->in_bytes) / 8);
	trace_fields("out", row->out_fields, cmd->out, cmd->out_bytes);
}

static void tell(const struct command *cmd, u8 status)
{
	trace(TRACE_COMMAND, "dev%u %s op_mod=%#x in=%u out=%u%s%s%s", cmd->dev->index,
	      command_name(cmd->opcode), cmd->op_mod, cmd->in_bytes, cmd->out_bytes, cmd->note,
	      status ? " REFUSED: " : "", status ? syndrome_text(cmd->syndrome) : "");
	if (cmd->row && (trace_topics & TRACE_FIELD))
		trace_command(cmd);
	if (status && !cmd->demanded)
		violation("dev%u: command %s refused, status %#x: %s%s", cmd->dev->index,
			  command_name(cmd->opcode), status, syndrome_text(cmd->syndrome),
			  cmd->note);
}

bool demand_meets(struct demand *demand)
{
	if (!demand->left || --demand->left)
		return false;
	demand->done++;
	if (demand->times > 1) {
		demand->times--;
		demand->left = 1;
	}
	return true;
}

static enum command_status refuse_on_demand(struct command *cmd)
{
	struct command_queue *commands = &cmd->dev->commands;

	if (commands->refusal.opcode != cmd->opcode || !demand_meets(&commands->refusal))
		return STATUS_OK;
	cmd->demanded = true;
	return command_fail(cmd, commands->refusal_status, SYND_DEMANDED);
}

static void log_command(struct command_queue *commands, u16 opcode)
{
	commands->log[commands->logged++ % COMMAND_LOG] = opcode;
}

void command_execute(struct device *dev, const u8 *in, u32 in_bytes, u8 *out, u32 out_bytes)
{
	struct command cmd = { .dev = dev, .in = in, .in_bytes = in_bytes,
			       .out = out, .out_bytes = out_bytes };
	enum command_status status;

	cmd.opcode = be16_at(in);
	cmd.op_mod = be16_at(in + 6);
	cmd.row = find_row(cmd.opcode);
	if (cmd.row) {
		dev->counters.work.commands[cmd.row - command_table]++;
		status = check(&cmd);
	} else {
		status = command_fail(&cmd, STATUS_BAD_OP, SYND_OPCODE);
	}
	log_command(&dev->commands, cmd.opcode);
	if (!status)
		status = refuse_on_demand(&cmd);
	if (!status)
		status = cmd.row->execute(&cmd);
	if (status)
		memset(out, 0, out_bytes);
	out[0] = status;
	put_be32(out + 4, cmd.syndrome);
	dev->commands.executed++;
	dev->commands.failed += !!status;
	tell(&cmd, status);
}

/* A command in transfer: input and output, in the model's memory. */
struct carried {
	u8 *in;
	u8 *out;
	u32 in_bytes;
	u32 out_bytes;
	u64 out_ptr;
	u8 token;
};

static enum delivery gather(struct device *dev, u64 mailbox, struct carried *c)
{
	u32 done, part, number = 0;
	u8 block[BLOCK_BYTES];

	for (done = INLINE_BYTES; done < c->in_bytes; done += part, number++) {
		if (mailbox % BLOCK_ALIGN || !dma_read(&dev->dma, mailbox, block, sizeof(block)))
			return DELIVERY_IN_PTR;
		if (block[BLOCK_TOKEN] != c->token)
			return DELIVERY_TOKEN;
		if (be32_at(block + BLOCK_NUMBER) != number)
			return DELIVERY_BLOCK_NUMBER;
		part = MIN(c->in_bytes - done, BLOCK_DATA);
		memcpy(c->in + done, block, part);
		mailbox = be64_at(block + BLOCK_NEXT);
	}
	return DELIVERY_OK;
}

static enum delivery scatter(struct device *dev, struct carried *c)
{
	u64 mailbox = c->out_ptr;
	u32 done, part;
	u8 *block;

	for (done = INLINE_BYTES; done < c->out_bytes; done += part) {
		block = mailbox % BLOCK_ALIGN ? NULL : dma_at(&dev->dma, mailbox, BLOCK_BYTES);
		if (!block)
			return DELIVERY_OUT_PTR;
		part = MIN(c->out_bytes - done, BLOCK_DATA);
		memcpy(block, c->out + done, part);
		mailbox = be64_at(block + BLOCK_NEXT);
	}
	return DELIVERY_OK;
}

static enum delivery run_entry(struct device *dev, u8 *entry)
{
	struct carried c = {
		.in_bytes = be32_at(entry + ENTRY_IN_LEN),
		.out_bytes = be32_at(entry + ENTRY_OUT_LEN),
		.out_ptr = be64_at(entry + ENTRY_OUT_PTR),
		.token = entry[ENTRY_TOKEN],
	};
	enum delivery result;

	if (entry[ENTRY_TYPE] != ENTRY_TYPE_PCIE)
		return DELIVERY_DESCRIPTOR;
	if (c.in_bytes < INLINE_BYTES || c.in_bytes > COMMAND_MAX_BYTES)
		return DELIVERY_IN_LENGTH;
	if (c.out_bytes < 8 || c.out_bytes > COMMAND_MAX_BYTES)
		return DELIVERY_OUT_LENGTH;
	c.in = zalloc(c.in_bytes + INLINE_BYTES);
	c.out = zalloc(c.out_bytes + INLINE_BYTES);
	memcpy(c.in, entry + ENTRY_IN, INLINE_BYTES);
	result = gather(dev, be64_at(entry + ENTRY_IN_PTR), &c);
	if (!result) {
		command_execute(dev, c.in, c.in_bytes, c.out, c.out_bytes);
		memcpy(entry + ENTRY_OUT, c.out, INLINE_BYTES);
		result = scatter(dev, &c);
	}
	free(c.in);
	free(c.out);
	return result;
}

/* The slot remains the device's: its answer never comes, unless command_answer_lost() is called. */
static bool lose_on_demand(struct device *dev, u32 slot, u8 *entry)
{
	struct demand *loss = &dev->commands.loss;

	if (loss->opcode != be16_at(entry + ENTRY_IN) || !demand_meets(loss))
		return false;
	dev->commands.lost_slots |= 1u << slot;
	trace(TRACE_COMMAND, "dev%u %s is never answered", dev->index, command_name(loss->opcode));
	if (dev->commands.loss_executes)
		run_entry(dev, entry);
	return true;
}

static u8 *entry_of(struct device *dev, u32 slot)
{
	return dma_at(&dev->dma, dev->commands.base + slot * ENTRY_BYTES, ENTRY_BYTES);
}

/* The driver owns the slot again. */
static void hand_back(struct device *dev, u32 slot, u8 *entry, enum delivery result,
		      bool by_event)
{
	u8 data[EQE_DATA_BYTES] = { 0 };

	__atomic_store_n(&entry[ENTRY_STATUS], result << 1, __ATOMIC_RELEASE);
	put_be32(data, 1u << slot);
	if (by_event)
		event_raise(dev, EVENT_COMMAND, 0, data);
}

static void run_slot(struct device *dev, u32 slot)
{
	u8 *entry = entry_of(dev, slot);
	enum delivery result;
	bool by_event;

	if (!entry || !(entry[ENTRY_STATUS] & OWNED_BY_DEVICE)) {
		violation("dev%u: doorbell for command slot %u, which is not the device's",
			  dev->index, slot);
		return;
	}
	if (lose_on_demand(dev, slot, entry))
		return;
	/* How it completes is decided before, as the command may create the EQ. */
	by_event = eq_wanted(dev, EVENT_COMMAND);
	result = run_entry(dev, entry);
	if (result)
		violation("dev%u: command slot %u not delivered: status %#x", dev->index, slot,
			  result);
	hand_back(dev, slot, entry, result, by_event);
}

/* They fail, and waiting callers are told so; their mailboxes may have been reused. */
u32 command_answer_lost(struct device *dev)
{
	u32 slots = dev->commands.lost_slots, slot, count = 0;
	u8 *entry;

	dev->commands.lost_slots = 0;
	for (slot = 0; slot < 1u << COMMAND_SLOTS_LOG; slot++) {
		entry = slots >> slot & 1 ? entry_of(dev, slot) : NULL;
		if (!entry)
			continue;
		memset(entry + ENTRY_OUT, 0, INLINE_BYTES);
		entry[ENTRY_OUT] = STATUS_INTERNAL;
		put_be32(entry + ENTRY_OUT + 4, SYND_DEMANDED);
		hand_back(dev, slot, entry, DELIVERY_OK, eq_wanted(dev, EVENT_COMMAND));
		count++;
	}
	return count;
}

static void run_later(struct device *dev, u32 slot)
{
	u64 due = now_ns() + dev->command_latency_ns;

	dev->commands.due_ns[slot] = due;
	if (!dev->command_timer.at_ns || due < dev->command_timer.at_ns)
		timer_set(&dev->command_timer, due);
}

void command_due(struct timer *timer)
{
	struct device *dev = container_of(timer, struct device, command_timer);
	u64 *due = dev->commands.due_ns, now = now_ns(), next = 0;
	u32 slot;

	for (slot = 0; slot < 1u << COMMAND_SLOTS_LOG; slot++) {
		if (due[slot] && due[slot] <= now) {
			due[slot] = 0;
			run_slot(dev, slot);
		} else if (due[slot] && (!next || due[slot] < next)) {
			next = due[slot];
		}
	}
	if (next)
		timer_set(timer, next);
}

void command_doorbell(struct device *dev, u32 vector)
{
	u32 slot;

	if (dev->faults.hung) {
		dev->commands.hung_slots |= vector;
		return;
	}
	for (slot = 0; slot < 1u << COMMAND_SLOTS_LOG; slot++) {
		if (!(vector >> slot & 1))
			continue;
		if (dev->command_latency_ns)
			run_later(dev, slot);
		else
			run_slot(dev, slot);
	}
}
