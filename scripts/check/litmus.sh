#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the litmus tests of the lockless parts with Spin: the models *.pml beside their
# code. All orders that the code's barriers allow are correct; without one of the barriers
# (BREAK_x) Spin finds the fault. The lines of code that a model describes must still exist.
#
# usage: scripts/check/litmus.sh [MODEL [VARIANT...]]
#   MODEL     path of a model         (all of them without one)
#   VARIANT   right, or a BREAK_x of the model

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
seconds=120
pan=(-O1 -DMEMLIM=1024)
. scripts/check/spin-lib.sh

# check_lines MODEL: do the lines of code that it describes still exist?
check_lines() {
	local model=$1 file text lines=0 lost=0

	while IFS= read -r text; do
		file=${text%%: *}
		lines=$((lines + 1))
		if ! grep -qF -- "${text#*: }" "$file"; then
			echo "$file has no longer: ${text#*: }"
			lost=$((lost + 1))
		fi
	done < <(sed -n 's/^ \* code: //p' "$model")
	if [ $lines -gt 0 ] && [ $lost -eq 0 ]; then
		ok "$model: the $lines lines that it speaks of"
	else
		fail "$model: $lost of the $lines lines that it speaks of are not there"
	fi
}

models=("${1-}")
[ $# -gt 0 ] || mapfile -t models < <(find drivers -name '*.pml' | sort)
variants=("${@:2}")
for model in "${models[@]}"; do
	check_lines "$model"
	if [ $# -lt 2 ]; then
		mapfile -t variants < <(variants_of "$model")
	fi
	for variant in "${variants[@]}"; do
		check_variant "$model" "$model" "$variant" 100000 \
			"build/litmus/$(basename "$model" .pml)/$variant"
	done
done
total
