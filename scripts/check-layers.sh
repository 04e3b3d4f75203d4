#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Includes go one way between the folders of drivers/, and between the files of each:
# fail if one does not. Also hold the rule that every kernel difference is in compat.h.
#
# usage: scripts/check-layers.sh [TREE]

set -eu

cd "${1:-$(dirname "$0")/..}"
bad=0

complain() {
	echo "check-layers: $*" >&2
	bad=1
}

# may FOLDER: the folders it may include from, besides itself and include/rhca
may() {
	case $1 in
	wire) echo "" ;;
	core) echo "wire" ;;
	sw/verbs | mlx5) echo "core wire" ;;
	sw/transport) echo "sw/verbs core wire" ;;
	sw) echo "sw/transport sw/verbs core wire" ;;
	control) echo "core" ;;
	kunit) echo "wire core sw sw/verbs sw/transport mlx5 control" ;;
	esac
}

# included FILE: "LINE PATH" of each #include "PATH"
included() {
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"
}

# Quoted includes are ours: FOLDER/FILE below drivers/, or a neighbour's name.
check_file() {
	file=$1 folder=$2
	for path in $(included "$file"); do
		case $path in
		../*) complain "$file: \"$path\": name it from drivers/" ;;
		*/*)
			from=${path%/*}
			case " $folder $(may "$folder") " in
			*" $from "*) ;;
			*) complain "$file: $folder must not include \"$path\"" ;;
			esac ;;
		*)
			[ -e "$(dirname "$file")/$path" ] ||
				complain "$file: \"$path\" is not in its folder" ;;
		esac
	done
}

for file in drivers/*/*.[ch] drivers/*/*/*.[ch] kunit/*.[ch]; do
	[ -e "$file" ] || continue
	folder=${file%/*}
	check_file "$file" "${folder#drivers/}"
done

# main.c starts every part, and reaches a backend by its backend.h alone.
for path in $([ ! -e drivers/main.c ] || included drivers/main.c); do
	case $path in
	core/* | control/* | wire/* | */backend.h) ;;
	*) complain "drivers/main.c must not include \"$path\"" ;;
	esac
done

# The core includes nothing of a backend; and nobody but compat.h
# asks which kernel this is.
differences=$(grep -rnE 'HAVE_[A-Z]|LINUX_VERSION_CODE|KERNEL_VERSION' \
	drivers include kunit --include='*.[ch]' 2> /dev/null |
	grep -v '^include/rhca/compat\.h:') || :
[ -z "$differences" ] ||
	complain "kernel differences belong in include/rhca/compat.h:
$differences"

# --- circles inside a folder -------------------------------------------------------
#
# A file and its header are one unit, named without the ending. Units that include each
# other in a circle cannot be read, tested or changed one by one, so there are no
# others than these, each of one line with all of its units:
allowed_circles() {
	sed 's/ *#.*//; /^$/d' << 'END'
# a device that another driver has unregistered is planned again; the plan registers one
core: recreate registry
# a QP has a send queue and a state; which requests are legal, and what a state allows,
# depends on the QP
sw/verbs: qp qp_state sq wr_rule
# using the memory of a key may have to bring in its pages, which are the key's memory
sw/verbs: mem odp odp_range
# rings are mapped by a process's context, which unmaps them when it ends
sw/verbs: ring ucontext
# a request that fails a check is answered, and an answer that fails ends the connection
sw/transport: answer responder
# the requester leaves packets to a timer, or to who sends next; both call it again
sw/transport: doorbell pass requester retry segment
END
}

# edges FOLDER: "UNIT UNIT" for each include between two units of the folder
edges() {
	for file in drivers/"$1"/*.[ch]; do
		from=${file##*/}
		for path in $(included "$file"); do
			case ${path%/*} in
			"$1" | "$path") to=${path##*/} ;;
			*) continue ;;
			esac
			echo "${from%.?} ${to%.?}"
		done
	done
}

# circles FOLDER: "FOLDER: UNIT..." for each set of units that reach each other
circles() {
	edges "$1" | awk '
		$1 != $2 { reach[$1, $2]; unit[$1]; unit[$2] }
		END {
			for (via in unit)
				for (from in unit)
					if ((from, via) in reach)
						for (to in unit)
							if ((via, to) in reach)
								reach[from, to]
			for (a in unit) {
				first = a
				for (b in unit)
					if ((a, b) in reach && (b, a) in reach && b < first)
						first = b
				if ((a, a) in reach)
					print first, a
			}
		}' | sort | awk -v folder="$1" '
		$1 != last { if (last) print line; line = folder ":"; last = $1 }
		{ line = line " " $2 }
		END { if (last) print line }'
}

found=$(for folder in core control sw sw/verbs sw/transport wire mlx5; do
	circles $folder
done)
new=$(echo "$found" | grep -vxF "$(allowed_circles)") || :
gone=$(allowed_circles | grep -vxF "$found") || :
[ -z "$new" ] ||
	complain "units that include each other in a circle:
$new"
[ -z "$gone" ] ||
	complain "no circle any more, so not allowed any more:
$gone"

# A file that no list names is never built.
for file in drivers/*/*.c drivers/*/*/*.c; do
	[ -e "$file" ] && [ -e Kbuild ] || continue
	folder=${file%/*} object=$(basename "$file" .c).o
	tr -s '\t\n \\' ' ' < Kbuild |
		grep -qE "$folder/$object|$folder/,[^)]* $object" ||
		complain "Kbuild does not name $file"
done

exit $bad
