/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Litmus tests of memory ordering for Spin: the common part of their models.
 *
 * A proctype is a processor that executes the steps of a short program in any order that
 * is not forbidden: a step names the steps that come before it, because of a barrier, of a
 * data dependency of a store on a load, or because both access the same location. This is
 * more than a store buffer: loads pass loads, and stores pass loads, as well. All
 * processors see a store at the same time, as on x86, arm64, s390x and RISC-V; these
 * models do not cover POWER, where some may see it before others. Nor do they let a
 * processor read its own store before others do.
 *
 * Each model names the lines of code that it describes ("code: FILE: TEXT"); the check
 * fails if one no longer exists. Where BREAK_x is 1 a barrier is missing, and Spin has
 * to find the fault. scripts/check/litmus.sh runs all of them.
 */

#define B(n) (1 << (n))
#define CAN(n, after) (!(done & B(n)) && (done & (after)) == (after))
#define DID(n) done = done | B(n)
