#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 300
#
# roce-lab in a container with podman's defaults (its seccomp profile, a /dev/shm of 64 MB
# mounted noexec), as user 1000, without capabilities and without a network. The image is a
# minimal root from this machine's files.
#
# No turns: it needs podman, which setup.sh does not install.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
if ! command -v podman > /dev/null; then
	echo "SKIP there is no podman (packages podman, runc)"
	exit 4
fi
lab_setup

podman() { command podman --root "$work/podman" --runroot "$work/podman-run" --storage-driver vfs "$@"; }

# Names of files for tar: programs with their libraries, and libraries that libibverbs loads
root_files() {
	local programs=(/usr/bin/{sh,dash,cat,grep,sleep,id,ibv_rc_pingpong,ibv_devinfo}) file

	for file in /bin /sbin /lib /lib64 "${programs[@]}" \
		/usr/lib/x86_64-linux-gnu/{libibverbs,libnl-route-3.so.200} \
		/etc/{passwd,group,libibverbs.d,ld.so.cache,ld.so.conf,ld.so.conf.d}; do
		echo "$file"
	done
	# ldd writes "NAME => /lib/FILE (ADDRESS)"; /lib is a link.
	ldd "${programs[@]}" /usr/lib/x86_64-linux-gnu/libibverbs/librxe*.so |
		awk '{ for (i = 1; i < NF; i++) if ($i ~ "^/lib") print "/usr" $i }' | sort -u |
		while read -r file; do echo "$file"; realpath "$file"; done
}

root_files | sed 's,^/,,; s,^usr/usr/,usr/,' | sort -u > "$work/files"
tar -C / -c --ignore-failed-read -T "$work/files" --no-recursion tmp 2> /dev/null | podman import - lab > "$work/image" 2> "$work/said" ||
	fail "no image: $(tail -n 1 "$work/said")"
mkdir "$work/scripts"
cat > "$work/scripts/two" << 'END'
rx() { cat /sys/class/infiniband/roce0/ports/1/counters/port_rcv_data; }
before=$(rx)
lab b sh -c 'ibv_rc_pingpong -e -n 20 -d roce1 -g $ROCE_LAB_GID_INDEX_V2' > /dev/null &
until lab b grep -q :4853 /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done
ibv_rc_pingpong -e -n 20 -d roce0 -g $ROCE_LAB_GID_INDEX_V2 b > /dev/null && wait $! &&
	echo $(id -u) $((($(rx) - before) * 4 >= 80000))
END
in_container() {
	podman run --rm --network none --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --user 1000 -v "$work/moved here:/opt/lab:ro" \
		-v "$work/scripts:/scripts:ro" -w / "$@"
}
check "the container is as podman has it: /dev/shm" "noexec 64000k" \
	"$(in_container lab cat /proc/mounts | sed -n 's,.* /dev/shm tmpfs .*\(noexec\).*size=\([^, ]*\).*,\1 \2,p')"
for options in "" "--cap-drop all --security-opt no-new-privileges" "--read-only --read-only-tmpfs=false"; do
	# shellcheck disable=SC2086
	check "two hosts, bytes by the port's counter: podman run $options" "1000 1" \
		"$(in_container $options lab /opt/lab/bin/roce-lab run --hosts 2 -- sh /scripts/two 2> "$work/said" ||
			tail -n 1 "$work/said")"
done
in_container --read-only lab /opt/lab/bin/roce-lab check > "$work/out" 2>&1
check "read-only with podman's own /tmp: check" "0 1" "$? $(grep -c '^ok   a lab ran a command' "$work/out")"
in_container --memory 100m lab /opt/lab/bin/roce-lab run -- true 2> "$work/said"
check "too little memory for it" "125 roce-lab: a lab needs 192 MiB of memory, and this container or machine has 100 MiB" \
	"$? $(tail -n 1 "$work/said")"
finish
