/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The firmware command interface: a queue of 64-byte entries in guest memory, mailboxes for what
 * does not fit, and a table with one function for each command.
 */
#ifndef CONNECTX_COMMAND_H
#define CONNECTX_COMMAND_H

#include "ifc.h"
#include "syndrome.h"

struct command_row;
struct device;
struct object;
struct timer;

#define COMMAND_SLOTS_LOG	5
#define COMMAND_STRIDE_LOG	6
#define COMMAND_MAX_BYTES	(4u << 20)

enum command_status {
	STATUS_OK		= 0x00,
	STATUS_INTERNAL		= 0x01,
	STATUS_BAD_OP		= 0x02,
	STATUS_BAD_PARAM	= 0x03,
	STATUS_BAD_SYS_STATE	= 0x04,
	STATUS_BAD_RESOURCE	= 0x05,
	STATUS_RESOURCE_BUSY	= 0x06,
	STATUS_LIMIT		= 0x08,
	STATUS_BAD_RES_STATE	= 0x09,
	STATUS_BAD_INDEX	= 0x0a,
	STATUS_NO_RESOURCES	= 0x0f,
	STATUS_BAD_INPUT_LEN	= 0x50,
	STATUS_BAD_OUTPUT_LEN	= 0x51,
	STATUS_BAD_QP_STATE	= 0x10,
	STATUS_BAD_PACKET	= 0x30,
	STATUS_BAD_SIZE		= 0x40,
};

/* A command being executed. @in and @out are complete, with headers. */
struct command {
	struct device *dev;
	const struct command_row *row;	/* NULL: there is no such command */
	const u8 *in;
	u32 in_bytes;
	u8 *out;
	u32 out_bytes;
	u16 opcode;
	u16 op_mod;
	u32 syndrome;
	bool demanded;		/* its refusal was requested */
	char note[160];		/* for the trace */
};

/* The Nth command of an opcode from now on, and how many in all. */
struct demand {
	u16 opcode;
	u32 left;		/* 1: the next one; 0: none */
	u32 times;
	u64 done;		/* how many were affected, ever */
};

#define COMMAND_LOG	256u

struct command_queue {
	u64 base;
	struct demand refusal;		/* these only return refusal_status */
	u8 refusal_status;		/* enum command_status */
	struct demand loss;		/* these are not answered, */
	bool loss_executes;		/* only executed */
	struct demand request_loss;	/* of UMR requests, which are no commands */
	u16 log[COMMAND_LOG];	/* opcodes, a ring */
	u64 logged;		/* how many, ever: executed or refused */
	u64 told;		/* how many of these the control socket has reported */
	u8 interface_state;	/* of the init segment: 0 full driver, 1 disabled */
	u32 hung_slots;
	u32 lost_slots;
	u64 due_ns[1 << COMMAND_SLOTS_LOG];	/* when a slot is executed; 0: not pending */
	u64 executed;
	u64 failed;
};

#define COMMAND_ROWS_MAX	256

struct command_row {
	u16 opcode;
	u8 needs;		/* enum hca_state */
	u32 in_bytes;
	u32 out_bytes;
	const struct ifc_field *in_fields;
	const struct ifc_field *out_fields;
	enum command_status (*execute)(struct command *cmd);
	u8 kind;		/* enum object_kind, for those that only create or destroy one */
	u16 number_bit;		/* where the input has the number of the one to destroy */
	u16 number_bits;
};

/* Another one of this kind has occurred. Return: true if it is one of those requested. */
bool demand_meets(struct demand *demand);

/* The driver rang the doorbell for the slots in @vector. */
void command_doorbell(struct device *dev, u32 vector);

/* Answer lost commands, without executing them. Return: how many. */
u32 command_answer_lost(struct device *dev);

/* Execute commands that have waited for this device's latency. */
void command_due(struct timer *timer);

/**
 * command_execute - Run one command on memory of the caller
 *
 * Used by the queue, and by the fuzzer, which has no queue.
 */
void command_execute(struct device *dev, const u8 *in, u32 in_bytes, u8 *out, u32 out_bytes);

const char *command_name(u16 opcode);

/* Return: 0 if no command has this name. */
u16 command_opcode(const char *name);

/* Is this op_mod defined for the command? */
bool command_knows_op_mod(u16 opcode, u16 op_mod);

/* Record the reason and return the status. */
enum command_status command_fail(struct command *cmd, enum command_status status,
				 enum syndrome syndrome);
void command_note(struct command *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The functions of most commands: look up an object, create one, destroy one. */
enum command_status command_add(struct command *cmd, int kind, struct object *object);
enum command_status command_destroy(struct command *cmd, int kind, u32 id);

/* A command's input fields, the last one without a name. Return: NULL: no such command. */
const struct ifc_field *command_in_fields(u16 opcode);

/*
 * Print a list of page addresses, apart from the locations of the pages: their number, and the bits
 * below the smallest page that are set in any and in all of them.
 */
void command_trace_pages(const u8 *list, u32 entries);

/* Bytes of the input after @at, for a list at the end of a command. */
static inline u32 command_rest(const struct command *cmd, u32 at)
{
	return cmd->in_bytes > at ? cmd->in_bytes - at : 0;
}

extern const struct command_row command_table[];
extern const u32 command_table_rows;

#endif
