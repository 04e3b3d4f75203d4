// SPDX-License-Identifier: GPL-2.0
/*
 * To create and to destroy a memory key is a firmware command each, and commands are
 * slow and executed one after the other. A key that a process has deregistered is kept
 * instead, and filled again, by a request, when the next one of its size is wanted.
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "command.h"
#include "device.h"
#include "key_cache.h"
#include "umr.h"

void rhca_mlx5_key_cache_init(struct rhca_mlx5 *hca)
{
	spin_lock_init(&hca->key_cache.lock);
	memset(hca->key_cache.num, 0, sizeof(hca->key_cache.num));
}

static u8 size_of(u32 num_pages)
{
	return max_t(u8, order_base_2(num_pages), RHCA_MLX5_KEY_MIN_PAGES_LOG) -
	       RHCA_MLX5_KEY_MIN_PAGES_LOG;
}

static bool take(struct rhca_mlx5_key_cache *cache, u8 size, u32 *key)
{
	bool found;

	spin_lock(&cache->lock);
	found = cache->num[size];
	if (found)
		*key = cache->keys[size][--cache->num[size]];
	spin_unlock(&cache->lock);
	return found;
}

static bool keep(struct rhca_mlx5_key_cache *cache, u8 size, u32 key)
{
	bool has_room;

	spin_lock(&cache->lock);
	has_room = cache->num[size] < RHCA_MLX5_KEYS_KEPT;
	if (has_room)
		cache->keys[size][cache->num[size]++] = key;
	spin_unlock(&cache->lock);
	return has_room;
}

/* No region is left */
void rhca_mlx5_key_cache_exit(struct rhca_mlx5 *hca)
{
	u8 size;
	u32 key;

	for (size = 0; size < RHCA_MLX5_KEY_SIZES; size++)
		while (take(&hca->key_cache, size, &key))
			mlx5_core_destroy_mkey(hca->mdev, key);
}

/**
 * rhca_mlx5_cached_key_get - A key for a process's memory
 * @hca: the function
 * @spec: what it is to be; allowed by rhca_mlx5_can_fill_key()
 * @variant: its low byte, so that what the key was before does not work
 * @key: the key
 *
 * Context: may sleep.
 * Return: 0, with a key for rhca_mlx5_cached_key_put(); what creating or filling it says,
 * with a @key of 0, or with one that is lost, by which the adapter may read and write the
 * memory until the function is reset.
 */
int rhca_mlx5_cached_key_get(struct rhca_mlx5 *hca,
			     const struct rhca_mlx5_key_spec *spec, u8 variant,
			     u32 *key)
{
	u8 size = size_of(spec->num_pages);
	int ret;

	if (!take(&hca->key_cache, size, key)) {
		ret = rhca_mlx5_create_empty_key(hca,
						 size + RHCA_MLX5_KEY_MIN_PAGES_LOG,
						 key);
		if (ret)
			return ret;
	}
	*key = (*key & ~0xff) | variant;
	ret = rhca_mlx5_fill_key(hca, spec, *key);
	/* A request that nobody has seen the end of may have filled it */
	if (ret && !rhca_mlx5_give_key_back(hca->mdev, *key))
		*key = 0;
	return ret;
}

/**
 * rhca_mlx5_cached_key_put - Give a key back
 * @hca: the function
 * @num_pages: that it was got for
 * @key: the key
 *
 * Context: may sleep.
 * Return: 0, and the adapter neither reads nor writes the memory any more; or an error,
 * and the key is still the caller's, who may try again.
 */
int rhca_mlx5_cached_key_put(struct rhca_mlx5 *hca, u32 num_pages, u32 key)
{
	/* Where no request is possible any more a command may be, and on a dead adapter
	 * it succeeds
	 */
	if (!rhca_mlx5_empty_key(hca, key) &&
	    keep(&hca->key_cache, size_of(num_pages), key))
		return 0;
	return mlx5_core_destroy_mkey(hca->mdev, key);
}
