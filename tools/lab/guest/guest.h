/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's side of roce-lab: one static program that is pid 1 of the lab (init.c), pid 1
 * of each of its hosts (host.c), and the commands "lab" and "lab-rsh" inside (lab.c).
 */
#ifndef LAB_GUEST_H
#define LAB_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "text.h"

#define LAB_MAX_HOSTS	16
#define LAB_MAX_DEVICES	4
#define LAB_RUN		"/run/roce-lab"	/* created by init for hosts and launchers */

/* Settings from the runner: NAME=VALUE, each ended by NUL, with an empty one at the end. */
struct job {
	char **argv, **env, **rwdirs, **overlays, **knobs, **modules;
	char **limits;			/* NUMBER:SOFT:HARD, as for setrlimit() */
	const char *cwd, *host, *groups, *driver, *rate, *loss, *delay, *pcap, *trace, *user_name;
	const char *home;
	unsigned int uid, gid, umask, hosts, devices, mtu, vlan, tos, seed;
	bool tty_in, tty_out, tty_err, root, ecn, tos_set, seed_set;
	const char *window;		/* ROWSxCOLUMNS */
};

/* --- boot.c: the caller's root, and the kind of machine */
extern bool emulated;		/* a whole machine, not User-Mode Linux */
const char *boot(void);
int mount_by_virtio(const char *tag, const char *where, bool writable);

/* --- channel.c: channels to the runner */
void channels_start(const struct job *job);
void channels_finish(void);
int channel_open(const char *name, int flags);
ssize_t channel_read(int fd, void *into, size_t size);

/* --- say.c: messages to the kernel's log, and the shutdown */
void report(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void power_off(void) __attribute__((noreturn));
void die_by_text(const char *text) __attribute__((noreturn));
extern void (*die_hook)(const char *text);
extern int reports_fd;

/* --- job.c */
struct job *job_read(int fd);
char *next_order(int fd);
void orders_forget(void);

/* --- files.c: the files of each host */
void files_first(void);
void files_writable(const struct job *job);
void files_of_host(const struct job *job);
void files_etc(const struct job *job);
void files_modules(const char *packed);

/* --- netlink.c */
struct netlink {
	int fd;
	uint32_t seq;
	char *text;			/* contents of the request */
	size_t size;
};
void netlink_open(struct netlink *nl, int protocol);
void netlink_begin(struct netlink *nl, uint16_t type, uint16_t flags, const void *head,
		   size_t size);
void netlink_put(struct netlink *nl, uint16_t type, const void *value, size_t size);
void netlink_put_text(struct netlink *nl, uint16_t type, const char *value);
void netlink_put_u32(struct netlink *nl, uint16_t type, uint32_t value);
size_t netlink_nest(struct netlink *nl, uint16_t type);
void netlink_unnest(struct netlink *nl, size_t start);
int netlink_do(struct netlink *nl);
int netlink_dump(struct netlink *nl, void (*each)(const void *data, size_t size, void *arg),
		 void *arg);

/* --- net.c: links, addresses, the switch */
int link_index(const char *name);
void switch_add(unsigned int device, unsigned int mtu);
int port_add(struct netlink *outside, int outside_ns, struct netlink *inside,
	     const struct job *job, unsigned int host, unsigned int device);
char *port_give_addresses(const struct job *job, struct netlink *inside, int index,
			  unsigned int host, unsigned int device);
int port_up(const char *port, bool up);
char *port_name(unsigned int host, unsigned int device);
char *address_of(unsigned int host, unsigned int device);
char *address6_of(unsigned int host, unsigned int device);
void loopback_up(struct netlink *nl);

/* --- wire.c: loss, delay and rate of a port of the switch */
struct wire {
	double loss;			/* of 1 */
	uint64_t delay_ns, rate_bytes, seed;
	bool ecn, seed_set;
};
const char *wire_parse(struct wire *wire, const char *what, const char *value);
int wire_set(const char *port, const struct wire *wire);

/* --- modules.c */
void module_insert(const char *path, const char *parameters);
void modules_load(const char *folder, const struct job *job);
void modules_insert(const char *programs, char **modules);

/* --- rdma.c */
void device_add(const struct job *job, struct netlink *initial, int initial_ns,
		struct netlink *own, int own_ns, const char *name, const char *netdev);
void device_wait(const struct job *job, const char *name, const char *address,
		 const char *last);
int device_remove(struct netlink *nl, const char *name);
int gid_index(const char *device, const char *type, const char *address);

/* --- host.c */
char *host_name(unsigned int number);
int host_number(const char *name);
void hosts_start(const struct job *job);
void host_enter(const char *name);
void host_environment(const char *name);
bool host_limit_memlock(const char *name, const char *value);
void host_set_memlock(const char *name);

/* --- pcap.c */
void capture_start(const struct job *job);
void capture_stop(void);

/* --- log.c */
void report_log(void);

/* --- trace.c */
void trace_start(const struct job *job);
void trace_stop(void);

/* --- lab.c */
int lab_main(int argc, char **argv);

#endif
