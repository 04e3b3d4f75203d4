# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of roce-hca's tools. bash-completion loads it under each tool's name.

_roce_devices() { ls /sys/class/infiniband 2> /dev/null; }
_roce_ports() { ls "/sys/class/infiniband/$1/ports" 2> /dev/null; }
_roce_netdevs() { ls /sys/class/net 2> /dev/null; }

# _roce_word_after OPTION...: the word after the first of them on the line
_roce_word_after() {
	local i option

	for ((i = 1; i < COMP_CWORD; i++)); do
		for option; do
			[ "${COMP_WORDS[i]}" != "$option" ] || echo "${COMP_WORDS[i + 1]}"
		done
	done
}

# The arguments of options; fails if the previous word takes none
_roce_argument() {
	case $1:$2 in
	cma_*:-d | cma_*:--device) _roce_devices ;;
	cma_*:-p | cma_*:--port) _roce_ports "$(_roce_word_after -d --device)" ;;
	cma_roce_mode:-m | cma_roce_mode:--mode) echo 1 2 ;;
	cma_roce_tos:-t | cma_roce_tos:--tos) ;;
	compat_gid_gen:-d | compat_gid_gen:--netdev) _roce_netdevs ;;
	compat_gid_gen:-[vV]) ;;
	roce-status:-w | roce-status:--watch) echo 1 10 ;;
	roce-status:-n | roce-status:--count) ;;
	roce-backend:-w | roce-backend:--wait) ;;
	roce-perfquery:-C | roce-perfquery:--Ca) _roce_devices ;;
	roce-perfquery:-P | roce-perfquery:--Port) _roce_ports "$(_roce_word_after -C --Ca)" ;;
	roce-perfquery:-G | roce-perfquery:--Gid) ;;
	roce-perfquery:-t | roce-perfquery:--timeout) ;;
	*) return 1 ;;
	esac
}

_roce_words() {
	echo --help
	case $1 in
	show_gids) echo --json; _roce_devices ;;
	roce-status) echo --json --watch --count; _roce_devices ;;
	roce-backend)
		echo --json --force --wait hardware software in-tree
		_roce_devices
		_roce_netdevs
		;;
	ibdev2netdev) echo --json --verbose ;;
	dat_conf) echo --json ;;
	cma_roce_mode) echo --json --device --port --mode ;;
	cma_roce_tos) echo --json --device --port --tos ;;
	roce-perfquery)
		echo --json --Ca --Port --Gid --extended --all-ports --loop-ports
		echo --reset-after-read --reset-only --timeout
		;;
	hardware-report) echo --ask-firmware ;;
	compat_gid_gen) echo --netdev -v -V --debug --dry-run --delete ;;
	esac
}

_roce_complete() {
	local words word

	words=$(_roce_argument "${1##*/}" "$3") || words=$(_roce_words "${1##*/}")
	COMPREPLY=()
	# compgen would evaluate a name: "$(reboot)" is a valid one for a netdev
	while read -r word; do
		[[ -z $word || $word != "$2"* ]] || COMPREPLY+=("$(printf %q "$word")")
	done < <(tr ' ' '\n' <<< "$words")
}

complete -F _roce_complete show_gids ibdev2netdev cma_roce_mode cma_roce_tos \
	compat_gid_gen dat_conf roce-perfquery roce-status roce-backend hardware-report
