/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_PYTHON_H
#define TRMA_LAUNCHER_PYTHON_H

#include <stdbool.h>

#include "launcher_link.h"

/* True when a program of this name is a Python interpreter (python, python3, python3.11, pypy3). */
bool launcher_python_is_name(const char *path);

/*
 * pyenv puts shell scripts in front of the interpreters that it keeps. Gives the interpreter that such a
 * script would start here and now (by PYENV_VERSION, .python-version, pyenv's own setting), or NULL when
 * `path` is no such script or names a version that is not there. Caller frees.
 */
char *launcher_python_behind_shim(const char *path);

/*
 * What the environment tells mpi4py to load (MPI4PY_MPIABI, MPI4PY_LIBMPI); LAUNCHER_FAMILIES when nothing.
 * *reason, filled when something is found, is for the user; caller frees.
 */
enum launcher_family launcher_python_told(char **reason);

/*
 * Which MPI a script would get under the interpreter at `path`, found by looking at files in the order in
 * which mpi4py looks: a libmpi in the virtual environment or the interpreter's prefix (where the wheels put
 * it), then the library that the one mpi4py on the module path links, then the system's. LAUNCHER_FAMILIES
 * when there is none. *reason as above.
 */
enum launcher_family launcher_python_importable(const char *path, char **reason);

#endif
