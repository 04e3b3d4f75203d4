# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# as_root COMMAND...: run it as root, directly or through sudo. Included by scripts that install
# something or make folders with a Debian.

if [ "$(id -u)" -eq 0 ]; then
	as_root() { "$@"; }
else
	as_root() { sudo "$@"; }
fi
