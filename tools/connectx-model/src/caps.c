// SPDX-License-Identifier: GPL-2.0
#include "caps.h"

#include <string.h>

#include "lag.h"
#include "pages.h"
#include "qp.h"
#include "vport.h"

#define REAL_TIME_ONLY	1	/* in qp_ts_format: no free running clock */

/* 25, 100 and 10 Gbit/s, numbered as in address vectors; 0 means none. */
#define STAT_RATES	(1u << 2 | 1u << 3 | 1u << 8)

/* In umr_fence: what a change of a key waits for. By default, everything before it. */
enum { UMR_FENCE_SMALL = 1, UMR_FENCE_NONE = 2 };

struct cap_value {
	u32 bit;
	u32 bits;
	u64 value;
};

#define FIELD(type, field, value) \
	{ IFC_BIT(type, field), IFC_WIDTH(type, field), (value) }
#define GENERAL(field, value)	FIELD(cmd_hca_cap, field, value)

static const struct cap_value general[] = {
	/* sizes */
	GENERAL(log_max_qp, 17), GENERAL(log_max_qp_sz, 15), GENERAL(log_max_srq, 13),
	GENERAL(log_max_srq_sz, 15), GENERAL(log_max_cq, 16), GENERAL(log_max_cq_sz, 22),
	GENERAL(log_max_eq, 5), GENERAL(log_max_eq_sz, 22), GENERAL(max_num_eqs, 32),
	GENERAL(log_max_mkey, 20), GENERAL(log_max_mrw_sz, 40), GENERAL(log_max_klm_list_size, 12),
	GENERAL(max_indirection, 4), GENERAL(log_max_pd, 16), GENERAL(log_max_xrcd, 12),
	GENERAL(log_max_transport_domain, 12), GENERAL(log_max_rq, 13), GENERAL(log_max_sq, 13),
	GENERAL(log_max_tir, 12), GENERAL(log_max_tis, 12), GENERAL(log_max_rmp, 13),
	GENERAL(log_max_rqt, 12), GENERAL(log_max_rqt_size, 11), GENERAL(log_max_tis_per_sq, 3),
	GENERAL(log_max_stride_sz_rq, 11), GENERAL(log_min_stride_sz_rq, 4),
	GENERAL(log_max_stride_sz_sq, 6), GENERAL(log_min_stride_sz_sq, 6),
	GENERAL(log_max_wq_sz, 15), GENERAL(log_max_msg, 30), GENERAL(max_wqe_sz_sq, WQE_MAX_BYTES),
	GENERAL(max_wqe_sz_rq, 512), GENERAL(max_wqe_sz_sq_dc, 512), GENERAL(log_pg_sz, 12),
	GENERAL(uar_sz, 5), GENERAL(log_bf_reg_size, 9), GENERAL(log_max_vlan_list, 7),
	GENERAL(log_max_current_mc_list, 7), GENERAL(log_max_current_uc_list, 7),
	GENERAL(log_max_l2_table, 10), GENERAL(max_qp_mcg, 64), GENERAL(log_max_mcg, 6),
	GENERAL(max_qp_cnt, 127), GENERAL(max_tc, 8), GENERAL(flow_counter_bulk_alloc, 0),
	GENERAL(log_max_ra_req_qp, 4), GENERAL(log_max_ra_res_qp, 4),
	GENERAL(gid_table_size, 5), GENERAL(pkey_table_size, 0), GENERAL(num_ports, 1),
	GENERAL(port_type, 1), GENERAL(local_ca_ack_delay, 16),
	/* features */
	GENERAL(rc, 1), GENERAL(uc, 1), GENERAL(ud, 1), GENERAL(xrc, 1), GENERAL(atomic, 1),
	GENERAL(roce, 1), GENERAL(roce_rw_supported, 1), GENERAL(nic_flow_table, 1),
	GENERAL(eth_net_offloads, 1), GENERAL(cqe_version, 1), GENERAL(compact_address_vector, 1),
	GENERAL(cq_moderation, 1), GENERAL(cq_resize, 1), GENERAL(cq_oi, 1),
	GENERAL(set_deth_sqpn, 1), GENERAL(driver_version, 1), GENERAL(basic_cyclic_rcv_wqe, 1),
	GENERAL(disable_local_lb_uc, 1), GENERAL(disable_local_lb_mc, 1),
	GENERAL(vport_counters, 1), GENERAL(out_of_seq_cnt, 1),
	GENERAL(retransmission_q_counters, 1), GENERAL(enhanced_error_q_counters, 1),
	GENERAL(cc_query_allowed, 1), GENERAL(cc_modify_allowed, 1),
	GENERAL(rts2rts_qp_counters_set_id, 1), GENERAL(uar_4k, 1), GENERAL(num_of_uars_per_page, 1),
	GENERAL(pcam_reg, 1), GENERAL(imaicl, 1), GENERAL(ece_support, 1), GENERAL(umr_modify_atomic_disabled, 0),
	GENERAL(umr_extended_translation_offset, 1), GENERAL(device_frequency_khz, 1000000),
};

/* Further features of an adapter with two ports. */
static const struct cap_value two_ports[] = {
	GENERAL(vport_group_manager, 1), GENERAL(lag_master, 1),
	GENERAL(num_lag_ports, LAG_PORTS), GENERAL(lag_tx_port_affinity, 1),
	GENERAL(init2_lag_tx_port_affinity, 1),
};

/* Further features of the function that manages a switch. */
static const struct cap_value switch_manager[] = {
	GENERAL(vport_group_manager, 1), GENERAL(eswitch_manager, 1),
};

/* A virtual function can neither see nor set properties of the port. */
static const struct cap_value virtual_function[] = {
	GENERAL(cc_query_allowed, 0), GENERAL(cc_modify_allowed, 0),
};

#define ETHERNET(field, value) \
	FIELD(per_protocol_networking_offload_caps, field, value)

static const struct cap_value ethernet[] = {
	ETHERNET(csum_cap, 1), ETHERNET(vlan_cap, 1), ETHERNET(max_lso_cap, 16),
	ETHERNET(wqe_inline_mode, 2), ETHERNET(rss_ind_tbl_cap, 11),
	ETHERNET(self_lb_en_modifiable, 1), ETHERNET(wqe_vlan_insert, 1),

};

/* Compare-and-swap and fetch-and-add of 8 bytes, in the host's byte order. */
static const struct cap_value atomic[] = {
	FIELD(atomic_caps, supported_atomic_req_8B_endianness_mode_1, 1),
	FIELD(atomic_caps, atomic_operations, ATOMICS_OF_VERBS),
	FIELD(atomic_caps, atomic_size_qp, 0x8),
	FIELD(atomic_caps, atomic_size_dc, 0x8),
};

/* Versions 1 and 2, over IPv4 and IPv6. */
static const struct cap_value roce[] = {
	FIELD(roce_cap, l3_type, 0x6), FIELD(roce_cap, roce_version, 0x5),
	FIELD(roce_cap, r_roce_dest_udp_port, ROCE_UDP_PORT),
	FIELD(roce_cap, r_roce_max_src_udp_port, 0xffff),
	FIELD(roce_cap, r_roce_min_src_udp_port, 0xc000),
	FIELD(roce_cap, roce_address_table_size, ROCE_ADDRESSES - 1),
};

#define TABLE(field, value)	FIELD(flow_table_prop_layout, field, value)

static const struct cap_value flow_table[] = {
	TABLE(ft_support, 1), TABLE(flow_counter, 1), TABLE(flow_modify_en, 1),
	TABLE(modify_root, 1), TABLE(identified_miss_table_mode, 1), TABLE(flow_table_modify, 1),
	TABLE(log_max_ft_size, 16), TABLE(max_ft_level, 128), TABLE(log_max_ft_num, 12),
	TABLE(log_max_destination, 6), TABLE(log_max_flow, 16), TABLE(log_max_flow_counter, 8),
};

static const struct cap_value leaves_domain[] = {
	TABLE(table_miss_action_domain, 1),
};

static void set_all(u8 *base, const struct cap_value *values, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		ifc_set_bits(base, values[i].bit, values[i].bits, values[i].value);
}

#define SET_ALL(base, values)	set_all((base), (values), ARRAY_SIZE(values))

/* Values that the driver may lower, but not raise. */
static const struct {
	const struct cap_value *values;
	u32 count;
} settable[CAP_TYPES] = {
	[CAP_GENERAL] = { general, ARRAY_SIZE(general) },
	[CAP_ROCE] = { roce, ARRAY_SIZE(roce) },
};

#define OF(type, layout, field, value)	(type), FIELD(layout, field, value)
#define OF_GENERAL(field, value)	OF(CAP_GENERAL, cmd_hca_cap, field, value)

/* Features that this run's adapters may lack or have in addition. A word may occur twice. */
static const struct optional_cap {
	const char *word;
	bool without;		/* a word of --without, not of --with */
	enum cap_type type;
	struct cap_value cap;
} optional[] = {
	{ "free-running", true, OF(CAP_ROCE, roce_cap, qp_ts_format, REAL_TIME_ONLY) },
	{ "roce-v1", true, OF(CAP_ROCE, roce_cap, roce_version, 1 << ROCE_V2) },
	{ "umr-page-size", true, OF_GENERAL(umr_modify_entity_size_disabled, 1) },
	{ "umr-atomic", true, OF_GENERAL(umr_modify_atomic_disabled, 1) },
	{ "umr-offset", true, OF_GENERAL(umr_extended_translation_offset, 0) },
	{ "atomic-order", true, OF(CAP_ATOMIC, atomic_caps,
				   supported_atomic_req_8B_endianness_mode_1, 0) },
	{ "q-counters", true, OF_GENERAL(max_qp_cnt, 0) },
	{ "out-of-sequence", true, OF_GENERAL(out_of_seq_cnt, 0) },
	{ "retransmissions", true, OF_GENERAL(retransmission_q_counters, 0) },
	{ "errors", true, OF_GENERAL(enhanced_error_q_counters, 0) },
	{ "traffic", true, OF_GENERAL(vport_counters, 0) },
	{ "many-reads", true, OF_GENERAL(log_max_ra_res_qp, 3) },
	{ "page-rights", false, OF_GENERAL(pg, 1) },
	{ "relaxed-write", false, OF_GENERAL(relaxed_ordering_write, 1) },
	{ "relaxed-read", false, OF_GENERAL(relaxed_ordering_read_pci_enabled, 1) },
	{ "relaxed-read", false, OF_GENERAL(relaxed_ordering_read, 1) },
	{ "relaxed-umr", false, OF_GENERAL(relaxed_ordering_write_umr, 1) },
	{ "relaxed-umr", false, OF_GENERAL(relaxed_ordering_read_umr, 1) },
	{ "ats", false, OF_GENERAL(ats, 1) },
	{ "extended-atomics", false, OF(CAP_ATOMIC, atomic_caps, atomic_operations,
					ATOMICS_OF_VERBS | ATOMICS_EXTENDED) },
	{ "lag-affinity", true, OF_GENERAL(lag_tx_port_affinity, 0) },
	{ "lag-elsewhere", false, OF_GENERAL(num_lag_ports, LAG_PORTS) },
	{ "lag-elsewhere", false, OF_GENERAL(lag_tx_port_affinity, 1) },
	{ "lag-elsewhere", false, OF_GENERAL(init2_lag_tx_port_affinity, 1) },
	{ "scatter-cqe", false, OF_GENERAL(sctr_data_cqe, 1) },
	{ "rates", false, OF_GENERAL(stat_rate_support, STAT_RATES) },
	{ "error-reason", false, OF_GENERAL(qpc_extension, 1) },
	{ "error-reason", false, OF_GENERAL(qp_error_syndrome, 1) },
	{ "dcb", false, OF_GENERAL(qos, 1) },
	{ "dcb", false, OF_GENERAL(qcam_reg, 1) },
	{ "dcb", false, OF_GENERAL(vport_group_manager, 1) },
	{ "long-lists", false, OF_GENERAL(log_max_klm_list_size, 16) },
	{ "short-reads", false, OF_GENERAL(max_sgl_for_optimized_performance, 4) },
	{ "small-fence", false, OF_GENERAL(umr_fence, UMR_FENCE_SMALL) },
	{ "no-fence", false, OF_GENERAL(umr_fence, UMR_FENCE_NONE) },
};

static bool chosen[ARRAY_SIZE(optional)];

static bool choose(const char *word, size_t length, bool without)
{
	bool found = false;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(optional); i++) {
		if (optional[i].without != without || length != strlen(optional[i].word) ||
		    memcmp(word, optional[i].word, length))
			continue;
		chosen[i] = true;
		found = true;
	}
	return found;
}

bool caps_choose(const char *words, bool without)
{
	size_t length;

	for (; *words; words += length + !!words[length]) {
		length = strcspn(words, ",");
		if (!choose(words, length, without))
			return false;
	}
	return true;
}

static void set_chosen(struct caps *caps)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(optional); i++)
		if (chosen[i])
			set_all(caps->maximum[optional[i].type], &optional[i].cap, 1);
}

bool caps_have_roce(const struct caps *caps, u32 version)
{
	return GET(roce_cap, caps->current[CAP_ROCE], roce_version) >> version & 1;
}

bool caps_within(const struct caps *caps, u32 type, const u8 *wanted, u32 bytes)
{
	const struct cap_value *cap = settable[type].values;
	u8 is_number[CAP_BYTES] = { 0 };
	u32 i;

	if (!cap)
		return true;
	for (i = 0; i < settable[type].count; i++, cap++) {
		if (cap->bit + cap->bits > bytes * 8)
			continue;
		if (ifc_get_bits(wanted, cap->bit, cap->bits) >
		    ifc_get_bits(caps->maximum[type], cap->bit, cap->bits))
			return false;
		ifc_set_bits(is_number, cap->bit, cap->bits, ~0ull);
	}
	for (i = 0; i < bytes; i++)
		if (wanted[i] & ~(caps->maximum[type][i] | is_number[i]))
			return false;
	return true;
}

static bool manages_switch(const struct caps *caps)
{
	return GET(cmd_hca_cap, caps->maximum[CAP_GENERAL], eswitch_manager);
}

bool caps_known(const struct caps *caps, u32 type)
{
	if (type == CAP_SWITCH_FLOW_TABLE || type == CAP_SWITCH)
		return manages_switch(caps);
	/* On-demand paging is queried if pages can have rights, and is not supported */
	return type == CAP_GENERAL || type == CAP_ETHERNET || type == CAP_ATOMIC ||
	       (type == CAP_QOS && GET(cmd_hca_cap, caps->maximum[CAP_GENERAL], qos)) ||
	       (type == CAP_PAGING && GET(cmd_hca_cap, caps->maximum[CAP_GENERAL], pg)) ||
	       type == CAP_ROCE || type == CAP_FLOW_TABLE;
}

/* Tables of the switch; RoCE's can send a packet to the network interface. */
static void add_switch(struct caps *caps)
{
	SET_ALL(caps->maximum[CAP_GENERAL], switch_manager);
	SET_ALL(AT(flow_table_eswitch_cap, caps->maximum[CAP_SWITCH_FLOW_TABLE],
		   flow_table_properties_nic_esw_fdb), flow_table);
	SET_ALL(AT(flow_table_nic_cap, caps->maximum[CAP_FLOW_TABLE],
		   flow_table_properties_nic_receive_rdma), leaves_domain);
}

void caps_init(struct caps *caps, u32 port_number, bool has_switch, bool is_virtual)
{
	u8 *nic = caps->maximum[CAP_FLOW_TABLE];

	memset(caps, 0, sizeof(*caps));
	SET_ALL(caps->maximum[CAP_GENERAL], general);
	if (port_number) {
		SET_ALL(caps->maximum[CAP_GENERAL], two_ports);
		SET(cmd_hca_cap, caps->maximum[CAP_GENERAL], native_port_num, port_number);
	}
	SET_ALL(caps->maximum[CAP_ETHERNET], ethernet);
	SET_ALL(caps->maximum[CAP_ATOMIC], atomic);
	SET_ALL(caps->maximum[CAP_ROCE], roce);
	SET_ALL(AT(flow_table_nic_cap, nic, flow_table_properties_nic_receive), flow_table);
	SET_ALL(AT(flow_table_nic_cap, nic, flow_table_properties_nic_transmit), flow_table);
	SET_ALL(AT(flow_table_nic_cap, nic, flow_table_properties_nic_receive_rdma), flow_table);
	SET_ALL(AT(flow_table_nic_cap, nic, flow_table_properties_nic_transmit_rdma), flow_table);
	if (has_switch)
		add_switch(caps);
	if (is_virtual)
		SET_ALL(caps->maximum[CAP_GENERAL], virtual_function);
	set_chosen(caps);
	memcpy(caps->current, caps->maximum, sizeof(caps->current));
}
