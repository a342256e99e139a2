/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_FLATTEN_H
#define TRMA_FACE_FLATTEN_H

#include "face_mpi.h"
#include "move/move_layout.h"

/*
 * Builds the layout of any datatype of the host from what MPI tells about it (MPI_Type_get_envelope and
 * _contents, recursively); bounds are the host's own. One reference in *out. TRMA_ERR_ARGUMENT: a combiner
 * that is not known; TRMA_ERR_NO_MEMORY.
 */
enum trma_status trma_flatten_datatype(MPI_Datatype datatype, struct trma_layout **out);

#endif
