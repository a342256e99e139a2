/* SPDX-License-Identifier: BSD-3-Clause */
#include "matrix.h"

#include "app_memory.h"
#include "app_random.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The weight of the last outer product, and what every diagonal element gets on top. */
static const double condition = 0.1;

/* The element that each vector has at its own number. */
static const double diagonal_element = 0.5;

/* The sparse random vectors: `count[i]` elements of vector i at i * width. */
struct vectors {
    int n, width;
    int *count;
    int *index;
    double *element;
};

/* Where vector i has index `index`, or its count. */
static int find(const struct vectors *vectors, int i, int index) {
    const int *indices = vectors->index + (size_t)i * vectors->width;
    int at = 0;
    while (at < vectors->count[i] && indices[at] != index)
        at++;
    return at;
}

static void set(struct vectors *vectors, int i, int at, int index, double element) {
    vectors->index[(size_t)i * vectors->width + at] = index;
    vectors->element[(size_t)i * vectors->width + at] = element;
    if (at == vectors->count[i])
        vectors->count[i]++;
}

static struct vectors draw_vectors(int n, int nonzeros) {
    struct vectors vectors = {.n = n, .width = nonzeros + 1};
    vectors.count = app_memory_allocate((size_t)n, sizeof(int));
    vectors.index = app_memory_allocate((size_t)n * vectors.width, sizeof(int));
    vectors.element = app_memory_allocate((size_t)n * vectors.width, sizeof(double));
    int power = 1; /* indices are drawn below the next power of two, and those of n and more dropped */
    while (power < n)
        power *= 2;
    uint64_t state = APP_RANDOM_SEED;
    app_random_next(&state, APP_RANDOM_MULTIPLIER); /* NPB draws one number before */
    for (int i = 0; i < n; i++) {
        while (vectors.count[i] < nonzeros) {
            double element = app_random_next(&state, APP_RANDOM_MULTIPLIER);
            int index = (int)(power * app_random_next(&state, APP_RANDOM_MULTIPLIER));
            if (index < n && find(&vectors, i, index) == vectors.count[i])
                set(&vectors, i, vectors.count[i], index, element);
        }
        set(&vectors, i, find(&vectors, i, i), i, diagonal_element);
    }
    return vectors;
}

static void free_vectors(struct vectors *vectors) {
    free(vectors->count);
    free(vectors->index);
    free(vectors->element);
}

static bool within(struct range range, int index) {
    return index >= range.first && index < range.end;
}

/* The contributions of all outer products to a block, row by row, those to the same element side by side yet.
 */
struct contributions {
    long *start;
    int *column;
    double *value;
};

/* Counts, and then writes, what vector i contributes to the block. `place[row]` moves on by one for each. */
static void contribute(const struct vectors *vectors, const struct layout *layout, int i, double weight,
                       double shift, long *place, struct contributions *into) {
    const int *index = vectors->index + (size_t)i * vectors->width;
    const double *element = vectors->element + (size_t)i * vectors->width;
    for (int r = 0; r < vectors->count[i]; r++) {
        if (!within(layout->block_rows, index[r]))
            continue;
        long *at = &place[index[r] - layout->block_rows.first];
        for (int c = 0; c < vectors->count[i]; c++) {
            if (!within(layout->block_columns, index[c]))
                continue;
            if (into != NULL) {
                bool diagonal = index[r] == i && index[c] == i;
                into->column[*at] = index[c] - layout->block_columns.first;
                into->value[*at] = weight * element[r] * element[c] + (diagonal ? condition - shift : 0.0);
            }
            ++*at;
        }
    }
}

static struct contributions collect(const struct vectors *vectors, const struct layout *layout,
                                    double shift) {
    const int rows = range_length(layout->block_rows);
    long *place = app_memory_allocate((size_t)rows, sizeof *place);
    for (int i = 0; i < vectors->n; i++)
        contribute(vectors, layout, i, 0.0, shift, place, NULL);
    struct contributions all = {.start = app_memory_allocate((size_t)rows + 1, sizeof(long))};
    for (int row = 0; row < rows; row++) {
        all.start[row + 1] = all.start[row] + place[row];
        place[row] = all.start[row];
    }
    all.column = app_memory_allocate((size_t)all.start[rows], sizeof(int));
    all.value = app_memory_allocate((size_t)all.start[rows], sizeof(double));
    double weight = 1.0, ratio = pow(condition, 1.0 / vectors->n);
    for (int i = 0; i < vectors->n; i++, weight *= ratio)
        contribute(vectors, layout, i, weight, shift, place, &all);
    free(place);
    return all;
}

static int compare(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Adds up the contributions to the same element, in the order of the vectors; the result takes over their
 * memory. */
static struct matrix compress(struct contributions all, const struct layout *layout) {
    const int rows = range_length(layout->block_rows), columns = range_length(layout->block_columns);
    double *sum = app_memory_allocate((size_t)columns, sizeof *sum);
    bool *seen = app_memory_allocate((size_t)columns, sizeof *seen);
    long end = 0; /* of the compressed rows, which never overtake the rows still to be read */
    for (int row = 0; row < rows; row++) {
        long first = end;
        for (long i = all.start[row]; i < all.start[row + 1]; i++) {
            int column = all.column[i];
            double value = all.value[i];
            if (!seen[column])
                all.column[end++] = column;
            seen[column] = true;
            sum[column] += value;
        }
        qsort(all.column + first, (size_t)(end - first), sizeof(int), compare);
        for (long i = first; i < end; i++) {
            all.value[i] = sum[all.column[i]];
            sum[all.column[i]] = 0.0;
            seen[all.column[i]] = false;
        }
        all.start[row] = first;
    }
    all.start[rows] = end;
    free(sum);
    free(seen);
    return (struct matrix){.rows = rows, .start = all.start, .column = all.column, .value = all.value};
}

struct matrix matrix_make(const struct layout *layout, int nonzeros, double shift) {
    struct vectors vectors = draw_vectors(layout->n, nonzeros);
    struct contributions all = collect(&vectors, layout, shift);
    free_vectors(&vectors);
    return compress(all, layout);
}

void matrix_free(struct matrix *matrix) {
    free(matrix->start);
    free(matrix->column);
    free(matrix->value);
}

void matrix_multiply(const struct matrix *matrix, struct range rows, const double *in, double *out) {
    for (int row = rows.first; row < rows.end; row++) {
        double sum = 0.0;
        for (long i = matrix->start[row]; i < matrix->start[row + 1]; i++)
            sum += matrix->value[i] * in[matrix->column[i]];
        out[row] = sum;
    }
}
