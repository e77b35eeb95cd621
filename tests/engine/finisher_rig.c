/* What the finisher works on; see finisher_rig.h. */
#include "tests/engine/finisher_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "engine/files/file_finisher.h"
#include "tests/format/sample_machine.h"

void finisher_rig_init(struct finisher_rig *rig, const struct weir_notice_sink *notices)
{
    memset(rig, 0, sizeof(*rig));
    const char *tmp = getenv("TMPDIR");
    snprintf(rig->folder, sizeof(rig->folder), "%s/weir-finisher-XXXXXX", tmp ? tmp : "/tmp");
    weir_assert(mkdtemp(rig->folder));
    snprintf(rig->path, sizeof(rig->path), "%s/data", rig->folder);
    rig->options = (struct weir_record_options){
        .rotation = {.enabled = true, .timestamp = true},
        .output.on_full = WEIR_RECORD_ON_FULL_ROTATE,
        .notices = notices,
    };
    rig->id = 1;
    rig->description = (struct weir_event_desc){.name = "cycles", .ids = &rig->id, .id_count = 1};
    rig->description.attr.size = sizeof(rig->description.attr);
    rig->plan.options = &rig->options;
    rig->facts = (struct weir_file_facts){
        .options = &rig->options,
        .machine = sample_machine(),
        .descriptions = &rig->description,
        .description_count = 1,
        .id_room = 1,
    };
    sigemptyset(&rig->signals);
    rig->room_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    weir_assert(rig->room_fd >= 0);
}

void finisher_rig_start(struct finisher_rig *rig)
{
    const struct weir_file_finisher_setup setup = {
        .plan = &rig->plan,
        .facts = &rig->facts,
        .sideband = rig->sideband,
        .child_mask = &rig->signals,
        .room_fd = rig->room_fd,
        .rotations = &rig->rotations,
    };
    weir_assert(weir_file_finisher_new(&rig->finisher, &setup) == 0);
    weir_assert(weir_file_finisher_start(rig->finisher) == 0);
}

struct weir_record_file *finisher_rig_make_file(struct finisher_rig *rig, const struct weir_io_ops *io)
{
    struct weir_record_file *file = NULL;
    struct weir_error err = {0};
    struct weir_writer_account nothing = {0};
    int result =
        weir_record_file_open(&file, &rig->facts, &rig->pipeline, io ? "/dev/null" : rig->path, NULL, io, &err);
    if (result == 0)
        result = weir_record_file_publish(file, &err);
    if (result == 0) {
        const struct weir_clock day = fake_clock_interface(&rig->ended);
        rig->ended.now_ns += 10 * WEIR_NS_PER_MS;
        weir_record_file_stamp(file, &day);
        result = weir_record_file_rename(file, ".", &err);
    }
    if (result < 0)
        printf("cannot make a file: %s\n", err.what);
    weir_assert(result == 0);
    weir_record_file_note(file, &nothing);
    weir_rotation_count_begin(&rig->rotations);
    return file;
}

int finisher_rig_fini(struct finisher_rig *rig)
{
    weir_file_finisher_free(rig->finisher);
    close(rig->room_fd);
    return rmdir(rig->folder) < 0 ? -errno : 0;
}
