/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for grids, vectors and windows: from malloc's family, zeroed, and the job is aborted when there is
 * none. */
#ifndef APP_MEMORY_H
#define APP_MEMORY_H

#include <stddef.h>

/* The least number of bytes that is no less than `bytes` and makes whole pages; 0 for 0. */
size_t app_memory_whole_pages(size_t bytes);

/* `count` elements of `size` bytes, zeroed, at the start of a page. Never NULL, also for 0. Free with free().
 */
void *app_memory_allocate(size_t count, size_t size);

#endif
