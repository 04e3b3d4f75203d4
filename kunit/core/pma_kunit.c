// SPDX-License-Identifier: GPL-2.0
/*
 * Performance management: the offset of each counter in IBTA vol. 1, 16.1.3.5 and 16.1.4.11, its
 * largest value, how it is set, and which datagrams are answered. The offsets here are from the
 * specification.
 */
#include <rdma/ib_mad.h>

#include "core/rules/pma.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"

#define ATTRIBUTE_BYTES	192
#define PERF_CLASS	0x04
#define GET		0x01
#define SET		0x02
#define GET_RESPONSE	0x81

#define SMALL(name, id, at, size, bit) \
	{ name, RHCA_PMA_PORT_COUNTERS, RHCA_PMA_##id, at, size, 0xff, bit }
#define LARGE(name, id, at, bit) \
	{ name, RHCA_PMA_PORT_COUNTERS_EXT, RHCA_PMA_##id, at, 8, 0xff, bit }

static const struct field_case {
	const char *desc;
	enum rhca_pma_attribute attribute;
	enum rhca_pma_counter counter;
	u8 byte;		/* of the attribute */
	u8 bytes;
	u8 mask;		/* of a counter inside one byte */
	u16 select;
} field_cases[] = {
	SMALL("symbol error", SYMBOL_ERROR, 4, 2, 0x0001),
	SMALL("link error recovery", LINK_ERROR_RECOVERY, 6, 1, 0x0002),
	SMALL("link downed", LINK_DOWNED, 7, 1, 0x0004),
	SMALL("receive errors", RCV_ERRORS, 8, 2, 0x0008),
	SMALL("remote physical", RCV_REMOTE_PHYSICAL_ERRORS, 10, 2, 0x0010),
	SMALL("switch relay", RCV_SWITCH_RELAY_ERRORS, 12, 2, 0x0020),
	SMALL("transmit discards", XMIT_DISCARDS, 14, 2, 0x0040),
	SMALL("transmit constraint", XMIT_CONSTRAINT_ERRORS, 16, 1, 0x0080),
	SMALL("receive constraint", RCV_CONSTRAINT_ERRORS, 17, 1, 0x0100),
	{ "link integrity", RHCA_PMA_PORT_COUNTERS,
	  RHCA_PMA_LOCAL_LINK_INTEGRITY_ERRORS, 19, 1, 0xf0, 0x0200 },
	{ "buffer overrun", RHCA_PMA_PORT_COUNTERS,
	  RHCA_PMA_EXCESSIVE_BUFFER_OVERRUNS, 19, 1, 0x0f, 0x0400 },
	SMALL("VL15 dropped", VL15_DROPPED, 22, 2, 0x0800),
	SMALL("transmit data", XMIT_DATA, 24, 4, 0x1000),
	SMALL("receive data", RCV_DATA, 28, 4, 0x2000),
	SMALL("transmit packets", XMIT_PACKETS, 32, 4, 0x4000),
	SMALL("receive packets", RCV_PACKETS, 36, 4, 0x8000),
	LARGE("extended transmit data", XMIT_DATA, 8, 0x0001),
	LARGE("extended receive data", RCV_DATA, 16, 0x0002),
	LARGE("extended transmit packets", XMIT_PACKETS, 24, 0x0004),
	LARGE("extended receive packets", RCV_PACKETS, 32, 0x0008),
	LARGE("unicast sent", UNICAST_XMIT_PACKETS, 40, 0x0010),
	LARGE("unicast received", UNICAST_RCV_PACKETS, 48, 0x0020),
	LARGE("multicast sent", MULTICAST_XMIT_PACKETS, 56, 0x0040),
	LARGE("multicast received", MULTICAST_RCV_PACKETS, 64, 0x0080), };
KUNIT_ARRAY_PARAM_DESC(field, field_cases, desc);

/* The value in the attribute's bytes, read as in the specification */
static u64 value_in(const struct field_case *c, const u8 *data)
{
	u64 value = 0;
	u8 i;

	for (i = 0; i < c->bytes; i++)
		value = value << 8 | data[c->byte + i];
	value &= c->bytes == 1 ? c->mask : U64_MAX;
	return c->mask == 0xf0 ? value >> 4 : value;
}

static u64 largest(const struct field_case *c)
{
	if (c->mask != 0xff)
		return 0xf;
	return U64_MAX >> (64 - 8 * c->bytes);
}

static u64 encoded(struct kunit *test, const struct field_case *c, u64 value)
{
	struct rhca_pma_values shown = {};
	u8 *data = test_alloc(test, ATTRIBUTE_BYTES);
	u64 other = 0;
	int i;

	shown.value[c->counter] = value;
	rhca_pma_encode(c->attribute, &shown, data);
	for (i = 0; i < ATTRIBUTE_BYTES; i++) {
		if (i < c->byte || i >= c->byte + c->bytes)
			other |= data[i];
		else
			other |= data[i] & ~c->mask;
	}
	KUNIT_EXPECT_EQ_MSG(test, other, 0, "it shows elsewhere");
	return value_in(c, data);
}

static void counter_has_its_place_in_the_attribute(struct kunit *test)
{
	const struct field_case *c = test->param_value;
	u64 max = largest(c);
	u64 pattern = 0x0123456789abcdefULL & max;

	KUNIT_EXPECT_EQ(test, encoded(test, c, 0), 0);
	KUNIT_EXPECT_EQ(test, encoded(test, c, 1), 1);
	KUNIT_EXPECT_EQ(test, encoded(test, c, pattern), pattern);
	KUNIT_EXPECT_EQ(test, encoded(test, c, max), max);
	if (max == U64_MAX)
		return;
	/* Larger values saturate */
	KUNIT_EXPECT_EQ(test, encoded(test, c, max + 1), max);
	KUNIT_EXPECT_EQ(test, encoded(test, c, U64_MAX), max);
}

/* Every counter is 1000, and 5 after its bit selected it */
static void counter_is_set_by_its_bit_alone(struct kunit *test)
{
	const struct field_case *c = test->param_value;
	struct rhca_pma_values totals, zero = {};
	u8 *data = test_alloc(test, ATTRIBUTE_BYTES);
	int i;

	for (i = 0; i < RHCA_PMA_NUM_COUNTERS; i++)
		totals.value[i] = 1000;
	data[2] = c->select >> 8;
	data[3] = c->select & 0xff;
	data[c->byte + c->bytes - 1] = c->mask == 0xf0 ? 0x5a :
				       c->mask == 0x0f ? 0xa5 : 5;
	rhca_pma_set(c->attribute, data, &totals, &zero);
	for (i = 0; i < RHCA_PMA_NUM_COUNTERS; i++)
		KUNIT_EXPECT_EQ_MSG(test, totals.value[i] - zero.value[i],
				    i == c->counter ? 5 : 1000, "counter %d", i);
}

static const struct source_case {
	const char *desc;
	enum rhca_counter from;
	u64 counted;
	enum rhca_pma_counter to;
	u64 shown;
} source_cases[] = {
	{ "bytes sent are words", RHCA_TX_BYTES, 4004, RHCA_PMA_XMIT_DATA, 1001 },
	{ "bytes received are words", RHCA_RX_BYTES, 4004, RHCA_PMA_RCV_DATA, 1001 },
	{ "wrong ICRC", RHCA_RX_ICRC_ENCAPSULATED, 3, RHCA_PMA_RCV_ERRORS, 3 },
	{ "truncated", RHCA_RX_DROPPED_TRUNCATED, 3, RHCA_PMA_RCV_ERRORS, 3 },
	{ "wrong length", RHCA_RX_DROPPED_BAD_LENGTH, 3, RHCA_PMA_RCV_ERRORS, 3 },
	{ "unknown QP is no error", RHCA_RX_DROPPED_NO_QP, 3, RHCA_PMA_RCV_ERRORS, 0 },
	{ "wrong P_Key", RHCA_RX_DROPPED_BAD_PKEY, 3, RHCA_PMA_RCV_CONSTRAINT_ERRORS, 3 },
	{ "own P_Key cleared", RHCA_TX_DROPPED_BAD_PKEY, 3, RHCA_PMA_XMIT_CONSTRAINT_ERRORS, 3 },
	{ "P_Key is no discard", RHCA_TX_DROPPED_BAD_PKEY, 3, RHCA_PMA_XMIT_DISCARDS, 0 },
	{ "full queue", RHCA_TX_DROPPED, 3, RHCA_PMA_XMIT_DISCARDS, 3 },
	{ "no route", RHCA_TX_DROPPED_NO_ROUTE, 3, RHCA_PMA_XMIT_DISCARDS, 3 },
	{ "MAD without buffer", RHCA_RX_DROPPED_NO_MAD_BUFFER, 3, RHCA_PMA_VL15_DROPPED, 3 },
	{ "carrier lost", RHCA_LINK_DOWNED, 3, RHCA_PMA_LINK_DOWNED, 3 },
};
KUNIT_ARRAY_PARAM_DESC(source, source_cases, desc);

static void counter_is_part_of_a_pma_counter(struct kunit *test)
{
	const struct source_case *c = test->param_value;
	u64 *counters = test_alloc(test, RHCA_NUM_COUNTERS * sizeof(*counters));
	struct rhca_pma_values totals;

	counters[c->from] = c->counted;
	rhca_pma_totals(counters, &totals);
	KUNIT_EXPECT_EQ(test, totals.value[c->to], c->shown);
}

static void multicast_is_not_unicast(struct kunit *test)
{
	u64 *counters = test_alloc(test, RHCA_NUM_COUNTERS * sizeof(*counters));
	struct rhca_pma_values totals;

	counters[RHCA_TX_PACKETS] = 10;
	counters[RHCA_TX_MULTICAST_PACKETS] = 3;
	counters[RHCA_RX_PACKETS] = 20;
	counters[RHCA_RX_MULTICAST_PACKETS] = 4;
	rhca_pma_totals(counters, &totals);
	KUNIT_EXPECT_EQ(test, totals.value[RHCA_PMA_XMIT_PACKETS], 10);
	KUNIT_EXPECT_EQ(test, totals.value[RHCA_PMA_RCV_PACKETS], 20);
	KUNIT_EXPECT_EQ(test, totals.value[RHCA_PMA_UNICAST_XMIT_PACKETS], 7);
	KUNIT_EXPECT_EQ(test, totals.value[RHCA_PMA_MULTICAST_XMIT_PACKETS], 3);
	KUNIT_EXPECT_EQ(test, totals.value[RHCA_PMA_UNICAST_RCV_PACKETS], 16);
	KUNIT_EXPECT_EQ(test, totals.value[RHCA_PMA_MULTICAST_RCV_PACKETS], 4);
}

/* --- datagrams ------------------------------------------------------------ */

static const struct mad_case {
	const char *desc;
	u8 mgmt_class;
	u8 version;
	u8 method;
	u16 attribute;
	u32 modifier;
	u8 port_select;
	bool replies;
	u16 status;
} mad_cases[] = {
	{ "ClassPortInfo",	PERF_CLASS, 1, GET, 0x01, 0, 0, true, 0 },
	{ "PortCounters",	PERF_CLASS, 1, GET, 0x12, 0, 1, true, 0 },
	{ "of port 2",		PERF_CLASS, 1, GET, 0x12, 0, 2, true, 0 },
	{ "of all ports",	PERF_CLASS, 1, GET, 0x12, 0, 0xff, true, 0 },
	{ "extended",		PERF_CLASS, 1, GET, 0x1d, 0, 1, true, 0 },
	{ "set",		PERF_CLASS, 1, SET, 0x12, 0, 1, true, 0 },
	{ "port 0",		PERF_CLASS, 1, GET, 0x12, 0, 0, true, 0x1c },
	{ "port 3",		PERF_CLASS, 1, GET, 0x1d, 0, 3, true, 0x1c },
	{ "modifier",		PERF_CLASS, 1, GET, 0x12, 1, 1, true, 0x1c },
	{ "version 2",		PERF_CLASS, 2, GET, 0x12, 0, 1, true, 0x04 },
	{ "samples",		PERF_CLASS, 1, GET, 0x10, 0, 1, true, 0x0c },
	{ "info is not set",	PERF_CLASS, 1, SET, 0x01, 0, 0, true, 0x0c },
	{ "a response",		PERF_CLASS, 1, GET_RESPONSE, 0x12, 0, 1, false },
	{ "a trap",		PERF_CLASS, 1, 0x05, 0x02, 0, 0, false },
	{ "another class",	0x07, 1, GET, 0x12, 0, 1, false },
};
KUNIT_ARRAY_PARAM_DESC(mad, mad_cases, desc);

static int process(struct test_hca *hca, const struct mad_case *c,
		   struct ib_mad *in, struct ib_mad *out)
{
	size_t size = sizeof(*out);
	u16 pkey_index = 0;

	in->mad_hdr.base_version = 1;
	in->mad_hdr.mgmt_class = c->mgmt_class;
	in->mad_hdr.class_version = c->version;
	in->mad_hdr.method = c->method;
	in->mad_hdr.tid = cpu_to_be64(0x1234567890ULL);
	in->mad_hdr.attr_id = cpu_to_be16(c->attribute);
	in->mad_hdr.attr_mod = cpu_to_be32(c->modifier);
	in->data[41] = c->port_select;
	return hca->ibdev->ops.process_mad(hca->ibdev, 0, 1, NULL, NULL, in,
					   out, &size, &pkey_index);
}

static void datagram_is_answered(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	const struct mad_case *c = test->param_value;
	struct ib_mad *in = test_alloc(test, 2 * sizeof(*in));
	struct ib_mad *out = in + 1;
	int ret = process(hca, c, in, out);

	KUNIT_EXPECT_TRUE(test, ret & IB_MAD_RESULT_SUCCESS);
	KUNIT_EXPECT_FALSE(test, ret & IB_MAD_RESULT_CONSUMED);
	KUNIT_ASSERT_EQ(test, !!(ret & IB_MAD_RESULT_REPLY), c->replies);
	if (!c->replies)
		return;
	KUNIT_EXPECT_EQ(test, out->mad_hdr.method, GET_RESPONSE);
	KUNIT_EXPECT_EQ(test, out->mad_hdr.mgmt_class, PERF_CLASS);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(out->mad_hdr.status), c->status);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(out->mad_hdr.tid), 0x1234567890ULL);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(out->mad_hdr.attr_id), c->attribute);
}

/* Bit 8: all ports at once; bit 9: 64-bit counters, unicast and multicast too */
static void class_port_info_is_correct(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_mad *in = test_alloc(test, 2 * sizeof(*in));
	struct ib_mad *out = in + 1;

	process(hca, &mad_cases[0], in, out);
	KUNIT_EXPECT_EQ(test, out->data[40], 1);
	KUNIT_EXPECT_EQ(test, out->data[41], 1);
	KUNIT_EXPECT_EQ(test, out->data[42] << 8 | out->data[43], 0x0300);
	KUNIT_EXPECT_EQ(test, out->data[47] & 0x1f, 18);
}

static u64 shown_packets(struct test_hca *hca, const struct mad_case *c, u16 select)
{
	struct ib_mad *in = test_alloc(hca->test, 2 * sizeof(*in));
	struct ib_mad *out = in + 1;
	u64 packets;

	in->data[42] = select >> 8;
	in->data[43] = select & 0xff;
	process(hca, c, in, out);
	packets = c->attribute == 0x1d ?
		  be64_to_cpup((__be64 *)&out->data[40 + 24]) :
		  be32_to_cpup((__be32 *)&out->data[40 + 32]);
	kunit_kfree(hca->test, in);
	return packets;
}

#define PERF(method, attribute, port) \
	(&(const struct mad_case){ "", PERF_CLASS, 1, method, attribute, 0, port })

static void count_packets(struct test_hca *hca, u32 port, u64 packets)
{
	struct rhca_dev *dev = to_rhca_dev(hca->ibdev);

	recording_count(&dev->ports[port - 1].counter_set, RHCA_TX_PACKETS, packets);
}

static void attributes_and_ports_are_cleared_apart(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);

	count_packets(hca, 1, 10);
	count_packets(hca, 2, 100);
	/* A GET ignores CounterSelect */
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 1), 0xffff), 10);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 1), 0), 10);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 2), 0), 100);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 0xff), 0), 110);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(SET, 0x12, 1), 0x4000), 0);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 2), 0), 100);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x1d, 1), 0), 10);
	count_packets(hca, 1, 3);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 1), 0), 3);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 0xff), 0), 103);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(SET, 0x1d, 0xff), 0x0004), 0);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x1d, 2), 0), 0);
	KUNIT_EXPECT_EQ(test, shown_packets(hca, PERF(GET, 0x12, 2), 0), 100);
}

/* Totals are not read atomically: the multicast packet was in the earlier total of all */
static void sum_below_its_zero_point_shows_0(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct rhca_counter_set *set = &to_rhca_dev(hca->ibdev)->ports[0].counter_set;
	struct ib_mad *in = test_alloc(test, 2 * sizeof(*in));
	const __be64 *unicast = (__be64 *)&in[1].data[40 + 40];

	count_packets(hca, 1, 10);
	shown_packets(hca, PERF(SET, 0x1d, 1), 0x0010);
	recording_count(set, RHCA_TX_MULTICAST_PACKETS, 1);
	process(hca, PERF(GET, 0x1d, 1), in, in + 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpup(unicast), 0);
	count_packets(hca, 1, 3);
	process(hca, PERF(GET, 0x1d, 1), in, in + 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpup(unicast), 2);
}

/* As of a firmware that no longer answers */
static void counter_that_cannot_be_read_is_not_0(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_mad *in = test_alloc(test, 2 * sizeof(*in));

	recording_fail(RECORDED_COUNTERS_READ, -EIO);
	KUNIT_EXPECT_EQ(test, process(hca, PERF(GET, 0x1d, 1), in, in + 1), IB_MAD_RESULT_FAILURE);
	recording_fail(RECORDED_COUNTERS_READ, 0);
}

TEST_SUITE(rhca_core_pma,
	   KUNIT_CASE_PARAM(counter_has_its_place_in_the_attribute, field_gen_params),
	   KUNIT_CASE_PARAM(counter_is_set_by_its_bit_alone, field_gen_params),
	   KUNIT_CASE_PARAM(counter_is_part_of_a_pma_counter, source_gen_params),
	   KUNIT_CASE(multicast_is_not_unicast),
	   KUNIT_CASE_PARAM(datagram_is_answered, mad_gen_params),
	   KUNIT_CASE(class_port_info_is_correct),
	   KUNIT_CASE(attributes_and_ports_are_cleared_apart),
	   KUNIT_CASE(sum_below_its_zero_point_shows_0),
	   KUNIT_CASE(counter_that_cannot_be_read_is_not_0));
