#ifndef CT_H
#define CT_H
#include <rhca/counter.h>
#include <linux/types.h>
struct rhca_port;
struct rhca_counter_set { struct rhca_port *port; void *private; };
#endif
