// SPDX-License-Identifier: GPL-2.0
/* Commands: protection domains, UARs and other plain handles; memory keys. */
#include <stdlib.h>

#include "commands.h"
#include "device.h"
#include "mkey.h"

#define MKEY_LIST_OFFSET	IFC_BYTES(create_mkey_in)
#define MAX_OCTWORDS		(1u << 19)

enum command_status command_query_special_contexts(struct command *cmd)
{
	SET(query_special_contexts_out, cmd->out, dump_fill_mkey, MKEY_DUMP_FILL);
	SET(query_special_contexts_out, cmd->out, resd_lkey, MKEY_RESERVED_LKEY);
	SET(query_special_contexts_out, cmd->out, null_mkey, MKEY_NULL);
	return STATUS_OK;
}

static bool has_table(const struct mkey *mkey)
{
	return mkey->mode != MKEY_PHYSICAL;
}

/* A key of pages must have a page for each byte, unless it is free. */
static bool table_suffices(const struct mkey *mkey)
{
	u64 page = 1ull << mkey->page_shift, pages;

	if (mkey->free || mkey->mode != MKEY_PAGES)
		return true;
	if (mkey->bytes > (u64)MAX_OCTWORDS * 2 * page)
		return false;
	pages = ((mkey->start & (page - 1)) + mkey->bytes + page - 1) >> mkey->page_shift;
	return pages <= mkey->octwords * 2ull;
}

/* Bits below the page size must be 0, except rights, if these were announced. */
static enum command_status check_pages(struct command *cmd, const struct mkey *mkey, u32 actual)
{
	u64 below = (1ull << mkey->page_shift) - 1;
	u32 i;

	if (mkey->pages_have_rights && !CAP(cmd->dev, pg))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_PAGE_RIGHTS);
	if (mkey->pages_have_rights)
		below &= ~(u64)MKEY_PAGE_RIGHTS;
	for (i = 0; i < actual * 2; i++)
		if (be64_at(cmd->in + MKEY_LIST_OFFSET + 8 * i) & below)
			return command_fail(cmd, STATUS_BAD_PARAM, SYND_PAGE_ADDRESS);
	return STATUS_OK;
}

static bool ordering_known(const struct device *dev, const struct mkey *mkey)
{
	return (!mkey->relaxed_write || CAP(dev, relaxed_ordering_write)) &&
	       (!mkey->relaxed_read || CAP(dev, relaxed_ordering_read) ||
		CAP(dev, relaxed_ordering_read_pci_enabled));
}

static enum command_status check_mkey(struct command *cmd, struct mkey *mkey, u32 actual)
{
	if (mkey->mode > MKEY_FIXED_LIST)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_MKEY_MODE);
	if (!ordering_known(cmd->dev, mkey))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_RELAXED);
	if (GET(mkc, AT(create_mkey_in, cmd->in, memory_key_mkey_entry), ma_translation_mode) &&
	    !CAP(cmd->dev, ats))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_ATS);
	if (!has_table(mkey))
		return STATUS_OK;
	if (mkey->octwords > MAX_OCTWORDS || !mkey->octwords || actual > mkey->octwords ||
	    command_rest(cmd, MKEY_LIST_OFFSET) < actual * MKEY_OCTWORD)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_MKEY_XLT);
	if (mkey->mode == MKEY_PAGES &&
	    (mkey->page_shift < MKEY_MIN_PAGE_SHIFT || mkey->page_shift > MKEY_MAX_PAGE_SHIFT))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_PAGE_SIZE);
	if (!table_suffices(mkey))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_MKEY_XLT);
	return mkey->mode == MKEY_PAGES ? check_pages(cmd, mkey, actual) : STATUS_OK;
}

enum command_status command_create_mkey(struct command *cmd)
{
	const u8 *c = AT(create_mkey_in, cmd->in, memory_key_mkey_entry);
	u32 actual = GET(create_mkey_in, cmd->in, translations_octword_actual_size);
	struct mkey *mkey = zalloc(sizeof(*mkey));
	enum command_status status;

	mkey->object.destroy = mkey_destroy;
	memcpy(mkey->context, c, sizeof(mkey->context));
	mkey_load_context(mkey);
	mkey->pages_have_rights = GET(create_mkey_in, cmd->in, pg_access);
	status = check_mkey(cmd, mkey, actual);
	mkey->pd = object_find(&cmd->dev->objects, OBJ_PD, mkey->pd_number);
	if (!status && !mkey->pd)
		status = command_fail(cmd, STATUS_BAD_RESOURCE, SYND_PD);
	if (!status && has_table(mkey)) {
		mkey->table = zalloc((u64)mkey->octwords * MKEY_OCTWORD);
		memcpy(mkey->table, cmd->in + MKEY_LIST_OFFSET, actual * MKEY_OCTWORD);
	}
	if (!status)
		status = command_add(cmd, OBJ_MKEY, &mkey->object);
	if (status) {
		free(mkey->table);
		free(mkey);
		return status;
	}
	object_use(mkey->pd);
	command_note(cmd, " mode %u start %#llx bytes %#llx page 2^%u%s", mkey->mode,
		     (unsigned long long)mkey->start, (unsigned long long)mkey->bytes,
		     mkey->page_shift, mkey->free ? " free" : "");
	return STATUS_OK;
}

enum command_status command_query_mkey(struct command *cmd)
{
	const struct mkey *mkey = find_object(struct mkey, cmd->dev, OBJ_MKEY,
					      GET(query_mkey_in, cmd->in, mkey_index));
	u8 *c = AT(query_mkey_out, cmd->out, memory_key_mkey_entry);

	if (!mkey)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	memcpy(c, mkey->context, sizeof(mkey->context));
	SET(mkc, c, translations_octword_size, mkey->octwords);
	return STATUS_OK;
}

/* Signature state is created and destroyed; signature offload is not modelled. */
enum command_status command_create_psv(struct command *cmd)
{
	u32 count = GET(create_psv_in, cmd->in, num_psv), i;
	struct object *object;

	if (count > 4 || cmd->out_bytes < IFC_BYTES(create_psv_out))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LIMIT);
	for (i = 0; i < count; i++) {
		object = zalloc(sizeof(*object));
		if (!object_add(&cmd->dev->objects, OBJ_PSV, object)) {
			free(object);
			return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
		}
		ifc_set_bits(cmd->out, IFC_BIT(create_psv_out, psv0_index) + 32 * i, 24,
			     object->id);
	}
	return STATUS_OK;
}
