/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_ADOPT_H
#define TRMA_WIN_ADOPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../trma_status.h"
#include "win_share.h"

/*
 * When a window on private memory becomes mapped. Adoption costs a copy, so by default it must be earned:
 * every operation that goes by CMA adds what it would have saved on mapped memory to a word of the target;
 * when that has come to the price of the adoption, the owner adopts at its next call (the ski rental rule:
 * never worse than twice the best decision made with foresight). The owner then publishes where its memory
 * lies, and origins find that at their next operation.
 */
enum trma_adopt_mode { TRMA_ADOPT_NOT, TRMA_ADOPT_EARNED, TRMA_ADOPT_AT_ONCE };

/* In the owner's words for the window. */
struct trma_adopt_words {
    _Alignas(64) _Atomic uint64_t earned_ns; /* written by all origins */
    _Alignas(64) _Atomic uint64_t price_ns;  /* 0: the window is not for adoption (any more) */
    atomic_uint version;                     /* as in struct trma_attach_words; 0: nothing was published */
    struct trma_share_words share;
};

struct trma_window;
struct trma_target;

/* The owner's side, at creation: says what [base, base+size) is, or makes it so, in *share; *serial is what
 * trma_win_adopt_release must be called with (0: nothing). *reason, when it is not NULL, says why it was not
 * adopted. */
void trma_win_adopt_begin(void *base, uint64_t size, enum trma_adopt_mode mode, struct trma_share *share,
                          uint64_t *serial, const char **reason);

/* Opens the account of a window that may earn its adoption. */
void trma_win_adopt_offer(struct trma_window *window);

/* Adopts, if it has been earned. The window's guard is held. */
void trma_win_adopt_look(struct trma_window *window);

/* Gives the memory back when the last window on it goes. Peers write there no more. Serial 0 is ignored. */
void trma_win_adopt_release(uint64_t serial);

/* The origin's side: takes over what the owner has published, if it is new. Under the window's guard. */
void trma_win_adopt_follow(struct trma_window *window, uint32_t target);

/* The origin's side: books an operation of `bytes` that went by CMA; an update is one that read and wrote. */
void trma_win_adopt_earn(struct trma_window *window, uint32_t target, uint64_t bytes, bool is_update);

/* As trma_win_adopt_earn, for pieces that the target did itself (node_help.h): they save little more. */
void trma_win_adopt_earn_help(struct trma_window *window, uint32_t target, uint64_t pieces);

/*
 * The origin's side, when the kernel refuses CMA to the target from now on: asks the owner to adopt, and
 * waits until it comes by, with a bound. TRMA_OK: the owner has published its memory, see
 * trma_win_adopt_follow. TRMA_ERR_REFUSED: it cannot adopt, or did not come by in time.
 */
enum trma_status trma_win_adopt_demand(struct trma_window *window, uint32_t target);

#endif
