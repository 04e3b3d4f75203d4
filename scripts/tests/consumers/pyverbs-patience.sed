# SPDX-License-Identifier: GPL-2.0
# The time limits of rdma-core's tests are for bare metal: a completion in 10 s, a process that
# has reached its next step in 15 s, a test of rdma_cm in 30 s.
s/^POLL_CQ_TIMEOUT = 10\b/POLL_CQ_TIMEOUT = 60/
s/timeout=15)/timeout=120)/
s/repeat_times=150 /repeat_times=1200 /
