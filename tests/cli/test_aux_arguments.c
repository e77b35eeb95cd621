/* What an event with an AUX area, and options about such areas, are refused with. */
#include "cli/record_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "tests/cli/words.h"

/* An event behind one that has no area; what NULL: taken. */
static const struct {
    const char *options;
    char name[16];
    enum weir_aux_kind aux;
    const char *what, *hint;
} rows[] = {
    {"-a", "cpu-clock", WEIR_AUX_KIND_NONE, NULL, NULL},
    {"-a -M 1M", "cpu-clock", WEIR_AUX_KIND_NONE, NULL, NULL},
    {"-a", "intel_pt//", WEIR_AUX_KIND_INTEL_PT, NULL, NULL},
    {"-a -S", "intel_pt//", WEIR_AUX_KIND_INTEL_PT, NULL, NULL},
    {"-a -S -M 1M", "intel_pt//", WEIR_AUX_KIND_INTEL_PT, NULL, NULL},
    {"-a -z --switch-output", "intel_pt//", WEIR_AUX_KIND_INTEL_PT, NULL, NULL},
    {"-a -S", "cpu-clock", WEIR_AUX_KIND_NONE,
     "option '-S' needs an AUX area event: there is no trace to take a snapshot of",
     "-e intel_pt// or another one; -M keeps the samples of any event in memory"},
    {"-a --aux-sample", "cpu-clock", WEIR_AUX_KIND_NONE,
     "option '--aux-sample' needs an AUX area event: there is no trace to sample",
     "-e '{intel_pt//,cycles}': an AUX area event that leads those whose samples hold its trace"},
    {"-a -A", "intel_pt//", WEIR_AUX_KIND_INTEL_PT,
     "event intel_pt// has an AUX area, which cannot be recorded with '--append'",
     "only a recording without AUX areas can be continued: name another file (-o)"},
    {"-a --overwrite", "intel_bts//", WEIR_AUX_KIND_INTEL_BTS,
     "event intel_bts// has an AUX area, which cannot be recorded with '--overwrite'",
     "-S has the kernel keep the newest trace"},
    {"-a -M 1M", "intel_pt//", WEIR_AUX_KIND_INTEL_PT,
     "event intel_pt// has an AUX area, which cannot be recorded with '--memory'",
     "add -S: the kernel keeps the newest trace, and a snapshot takes trace and samples"},
    {"-a -M 30s", "intel_pt//", WEIR_AUX_KIND_INTEL_PT,
     "event intel_pt// has an AUX area, which cannot be recorded with '--memory'",
     "add -S: the kernel keeps the newest trace, and a snapshot takes trace and samples"},
};

Test(aux_arguments, events_go_with_the_options_or_are_refused)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct words words;
        struct weir_record_arguments arguments;
        char name[sizeof(rows[i].name)];
        memcpy(name, rows[i].name, sizeof(name));
        struct weir_event both[] = {{.leader = 0}, {.name = name, .aux = rows[i].aux, .leader = 1}};
        const struct weir_event_list events = {.events = both, .count = WEIR_ARRAY_COUNT(both)};
        struct weir_error err = {0};
        weir_record_arguments_init(&arguments);
        words_split(&words, rows[i].options);
        cr_assert_eq(weir_record_options_parse(&arguments, words.argv, NULL, &err), 0, "%s", err.what);
        int result = weir_record_options_resolve_events(&arguments, &events, &err);
        cr_expect_eq(result, rows[i].what ? -EINVAL : 0, "%s -e %s: %s", rows[i].options, rows[i].name, err.what);
        if (rows[i].what) {
            cr_expect_str_eq(err.what, rows[i].what, "%s", err.what);
            cr_expect_str_eq(err.hint, rows[i].hint, "%s", err.hint);
        }
        weir_record_arguments_fini(&arguments);
    }
}

Test(aux_arguments, term_overwrite_of_all_events_is_refused_as_the_option)
{
    char name[] = "intel_pt//";
    struct weir_event both[] = {{.leader = 0}, {.name = name, .aux = WEIR_AUX_KIND_INTEL_PT, .leader = 1}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(both); i++)
        both[i].terms = (struct weir_event_terms){.given = WEIR_TERM_OVERWRITE, .overwrite = true};
    const struct weir_event_list events = {.events = both, .count = WEIR_ARRAY_COUNT(both)};
    struct weir_record_arguments arguments = {0};
    struct weir_error err = {0};
    cr_expect_eq(weir_record_options_resolve_events(&arguments, &events, &err), -EINVAL);
    cr_expect_str_eq(err.what, "event intel_pt// has an AUX area, which cannot be recorded with '--overwrite'");
}
