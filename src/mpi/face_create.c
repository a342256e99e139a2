/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_create.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "call_visit.h"
#include "face_host.h"
#include "face_log.h"
#include "face_statistics.h"
#include "face_type.h"
#include "mem/mem_heap.h"
#include "mem/mem_huge.h"
#include "mem/mem_map.h"
#include "win/win_epoch.h"

/* What members tell each other: first their sizes (shared windows need them to find their place), then their
 * cards. */
struct request {
    uint64_t size;
    int32_t code; /* MPI_SUCCESS, or the class of what is wrong with this member's arguments */
    int32_t is_noncontiguous;
    int32_t lacks_cma; /* some member's private memory is out of this one's reach */
    int32_t lacks_xpmem;
    int32_t updates_are_small;
};

struct outcome {
    int32_t code;
    int32_t succeeded;
};

/* One construction under way. */
struct construction {
    struct trma_making *making;
    struct trma_team *team;
    struct request *requests;
    struct trma_window_options options;
    struct trma_window_card *cards;
    struct trma_window_card mine;    /* until the core has taken it over */
    struct trma_window_words *words; /* likewise */
    struct trma_window *core;
    void *memory;           /* allocated here */
    uint64_t shared_serial; /* mapped here */
    struct trma_host_window host;
    struct trma_hints hints;
    const char *refusal;
};

static int check_arguments(const struct trma_making *making) {
    if (making->size < 0) {
        return MPI_ERR_SIZE;
    }
    if (making->disp_unit <= 0 || making->disp_unit > INT32_MAX) {
        return MPI_ERR_DISP;
    }
    return MPI_SUCCESS;
}

/* How memory that the user brings is to be made mapped. */
static enum trma_adopt_mode adopt_mode_of(const struct trma_making *making, const struct trma_hints *hints) {
    static const enum trma_adopt_mode modes[] = {
        [TRMA_ADOPT_AUTO] = TRMA_ADOPT_EARNED,
        [TRMA_ADOPT_ALWAYS] = TRMA_ADOPT_AT_ONCE,
        [TRMA_ADOPT_NEVER] = TRMA_ADOPT_NOT,
    };

    if (making->flavor != MPI_WIN_FLAVOR_CREATE && making->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return TRMA_ADOPT_NOT;
    }
    return modes[trma_hints_adopt(hints)];
}

static bool has_cma(const struct trma_peer *peer) {
    return atomic_load_explicit(&peer->has_cma, memory_order_relaxed);
}

static bool has_xpmem(const struct trma_peer *peer) {
    return peer->xpmem_access != 0;
}

static bool lacks(const struct trma_team *team, bool (*has)(const struct trma_peer *peer)) {
    for (uint32_t i = 0; i < team->size; i++) {
        if (!team->peers[i]->is_self && !has(team->peers[i])) {
            return true;
        }
    }
    return false;
}

/* Everybody learns everybody's request; gives the class of the first wrong argument. */
static enum trma_status exchange_requests(struct construction *work, int *code) {
    struct request mine = {.size = work->making->size > 0 ? (uint64_t)work->making->size : 0,
                           .code = check_arguments(work->making),
                           .lacks_cma = lacks(work->team, has_cma),
                           .lacks_xpmem = lacks(work->team, has_xpmem),
                           .is_noncontiguous = work->making->flavor != MPI_WIN_FLAVOR_SHARED ||
                                               trma_hints_say(&work->hints, TRMA_HINT_NONCONTIGUOUS),
                           .updates_are_small = trma_hints_updates_are_small(&work->hints)};
    enum trma_status status = trma_node_team_exchange(work->team, &mine, sizeof mine, work->requests);

    *code = mine.code;
    for (uint32_t i = 0; !status && i < work->team->size && *code == MPI_SUCCESS; i++) {
        *code = work->requests[i].code;
    }
    return status;
}

/* How memory that the user brings is reached, and how elements are updated, alike on all members. */
static void choose_way(struct construction *work) {
    int flavor = work->making->flavor;
    bool all_have_cma = true;

    /* Only memory that is allocated here is mapped for everybody from its first to its last byte. */
    work->options.hardware_atomics = flavor == MPI_WIN_FLAVOR_ALLOCATE || flavor == MPI_WIN_FLAVOR_SHARED;
    work->options.by_xpmem = work->team->size > 1;
    for (uint32_t i = 0; i < work->team->size; i++) {
        all_have_cma &= !work->requests[i].lacks_cma;
        work->options.by_xpmem &= !work->requests[i].lacks_xpmem;
        work->options.hardware_atomics &= work->requests[i].updates_are_small;
    }
    if (work->options.adopt == TRMA_ADOPT_EARNED && work->options.by_xpmem) {
        work->options.adopt = TRMA_ADOPT_NOT; /* it is mapped without a copy */
    } else if (work->options.adopt == TRMA_ADOPT_EARNED && !all_have_cma) {
        work->options.adopt = TRMA_ADOPT_AT_ONCE; /* it cannot be earned by traffic that does not flow */
    }
}

static enum trma_status allocate(const struct trma_making *making, size_t size, void **memory) {
    enum trma_status status =
        trma_mem_heap_allocate(TRMA_HEAP_DATA, size, trma_hints_alignment(making->info, size), memory);

    if (!status) {
        trma_mem_huge_populate_new(*memory, size);
    }
    return status;
}

static bool is_contiguous_shared(const struct construction *work) {
    for (uint32_t i = 0; i < work->team->size; i++) {
        if (!work->requests[i].is_noncontiguous) {
            return true; /* alloc_shared_noncontig must be the same on all members, else contiguous is the
                            safe reading */
        }
    }
    return false;
}

/* The first member allocates for all, segments lie one behind the other (MPI-4.1 section 12.2.3). */
static enum trma_status place_shared(struct construction *work, struct trma_window_card *card) {
    struct trma_share *shares = calloc(work->team->size, sizeof *shares);
    struct trma_share mine = {0};
    uint64_t total = 0;
    uint64_t before = 0;
    void *base = NULL;
    enum trma_status status = TRMA_OK;

    for (uint32_t i = 0; i < work->team->size; i++) {
        before = i == work->team->me ? total : before;
        total += work->requests[i].size;
    }
    if (work->team->me == 0) {
        status = allocate(work->making, total, &work->memory);
        if (!status) {
            trma_mem_share_describe(work->memory, total, &mine);
        }
    }
    /* A member without memory for the shares still takes part, with what it can. */
    struct trma_share one;
    enum trma_status exchanged = shares ? trma_node_team_exchange(work->team, &mine, sizeof mine, shares)
                                        : trma_node_team_exchange(work->team, &mine, 0, &one);
    status = status ? status : exchanged;
    if (!status && !shares) {
        status = TRMA_ERR_NO_MEMORY;
    }
    if (!status && !shares[0].ticket.serial) {
        status = TRMA_ERR_NO_MEMORY;
    }
    if (!status) {
        status = trma_mem_map_acquire(work->team->peers[0], &shares[0].ticket, &base);
    }
    if (!status) {
        work->shared_serial = shares[0].ticket.serial;
        work->making->base = (char *)base + shares[0].offset + before;
        card->base = (uintptr_t)work->making->base;
        card->memory = shares[0];
        card->memory.address = card->memory.mapped_low = card->base;
        card->memory.size = card->size;
        card->memory.mapped_high = card->base + card->size;
        card->memory.offset = shares[0].offset + before;
        card->memory_owner = 0;
    }
    free(shares);
    return status;
}

/* Finds or makes this member's memory and fills its card. */
static enum trma_status place_memory(struct construction *work, struct trma_window_card *card) {
    struct trma_making *making = work->making;
    bool is_shared = making->flavor == MPI_WIN_FLAVOR_SHARED && is_contiguous_shared(work);
    bool allocates =
        !is_shared && (making->flavor == MPI_WIN_FLAVOR_ALLOCATE || making->flavor == MPI_WIN_FLAVOR_SHARED);
    enum trma_status status = TRMA_OK;

    if (allocates) {
        status = allocate(making, (size_t)making->size, &work->memory);
        making->base = work->memory;
    }
    trma_win_card_fill(work->team, making->base,
                       making->flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : (size_t)making->size,
                       (uint32_t)making->disp_unit, &work->options, card, &work->words);
    if (is_shared) {
        status = place_shared(work, card);
    }
    card->usable = card->usable && !status;
    return status;
}

/* Steps until this member knows whether the window can be ours; the statuses of all members are compared
 * afterwards. */
static enum trma_status build(struct construction *work, int *code) {
    enum trma_status status = exchange_requests(work, code);

    if (status || *code != MPI_SUCCESS) {
        return status;
    }
    choose_way(work);
    enum trma_status placed = place_memory(work, &work->mine);
    status = trma_node_team_exchange(work->team, &work->mine, sizeof work->mine, work->cards);
    if (status) {
        return status;
    }
    status = trma_win_window_create(work->team, work->cards, work->words, &work->options, &work->core,
                                    &work->refusal);
    work->words = NULL; /* the core has taken words and card over */
    work->mine.adopted = 0;
    if (!placed && !status &&
        trma_host_window_make(&work->host, work->making->info, work->making->comm) != MPI_SUCCESS) {
        work->host.win = MPI_WIN_NULL;
        work->refusal = "the host MPI cannot make a window";
        status = TRMA_ERR_SYSTEM;
    }
    return placed ? placed : status;
}

/* All members decide alike: the worst outcome counts. */
static void agree(struct construction *work, enum trma_status status, struct outcome *outcome) {
    struct outcome mine = {.succeeded = status == TRMA_OK};
    struct outcome *all = calloc(work->team->size, sizeof *all);

    *outcome = mine;
    if (!all || trma_node_team_exchange(work->team, &mine, sizeof mine, all)) {
        outcome->succeeded = 0;
    } else {
        for (uint32_t i = 0; i < work->team->size; i++) {
            outcome->succeeded = outcome->succeeded && all[i].succeeded;
        }
    }
    free(all);
}

/* Once, since a program may make thousands of windows. */
static void tell_refusal(const struct construction *work) {
    static atomic_bool is_told;
    enum trma_knob_log level =
        atomic_exchange_explicit(&is_told, true, memory_order_relaxed) ? TRMA_LOG_INFO : TRMA_LOG_WARN;
    const char *reason = work->mine.adopt_reason;

    trma_log(level, "a window of %u ranks goes to the host MPI, because %s%s%s", work->team->size,
             work->refusal ? work->refusal : "another member cannot reach its peers' memory",
             reason ? "; its memory here was not adopted, because " : "", reason ? reason : "");
}

static void undo(struct construction *work) {
    if (work->host.win != MPI_WIN_NULL) {
        trma_host_window_free(&work->host);
    }
    if (work->core) {
        trma_win_window_destroy(work->core);
    }
    trma_win_card_drop(&work->mine, work->words);
    if (work->shared_serial) {
        trma_mem_map_release(work->team->peers[0], work->shared_serial);
    }
    if (work->memory) {
        trma_mem_heap_free(work->memory);
    }
}

static int finish(struct construction *work, struct trma_face_team *team, MPI_Win *win) {
    static atomic_ullong windows;
    struct trma_making *making = work->making;
    struct trma_win *window = (struct trma_win *)trma_handle_take(&trma_windows);

    if (!window) {
        undo(work);
        return MPI_ERR_NO_MEM;
    }
    trma_host()->Comm_group(making->comm, &window->group);
    if (trma_win_is_adoptable(work->core)) {
        trma_visit_gate = trma_node_gate_self();
    }
    trma_face_team_retain(team);
    window->core = work->core;
    if (making->flavor == MPI_WIN_FLAVOR_SHARED) {
        trma_win_order_at_once(window->core);
    }
    window->size = work->core->size;
    window->host = work->host;
    *win = work->host.win;
    window->team = team;
    window->base = making->flavor == MPI_WIN_FLAVOR_DYNAMIC ? MPI_BOTTOM : making->base;
    window->bytes = making->flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : making->size;
    window->disp_unit = (int)making->disp_unit;
    window->flavor = making->flavor;
    window->model = MPI_WIN_UNIFIED;
    window->hints = work->hints;
    window->memory = work->memory;
    window->shared_serial = work->shared_serial;
    window->serial = atomic_fetch_add_explicit(&windows, 1, memory_order_relaxed) + 1;
    trma_handle_insert(&trma_windows, &window->handle, (uintptr_t)*win);
    trma_statistics_announce(window);
    if (work->core->adopt_reason) {
        trma_log(TRMA_LOG_INFO, "window %llu: its memory here was not adopted, because %s",
                 (unsigned long long)window->serial, work->core->adopt_reason);
    }
    return MPI_SUCCESS;
}

int trma_face_create(struct trma_making *making, MPI_Win *win, bool *ours) {
    struct trma_face_team *team = trma_face_team_of(making->comm);
    struct construction work = {.making = making, .host.win = MPI_WIN_NULL};
    struct outcome outcome;
    int code = MPI_SUCCESS;

    /* The tables of types and operations are filled now, not by the first operation. */
    (void)trma_type_find(MPI_BYTE);
    (void)trma_op_find(MPI_SUM);
    *ours = false;
    if (!team || !team->core) {
        return MPI_SUCCESS;
    }
    const bool is_threaded = trma_host_is_threaded();
    trma_handle_expect_threads(is_threaded);
    work.team = team->core;
    trma_hints_init(&work.hints);
    trma_hints_take(&work.hints, making->info, true);
    work.options = (struct trma_window_options){.is_dynamic = making->flavor == MPI_WIN_FLAVOR_DYNAMIC,
                                                .is_threaded = is_threaded,
                                                .counts_operations = trma_statistics_are_wanted(),
                                                .adopt = adopt_mode_of(making, &work.hints)};
    work.requests = calloc(team->core->size, sizeof *work.requests);
    work.cards = calloc(team->core->size, sizeof *work.cards);
    if (!work.requests || !work.cards) {
        free(work.requests);
        free(work.cards);
        trma_log(TRMA_LOG_ERROR, "no memory is left to create a window");
        trma_host()->Comm_call_errhandler(making->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    enum trma_status status = build(&work, &code);
    if (code == MPI_SUCCESS) {
        agree(&work, status, &outcome);
    }
    if (code == MPI_SUCCESS && outcome.succeeded) {
        *ours = true;
        code = finish(&work, team, win);
    } else {
        trma_node_team_barrier(work.team); /* nobody looks at the others' words any more */
        undo(&work);
        if (code == MPI_SUCCESS) {
            tell_refusal(&work);
        } else {
            trma_host()->Comm_call_errhandler(making->comm, code);
        }
    }
    free(work.requests);
    free(work.cards);
    return code;
}

int trma_face_free(struct trma_win *window, MPI_Win *win) {
    struct trma_face_team *team = window->team;

    if (!trma_win_epoch_is_closed(window->core)) {
        return trma_win_raise(window, MPI_ERR_RMA_SYNC);
    }
    /* Everybody's operations on this window are over before its memory may go. The window's own barrier:
     * other threads may be freeing or making windows on the same communicator. */
    enum trma_status status = trma_sync_barrier_pass(&window->core->fence, &team->core->waiter, NULL, NULL);
    if (status) {
        trma_log(TRMA_LOG_ERROR, "window %llu: %s", (unsigned long long)window->serial,
                 trma_status_text(status));
    }
    trma_statistics_report(window);
    /* The window is still ours while the host runs the user's attribute callbacks. */
    int code = trma_host_window_free(&window->host);
    if (code != MPI_SUCCESS) {
        return code;
    }
    *win = MPI_WIN_NULL;
    /* Out of the table first: another thread may be looking at all windows. */
    struct trma_win gone = *window;
    trma_handle_give(&trma_windows, &window->handle);
    trma_win_window_destroy(gone.core);
    if (gone.shared_serial) {
        trma_mem_map_release(team->core->peers[0], gone.shared_serial);
    }
    if (gone.memory) {
        trma_mem_heap_free(gone.memory);
    }
    trma_host()->Group_free(&gone.group);
    free(gone.start_group.ranks);
    free(gone.post_group.ranks);
    trma_face_team_release(team);
    return MPI_SUCCESS;
}
