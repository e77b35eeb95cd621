/* The tables of modes are whole, each rule refuses what it names, and docs/modes.md says the same. */
#include "engine/modes/modes.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "cli/record_options.h"
#include "engine/plan/record_modes.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

static struct weir_modes modes_of(uint64_t set)
{
    struct weir_modes modes = {0};
    for (unsigned mode = 0; mode < WEIR_MODE_COUNT; mode++) {
        if (set & WEIR_MODE_BIT(mode))
            weir_modes_add(&modes, mode);
    }
    return modes;
}

/* What a rule is about, and no more than that implies. */
static struct weir_modes modes_of_rule(const struct weir_mode_rule *rule)
{
    uint64_t set = WEIR_MODE_BIT(rule->mode);
    return modes_of(rule->other == WEIR_MODE_COUNT ? set : set | WEIR_MODE_BIT(rule->other));
}

Test(modes, each_has_a_name_of_its_own)
{
    for (unsigned i = 0; i < WEIR_MODE_COUNT; i++) {
        cr_assert_not_null(weir_mode_row(i)->name, "%u", i);
        for (unsigned j = 0; j < i; j++)
            cr_expect_str_neq(weir_mode_row(i)->name, weir_mode_row(j)->name);
    }
}

Test(modes, one_that_a_message_names_has_an_option)
{
    const struct weir_mode_rule *rule;
    for (unsigned i = 0; (rule = weir_mode_rule(i)); i++) {
        cr_expect(rule->what || rule->mode == WEIR_MODE_AUX || weir_mode_row(rule->mode)->option, "%u", i);
        cr_expect(rule->what || (rule->other < WEIR_MODE_COUNT && weir_mode_row(rule->other)->option), "%u", i);
        cr_expect(rule->hint && rule->hint[0], "%u: no hint", i);
    }
}

Test(modes, each_rule_refuses_what_it_names)
{
    const struct weir_mode_rule *rule;
    for (unsigned i = 0; (rule = weir_mode_rule(i)); i++) {
        const struct weir_modes modes = modes_of_rule(rule);
        struct weir_error err = {0};
        cr_expect_eq(weir_modes_check(&modes, "intel_pt//", &err), -EINVAL, "rule %u", i);
        cr_expect(err.what[0] && err.hint[0], "rule %u", i);
        cr_expect(weir_modes_exclude(&modes, rule->mode), "rule %u", i);
    }
}

/* A rule that always finds another one before it says nothing. A mode of the pair may need a third to be taken. */
Test(modes, each_rule_is_the_first_of_some_set)
{
    static const uint64_t company[] = {0, WEIR_MODE_BIT(WEIR_MODE_MEMORY), WEIR_MODE_BIT(WEIR_MODE_ROTATION)};
    const struct weir_mode_rule *rule;
    for (unsigned i = 0; (rule = weir_mode_rule(i)); i++) {
        bool is_told = false;
        for (size_t c = 0; c < WEIR_ARRAY_COUNT(company); c++) {
            const struct weir_modes modes = modes_of(modes_of_rule(rule).set | company[c]);
            struct weir_error err = {0}, wanted = {0};
            weir_modes_check(&modes, "intel_pt//", &err);
            weir_mode_rule_tell(rule, "intel_pt//", &wanted);
            is_told |= strcmp(err.what, wanted.what) == 0;
        }
        cr_expect(is_told, "rule %u: %s", i, rule->hint);
    }
}

Test(modes, one_that_a_rule_wants_is_enough_for_the_rule)
{
    const struct weir_mode_rule *rule;
    for (unsigned i = 0; (rule = weir_mode_rule(i)); i++) {
        for (unsigned mode = 0; mode < WEIR_MODE_COUNT; mode++) {
            if (!(rule->unless & WEIR_MODE_BIT(mode)))
                continue;
            struct weir_modes modes = modes_of_rule(rule);
            struct weir_error err = {0};
            weir_modes_add(&modes, mode);
            int result = weir_modes_check(&modes, "intel_pt//", &err);
            cr_expect(result == 0 || strcmp(err.hint, rule->hint) != 0, "rule %u with %s: %s", i,
                      weir_mode_row(mode)->name, err.what);
        }
    }
}

Test(modes, what_one_implies_comes_with_it_and_is_not_taken_with_it)
{
    struct weir_modes modes = {0};
    weir_modes_add(&modes, WEIR_MODE_ROTATION_EVENT);
    cr_assert(weir_modes_have(&modes, WEIR_MODE_ROTATION));
    cr_assert(weir_modes_have(&modes, WEIR_MODE_TIME_NAMES));
    weir_modes_remove(&modes, WEIR_MODE_ROTATION_EVENT);
    cr_assert(weir_modes_have(&modes, WEIR_MODE_ROTATION));
    cr_assert_not(weir_modes_have(&modes, WEIR_MODE_ROTATION_EVENT));
}

/* The modes of the options as the engine gets them. */
static struct weir_modes modes_of_line(const char *line)
{
    struct words words;
    struct weir_record_arguments arguments;
    struct weir_error err = {0};
    weir_record_arguments_init(&arguments);
    words_split(&words, line);
    cr_assert_eq(weir_record_options_parse(&arguments, words.argv, NULL, &err), 0, "%s", err.what);
    cr_assert_eq(weir_record_options_resolve(&arguments, 4096, NULL, &err), 0, "%s", err.what);
    const struct weir_modes modes = weir_record_modes(&arguments.options);
    weir_record_arguments_fini(&arguments);
    return modes;
}

static void expect_modes(const char *options, uint64_t set)
{
    char line[WORDS_LINE_BYTES];
    snprintf(line, sizeof(line), "%s true", options); /* a command: or all CPUs are recorded */
    const struct weir_modes modes = modes_of_line(line), wanted = modes_of(set);
    cr_expect_eq(modes.set, wanted.set, "%s: %#llx instead of %#llx", options, (unsigned long long)modes.set,
                 (unsigned long long)wanted.set);
}

Test(modes, examples_have_the_modes_that_they_are_said_to_have)
{
    for (unsigned mode = 0; mode < WEIR_MODE_COUNT; mode++) {
        const struct weir_mode_row *row = weir_mode_row(mode);
        if (row->example)
            expect_modes(row->example, WEIR_MODE_BIT(mode) | row->example_modes);
    }
}

Test(modes, options_without_an_example_have_theirs)
{
    static const struct {
        const char *options;
        uint64_t set;
    } rows[] = {
        {"", 0},
        {"-a", WEIR_MODE_BIT(WEIR_MODE_SYSTEM_WIDE)},
        {"-D 5", WEIR_MODE_BIT(WEIR_MODE_DELAY)},
        {"-s", WEIR_MODE_BIT(WEIR_MODE_THREAD_COUNTS)},
        {"--sample-identifier", WEIR_MODE_BIT(WEIR_MODE_IDENTIFIERS)},
        {"--timestamp-filename", WEIR_MODE_BIT(WEIR_MODE_TIME_NAMES)},
        {"--switch-output-event cs", WEIR_MODE_BIT(WEIR_MODE_ROTATION)}, /* its events are not parsed yet */
        {"--switch-output --switch-max-files 3",
         WEIR_MODE_BIT(WEIR_MODE_ROTATION) | WEIR_MODE_BIT(WEIR_MODE_MAX_FILES)},
        {"--on-full=rotate --switch-output", WEIR_MODE_BIT(WEIR_MODE_ROTATION) | WEIR_MODE_BIT(WEIR_MODE_FULL_ROTATES)},
        {"--keep-free 1G", WEIR_MODE_BIT(WEIR_MODE_KEEP_FREE)},
        {"-M 5s", WEIR_MODE_BIT(WEIR_MODE_MEMORY)},
        {"--ftrace-snapshot --snapshot-on crash",
         WEIR_MODE_BIT(WEIR_MODE_FTRACE_SNAPSHOT) | WEIR_MODE_BIT(WEIR_MODE_SNAPSHOT_ON)},
        {"-S", WEIR_MODE_BIT(WEIR_MODE_AUX_SNAPSHOT)},
        {"--aux-sample", WEIR_MODE_BIT(WEIR_MODE_AUX_SAMPLE)},
        {"--shed=stacks", 0},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++)
        expect_modes(rows[i].options, rows[i].set);
}

/* ---- what follows ---- */

/* Each question, with sets that it is answered with yes, and with no, to. */
static const struct {
    bool (*ask)(const struct weir_modes *modes);
    uint64_t yes[3], no[9];
} questions[] = {
#define BIT WEIR_MODE_BIT
    {weir_modes_keep_samples, {BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_OVERWRITE)}, {0, BIT(WEIR_MODE_AUX_SNAPSHOT)}},
    {weir_modes_pair_ends_files,
     {BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_OVERWRITE) | BIT(WEIR_MODE_COMPRESSED)},
     {0, BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_STREAM), BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_KCORE),
      BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_APPEND), BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_TIME_NAMES),
      BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_ON_ROTATE), BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_ROTATION),
      BIT(WEIR_MODE_AUX) | BIT(WEIR_MODE_AUX_SNAPSHOT)}},
    {weir_modes_snapshots_end_files,
     {BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_SNAPSHOT_FILES) | BIT(WEIR_MODE_OVERWRITE)},
     {0, BIT(WEIR_MODE_ROTATION) | BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_STREAM)}},
    {weir_modes_rotate,
     {BIT(WEIR_MODE_ROTATION), BIT(WEIR_MODE_ROTATION_EVENT), BIT(WEIR_MODE_MEMORY)},
     {0, BIT(WEIR_MODE_TIME_NAMES), BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_TIME_NAMES)}},
    {weir_modes_finish_files,
     {BIT(WEIR_MODE_ROTATION), BIT(WEIR_MODE_TIME_NAMES), BIT(WEIR_MODE_ON_ROTATE)},
     {0, BIT(WEIR_MODE_SYNC)}},
    {weir_modes_describe_at_end_only,
     {BIT(WEIR_MODE_TAIL)},
     {0, BIT(WEIR_MODE_TAIL) | BIT(WEIR_MODE_ROTATION), BIT(WEIR_MODE_TAIL) | BIT(WEIR_MODE_MEMORY)}},
    {weir_modes_pause_for_snapshots,
     {BIT(WEIR_MODE_OVERWRITE), BIT(WEIR_MODE_AUX_SNAPSHOT)},
     {0, BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_AUX)}},
    {weir_modes_make_marks,
     {0, BIT(WEIR_MODE_ROTATION)},
     {BIT(WEIR_MODE_COMPRESSED), BIT(WEIR_MODE_STREAM), BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_OVERWRITE),
      BIT(WEIR_MODE_AUX)}},
    {weir_modes_copy_past_caches,
     {0, BIT(WEIR_MODE_AUX), BIT(WEIR_MODE_MEMORY)},
     {BIT(WEIR_MODE_COMPRESSED), BIT(WEIR_MODE_STREAM)}},
    {weir_modes_consumer_holds_rounds, {BIT(WEIR_MODE_COMPRESSED), BIT(WEIR_MODE_STREAM)}, {0, BIT(WEIR_MODE_MEMORY)}},
    {weir_modes_may_wait_for_output,
     {BIT(WEIR_MODE_STREAM), BIT(WEIR_MODE_FULL_ROTATES) | BIT(WEIR_MODE_ROTATION)},
     {0, BIT(WEIR_MODE_FULL_SUSPENDS)}},
    {weir_modes_need_event_of_all_tasks,
     {BIT(WEIR_MODE_KCORE), BIT(WEIR_MODE_ALL_TASKS)},
     {0, BIT(WEIR_MODE_KCORE) | BIT(WEIR_MODE_SYSTEM_WIDE)}},
    {weir_modes_leave_out_ids,
     {0, BIT(WEIR_MODE_CONTINUES_WITHOUT_IDS) | BIT(WEIR_MODE_SYSTEM_WIDE),
      BIT(WEIR_MODE_STREAM) | BIT(WEIR_MODE_MEMORY)},
     {BIT(WEIR_MODE_SYSTEM_WIDE), BIT(WEIR_MODE_DELAY), BIT(WEIR_MODE_IDENTIFIERS), BIT(WEIR_MODE_SEVERAL_EVENTS),
      BIT(WEIR_MODE_THREAD_COUNTS), BIT(WEIR_MODE_KCORE), BIT(WEIR_MODE_MEMORY), BIT(WEIR_MODE_PER_THREAD),
      BIT(WEIR_MODE_CONTINUES_WITH_IDS)}},
#undef BIT
};

Test(modes, questions_about_a_set_are_answered)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(questions); i++) {
        bool may_be_empty = true; /* behind the first one, an empty set ends the list */
        for (size_t s = 0; s < WEIR_ARRAY_COUNT(questions[i].yes) && (may_be_empty || questions[i].yes[s]); s++) {
            const struct weir_modes modes = modes_of(questions[i].yes[s]);
            cr_expect(questions[i].ask(&modes), "question %zu, yes %zu", i, s);
            may_be_empty = false;
        }
        may_be_empty = true;
        for (size_t s = 0; s < WEIR_ARRAY_COUNT(questions[i].no) && (may_be_empty || questions[i].no[s]); s++) {
            const struct weir_modes modes = modes_of(questions[i].no[s]);
            cr_expect_not(questions[i].ask(&modes), "question %zu, no %zu", i, s);
            may_be_empty = false;
        }
    }
}

/* ---- docs/modes.md ---- */

/* "`a`, `b`", or nothing. */
static void write_names(struct weir_buf *text, uint64_t set)
{
    const char *comma = "";
    for (unsigned mode = 0; mode < WEIR_MODE_COUNT; mode++) {
        if (set & WEIR_MODE_BIT(mode)) {
            weir_buf_printf(text, "%s%s", comma, weir_mode_row(mode)->name);
            comma = ", ";
        }
    }
}

static void write_modes(struct weir_buf *text)
{
    weir_buf_printf(text, "| mode | about | option | brings with it | recorded with |\n|---|---|---|---|---|\n");
    for (unsigned mode = 0; mode < WEIR_MODE_COUNT; mode++) {
        const struct weir_mode_row *row = weir_mode_row(mode);
        weir_buf_printf(text, "| %s | %s | ", row->name, row->subject);
        if (row->option)
            weir_buf_printf(text, "`%s` ", row->option);
        weir_buf_printf(text, "| ");
        write_names(text, row->implies);
        weir_buf_printf(text, "%s| ", row->implies ? " " : "");
        if (row->example)
            weir_buf_printf(text, "`%s` ", row->example);
        weir_buf_printf(text, "|\n");
    }
}

static void write_rules(struct weir_buf *text)
{
    const struct weir_mode_rule *rule;
    weir_buf_printf(text, "| mode | refused with | unless there is | message | hint |\n|---|---|---|---|---|\n");
    for (unsigned i = 0; (rule = weir_mode_rule(i)); i++) {
        const bool is_alone = rule->other == WEIR_MODE_COUNT;
        weir_buf_printf(text, "| %s | %s | ", weir_mode_row(rule->mode)->name,
                        is_alone ? "any" : weir_mode_row(rule->other)->name);
        write_names(text, rule->unless);
        struct weir_error err = {0};
        weir_mode_rule_tell(rule, "EVENT", &err);
        weir_buf_printf(text, "%s| %s | %s |\n", rule->unless ? " " : "", err.what, err.hint);
    }
}

Test(modes, docs_have_the_tables)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_buf_printf(&text, "# Modes of a recording\n\n"
                           "Written by `tests/cli/test_modes.c` from the tables of `engine/modes/modes.c`;\n"
                           "`WEIR_GOLDEN_UPDATE=1 ctest -R cli_modes` renews it.\n\n"
                           "A mode is a choice about a recording that bears on others. `tests/record/composition.sh` "
                           "records with each\npair of those that have options in the last column: every sample is in "
                           "the files once, or the pair is refused\nbefore anything is opened.\n\n");
    write_modes(&text);
    weir_buf_printf(&text, "\n## What is refused\n\nThe first row that applies is told.\n\n");
    write_rules(&text);
    golden_expect("WEIR_DOCS_DIR", "modes.md", &text);
    weir_buf_fini(&text);
}
