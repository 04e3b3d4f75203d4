#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# turns: no
# timeout: 1200
#
# Debian 13's UCX, with no variable set, in a folder that scripts/setup/setup-debian13.sh makes.
# No turns, since that folder is too much for "make check". See consumer-ucx-lib.sh.

. "$(dirname "$0")/consumer-ucx-lib.sh"
only_ours
root=$("$TOP/scripts/setup/setup-debian13.sh" ucx path)
[ -d "$root" ] || skip "no folder with Debian 13's UCX: run scripts/setup/setup.sh ucx"
mount_into "$root"
# It is built with MPI, and waits for a second rank if its input is no terminal.
cat > "$WORK/perftest" <<- 'END'
	#!/bin/sh
	exec script -qec "ucx_perftest $*" /dev/null
END
chmod +x "$WORK/perftest"
say "$(chroot "$root" ucx_info -v | head -n 1)"
check_ucx "chroot $root /mnt/perftest"
