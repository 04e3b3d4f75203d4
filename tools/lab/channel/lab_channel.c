// SPDX-License-Identifier: GPL-2.0
/*
 * Pipes of the host as character devices of a User-Mode Linux guest.
 *
 * roce-lab starts the kernel with these file descriptors open. A console is not suitable: it does
 * not pass an end of file, and takes one byte at a time.
 *
 * A pipe has one direction, and so one interrupt: for a descriptor with two, User-Mode Linux would
 * request level-triggered events, and it could always be written to.
 */
#include <linux/interrupt.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <irq_kern.h>
#include <os.h>

#define CHANNEL_BUFFER	SZ_64K

/* The host's; exported by the kernel for its drivers */
long syscall(long number, ...);

struct channel {
	struct miscdevice misc;
	int fd;
	enum um_irq_type direction;
	umode_t mode;
	int irq;
	wait_queue_head_t wait;
	struct mutex io_lock;	/* protects: buffer */
	char *buffer;
	bool ready;		/* something has changed since the last attempt */
};

#define CHANNEL(_name, _fd, _direction, _mode)			\
	{							\
		.misc = {					\
			.minor = MISC_DYNAMIC_MINOR,		\
			.name = "lab_" _name,			\
			.nodename = "lab/" _name,		\
			.mode = (_mode),			\
		},						\
		.fd = (_fd),					\
		.direction = (_direction),			\
	}

/* The descriptors are those of tools/lab/runner/machine.c. */
static struct channel channels[] = {
	CHANNEL("orders", 3, IRQ_READ, 0600),
	CHANNEL("reports", 4, IRQ_WRITE, 0600),
	CHANNEL("stdin", 5, IRQ_READ, 0444),
	CHANNEL("stdout", 6, IRQ_WRITE, 0222),
	CHANNEL("stderr", 7, IRQ_WRITE, 0222),
	CHANNEL("capture", 8, IRQ_WRITE, 0600),
	CHANNEL("trace", 9, IRQ_WRITE, 0600),
};

static struct channel *to_channel(struct file *file)
{
	return container_of(file->private_data, struct channel, misc);
}

static irqreturn_t channel_interrupt(int irq, void *data)
{
	struct channel *channel = data;

	WRITE_ONCE(channel->ready, true);
	wake_up_interruptible(&channel->wait);
	return IRQ_HANDLED;
}

/* One attempt; the caller holds the buffer's lock */
static int transfer(struct channel *channel, size_t size)
{
	int done;

	WRITE_ONCE(channel->ready, false);
	if (channel->direction == IRQ_READ)
		done = os_read_file(channel->fd, channel->buffer, size);
	else
		done = os_write_file(channel->fd, channel->buffer, size);
	if (done != -EAGAIN) {
		/* Events only report changes: other waiters must check, too. */
		WRITE_ONCE(channel->ready, true);
		wake_up_interruptible(&channel->wait);
	}
	return done;
}

/*
 * User-Mode Linux gets no interrupt if the last reader of a full pipe ends, which epoll reports as
 * an error and not as room: check now and then.
 */
static int wait_until_ready(struct channel *channel, struct file *file)
{
	long ret;

	if (file->f_flags & O_NONBLOCK)
		return -EAGAIN;
	ret = wait_event_interruptible_timeout(channel->wait, READ_ONCE(channel->ready), HZ / 10);
	return ret < 0 ? ret : 0;
}

static ssize_t channel_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	struct channel *channel = to_channel(file);
	int done;

	if (!size)
		return 0;
	for (;;) {
		if (mutex_lock_interruptible(&channel->io_lock))
			return -ERESTARTSYS;
		done = transfer(channel, min_t(size_t, size, CHANNEL_BUFFER));
		if (done > 0 && copy_to_user(to, channel->buffer, done))
			done = -EFAULT;
		mutex_unlock(&channel->io_lock);
		if (done != -EAGAIN)
			return done;
		done = wait_until_ready(channel, file);
		if (done)
			return done;
	}
}

static int write_piece(struct channel *channel, const char __user *from, size_t size)
{
	int done;

	size = min_t(size_t, size, CHANNEL_BUFFER);
	if (mutex_lock_interruptible(&channel->io_lock))
		return -ERESTARTSYS;
	if (copy_from_user(channel->buffer, from, size))
		done = -EFAULT;
	else
		done = transfer(channel, size);
	mutex_unlock(&channel->io_lock);
	return done;
}

static ssize_t channel_write(struct file *file, const char __user *from, size_t size,
			     loff_t *pos)
{
	struct channel *channel = to_channel(file);
	size_t written = 0;
	int done = 0;

	while (written < size) {
		done = write_piece(channel, from + written, size - written);
		if (done > 0) {
			written += done;
			continue;
		}
		if (done == -EAGAIN)
			done = wait_until_ready(channel, file);
		if (done)
			break;
	}
	if (done == -EPIPE)
		send_sig(SIGPIPE, current, 0);
	return written ?: done;
}

static __poll_t channel_poll(struct file *file, struct poll_table_struct *table)
{
	struct channel *channel = to_channel(file);
	struct pollfd host = {
		.fd = channel->fd,
		.events = channel->direction == IRQ_READ ? POLLIN : POLLOUT,
	};

	poll_wait(file, &channel->wait, table);
	if (syscall(__NR_poll, &host, 1, 0) < 1)
		return 0;
	return demangle_poll(host.revents) | (host.revents & POLLIN ? EPOLLRDNORM : 0) |
	       (host.revents & POLLOUT ? EPOLLWRNORM : 0);
}

static const struct file_operations channel_read_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.read = channel_read,
	.poll = channel_poll,
};

static const struct file_operations channel_write_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.write = channel_write,
	.poll = channel_poll,
};

static int add_channel(struct channel *channel)
{
	int ret;

	init_waitqueue_head(&channel->wait);
	mutex_init(&channel->io_lock);
	channel->buffer = kmalloc(CHANNEL_BUFFER, GFP_KERNEL);
	if (!channel->buffer)
		return -ENOMEM;
	channel->irq = um_request_irq(UM_IRQ_ALLOC, channel->fd, channel->direction,
				      channel_interrupt, 0, channel->misc.name, channel);
	if (channel->irq < 0) {
		ret = channel->irq;
		goto err_free_buffer;
	}
	channel->misc.fops = channel->direction == IRQ_READ ? &channel_read_fops :
							      &channel_write_fops;
	ret = misc_register(&channel->misc);
	if (ret)
		goto err_free_irq;
	return 0;

err_free_irq:
	um_free_irq(channel->irq, channel);
err_free_buffer:
	kfree(channel->buffer);
	return ret;
}

static void remove_channel(struct channel *channel)
{
	misc_deregister(&channel->misc);
	um_free_irq(channel->irq, channel);
	kfree(channel->buffer);
}

static int __init lab_channel_init(void)
{
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(channels); i++) {
		ret = add_channel(&channels[i]);
		if (ret) {
			pr_err("lab_channel: descriptor %d: %d\n", channels[i].fd, ret);
			while (i--)
				remove_channel(&channels[i]);
			return ret;
		}
	}
	return 0;
}
module_init(lab_channel_init);

static void __exit lab_channel_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(channels); i++)
		remove_channel(&channels[i]);
}
module_exit(lab_channel_exit);

MODULE_DESCRIPTION("Pipes of the host as devices of a User-Mode Linux guest");
MODULE_LICENSE("GPL");
