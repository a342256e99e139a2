/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of the sizes that we do not leave to the C library: every byte, and none beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "move/move_bytes.h"
#include "move/move_claim.h"
#include "move/move_contest.h"
#include "move/move_place.h"
#include "move/move_ways.h"
#include "node/node_cache.h"

enum { PAGE = 4096, ROOM = TRMA_MOVE_MIDDLE_MOST + 512, GUARD = 0x5a };

static unsigned char source[ROOM];
static unsigned char target[ROOM];
static unsigned char expected[ROOM];

static void number(unsigned char *bytes, unsigned seed) {
    for (size_t i = 0; i < ROOM; i++) {
        bytes[i] = (unsigned char)((i + seed) * 0x9e3779b1U >> 13);
    }
}

static void check_copy(size_t to, size_t from, size_t size) {
    memset(expected, GUARD, ROOM);
    memcpy(expected + to, source + from, size);
    /* Only the second copy to one place goes by vectors. */
    for (int time = 0; time < 2; time++) {
        memset(target, GUARD, ROOM);
        trma_move_fetch_bytes(target + to, source + from, size);
        assert_memory_equal(target, expected, ROOM);
    }
}

static void every_size_is_copied(void **state) {
    (void)state;
    number(source, 1);
    for (size_t size = TRMA_MOVE_MIDDLE_MORE_THAN - 70; size <= TRMA_MOVE_MIDDLE_MORE_THAN + 1100; size++) {
        check_copy(size % 67, size % 131, size);
    }
    for (size_t size = TRMA_MOVE_MIDDLE_MOST - 300; size <= TRMA_MOVE_MIDDLE_MOST + 70; size++) {
        check_copy(size % 71, size % 137, size);
    }
}

static void every_alignment_is_copied(void **state) {
    (void)state;
    number(source, 2);
    for (size_t to = 0; to <= 64; to++) {
        for (size_t from = 0; from <= 64; from += 3) {
            check_copy(to, from, TRMA_MOVE_MIDDLE_MORE_THAN + 1 + 7 * to);
        }
    }
}

static void overlapping_sides_are_moved(void **state) {
    (void)state;
    const size_t size = TRMA_MOVE_MIDDLE_MORE_THAN + 333;
    for (size_t distance = 0; distance <= size + 2; distance += distance < 130 ? 1 : 211) {
        for (int is_up = 0; is_up <= 1; is_up++) {
            size_t from = is_up ? 10 : 10 + distance;
            size_t to = is_up ? 10 + distance : 10;
            number(expected, 3);
            memmove(expected + to, expected + from, size);
            for (int time = 0; time < 2; time++) {
                number(target, 3);
                trma_move_fetch_bytes(target + to, target + from, size);
                assert_memory_equal(target, expected, ROOM);
            }
        }
    }
}

/* As check_copy, anywhere in two rooms of TRMA_MOVE_LONG_MOST + 4096 bytes. */
static void check_large(unsigned char *to_room, const unsigned char *from_room, size_t to, size_t from,
                        size_t size) {
    const size_t room = TRMA_MOVE_LONG_MOST + 4096;
    for (int time = 0; time < 4; time++) { /* each way in both orders, see move_turn.h */
        memset(to_room, GUARD, room);
        (time < 2 ? trma_move_fetch_bytes : trma_move_copy_bytes)(to_room + to, from_room + from, size);
        assert_memory_equal(to_room + to, from_room + from, size);
        for (size_t i = 0; i < to; i++) {
            assert_int_equal(to_room[i], GUARD);
        }
        for (size_t i = to + size; i < room; i++) {
            if (to_room[i] != GUARD) {
                fail_msg("byte %zu behind the %zu was written", i - to - size, size);
            }
        }
    }
}

static unsigned char *make_numbered(size_t room) {
    unsigned char *bytes = malloc(room);

    assert_non_null(bytes);
    for (size_t i = 0; i < room; i++) {
        bytes[i] = (unsigned char)(i * 0x9e3779b1U >> 13);
    }
    return bytes;
}

static void large_ones_are_copied(void **state) {
    const size_t room = TRMA_MOVE_LONG_MOST + 4096;
    unsigned char *from = make_numbered(room);
    unsigned char *to = make_numbered(room);
    (void)state;
    for (size_t beside = 0; beside < 70; beside += 23) {
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_FIRST_CACHE + beside);
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_FIRST_CACHE + 1);
        check_large(to, from, beside, 69 - beside, 65536 + beside);
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_LARGE_LEAST - 1);
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_LARGE_LEAST);
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_LARGE_LEAST + beside);
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_LONG_MOST);
        check_large(to, from, beside, 69 - beside, TRMA_MOVE_LONG_MOST + 1);
    }
    free(from);
    free(to);
}

enum { PIECE = (2 << 20) + 7, MARGIN = 70 }; /* of a run */

/* Each piece at its place, and nothing beside, wherever lines begin; again and again, since a run that is
 * known may be copied otherwise. */
static void check_run(size_t pieces, size_t piece) {
    const size_t room = pieces * piece + (size_t)2 * MARGIN;
    unsigned char *from = make_numbered(room);
    unsigned char *to = make_numbered(room);
    for (int time = 0; time < 10; time++) {
        const size_t begin = time % 4 < 2 ? 1 : MARGIN;
        memset(to, GUARD, room);
        for (size_t i = 0; i < pieces; i++) {
            (time % 2 ? trma_move_fetch_bytes : trma_move_copy_bytes)(to + begin + i * piece,
                                                                      from + begin + i * piece, piece);
            assert_int_equal(to[begin + (i + 1) * piece], GUARD);
        }
        assert_int_equal(to[begin - 1], GUARD);
        assert_memory_equal(to + begin, from + begin, pieces * piece);
    }
    free(from);
    free(to);
}

/* Such as are written past the caches, from their begin on when they are known. */
static void runs_are_copied(void **state) {
    (void)state;
    /* More than a run takes to be long: half of the cache. */
    check_run(trma_node_cache_bytes() / 2 / PIECE + 2, PIECE);
}

/* Such as go either way, as it takes less. */
static void shorter_runs_are_copied(void **state) {
    (void)state;
    check_run(2, PIECE);
}

/* Also of pieces that go by string instructions, if they are quick there, and of those around. */
static void known_runs_are_copied(void **state) {
    const size_t sizes[] = {TRMA_MOVE_STRING_LEAST - 1, TRMA_MOVE_STRING_LEAST, TRMA_MOVE_STRING_LEAST + 77,
                            TRMA_MOVE_STRING_LESS_THAN - 1, TRMA_MOVE_STRING_LESS_THAN};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_run(TRMA_MOVE_PLACE_LEAST / sizes[i] + 2, sizes[i]);
    }
}

/* Of a run that goes past the caches the first bytes go through them now and then. */
static void watched_runs_are_copied(void **state) {
    enum { SLOW = 100000000, RUNS = 2 * (TRMA_MOVE_WATCH_EVERY + 2) };
    static size_t times;
    const size_t room = PIECE + (size_t)2 * MARGIN;
    unsigned char *from = make_numbered(room);
    unsigned char *to = malloc(room);

    (void)state;
    assert_non_null(to);
    times++;
    for (size_t beside = 1; beside < MARGIN; beside += 17) {
        unsigned char *target = to + beside;
        /* Not as far from it as where other tests put, or this one the last time: all want unknown places. */
        const unsigned char *source = from + beside + times;
        struct trma_move_place *place = trma_move_place_learn((uintptr_t)target, (uintptr_t)source, true);
        for (unsigned i = 0; i < 2 * TRMA_MOVE_WAYS_WAIT_MOST; i++) {
            const bool is_past = trma_move_place_begin(place, SIZE_MAX, SIZE_MAX);
            trma_move_place_end(place, PIECE, is_past ? SLOW : (uint64_t)10 * SLOW, PIECE);
        }
        for (unsigned i = 1; i < RUNS; i++) {
            memset(to, GUARD, room);
            trma_move_copy_bytes(target, source, PIECE);
            assert_memory_equal(target, source, PIECE);
            assert_int_equal(target[-1], GUARD);
            assert_int_equal(target[PIECE], GUARD);
        }
        /* The last one but one prepared the look that is due now. */
        assert_int_equal(trma_move_place_watch(place), TRMA_MOVE_WATCH_TIME);
    }
    free(from);
    free(to);
}

/* A put of `size` bytes that a core far away has made slow, for all that is known. */
static struct trma_move_contest_way note_contested(const unsigned char *to, size_t size) {
    enum { OWN = 1000 };
    struct trma_move_contest *contest = trma_move_contest_find((uintptr_t)to);
    const struct trma_move_contest_way way = trma_move_contest_take(contest, (uintptr_t)to, size);
    if (way.is_timed) {
        trma_move_contest_note(contest, &way, (way.is_past ? OWN : 9 * OWN) * way.bytes / (64 << 10), OWN);
    }
    return way;
}

enum next { PAST, BEFORE_LOOK, LOOK };

/* What the next put there will be. */
static struct trma_move_contest *contest_of(const unsigned char *to, enum next next) {
    const size_t least = TRMA_MOVE_CONTEST_LEAST;
    struct trma_move_contest_way way;
    do {
        way = note_contested(to, 2 * least);
    } while (!way.is_timed || way.bytes == way.size);
    for (size_t i = 1; next != PAST && i < TRMA_MOVE_CONTEST_BETWEEN_LOOKS / least; i++) {
        assert_true(note_contested(to, least).is_past);
    }
    if (next == LOOK) {
        way = note_contested(to, least);
        assert_false(way.is_past || way.is_timed);
    }
    return trma_move_contest_find((uintptr_t)to);
}

/* Runs that nothing is known of, whose pieces are not looked at much. */
static void pieces_go_on(void **state) {
    const size_t sizes[] = {TRMA_MOVE_MIDDLE_MOST + 1, 20000, 65536 + 13, 65536, 300001};
    const size_t room = 600000;
    unsigned char *from = make_numbered(room);
    unsigned char *to = malloc(room);

    (void)state;
    assert_non_null(to);
    for (size_t beside = 1; beside < 2 * MARGIN; beside++) {
        const bool is_put = beside % 3 != 0;
        size_t end = beside;
        if (is_put && beside % 2 == 0) { /* some of them find their lines contested */
            (void)contest_of(to + beside + TRMA_MOVE_CONTEST_PART, beside % 4 == 0 ? BEFORE_LOOK : PAST);
        }
        memset(to, GUARD, room);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            (is_put ? trma_move_copy_bytes : trma_move_fetch_bytes)(to + end, from + end + MARGIN, sizes[i]);
            end += sizes[i];
            assert_int_equal(to[end], GUARD);
        }
        assert_int_equal(to[beside - 1], GUARD);
        assert_memory_equal(to + beside, from + beside + MARGIN, end - beside);
    }
    free(from);
    free(to);
}

/* A piece that overlaps what it is copied from is moved, also where it goes on. */
static void a_run_may_come_to_overlap(void **state) {
    enum { SIZE = 65536, DISTANCE = 3 * SIZE / 2 };
    unsigned char *bytes = make_numbered((size_t)5 * SIZE);
    unsigned char *moved = make_numbered((size_t)5 * SIZE);

    (void)state;
    memmove(moved + DISTANCE, moved, SIZE);
    memmove(moved + DISTANCE + SIZE, moved + SIZE, (size_t)2 * SIZE);
    trma_move_copy_bytes(bytes + DISTANCE, bytes, SIZE);
    trma_move_copy_bytes(bytes + DISTANCE + SIZE, bytes + SIZE, (size_t)2 * SIZE);
    assert_memory_equal(bytes, moved, (size_t)5 * SIZE);
    free(bytes);
    free(moved);
}

static void check_large_overlap(size_t size) {
    const size_t distances[] = {0, 1, 63, 200, 4096, size - 300, size - 77, size - 1, size, size + 1};
    unsigned char *bytes = malloc(3 * size);
    unsigned char *moved = malloc(3 * size);
    assert_true(bytes && moved);
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        for (int is_up = 0; is_up <= 1; is_up++) {
            const size_t low = 5;
            const size_t high = low + distances[i];
            for (int time = 0; time < 2; time++) {
                for (size_t b = 0; b < 3 * size; b++) {
                    bytes[b] = moved[b] = (unsigned char)(b * 0x9e3779b1U >> 13);
                }
                memmove(moved + (is_up ? high : low), moved + (is_up ? low : high), size);
                (time ? trma_move_fetch_bytes : trma_move_copy_bytes)(bytes + (is_up ? high : low),
                                                                      bytes + (is_up ? low : high), size);
                assert_memory_equal(bytes, moved, 3 * size);
            }
        }
    }
    free(bytes);
    free(moved);
}

static void large_sides_that_overlap_are_moved(void **state) {
    (void)state;
    check_large_overlap(65536);
    check_large_overlap(TRMA_MOVE_LARGE_LEAST + 77);
}

/* To ask for lines changes nothing, wherever they lie: at the end of what is mapped, where nothing is. */
static void claims_change_nothing(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 8, 63, 64, 65, PAGE, TRMA_MOVE_CLAIM_MOST, TRMA_MOVE_CLAIM_MOST + 1};
    unsigned char *pages = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(munmap(pages + 3 * PAGE, PAGE), 0);
    assert_true(trma_move_claim_most == TRMA_MOVE_CLAIM_MOST ||
                trma_move_claim_most == TRMA_MOVE_CLAIM_MOST_AMD);
    number(target, 4);
    memcpy(expected, target, ROOM);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t offset = 0; offset < 130; offset += 13) {
            trma_move_claim(target + offset, sizes[i]);
            trma_move_claim(pages + 3 * PAGE - 1 - offset, sizes[i]);
        }
        trma_move_claim(NULL, sizes[i]);
    }
    assert_memory_equal(target, expected, ROOM);
    assert_int_equal(munmap(pages, 3 * PAGE), 0);
}

/* Puts by which every size and alignment goes onward, and backwards, where the vectors are at hand. */
static void middle_ones_are_put(void **state) {
    (void)state;
    number(source, 5);
    for (size_t size = TRMA_MOVE_MIDDLE_MORE_THAN - 3; size <= TRMA_MOVE_MIDDLE_MORE_THAN + 400; size++) {
        const size_t at[] = {size % 67, size % 67, size % 61};
        for (size_t time = 0; time < sizeof at / sizeof at[0]; time++) {
            memset(expected, GUARD, ROOM);
            memcpy(expected + at[time], source + size % 131, size);
            memset(target, GUARD, ROOM);
            trma_move_copy_bytes(target + at[time], source + size % 131, size);
            assert_memory_equal(target, expected, ROOM);
        }
    }
}

static void contested_ones_are_put(void **state) {
    /* Shorter ones are not asked about where the library copies them. */
    const size_t least = trma_move_library_most < TRMA_MOVE_CONTEST_LEAST ? TRMA_MOVE_CONTEST_LEAST
                                                                          : trma_move_library_most + 1;
    const size_t sizes[] = {least, least + 7001, TRMA_MOVE_CONTEST_LESS_THAN / 2,
                            TRMA_MOVE_CONTEST_LESS_THAN - 1};
    enum { WAYS = LOOK + 1 };
    const size_t room = TRMA_MOVE_CONTEST_LESS_THAN + (size_t)2 * MARGIN;
    unsigned char *from = make_numbered(room);
    unsigned char *to = malloc(room);
    (void)state;
    assert_non_null(to);
    for (size_t i = 0; i < WAYS * sizeof sizes / sizeof sizes[0]; i++) {
        const size_t size = sizes[i / WAYS];
        const enum next way = i % WAYS;
        for (size_t beside = 1; beside < MARGIN; beside += 17) {
            const uintptr_t place = (uintptr_t)(to + beside);
            struct trma_move_contest *contest = contest_of(to + beside, way);
            memset(to, GUARD, room);
            trma_move_copy_bytes(to + beside, from + MARGIN - beside, size);
            assert_memory_equal(to + beside, from + MARGIN - beside, size);
            assert_int_equal(to[beside - 1], GUARD);
            assert_int_equal(to[beside + size], GUARD);
            struct trma_move_contest_way next =
                trma_move_contest_take(contest, place, TRMA_MOVE_CONTEST_LEAST);
            assert_true(next.is_past || way != PAST);
            assert_true(next.is_timed || way != BEFORE_LOOK);
            if (way == LOOK && next.is_timed) { /* it was a quick look, and this is another one: the last */
                trma_move_contest_note(contest, &next, 1, TRMA_MOVE_CONTEST_LEAST);
                next = trma_move_contest_take(contest, place, TRMA_MOVE_CONTEST_LEAST);
            }
            assert_false(next.is_timed && way == LOOK); /* as the look would be, had it not been */
        }
    }
    free(from);
    free(to);
}

static bool has_vectors(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_change_nothing),
        cmocka_unit_test(every_size_is_copied),
        cmocka_unit_test(every_alignment_is_copied),
        cmocka_unit_test(overlapping_sides_are_moved),
        cmocka_unit_test(middle_ones_are_put),
        cmocka_unit_test(contested_ones_are_put),
        cmocka_unit_test(large_ones_are_copied),
        cmocka_unit_test(runs_are_copied),
        cmocka_unit_test(shorter_runs_are_copied),
        cmocka_unit_test(watched_runs_are_copied),
        cmocka_unit_test(known_runs_are_copied),
        cmocka_unit_test(large_sides_that_overlap_are_moved),
        cmocka_unit_test(pieces_go_on),
        cmocka_unit_test(a_run_may_come_to_overlap),
    };
    /* As any processor does it, and as AMD's do. */
    trma_move_library_most = TRMA_MOVE_FIRST_CACHE;
    int failed = cmocka_run_group_tests_name("move_bytes", tests, NULL, NULL);
    if (has_vectors()) {
        trma_move_library_most = TRMA_MOVE_MIDDLE_MORE_THAN;
        failed += cmocka_run_group_tests_name("move_bytes by vectors", tests, NULL, NULL);
    }
    return failed;
}
