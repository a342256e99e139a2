/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_order.h"

atomic_bool trma_win_order_is_owed;
