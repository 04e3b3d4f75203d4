# SPDX-License-Identifier: GPL-2.0
# Targets for people. What the modules are made of is in Kbuild.
#
# The modules of each kernel are built in a folder of their own that mirrors
# the tree with symbolic links, so several kernels never share an object file.

KVER ?= $(shell uname -r)
ifneq ($(filter uml-%,$(KVER)),)
ARCH := um
# As the checks build it, so that they and their reader share the objects.
strict := W=1 KCFLAGS=-Werror
KDIR ?= $(eval KDIR := $(shell scripts/uml/build $(KVER:uml-%=%)))$(KDIR)
else
# The checks build it so, that is to say all who build in them: else each would build what
# the other one has built. Debug information takes a quarter of the time.
ifdef RHCA_STRICT
strict := W=1 KCFLAGS='-Werror -g0' CONFIG_DEBUG_INFO_BTF_MODULES=
endif
ifeq ($(filter newest newest-%,$(KVER)),)
KDIR ?= $(eval KDIR := $(shell scripts/vm/kernel headers $(KVER) 2> /dev/null))$(KDIR)
endif
endif

out := $(CURDIR)/build/$(KVER)
# What that kernel calls itself, and its folder in /lib/modules
release = $(if $(filter uml-%,$(KVER)),$(shell cat $(KDIR)/include/config/kernel.release),$(KVER))
kbuild = $(MAKE) -C $(KDIR) M=$(out) $(if $(ARCH),ARCH=$(ARCH)) $(strict) $(KBUILD_ARGS)

.DEFAULT_GOAL := all
.PHONY: all modules mirror say-left-out only-one install install-modules install-tools uninstall \
	uninstall-modules uninstall-tools lab lab-debug lab-qemu lab-deb lab-source install-lab demo check check-all \
	check-connectx check-packages check-cross check-turn-model check-litmus check-kcsan \
	fabric-sim check-fabric-sim soak deb rpm clean help

all: modules

has_adapter_driver = grep -qs '^CONFIG_MLX5_CORE=' $(KDIR)/include/config/auto.conf

# What cannot be built for this kernel (no User-Mode Linux could have it).
say-left-out:
	@$(has_adapter_driver) || [ '$(ARCH)' = um ] || \
		echo "kernel $(KVER) has no mlx5_core (CONFIG_MLX5_CORE): roce_hca_mlx5 is left out"

# needs OPTION, WHAT: say what a kernel without it has, and end. dkms.conf has the same list.
needs = @grep -q '^CONFIG_$(1)=' $(KDIR)/include/config/auto.conf || \
	{ echo "kernel $(KVER) has $(2)" >&2; exit 1; }

# Nothing calls flush_dcache_page(), and rings are mapped twice. Before 6.9 there is no such option.
may_alias := ARCH_HAS_CPU_CACHE_ALIASING|MIPS|PARISC|SPARC

# Links to what is there now; links to what has gone are removed. Objects name the
# headers they were built with: those of another kernel are removed, too.
mirror:
	@case $(KVER) in [0-9]*) printf '%s\n' 6.1 $(KVER) | sort -VC || \
		{ echo "roce-hca needs Linux 6.1 or newer, $(KVER) is older" >&2; exit 1; } ;; esac
	@test -n "$(KDIR)" || { echo "no headers for kernel $(KVER): install linux-headers-$(KVER)" \
		"(Fedora and its relatives: kernel-devel-$(KVER)), or name them by KDIR=FOLDER" >&2; exit 1; }
	@test -e $(KDIR)/include/config/auto.conf || { echo "$(KDIR) has no include/config/auto.conf:" \
		"KDIR is a folder in which a kernel was configured" >&2; exit 1; }
	$(call needs,INFINIBAND,no RDMA (CONFIG_INFINIBAND): roce-hca cannot be built for it)
	$(call needs,64BIT,32 bits (no CONFIG_64BIT): roce-hca needs 64)
	$(call needs,INFINIBAND_USER_ACCESS,no verbs for processes (CONFIG_INFINIBAND_USER_ACCESS): \
		roce-hca cannot be loaded there)
	$(call needs,NET_UDP_TUNNEL,no CONFIG_NET_UDP_TUNNEL: roce-hca cannot be built for it)
	$(call needs,CRC32,no CONFIG_CRC32: roce-hca cannot be built for it)
	$(call needs,GLOB,no CONFIG_GLOB: roce-hca cannot be built for it)
	@! option=$$(grep -Eowm1 '^CONFIG_($(may_alias))' $(KDIR)/include/config/auto.conf) || { echo "kernel" \
		"$(KVER) has $$option: data caches may alias, and roce-hca would deliver stale data" >&2; exit 1; }
	@test "$$(readlink $(out)/kernel)" = "$(abspath $(KDIR))" || rm -rf '$(out)'
	@mkdir -p $(out)/scripts
	@ln -sfn $(abspath $(KDIR)) $(out)/kernel
	@cp -asf $(wildcard $(addprefix $(CURDIR)/,Kbuild dkms.conf drivers include kunit)) $(out)/
	@ln -sf $(CURDIR)/scripts/probe.sh $(out)/scripts/probe.sh
	@find $(out) -xtype l -delete

ifneq ($(filter newest newest-%,$(KVER)),)
modules:
	scripts/setup/setup-newest.sh build $(patsubst newest-%,--kind %,$(filter newest-%,$(KVER))) \
		$(strict) $(KBUILD_ARGS)
else
modules: mirror say-left-out
	+$(kbuild) modules
endif

# Where "make install" puts things, below DESTDIR if that is set. The tools find
# what they share beside them, so sbin has links to the folder they are in. A
# package has to run depmod when it is unpacked.
PREFIX ?= /usr/local
TOOLS := show_gids ibdev2netdev cma_roce_mode cma_roce_tos compat_gid_gen dat_conf \
	roce-perfquery roce-status roce-backend hardware-report
LIBDIR := $(DESTDIR)$(PREFIX)/lib/roce-hca
SBINDIR := $(DESTDIR)$(PREFIX)/sbin
MANDIR := $(DESTDIR)$(PREFIX)/share/man
DOCDIR := $(DESTDIR)$(PREFIX)/share/doc/roce-hca
COMPLETIONDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
# Half of such a name would be removed as a whole; Kbuild cannot build or install there either.
# KDIR as it is given: by default it is found, or built, where it is used.
$(foreach name,CURDIR KVER $(if $(filter file,$(origin KDIR)),,KDIR) \
	DESTDIR PREFIX LIBDIR SBINDIR MANDIR DOCDIR COMPLETIONDIR,\
	$(if $(word 2,x$($(name))x),$(error no blanks in $(name), please: $($(name)))))

install: install-modules install-tools

# Of two modules with the same name, in the folders where it searches first, depmod takes either.
only-one:
	@other=$$(find $(DESTDIR)/lib/modules/$(release) -name 'roce_hca.ko*' \
		! -path '*/updates/roce_hca.ko*' 2> /dev/null); [ -z "$$other" ] || { \
		echo "DKMS has installed $$other, which may be loaded in place of this one:" \
			"remove it first, by the package manager or dkms remove roce-hca/VERSION --all" >&2; \
		exit 1; }

install-modules: only-one modules
	+$(kbuild) $(if $(DESTDIR),INSTALL_MOD_PATH=$(abspath $(DESTDIR))) \
		INSTALL_MOD_DIR=updates modules_install
	$(if $(DESTDIR),,depmod $(release))
	@! $(has_adapter_driver) || \
		echo "roce_hca_mlx5 is installed and takes no ConnectX adapter until it is loaded: see roce-backend(8)"

install-tools:
	install -d $(LIBDIR) $(SBINDIR) $(COMPLETIONDIR) $(DOCDIR)/ABI $(DOCDIR)/examples \
		$(MANDIR)/man7 $(MANDIR)/man8
	install -m 755 $(addprefix tools/user/,$(TOOLS)) $(LIBDIR)
	install -m 644 $(wildcard tools/user/roce_*.py) $(LIBDIR)
	install -d $(LIBDIR)/ask_firmware
	install -m 644 $(wildcard tools/user/ask_firmware/*) $(LIBDIR)/ask_firmware
	ln -sf $(addprefix ../lib/roce-hca/,$(TOOLS)) $(SBINDIR)
	install -m 644 README.md $(wildcard $(addprefix Documentation/*.,rst svg)) $(DOCDIR)
	install -m 644 $(wildcard Documentation/ABI/testing/*) $(DOCDIR)/ABI
	sed -i -e 's,Documentation/samples,examples,g; s,Documentation/ABI/testing,ABI,g' \
		-e 's,Documentation/man,../../man,g; s,Documentation/,,g; s,``samples/,``examples/,g' \
		$(addprefix $(DOCDIR)/,README.md $(addsuffix .rst,knobs lab operating connectx) ABI/*)
	install -m 644 $(filter-out %/lab,$(wildcard Documentation/samples/* tools/dashboard/*)) \
		$(DOCDIR)/examples
	install -d $(DOCDIR)/examples/lab
	install -m 644 $(wildcard Documentation/samples/lab/*) $(DOCDIR)/examples/lab
	install -m 644 tools/user/completion/roce-hca.bash $(COMPLETIONDIR)/roce-hca
	for tool in $(TOOLS); do ln -sf roce-hca $(COMPLETIONDIR)/$$tool; done
	install -m 644 $(wildcard Documentation/man/*.7) $(MANDIR)/man7
	install -m 644 $(wildcard Documentation/man/*.8) $(MANDIR)/man8

uninstall: uninstall-tools uninstall-modules

uninstall-modules:
	rm -f $(addprefix $(DESTDIR)/lib/modules/$(release)/updates/,$(addsuffix .ko*,\
		roce_hca roce_hca_kunit roce_hca_mlx5))
	@rmdir $(DESTDIR)/lib/modules/$(release)/updates 2> /dev/null || :
	$(if $(DESTDIR),,[ ! -d /lib/modules/$(release) ] || depmod $(release))

uninstall-tools:
	rm -rf $(LIBDIR) $(DOCDIR)
	rm -f $(addprefix $(SBINDIR)/,$(TOOLS)) \
		$(addprefix $(COMPLETIONDIR)/,roce-hca $(TOOLS)) \
		$(addprefix $(MANDIR)/man7/,$(notdir $(wildcard Documentation/man/*.7))) \
		$(addprefix $(MANDIR)/man8/,$(notdir $(wildcard Documentation/man/*.8)))

# RDMA for a user without root, in build/lab: see Documentation/lab.rst
lab:
	+tools/lab/build
	@echo "build/lab/bin/roce-lab run -- COMMAND; make install-lab PREFIX=~/.local installs it"

lab-debug:
	+tools/lab/build --debug

lab-qemu:
	+tools/lab/build --qemu amd64

lab-deb:
	tools/lab/pack-deb

lab-source:
	tools/lab/pack-source

install-lab:
	@test -e build/lab/lib/roce-lab/base/linux || { echo "make lab comes first" >&2; exit 1; }
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(MANDIR)/man1
	rm -rf $(DESTDIR)$(PREFIX)/lib/roce-lab
	cp -R build/lab/lib/roce-lab $(DESTDIR)$(PREFIX)/lib/
	chmod -R u=rwX,go=rX $(DESTDIR)$(PREFIX)/lib/roce-lab
	install -m 755 build/lab/bin/roce-lab $(DESTDIR)$(PREFIX)/bin
	install -m 644 Documentation/man/roce-lab.1 $(MANDIR)/man1

demo:
	scripts/demo.sh

check:
	scripts/check/all

check-all:
	scripts/check/all --all

check-connectx:
	tools/connectx-model/tests/check-long

check-packages:
	scripts/check/packages.sh

check-cross:
	scripts/check/cross.sh

check-turn-model:
	scripts/check/turn-model.sh

check-litmus:
	scripts/check/litmus.sh

check-kcsan:
	scripts/check/kcsan.sh

# Loss recovery and congestion control in a simulated network, in build/fabric-sim
fabric-sim:
	tools/fabric-sim/build

check-fabric-sim:
	scripts/check/fabric-sim.sh --all

# Debian packages, in build/deb
deb:
	scripts/package/build-deb

# RPM packages, in build/rpm
rpm:
	scripts/package/build-rpm

# Fuzzing for hours, with faults and churn
HOURS ?= 1
soak:
	scripts/fuzz/soak $(HOURS)

clean:
	rm -rf build

help:
	@echo 'make                    build the modules for the running kernel'
	@echo 'make modules KVER=K     the same for kernel K: an installed release, or uml-base'
	@echo '                        or uml-debug, or newest (builds in a Debian 13 folder);'
	@echo '                        the modules end in build/K/'
	@echo 'make install            install them for the running kernel (or KVER=K), and the'
	@echo '                        tools, manual pages and samples below PREFIX (/usr/local);'
	@echo '                        DESTDIR is put in front of all of it'
	@echo 'make install-modules    only the modules; make install-tools: only the rest'
	@echo 'make uninstall          remove what make install put there; make uninstall-modules'
	@echo '                        and make uninstall-tools: a part of it'
	@echo 'make lab                build roce-lab in build/lab: RDMA without root, for tests'
	@echo 'make lab-debug          the same kernel with KASAN and lockdep, for roce-lab --debug'
	@echo 'make lab-qemu           a distribution'\''s kernel for roce-lab --qemu'
	@echo 'make lab-deb            Debian packages of what make lab (and lab-debug) built'
	@echo 'make lab-source         pack the source of what make lab built, the kernel included'
	@echo 'make install-lab        install what make lab built below PREFIX, such as ~/.local'
	@echo 'make demo               show RDMA traffic between two hosts, in a virtual machine,'
	@echo '                        or in roce-lab for who is not root'
	@echo 'make check              the tests on User-Mode Linux, a rotating subset on stock kernels'
	@echo 'make check-all          every scenario in all of its places, and the packages'
	@echo 'make check-connectx     the ConnectX tests, on the device model'
	@echo 'make check-packages     the packages, in clean Debian systems that are then booted'
	@echo 'make check-cross        builds and scenarios for arm64 and s390x'
	@echo 'make check-turn-model   the model of the send scheduler, by Spin'
	@echo 'make check-litmus       the barriers of the lockless parts, by Spin'
	@echo 'make check-kcsan        data races, on an emulated kernel with KCSAN'
	@echo 'make fabric-sim         the simulator of many hosts: build/fabric-sim/fabric-sim help'
	@echo 'make check-fabric-sim   its checks and figures, half an hour of one processor'
	@echo 'make soak HOURS=N       fuzz for N hours under faults and churn'
	@echo 'make deb                build the Debian packages in build/deb'
	@echo 'make rpm                build RPM packages in build/rpm'
	@echo 'make clean              remove what was built (caches are kept)'
