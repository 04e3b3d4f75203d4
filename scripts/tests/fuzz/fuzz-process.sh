#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug kcsan
# tier: wide
# timeout: 1200
#
# Hostile processes: scripts/fuzz/src/process.c writes anything into the rings that it shares
# with the kernel while it creates, uses and destroys objects of two devices; an honest
# connection between them must not be affected. First the corpus; on the debug kernel some cases
# while their memory allocations fail; then new cases from a seed derived from the commit, the
# second half of them beside tenants of a and b (tenants-lib.sh).
#
# RHCA_FUZZ_SECONDS (default 60), RHCA_FUZZ_SEED, RHCA_FUZZ_CASE (K or K-L: only these)
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
. "$TOP/scripts/fuzz/lib.sh"
. "$LIB/tenants-lib.sh"

only_ours
fuzz_build
setup_pair 9000
setup_tenants
fuzz_corpus process
fuzz_faulty_cases
fuzz_new_cases process
fuzz_counters
wait_check 60 "every object of a hostile process is gone" no_objects "$DEV_A" "$DEV_B"
finish
