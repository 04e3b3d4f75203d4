#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DKMS runs this before it installs the modules, and does not install them if it fails: of two
# modules with the same name, in the folders where it searches first, depmod takes either. DKMS does
# not come here if the other has the same version: it leaves that alone and says "installed".
#
# usage: scripts/dkms-pre-install.sh FOLDER     (the kernel's folder in /lib/modules)

set -eu

for module in "$1"/updates/roce_hca*.ko*; do
	[ -e "$module" ] || continue
	echo "make install has installed $module, which may be loaded in place of DKMS's:" \
		"make uninstall KVER=${1##*/} comes first" >&2
	exit 1
done
