/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PROBE_DOORS_H
#define TRMA_NODE_PROBE_DOORS_H

#include "node_probe.h"

/* Tries the doors that lead to other memory and fills out->doors; for node_probe.c. */
void trma_node_probe_doors(struct trma_probe *out);

/* Whether a populated memfd can be put on huge pages, found by doing it: 0, or the errno of what was refused.
 */
int trma_node_probe_huge_pages(void);

#endif
