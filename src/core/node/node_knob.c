/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_knob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define KIND_SWITCH TRMA_KNOB_SWITCH
#define KIND_CHOICE TRMA_KNOB_CHOICE
#define KIND_COUNT  TRMA_KNOB_COUNT
#define KIND_SIZE   TRMA_KNOB_SIZE
#define KIND_TEXT   TRMA_KNOB_TEXT_KIND
#define ROW(kind, field, name, default_text, allowed, minimum, maximum, help)                                \
    {KIND_##kind, name, default_text, allowed, minimum, maximum, help, offsetof(struct trma_knobs, field)},

static const struct trma_knob_info rows[] = {TRMA_KNOB_TABLE(ROW)};
#define N_ROWS (sizeof rows / sizeof rows[0])

const struct trma_knob_info *trma_node_knob_rows(size_t *count) {
    *count = N_ROWS;
    return rows;
}

/* The place of `word` among the words of "a|b|c", or -1. Case does not matter. */
static int word_index(const char *words, const char *word) {
    size_t length = strlen(word);
    int index = 0;
    for (const char *at = words;; at += strcspn(at, "|") + 1, index++) {
        size_t here = strcspn(at, "|");
        if (here == length && strncasecmp(at, word, length) == 0)
            return index;
        if (at[here] == '\0')
            return -1;
    }
}

static bool parse_switch(const char *text, bool *out) {
    int on = word_index("on|1|yes|true", text);
    int off = word_index("off|0|no|false", text);
    *out = on >= 0;
    return on >= 0 || off >= 0;
}

/* A whole number, with a binary suffix (K, M, G; KB, KiB and the like mean the same) where suffixes are
 * allowed. */
static bool parse_number(const char *text, bool with_suffix, uint64_t *out) {
    if (text[0] < '0' || text[0] > '9') /* strtoull would take blanks and signs */
        return false;
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    unsigned shift = 0;
    if (with_suffix && *end != '\0') {
        static const char *const units[] = {"B", "K|KB|KiB", "M|MB|MiB", "G|GB|GiB"};
        unsigned unit = 0;
        while (unit < 4 && word_index(units[unit], end) < 0)
            unit++;
        if (unit == 4)
            return false;
        shift = 10 * unit;
    } else if (*end != '\0') {
        return false;
    }
    *out = (uint64_t)value << shift;
    return *out >> shift == value;
}

/* Sets one knob from text; false when the text is not allowed (then the field is undefined). */
static bool parse(const struct trma_knob_info *row, const char *text, struct trma_knobs *out) {
    void *field = (char *)out + row->offset;
    switch (row->kind) {
    case TRMA_KNOB_SWITCH:
        return parse_switch(text, field);
    case TRMA_KNOB_CHOICE: {
        int index = word_index(row->allowed, text);
        *(int *)field = index;
        return index >= 0 || text[0] == '\0';
    }
    case TRMA_KNOB_COUNT:
    case TRMA_KNOB_SIZE: {
        uint64_t value = 0;
        if (!parse_number(text, row->kind == TRMA_KNOB_SIZE, &value))
            return false;
        *(uint64_t *)field = value;
        return value >= row->minimum && value <= row->maximum;
    }
    case TRMA_KNOB_TEXT_KIND: {
        size_t length = strlen(text);
        if (length >= TRMA_KNOB_TEXT)
            return false;
        memcpy(field, text, length + 1);
        return true;
    }
    }
    return false;
}

/* "a|b|c" -> "a, b or c" */
static void spell_words(const char *words, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = words; *at != '\0' && used < size;) {
        size_t length = strcspn(at, "|");
        const char *after = at + length + (at[length] == '|');
        const char *separator = at == words ? "" : *after == '\0' ? " or " : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", separator, (int)length, at);
        at = after;
    }
}

enum trma_status trma_node_knob_load(struct trma_knobs *out, char *err, size_t errlen) {
    if (errlen > 0)
        err[0] = '\0';
    for (size_t i = 0; i < N_ROWS; i++)
        (void)parse(&rows[i], rows[i].default_text, out); /* a test holds the defaults to be valid */
    for (size_t i = 0; i < N_ROWS; i++) {
        const char *text = getenv(rows[i].name);
        if (text == NULL || text[0] == '\0' || parse(&rows[i], text, out))
            continue;
        (void)parse(&rows[i], rows[i].default_text, out);
        char allowed[256];
        spell_words(rows[i].allowed, allowed, sizeof allowed);
        snprintf(err, errlen, "%s=%.64s is not allowed: it may be %s", rows[i].name, text, allowed);
        return TRMA_ERR_ARGUMENT;
    }
    return TRMA_OK;
}

static bool is_knob(const char *name, size_t length) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return true;
    return false;
}

bool trma_node_knob_next_unknown(size_t *cursor, char *name, size_t size) {
    for (; environ != NULL && environ[*cursor] != NULL; (*cursor)++) {
        const char *entry = environ[*cursor];
        size_t length = strcspn(entry, "=");
        if (strncmp(entry, "TRUERMA", 7) != 0 || is_knob(entry, length))
            continue;
        snprintf(name, size, "%.*s", (int)length, entry);
        (*cursor)++;
        return true;
    }
    return false;
}
