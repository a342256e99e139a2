/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, asking and freeing windows. */
#include "face_create.h"
#include "face_host.h"
#include "handlers.h"
#include "win/win_attach.h"
#include "win/win_order.h"

int trma_call_Win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                         MPI_Win *win) {
    struct trma_making making = {MPI_WIN_FLAVOR_CREATE, comm, info, size, disp_unit, base};
    bool ours;
    int code = trma_face_create(&making, win, &ours);

    if (ours || code != MPI_SUCCESS) {
        return code;
    }
    return trma_host()->Win_create(base, size, (int)disp_unit, info, comm, win);
}

int trma_call_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                           MPI_Win *win) {
    struct trma_making making = {MPI_WIN_FLAVOR_ALLOCATE, comm, info, size, disp_unit, NULL};
    bool ours;
    int code = trma_face_create(&making, win, &ours);

    if (ours && code == MPI_SUCCESS) {
        *(void **)baseptr = making.base;
    }
    if (ours || code != MPI_SUCCESS) {
        return code;
    }
    return trma_host()->Win_allocate(size, (int)disp_unit, info, comm, baseptr, win);
}

int trma_call_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                                  void *baseptr, MPI_Win *win) {
    struct trma_making making = {MPI_WIN_FLAVOR_SHARED, comm, info, size, disp_unit, NULL};
    bool ours;
    int code = trma_face_create(&making, win, &ours);

    if (ours && code == MPI_SUCCESS) {
        *(void **)baseptr = making.base;
    }
    if (ours || code != MPI_SUCCESS) {
        return code;
    }
    return trma_host()->Win_allocate_shared(size, (int)disp_unit, info, comm, baseptr, win);
}

int trma_call_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    struct trma_making making = {MPI_WIN_FLAVOR_DYNAMIC, comm, info, 0, 1, MPI_BOTTOM};
    bool ours;
    int code = trma_face_create(&making, win, &ours);

    if (ours || code != MPI_SUCCESS) {
        return code;
    }
    return trma_host()->Win_create_dynamic(info, comm, win);
}

int trma_call_Win_free(MPI_Win *win) {
    struct trma_win *window = win ? trma_win_find(*win) : NULL;

    return window ? trma_face_free(window, win) : trma_host()->Win_free(win);
}

int trma_call_Win_attach(struct trma_win *window, void *base, MPI_Aint size) {
    enum trma_status status = TRMA_OK;

    if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return trma_win_raise(window, MPI_ERR_RMA_FLAVOR);
    }
    if (size < 0) {
        return trma_win_raise(window, MPI_ERR_SIZE);
    }
    trma_win_guard_enter(window->core);
    status = trma_win_attachments_add(window->core->attachments, (uintptr_t)base, (size_t)size);
    trma_win_guard_leave(window->core);
    /* MPI has a class of its own for what cannot be attached. */
    return status == TRMA_ERR_RANGE ? trma_win_raise(window, MPI_ERR_RMA_ATTACH)
                                    : trma_win_conclude(window, status);
}

int trma_call_Win_detach(struct trma_win *window, const void *base) {
    enum trma_status status;

    if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return trma_win_raise(window, MPI_ERR_RMA_FLAVOR);
    }
    trma_win_guard_enter(window->core);
    status = trma_win_attachments_remove(window->core->attachments, (uintptr_t)base);
    trma_win_guard_leave(window->core);
    return status == TRMA_ERR_RANGE ? trma_win_raise(window, MPI_ERR_RMA_ATTACH)
                                    : trma_win_conclude(window, status);
}

int trma_call_Win_shared_query(struct trma_win *window, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                               void *baseptr) {
    struct trma_window *core = window->core;
    uint32_t member = 0;

    if (rank == MPI_PROC_NULL) {
        /* The lowest rank that has memory (MPI-4.1 section 12.2.3). */
        while (member + 1 < window->size && !(core->targets[member].size && core->targets[member].is_whole)) {
            member++;
        }
    } else if (rank < 0 || (uint32_t)rank >= window->size) {
        return trma_win_raise(window, MPI_ERR_RANK);
    } else {
        member = (uint32_t)rank;
    }
    const struct trma_target *target = &core->targets[member];
    bool is_reachable = target->is_whole && (window->flavor == MPI_WIN_FLAVOR_SHARED || target->size);

    if (is_reachable) {
        trma_win_order_at_once(core);
    }
    *size = is_reachable ? (MPI_Aint)target->size : 0;
    *disp_unit = is_reachable ? (MPI_Aint)target->disp_unit : 0;
    *(void **)baseptr = is_reachable ? target->path.local : NULL;
    return MPI_SUCCESS;
}

int trma_call_Win_get_attr(struct trma_win *window, int win_keyval, void *attribute_val, int *flag) {
    void **value = attribute_val;

    *flag = 1;
    if (win_keyval == MPI_WIN_BASE) {
        *value = window->base;
    } else if (win_keyval == MPI_WIN_SIZE) {
        *value = &window->bytes;
    } else if (win_keyval == MPI_WIN_DISP_UNIT) {
        *value = &window->disp_unit;
    } else if (win_keyval == MPI_WIN_CREATE_FLAVOR) {
        *value = &window->flavor;
    } else if (win_keyval == MPI_WIN_MODEL) {
        *value = &window->model;
    } else {
        return trma_host()->Win_get_attr(window->host.win, win_keyval, attribute_val, flag);
    }
    return MPI_SUCCESS;
}

int trma_call_Win_set_attr(struct trma_win *window, int win_keyval, void *attribute_val) {
    window->host.may_be_reused = false;
    return trma_host()->Win_set_attr(window->host.win, win_keyval, attribute_val);
}

int trma_call_Win_get_group(struct trma_win *window, MPI_Group *group) {
    const int nobody = 0;

    /* A group of the user's own to free: all but nobody. */
    if (trma_host()->Group_excl(window->group, 0, &nobody, group) != MPI_SUCCESS) {
        return trma_win_raise(window, MPI_ERR_GROUP);
    }
    return MPI_SUCCESS;
}

int trma_call_Win_set_info(struct trma_win *window, MPI_Info info) {
    trma_hints_take(&window->hints, info, false);
    return MPI_SUCCESS;
}

int trma_call_Win_get_info(struct trma_win *window, MPI_Info *info_used) {
    int code = trma_hints_give(&window->hints, window->flavor, info_used);

    return code == MPI_SUCCESS ? code : trma_win_raise(window, code);
}
