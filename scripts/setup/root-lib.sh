# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# as_root COMMAND...: run it as root, directly or through sudo. Included by scripts that install
# something or make folders with a Debian. Who started it can read what it makes.

if [ "$(id -u)" -eq 0 ]; then
	as_root() { (umask 022; "$@"); }
else
	# sudo drops variables: without this one packages ask questions, on a terminal that may be a log.
	as_root() { (umask 022; sudo env ${DEBIAN_FRONTEND:+"DEBIAN_FRONTEND=$DEBIAN_FRONTEND"} "$@"); }
fi
