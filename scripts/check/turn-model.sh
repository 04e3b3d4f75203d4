#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the model of the send scheduler's turn, turn.pml beside this, with Spin: all its
# interleavings are correct, and in each faulty variant (BREAK_x) Spin finds the fault. Needs up
# to 4 GiB of memory.
#
# usage: scripts/check/turn-model.sh [VARIANT...]
#   VARIANT   right, or a BREAK_x of the model   (all of them without one)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
model=scripts/check/turn.pml
seconds=600
pan=(-O2 -DCOLLAPSE -DMEMLIM=4096)
. scripts/check/spin-lib.sh

variants=("$@")
[ $# -gt 0 ] || mapfile -t variants < <(variants_of $model)
for variant in "${variants[@]}"; do
	check_variant "turn model" $model "$variant" 1000000 "build/turn-model/$variant"
done
total
