// SPDX-License-Identifier: GPL-2.0
/*
 * Asks the firmware of a ConnectX adapter what a driver can only guess: which memory keys it
 * creates, of those that mlx5_ib and roce_hca_mlx5 create in different ways. hardware-report builds
 * this module, loads it, reads the answers and unloads it.
 *
 * The function used has no RDMA driver, and cannot get one meanwhile. Each key created is destroyed
 * at once, and is not known to anyone.
 */
#include <linux/auxiliary_bus.h>
#include <linux/dma-mapping.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/module.h>
#include <linux/pci.h>

#define ANY_QP		0xffffff
#define OCTWORDS	4	/* a group of eight pages */
#define LARGE_OCTWORDS	BIT(17)	/* 262144 pages: 1 GiB of 4 KiB */
#define LIST_BYTES	(OCTWORDS * 16)

static char *pci;
module_param(pci, charp, 0444);
MODULE_PARM_DESC(pci, "address of the adapter's function, such as 0000:3b:00.0");

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "its RDMA function on the auxiliary bus, such as mlx5_core.rdma.0");

static char answers[4000];	/* sysfs provides a page for them */
module_param_string(answers, answers, sizeof(answers), 0444);
MODULE_PARM_DESC(answers, "what the firmware said, a line for each question");

/**
 * struct question - A memory key that the firmware may or may not want to make
 * @name: in the answers
 * @page_shift: size of its pages, 0: not said
 * @octwords: room that its list of pages has
 * @has_page: there is a page in the list; else the key is empty, to be filled by requests
 * @has_rights: the page's address has rights in its low bits
 * @says_rights: the command says that it has (pg_access)
 */
struct question {
	const char *name;
	u8 page_shift;
	u32 octwords;
	bool has_page;
	bool has_rights;
	bool says_rights;
};

static const struct question questions[] = {
	{ "empty key", 12, OCTWORDS },
	{ "empty key without a page size", 0, OCTWORDS },
	{ "empty key for 262144 pages", 12, LARGE_OCTWORDS },
	{ "list of bare addresses", 12, OCTWORDS, true },
	{ "list with rights, and pg_access", 12, OCTWORDS, true, true, true },
	{ "list with rights, without pg_access", 12, OCTWORDS, true, true },
};

static void __printf(1, 2) answer(const char *format, ...)
{
	size_t used = strlen(answers);
	va_list arguments;

	va_start(arguments, format);
	vscnprintf(answers + used, sizeof(answers) - used, format, arguments);
	va_end(arguments);
}

#define TELL_CAP(mdev, name)	answer("cap " #name ": %u\n", MLX5_CAP_GEN(mdev, name))
#define TELL_ATOMIC(mdev, name)	answer("cap " #name ": %u\n", MLX5_CAP_ATOMIC(mdev, name))
#define TELL_ROCE(mdev, name)	answer("cap " #name ": %u\n", MLX5_CAP_ROCE(mdev, name))

#define LINE_BYTES	32
#define CAP_LINES	8	/* no header has names beyond these */

/*
 * As bytes from the firmware, to be read with mlx5_ifc.h of another kernel: not every one has names
 * for all relevant bits (relaxed_ordering_read_pci_enabled, qp_error_syndrome).
 */
static void tell_as_said(const char *name, const void *caps)
{
	int i;

	for (i = 0; i < CAP_LINES; i++)
		answer("%s caps from byte %d: %*phN\n", name, i * LINE_BYTES,
		       LINE_BYTES, caps + i * LINE_BYTES);
}

static void tell_caps_of_others(struct mlx5_core_dev *mdev)
{
	TELL_ATOMIC(mdev, atomic_operations);
	TELL_ATOMIC(mdev, atomic_size_qp);
	TELL_ATOMIC(mdev, atomic_req_8B_endianness_mode);
	TELL_ROCE(mdev, qp_ts_format);
	TELL_ROCE(mdev, roce_address_table_size);
	answer("cap port_select_flow_table_bypass: %u\n",
	       MLX5_CAP_PORT_SELECTION(mdev, port_select_flow_table_bypass));
	answer("cap log_min_mkey_entity_size: %u\n",
	       MLX5_CAP_GEN_2(mdev, log_min_mkey_entity_size));
	tell_as_said("general", mdev->caps.hca[MLX5_CAP_GENERAL]->cur);
	tell_as_said("more general", mdev->caps.hca[MLX5_CAP_GENERAL_2]->cur);
}

/* mlx5_core queried them when it started */
static void tell_caps(struct mlx5_core_dev *mdev)
{
	TELL_CAP(mdev, pg);
	TELL_CAP(mdev, relaxed_ordering_write);
	TELL_CAP(mdev, relaxed_ordering_read);
	TELL_CAP(mdev, relaxed_ordering_write_umr);
	TELL_CAP(mdev, relaxed_ordering_read_umr);
	TELL_CAP(mdev, ats);
	TELL_CAP(mdev, umr_fence);
	TELL_CAP(mdev, umr_modify_entity_size_disabled);
	TELL_CAP(mdev, umr_modify_atomic_disabled);
	TELL_CAP(mdev, umr_extended_translation_offset);
	TELL_CAP(mdev, sctr_data_cqe);
	TELL_CAP(mdev, stat_rate_support);
	TELL_CAP(mdev, atomic);
	TELL_CAP(mdev, log_max_klm_list_size);
	TELL_CAP(mdev, max_sgl_for_optimized_performance);
	TELL_CAP(mdev, lag_tx_port_affinity);
	TELL_CAP(mdev, set_deth_sqpn);
	tell_caps_of_others(mdev);
}

static void set_key(u32 *in, const struct question *question, u32 pd)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	MLX5_SET(mkc, mkc, free, !question->has_page);
	MLX5_SET(mkc, mkc, umr_en, 1);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, qpn, ANY_QP);
	MLX5_SET(mkc, mkc, pd, pd);
	MLX5_SET(mkc, mkc, log_page_size, question->page_shift);
	MLX5_SET(mkc, mkc, translations_octword_size, question->octwords);
}

static void set_list(u32 *in, const struct question *question, dma_addr_t page)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	__be64 *list = MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt);

	MLX5_SET(create_mkey_in, in, pg_access, question->says_rights);
	MLX5_SET(create_mkey_in, in, translations_octword_actual_size, OCTWORDS);
	MLX5_SET64(mkc, mkc, len, BIT(question->page_shift));
	*list = cpu_to_be64(page | (question->has_rights ?
				    MLX5_EN_RD | MLX5_EN_WR : 0));
}

static void destroy_key(struct mlx5_core_dev *mdev, u32 index)
{
	u32 out[MLX5_ST_SZ_DW(destroy_mkey_out)] = {};
	u32 in[MLX5_ST_SZ_DW(destroy_mkey_in)] = {};
	int ret;

	MLX5_SET(destroy_mkey_in, in, opcode, MLX5_CMD_OP_DESTROY_MKEY);
	MLX5_SET(destroy_mkey_in, in, mkey_index, index);
	ret = mlx5_cmd_do(mdev, in, sizeof(in), out, sizeof(out));
	if (ret)
		answer(", and the key is LEFT BEHIND (error %d, status %#x)",
		       ret, MLX5_GET(destroy_mkey_out, out, status));
}

static void ask(struct mlx5_core_dev *mdev, const struct question *question,
		u32 pd, dma_addr_t page)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in) + LIST_BYTES / sizeof(u32)] = {};
	u32 out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	int bytes = sizeof(in), ret;

	set_key(in, question, pd);
	if (question->has_page)
		set_list(in, question, page);
	else
		bytes -= LIST_BYTES;
	answer("%s: ", question->name);
	/* Unlike mlx5_cmd_exec() it does not log refusals of the firmware */
	ret = mlx5_cmd_do(mdev, in, bytes, out, sizeof(out));
	if (!ret) {
		answer("made");
		destroy_key(mdev, MLX5_GET(create_mkey_out, out, mkey_index));
	} else if (ret == -EREMOTEIO) {
		answer("refused, status %#x, syndrome %#x",
		       MLX5_GET(create_mkey_out, out, status),
		       MLX5_GET(create_mkey_out, out, syndrome));
	} else {
		answer("not asked, error %d", ret);
	}
	answer("\n");
}

static int ask_all(struct mlx5_core_dev *mdev)
{
	dma_addr_t page;
	void *memory;
	size_t i;
	u32 pd;
	int ret;

	memory = dma_alloc_coherent(mdev->device, PAGE_SIZE, &page, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	ret = mlx5_core_alloc_pd(mdev, &pd);
	if (ret)
		goto free;
	for (i = 0; i < ARRAY_SIZE(questions); i++)
		ask(mdev, &questions[i], pd, page);
	ret = mlx5_core_dealloc_pd(mdev, pd);
	if (ret) {
		/* The adapter may still access the page by a key that could not be destroyed */
		answer("the protection domain is LEFT BEHIND (error %d)\n", ret);
		return 0;	/* the answers are still of interest */
	}
free:
	dma_free_coherent(mdev->device, PAGE_SIZE, memory, page);
	return ret;
}

/* While the function's lock is held no driver is bound to it, nor does mlx5_core remove it */
static int ask_unused(struct device *dev)
{
	struct mlx5_adev *adev = container_of(to_auxiliary_dev(dev),
					      struct mlx5_adev, adev);
	int ret = -EBUSY;

	device_lock(dev);
	if (!dev->driver && device_is_registered(dev)) {
		tell_caps(adev->mdev);
		ret = ask_all(adev->mdev);
	}
	device_unlock(dev);
	return ret;
}

static int __init ask_firmware_init(void)
{
	struct device *adapter, *dev;
	int ret = -ENODEV;

	if (!pci || !function || strncmp(function, "mlx5_core.rdma.", 15))
		return -EINVAL;
	answers[0] = '\0';
	adapter = bus_find_device_by_name(&pci_bus_type, NULL, pci);
	if (!adapter)
		return -ENODEV;
	dev = device_find_child_by_name(adapter, function);
	if (dev)
		ret = ask_unused(dev);
	put_device(dev);
	put_device(adapter);
	return ret;
}

static void __exit ask_firmware_exit(void)
{
}

module_init(ask_firmware_init);
module_exit(ask_firmware_exit);
MODULE_DESCRIPTION("What the firmware of a ConnectX adapter says to commands in doubt");
MODULE_LICENSE("GPL");
