#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 300
#
# "make demo" for a user who cannot become root: it runs in roce-lab, and each of its
# programs succeeds over v1 and over v2.
#
# No turns: it is slow, and other scenarios run the same programs.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup

check_ok "a tree for the user" cp -a Makefile README.md scripts "$work/"
mkdir -p "$work/build/lab"
cp -a "${RHCA_LAB:-build/lab}"/{bin,lib} "$work/build/lab/"
chmod -R a+rX "$work"
as_user timeout 200 "$work/scripts/demo.sh" > "$work/said" 2>&1
check "status" 0 $?
check_demo "$work/said" roce1/1
finish
