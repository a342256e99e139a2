/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_adopt.h"

#include "../mem/mem_adopt.h"
#include "../mem/mem_heap.h"
#include "../mem/mem_map.h"
#include "../node/node_gate.h"
#include "../node/node_wait.h"
#include "win_window.h"

/*
 * Measured here (docs/design.md): adopting and giving back cost 0.25 ms together in a process of some hundred
 * mappings (where the kernel can be asked for one of them, mem_adopt_query.h), and 0.48 ms for each MiB that
 * has been touched when all ranks do it at once. What was never touched costs next to nothing. How much that
 * is takes time to find out as well, 2 us for each MiB: it is asked when the traffic has paid for the rest.
 * An operation by CMA takes 1.3 us, and 55 to 140 ns for each KiB, more than on mapped memory here; 0.55 us
 * elsewhere. An update reads and writes: twice that.
 */
enum {
    PRICE_FIXED_NS = 250000,
    PRICE_PER_KIB_NS = 470,
    PRICE_LOOK_PER_KIB_NS = 2,
    SAVED_PER_OPERATION_NS = 1000,
    SAVED_PER_HELP_NS = 120,
    SAVED_PER_KIB_NS = 80,
    WORTH_COUNTING = 16 << 20 /* bytes that are touched: so many are counted whatever has been earned */
};

/* How long an origin waits for an owner that must adopt, since the kernel refuses all else. */
static const uint64_t demand_timeout_ns = 10000000000;

/* Exchanges pages. Peers are kept out meanwhile by this process's gate (node_gate.c). */
static enum trma_status adopt(void *base, uint64_t size, struct trma_share *share, const char **reason) {
    if (!trma_node_gate_self()) {
        *reason = "no shared memory can be had by which peers are kept out meanwhile";
        return TRMA_ERR_REFUSED;
    }
    return trma_mem_adopt_range(base, size, share, reason);
}

void trma_win_adopt_begin(void *base, uint64_t size, enum trma_adopt_mode mode, struct trma_share *share,
                          uint64_t *serial, const char **reason) {
    *serial = 0;
    *reason = NULL;
    if (trma_mem_adopt_join(base, size, share)) {
        *serial = share->ticket.serial;
    } else if (!share->ticket.serial && size && mode == TRMA_ADOPT_AT_ONCE) {
        if (adopt(base, size, share, reason) == TRMA_OK) {
            *serial = share->ticket.serial;
        } else {
            trma_mem_share_describe(base, size, share);
        }
    }
}

static uint64_t price_of(uint64_t size, uint64_t touched) {
    return PRICE_FIXED_NS + size / 1024 * PRICE_LOOK_PER_KIB_NS + touched / 1024 * PRICE_PER_KIB_NS;
}

void trma_win_adopt_offer(struct trma_window *window) {
    const struct trma_target *self = &window->targets[window->me];

    atomic_fetch_or_explicit(&window->special, TRMA_SPECIAL_ADOPTABLE, memory_order_relaxed);
    atomic_store_explicit(&window->words->adopt.price_ns, price_of(self->size, 0), memory_order_relaxed);
}

/*
 * The price as far as it can be known now, for `earned`: exact when it is not above that, or when not much
 * was touched; else one that is worth another look.
 */
static uint64_t find_price(const struct trma_target *self, uint64_t earned) {
    uint64_t affordable = (earned - price_of(self->size, 0)) / PRICE_PER_KIB_NS * 1024;
    uint64_t most = affordable > WORTH_COUNTING ? affordable : WORTH_COUNTING;
    uint64_t touched = trma_mem_adopt_touched((const void *)self->base, self->size, most);

    if (touched == SIZE_MAX) {
        return 0; /* adoption will be refused for the same reason, and say so */
    }
    uint64_t price = price_of(self->size, touched);
    return touched > most && price < 2 * earned ? 2 * earned : price;
}

static void publish(struct trma_window *window, const struct trma_share *share) {
    struct trma_adopt_words *words = &window->words->adopt;
    unsigned version = atomic_load_explicit(&words->version, memory_order_relaxed);

    atomic_store_explicit(&words->version, version + 1, memory_order_relaxed);
    /* No store below may be seen before the odd version. */
    atomic_thread_fence(memory_order_release);
    trma_win_share_store(&words->share, share);
    /* Release: who sees the even version sees the share. */
    atomic_store_explicit(&words->version, version + 2, memory_order_release);
}

static void adopt_window(struct trma_window *window) {
    struct trma_target *self = &window->targets[window->me];
    struct trma_share share;
    const char *reason = NULL;

    /* Once, whatever comes of it: memory that is refused now would be refused again. */
    atomic_fetch_and_explicit(&window->special, (unsigned char)~TRMA_SPECIAL_ADOPTABLE, memory_order_relaxed);
    if (adopt((void *)self->base, self->size, &share, &reason) == TRMA_OK) {
        window->adopted_serial = share.ticket.serial;
        if (share.mapped_low <= self->base && share.mapped_high >= self->base + self->size) {
            trma_win_window_need_help(window, false);
        }
        publish(window, &share);
    } else {
        window->adopt_reason = reason;
    }
    /* Release: who sees the account closed sees what was published. */
    atomic_store_explicit(&window->words->adopt.price_ns, 0, memory_order_release);
}

void trma_win_adopt_look(struct trma_window *window) {
    struct trma_adopt_words *words = &window->words->adopt;

    /* Again: traffic that came while the price was raised may have paid that one, too, and told nobody. */
    while (trma_win_is_adoptable(window)) {
        uint64_t price = atomic_load_explicit(&words->price_ns, memory_order_relaxed);
        uint64_t earned = atomic_load_explicit(&words->earned_ns, memory_order_seq_cst);
        if (earned < price) {
            break;
        }
        uint64_t known = find_price(&window->targets[window->me], earned);
        if (known <= earned) {
            adopt_window(window);
        } else {
            /* Sequentially consistent, as an origin's sum and the look at the account after it: one of the
             * two sees the other. */
            atomic_store_explicit(&words->price_ns, known, memory_order_seq_cst);
        }
    }
}

void trma_win_adopt_release(uint64_t serial) {
    if (serial) {
        /* Where peers cannot be kept out the memory stays a region: nothing is lost but its being private. */
        trma_mem_adopt_release(serial);
    }
}

void trma_win_adopt_follow(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];
    struct trma_adopt_words *words = &target->words->adopt;
    unsigned version = atomic_load_explicit(&words->version, memory_order_acquire);
    struct trma_share share;
    void *base = NULL;

    if (version == target->adopt_version || version % 2) {
        return;
    }
    trma_win_share_load(&words->share, &share);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&words->version, memory_order_relaxed) != version) {
        return; /* looked at again by the next operation */
    }
    target->adopt_version = version;
    if (trma_mem_map_acquire(window->team->peers[index], &share.ticket, &base) != TRMA_OK) {
        target->path_reason = "the target's memory became a region, but it could not be mapped here";
        return;
    }
    target->memory_owner = window->team->peers[index];
    target->memory_serial = share.ticket.serial;
    trma_win_target_map(window, index, &share, base);
}

static void book(struct trma_window *window, uint32_t index, uint64_t saved) {
    struct trma_adopt_words *words = &window->targets[index].words->adopt;

    if (atomic_load_explicit(&words->price_ns, memory_order_relaxed)) {
        /* Sequentially consistent, both: see trma_win_adopt_look. */
        uint64_t before = atomic_fetch_add_explicit(&words->earned_ns, saved, memory_order_seq_cst);
        uint64_t price = atomic_load_explicit(&words->price_ns, memory_order_seq_cst);
        struct trma_gate *gate = window->team->peers[index]->gate;
        if (before < price && before + saved >= price && gate) {
            /* Release: an owner that sees it sees the account as well. */
            atomic_store_explicit(&gate->wanted, 1, memory_order_release);
        }
    }
}

void trma_win_adopt_earn(struct trma_window *window, uint32_t index, uint64_t bytes, bool is_update) {
    book(window, index, (SAVED_PER_OPERATION_NS + bytes / 1024 * SAVED_PER_KIB_NS) << is_update);
}

void trma_win_adopt_earn_help(struct trma_window *window, uint32_t index, uint64_t pieces) {
    book(window, index, pieces * SAVED_PER_HELP_NS);
}

static bool has_published(const struct trma_target *target) {
    unsigned version = atomic_load_explicit(&target->words->adopt.version, memory_order_acquire);

    return version && version % 2 == 0;
}

enum trma_status trma_win_adopt_demand(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];
    struct trma_adopt_words *words = &target->words->adopt;
    struct trma_gate *gate = window->team->peers[index]->gate;
    uint64_t price = atomic_load_explicit(&words->price_ns, memory_order_relaxed);
    uint64_t start = trma_node_clock_ns();
    enum trma_status status = TRMA_OK;

    atomic_fetch_add_explicit(&words->earned_ns, price, memory_order_relaxed);
    /* A closed account, acquired before the last look at what was published, means that the owner has tried.
     */
    for (unsigned tries = 1;
         !status && gate && atomic_load_explicit(&words->price_ns, memory_order_acquire) &&
         trma_node_clock_ns() - start < demand_timeout_ns;
         tries++) {
        atomic_store_explicit(&gate->wanted, 1, memory_order_release);
        status = trma_node_wait_step(&window->team->waiter, tries);
    }
    if (!status && !has_published(target)) {
        status = TRMA_ERR_REFUSED;
    }
    return status;
}
