# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# as_root COMMAND...: as the caller, who may be root, or through sudo. Included by the
# scripts that install something or make folders with a Debian in them.

if [ "$(id -u)" -eq 0 ]; then
	as_root() { "$@"; }
else
	as_root() { sudo "$@"; }
fi
