/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "mem_region.h"

/*
 * SCM_RIGHTS: the owner listens on an abstract socket (no file, gone with the process) named after its nonce,
 * and a thread of it answers "serial?" with the region's descriptor. Both sides check that the other one
 * belongs to the same user.
 */

/* How long a peer may take to start its service: both are in the same collective call. After one wait in
 * vain, hardly any. */
#define PATIENCE_MS        2000
#define LITTLE_PATIENCE_MS 20
#define ANSWER_MS          2000

struct service {
    pthread_t thread;
    int listener;
    int stopper[2]; /* pipe: closing its end 1 ends the thread */
};

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static struct service service = {.listener = -1, .stopper = {-1, -1}}; /* guarded by service_lock */
static bool service_runs;                                              /* guarded by service_lock */
static atomic_int service_thread;
static atomic_int patience_ms = PATIENCE_MS;

static socklen_t address_of(uint64_t nonce, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(&address->sun_path[1], sizeof address->sun_path - 1, "truerma-%016llx",
                          (unsigned long long)nonce);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool is_same_user(int connection) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
           credentials.uid == geteuid();
}

static void limit_waiting(int connection) {
    struct timeval limit = {.tv_sec = ANSWER_MS / 1000, .tv_usec = (ANSWER_MS % 1000) * 1000};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* Room for one descriptor beside a message. */
union control_room {
    struct cmsghdr aligned;
    char bytes[CMSG_SPACE(sizeof(int))];
};

void trma_mem_door_send(int connection, uint64_t serial, int descriptor) {
    union control_room room = {.bytes = {0}};
    struct iovec piece = {.iov_base = &serial, .iov_len = sizeof serial};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = room.bytes;
        message.msg_controllen = sizeof room.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    (void)sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int trma_mem_door_receive(int connection, uint64_t wanted) {
    union control_room room;
    uint64_t serial = 0;
    struct iovec piece = {.iov_base = &serial, .iov_len = sizeof serial};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
    ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    if (got != (ssize_t)sizeof serial) {
        return -1;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
        memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    }
    if (serial != wanted || descriptor < 0) {
        /* The kernel drops a descriptor that this process has no room for, and says so by a flag. */
        errno = (message.msg_flags & MSG_CTRUNC) != 0 ? EMFILE : ESTALE;
    }
    return descriptor;
}

static void answer(int connection) {
    uint64_t serial;
    limit_waiting(connection);
    if (!is_same_user(connection) || recv(connection, &serial, sizeof serial, 0) != (ssize_t)sizeof serial) {
        return;
    }
    /*
     * Sent under the lock, so that the descriptor is not closed meanwhile; without waiting, the connection is
     * empty. A copy would not do: closing it would take away the record lock that this process holds on its
     * beacon (node_peer.c).
     */
    trma_mem_region_lock();
    const struct trma_region *region = trma_mem_region_by_serial(serial);
    trma_mem_door_send(connection, serial, region != NULL ? region->backing.descriptor : -1);
    trma_mem_region_unlock();
}

static void *serve(void *argument) {
    const struct service *my = argument;
    atomic_store(&service_thread, (int)syscall(SYS_gettid));
    struct pollfd events[2] = {{.fd = my->listener, .events = POLLIN},
                               {.fd = my->stopper[0], .events = POLLIN}};
    for (;;) {
        if (poll(events, 2, -1) < 0 && errno != EINTR) {
            break;
        }
        if (events[1].revents != 0) {
            break;
        }
        int connection = accept4(my->listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0) {
            answer(connection);
            close(connection);
        } else if (errno == EMFILE || errno == ENFILE) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000},
                      NULL); /* the connection stays in the queue until there is room */
        }
    }
    return NULL;
}

static void service_close(void) {
    int *all[] = {&service.listener, &service.stopper[0], &service.stopper[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (*all[i] >= 0) {
            close(*all[i]);
            *all[i] = -1;
        }
    }
}

static bool service_open(void) {
    struct sockaddr_un address;
    socklen_t length = address_of(trma_mem_backing_nonce(), &address);
    service.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return service.listener >= 0 && pipe2(service.stopper, O_CLOEXEC) == 0 &&
           bind(service.listener, (struct sockaddr *)&address, length) == 0 &&
           listen(service.listener, SOMAXCONN) == 0;
}

void trma_mem_door_serve(void) {
    pthread_mutex_lock(&service_lock);
    if (!service_runs && trma_mem_backing_nonce() != 0) {
        if (service_open()) {
            /* The program's signals are not for this thread. */
            sigset_t all;
            sigset_t before;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
            service_runs = pthread_create(&service.thread, NULL, serve, &service) == 0;
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
        if (!service_runs) {
            service_close();
        }
    }
    pthread_mutex_unlock(&service_lock);
}

void trma_mem_door_serve_stop(void) {
    pthread_mutex_lock(&service_lock);
    if (service_runs) {
        close(service.stopper[1]);
        service.stopper[1] = -1;
        pthread_join(service.thread, NULL);
        service_close();
        service_runs = false;
        atomic_store(&service_thread, 0);
    }
    pthread_mutex_unlock(&service_lock);
}

int trma_mem_door_serve_thread(void) {
    return atomic_load(&service_thread);
}

void trma_mem_door_serve_forget(void) {
    /* A listener that lives on in the child would let peers connect to nobody. */
    service_close();
    service_runs = false;
    atomic_store(&service_thread, 0);
    pthread_mutex_init(&service_lock, NULL);
}

/* Connects to the owner's service, which may still be about to start, unless the owner is known to have
 * ended. */
static int connect_to(const struct trma_peer *peer) {
    struct sockaddr_un address;
    socklen_t length = address_of(peer->identity.probe_value, &address);
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connection < 0) {
        return -1;
    }
    limit_waiting(connection);
    bool has_ended = peer->door_proven != 0 && !trma_node_peer_is_alive(peer);
    int budget = has_ended ? 0 : atomic_load(&patience_ms);
    for (int waited = 0; connect(connection, (struct sockaddr *)&address, length) != 0; waited++) {
        if (errno != ECONNREFUSED || waited >= budget) {
            int error = errno;
            if (error == ECONNREFUSED && !has_ended) {
                atomic_store(&patience_ms, LITTLE_PATIENCE_MS);
            }
            close(connection);
            errno = error;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return connection;
}

static int scm_open(const struct trma_peer *peer, const struct trma_ticket *ticket) {
    trma_mem_door_serve(); /* where we are refused, the peer is likely to be refused too */
    int connection = connect_to(peer);
    if (connection < 0) {
        return -1;
    }
    int descriptor = -1;
    errno = EPERM;
    uint64_t serial = ticket->serial;
    if (is_same_user(connection) &&
        send(connection, &serial, sizeof serial, MSG_NOSIGNAL) == (ssize_t)sizeof serial) {
        descriptor = trma_mem_door_receive(connection, serial);
    }
    int error = errno;
    close(connection);
    errno = error;
    return descriptor;
}

const struct trma_mem_door trma_mem_door_scm = {
    .name = "scm",
    .taken = "mapped through SCM_RIGHTS",
    .open = scm_open,
};
