/* ftrace's snapshots beside those of a recording, on a folder that plays tracefs: which triggers have one taken. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/control/trigger_sources.h"
#include "tests/format/temp_tree.h"

struct fixture {
    struct temp_tree tree;
    struct weir_record_options options;
    struct weir_recording_plan plan;
    struct weir_workload workload;
    struct weir_trigger_sources sources;
    struct weir_triggers triggers;
    char path[PATH_MAX]; /* of the file that is played */
    int result;          /* of run() */
};

static int run(void *ctx, struct weir_error *err)
{
    const struct fixture *f = ctx;
    return f->result < 0 ? weir_error_set(err, f->result, "refused") : f->result;
}

static void fixture_init(struct fixture *f)
{
    struct weir_error err;
    memset(f, 0, sizeof(*f));
    temp_tree_init(&f->tree);
    temp_tree_write_text(&f->tree, "snapshot", "");
    temp_tree_path(&f->tree, "snapshot", f->path);
    f->plan.options = f->sources.options = &f->options;
    weir_triggers_init(&f->triggers, NULL);
    cr_assert_eq(weir_ftrace_snapshot_open(&f->sources.ftrace, f->tree.root, &err), 0, "%s", err.what);
}

static void fixture_fini(struct fixture *f)
{
    weir_trigger_sources_close(&f->sources);
    temp_tree_fini(&f->tree);
}

static void register_own(struct fixture *f, enum weir_trigger trigger)
{
    weir_triggers_register(&f->triggers, trigger, &(struct weir_trigger_action){.run = run, .ctx = f});
}

static void end(struct fixture *f)
{
    weir_trigger_sources_end_with_ftrace(&f->sources, weir_trigger_sources_ask_at_end(&f->plan, &f->workload));
}

/* Whether one was taken since the last look. */
static bool was_taken(struct fixture *f)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&text, f->path), 0);
    bool taken = strcmp(weir_buf_str(&text), "1") == 0;
    cr_assert(taken || text.used == 0, "'%s'", weir_buf_str(&text));
    weir_buf_fini(&text);
    cr_assert_eq(truncate(f->path, 0), 0);
    return taken;
}

static bool takes(struct fixture *f, enum weir_trigger trigger)
{
    weir_triggers_fire(&f->triggers, trigger, WEIR_TRIGGER_BY_CONTROL);
    return was_taken(f);
}

Test(trigger_sources, without_the_option_nothing_is_registered)
{
    struct weir_trigger_sources sources = {0};
    struct weir_triggers triggers;
    weir_triggers_init(&triggers, NULL);
    weir_trigger_sources_follow_with_ftrace(&sources, &triggers);
    cr_assert_null(triggers.actions[WEIR_TRIGGER_DUMP].run);
    cr_assert_eq(triggers.on_signal, WEIR_TRIGGER_NONE);
}

Test(trigger_sources, ftrace_alone_takes_what_is_asked_for_in_any_way)
{
    struct fixture f;
    fixture_init(&f);
    weir_trigger_sources_follow_with_ftrace(&f.sources, &f.triggers);
    cr_assert(takes(&f, WEIR_TRIGGER_DUMP));
    cr_assert(takes(&f, WEIR_TRIGGER_SNAPSHOT));
    cr_assert(takes(&f, WEIR_TRIGGER_SNAPSHOT_ALLOC));
    weir_triggers_signal(&f.triggers);
    cr_assert(was_taken(&f));
    cr_assert_not(takes(&f, WEIR_TRIGGER_ROTATE));
    fixture_fini(&f);
}

Test(trigger_sources, ftrace_goes_with_ours_and_not_with_what_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    register_own(&f, WEIR_TRIGGER_DUMP);
    register_own(&f, WEIR_TRIGGER_SNAPSHOT);
    register_own(&f, WEIR_TRIGGER_ROTATE);
    weir_trigger_sources_follow_with_ftrace(&f.sources, &f.triggers);
    cr_assert(takes(&f, WEIR_TRIGGER_DUMP));
    cr_assert_not(takes(&f, WEIR_TRIGGER_ROTATE));
    f.result = -ENOSPC;
    cr_assert_not(takes(&f, WEIR_TRIGGER_SNAPSHOT));
    f.result = WEIR_TRIGGER_BEGUN; /* at its begin: what led to it is what is wanted */
    cr_assert(takes(&f, WEIR_TRIGGER_SNAPSHOT));
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    cr_assert_not(was_taken(&f));
    fixture_fini(&f);
}

/* What SIGUSR2 means by itself stays so. */
Test(trigger_sources, signal_of_switches_is_not_taken_away)
{
    struct fixture f;
    fixture_init(&f);
    register_own(&f, WEIR_TRIGGER_ROTATE);
    weir_triggers_set_signal(&f.triggers, WEIR_TRIGGER_ROTATE);
    weir_trigger_sources_follow_with_ftrace(&f.sources, &f.triggers);
    weir_triggers_signal(&f.triggers);
    cr_assert_not(was_taken(&f));
    fixture_fini(&f);
}

Test(trigger_sources, ftrace_takes_what_is_asked_for_of_the_end)
{
    struct fixture f;
    fixture_init(&f);
    end(&f);
    cr_assert_not(was_taken(&f));
    f.options.snapshot.at_exit = true;
    end(&f);
    cr_assert(was_taken(&f));
    f.options.snapshot.at_exit = false;
    weir_modes_add(&f.plan.modes, WEIR_MODE_OVERWRITE);
    end(&f);
    cr_assert_not(was_taken(&f));

    f.options.snapshot.on.crash = true;
    f.workload.reaped = true;
    end(&f);
    cr_assert_not(was_taken(&f));
    f.workload.status = SIGSEGV;
    end(&f);
    cr_assert(was_taken(&f));
    fixture_fini(&f);
}
