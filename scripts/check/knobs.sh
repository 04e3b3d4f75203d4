#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fail unless the user interface is the same in the sources, in Documentation/knobs.rst,
# counters.rst and in ABI/: module parameters, sysfs files, parameters of congestion
# control, counters, attributes of QPs in netlink. The README and the manual pages of the
# modules must have the parameters, roce_hca(7) also the files. Constants named in knobs.rst
# must exist, and limits have the value given there. KUnit cases, and their rows, named in
# promises.rst must exist, the table of devices in lifecycle.rst must equal that of
# slot_wants.c, and a scenario must try each fault of operating.rst and each kind of netdev
# of netdevs.rst.
#
# usage: scripts/check/knobs.sh

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
knobs=Documentation/knobs.rst
counters=Documentation/counters.rst
sources=$(find drivers -name '*.[ch]')
man=Documentation/man
bad=0

# --- the sources -----------------------------------------------------------------

# code REGEX: the first group of each match in all sources, with line ends as blanks
code() {
	# shellcheck disable=SC2086
	cat $sources | tr -s '\t\n ' ' ' | grep -oP "$1" || :
}

code_params() { code '\bmodule_param(_[a-z]+)? ?\( ?\K\w+'; }
code_params_mlx5() { sources=$(find drivers/mlx5 -name '*.[ch]') code_params; }
code_params_hca() { sources=$(find drivers -path drivers/mlx5 -prune -o -name '*.[ch]' -print) code_params; }

# Paths below /sys/class/infiniband/<dev>, with N for a port's number
code_files() {
	code '\b(DEVICE_ATTR_(RO|RW|WO)|DEVICE_FILE)\( ?\K[a-z]\w+'
	code '\bIB_PORT_ATTR_(RO|RW|WO)\( ?\K\w+' | sed 's,^,ports/N/,'
	# rows of port_folders[] in control/sysfs.c
	code '\{ "\K\w+", \{( &\w+\.attr,?)+' |
		awk '{ gsub(/[",&{]|\.attr/, ""); for (i = 2; i <= NF; i++) print $1 "/N/" $i }'
	echo 'ports/N/cc/<name>'
}

# rows of mlx5/congestion.c
code_congestion() { code '\bCC_FILE\(\K\w+(?=, \d+, [rn]p,)'; }

# rows of sw/verbs/cc_files.c
code_cc() { sed -n 's/^\tCC_FILE(\([a-z_]*\), .*/\1/p' drivers/sw/verbs/cc_files.c; }

# Rows of the table, each with the counter's enum first
code_counters() {
	sed -n 's/.*\<COUNTER(RHCA_[A-Z0-9_]*, "\([a-z0-9_]*\)").*/\1/p' include/rhca/counter.h
}

code_attributes() {
	sed -n -e 's/.*{ "\([a-z_]*\)".*/\1/p' \
		-e 's/.*put_[a-z0-9_]*(msg, "\([a-z_]*\)".*/\1/p' drivers/core/qp/restrack.c
}

# SUITE.CASE, as for kunit.filter_glob
code_cases() {
	local file suite

	for file in kunit/*/*_kunit.c; do
		suite=$(sed -n 's/^TEST_SUITE[A-Z_]*(\([a-z0-9_]*\),.*/\1/p' "$file")
		tr -s '\t\n ' ' ' < "$file" |
			grep -oP '\bKUNIT_CASE(_SLOW|_PARAM)?\( ?\K\w+' | sed "s/^/$suite./"
	done
}

# NUMBER:NAME:WANT:ERROR of each row of the table of devices
code_devices() {
	sed -n 's/^\t\[RHCA_ROW_\([A-Z_]*\)\].*RHCA_WANT_\([A-Z]*\)\(, -\([A-Z]*\)\)\?.*/\1:\2:\4/p' \
		drivers/lifecycle/slot_wants.c | awk '{ print NR ":" $0 }'
}

# Names without blanks, as compare() needs them
scenario_faults() { sed -n 's/^row "\(.*\)"$/\1/p' scripts/tests/tools/troubleshooting.sh | tr ' ' _; }
scenario_kinds() { grep -oP '^\s*(PREFIX=\d+ )?kind \K[a-z0-9]+' scripts/tests/net/netdev-kinds.sh; }

# --- the documents ---------------------------------------------------------------

# section TITLE [DOCUMENT]: of knobs.rst
section() {
	awk -v title="$1" '
		/^=+$/ && held == title { inside = 1; held = ""; next }
		/^=+$/ && inside && length($0) == length(held) && held != "" { exit }
		{ if (inside && held != "") print held; else if (inside) print ""; held = $0 }
		END { if (inside) print held }' "${2:-$knobs}"
}

# first_column TITLE [DOCUMENT]: the words in the first column of the section's first table
first_column() {
	section "$@" | awk '
		/^=+ +=+/ { width = index($0, " ") - 1; borders++; next }
		borders == 2 { print substr($0, 1, width) }' |
		tr -s ', ' '\n' | grep -v '^$'
}

doc_params() { section 'Module parameters' | sed -n 's/^``\([a-z0-9_]*\)``.*/\1/p'; }
doc_files() { first_column sysfs; }
doc_congestion() { first_column 'Congestion control' Documentation/connectx.rst; }
doc_cc() { first_column Parameters Documentation/congestion.rst; }
doc_counters() { first_column hw_counters $counters; }
doc_attributes() { first_column 'Queue pairs in netlink'; }

abi_files() {
	sed -n 's,^What:[[:space:]]*/sys/class/infiniband/<dev>/,,p' Documentation/ABI/testing/* |
		sed 's,<port>,N,'
}

readme_params() {
	sed -n '/^### Module parameters/,/^### Tools/s/^| `\([a-z0-9_]*\)` |.*/\1/p' README.md
}

# Manual pages list a parameter in the synopsis and in a section
synopsis() { sed -n 's/^\.Op Cm \([a-z0-9_]*\)=.*/\1/p' "$1"; }
parameters() { sed -n '/^\.Sh PARAMETERS/,/^\.El/s/^\.It Cm //p' "$1"; }
synopsis_hca() { synopsis $man/roce_hca.7; }
parameters_hca() { parameters $man/roce_hca.7; }
synopsis_mlx5() { synopsis $man/roce_hca_mlx5.7; }
parameters_mlx5() { parameters $man/roce_hca_mlx5.7; }

# Files missing in roce_hca(7), which has the last part of the name
files_not_in_man() {
	code_files | sed -e 's,/<name>,,' -e 's,.*/,,' | sort -u |
		comm -23 - <(grep '^\.It Pa' $man/roce_hca.7 | grep -oE '[A-Za-z0-9_]+' | sort -u)
}

doc_faults() {
	section Troubleshooting Documentation/operating.rst |
		sed -n 's/^   \* - \([^ ].*\)$/\1/p' | grep -vx cause | tr ' ' _
}

doc_kinds() { sed -n '/^netdev /,/^$/s/^\([a-z0-9]*\)  *v[12].*/\1/p' Documentation/netdevs.rst; }

# Its cells: number and name, when, then, result of a request
doc_devices() {
	tr -d '`;' < Documentation/lifecycle.rst | awk '
		/^   \* - / { row = $3 ~ /^[0-9]+$/ ? $3 ":" $4 : ""; cell = 0; next }
		/^     -/ && row != "" && ++cell == 2 { want = toupper($2) }
		/^     -/ && cell == 3 { print row ":" want ":" ($2 ~ /^E/ ? $2 : ""); row = ""; cell = 0 }'
}

doc_rows() { grep -oP '^ *\* ``\w+\.\w+``( \\\*)?: \K".*"$' Documentation/promises.rst; }
# The first cell may name siblings with the same value: RHCA_MAX_QP, _CQ
doc_limits() { section Limits | sed -e 's/([a-z/.]*)//' -e 's/, _[A-Z_, ]*/ /' | grep '^RHCA_'; }
doc_constants() { first_column Constants | grep -oE '^[A-Z][A-Z0-9_]{4,}'; }
doc_cases() { grep -oP '^ *\* ``\K\w+\.\w+(?=``)' Documentation/promises.rst; }

# --- comparing -------------------------------------------------------------------

complain() {
	echo "check-knobs: $*" >&2
	bad=1
}

# compare WHAT CODE DOCUMENT: both commands must print the same names, and at least one
compare() {
	local what=$1 in_code in_document name

	in_code=$("$2" | sort -u)
	in_document=$("$3" | sort -u)
	[ -n "$in_code" ] || complain "no $what in the sources: look at $2 in this script"
	for name in $(comm -23 <(echo "$in_code") <(echo "$in_document")); do
		complain "$what $name is in the sources and not in $4"
	done
	for name in $(comm -13 <(echo "$in_code") <(echo "$in_document")); do
		complain "$what $name is in $4 and not in the sources"
	done
}

# "VALUE" of a plain #define, as knobs.rst writes powers of two
defined() {
	grep -hoP "#define\s+$1\s+\K\(?[^/]*[^/\s]" $sources | head -n 1 |
		sed -e 's/[()]//g' -e 's/1U*L* << \([0-9]*\)/2^\1/'
}

check_limits() {
	local name value found

	while read -r name value _; do
		name=${name%,}
		found=$(defined "$name")
		[ "$found" = "$value" ] || complain "$name is '$found' in the sources and '$value' in $knobs"
	done < <(doc_limits)
}

check_constants() {
	local name

	# shellcheck disable=SC2086
	for name in $(doc_constants); do
		grep -qE "#define[[:space:]]+$name\>" $sources include/rhca/*.h ||
			complain "constant $name is in $knobs and not in the sources"
	done
}

compare parameter code_params doc_params $knobs
compare file code_files doc_files $knobs
compare file code_files abi_files Documentation/ABI
compare counter code_counters doc_counters $counters
compare "parameter of congestion control" code_congestion doc_congestion Documentation/connectx.rst
compare "file of software's congestion control" code_cc doc_cc Documentation/congestion.rst
compare attribute code_attributes doc_attributes $knobs
compare parameter code_params readme_params README.md
for page in synopsis parameters; do
	compare "parameter of roce_hca" code_params_hca ${page}_hca "the $page of $man/roce_hca.7"
	compare "parameter of roce_hca_mlx5" code_params_mlx5 ${page}_mlx5 "the $page of $man/roce_hca_mlx5.7"
done
for name in $(files_not_in_man); do
	complain "$name is in the sources and not in $man/roce_hca.7"
done
for found in doc_limits doc_constants doc_cases doc_rows; do
	[ -n "$($found)" ] || complain "nothing is found: look at $found in this script"
done
for name in $(comm -13 <(code_cases | sort -u) <(doc_cases | sort -u)); do
	complain "case $name is in Documentation/promises.rst and not in kunit/"
done
while read -r row; do
	grep -rqF "{ $row" kunit || complain "row $row is in Documentation/promises.rst and not in kunit/"
done < <(doc_rows)
compare "row of the table of devices" code_devices doc_devices Documentation/lifecycle.rst
compare fault scenario_faults doc_faults Documentation/operating.rst
compare "kind of netdev" scenario_kinds doc_kinds Documentation/netdevs.rst
check_limits
check_constants
exit $bad
