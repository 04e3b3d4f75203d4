#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug kcsan
# tier: wide
# timeout: 1200
#
# A hostile peer: scripts/fuzz/src/peer.c holds conversations with the device of host a from
# host b's wire, in every framing, and breaks their rules; an honest connection between a and b
# must not be affected. First the corpus, which must reach every counter that it names, then new
# cases from a seed derived from the commit, the second half of them beside tenants of a and b
# (tenants-lib.sh), whose packets the counters include.
#
# RHCA_FUZZ_SECONDS (default 60), RHCA_FUZZ_SEED, RHCA_FUZZ_CASE (K or K-L: only
# these, with RHCA_FUZZ_OPTIONS=--trace every packet of them)
#
#   a (ra$$, the target)  ====== veth ======  b (rb$$; peer on a packet socket)

. "$(dirname "$0")/../lib/lib.sh"
. "$TOP/scripts/fuzz/lib.sh"
. "$LIB/tenants-lib.sh"

only_ours
fuzz_build
fuzz_long_backlog
setup_pair 9000
fuzz_setup_peer
setup_tenants
fuzz_corpus peer
fuzz_new_cases peer --busy
fuzz_counters
wait_check 60 "every object of the peer's target is gone" no_objects "$DEV_A" "$DEV_B"
finish
