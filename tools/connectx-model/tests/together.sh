#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several scenarios in one guest, as a boot takes longer than most of them.
#
# usage: together.sh SCENARIO[,ARGUMENT]...
status=0
for scenario; do
	echo "--- $scenario"
	IFS=, read -ra words <<< "$scenario"
	bash "$(dirname "$0")/${words[0]}" "${words[@]:1}" || status=1
done
exit $status
