# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sets $cache: ROCE_HCA_CACHE, or the folder of the caches that all users of this machine share,
# or this user's own, if he cannot write to that, or to what root has begun there.

cache=${ROCE_HCA_CACHE:-/var/cache/roce-hca}
if [ -z "${ROCE_HCA_CACHE-}" ] && [ "$EUID" -ne 0 ]; then
	for kept in . newest/lock newest-build.lock ccache kernels uml vm; do
		if [ ! -w "$cache/$kept" ] && { [ $kept = . ] || [ -e "$cache/$kept" ]; }; then
			cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/roce-hca
			break
		fi
	done
fi
export ROCE_HCA_CACHE=$cache
