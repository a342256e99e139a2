/* SPDX-License-Identifier: BSD-3-Clause */
#include "trma_status.h"

const char *trma_status_text(enum trma_status status) {
    switch (status) {
    case TRMA_OK:
        return "success";
    case TRMA_ERR_NO_MEMORY:
        return "memory, address space or file descriptors are exhausted";
    case TRMA_ERR_REFUSED:
        return "the kernel refuses access to the peer's memory";
    case TRMA_ERR_RANGE:
        return "the target memory is not part of the window";
    case TRMA_ERR_SYNC:
        return "call outside of an epoch or synchronisation calls that do not match";
    case TRMA_ERR_PEER_DEAD:
        return "a peer process has ended";
    case TRMA_ERR_ARGUMENT:
        return "invalid argument";
    case TRMA_ERR_SYSTEM:
        return "a system call failed";
    }
    return "unknown status";
}
