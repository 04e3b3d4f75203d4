#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The less common verbs of roce_hca_mlx5: resizing and moderation of completion queues, memory
# windows, re-registration, DMA buffers, XRC, a context that two processes share. By rdma-core's
# own tests, none of which may be skipped here.
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5
here=$(realpath "$(dirname "$0")")
tests_of_all=$(realpath "$here/../../../scripts/tests")

# The capabilities by which programs find these verbs
announced() {
	ibv_devinfo -v -d "$rdma" | tee "$work/devinfo" &&
		grep -q 'MEM_WINDOW$' "$work/devinfo" &&
		grep -q 'MEM_WINDOW_TYPE_2B' "$work/devinfo" &&
		grep -q 'XRC$' "$work/devinfo" &&
		grep -q 'max_mw:.*[1-9]' "$work/devinfo" &&
		grep -q 'max_cq_count:.*65535' "$work/devinfo"
}

# Of the regions of dmabuf.py, traced in the model's log, only this one's key asks for ATS
only_asks_for_ats() {
	awk '/ mark step / { step = $NF } /ma_translation_mode = 0x1$/ { print step }' \
		"$RHCA_SHARE/model.log" | tee "$work/ats"
	[ "$(< "$work/ats")" = "$1" ]
}

# The adapter's objects of the kinds that these tests create.
# shellcheck disable=SC2034 # for guest-lib.sh
kinds='CQ|PD|QP|RMP|UAR|XRC SRQ|XRC domain|mkey'

tests=(
	'test_cq.CQTest.test_resize_cq'
	'test_cq_events.*' 'test_cqex.*xrc*' 'test_atomic.*xrc*'
	'test_mr.MRTest.test_mr_rereg_*' 'test_mr.MWTest.*'
	'test_qpex.*xrc*' 'test_qpex.*mw*'
	'test_shared_pd.*'
)

# test_resize_cq requests less than the number of completions in the queue.
# shellcheck disable=SC2034 # for guest-lib.sh
provoked='MODIFY_CQ'
start_alone
check bring-up bring_up 10.7.0.1
check capabilities announced
check own-memory env PYTHONPATH="$tests_of_all/lib" /usr/bin/python3 \
	"$tests_of_all/errors/own-memory.py" "$rdma"
at="-d $rdma -g $gid"
for how in '' -e; do
	pingpong="ibv_xsrq_pingpong $at -n 200 $how"
	pair "xsrq$how" "$pingpong -c 1" "$pingpong localhost"
done
# Deeper than max_qp_wr says, which is for requests of any kind
pair deep "ibv_rc_pingpong $at -n 20 -r 10000" "ibv_rc_pingpong $at -n 20 -r 10000 localhost"
if [ -e /dev/udmabuf ]; then
	check dmabuf /usr/bin/python3 "$here/dmabuf.py" "$rdma" "$gid"
	check dmabuf-ats only_asks_for_ats dmabuf-relaxed
else
	echo "SKIP dmabuf (the kernel has no CONFIG_UDMABUF)"
fi
# Loading all of them takes minutes in an emulated machine.
mkdir "$work/tests"
for file in base utils __init__ args_parser mlx5_base mlx5_prm_structs efa_base rdmacm_utils \
	test_cq test_cq_events test_cqex test_atomic test_mr test_qpex test_shared_pd; do
	cp /usr/share/doc/rdma-core/tests/$file.py* "$work/tests"
done
gunzip -f "$work"/tests/*.gz
cd "$work" || exit 1
PYTHONPATH=$work/tests:$work timeout $((RHCA_TIMEOUT - 60)) /usr/bin/python3 "$here/pyverbs-run.py" \
	/dev/null --dev "$rdma" --gid "$gid" -- "${tests[@]}" || failed=1
check unload modprobe -r roce_hca_mlx5
check nothing-left nothing_left "$alone"
finish
