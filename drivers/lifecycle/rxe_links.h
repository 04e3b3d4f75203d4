/* SPDX-License-Identifier: GPL-2.0 */
/* Links of type rxe, for scripts that were written for the in-tree driver. */
#ifndef RHCA_LIFECYCLE_RXE_LINKS_H
#define RHCA_LIFECYCLE_RXE_LINKS_H

int rhca_rxe_links_init(void);
void rhca_rxe_links_start(void);
void rhca_rxe_links_stop(void);
void rhca_rxe_links_exit(void);

#endif
