/*
 * Records of the kernel's own map and of its modules. Runs on one thread, which may run beside those of the tasks.
 *
 * The kernel's map starts at _text (or _stext), ends at _edata (or _etext, or the first module), and names the symbol
 * at its start. From that symbol, a consumer with a vmlinux computes how far the kernel was moved at boot. One pass
 * over kallsyms finds all symbols (perf makes three passes); the pass relies on no order.
 *
 * A whole pass costs some 50 ms of CPU time, most of the cost of a short recording. Few kernels have _edata in kallsyms
 * (CONFIG_KALLSYMS_ALL), so a search for it takes a whole pass. On x86-64 the image is contiguous in memory
 * (arch/x86/kernel/vmlinux.lds.S). So the distance from _text to _edata equals that from "Kernel code" to the end of
 * "Kernel data" in /proc/iomem. The pass can then end at _text, one of the first symbols. Users without the privilege
 * to see iomem's addresses see zeros there.
 *
 * Source: machine__get_running_kernel_start(), machine__create_kernel_maps(), perf_event__synthesize_kernel_mmap() and
 * perf_event__synthesize_modules() in tools/perf/util of Linux 6.12; insert_kernel_resources in
 * arch/x86/kernel/setup.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/remedy.h"
#include "format/line_source.h"
#include "format/records.h"
#include "format/synth_internal.h"

#define KERNEL_PID      ((pid_t)-1) /* consumers take it for the host's kernel */
#define KERNEL_MAP_NAME "[kernel.kallsyms]"
#define UNKNOWN_END     UINT64_MAX
#define KNOB_BYTES      32u

#ifdef __x86_64__
#define IMAGE_IS_CONTIGUOUS true
#else
#define IMAGE_IS_CONTIGUOUS false
#endif

const char *const weir_kernel_symbol_names[WEIR_SYMBOL_COUNT] = {"_text", "_stext", "_edata", "_etext"};

/* The facts from which the records are made. */
struct kernel_scan {
    const struct weir_synth_options *options; /* borrowed */
    const char *proc_root;                    /* borrowed */
    int proc_fd;                              /* owned */
    struct weir_kernel_symbols symbols;
    struct weir_synth_modules modules;
    struct weir_synth_block block;
};

/* ---- iomem ---- */

/* "  01000000-02209987 : Kernel code": the range, its end inclusive, when the line names it so. */
static bool parse_resource(const char *line, const char *name, uint64_t *first, uint64_t *last)
{
    char *end;
    const char *colon = strstr(line, " : ");
    if (!colon || strcmp(colon + 3, name) != 0)
        return false;
    *first = strtoull(line, &end, 16);
    if (*end != '-')
        return false;
    *last = strtoull(end + 1, &end, 16);
    return end == colon && *last > *first;
}

static uint64_t read_image_bytes(int proc_fd)
{
    int fd = openat(proc_fd, "iomem", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    char text[PATH_MAX];
    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    uint64_t code = 0, code_last = 0, data = 0, data_last = 0;
    const char *line;
    while (data_last == 0 && (line = weir_line_source_next(&lines))) {
        if (!parse_resource(line, "Kernel code", &code, &code_last))
            parse_resource(line, "Kernel data", &data, &data_last);
    }
    close(fd);
    return code_last > 0 && data > code_last ? data_last + 1 - code : 0;
}

/* ---- kallsyms ---- */

/* "ADDRESS TYPE NAME", with "\t[MODULE]" behind it for what is not the kernel's own. */
void weir_kernel_symbols_note(struct weir_kernel_symbols *symbols, const char *line)
{
    const char *name = strrchr(line, ' ');
    if (!name || name[1] != '_')
        return;
    for (int i = 0; i < WEIR_SYMBOL_COUNT; i++) {
        if (!symbols->is_found[i] && strcmp(name + 1, weir_kernel_symbol_names[i]) == 0) {
            symbols->address[i] = strtoull(line, NULL, 16);
            symbols->is_found[i] = true;
        }
    }
}

/* Enough to know where the kernel starts and ends. */
static bool has_bounds(const struct weir_kernel_symbols *symbols)
{
    return symbols->is_found[WEIR_SYMBOL_TEXT] && (symbols->is_found[WEIR_SYMBOL_EDATA] || symbols->image_bytes > 0);
}

/* 0 or the -errno of opening or reading kallsyms. */
static int read_symbols(struct kernel_scan *scan)
{
    int fd = openat(scan->proc_fd, "kallsyms", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char text[4 * PATH_MAX]; /* symbols have at most 512 bytes, and a read gives a page */
    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    struct weir_kernel_symbols *symbols = &scan->symbols;
    const char *line;
    if (IMAGE_IS_CONTIGUOUS)
        symbols->image_bytes = read_image_bytes(scan->proc_fd);
    while (!has_bounds(symbols) && (line = weir_line_source_next(&lines)))
        weir_kernel_symbols_note(symbols, line);
    close(fd);
    return lines.error;
}

/* ---- what cannot be recorded ---- */

static void warn_unreadable(const struct kernel_scan *scan, int code)
{
    weir_notice(scan->options->notices, WEIR_NOTICE_WARNING,
                "cannot read %s/kallsyms: %s: kernel samples will have no symbols", scan->proc_root,
                strerrordesc_np(-code));
}

static void warn_hidden(const struct kernel_scan *scan)
{
    char restrict_value[KNOB_BYTES], paranoid_value[KNOB_BYTES];
    if (!weir_synth_knob_read(scan->proc_fd, "sys/kernel/kptr_restrict", restrict_value, sizeof(restrict_value)))
        snprintf(restrict_value, sizeof(restrict_value), "unknown");
    if (!weir_synth_knob_read(scan->proc_fd, "sys/kernel/perf_event_paranoid", paranoid_value, sizeof(paranoid_value)))
        snprintf(paranoid_value, sizeof(paranoid_value), "unknown");
    weir_notice(scan->options->notices, WEIR_NOTICE_WARNING,
                "the kernel hides its addresses (kernel.kptr_restrict is %s, kernel.perf_event_paranoid is %s): kernel "
                "samples will have no symbols; %s",
                restrict_value, paranoid_value,
                weir_remedy_hidden_kernel(strtoll(restrict_value, NULL, 10), strtoll(paranoid_value, NULL, 10),
                                          geteuid() == 0, (char[WEIR_REMEDY_BYTES]){0}));
}

static void warn_nameless(const struct kernel_scan *scan)
{
    weir_notice(scan->options->notices, WEIR_NOTICE_WARNING,
                "%s/kallsyms has neither _text nor _stext: kernel samples will have no symbols", scan->proc_root);
}

/* ---- records ---- */

uint64_t weir_kernel_symbols_end(const struct weir_kernel_symbols *symbols, const struct weir_synth_modules *modules,
                                 uint64_t start)
{
    if (symbols->is_found[WEIR_SYMBOL_EDATA] && symbols->address[WEIR_SYMBOL_EDATA] > start)
        return symbols->address[WEIR_SYMBOL_EDATA];
    if (symbols->is_found[WEIR_SYMBOL_TEXT] && symbols->image_bytes > 0)
        return start + symbols->image_bytes;
    if (symbols->is_found[WEIR_SYMBOL_ETEXT] && symbols->address[WEIR_SYMBOL_ETEXT] > start)
        return symbols->address[WEIR_SYMBOL_ETEXT];
    for (size_t i = 0; i < modules->count; i++) {
        if (modules->all[i].start > start)
            return modules->all[i].start;
    }
    return UNKNOWN_END;
}

static int emit_map(struct kernel_scan *scan, const struct weir_record_map *map)
{
    int result = weir_synth_block_reserve(&scan->block);
    if (result < 0)
        return result;
    /* As perf: the first kind has no room for an id. */
    if (scan->options->build_ids)
        weir_record_mmap2(&scan->block.records, map, scan->options->sample_id_bytes);
    else
        weir_record_mmap(&scan->block.records, map, scan->options->sample_id_bytes);
    return 0;
}

static int emit_kernel_map(struct kernel_scan *scan, enum weir_kernel_symbol symbol)
{
    uint64_t start = scan->symbols.address[symbol];
    char name[sizeof(KERNEL_MAP_NAME) + sizeof("_stext")];
    stpcpy(stpcpy(name, KERNEL_MAP_NAME), weir_kernel_symbol_names[symbol]);
    struct weir_record_map map = {
        .pid = KERNEL_PID,
        .start = start,
        .bytes = weir_kernel_symbols_end(&scan->symbols, &scan->modules, start) - start,
        .page_offset = start,
        .cpumode = PERF_RECORD_MISC_KERNEL,
        .filename = name,
    };
    struct weir_build_id id = {0};
    if (scan->options->build_ids && weir_build_id_of_kernel(scan->options->sys_root, &id) == 0)
        map.build_id = &id;
    return emit_map(scan, &map);
}

static int emit_module(struct kernel_scan *scan, const struct weir_synth_module *module)
{
    char bracketed[WEIR_SYNTH_MODULE_NAME_BYTES + sizeof("[]")];
    snprintf(bracketed, sizeof(bracketed), "[%s]", module->name);
    struct weir_record_map map = {
        .pid = KERNEL_PID,
        .start = module->start,
        .bytes = module->bytes,
        .cpumode = PERF_RECORD_MISC_KERNEL,
        .filename = module->path ? module->path : bracketed,
    };
    struct weir_build_id id = {0};
    if (scan->options->build_ids && weir_build_id_of_module(scan->options->sys_root, module->name, &id) == 0)
        map.build_id = &id;
    return emit_map(scan, &map);
}

/* The kernel's own map, or a warning that says why there is none. */
static int emit_kernel(struct kernel_scan *scan)
{
    const struct weir_kernel_symbols *symbols = &scan->symbols;
    int code = read_symbols(scan);
    enum weir_kernel_symbol symbol = symbols->is_found[WEIR_SYMBOL_TEXT] ? WEIR_SYMBOL_TEXT : WEIR_SYMBOL_STEXT;
    if (code < 0)
        warn_unreadable(scan, code);
    else if (!symbols->is_found[symbol])
        warn_nameless(scan);
    else if (symbols->address[symbol] == 0)
        warn_hidden(scan);
    else
        return emit_kernel_map(scan, symbol);
    return 0;
}

/* ---- the public function ---- */

static int synth_kernel(struct kernel_scan *scan)
{
    int result = scan->options->modules_only ? 0 : emit_kernel(scan);
    for (size_t i = 0; i < scan->modules.count && result == 0; i++)
        result = emit_module(scan, &scan->modules.all[i]);
    return result < 0 ? result : weir_synth_block_flush(&scan->block);
}

int weir_synth_kernel(const struct weir_synth_options *options, struct weir_error *err)
{
    struct kernel_scan scan = {.options = options, .proc_root = options->proc_root ? options->proc_root : "/proc"};
    scan.proc_fd = open(scan.proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (scan.proc_fd < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", scan.proc_root);

    const char *modules_root = options->modules_root ? options->modules_root : "/lib/modules";
    int result = weir_synth_block_init(&scan.block, options);
    if (result == 0)
        result = weir_synth_modules_read(&scan.modules, scan.proc_fd, modules_root);
    if (result == 0)
        result = synth_kernel(&scan);

    weir_synth_modules_fini(&scan.modules);
    weir_synth_block_fini(&scan.block);
    close(scan.proc_fd);
    return result < 0 ? weir_error_set_errno(err, result, "cannot record the maps of the kernel") : 0;
}
