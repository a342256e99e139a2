/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of a step. */
#include "lu.h"

#include <cblas.h>

void lu_factor(struct lu *lu, int k) {
    double *a = lu_block(lu, k, k);
    const int size = lu_extent(lu, k), ld = lu->b;
    for (int pivot = 0; pivot < size; pivot++) {
        double *l = a + (size_t)pivot * (size_t)ld;
        for (int i = pivot + 1; i < size; i++)
            l[i] /= l[pivot];
        for (int j = pivot + 1; j < size; j++) {
            double *column = a + (size_t)j * (size_t)ld;
            for (int i = pivot + 1; i < size; i++)
                column[i] -= l[i] * column[pivot];
        }
    }
}

int lu_solves(const struct lu *lu, int k) {
    return k % lu->grid.rows == lu->grid.row || k % lu->grid.cols == lu->grid.col;
}

void lu_solve(struct lu *lu, int k, const double *diagonal) {
    const int size = lu_extent(lu, k);
    if (k % lu->grid.cols == lu->grid.col)
        for (int i = lu_first_row(lu, k + 1); i < lu->nblocks; i += lu->grid.rows)
            cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, lu_extent(lu, i),
                        size, 1.0, diagonal, lu->b, lu_block(lu, i, k), lu->b);
    if (k % lu->grid.rows == lu->grid.row)
        for (int j = lu_first_col(lu, k + 1); j < lu->nblocks; j += lu->grid.cols)
            cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, size, lu_extent(lu, j),
                        1.0, diagonal, lu->b, lu_block(lu, k, j), lu->b);
}

void lu_update(struct lu *lu, int i, int j, int k, const double *l, const double *u) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, lu_extent(lu, i), lu_extent(lu, j),
                lu_extent(lu, k), -1.0, l, lu->b, u, lu->b, 1.0, lu_block(lu, i, j), lu->b);
}
