#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Includes go one way between the folders of drivers/: fail if one does not.
# Also hold the rule that every kernel difference is in compat.h.
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

# A file that no list names is never built.
for file in drivers/*/*.c drivers/*/*/*.c; do
	[ -e "$file" ] && [ -e Kbuild ] || continue
	folder=${file%/*} object=$(basename "$file" .c).o
	tr -s '\t\n \\' ' ' < Kbuild |
		grep -qE "$folder/$object|$folder/,[^)]* $object" ||
		complain "Kbuild does not name $file"
done

exit $bad
