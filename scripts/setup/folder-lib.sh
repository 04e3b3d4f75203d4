# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Folders with a Debian, made once by debootstrap and kept in the cache. Included, after
# root-lib.sh, by scripts that define their content. A folder's name ends in a hash of its
# inputs, so other content is in another folder.

. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/cache-lib.sh"

# folder_key: hash of standard input
folder_key() { sha256sum | cut -c1-12; }

# inside FOLDER COMMAND...
inside() {
	as_root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive chroot "$@"
}

# ensure_folder NAME MAKE: sets $folder; if it does not exist, the function MAKE makes it, with
# its output in NAME.log in the cache. One caller makes it, others wait.
ensure_folder() {
	local name=$1 make=$2 log=$cache/$1.log lock

	[ ! -d "$folder" ] || return 0
	mkdir -p "$cache"
	exec {lock}> "$cache/$name.lock"
	flock "$lock"
	if [ ! -d "$folder" ]; then
		# Waited for, not tested, as errexit is off in a function that is tested.
		"$make" > "$log" 2>&1 &
		wait $! || {
			tail -n 30 "$log" >&2
			return 1
		}
	fi
	exec {lock}>&-
}
