/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Litmus tests of memory order for Spin: what their models share.
 *
 * A proctype is a processor that does the steps of a short program in any order that is
 * not forbidden: a step names the steps that come before it, by a barrier, by a dependency
 * of what is stored on what was read, or because both are about the same place. That is
 * more than a store buffer: loads pass loads, and stores pass loads, as well. All
 * processors see a store at the same time, as on x86, arm64, s390x and RISC-V; that on
 * POWER some may see it before others is not in these models. Nor is that a processor
 * reads its own store before others do.
 *
 * Each model says which lines of the code it speaks of ("code: FILE: TEXT"); one that is
 * not there any more fails the check. Where BREAK_x is 1 a barrier is missing, and
 * Spin has to find what goes wrong. scripts/check/litmus.sh runs all of them.
 */

#define B(n) (1 << (n))
#define CAN(n, after) (!(done & B(n)) && (done & (after)) == (after))
#define DID(n) done = done | B(n)
