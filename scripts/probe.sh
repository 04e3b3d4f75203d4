#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Find out which interfaces a kernel's headers have. Prints -DHAVE_... for each; Kbuild
# passes them to the compiler, and only include/rhca/compat.h uses them.
#
# usage: scripts/probe.sh KERNEL-SOURCE
# The folder is a source tree, a distribution's headers package (either half),
# or a build folder made with O=.

set -eu

[ $# -eq 1 ] && [ -d "$1" ] || {
	echo "usage: scripts/probe.sh KERNEL-SOURCE" >&2
	exit 2
}

# A build folder names its source by a link or in its Makefile.
source_of() {
	if [ -e "$1/include/rdma/ib_verbs.h" ]; then
		echo "$1"
	elif [ -e "$1/source/include/rdma/ib_verbs.h" ]; then
		echo "$1/source"
	else
		sed -n 's,^include \(.*\)/Makefile$,\1,p' "$1/Makefile"
	fi
}

include=$(source_of "$1")/include
[ -e "$include/rdma/ib_verbs.h" ] || {
	echo "scripts/probe.sh: no RDMA headers in $1" >&2
	exit 1
}

# have NAME HEADER REGEX: the header, with line ends and runs of blanks replaced by one blank,
# matches the extended regular expression.
have() {
	if [ -e "$include/$2" ] &&
	   tr -s '\t\n ' ' ' < "$include/$2" | grep -Eq -e "$3"; then
		printf ' -D%s' "$1"
	fi
}

#    name			header			what newer kernels have
have HAVE_CREATE_CQ_ATTRS	rdma/ib_verbs.h		'\(\*create_cq\)\([^)]*struct uverbs_attr_bundle'
have HAVE_REG_USER_MR_DMAH	rdma/ib_verbs.h		'\(\*reg_user_mr\)\([^)]*struct ib_dmah'
have HAVE_REG_DMABUF_ATTRS	rdma/ib_verbs.h		'\(\*reg_user_mr_dmabuf\)\([^)]*struct uverbs_attr_bundle'
have HAVE_CREATE_USER_CQ	rdma/ib_verbs.h		'\(\*create_user_cq\)'
have HAVE_PRE_DESTROY_CQ	rdma/ib_verbs.h		'\(\*pre_destroy_cq\)'
have HAVE_RESIZE_USER_CQ	rdma/ib_verbs.h		'\(\*resize_user_cq\)'
have HAVE_COUNTER_BIND_PORT	rdma/ib_verbs.h		'\(\*counter_bind_qp\)\([^)]*u32 port'
have HAVE_COUNTER_INIT		rdma/ib_verbs.h		'\(\*counter_init\)'
have HAVE_DEL_NETDEV_GIDS	rdma/ib_verbs.h		'roce_del_all_netdev_gids\('
have HAVE_LINK_DEL		rdma/rdma_netlink.h	'\(\*dellink\)\(struct ib_device'
have HAVE_UMEM_GET_VA		rdma/ib_umem.h		'ib_umem_get_va\('
have HAVE_UMEM_ODP_MAP	rdma/ib_umem_odp.h	'struct hmm_dma_map map'
have HAVE_QUEUE_UMEM		rdma/uverbs_ioctl.h	'define UVERBS_ATTR_UMEM\('
have HAVE_ATOMIC_WRITE		rdma/ib_verbs.h		'IB_DEVICE_ATOMIC_WRITE'
have HAVE_FLUSH			rdma/ib_verbs.h		'IB_DEVICE_FLUSH_GLOBAL'
have HAVE_NETDEV_DEVLINK_PORT	linux/netdevice.h	'struct devlink_port \*devlink_port;'
have HAVE_UDP_TUNNEL_SOCK	net/udp_tunnel.h	'setup_udp_tunnel_sock\(struct net \*net, struct sock '
have HAVE_TIMER_DELETE		linux/timer.h		' timer_delete\('
have HAVE_TIMER_DELETE_SYNC	linux/timer.h		' timer_delete_sync\('
have HAVE_HRTIMER_SETUP		linux/hrtimer.h		' hrtimer_setup\('
have HAVE_GSO_HEADER		net/gso.h		'SKB_GSO_CB_OFFSET'
have HAVE_LOCAL_LOCK_NESTED_BH	linux/local_lock.h	'define local_lock_nested_bh\('
have HAVE_MLX5_CQ_TASKLET	linux/mlx5/cq.h		' mlx5_add_cq_to_tasklet\('
have HAVE_MLX5_COMP_EQN		linux/mlx5/driver.h	' mlx5_comp_eqn_get\('
have HAVE_MLX5_END_OF_LIST	linux/mlx5/driver.h	' mlx5_core_get_terminate_scatter_list_mkey\('
have HAVE_MLX5_WC_SUPPORT	linux/mlx5/driver.h	' mlx5_wc_support_get\('
have HAVE_VM_FLAGS_CLEAR	linux/mm.h	' vm_flags_clear\('
have HAVE_MLX5_LAG_DEMUX	linux/mlx5/lag.h	' mlx5_lag_demux_init\('
have HAVE_MLX5_RELAXED_READ_PCI	linux/mlx5/mlx5_ifc.h	'relaxed_ordering_read_pci_enabled\['
have HAVE_MLX5_QP_ERROR		linux/mlx5/mlx5_ifc.h	'qp_error_syndrome\['
have HAVE_MLX5_NODE_GUID_OF_VPORT linux/mlx5/vport.h	'mlx5_query_nic_vport_node_guid\([^)]*bool other_vport'
have HAVE_RDMA_ITER		rdma/iter.h		'ib_block_iter'
have HAVE_KUNIT_VISIBILITY	kunit/visibility.h	'EXPORT_SYMBOL_IF_KUNIT\(symbol\)'
have HAVE_KUNIT_STATIC_STUB	kunit/static_stub.h	'define KUNIT_STATIC_STUB_REDIRECT'
have HAVE_STRING_NAMESPACES	linux/module.h		'define MODULE_IMPORT_NS\(ns\) MODULE_INFO\(import_ns, ns\)'
echo
