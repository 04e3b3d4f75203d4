#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 600
#
# The caller's files in roce-lab: data written outside is seen by the next open inside, and the
# other way round; folders of any name; the current folder at /, below /tmp, removed; folders
# that are written through, in memory, and not at all; more files than descriptors; a file that
# is copied from one host to another over RDMA.
#
# No turns: it boots labs for a minute, and the scenario lab detects most regressions.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup

: "both ways"
echo old > "$home/outside"
(
	busywait 100 test -e "$home/inside"
	cat "$home/inside" > "$work/seen"
	echo new > "$home/outside"
	touch "$home/go"
) &
cat > "$home/ways" << 'END'
cat outside
echo made > inside
until [ -e go ]; do sleep 0.1; done
cat outside
echo more >> inside; mv inside moved; ln -s moved link; mkdir -p d/e; chmod 640 moved
truncate -s 1M sparse
python3 - <<- 'PY'
	import mmap, os
	with open('mapped', 'w+b') as f:
	    f.truncate(8192)
	    m = mmap.mmap(f.fileno(), 0)
	    m[5000:5005] = b'bytes'
	    m.flush()
PY
rm outside
END
check "written outside, seen inside" "old new" "$(as_user roce-lab run -- sh ./ways | tr '\n' ' ' | sed 's/ $//')"
wait
check "written inside, seen outside" made "$(< "$work/seen")"
check "and what else was done there" "made more 640 $uid 1048576 bytes" "$(cd "$home" &&
	echo "$(paste -sd " " link) $(stat -c '%a %u' moved) $(stat -c %s sparse) $(tail -c +5001 mapped | head -c 5)")"
check "folders, and a file that is gone" "yes" "$(cd "$home/d/e" && [ ! -e "$home/outside" ] && echo yes)"

: "names"
for name in 'with blank' "it's \"so\"" 'a,b:c=d' $'\xff\xfe no text' $'new\nline' '-dash'; do
	mkdir -p "$home/$name"
	chown $uid:$uid "$home/$name"
	(home="$home/$name"; as_user roce-lab run -- sh -c 'echo here > "$PWD/file"')
	check "a folder $(printf %q "$name")" here "$(cat "$home/$name/file")"
done

: "current folders"
check "/" "/ etc" "$(home=/; as_user roce-lab run -- sh -c 'echo $PWD $(ls -d etc)')"
below=$(mktemp -d /tmp/rhca-lab.XXXXXX)
chown $uid "$below"
check "below /tmp" "$below" "$(home=$below; as_user roce-lab run -- sh -c 'pwd; touch file')"
check_ok "and written through" test -e "$below/file"
rm -rf "$below"
as_user sh -c 'mkdir gone; cd gone; rmdir ../gone; exec roce-lab run -- true' 2> "$work/said"
check "deleted: status" 125 $?
check "deleted: why" "roce-lab: the current folder does not exist any more (--cwd names another)" \
	"$(tail -n 1 "$work/said")"
check "deleted, with --cwd" / "$(as_user sh -c 'mkdir gone; cd gone; rmdir ../gone; exec roce-lab run --cwd / -- pwd' 2> /dev/null)"

: "other folders"
elsewhere=$(mktemp -d /var/lib/rhca-lab.XXXXXX)
trap 'cleanup; rm -rf "$elsewhere"' EXIT
chmod 755 "$elsewhere"
for name in through memory neither; do
	mkdir "$elsewhere/$name"
	echo before > "$elsewhere/$name/file"
	chown -R $uid "$elsewhere/$name"
done
check "inside: through, in memory, refused" "after after before" "$(as_user roce-lab run \
	--rwdir "$elsewhere/through" --overlay-rwdir "$elsewhere/memory" -- sh -c '
	for folder do (echo after > "$folder/file") 2> /dev/null; cat "$folder/file"; done' \
	sh "$elsewhere/through" "$elsewhere/memory" "$elsewhere/neither" | tr '\n' ' ' | sed 's/ $//')"
check "outside" "after before before" \
	"$(cat "$elsewhere"/{through,memory,neither}/file | tr '\n' ' ' | sed 's/ $//')"
mkdir "$home/sub"
echo before | tee "$home/sub/file" > "$home/file"
chown -R $uid "$home/sub" "$home/file"
for folder in sub .; do
	check "$folder, in memory, in or as the current folder: inside, outside, what is not in it" "after before through" \
		"$(as_user roce-lab run --rwdir "$elsewhere/through" --overlay-rwdir $folder -- sh -c \
			'echo after > $0/new; mv $0/new $0/file; cat $0/file; echo through > "$1/file"' $folder "$elsewhere/through" |
			cat - "$home/$folder/file" "$elsewhere/through/file" | paste -sd ' ')"
done
check "TMPDIR: read-only inside, written through, in memory" ",$elsewhere/through,$elsewhere/through" "$(
	for option in "--pwd" "--rwdir=$elsewhere/through" "--overlay-rwdir=$elsewhere/through"; do
		as_user env TMPDIR="$elsewhere/through" roce-lab run "$option" -- sh -c 'echo "$TMPDIR"'
	done | paste -sd ,)"
for folder in / /run /dev; do
	as_user roce-lab run --overlay-rwdir $folder -- true 2> "$work/said"
	check "$folder is not in memory" "125 roce-lab: --overlay-rwdir $folder: it cannot be written" "$? $(< "$work/said")"
done
check "/etc is, and has the lab's hosts" "10.66.0.2 b" "$(as_user roce-lab run --hosts 2 --overlay-rwdir /etc -- \
	getent hosts b | tr -s ' ')"
check "/etc: written by root of the lab, on all hosts, not outside" "made no" "$(as_user roce-lab run --hosts 2 \
	--user root -- sh -c 'echo made > /etc/rhca-lab-made; lab b cat /etc/rhca-lab-made') $(
	[ -e /etc/rhca-lab-made ] && echo yes || echo no)"

: "many files"
mkdir "$home/many"
(cd "$home/many" && seq 20000 | split -l 1 -a 4 -)
chmod -R a+rX "$home/many"
cat > "$home/read-many.py" << 'END'
import os
names = sorted(os.listdir('many'))
total = 0
for name in names:
    with open('many/' + name) as file:
        total += int(file.read())
held = [open('many/' + name) for name in names[:300]]
print(len(names), total, sum(int(file.read()) for file in held))
END
check "20000 files with 1024 descriptors, 300 of them open" "20000 200010000 45150" \
	"$(as_user prlimit --nofile=1024:1024 roce-lab run -- /usr/bin/python3 read-many.py)"

: "over RDMA"
head -c 3000000 /dev/urandom > "$home/data"
chmod a+r "$home/data"
cat > "$home/copy" << 'END'
mkdir -p at-b
lab b sh -c 'cd at-b; rcopy' > server 2>&1 &
until lab b rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done
bytes() { lab b cat /sys/class/infiniband/roce1/ports/1/counters/port_rcv_data; }
before=$(bytes)
rcopy data b:copied
status=$?
echo $status $((($(bytes) - before) * 4 >= 3000000))
END
as_user timeout 120 roce-lab run --hosts 2 -- sh ./copy > "$work/said" 2>&1
check "a file from a to b: status, and bytes by the port's counter" "0 1" "$(tail -n 1 "$work/said")"
check "its content" "$(md5sum < "$home/data")" "$(md5sum < "$home/at-b/copied")"
finish
