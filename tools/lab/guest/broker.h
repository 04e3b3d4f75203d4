/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LAB_BROKER_H
#define LAB_BROKER_H

#include "guest.h"

#define BROKER_SOCKET	LAB_RUN "/broker"

/* From here on "lab" can be used. */
void broker_start(void);

#endif
