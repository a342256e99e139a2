/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_peer_beacon.h"

#include <fcntl.h>
#include <unistd.h>

/* The first byte of the file stands for the process. */
static struct flock whole_process(void) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
}

void trma_node_beacon_hold(int descriptor) {
    struct flock lock = whole_process();
    (void)fcntl(descriptor, F_SETLK, &lock);
}

bool trma_node_beacon_is_held(int descriptor) {
    struct flock lock = whole_process();
    return fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}
