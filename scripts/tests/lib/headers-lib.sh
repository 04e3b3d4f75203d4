# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The headers of scenarios: lines "# KEY: VALUE" before the first line of code. See
# Documentation/writing-tests.rst for the keys.

declare -A scenario_headers

# scenario_files DIRECTORY: its scenarios, and those of the groups in it, by name
scenario_files() {
	find "$1" -maxdepth 2 -name '*.sh' -executable -printf '%f\t%p\n' | LC_ALL=C sort | cut -f2
}

# read_headers DIRECTORY: of all scenarios there, in one pass
read_headers() {
	local name key value files

	mapfile -t files < <(scenario_files "$1")
	scenario_headers=()
	while IFS=$'\t' read -r name key value; do
		scenario_headers[$name/$key]=${value//[,|]/ }
	done < <(awk '
		FNR == 1 {
			name = FILENAME
			sub(/.*\//, "", name)
			sub(/\.sh$/, "", name)
		}
		/^[^#]/ { nextfile }
		/^# [a-z]+: / {
			key = substr($2, 1, length($2) - 1)
			if (!((name, key) in seen)) {
				seen[name, key] = 1
				sub(/^# [a-z]+: */, "")
				print name "\t" key "\t" $0
			}
		}' "${files[@]}")
}

# header NAME KEY: sets REPLY; "" if there is no such line
header() {
	REPLY=${scenario_headers[$1/$2]:-}
}
