/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_window.h"

#include <stdlib.h>
#include <string.h>

#include "../mem/mem_heap.h"
#include "../mem/mem_map.h"
#include "../mem/mem_xpmem.h"
#include "win_deferred.h"
#include "win_order.h"

static size_t words_size(uint32_t members) {
    return sizeof(struct trma_window_words) + members * sizeof(struct trma_pscw_words);
}

void trma_win_card_fill(const struct trma_team *team, void *base, size_t size, uint32_t disp_unit,
                        const struct trma_window_options *options, struct trma_window_card *card,
                        struct trma_window_words **words) {
    void *memory = NULL;

    memset(card, 0, sizeof *card);
    *words = NULL;
    card->base = (uintptr_t)base;
    card->size = size;
    card->disp_unit = disp_unit;
    card->memory_owner = team->me;
    if (trma_mem_heap_allocate(TRMA_HEAP_CONTROL, words_size(team->size), 64, &memory)) {
        return;
    }
    *words = memory;
    trma_mem_share_describe(memory, words_size(team->size), &card->words);
    trma_win_adopt_begin(base, size, options->adopt, &card->memory, &card->adopted, &card->adopt_reason);
    if (options->by_xpmem && size && !card->memory.ticket.serial) {
        trma_mem_xpmem_describe(base, size, &card->memory);
    }
    card->usable = 1;
}

void trma_win_card_drop(const struct trma_window_card *card, struct trma_window_words *words) {
    trma_win_adopt_release(card->adopted);
    if (words) {
        trma_mem_heap_free(words);
    }
}

static enum trma_status map_words(struct trma_window *window, uint32_t member,
                                  const struct trma_window_card *card) {
    struct trma_target *target = &window->targets[member];
    void *base = NULL;

    if (!card->usable) {
        return TRMA_ERR_NO_MEMORY;
    }
    enum trma_status status = trma_mem_map_acquire(window->team->peers[member], &card->words.ticket, &base);
    if (status) {
        return status;
    }
    target->words_serial = card->words.ticket.serial;
    target->words = (struct trma_window_words *)((char *)base + card->words.offset);
    window->fence_words[member] = &target->words->fence;
    return TRMA_OK;
}

void trma_win_target_map(struct trma_window *window, uint32_t index, const struct trma_share *share,
                         void *base) {
    struct trma_target *target = &window->targets[index];

    target->path.local = (char *)base + share->offset;
    target->path.mapped_low = share->mapped_low;
    target->path.mapped_high = share->mapped_high;
    target->is_whole =
        !window->is_dynamic && trma_move_path_is_mapped(&target->path, target->base, target->size);
    target->may_help &= !target->is_whole;
    target->path.helper = NULL;
    target->path_reason =
        target->is_whole ? NULL : "pages at the window's edges are shared with other data of the target";
    if (!window->is_dynamic && !trma_win_is_counted(window)) {
        target->quick_low = share->mapped_low - target->base;
        target->quick_local = target->path.local;
        /* Release: a thread that sees the span sees the place. */
        atomic_store_explicit(&target->quick_span, share->mapped_high - share->mapped_low,
                              memory_order_release);
    }
}

/* Finds the best path to the target's memory. TRMA_ERR_REFUSED: there is none. */
static enum trma_status find_path(struct trma_window *window, uint32_t member,
                                  const struct trma_window_card *card, const char **refusal) {
    struct trma_target *target = &window->targets[member];
    struct trma_peer *peer = window->team->peers[member];
    void *base = NULL;

    target->base = card->base;
    target->size = card->size;
    target->disp_unit = card->disp_unit;
    target->path = (struct trma_path){.peer = peer};
    if (peer->is_self && !window->is_dynamic) {
        /* One's own memory is at hand whatever it is. */
        struct trma_share self = {.mapped_low = card->base, .mapped_high = card->base + card->size};
        trma_win_target_map(window, member, &self, (void *)(uintptr_t)card->base);
    } else if (card->memory.ticket.serial) {
        struct trma_peer *owner = window->team->peers[card->memory_owner];
        enum trma_status status = trma_mem_map_acquire(owner, &card->memory.ticket, &base);
        if (status) {
            target->path_reason = trma_status_text(status);
        } else {
            target->memory_owner = owner;
            target->memory_serial = card->memory.ticket.serial;
            trma_win_target_map(window, member, &card->memory, base);
        }
    } else {
        target->path_reason = "the window lies in private memory of the target";
    }
    target->is_whole = target->is_whole || (!card->size && !window->is_dynamic);
    if ((card->size || window->is_dynamic) && !target->is_whole && !peer->is_self && !peer->has_cma) {
        *refusal = peer->cma_reason ? peer->cma_reason : "the kernel refuses to read the target's memory";
        return TRMA_ERR_REFUSED;
    }
    return TRMA_OK;
}

static struct trma_window *allocate_window(uint32_t size) {
    struct trma_window *window = NULL;

    if (posix_memalign((void **)&window, 64, sizeof *window + size * sizeof(struct trma_target))) {
        return NULL;
    }
    memset(window, 0, sizeof *window + size * sizeof(struct trma_target));
    pthread_mutex_init(&window->guard, NULL);
    window->size = size;
    window->active = calloc(size, sizeof(uint32_t));
    window->start_group = calloc(size, sizeof(uint32_t));
    window->post_group = calloc(size, sizeof(uint32_t));
    window->fence_words = calloc(size, sizeof(void *));
    window->presences = calloc(size, sizeof(void *));
    if (!window->active || !window->start_group || !window->post_group || !window->fence_words ||
        !window->presences) {
        trma_win_window_destroy(window);
        return NULL;
    }
    return window;
}

static enum trma_status wait_for_stripe(void *argument, uint32_t owner, unsigned tries) {
    const struct trma_window *window = argument;

    (void)owner; /* any dead member ends the program's use of the window, so all are looked at */
    return trma_node_wait_step(&window->team->waiter, tries);
}

/* True when small transfers to the member's memory may be the member's to do. */
static bool may_help(const struct trma_window_options *options, const struct trma_window_card *card) {
    return !options->by_xpmem && (options->is_dynamic || (card->size && !card->memory.ticket.serial));
}

struct trma_helper *trma_win_target_helper(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];

    if (!target->may_help) {
        return NULL;
    }
    if (!target->helper) {
        target->helper = trma_node_helper_create(&window->team->help, &window->team->blocks[index]->help,
                                                 window->team->peers[index]);
    }
    return target->helper;
}

enum trma_status trma_win_window_create(struct trma_team *team, const struct trma_window_card *cards,
                                        struct trma_window_words *words,
                                        const struct trma_window_options *options, struct trma_window **out,
                                        const char **refusal) {
    enum trma_status status = TRMA_OK;
    struct trma_window *window = allocate_window(team->size);

    *out = NULL;
    *refusal = NULL;
    if (!window) {
        trma_win_card_drop(&cards[team->me], words);
        *refusal = trma_status_text(TRMA_ERR_NO_MEMORY);
        return TRMA_ERR_NO_MEMORY;
    }
    window->team = team;
    window->needs_fence = team->waiter.needs_fence;
    window->rings_fence = team->waiter.rings_fence;
    window->me = team->me;
    window->words = words;
    window->adopted_serial = cards[team->me].adopted;
    window->adopt_reason = cards[team->me].adopt_reason;
    window->is_dynamic = options->is_dynamic;
    atomic_init(&window->special, (options->is_threaded ? TRMA_SPECIAL_THREADED : 0) |
                                      (options->counts_operations ? TRMA_SPECIAL_COUNTED : 0) |
                                      (trma_move_may_be_late() ? TRMA_SPECIAL_LATE : 0));
    if (options->is_threaded) {
        trma_win_order_at_once(window);
    }
    for (uint32_t i = 0; i < team->size && !status; i++) {
        status = map_words(window, i, &cards[i]);
        if (!status) {
            status = find_path(window, i, &cards[i], refusal);
        }
    }
    if (!status && window->is_dynamic) {
        window->attachments = trma_win_attachments_create(
            &words->attached, options->adopt == TRMA_ADOPT_AT_ONCE, options->by_xpmem);
        status = window->attachments ? TRMA_OK : TRMA_ERR_NO_MEMORY;
    }
    if (status) {
        if (!*refusal) {
            *refusal = trma_status_text(status);
        }
        trma_win_window_destroy(window);
        return status;
    }
    /* An origin with threads shows one presence only; and all must be reached by the membarrier. */
    const bool enters_singles =
        !options->hardware_atomics && !options->is_threaded && !team->waiter.needs_fence;
    for (uint32_t i = 0; i < team->size; i++) {
        struct trma_target *target = &window->targets[i];
        window->presences[i] = &target->words->presence;
        target->may_help = i != team->me && may_help(options, &cards[i]);
        target->posted = &words->pairs[i].posted;
        target->completed = &target->words->pairs[team->me].completed;
        target->updates = (struct trma_acc_context){.domain = &target->words->updates,
                                                    .me = team->me,
                                                    .hardware_atomics = options->hardware_atomics,
                                                    .presence = enters_singles ? &words->presence : NULL,
                                                    .presences = window->presences,
                                                    .n_members = team->size,
                                                    .has_stored = &window->has_stored,
                                                    .wait = wait_for_stripe,
                                                    .argument = window};
    }
    if (options->adopt == TRMA_ADOPT_EARNED && !window->is_dynamic && words &&
        !cards[team->me].memory.ticket.serial && cards[team->me].size && team->size > 1) {
        trma_win_adopt_offer(window);
    }
    trma_win_window_need_help(window, team->size > 1 && may_help(options, &cards[team->me]));
    window->fence = (struct trma_barrier){.size = team->size,
                                          .me = team->me,
                                          .crowded = team->waiter.crowded,
                                          .words = window->fence_words,
                                          .bells = team->bells};
    /* They have all just made the window. */
    window->looked_ns = trma_node_clock_ns();
    window->calls_per_look = 16;
    window->until_look = window->calls_per_look;
    *out = window;
    return TRMA_OK;
}

void trma_win_window_need_help(struct trma_window *window, bool needs_help) {
    if (needs_help && !window->needs_help) {
        /* Relaxed: a hint to waits. */
        atomic_fetch_add_explicit(&window->team->help.windows, 1, memory_order_relaxed);
    } else if (!needs_help && window->needs_help) {
        atomic_fetch_sub_explicit(&window->team->help.windows, 1, memory_order_relaxed);
    }
    window->needs_help = needs_help;
}

void trma_win_window_destroy(struct trma_window *window) {
    trma_win_window_need_help(window, false);
    trma_win_attachments_destroy(window->attachments);
    for (uint32_t i = 0; window->team && i < window->size; i++) {
        struct trma_target *target = &window->targets[i];
        trma_win_deferred_clear(target);
        trma_win_attached_clear(&target->attached, window->team->peers[i]);
        free(target->helper);
        if (target->memory_serial) {
            trma_mem_map_release(target->memory_owner, target->memory_serial);
        }
        if (target->words_serial) {
            trma_mem_map_release(window->team->peers[i], target->words_serial);
        }
    }
    trma_win_adopt_release(window->adopted_serial);
    if (window->words) {
        trma_mem_heap_free(window->words);
    }
    pthread_mutex_destroy(&window->guard);
    free(window->active);
    free(window->start_group);
    free(window->post_group);
    free(window->fence_words);
    free(window->presences);
    free(window);
}

const char *trma_win_target_path_name(const struct trma_window *window, uint32_t member) {
    const struct trma_target *target = &window->targets[member];

    if (window->is_dynamic) {
        return "dynamic";
    }
    if (!target->size) {
        return "none";
    }
    if (window->team->peers[member]->is_self) {
        return "self";
    }
    if (target->is_whole) {
        return "mapped";
    }
    return target->path.mapped_high > target->path.mapped_low ? "mapped + cma" : "cma";
}
