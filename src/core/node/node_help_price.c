/* SPDX-License-Identifier: BSD-3-Clause */
/* Help, whether it is worth asking for. */
#include "node_help.h"

/* Classes are powers of two; the first holds what is just too much for a slot, the last all that is left. */
static struct trma_help_price *price_of(struct trma_help *own, bool is_put, size_t size) {
    size_t index = 0;

    while (index < TRMA_HELP_PRICE_CLASSES - 1 && size >= (size_t)2 * TRMA_HELP_SLOT_BYTES) {
        size /= 2;
        index++;
    }
    return &own->prices[is_put][index];
}

/* Relaxed, all of them: estimates, which nothing else depends on. */
static unsigned get(atomic_uint *number) {
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(atomic_uint *number, unsigned value) {
    atomic_store_explicit(number, value, memory_order_relaxed);
}

bool trma_node_help_is_cheaper(struct trma_help *own, bool is_put, size_t size) {
    if (size <= TRMA_HELP_SLOT_BYTES) {
        return true;
    }
    struct trma_help_price *price = price_of(own, is_put, size);
    if (get(&price->help_samples) < TRMA_HELP_PRICE_TRIES) {
        return true;
    }
    if (get(&price->kernel_samples) < TRMA_HELP_PRICE_TRIES) {
        return false;
    }
    const bool is_cheaper = get(&price->by_help_ns) <= get(&price->by_kernel_ns);
    const unsigned choices = get(&price->choices) + 1;
    set(&price->choices, choices);
    return choices % TRMA_HELP_PRICE_REVIEW ? is_cheaper : !is_cheaper;
}

void trma_node_help_note_price(struct trma_help *own, bool is_put, size_t size, bool by_help, uint64_t ns) {
    struct trma_help_price *price = price_of(own, is_put, size);
    atomic_uint *mean = by_help ? &price->by_help_ns : &price->by_kernel_ns;
    atomic_uint *samples = by_help ? &price->help_samples : &price->kernel_samples;
    const unsigned n = get(samples);
    const uint64_t before = get(mean);

    if (n < TRMA_HELP_PRICE_TRIES) {
        set(samples, n + 1);
    }
    if (n <= 1) { /* the first one finds pages, or trays, that nobody has touched */
        set(mean, ns < UINT32_MAX / 4 ? (unsigned)ns : UINT32_MAX / 4);
        return;
    }
    /* Who lost its processor meanwhile has not seen the price. */
    const uint64_t seen = ns < 2 * before + 2 ? ns : 2 * before + 2;
    set(mean, (unsigned)((before + seen) / 2));
}
