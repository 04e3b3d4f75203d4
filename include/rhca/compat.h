/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between supported kernels, in the newest spelling. scripts/probe.sh checks the
 * kernel's headers and sets HAVE_*; no other file uses these.
 */
#ifndef RHCA_COMPAT_H
#define RHCA_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/local_lock.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/timer.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rdma/rdma_netlink.h>
#include <rdma/uverbs_ioctl.h>

/* Newer kernels declare GSO functions in a header of their own. */
#ifdef HAVE_GSO_HEADER
#include <net/gso.h>
#endif

/* Symbols for the KUnit module; missing in old kernels. */
#ifdef HAVE_KUNIT_VISIBILITY
#include <kunit/visibility.h>
#else
#define VISIBLE_IF_KUNIT		static
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
#endif

/* Lets tests replace a function; no code without KUnit. */
#ifdef HAVE_KUNIT_STATIC_STUB
#include <kunit/static_stub.h>
#else
#define KUNIT_STATIC_STUB_REDIRECT(function, args...)	do {} while (0)
#endif

/* Symbol namespaces became strings. */
#ifdef HAVE_STRING_NAMESPACES
#define RHCA_NAMESPACE(name)		#name
#else
#define RHCA_NAMESPACE(name)		name
#endif

#define RHCA_IMPORT_KUNIT_SYMBOLS	MODULE_IMPORT_NS(RHCA_NAMESPACE(EXPORTED_FOR_KUNIT_TESTING))

/* Core symbols for backends in other modules, exported only to these. */
#define RHCA_EXPORT(symbol)		EXPORT_SYMBOL_NS_GPL(symbol, RHCA_NAMESPACE(ROCE_HCA))
#define RHCA_IMPORT_CORE		MODULE_IMPORT_NS(RHCA_NAMESPACE(ROCE_HCA))

/* Early stable releases of 6.1 lack these names; they got one before the other. */
#ifndef HAVE_TIMER_DELETE
#define timer_delete			del_timer
#endif
#ifndef HAVE_TIMER_DELETE_SYNC
#define timer_delete_sync		del_timer_sync
#endif

/* Older kernels lack a local lock that is free with bottom halves off. */
#ifndef HAVE_LOCAL_LOCK_NESTED_BH
#define local_lock_nested_bh(lock)	local_lock(lock)
#define local_unlock_nested_bh(lock)	local_unlock(lock)
#endif

/* Older kernels pass create_cq() the udata itself, newer ones its bundle. */
#ifdef HAVE_CREATE_CQ_ATTRS
#define rhca_create_cq_arg		struct uverbs_attr_bundle
#define rhca_create_cq_udata(arg)	((arg) ? &(arg)->driver_udata : NULL)
#else
#define rhca_create_cq_arg		struct ib_udata
#define rhca_create_cq_udata(arg)	(arg)
#endif

/* The operation was renamed after its callers and got an unsigned count. */
#ifdef HAVE_RESIZE_USER_CQ
#define rhca_resize_cq			resize_user_cq
#define rhca_cqe_count			unsigned int
#else
#define rhca_resize_cq			resize_cq
#define rhca_cqe_count			int
#endif

/* Newer kernels have a separate operation for CQs of processes. */
#ifdef HAVE_CREATE_USER_CQ
#define RHCA_CREATE_USER_CQ(fn)		.create_user_cq = (fn),
#else
#define RHCA_CREATE_USER_CQ(fn)
#endif

/* Early stable releases of 6.1 lack the callback before a CQ is destroyed. */
#ifdef HAVE_PRE_DESTROY_CQ
#define RHCA_PRE_DESTROY_CQ(fn)		.pre_destroy_cq = (fn),
#else
#define RHCA_PRE_DESTROY_CQ(fn)
#endif

/* Does a process name the memory of its queue? Newer kernels let it, and a driver may ignore it. */
#ifdef HAVE_QUEUE_UMEM
#define rhca_has_attr(udata, attr) \
	((udata) && uverbs_attr_is_valid(rdma_udata_to_uverbs_attr_bundle(udata), \
					 UVERBS_ATTR_CREATE_##attr))
#define rhca_brings_cq(udata)		(rhca_has_attr(udata, CQ_BUF_UMEM) || \
					 rhca_has_attr(udata, CQ_BUFFER_VA) || \
					 rhca_has_attr(udata, CQ_BUFFER_FD))
#define rhca_brings_qp(udata)		(rhca_has_attr(udata, QP_BUF_UMEM) || \
					 rhca_has_attr(udata, QP_RQ_BUF_UMEM) || \
					 rhca_has_attr(udata, QP_SQ_BUF_UMEM))
#define rhca_brings_srq(udata)		rhca_has_attr(udata, SRQ_BUF_UMEM)
#else
#define rhca_brings_cq(udata)		((void)(udata), false)
#define rhca_brings_qp			rhca_brings_cq
#define rhca_brings_srq			rhca_brings_cq
#endif

/* Newer kernels pass reg_user_mr() a DMA handle, which software ignores. */
#ifdef HAVE_REG_USER_MR_DMAH
#define rhca_dmah_arg			struct ib_dmah *dmah,
#define rhca_no_dmah			NULL,
#else
#define rhca_dmah_arg
#define rhca_no_dmah
#endif

/* Older kernels pass reg_user_mr_dmabuf() the udata, newer ones its bundle. */
#ifdef HAVE_REG_DMABUF_ATTRS
#define rhca_reg_dmabuf_arg		struct uverbs_attr_bundle *
#else
#define rhca_reg_dmabuf_arg		struct ib_udata *
#endif

/* Older kernels do not let drivers remove the GIDs of a netdev. */
#ifdef HAVE_DEL_NETDEV_GIDS
#define rhca_del_netdev_gids		roce_del_all_netdev_gids
#else
#define rhca_del_netdev_gids(ibdev, port, ndev)	((void)(ibdev), (void)(ndev))
#endif

/*
 * Newer kernels notify the driver that a user removes a device before they unregister it.
 * RHCA_LINK_DEL() is for ops tables, rhca_link_del() does what the kernel does, for tests.
 */
#ifdef HAVE_LINK_DEL
#define RHCA_LINK_DEL(call)		.dellink = (call),
#define rhca_set_link_ops(ibdev, ops)	((ibdev)->link_ops = (ops))
#define rhca_link_del(ibdev) \
	((ibdev)->link_ops ? (ibdev)->link_ops->dellink(ibdev) : -EINVAL)
#else
#define RHCA_LINK_DEL(call)
#define rhca_set_link_ops(ibdev, ops)	((void)(ibdev), (void)(ops))
#define rhca_link_del(ibdev)		((void)(ibdev), -EOPNOTSUPP)
#endif

/* The devlink port of a netdev, which older kernels ask the driver for. */
#ifdef HAVE_NETDEV_DEVLINK_PORT
#define rhca_netdev_devlink_port(ndev)	((ndev)->devlink_port)
#else
#define rhca_netdev_devlink_port(ndev)					\
	((ndev)->netdev_ops->ndo_get_devlink_port ?			\
	 (ndev)->netdev_ops->ndo_get_devlink_port((struct net_device *)(ndev)) : \
	 NULL)
#endif

/* Pinning by address was renamed. */
#ifndef HAVE_UMEM_GET_VA
#define ib_umem_get_va			ib_umem_get
#endif

/* The page list of on-demand paging moved to a struct, and its access flags to those of hmm.h. */
#ifdef HAVE_UMEM_ODP_MAP
#define rhca_odp_pfns(umem)		((umem)->map.pfn_list)
#define rhca_odp_access(write)		((write) ? HMM_PFN_WRITE : 0)
#define RHCA_ODP_BYTES_A_PAGE		sizeof(unsigned long)
#else
#define rhca_odp_pfns(umem)		((umem)->pfn_list)
#define rhca_odp_access(write)		(ODP_READ_ALLOWED_BIT | \
					 ((write) ? ODP_WRITE_ALLOWED_BIT : 0))
#define RHCA_ODP_BYTES_A_PAGE		(sizeof(unsigned long) + sizeof(dma_addr_t))
#endif

/* Iterators over pinned memory moved to their own header. */
#ifdef HAVE_RDMA_ITER
#include <rdma/iter.h>
#endif

/* mlx5_core's completion vectors: event queues are now created on demand. */
#ifdef HAVE_MLX5_COMP_EQN
#define rhca_mlx5_vector_eqn		mlx5_comp_eqn_get
#define rhca_mlx5_num_vectors		mlx5_comp_vectors_max
#else
#define rhca_mlx5_vector_eqn		mlx5_vector2eqn
#define rhca_mlx5_num_vectors		mlx5_comp_vectors_count
#endif

/*
 * mlx5_core's handler that calls a CQ's own in a tasklet. Older kernels do not export it, but use
 * it for a CQ that has no handler.
 */
#ifdef HAVE_MLX5_CQ_TASKLET
#define rhca_mlx5_cq_in_tasklet		mlx5_add_cq_to_tasklet
#else
#define rhca_mlx5_cq_in_tasklet		NULL
#endif

/* Flags of a mapping may only be changed by functions. */
#ifdef HAVE_VM_FLAGS_CLEAR
#define rhca_vm_flags_clear		vm_flags_clear
#else
#define rhca_vm_flags_clear(vma, flags)	((vma)->vm_flags &= ~(flags))
#endif

/* The firmware now chooses the key that terminates a scatter list. */
#ifdef HAVE_MLX5_END_OF_LIST
#define rhca_mlx5_end_of_list		mlx5_core_get_terminate_scatter_list_mkey
#else
#define rhca_mlx5_end_of_list(mdev)	cpu_to_be32(0x100)
#endif

/*
 * Is there BlueFlame, and does write combining work, so that it is worthwhile? Newer mlx5_core
 * tests that once; otherwise use what the architecture claims.
 */
#ifdef HAVE_MLX5_WC_SUPPORT
#define rhca_mlx5_write_combining(mdev)	mlx5_wc_support_get(mdev)
#else
#define rhca_mlx5_write_combining(mdev)	(MLX5_CAP_GEN(mdev, bf) && arch_can_pci_mmap_wc())
#endif

/*
 * May the adapter's reads be reordered: regardless of the host, or if it allows that? Older kernels
 * use the first name for the second.
 */
#ifdef HAVE_MLX5_RELAXED_READ_PCI
#define rhca_mlx5_cap_relaxed_read(mdev)	MLX5_CAP_GEN(mdev, relaxed_ordering_read)
#define rhca_mlx5_cap_relaxed_read_pci(mdev) \
	MLX5_CAP_GEN(mdev, relaxed_ordering_read_pci_enabled)
#else
#define rhca_mlx5_cap_relaxed_read(mdev)	false
#define rhca_mlx5_cap_relaxed_read_pci(mdev)	MLX5_CAP_GEN(mdev, relaxed_ordering_read)
#endif

/* The reason why a QP failed is part of its context; older kernels do not define the fields. */
#ifdef HAVE_MLX5_QP_ERROR
#define rhca_mlx5_reports_qp_error(mdev) \
	(MLX5_CAP_GEN(mdev, qpc_extension) && \
	 MLX5_CAP_GEN(mdev, qp_error_syndrome))
#define rhca_mlx5_ask_qp_error(in)	MLX5_SET(query_qp_in, in, qpc_ext, 1)
#define rhca_mlx5_qp_error(out, field) \
	MLX5_GET(cqe_error_syndrome, \
		 MLX5_ADDR_OF(qpc_extension_and_pas_list_in, \
			      MLX5_ADDR_OF(query_qp_out, out, \
					   qp_pas_or_qpc_ext_and_pas), \
			      qpc_data_extension.error_syndrome), field)
#else
#define rhca_mlx5_reports_qp_error(mdev)	((void)(mdev), false)
#define rhca_mlx5_ask_qp_error(in)	((void)(in))
#define rhca_mlx5_qp_error(out, field)	((void)(out), 0)
#endif

/* The function got the vport as an argument. */
#ifdef HAVE_MLX5_NODE_GUID_OF_VPORT
#define rhca_mlx5_query_node_guid(mdev, guid) \
	mlx5_query_nic_vport_node_guid(mdev, 0, false, guid)
#else
#define rhca_mlx5_query_node_guid	mlx5_query_nic_vport_node_guid
#endif

/* The demux table of a LAG's ports: mlx5_core now manages it. */
#ifdef HAVE_MLX5_LAG_DEMUX
#include <linux/mlx5/lag.h>
#define rhca_mlx5_lag_demux_create(mdev, space, attr, table) \
	mlx5_lag_demux_init(mdev, attr)
#define rhca_mlx5_lag_demux_destroy(mdev, table) \
	mlx5_lag_demux_cleanup(mdev)
#else
#define rhca_mlx5_lag_demux_create(mdev, space, attr, table) \
	PTR_ERR_OR_ZERO(*(table) = mlx5_create_lag_demux_flow_table(space, \
						(attr)->prio, (attr)->level))
#define rhca_mlx5_lag_demux_destroy(mdev, table) \
	mlx5_destroy_flow_table(table)
#endif

/* Binding a QP to a counter got the port as an argument. */
#ifdef HAVE_COUNTER_BIND_PORT
#define rhca_counter_bind_args		struct rdma_counter *counter, \
					struct ib_qp *ibqp, u32 port_num
#define rhca_counter_unbind_args	struct ib_qp *ibqp, u32 port_num
#define rhca_call_counter_bind(fn, counter, qp, num)	(fn)(counter, qp, num)
#define rhca_call_counter_unbind(fn, qp, num)		(fn)(qp, num)
#else
#define rhca_counter_bind_args		struct rdma_counter *counter, \
					struct ib_qp *ibqp
#define rhca_counter_unbind_args	struct ib_qp *ibqp
#define rhca_call_counter_bind(fn, counter, qp, num)	(fn)(counter, qp)
#define rhca_call_counter_unbind(fn, qp, num)		(fn)(qp)
#endif

/* Newer kernels let a driver embed the counter and need its size. */
#ifdef HAVE_COUNTER_INIT
struct rhca_rdma_counter {
	struct rdma_counter base;
};

static inline void rhca_counter_init(struct rdma_counter *counter)
{
}

#define RHCA_COUNTER_OBJECT		.counter_init = rhca_counter_init, \
	INIT_RDMA_OBJ_SIZE(rdma_counter, rhca_rdma_counter, base),
#else
#define RHCA_COUNTER_OBJECT
#endif

/* Device capability of RDMA ATOMIC WRITE. */
#ifdef HAVE_ATOMIC_WRITE
#define RHCA_CAP_ATOMIC_WRITE		IB_DEVICE_ATOMIC_WRITE
#else
#define RHCA_CAP_ATOMIC_WRITE		0
#endif

/*
 * Device capabilities of RDMA FLUSH. Persistence is only claimed if the kernel can write caches
 * back to persistent memory.
 */
#ifdef HAVE_FLUSH
#define RHCA_CAP_FLUSH			(IB_DEVICE_FLUSH_GLOBAL | \
	(IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API) ? IB_DEVICE_FLUSH_PERSISTENT : 0))
#else
#define RHCA_CAP_FLUSH			0
#endif

/* UDP tunnels moved from struct socket to struct sock. */
#ifdef HAVE_UDP_TUNNEL_SOCK
#define rhca_tunnel_of(socket)		((socket)->sk)
#else
#define rhca_tunnel_of(socket)		(socket)
#endif

/* Does a netdev's driver support DCB? Not without kernel support. */
#ifdef CONFIG_DCB
#define rhca_speaks_dcb(ndev)		(!!(ndev)->dcbnl_ops)
#else
#define rhca_speaks_dcb(ndev)		((void)(ndev), false)
#endif

/* The netdev below a VLAN, of which there are none without kernel support. */
#if IS_ENABLED(CONFIG_VLAN_8021Q)
#define rhca_vlan_lower(ndev)		(vlan_dev_priv(ndev)->real_dev)
#else
#define rhca_vlan_lower(ndev)		(ndev)
#endif

static inline void rhca_hrtimer_setup(struct hrtimer *timer,
				      enum hrtimer_restart (*fn)(struct hrtimer *))
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	timer->function = fn;
#endif
}

#endif
