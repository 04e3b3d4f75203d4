/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which backend serves a netdev: hardware that offers to, else software.
 */
#ifndef RHCA_LIFECYCLE_CHOICE_H
#define RHCA_LIFECYCLE_CHOICE_H

struct rhca_dev_spec;

int rhca_choice_create(struct rhca_dev_spec *spec);

#endif
