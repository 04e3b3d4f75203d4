# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The headers of scenarios: lines "# KEY: VALUE" before the first line of code. See
# Documentation/testing.rst for the keys.

declare -A scenario_headers

# read_headers DIRECTORY: of all scenarios there, in one pass
read_headers() {
	local name key value

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
		}' "$1"/*.sh)
}

# header NAME KEY: sets REPLY, "" where there is no such line
header() {
	REPLY=${scenario_headers[$1/$2]:-}
}
