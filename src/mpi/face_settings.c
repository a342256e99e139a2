/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "mem/mem_heap.h"
#include "mem/mem_hot.h"
#include "mem/mem_xpmem.h"
#include "node/node_peer.h"

static struct trma_knobs knobs;

static void load(void) {
    char error[256];
    char name[64];
    size_t cursor = 0;

    if (trma_node_knob_load(&knobs, error, sizeof error)) {
        fprintf(stderr, "truerma: %s\n", error);
        exit(2);
    }
    while (knobs.log >= TRMA_LOG_WARN && trma_node_knob_next_unknown(&cursor, name, sizeof name)) {
        fprintf(stderr, "truerma: %s is not a setting of TrueRMA, see 'truerma info'\n", name);
    }
    trma_mem_heap_configure(0, (size_t)knobs.heap_chunk);
    trma_node_peer_allow_cma(knobs.cma);
    trma_mem_xpmem_allow(knobs.xpmem);
    trma_mem_hot_allow(knobs.huge);
}

const struct trma_knobs *trma_knobs(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return &knobs;
}
