/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Barrier on a communicator that windows have been made on is a barrier over shared words. It is faster
 * than the host's, and who waits in it serves the origins of the windows and adopts what they have earned, as
 * in any of our calls. In the host's it could do neither: an origin that worked on private memory while its
 * target waited there could take longer than on the host alone.
 *
 * All members decide alike, since windows are made collectively. A barrier carries no data, so that nobody
 * can tell the difference; what the host has under way goes on (trma_node_team_meet).
 */
#include "call_barrier.h"

#include "face_host.h"
#include "face_log.h"
#include "face_team.h"
#include "face_window.h"

bool trma_team_Barrier(MPI_Comm comm, int *code) {
    struct trma_team *team = trma_face_team_find(comm);

    if (!team) {
        return false;
    }
    enum trma_status status = trma_node_team_meet(team);
    *code = MPI_SUCCESS;
    if (status) {
        trma_log(TRMA_LOG_ERROR, "MPI_Barrier: %s", trma_status_text(status));
        *code = trma_win_error_class(status);
        trma_host()->Comm_call_errhandler(comm, *code);
    }
    return true;
}
