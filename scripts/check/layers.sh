#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Check that includes have one direction between the folders of drivers/, and between the
# files of each. Also check that every kernel difference is in compat.h.
#
# usage: scripts/check/layers.sh [TREE]

set -eu

cd "${1:-$(dirname "$0")/../..}"
bad=0

complain() {
	echo "check-layers: $*" >&2
	bad=1
}

# The folders, from the bottom: each may include those to its left in the same group, and those
# of the groups that may() allows.
core_folders="core/rules core/port core/qp core"
verbs_folders="sw/verbs sw/verbs/memory sw/verbs/queue sw/verbs/qp"
packet_folders="sw/packet sw/qp sw/tx sw/rx"
folders="wire borrowed $core_folders lifecycle control $verbs_folders $packet_folders sw mlx5"

# before FOLDER FOLDERS: those listed before it
before() {
	case " $2 " in *" $1 "*) ;; *) echo "$2"; return ;; esac
	set -- "$1" " $2 "
	echo "${2%% "$1" *}"
}

# may FOLDER: the folders it may include from, besides itself and include/rhca
may() {
	case $1 in
	wire) echo "" ;;
	borrowed) echo "wire" ;;
	core/rules | core/port | core/qp | core)
		echo "wire borrowed $(before "$1" "$core_folders")" ;;
	lifecycle) echo "wire borrowed $core_folders" ;;
	control) echo "wire $core_folders lifecycle" ;;
	sw/verbs*) echo "wire $core_folders $(before "$1" "$verbs_folders")" ;;
	sw/packet | sw/qp | sw/tx | sw/rx)
		echo "wire borrowed $core_folders $verbs_folders $(before "$1" "$packet_folders")" ;;
	sw) echo "wire borrowed $core_folders $verbs_folders $packet_folders" ;;
	mlx5) echo "wire $core_folders" ;;
	kunit/*) echo "lib $folders" ;;
	esac
}

# included FILE: "LINE PATH" of each #include "PATH"
included() {
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"
}

# Quoted includes are our own: FOLDER/FILE below drivers/, or a file of the same folder.
check_file() {
	file=$1 folder=$2 allowed=$(may "$2")
	for path in $(included "$file"); do
		case $path in
		../*) complain "$file: \"$path\": name it from drivers/" ;;
		*/*)
			from=${path%/*}
			case " $folder $allowed " in
			*" $from "*) ;;
			*) complain "$file: $folder must not include \"$path\"" ;;
			esac ;;
		*)
			[ -e "$(dirname "$file")/$path" ] ||
				complain "$file: \"$path\" is not in its folder" ;;
		esac
	done
}

for file in $(find drivers/*/ kunit -name '*.[ch]' 2> /dev/null | sort); do
	folder=${file%/*}
	check_file "$file" "${folder#drivers/}"
done

# A folder's list of files is what people search: keep it short.
for folder in $(find drivers kunit scripts/tests -type d ! -path drivers/mlx5 2> /dev/null |
	sort); do
	most=26
	case $folder in kunit* | scripts/tests*) most=40 ;; esac
	files=$(find "$folder" -maxdepth 1 -type f ! -name '*.pyc' | wc -l)
	[ "$files" -le $most ] ||
		complain "$folder has $files files, more than $most"
done

# main.c starts every part, and uses only the backend.h of a backend.
for path in $([ ! -e drivers/main.c ] || included drivers/main.c); do
	case $path in
	core/* | lifecycle/* | control/* | wire/* | */backend.h) ;;
	*) complain "drivers/main.c must not include \"$path\"" ;;
	esac
done

# The core includes no file of a backend; only compat.h checks kernel versions.
differences=$(grep -rnE 'HAVE_[A-Z]|LINUX_VERSION_CODE|KERNEL_VERSION' \
	drivers include kunit --include='*.[ch]' 2> /dev/null |
	grep -v '^include/rhca/compat\.h:') || :
[ -z "$differences" ] ||
	complain "kernel differences belong in include/rhca/compat.h:
$differences"

# --- circles inside a folder -------------------------------------------------------
#
# A file and its header are one unit, named without the suffix. Units that include each other in
# a circle cannot be read, tested or changed separately, so no others than these are allowed;
# each line has all units of a circle:
allowed_circles() {
	sed 's/ *#.*//; /^$/d' << 'END'
# a QP has a send queue and a state; which requests are legal, and what a state allows,
# depends on the QP
sw/verbs/qp: qp qp_state sq wr_rule
# using the memory of a key may have to bring in its pages, which are the key's memory
sw/verbs/memory: mem odp odp_range
# a request that fails a check is answered, and an answer that fails ends the connection
sw/rx: answer responder
# a turn starts the ACK and the probe timer, which begin a turn when they fire
sw/tx: ack_timeout probe requester send_sched
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

# circles FOLDER: "FOLDER: UNIT..." for each set of units that include each other
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

found=$(for folder in $folders; do
	circles "$folder"
done)
new=$(echo "$found" | grep -vxF "$(allowed_circles)") || :
gone=$(allowed_circles | grep -vxF "$found") || :
[ -z "$new" ] ||
	complain "units that include each other in a circle:
$new"
[ -z "$gone" ] ||
	complain "no circle any more, so not allowed any more:
$gone"

# A file that is in no list is never built.
for file in $(find drivers/*/ -name '*.c' 2> /dev/null | sort); do
	[ -e Kbuild ] || continue
	folder=${file%/*} object=$(basename "$file" .c).o
	tr -s '\t\n \\' ' ' < Kbuild |
		grep -qE "$folder/$object|$folder/,[^)]* $object" ||
		complain "Kbuild does not name $file"
done

exit $bad
