/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a command was refused. The vendor's firmware uses numbers that are not published; these are
 * the model's, explained by syndrome_text().
 */
#ifndef CONNECTX_SYNDROME_H
#define CONNECTX_SYNDROME_H

#include "util.h"

#define SYNDROMES(X) \
	X(SYND_NONE,		"no error") \
	X(SYND_OPCODE,		"the model does not know this command") \
	X(SYND_IN_LENGTH,	"input shorter than the command's layout") \
	X(SYND_OUT_LENGTH,	"output shorter than the command's layout") \
	X(SYND_RESERVED,	"a reserved field is not zero") \
	X(SYND_OP_MOD,		"op_mod has no meaning for this command") \
	X(SYND_HCA_STATE,	"not allowed before ENABLE_HCA or INIT_HCA, or after it") \
	X(SYND_ISSI,		"of ISSI 0: under 1 a shared receive queue is an RMP") \
	X(SYND_PAGES,		"firmware has not been given its pages") \
	X(SYND_NOT_FOUND,	"no such object") \
	X(SYND_BUSY,		"the object is used by another") \
	X(SYND_LIMIT,		"no more objects of this kind") \
	X(SYND_PD,		"no such protection domain") \
	X(SYND_CQ,		"no such completion queue") \
	X(SYND_EQ,		"no such event queue") \
	X(SYND_UAR,		"no such UAR page") \
	X(SYND_SRQ,		"no such shared receive queue") \
	X(SYND_XRCD,		"no such XRC domain") \
	X(SYND_TD,		"no such transport domain") \
	X(SYND_TIS,		"no such TIS") \
	X(SYND_TIR,		"no such TIR") \
	X(SYND_RQ,		"no such receive queue") \
	X(SYND_QUEUE_SIZE,	"queue size or stride above the capability") \
	X(SYND_CQ_ENTRIES,	"more completions outstanding than the new size holds") \
	X(SYND_PAS,		"fewer page addresses than the queue needs") \
	X(SYND_CQ_OFFSET,	"completions would cross the ends of pages") \
	X(SYND_DOORBELL,	"doorbell record address is not aligned") \
	X(SYND_QP_TYPE,		"queue pair service type not modelled") \
	X(SYND_QP_STATE,	"transition not allowed from this state") \
	X(SYND_OPT_PARAM,	"opt_param_mask names a field this transition cannot take") \
	X(SYND_QP_ATTR,		"a queue pair attribute is out of range") \
	X(SYND_GID_INDEX,	"address table index out of range or empty") \
	X(SYND_MKEY_MODE,	"memory key access mode not modelled") \
	X(SYND_MKEY_XLT,	"translation list shorter than the key's length needs") \
	X(SYND_PAGE_SIZE,	"page size out of range") \
	X(SYND_PAGE_RIGHTS,	"rights of pages without the capability for them") \
	X(SYND_PAGE_ADDRESS,	"a page's address has bits below the page size") \
	X(SYND_RELAXED,		"relaxed ordering without the capability for it") \
	X(SYND_ATS,		"translated by the host without the capability for it") \
	X(SYND_FLOW_TABLE,	"no such flow table, or wrong type or level") \
	X(SYND_FLOW_GROUP,	"no such flow group, or its range overlaps") \
	X(SYND_FLOW_INDEX,	"flow index outside its table or group") \
	X(SYND_FLOW_ACTION,	"flow action or destination not modelled") \
	X(SYND_REGISTER,	"access register not modelled") \
	X(SYND_CAPABILITY,	"capability above what the device can do") \
	X(SYND_CAPABILITY_MISSING, "without the capability for it") \
	X(SYND_VPORT,		"no such vport, or vport context field not modelled") \
	X(SYND_LAG,		"link aggregation state does not allow this") \
	X(SYND_CONGESTION,	"congestion parameter out of range") \
	X(SYND_STATE,		"object is in the wrong state") \
	X(SYND_DEMANDED,	"refused on demand")

#define SYNDROME_ENUM(name, text)	name,
enum syndrome { SYNDROMES(SYNDROME_ENUM) SYND_COUNT };
#undef SYNDROME_ENUM

/* Marks a syndrome as the model's, to distinguish it from the vendor's. */
#define SYNDROME_BASE	0x524f0000u

const char *syndrome_text(u32 syndrome);

#endif
