#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Fail unless the checked-in test vectors equal the output of their scripts.
#
# usage: scripts/check/vectors.sh

set -eu

cd "$(dirname "$(realpath "$0")")/../.."
made=$(mktemp)
trap 'rm -f "$made"' EXIT
/usr/bin/python3 scripts/kunit/make-icrc-vectors.py > "$made"
diff -u kunit/wire/icrc_vectors.h "$made" || {
	echo "check-vectors: kunit/wire/icrc_vectors.h is not what scripts/kunit/make-icrc-vectors.py makes" >&2
	exit 1
}
