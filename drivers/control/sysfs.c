// SPDX-License-Identifier: GPL-2.0
/*
 * Files of our own below a device in /sys/class/infiniband:
 *   NAME/<folder>/<port>/<file>
 * As a client of ib_core this learns when a device is added or removed, which includes changes of
 * its network namespace.
 */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "control/sysfs.h"
#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/qp/port_qos.h"

#define SHOWN_CHARS	64	/* of a rejected text in the log */

/* A file of each port of a device; the port's netdev may be gone */
struct port_file {
	struct attribute attr;	/* name and mode */
	const char *takes;	/* valid input, for the log */
	ssize_t (*show)(struct rhca_port *port, char *buf);	/* writes at most a page */
	/* applies the whole NUL-terminated text, or changes nothing and logs why */
	int (*store)(struct rhca_port *port, const char *text);
};

#define FILE_RW(_name, _show, _store, _takes)			\
static const struct port_file _name = {				\
	.attr	= { .name = #_name, .mode = 0644 },		\
	.takes	= (_takes),					\
	.show	= (_show),					\
	.store	= (_store),					\
}

FILE_RW(traffic_class, rhca_tclass_show, rhca_tclass_store,
	"tclass=N[,src_ip=A][,dst_ip=A[/BITS]] or tclass=N[,src_ip6=A][,dst_ip6=A], N -1 (off) to 255, at most 40 rules");
FILE_RW(ttl, rhca_ttl_show, rhca_ttl_store, "0 (off) to 255");
FILE_RW(pkeys, rhca_pkeys_show, rhca_pkeys_store,
	"INDEX 0xPKEY, one a line or between commas, index 0 to 127, P_Key 0 clears, none twice");

/* Folders of a device, and the files of each port in them */
static const struct {
	const char *name;
	const struct attribute *files[3];
} port_folders[] = {
	{ "tc",		{ &traffic_class.attr, &ttl.attr } },
	{ "partitions",	{ &pkeys.attr } },
	{ "ttl",	{ &ttl.attr } },
};

/* A folder created here */
struct folder {
	struct kobject kobj;		/* has the folder's name */
	struct list_head entry;		/* a folder follows its parent */
	struct rhca_port *port;		/* owner of its files, or NULL for a folder of ports */
};

static ssize_t show_file(struct kobject *kobj, struct attribute *attr,
			 char *buf)
{
	const struct port_file *file = container_of(attr, struct port_file,
						    attr);

	return file->show(container_of(kobj, struct folder, kobj)->port, buf);
}

static ssize_t store_file(struct kobject *kobj, struct attribute *attr,
			  const char *buf, size_t len)
{
	struct rhca_port *port = container_of(kobj, struct folder, kobj)->port;
	const struct port_file *file = container_of(attr, struct port_file,
						    attr);
	int shown = min_t(size_t, strcspn(buf, "\n"), SHOWN_CHARS);
	int ret = strlen(buf) == len ? file->store(port, buf) : -EINVAL;

	if (!ret)
		return len;
	ibdev_err(&port->dev->ibdev,
		  "%s/%u/%s: '%*pE' is refused (error %d), nothing is changed; takes %s\n",
		  kobject_name(kobj->parent), port->num, attr->name, shown, buf, ret,
		  file->takes);
	return ret;
}

static const struct sysfs_ops folder_ops = {
	.show	= show_file,
	.store	= store_file,
};

static void free_folder(struct kobject *kobj)
{
	kfree(container_of(kobj, struct folder, kobj));
}

static const struct kobj_type folder_type = {
	.release	= free_folder,
	.sysfs_ops	= &folder_ops,
};

static struct folder *add_folder(struct list_head *folders, struct kobject *parent,
				 const char *name, struct rhca_port *port)
{
	struct folder *folder = kzalloc(sizeof(*folder), GFP_KERNEL);
	int ret;

	if (!folder)
		return ERR_PTR(-ENOMEM);
	folder->port = port;
	ret = kobject_init_and_add(&folder->kobj, &folder_type, parent, "%s",
				   name);
	if (ret) {
		kobject_put(&folder->kobj);
		return ERR_PTR(ret);
	}
	list_add_tail(&folder->entry, folders);
	return folder;
}

static int add_port(struct list_head *folders, struct folder *parent,
		    struct rhca_port *port, const struct attribute *const *files)
{
	struct folder *folder;
	char number[12];

	snprintf(number, sizeof(number), "%u", port->num);
	folder = add_folder(folders, &parent->kobj, number, port);
	if (IS_ERR(folder))
		return PTR_ERR(folder);
	return sysfs_create_files(&folder->kobj, files);
}

static int add_files(struct list_head *folders, struct rhca_dev *dev)
{
	struct folder *folder;
	u32 i, port;
	int ret;

	for (i = 0; i < ARRAY_SIZE(port_folders); i++) {
		folder = add_folder(folders, &dev->ibdev.dev.kobj, port_folders[i].name,
				    NULL);
		if (IS_ERR(folder))
			return PTR_ERR(folder);
		for (port = 0; port < dev->num_ports; port++) {
			ret = add_port(folders, folder, &dev->ports[port],
				       port_folders[i].files);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Deleting a folder waits for readers and writers of its files */
static void remove_folders(struct list_head *folders)
{
	struct folder *folder, *next;

	list_for_each_entry_safe_reverse(folder, next, folders, entry) {
		list_del(&folder->entry);
		kobject_del(&folder->kobj);
		kobject_put(&folder->kobj);
	}
	kfree(folders);
}

static struct ib_client folders_client;

static int add_device(struct ib_device *ibdev)
{
	struct list_head *folders;
	int ret;

	if (!rhca_is_device(ibdev))
		return -EOPNOTSUPP;
	folders = kzalloc(sizeof(*folders), GFP_KERNEL);
	if (!folders)
		return -ENOMEM;
	INIT_LIST_HEAD(folders);	/* the client's data for the device */
	ret = add_files(folders, to_rhca_dev(ibdev));
	if (!ret)
		ret = sysfs_create_group(&ibdev->dev.kobj, &rhca_lag_files);
	if (ret) {
		ibdev_err(ibdev, "no files in sysfs to set it up: error %d\n",
			  ret);
		remove_folders(folders);
		return ret;
	}
	ib_set_client_data(ibdev, &folders_client, folders);
	return 0;
}

static void remove_device(struct ib_device *ibdev, void *data)
{
	sysfs_remove_group(&ibdev->dev.kobj, &rhca_lag_files);
	remove_folders(data);
}

static struct ib_client folders_client = {
	.name		= "roce_hca_files",
	.add		= add_device,
	.remove		= remove_device,
	.no_kverbs_req	= true,
};

int rhca_sysfs_init(void)
{
	return ib_register_client(&folders_client);
}

void rhca_sysfs_exit(void)
{
	ib_unregister_client(&folders_client);
}
