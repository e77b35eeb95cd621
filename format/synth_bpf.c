/*
 * Records of the BPF programs that were loaded before recording began: a KSYMBOL for each piece of code, then one
 * BPF_EVENT, as the kernel writes them for later programs. Runs on one thread.
 *
 * Names have the kernel's form: "bpf_prog_", the tag in hex, "_" and the name of the program. A program of several
 * functions has "_F" instead of the functions' names, which are in its BTF; weir does not read that.
 *
 * Source: bpf(2), include/uapi/linux/bpf.h; perf_event__synthesize_one_bpf_prog() in tools/perf/util/bpf-event.c of
 * Linux 6.12.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bpf_object.h"
#include "format/records.h"
#include "format/synth_internal.h"

#define PROGRAMS_MAX  65536u /* a kernel that never says "no more" must not hold up the start */
#define FUNCTIONS_MAX 1024u  /* of one program; BPF has 256 */

struct functions { /* what the kernel fills in */
    uint64_t addresses[FUNCTIONS_MAX];
    uint32_t lengths[FUNCTIONS_MAX];
    uint8_t tags[FUNCTIONS_MAX][BPF_TAG_SIZE];
};

/* The kernel tells how many there are, then as many as there is room for. */
static int read_program(uint32_t id, struct bpf_prog_info *info, struct functions *functions)
{
    int fd = weir_bpf_open_program(id);
    if (fd < 0)
        return fd;
    *info = (struct bpf_prog_info){
        .nr_jited_ksyms = FUNCTIONS_MAX,
        .jited_ksyms = (uintptr_t)functions->addresses,
        .nr_jited_func_lens = FUNCTIONS_MAX,
        .jited_func_lens = (uintptr_t)functions->lengths,
        .nr_prog_tags = FUNCTIONS_MAX,
        .prog_tags = (uintptr_t)functions->tags,
    };
    int result = weir_bpf_program_info(fd, info);
    close(fd);
    return result;
}

static void write_name(char *name, size_t bytes, const struct bpf_prog_info *info, const uint8_t tag[BPF_TAG_SIZE])
{
    char hex[2 * BPF_TAG_SIZE + 1];
    for (size_t i = 0; i < BPF_TAG_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", tag[i]);
    bool is_alone = info->nr_jited_ksyms == 1;
    const char *short_name = is_alone ? info->name : "F";
    snprintf(name, bytes, "bpf_prog_%s%s%.*s", hex, short_name[0] ? "_" : "", BPF_OBJ_NAME_LEN, short_name);
}

static int emit_program(struct weir_synth_block *block, const struct bpf_prog_info *info,
                        const struct functions *functions)
{
    size_t trailer = block->options->sample_id_bytes;
    bool told = info->nr_jited_ksyms <= FUNCTIONS_MAX && info->nr_jited_func_lens == info->nr_jited_ksyms &&
                info->nr_prog_tags == info->nr_jited_ksyms;
    for (uint32_t i = 0; told && i < info->nr_jited_ksyms; i++) {
        char name[sizeof("bpf_prog__") + (size_t)2 * BPF_TAG_SIZE + BPF_OBJ_NAME_LEN];
        int result = weir_synth_block_reserve(block);
        if (result < 0)
            return result;
        if (functions->addresses[i] == 0) /* hidden, as those of kallsyms are */
            continue;
        write_name(name, sizeof(name), info, functions->tags[i]);
        weir_record_ksymbol(&block->records, functions->addresses[i], functions->lengths[i], name, trailer);
    }
    int result = weir_synth_block_reserve(block);
    if (result == 0)
        weir_record_bpf_event(&block->records, info->id, info->tag, trailer);
    return result;
}

static int emit_programs(struct weir_synth_block *block, struct functions *functions, uint64_t *programs)
{
    uint32_t id = 0;
    for (unsigned i = 0; i < PROGRAMS_MAX && weir_bpf_next_program(&id) == 0; i++) {
        struct bpf_prog_info info;
        if (read_program(id, &info, functions) < 0)
            continue; /* unloaded meanwhile, or not ours to see */
        int result = emit_program(block, &info, functions);
        if (result < 0)
            return result;
        (*programs)++;
    }
    return weir_synth_block_flush(block);
}

int weir_synth_bpf(const struct weir_synth_options *options, uint64_t *programs, struct weir_error *err)
{
    struct weir_synth_block block;
    struct functions *functions = calloc(1, sizeof(*functions));
    int result = weir_synth_block_init(&block, options);
    *programs = 0;
    if (result == 0)
        result = functions ? emit_programs(&block, functions, programs) : -ENOMEM;
    weir_synth_block_fini(&block);
    free(functions);
    return result < 0 ? weir_error_set_errno(err, result, "cannot record the BPF programs of the kernel") : 0;
}
