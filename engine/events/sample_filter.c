/* The terms of sample filters, a parser written by hand, and the check against an attr. */
#include "engine/events/sample_filter.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/suggest.h"
#include "format/cgroup_mount.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define BLANKS       " \t\n"

static const char grammar[] = "TERM ==|!=|>|>=|<|<=|& VALUE; ',' between comparisons means and, '||' means or, and "
                              "binds closer; the terms are: ip pid tid cpu time period uid ... (weir-record(1))";

/* ---- terms ---- */

struct term {
    const char *name;
    enum weir_sample_term term;
};

static const struct term terms[] = {
    {"ip", WEIR_SAMPLE_IP},
    {"id", WEIR_SAMPLE_ID},
    {"tid", WEIR_SAMPLE_TID},
    {"pid", WEIR_SAMPLE_PID},
    {"cpu", WEIR_SAMPLE_CPU},
    {"time", WEIR_SAMPLE_TIME},
    {"addr", WEIR_SAMPLE_ADDR},
    {"period", WEIR_SAMPLE_PERIOD},
    {"txn", WEIR_SAMPLE_TXN},
    {"weight", WEIR_SAMPLE_WEIGHT},
    {"weight1", WEIR_SAMPLE_WEIGHT1},
    {"weight2", WEIR_SAMPLE_WEIGHT2},
    {"weight3", WEIR_SAMPLE_WEIGHT3},
    {"ins_lat", WEIR_SAMPLE_WEIGHT2},
    {"p_stage_cyc", WEIR_SAMPLE_WEIGHT3},
    {"retire_lat", WEIR_SAMPLE_WEIGHT3},
    {"phys_addr", WEIR_SAMPLE_PHYS_ADDR},
    {"code_pgsz", WEIR_SAMPLE_CODE_PGSZ},
    {"data_pgsz", WEIR_SAMPLE_DATA_PGSZ},
    {"mem_op", WEIR_SAMPLE_MEM_OP},
    {"mem_lvlnum", WEIR_SAMPLE_MEM_LVLNUM},
    {"mem_lvl", WEIR_SAMPLE_MEM_LVLNUM},
    {"mem_snoop", WEIR_SAMPLE_MEM_SNOOP},
    {"mem_remote", WEIR_SAMPLE_MEM_REMOTE},
    {"mem_lock", WEIR_SAMPLE_MEM_LOCK},
    {"mem_dtlb", WEIR_SAMPLE_MEM_DTLB},
    {"mem_blk", WEIR_SAMPLE_MEM_BLK},
    {"mem_hops", WEIR_SAMPLE_MEM_HOPS},
    {"uid", WEIR_SAMPLE_UID},
    {"gid", WEIR_SAMPLE_GID},
    {"cgroup", WEIR_SAMPLE_CGROUP},
};

#define SET(term) (1ull << (term))

/* Numbers of include/uapi/linux/perf_event.h, Linux 6.18: PERF_MEM_*, which older headers lack in part. */
static const struct word {
    const char *name;
    uint64_t terms; /* that it is a value of */
    uint64_t value;
} words[] = {
    {"na",
     SET(WEIR_SAMPLE_MEM_OP) | SET(WEIR_SAMPLE_MEM_SNOOP) | SET(WEIR_SAMPLE_MEM_LOCK) | SET(WEIR_SAMPLE_MEM_DTLB) |
         SET(WEIR_SAMPLE_MEM_BLK),
     0x01},
    {"load", SET(WEIR_SAMPLE_MEM_OP), 0x02},
    {"store", SET(WEIR_SAMPLE_MEM_OP), 0x04},
    {"pfetch", SET(WEIR_SAMPLE_MEM_OP), 0x08},
    {"exec", SET(WEIR_SAMPLE_MEM_OP), 0x10},
    {"l1", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x01},
    {"l2", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x02},
    {"l3", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x03},
    {"l4", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x04},
    {"cxl", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x09},
    {"io", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x0a},
    {"any_cache", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x0b},
    {"lfb", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x0c},
    {"ram", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x0d},
    {"pmem", SET(WEIR_SAMPLE_MEM_LVLNUM), 0x0e},
    {"none", SET(WEIR_SAMPLE_MEM_SNOOP), 0x02},
    {"hit", SET(WEIR_SAMPLE_MEM_SNOOP), 0x04},
    {"miss", SET(WEIR_SAMPLE_MEM_SNOOP), 0x08},
    {"hitm", SET(WEIR_SAMPLE_MEM_SNOOP), 0x10},
    {"fwd", SET(WEIR_SAMPLE_MEM_SNOOP), 0x01 << 5}, /* of mem_snoopx; perf 6.12 compares with 0x01, which is "na" */
    {"peer", SET(WEIR_SAMPLE_MEM_SNOOP), 0x02 << 5},
    {"remote", SET(WEIR_SAMPLE_MEM_REMOTE), 0x01},
    {"locked", SET(WEIR_SAMPLE_MEM_LOCK), 0x02},
    {"l1_hit", SET(WEIR_SAMPLE_MEM_DTLB), 0x08 | 0x02},
    {"l1_miss", SET(WEIR_SAMPLE_MEM_DTLB), 0x08 | 0x04},
    {"l2_hit", SET(WEIR_SAMPLE_MEM_DTLB), 0x10 | 0x02},
    {"l2_miss", SET(WEIR_SAMPLE_MEM_DTLB), 0x10 | 0x04},
    {"any_hit", SET(WEIR_SAMPLE_MEM_DTLB), 0x02},
    {"any_miss", SET(WEIR_SAMPLE_MEM_DTLB), 0x04},
    {"walk", SET(WEIR_SAMPLE_MEM_DTLB), 0x20},
    {"os", SET(WEIR_SAMPLE_MEM_DTLB), 0x40},
    {"fault", SET(WEIR_SAMPLE_MEM_DTLB), 0x40},
    {"by_data", SET(WEIR_SAMPLE_MEM_BLK), 0x02},
    {"by_addr", SET(WEIR_SAMPLE_MEM_BLK), 0x04},
    {"hops0", SET(WEIR_SAMPLE_MEM_HOPS), 0x01},
    {"hops1", SET(WEIR_SAMPLE_MEM_HOPS), 0x02},
    {"hops2", SET(WEIR_SAMPLE_MEM_HOPS), 0x03},
    {"hops3", SET(WEIR_SAMPLE_MEM_HOPS), 0x04},
};

const char *weir_sample_term_name(unsigned term)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(terms); i++) {
        if (terms[i].term == term)
            return terms[i].name;
    }
    return NULL;
}

/* ---- the text ---- */

struct parser {
    const char *text, *at;
    const char *mounts;
    struct weir_error *err;
    struct weir_sample_filter filter; /* with what is parsed so far */
    bool has_and_signs;               /* "&&" */
    bool has_or_signs;
};

static int expected(const struct parser *parser, const char *what)
{
    weir_error_set(parser->err, -EINVAL, "sample filter '%s': expected %s at column %td", parser->text, what,
                   parser->at - parser->text + 1);
    weir_error_hint(parser->err, "%s", grammar);
    return -EINVAL;
}

static void skip_blanks(struct parser *parser)
{
    parser->at += strspn(parser->at, BLANKS);
}

/* Takes the sign if the text continues with it. */
static bool take_sign(struct parser *parser, const char *sign)
{
    size_t length = strlen(sign);
    if (strncmp(parser->at, sign, length) != 0)
        return false;
    parser->at += length;
    return true;
}

static bool is_named(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

static int unknown_term(const struct parser *parser, const char *word, size_t length)
{
    char copy[64];
    struct weir_suggest suggest;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, word);
    weir_suggest_init(&suggest, copy);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(terms); i++)
        weir_suggest_offer(&suggest, terms[i].name);
    const char *best = weir_suggest_best(&suggest);
    weir_error_set(parser->err, -EINVAL, "sample filter '%s': unknown term '%s'", parser->text, copy);
    if (best)
        weir_error_hint(parser->err, "did you mean '%s'?", best);
    else
        weir_error_hint(parser->err, "%s", grammar);
    return -EINVAL;
}

static int take_term(struct parser *parser, const struct term **found)
{
    skip_blanks(parser);
    size_t length = strspn(parser->at, NAME_LETTERS);
    if (length == 0)
        return expected(parser, "a term");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(terms); i++) {
        if (is_named(terms[i].name, parser->at, length)) {
            *found = &terms[i];
            parser->at += length;
            return 0;
        }
    }
    return unknown_term(parser, parser->at, length);
}

static int take_op(struct parser *parser, unsigned char *op)
{
    static const struct {
        const char *sign;
        enum weir_sample_op op;
    } ops[] = {/* longer signs before their beginnings */
               {"==", WEIR_SAMPLE_EQ}, {"!=", WEIR_SAMPLE_NE}, {">=", WEIR_SAMPLE_GE}, {"<=", WEIR_SAMPLE_LE},
               {">", WEIR_SAMPLE_GT},  {"<", WEIR_SAMPLE_LT},  {"&", WEIR_SAMPLE_AND}};
    skip_blanks(parser);
    if (strncmp(parser->at, "&&", 2) == 0)
        return expected(parser, "an operator");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ops); i++) {
        if (take_sign(parser, ops[i].sign)) {
            *op = (unsigned char)ops[i].op;
            return 0;
        }
    }
    return expected(parser, "an operator");
}

static int take_number(struct parser *parser, size_t length, unsigned long long *value)
{
    bool is_hex = parser->at[0] == '0' && (parser->at[1] == 'x' || parser->at[1] == 'X');
    const char *digits = parser->at + (is_hex ? 2 : 0);
    size_t count = strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (count == 0 || digits + count != parser->at + length)
        return expected(parser, "a number");
    errno = 0;
    *value = strtoull(digits, NULL, is_hex ? 16 : 10);
    if (errno == ERANGE)
        return weir_error_set(parser->err, -ERANGE, "sample filter '%s': number '%.*s' is beyond 64 bits", parser->text,
                              (int)length, parser->at);
    parser->at += length;
    return 0;
}

static int wrong_word(const struct parser *parser, const struct term *term, size_t length)
{
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (words[i].terms & SET(term->term))
            used += (size_t)snprintf(list + used, sizeof(list) - used, " %s", words[i].name);
    }
    weir_error_set(parser->err, -EINVAL, "sample filter '%s': '%.*s' is no value of '%s'", parser->text, (int)length,
                   parser->at, term->name);
    if (used)
        weir_error_hint(parser->err, "its words are%s; a number does too", list);
    else
        weir_error_hint(parser->err, "it takes a number, such as 100 or 0x64");
    return -EINVAL;
}

static int take_value(struct parser *parser, const struct term *term, unsigned long long *value)
{
    skip_blanks(parser);
    size_t length = strspn(parser->at, NAME_LETTERS);
    if (length == 0)
        return expected(parser, "a value");
    if (parser->at[0] >= '0' && parser->at[0] <= '9')
        return take_number(parser, length, value);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if ((words[i].terms & SET(term->term)) && is_named(words[i].name, parser->at, length)) {
            *value = words[i].value;
            parser->at += length;
            return 0;
        }
    }
    return wrong_word(parser, term, length);
}

/* ---- cgroups ---- */

static int read_cgroup(const struct parser *parser, const char *path, unsigned long long *value)
{
    char hierarchy[PATH_MAX], folder[PATH_MAX];
    if (!weir_cgroup_mount_find(parser->mounts ? parser->mounts : "/proc/self/mounts", hierarchy)) {
        weir_error_set(parser->err, -ENODEV, "sample filter '%s': no cgroup hierarchy is mounted", parser->text);
        weir_error_hint(parser->err, "mount -t cgroup2 none /sys/fs/cgroup");
        return -ENODEV;
    }
    int length = snprintf(folder, sizeof(folder), "%s/%s", hierarchy, path);
    uint64_t id = 0;
    int code = (size_t)length < sizeof(folder) ? weir_cgroup_find_id(folder, &id) : -ENAMETOOLONG;
    if (code < 0) {
        weir_error_set_errno(parser->err, code, "sample filter '%s': cannot find cgroup '%s' in %s", parser->text, path,
                             hierarchy);
        weir_error_hint(parser->err, "cgroups are the folders there: find %s -type d", hierarchy);
    }
    *value = id;
    return code;
}

static int take_cgroup(struct parser *parser, unsigned char op, unsigned long long *value)
{
    if (op != WEIR_SAMPLE_EQ && op != WEIR_SAMPLE_NE)
        return weir_error_set(parser->err, -EINVAL, "sample filter '%s': cgroup takes '==' or '!=' only", parser->text);
    skip_blanks(parser);
    size_t length = strcspn(parser->at, BLANKS ",");
    if (length == 0)
        return expected(parser, "the path of a cgroup");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.*s", (int)length, parser->at);
    int result = length < sizeof(path) ? read_cgroup(parser, path, value) : -ENAMETOOLONG;
    parser->at += length;
    return result;
}

/* ---- the grammar ---- */

static int take_comparison(struct parser *parser)
{
    const struct term *term = NULL;
    struct weir_sample_comparison comparison = {0};
    int result = take_term(parser, &term);
    if (result == 0)
        result = take_op(parser, &comparison.op);
    if (result == 0)
        result = term->term == WEIR_SAMPLE_CGROUP ? take_cgroup(parser, comparison.op, &comparison.value)
                                                  : take_value(parser, term, &comparison.value);
    if (result < 0)
        return result;
    if (parser->filter.count == WEIR_SAMPLE_FILTER_MAX)
        return weir_error_set(parser->err, -E2BIG, "sample filter '%s': an event can have at most %d comparisons",
                              parser->text, WEIR_SAMPLE_FILTER_MAX);
    comparison.term = (unsigned char)term->term;
    parser->filter.comparisons[parser->filter.count++] = comparison;
    return 0;
}

static int refuse_mixture(const struct parser *parser)
{
    weir_error_set(parser->err, -EINVAL, "sample filter '%s': '&&' and '||' in one filter", parser->text);
    weir_error_hint(parser->err, "write ',' for and: 'A, B || C' means A and (B or C); two --filter mean and, too");
    return -EINVAL;
}

static int take_filter(struct parser *parser)
{
    for (;;) {
        int result = take_comparison(parser);
        if (result < 0)
            return result;
        skip_blanks(parser);
        bool is_or = take_sign(parser, "||");
        bool is_and_sign = !is_or && take_sign(parser, "&&");
        parser->has_or_signs |= is_or;
        parser->has_and_signs |= is_and_sign;
        parser->filter.comparisons[parser->filter.count - 1].ends_clause = !is_or;
        if (parser->has_or_signs && parser->has_and_signs)
            return refuse_mixture(parser);
        if (is_or || is_and_sign || take_sign(parser, ","))
            continue;
        return *parser->at ? expected(parser, "',', '&&', '||' or the end") : 0;
    }
}

int weir_sample_filter_parse(struct weir_sample_filter *filter, const char *text, const char *mounts,
                             struct weir_error *err)
{
    struct parser parser = {.text = text, .at = text, .mounts = mounts, .err = err, .filter = *filter};
    int result = take_filter(&parser);
    if (result == 0)
        *filter = parser.filter;
    return result;
}

bool weir_sample_filter_has(const struct weir_sample_filter *filter, enum weir_sample_term term)
{
    for (unsigned i = 0; i < filter->count; i++) {
        if (filter->comparisons[i].term == term)
            return true;
    }
    return false;
}

/* ---- against an attr ---- */

/* The sample field that the kernel fills in for a term, and the option of `weir record` that asks for the field. */
static const struct need {
    uint64_t any_of; /* PERF_SAMPLE_* */
    const char *sample_type, *option;
} needs[WEIR_SAMPLE_TERMS] = {
    [WEIR_SAMPLE_IP] = {PERF_SAMPLE_IP, "PERF_SAMPLE_IP", NULL},
    [WEIR_SAMPLE_ID] = {PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, "PERF_SAMPLE_ID", "--sample-identifier"},
    [WEIR_SAMPLE_TID] = {PERF_SAMPLE_TID, "PERF_SAMPLE_TID", NULL},
    [WEIR_SAMPLE_PID] = {PERF_SAMPLE_TID, "PERF_SAMPLE_TID", NULL},
    [WEIR_SAMPLE_CPU] = {PERF_SAMPLE_CPU, "PERF_SAMPLE_CPU", "--sample-cpu"},
    [WEIR_SAMPLE_TIME] = {PERF_SAMPLE_TIME, "PERF_SAMPLE_TIME", "-T"},
    [WEIR_SAMPLE_ADDR] = {PERF_SAMPLE_ADDR, "PERF_SAMPLE_ADDR", "-d"},
    [WEIR_SAMPLE_PERIOD] = {0, NULL, NULL}, /* the kernel always has it: perf_sample_data_init() */
    [WEIR_SAMPLE_TXN] = {PERF_SAMPLE_TRANSACTION, "PERF_SAMPLE_TRANSACTION", "--transaction"},
    [WEIR_SAMPLE_WEIGHT] = {PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "PERF_SAMPLE_WEIGHT", "-W"},
    [WEIR_SAMPLE_WEIGHT1] = {PERF_SAMPLE_WEIGHT_STRUCT, "PERF_SAMPLE_WEIGHT_STRUCT", "-W"},
    [WEIR_SAMPLE_WEIGHT2] = {PERF_SAMPLE_WEIGHT_STRUCT, "PERF_SAMPLE_WEIGHT_STRUCT", "-W"},
    [WEIR_SAMPLE_WEIGHT3] = {PERF_SAMPLE_WEIGHT_STRUCT, "PERF_SAMPLE_WEIGHT_STRUCT", "-W"},
    [WEIR_SAMPLE_PHYS_ADDR] = {PERF_SAMPLE_PHYS_ADDR, "PERF_SAMPLE_PHYS_ADDR", "--phys-data"},
    [WEIR_SAMPLE_CODE_PGSZ] = {PERF_SAMPLE_CODE_PAGE_SIZE, "PERF_SAMPLE_CODE_PAGE_SIZE", "--code-page-size"},
    [WEIR_SAMPLE_DATA_PGSZ] = {PERF_SAMPLE_DATA_PAGE_SIZE, "PERF_SAMPLE_DATA_PAGE_SIZE", "--data-page-size"},
    [WEIR_SAMPLE_MEM_OP] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_LVLNUM] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_SNOOP] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_REMOTE] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_LOCK] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_DTLB] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_BLK] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_MEM_HOPS] = {PERF_SAMPLE_DATA_SRC, "PERF_SAMPLE_DATA_SRC", "-d"},
    [WEIR_SAMPLE_CGROUP] = {PERF_SAMPLE_CGROUP, "PERF_SAMPLE_CGROUP", "--all-cgroups"},
};

int weir_sample_filter_check(const struct weir_sample_filter *filter, const char *event,
                             const struct perf_event_attr *attr, struct weir_error *err)
{
    for (unsigned i = 0; i < filter->count; i++) {
        unsigned term = filter->comparisons[i].term;
        const struct need *need = &needs[term];
        if (!need->any_of || (attr->sample_type & need->any_of))
            continue;
        weir_error_set(err, -EINVAL, "event %s has no %s, which the term '%s' of its filter needs", event,
                       need->sample_type, weir_sample_term_name(term));
        if (need->option)
            weir_error_hint(err, "weir record %s samples it", need->option);
        return -EINVAL;
    }
    return 0;
}
