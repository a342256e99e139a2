/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_HIDDEN_H
#define TRMA_HIDDEN_H

/*
 * For the declaration of every variable that several sources use. -fvisibility=hidden, under which all is
 * compiled, is about definitions alone: what is merely declared may be another library's for all the compiler
 * knows, and its address is looked up before each use.
 */
#define TRMA_HIDDEN __attribute__((visibility("hidden")))

#endif
