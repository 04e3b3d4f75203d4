#ifndef P_H
#define P_H
#include "core/counters.h"
struct rhca_dev;
#define RHCA_NUM_GIDS 128
struct rhca_port { struct rhca_dev *dev; u32 num; struct rhca_counter_set counter_set; void *private; };
#endif
