#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: core
# timeout: 900
#
# The tools on simulated hosts (tools-unit.py); what make install-tools installs, and that
# make uninstall-tools removes all of it; each tool's options are in its manual page and in
# the completion.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fails=0

check() { # check WHAT COMMAND...
	local what=$1
	shift
	if "$@" > "$work/out" 2>&1; then
		echo "ok   $what"
	else
		echo "FAIL $what: status $? of: $*"
		tail -n 30 "$work/out"
		fails=$((fails + 1))
	fi
}

check "the tools on made-up hosts" /usr/bin/python3 -B scripts/tests/tools/tools-unit.py

# --- installing -----------------------------------------------------------------

root=$work/root
install="DESTDIR=$root PREFIX=/usr"
# shellcheck disable=SC2086
check "make install-tools" make -s install-tools $install
tools=$(cd "$root/usr/sbin" && ls)
check "there are tools" test "$(echo "$tools" | wc -w)" -ge 7
for tool in $tools; do
	check "$tool: runs from where it is installed" "$root/usr/sbin/$tool" --help
	# Without devices they print a message, not a Python error.
	ROCE_ROOT=$work/none "$root/usr/sbin/$tool" > "$work/said" 2>&1
	check "$tool: says what is missing" grep -Eqx "(usage: $tool.*|$tool: .*)" <(head -n 1 "$work/said")
	check "$tool: has a manual page" test -s "$root/usr/share/man/man8/$tool.8"
	check "$tool: roce_hca(7) points to it" grep -q "^\.Xr $tool 8" "$root/usr/share/man/man7/roce_hca.7"
	check "$tool: has completion" test -s "$root/usr/share/bash-completion/completions/$tool"
done

doc=$root/usr/share/doc/roce-hca
links=$(grep -oP '\]\(\K(?!http|tools/)[^)#]+' "$doc/README.md")
check "README.md: has links" test -n "$links"
for link in $links; do
	check "README.md: $link is there" test -e "$doc/$link"
done
check "no document names the source's folders" \
	test -z "$(grep -l Documentation/ "$doc"/{README.md,knobs.rst,lab.rst,ABI/*})"

packaged=$(sed -n 's,.*DOCDIR=.*/\(share/doc/[^/]*\)$,\1,p' scripts/package/debian/rules)
pages=$(grep -l share/doc/roce-hca "$root"/usr/share/man/man?/*)
check "pages name a folder of documents" test -n "$pages"
for page in $pages; do
	check "${page##*/}: names the packages' $packaged" grep -q "$packaged" "$page"
done

# --- each option is described and completed --------------------------------------

. tools/user/completion/roce-hca.bash
for tool in $tools; do
	help=$("tools/user/$tool" --help)
	options=$(echo "$help" | grep -oE -- '(^|[ ,])--[a-z-]+' | tr -d ' ,' | sort -u)
	check "$tool: --help names options" test -n "$options"
	for option in $options; do
		check "$tool: manual page has $option" \
			grep -Eq -- "Fl (. , )?-${option#--}( |\$)" "Documentation/man/$tool.8"
		COMP_WORDS=("$tool" "$option") COMP_CWORD=1
		_roce_complete "$tool" "$option" "$tool"
		check "$tool: $option is completed" test "${COMPREPLY[*]}" = "$option"
	done
done
COMP_WORDS=(cma_roce_mode -m "") COMP_CWORD=2
_roce_complete cma_roce_mode "" -m
check "cma_roce_mode -m is completed" test "${COMPREPLY[*]}" = "1 2"

# A netdev may have such a name, and the user that completes a command may be root.
name='$(:>pwned)'
completed=$(
	cd "$work" || exit
	_roce_netdevs() { echo "$name"; }
	COMP_WORDS=(compat_gid_gen -d "") COMP_CWORD=2
	_roce_complete compat_gid_gen "" -d
	eval "echo ${COMPREPLY[*]}"
)
check "completion runs nothing that a name says" test ! -e "$work/pwned"
check "what is completed is that name" test "$completed" = "$name"

# --- samples ----------------------------------------------------------------------

samples=$root/usr/share/doc/roce-hca/examples
for sample in modprobe.conf modules-load.conf 90-roce-hca.rules grafana-roce.json prometheus-roce.yml; do
	check "sample $sample is installed" test -s "$samples/$sample"
done
parameters=$(sed -n 's/^#*options roce_hca //p' "$samples/modprobe.conf")
check "modprobe sample: it has parameters" test -n "$parameters"
for parameter in $parameters; do
	check "modprobe sample: ${parameter%%=*} is a parameter" \
		grep -Eqr "module_param[a-z_]*\(${parameter%%=*}," drivers
done

# shellcheck disable=SC2086
check "make uninstall-tools" make -s uninstall-tools $install
check "nothing is left" test -z "$(find "$root" ! -type d)"

# --- installation paths -------------------------------------------------------------

refuses() { # refuses TARGET VARIABLE=VALUE: and does not touch paths that a blank would make of it
	mkdir -p "$work/with"
	touch "$work/with/file"
	! make -s "$@" > "$work/said" 2>&1 &&
		grep -q "no blanks in .*with blank" "$work/said" &&
		test -e "$work/with/file" -a ! -e blank
}
for target in install-tools uninstall-tools uninstall-modules; do
	check "$target: blanks are refused" refuses $target "DESTDIR=$work/with blank"
done
check "uninstall-tools: blanks in PREFIX are refused" refuses uninstall-tools "PREFIX=$work/with blank"
for variable in KVER KDIR; do
	check "modules: blanks in $variable are refused" refuses modules "$variable=$work/with blank"
done
mkdir -p "$work/with blank"
cp -r Makefile scripts "$work/with blank/"
check "modules: and in the tree's own path" refuses modules -C "$work/with blank" KVER=6.5.0 "KDIR=$work"

check "uninstall-modules: of a kernel that is not here" make -s uninstall-modules KVER=6.5.0-none
lacks_headers() { # make says what to install
	! make -s modules KVER=6.5.0-none > "$work/said" 2>&1 &&
		grep -q "linux-headers-6.5.0-none.*kernel-devel-6.5.0-none.*KDIR" "$work/said" &&
		! grep -q setup.sh "$work/said"
}
check "modules: without headers" lacks_headers

# Kbuild uses a folder of its own.
headers=$work/headers
mkdir -p "$headers/include/config"
config=$headers/include/config/auto.conf
lacks() { # lacks OPTION: make reports that the kernel lacks it
	! make -s mirror KVER=6.5.0 "KDIR=$headers" 2> "$work/said" && grep -qw "$1" "$work/said"
}
check "modules: a kernel that was not configured is refused" lacks include/config/auto.conf
touch "$config"
check "modules: a kernel without RDMA is refused" lacks CONFIG_INFINIBAND
echo CONFIG_INFINIBAND=m > "$config"
check "modules: a kernel of 32 bits is refused" lacks CONFIG_64BIT
echo CONFIG_64BIT=y >> "$config"
for option in CONFIG_INFINIBAND_USER_ACCESS CONFIG_NET_UDP_TUNNEL CONFIG_CRC32 CONFIG_GLOB; do
	check "modules: a kernel without $option is refused" lacks $option
	echo $option=y >> "$config"
done
for option in CONFIG_{ARCH_HAS_CPU_CACHE_ALIASING,MIPS,PARISC,SPARC}; do
	echo "$option=y" >> "$config"
	check "modules: a kernel with $option is refused" lacks "$option"
	sed -i "s/^$option=/!&/" "$config"	# as in dkms.conf
done
for option in $(sed -n 's/^BUILD_EXCLUSIVE_CONFIG="\(.*\)"/\1/p' dkms.conf); do
	check "dkms.conf: $option is one that make wants" grep -q "^$option=" "$config"
done
check "dkms.conf: names all of these" test "$(grep -c . "$config")" = \
	"$(sed -n 's/^BUILD_EXCLUSIVE_CONFIG="\(.*\)"/\1/p' dkms.conf | wc -w)"

has_tests() { # has_tests FOLDER OPTION...: of the modules for this source of a kernel with KUnit
	printf 'include Kbuild\nall:; @echo $(obj-m)\n' |
		make -s -f - src=. "srctree=$1" CONFIG_KUNIT=m "${@:2}" 2> /dev/null | grep -w roce_hca_kunit.o
}
has_no_tests() { ! has_tests "$@"; }
vrf=CONFIG_NET_L3_MASTER_DEV=y
check "modules: without our tests for the KUnit of old kernels" has_no_tests "$headers" $vrf CONFIG_DCB=y
mkdir -p "$work/new/include/linux"
touch "$work/new/include/linux/unaligned.h"
check "modules: with them for that of newer ones" has_tests "$work/new" $vrf CONFIG_DCB=y
check "modules: without them for a kernel without DCB" has_no_tests "$work/new" $vrf
printf 'modules:\nmodules_install:\n\t@echo path $(INSTALL_MOD_PATH)\n' > "$headers/Makefile"
path=$(make -s install-modules KVER=6.5.0 "KDIR=$headers" DESTDIR=stage | sed -n 's/^path //p')
check "install-modules: DESTDIR may be relative" test "$path" = "$PWD/stage"
install_beside() { # install_beside FILE: a module that is installed
	rm -rf "$work/beside"
	mkdir -p "$(dirname "$work/beside/lib/modules/6.5.0/$1")"
	touch "$work/beside/lib/modules/6.5.0/$1"
	make -s install-modules KVER=6.5.0 "KDIR=$headers" "DESTDIR=$work/beside" > "$work/said" 2>&1
}
is_told_of() { # is_told_of FILE: and nothing is installed
	! install_beside "$1" && grep -q "$1.*dkms remove" "$work/said" && ! grep -q '^path' "$work/said"
}
# depmod may take either of two.
check "install-modules: DKMS has installed one" is_told_of updates/dkms/roce_hca.ko.xz
check "install-modules: or has on Fedora" is_told_of extra/roce_hca.ko
check "install-modules: over its own" install_beside updates/roce_hca.ko
updates=$work/beside/lib/modules/6.5.0/updates
uninstall_beside() { make -s uninstall-modules KVER=6.5.0 "KDIR=$headers" "DESTDIR=$work/beside"; }
touch "$updates/other.ko"
check "uninstall-modules" uninstall_beside
check "uninstall-modules: others' files stay" test "$(ls "$updates")" = other.ko
rm "$updates/other.ko"
check "uninstall-modules: once more" uninstall_beside
check "uninstall-modules: an empty folder goes" test ! -e "$updates"
rm -rf build/6.5.0

# --- where kernels are ---------------------------------------------------------------

# Ubuntu has one Makefile for all flavours of a kernel.
ubuntu=$work/ubuntu/usr/src/linux-headers-6.5.0-9
mkdir -p "$ubuntu" "$ubuntu-generic"
touch "$ubuntu/Makefile"
ln -s ../linux-headers-6.5.0-9/Makefile "$ubuntu-generic/"
check "headers whose Makefile is a link" test "$ubuntu-generic" = \
	"$(RHCA_ROOT=$work/ubuntu scripts/vm/kernel headers 6.5.0-9-generic)"

# An archive that does not answer, for a while without this machine's own lists.
archive=$work/archive/newest
mkdir "$work/apt"
cat > "$work/apt/apt-get" << 'END'
#!/bin/sh
[ "$1" = indextargets ] || exec /usr/bin/apt-get -o Acquire::http::Proxy=DIRECT -o Acquire::Retries=0 "$@"
[ ! -e "$0.lists" ] || echo "http://127.0.0.1:9/debian Debian/Debian"
END
chmod +x "$work/apt/apt-get"
newest() { LC_ALL=C PATH=$work/apt:$PATH ROCE_HCA_CACHE=$work/archive scripts/newest series 2> "$work/said"; }
tells() { ! newest && grep -q "$1" "$work/said"; } # tells WORDS: of an error
check "the newest kernel: no lists" tells 'run apt-get update'
echo 'deb []  trixie-backports main' > "$archive/sources.list"
touch "$work/apt/apt-get.lists"
check "the newest kernel: no connection" tells 'Failed to fetch http://127.0.0.1:9/debian'
touch "$archive/fresh"
check "the newest kernel: this machine's packages are not asked" test -z "$(newest)"

# A machine with KVM may be too busy to boot a kernel in time.
if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
	mkdir -p "$work"/busy/scripts/{setup,vm}
	cp scripts/setup/cache-lib.sh "$work/busy/scripts/setup/"
	cp scripts/vm/accel "$work/busy/scripts/vm/"
	printf '#!/bin/sh\n' | tee "$work/busy/scripts/vm/kernel" > "$work/busy/scripts/vm/initramfs"
	printf '#!/bin/sh\n[ ! -e "$0.boots" ] || echo init: probe-ok\n' > "$work/busy/qemu-system-x86_64"
	chmod +x "$work"/busy/scripts/vm/* "$work/busy/qemu-system-x86_64"
	accel() { PATH=$work/busy:$PATH ROCE_HCA_CACHE=$work/busy "$work/busy/scripts/vm/accel" 6.5.0; }
	check "KVM: that boots no kernel" test "$(accel)" = tcg
	touch "$work/busy/qemu-system-x86_64.boots"
	check "KVM: is not asked again at once" test "$(accel)" = tcg
	touch -d '2 hours ago' "$work"/busy/vm/accel-*
	check "KVM: but later" test "$(accel)" = kvm
	rm "$work/busy/qemu-system-x86_64.boots"
	touch -d '2 hours ago' "$work"/busy/vm/accel-*
	check "KVM: what has worked stays" test "$(accel)" = kvm
fi

# --- the folder of the caches ---------------------------------------------------------

cache_of() { # cache_of UID: what scripts use, which that user may not be able to read here
	env -u ROCE_HCA_CACHE -u XDG_CACHE_HOME HOME=/home setpriv "--reuid=$1" --clear-groups \
		bash -euc "$(< scripts/setup/cache-lib.sh); echo \$cache"
}
if [ "$(id -u)" -eq 0 ]; then
	check "root fills that of the machine" test "$(cache_of 0)" = /var/cache/roce-hca
	check "others their own, if that is root's" test "$(cache_of 50000000)" = /home/.cache/roce-hca
fi

# --- packages: for their builds see check/packages.sh ---------------------------------

# A release is used without git.
release=$(scripts/package/tarball --out "$work/first")
tar -C "$work" -xf "$release"
top=$work/$(basename "$release" .tar.xz)
mkdir -p "$top/build" "$top/debian"
touch "$top/build/made" "$top/debian/made"
check "a tarball of what is in a tarball" "$top/scripts/package/tarball" --out "$work/second"
check "is the same" cmp "$release" "$work/second/${release##*/}"

mkdir -p "$work/bin" "$work/packages"
for tool in dpkg-buildpackage dh_dkms rpmbuild; do
	printf '#!/bin/sh\n' > "$work/bin/$tool"
	chmod +x "$work/bin/$tool"
done
for build in build-deb build-rpm; do
	touch "$work/packages/file" "$work/packages/roce-hca-dkms_0.0.9-1_all.deb"
	touch "$work/packages/roce-hca-tools-0.0.9-1.noarch.rpm"
	check "$build" env "PATH=$work/bin:$PATH" scripts/package/$build --out "$work/packages"
	check "$build: other files stay" test -e "$work/packages/file"
	check "$build: old packages go" test -z "$(find "$work/packages" -name "*0.0.9*.${build#build-}")"
done

[ $fails -eq 0 ]
