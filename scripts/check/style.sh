#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check how the sources are written: checkpatch --strict on C, shellcheck on
# shell, pyflakes on Python, mandoc on manual pages, docutils on documents, an SPDX
# line in every file.
#
# usage: scripts/check/style.sh [FILE...]      (every file git knows without one)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
. scripts/setup/cache-lib.sh
bad=0

# Checks that do not apply to a module out of tree, or matters of taste that the source decides
# otherwise.
ignored=(
	FILE_PATH_CHANGES	# MAINTAINERS is the kernel's
	SPDX_LICENSE_TAG	# checked below, for every kind of file
	CONFIG_DESCRIPTION
	EMBEDDED_FILENAME
	MACRO_ARG_REUSE		# reported for every accessor
	MACRO_ARG_PRECEDENCE	# a field's name is no expression
	MACRO_ARG_UNUSED	# compat.h drops arguments that a kernel lacks
	COMPLEX_MACRO		# rows of tables
	EXPORT_SYMBOL		# compat.h defines one
	LINE_SPACING		# static_assert belongs to the struct above it
	BIT_MACRO		# limits are powers of two, not bits
	TYPO_SPELLING		# British spelling
	ALLOC_WITH_SIZEOF	# kernels up to 6.12 have no kzalloc_obj()
)

checkpatch() {
	local script

	script=$(compgen -G "$cache/uml/source-????????????/scripts/checkpatch.pl" | tail -n 1)
	[ -n "$script" ] || {
		echo "check-style: no kernel source: run scripts/uml/build base" >&2
		return 1
	}
	(
		IFS=,
		perl "$script" --no-tree --strict --quiet --no-summary --terse \
			--show-types --max-line-length=100 --ignore "${ignored[*]}" \
			--file "$@"
	)
}

is_shell() {
	head -n 1 "$1" | grep -Eq '^#!.*/(ba)?sh' || head -n 3 "$1" | grep -q '^# shellcheck shell='
}

is_python() {
	head -n 1 "$1" | grep -q '^#!.*/python3'
}

# Complaints about references to other packages' pages depend on the machine.
manual_pages() {
	! mandoc -T lint -W warning "$@" 2>&1 | grep -v 'mandoc.db'
}

documents() {
	local file status=0

	for file; do
		/usr/bin/python3 -m docutils --writer=null --report=warning --exit-status=2 \
			"$file" || status=1
	done
	return $status
}

spdx() {
	local file

	for file; do
		case $file in
		# Data and pictures cannot contain a comment.
		*.tar) continue ;;
		*/debian/changelog | */debian/*.dkms | */debian/source/format) continue ;;
		# Mails to the kernel's list; files that they add have an SPDX line of their own
		tools/mlx5_ib/patches/*) continue ;;
		*.pcap | *.png | *.svg | *.json | *.csv | *.txt) continue ;;
		esac
		head -n 4 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0' || {
			echo "$file: no line 'SPDX-License-Identifier: GPL-2.0' at its top"
			bad=1
		}
	done
}

files=("$@")
if [ $# -eq 0 ]; then
	list=$(git -c 'safe.directory=*' ls-files)
	mapfile -t files <<< "$list"
fi

c=()
shell=()
python=()
manuals=()
rst=()
present=()
for file in "${files[@]}"; do
	[ -f "$file" ] || continue
	present+=("$file")
	case $file in
	# TRACE_EVENT() is written as everywhere in the kernel, which checkpatch rejects
	include/rhca/trace.h) ;;
	drivers/*.[ch] | include/*.h | kunit/*.[ch]) c+=("$file") ;;
	*.py) python+=("$file") ;;
	*.rst) rst+=("$file") ;;
	*.[ch] | *.md) ;;
	*/man/*.[1-8]) manuals+=("$file") ;;
	*)
		! is_shell "$file" || shell+=("$file")
		! is_python "$file" || python+=("$file") ;;
	esac
done

[ ${#present[@]} -gt 0 ] || {
	echo "check-style: no file" >&2
	exit 1
}
spdx "${present[@]}"
[ ${#c[@]} -eq 0 ] || checkpatch "${c[@]}" || bad=1
# Scenarios share variables with the library that they include, which shellcheck does not
# follow; an empty assignment before a command is no mistake.
[ ${#shell[@]} -eq 0 ] ||
	shellcheck -x --severity=warning --exclude=SC1007,SC2034,SC2120,SC2154,SC2183 "${shell[@]}" || bad=1
[ ${#python[@]} -eq 0 ] || pyflakes3 "${python[@]}" || bad=1
[ ${#manuals[@]} -eq 0 ] || manual_pages "${manuals[@]}" || bad=1
[ ${#rst[@]} -eq 0 ] || documents "${rst[@]}" || bad=1
exit $bad
