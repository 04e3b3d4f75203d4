// SPDX-License-Identifier: GPL-2.0
/*
 * Creating and destroying memory keys takes firmware commands, which are slow and executed one at a
 * time. So keep the keys of regions that processes deregister, and fill one by a request when the
 * next region of its size is registered.
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "command.h"
#include "device.h"
#include "key_access.h"
#include "key_cache.h"
#include "umr.h"

/* Keys of one size take 8 bytes a page in the adapter: 256 KiB in total, or one key */
#define PAGES_KEPT_LOG	15

void rhca_mlx5_key_cache_init(struct rhca_mlx5 *hca)
{
	memset(&hca->key_cache, 0, sizeof(hca->key_cache));
	spin_lock_init(&hca->key_cache.lock);
}

/* Room of a key for @num_pages, as a power of two */
static u8 log_pages_of(u32 num_pages)
{
	return max_t(u8, order_base_2(num_pages), RHCA_MLX5_KEY_MIN_PAGES_LOG);
}

/* The interchangeable keys for a region; NULL if they are too large to be kept */
static struct rhca_mlx5_kept_keys *kept_of(struct rhca_mlx5 *hca, u32 num_pages,
					   int access)
{
	int fixed = rhca_mlx5_unchangeable_access(hca->mdev, access);
	u8 kind = (fixed & IB_ACCESS_REMOTE_ATOMIC ? 1 : 0) |
		  (fixed & IB_ACCESS_RELAXED_ORDERING ? 2 : 0);
	u8 size = log_pages_of(num_pages) - RHCA_MLX5_KEY_MIN_PAGES_LOG;

	return size < RHCA_MLX5_KEY_SIZES ?
	       &hca->key_cache.kept[kind * RHCA_MLX5_KEY_SIZES + size] : NULL;
}

static u32 max_kept(u32 num_pages)
{
	u8 log_pages = log_pages_of(num_pages);

	return log_pages < PAGES_KEPT_LOG ?
	       min_t(u32, BIT(PAGES_KEPT_LOG - log_pages), RHCA_MLX5_KEYS_KEPT) : 1;
}

static bool take(struct rhca_mlx5 *hca, struct rhca_mlx5_kept_keys *kept, u32 *key)
{
	bool found;

	spin_lock(&hca->key_cache.lock);
	found = kept && kept->num;
	if (found)
		*key = kept->keys[--kept->num];
	spin_unlock(&hca->key_cache.lock);
	return found;
}

static bool keep(struct rhca_mlx5 *hca, struct rhca_mlx5_kept_keys *kept, u32 max, u32 key)
{
	bool has_room;

	spin_lock(&hca->key_cache.lock);
	has_room = kept && kept->num < max;
	if (has_room)
		kept->keys[kept->num++] = key;
	spin_unlock(&hca->key_cache.lock);
	return has_room;
}

/*
 * Destroy all keys when no region is left. If a command times out, each of the others would take a
 * minute as well: leak them.
 */
void rhca_mlx5_key_cache_exit(struct rhca_mlx5 *hca)
{
	struct rhca_mlx5_kept_keys *kept = hca->key_cache.kept;
	size_t i;
	int ret = 0;
	u32 key;

	for (i = 0; i < ARRAY_SIZE(hca->key_cache.kept); i++)
		while (!rhca_mlx5_is_no_answer(ret) && take(hca, &kept[i], &key))
			ret = rhca_mlx5_give_key_back(hca->mdev, key);
}

/*
 * Get a key for a process's memory. @spec: allowed by rhca_mlx5_can_fill_key(). @variant: low byte
 * of a key that was not kept. May sleep. Returns 0, with a key for
 * rhca_mlx5_cached_key_put(); an error of its creation, with a @key of 0; -EIO if it could not be
 * filled, with a @key of 0 if it was destroyed, whatever became of the request; else an error of
 * filling it, with a @key that is lost: the adapter may use the memory through it until the
 * function is reset.
 */
int rhca_mlx5_cached_key_get(struct rhca_mlx5 *hca,
			     const struct rhca_mlx5_key_spec *spec, u8 variant,
			     u32 *key)
{
	int fixed = rhca_mlx5_unchangeable_access(hca->mdev, spec->access);
	int ret;

	if (take(hca, kept_of(hca, spec->num_pages, spec->access), key)) {
		variant = *key + 1;	/* its old values are invalid, the last ones for longest */
	} else {
		ret = rhca_mlx5_create_empty_key(hca, log_pages_of(spec->num_pages),
						 fixed, key);
		if (ret)
			return ret;
	}
	ret = rhca_mlx5_fill_key(hca, spec, *key, variant);
	*key = (*key & ~0xff) | variant;
	if (!ret)
		return 0;
	/* A request that timed out may have filled it */
	if (rhca_mlx5_give_key_back(hca->mdev, *key))
		return ret;
	*key = 0;
	return -EIO;
}

/*
 * Release a key. @num_pages: as for its get. @access: its IB_ACCESS_*. May sleep. Returns 0 if the
 * adapter no longer uses the memory; or an error, after which the caller owns the key and may
 * retry.
 */
int rhca_mlx5_cached_key_put(struct rhca_mlx5 *hca, u32 num_pages, int access,
			     u32 key)
{
	/* If the request fails the command may work; on a dead adapter it succeeds */
	if (!rhca_mlx5_empty_key(hca, key) &&
	    keep(hca, kept_of(hca, num_pages, access), max_kept(num_pages), key))
		return 0;
	return mlx5_core_destroy_mkey(hca->mdev, key);
}
