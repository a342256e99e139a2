/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "mem/mem_map.h"
#include "mem/mem_xpmem.h"
#include "win/win_attach.h"
#include "win/win_epoch.h"

/*
 * Windows on private memory by XPMEM. No machine at hand has the kernel module: it is played here at its
 * interface, /dev/xpmem and its ioctls, by stand-ins for open and ioctl (the linker's --wrap). What private
 * memory really is to the module must be shared from the start for the stand-in: an arena that all members
 * inherit. Of other memory it gives a copy, which is enough for the probe.
 */

enum { ARENA = 1 << 20, PIECE = 1 << 16, ODD = 40, WORDS = 1000 };

/* What all members see of the module. */
struct module {
    atomic_bool is_loaded;
    atomic_bool refuses_attach;
    atomic_bool shows_another_process; /* whoever attaches sees memory that is not the owner's */
    atomic_int segments;
    atomic_int accesses;    /* that have not been released */
    atomic_int attachments; /* that have not been detached */
};

static struct module *module;
static char *arena;
static int device = -1; /* this process's */

struct segment_command {
    uint64_t address;
    size_t size;
    int permit_type;
    uint64_t permit_value;
    int64_t segment;
};

struct access_command {
    int64_t segment;
    int flags;
    int permit_type;
    uint64_t permit_value;
    int64_t access;
};

struct attach_command {
    int64_t access;
    off_t offset;
    size_t size;
    uint64_t address;
    int unused[2];
};

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_ioctl(int descriptor, unsigned long request, ...);
int __wrap_ioctl(int descriptor, unsigned long request, ...);

int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    if (strcmp(path, "/dev/xpmem") != 0) {
        return __real_open(path, flags, mode);
    }
    if (!atomic_load(&module->is_loaded)) {
        errno = ENOENT;
        return -1;
    }
    device = __real_open("/dev/null", flags);
    return device;
}

/* The processes are known by their pids, as to the module. */
static int attach(struct attach_command *command) {
    char *wanted = (char *)command->offset;
    void *base = MAP_FAILED;

    CHECK(command->offset % sysconf(_SC_PAGESIZE) == 0 && command->size % (size_t)sysconf(_SC_PAGESIZE) == 0);
    if (atomic_load(&module->refuses_attach)) {
        errno = EPERM;
        return -1;
    }
    if (wanted >= arena && wanted + command->size <= arena + ARENA) {
        base = mremap(wanted, 0, command->size, MREMAP_MAYMOVE); /* of shared memory: a second mapping */
    } else {
        base = mmap(NULL, command->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct iovec here = {base, command->size};
        struct iovec there = {wanted, command->size};
        CHECK(base != MAP_FAILED);
        if (!atomic_load(&module->shows_another_process)) {
            CHECK(process_vm_readv((pid_t)command->access, &here, 1, &there, 1, 0) == (ssize_t)command->size);
        }
    }
    CHECK(base != MAP_FAILED);
    command->address = (uint64_t)(uintptr_t)base;
    atomic_fetch_add(&module->attachments, 1);
    return 0;
}

int __wrap_ioctl(int descriptor, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (descriptor < 0 || descriptor != device) {
        return __real_ioctl(descriptor, request, argument);
    }
    struct segment_command *segment = argument;
    struct access_command *access = argument;
    switch (request) {
    case _IO('x', 0): /* version */
        return 0x00027000;
    case _IO('x', 1): /* make */
        CHECK(segment->address == 0 && segment->size == SIZE_MAX && segment->permit_type == 1);
        segment->segment = getpid();
        atomic_fetch_add(&module->segments, 1);
        return 0;
    case _IO('x', 3): /* get */
        CHECK(access->flags == 2 && access->permit_type == 1);
        access->access = access->segment;
        atomic_fetch_add(&module->accesses, 1);
        return 0;
    case _IO('x', 4): /* release */
        atomic_fetch_sub(&module->accesses, 1);
        return 0;
    case _IO('x', 5): /* attach */
        return attach(argument);
    case _IO('x', 6): /* detach: the module knows the length, the stand-in need not */
        CHECK(*(uint64_t *)argument != 0);
        atomic_fetch_sub(&module->attachments, 1);
        return 0;
    default:
        errno = EINVAL;
        return -1;
    }
}

static int load_module(void **state) {
    (void)state;
    module = mmap(NULL, sizeof *module, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    atomic_store(&module->is_loaded, true);
    return module == MAP_FAILED || arena == MAP_FAILED;
}

static int unload_module(void **state) {
    (void)state;
    munmap(module, sizeof *module);
    munmap(arena, ARENA);
    return 0;
}

static int64_t *piece_of(uint32_t member) {
    return (int64_t *)(arena + member * PIECE + ODD);
}

/* A window on every member's piece of the arena. */
static struct trma_window *open_window(struct actor *actor, bool is_dynamic) {
    struct trma_window_options options = {.by_xpmem = true, .is_dynamic = is_dynamic};
    struct trma_window_card cards[PLAY_MEMBERS];
    struct trma_window_card mine;
    struct trma_window_words *words;
    struct trma_window *window = NULL;
    const char *refusal = NULL;

    trma_win_card_fill(actor->team, is_dynamic ? NULL : piece_of(actor->me),
                       is_dynamic ? 0 : WORDS * sizeof(int64_t), sizeof(int64_t), &options, &mine, &words);
    CHECK(mine.usable);
    CHECK(trma_node_team_exchange(actor->team, &mine, sizeof mine, cards) == TRMA_OK);
    CHECK(trma_win_window_create(actor->team, cards, words, &options, &window, &refusal) == TRMA_OK);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    return window;
}

static void close_window(struct actor *actor, struct trma_window *window) {
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    trma_win_window_destroy(window);
}

/* Everybody writes a stretch of every other member's piece, reads it back, and all add to one word of it. */
static void use_window(struct actor *actor, struct trma_window *window, bool is_dynamic, int64_t mark) {
    enum { STRETCH = 32 };

    CHECK(trma_win_lock_all(window, false) == TRMA_OK);
    for (uint32_t i = 0; i < actor->size; i++) {
        int64_t start = is_dynamic ? (int64_t)(intptr_t)piece_of(i) : 0;
        int64_t unit = is_dynamic ? sizeof(int64_t) : 1;
        int64_t out[STRETCH];
        int64_t back[STRETCH] = {0};
        for (int64_t k = 0; k < STRETCH; k++) {
            out[k] = mark + actor->me * 1000 + k;
        }
        CHECK(window_put(window, i, start + (1 + actor->me) * STRETCH * unit, out, STRETCH) == TRMA_OK);
        CHECK(trma_win_flush(window, i, false) == TRMA_OK);
        CHECK(window_get(window, i, start + (1 + actor->me) * STRETCH * unit, back, STRETCH) == TRMA_OK);
        CHECK(memcmp(out, back, sizeof out) == 0);
        CHECK(window_add(window, i, start + (WORDS - 1) * unit, 5) == TRMA_OK);
    }
    CHECK(trma_win_unlock_all(window) == TRMA_OK);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    for (uint32_t i = 0; i < actor->size; i++) {
        for (int64_t k = 0; k < STRETCH; k++) {
            CHECK(piece_of(actor->me)[(1 + i) * STRETCH + k] == mark + i * 1000 + k);
        }
    }
    CHECK(piece_of(actor->me)[WORDS - 1] == 5 * (int64_t)actor->size);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    piece_of(actor->me)[WORDS - 1] = 0;
}

static void play_attached(struct actor *actor) {
    for (uint32_t i = 0; i < actor->size; i++) {
        CHECK(i == actor->me || actor->team->peers[i]->xpmem_access != 0);
    }
    for (int64_t round = 1; round <= 3; round++) {
        struct trma_window *window = open_window(actor, false);
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(strcmp(trma_win_target_path_name(window, i), i == actor->me ? "self" : "mapped") == 0);
        }
        use_window(actor, window, false, round * 100000);
        close_window(actor, window);
    }
}

static void test_attached(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* one process needs no XPMEM towards itself */
    }
    play_run(4, play_attached);
    assert_int_equal(atomic_load(&module->segments), 4);
    assert_int_equal(atomic_load(&module->attachments), 0);
    assert_int_equal(atomic_load(&module->accesses), 0);
}

static void play_dynamic(struct actor *actor) {
    struct trma_window *window = open_window(actor, true);
    int before = atomic_load(&module->attachments);

    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(trma_win_attachments_add(window->attachments, (uintptr_t)piece_of(actor->me),
                                   WORDS * sizeof(int64_t)) == TRMA_OK);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    use_window(actor, window, true, 7000000);
    CHECK(atomic_load(&module->attachments) == before + (int)(actor->size * (actor->size - 1)));
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(trma_win_attachments_remove(window->attachments, (uintptr_t)piece_of(actor->me)) == TRMA_OK);
    close_window(actor, window);
}

static void test_dynamic(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* one process needs no XPMEM towards itself */
    }
    play_run(3, play_dynamic);
    assert_int_equal(atomic_load(&module->attachments), 0);
}

/* Refused after the probe: the window goes by CMA at once. */
static void play_refused_later(struct actor *actor) {
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    atomic_store(&module->refuses_attach, true);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    struct trma_window *window = open_window(actor, false);
    uint32_t other = (actor->me + 1) % actor->size;
    CHECK(strcmp(trma_win_target_path_name(window, other), "cma") == 0);
    CHECK(window->targets[other].path_reason != NULL);
    use_window(actor, window, false, 900000);
    close_window(actor, window);
}

static void test_refused_later(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* one process needs no XPMEM towards itself */
    }
    play_run(3, play_refused_later);
}

static void play_without(struct actor *actor) {
    for (uint32_t i = 0; i < actor->size; i++) {
        CHECK(actor->team->peers[i]->xpmem_access == 0);
    }
}

/* A segment that leads to another process's memory is not the peer's, and its access is given back. */
static void test_another_process(void **state) {
    (void)state;
    atomic_store(&module->shows_another_process, true);
    play_run(2, play_without);
    assert_int_equal(atomic_load(&module->accesses), 0);
    assert_int_equal(atomic_load(&module->attachments), 0);
}

static void test_not_loaded(void **state) {
    (void)state;
    atomic_store(&module->is_loaded, false);
    play_run(2, play_without);
    assert_int_equal(atomic_load(&module->segments), 0);
    pid_t child = fork(); /* which has no device open */
    if (child == 0) {
        CHECK(trma_mem_xpmem_try() == ENOENT);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void in_child_of_fork(void) {
    int64_t mine = trma_mem_xpmem_offer();
    CHECK(mine == getpid());
    CHECK(trma_mem_xpmem_offer() == mine);
    pid_t child = fork();
    if (child == 0) {
        CHECK(trma_mem_xpmem_offer() == getpid());
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    trma_mem_xpmem_allow(false);
    CHECK(trma_mem_xpmem_try() == EACCES);
}

/* A child of fork offers its own memory, not its parent's. In a process of its own: the offer stays. */
static void test_fork(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        in_child_of_fork();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(atomic_load(&module->segments), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_attached, load_module, unload_module),
        cmocka_unit_test_setup_teardown(test_dynamic, load_module, unload_module),
        cmocka_unit_test_setup_teardown(test_refused_later, load_module, unload_module),
        cmocka_unit_test_setup_teardown(test_another_process, load_module, unload_module),
        cmocka_unit_test_setup_teardown(test_not_loaded, load_module, unload_module),
        cmocka_unit_test_setup_teardown(test_fork, load_module, unload_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
