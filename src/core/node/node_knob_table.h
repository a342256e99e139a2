/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_KNOB_TABLE_H
#define TRMA_NODE_KNOB_TABLE_H

/*
 * The knobs: every environment variable that TrueRMA reads, in one table. The parser (node_knob.c), `truerma
 * info` and the manual page are made from it.
 *
 * X(kind, field, name, default, allowed, minimum, maximum, help)
 *   kind      SWITCH on or off             -> bool
 *             CHOICE one word of `allowed` -> int, the word's place in `allowed`, from 0
 *             COUNT  a number              -> uint64_t
 *             SIZE   bytes, K M G suffixes -> uint64_t
 *             TEXT   anything, not empty   -> char[TRMA_KNOB_TEXT]
 *   field     name in struct trma_knobs
 *   default   as the user would write it; "" (CHOICE, TEXT): not set, the field is -1 or the empty string
 *   allowed   CHOICE: the words, separated by |; else what the error message names as allowed
 *   minimum, maximum   for COUNT and SIZE, both included
 *   help      one sentence for info and the manual page, without a closing full stop
 */
#define TRMA_KNOB_TABLE(X)                                                                                   \
    X(SWITCH, enabled, "TRUERMA", "on", "on|off", 0, 0, "off passes every call through to the host MPI")     \
    X(CHOICE, abi, "TRUERMA_ABI", "", "mpich|openmpi|abi", 0, 0,                                             \
      "MPI ABI of the program (abi: the MPI standard's own), for when `truerma run` cannot tell it")         \
    X(CHOICE, log, "TRUERMA_LOG", "warn", "error|warn|info|debug", 0, 0,                                     \
      "how much is told on stderr; info says which path every window takes and why")                         \
    X(TEXT, stats, "TRUERMA_STATS", "", "1 (stderr) or the path of a file", 0, 0,                            \
      "statistics per rank and window when it is freed: 1 for stderr, or a file that gets JSON")             \
    X(COUNT, spin_us, "TRUERMA_SPIN", "20", "microseconds from 0 to 1000000", 0, 1000000,                    \
      "how long a waiting rank polls before it yields and sleeps, when cores are free")                      \
    X(CHOICE, yield, "TRUERMA_YIELD", "auto", "auto|always|never", 0, 0,                                     \
      "whether blocking calls of an MPI that spins give their core away; auto: if ranks outnumber cores")    \
    X(CHOICE, adopt, "TRUERMA_ADOPT", "auto", "auto|always|never", 0, 0,                                     \
      "whether ordinary memory that a window is made on may become a shared region in place")                \
    X(SWITCH, cma, "TRUERMA_CMA", "on", "on|off", 0, 0,                                                      \
      "off keeps process_vm_readv, process_vm_writev and /proc/<pid>/mem from being used")                   \
    X(SWITCH, xpmem, "TRUERMA_XPMEM", "on", "on|off", 0, 0,                                                  \
      "off keeps /dev/xpmem from being used where the kernel module is loaded")                              \
    X(SWITCH, joint, "TRUERMA_JOINT", "on", "on|off", 0, 0,                                                  \
      "off leaves large puts and gets to the origin alone, also while their target waits")                   \
    X(SWITCH, huge, "TRUERMA_HUGE", "on", "on|off", 0, 0,                                                    \
      "off leaves memory that large puts and gets use again and again on small pages")                       \
    X(SIZE, heap_chunk, "TRUERMA_HEAP_CHUNK", "64M", "bytes from 64K to 1G", 64ULL << 10, 1ULL << 30,        \
      "size of the first shared piece that allocated memory and windows are cut from")

#endif
