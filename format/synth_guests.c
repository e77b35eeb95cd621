/*
 * Records of the kernels and modules of virtual machines, from files of each guest's /proc that the user has copied or
 * mounted. One thread.
 *
 * Samples of a guest have PERF_RECORD_MISC_GUEST_KERNEL and the process of its hypervisor. Consumers look for the
 * guest of that process, and then for the guest without a process (--guestkallsyms). As perf, modules come before the
 * kernel: consumers load the symbols of modules from the guest's kallsyms.
 *
 * Source: perf_event__synthesize_guest_os() in tools/perf/builtin-record.c and machines__create_guest_kernel_maps() in
 * tools/perf/util/machine.c of Linux 4.8 and 6.12.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "format/line_source.h"
#include "format/synth_internal.h"

#define NO_PROCESS     0 /* DEFAULT_GUEST_KERNEL_ID of perf */
#define MAP_NAME       "[guest.kernel.kallsyms"
#define MAP_NAME_BYTES 64u
#define PID_DIGITS_MAX 9u

struct guest {
    pid_t pid;            /* of its hypervisor; NO_PROCESS: of any */
    const char *kallsyms; /* path, for messages */
    struct weir_synth_modules modules;
    struct weir_kernel_symbols symbols;
};

static int emit_map(struct weir_synth_block *block, const struct weir_record_map *map)
{
    int result = weir_synth_block_reserve(block);
    if (result == 0)
        weir_record_mmap(&block->records, map, block->options->sample_id_bytes);
    return result;
}

static int emit_modules(struct weir_synth_block *block, const struct guest *guest)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < guest->modules.count; i++) {
        const struct weir_synth_module *module = &guest->modules.all[i];
        char bracketed[WEIR_SYNTH_MODULE_NAME_BYTES + sizeof("[]")];
        snprintf(bracketed, sizeof(bracketed), "[%s]", module->name);
        result = emit_map(block, &(struct weir_record_map){
                                     .pid = guest->pid,
                                     .start = module->start,
                                     .bytes = module->bytes,
                                     .cpumode = PERF_RECORD_MISC_GUEST_KERNEL,
                                     .filename = module->path ? module->path : bracketed,
                                 });
    }
    return result;
}

static int emit_kernel(struct weir_synth_block *block, const struct guest *guest, enum weir_kernel_symbol symbol)
{
    char name[MAP_NAME_BYTES], of[16] = "";
    if (guest->pid != NO_PROCESS)
        snprintf(of, sizeof(of), ".%d", (int)guest->pid);
    snprintf(name, sizeof(name), MAP_NAME "%s]%s", of, weir_kernel_symbol_names[symbol]);
    uint64_t start = guest->symbols.address[symbol];
    return emit_map(block, &(struct weir_record_map){
                               .pid = guest->pid,
                               .start = start,
                               .bytes = weir_kernel_symbols_end(&guest->symbols, &guest->modules, start) - start,
                               .page_offset = start,
                               .cpumode = PERF_RECORD_MISC_GUEST_KERNEL,
                               .filename = name,
                           });
}

/* Reads all of kallsyms: 0 or -errno. */
static int read_symbols(struct guest *guest, int fd)
{
    char text[4 * PATH_MAX]; /* symbols have at most 512 bytes */
    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    const char *line;
    while ((line = weir_line_source_next(&lines)))
        weir_kernel_symbols_note(&guest->symbols, line);
    return lines.error;
}

/* Emits the records of a guest. kallsyms_fd: -errno if it could not be opened, which costs the guest its kernel. */
static int emit_guest(struct weir_synth_block *block, struct guest *guest, int kallsyms_fd)
{
    const struct weir_notice_sink *notices = block->options->notices;
    int code = kallsyms_fd < 0 ? kallsyms_fd : read_symbols(guest, kallsyms_fd);
    bool has_text = guest->symbols.is_found[WEIR_SYMBOL_TEXT];
    enum weir_kernel_symbol symbol = has_text ? WEIR_SYMBOL_TEXT : WEIR_SYMBOL_STEXT;
    int result = emit_modules(block, guest);
    if (result < 0)
        return result;
    if (code < 0)
        weir_notice(notices, WEIR_NOTICE_WARNING, "cannot read %s: %s: samples of this guest's kernel have no symbols",
                    guest->kallsyms, strerrordesc_np(-code));
    else if (!guest->symbols.is_found[symbol])
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "%s has neither _text nor _stext: samples of this guest's kernel have no symbols", guest->kallsyms);
    else if (guest->symbols.address[symbol] == 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "%s hides its addresses: samples of this guest's kernel have no symbols; read it as root of the "
                    "guest, with kernel.kptr_restrict=0 there",
                    guest->kallsyms);
    else
        result = emit_kernel(block, guest, symbol);
    return result;
}

/* ---- the guest of --guestkallsyms and --guestmodules ---- */

static int emit_default(struct weir_synth_block *block, const struct weir_guests *guests)
{
    struct guest guest = {.pid = NO_PROCESS, .kallsyms = guests->kallsyms};
    struct stat status;
    int result = 0;
    if (guests->modules) {
        int fd = weir_regular_file_open(AT_FDCWD, guests->modules, &status);
        result = fd < 0 ? fd : weir_synth_modules_read_file(&guest.modules, fd);
        if (fd >= 0)
            close(fd);
    }
    if (result == 0 && guests->kallsyms) {
        int fd = weir_regular_file_open(AT_FDCWD, guests->kallsyms, &status);
        result = emit_guest(block, &guest, fd);
        if (fd >= 0)
            close(fd);
    } else if (result == 0) {
        result = emit_modules(block, &guest);
    }
    weir_synth_modules_fini(&guest.modules);
    return result;
}

/* ---- the guests of --guestmount ---- */

static int is_process(const struct dirent *entry)
{
    size_t digits = strspn(entry->d_name, "0123456789");
    return digits > 0 && digits <= PID_DIGITS_MAX && entry->d_name[digits] == '\0' && entry->d_name[0] != '0';
}

/* One guest in DIR/PID. */
static int emit_mounted(struct weir_synth_block *block, const char *mount, const char *name)
{
    char proc[PATH_MAX], kallsyms[PATH_MAX], modules[PATH_MAX];
    int bytes = snprintf(kallsyms, sizeof(kallsyms), "%s/%s/proc/kallsyms", mount, name);
    if (bytes < 0 || (size_t)bytes >= sizeof(kallsyms))
        return 0;
    snprintf(proc, sizeof(proc), "%s/%s/proc", mount, name);
    snprintf(modules, sizeof(modules), "%s/%s/lib/modules", mount, name);
    struct guest guest = {.pid = (pid_t)strtol(name, NULL, 10), .kallsyms = kallsyms};
    int proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC), result = 0;
    int fd = proc_fd < 0 ? -errno : 0;
    if (proc_fd >= 0) {
        struct stat status;
        result = weir_synth_modules_read(&guest.modules, proc_fd, modules);
        fd = weir_regular_file_open(proc_fd, "kallsyms", &status);
        close(proc_fd);
    }
    if (result == 0)
        result = emit_guest(block, &guest, fd);
    if (proc_fd >= 0 && fd >= 0)
        close(fd);
    weir_synth_modules_fini(&guest.modules);
    return result;
}

static int emit_mounts(struct weir_synth_block *block, const char *mount)
{
    struct dirent **entries = NULL;
    int count = scandir(mount, &entries, is_process, versionsort), result = count < 0 ? -errno : 0;
    if (count == 0)
        weir_notice(block->options->notices, WEIR_NOTICE_WARNING,
                    "no guest is mounted in %s: each needs a directory there that is named as the process of its "
                    "hypervisor",
                    mount);
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = emit_mounted(block, mount, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return result;
}

/* ---- the public functions ---- */

bool weir_guests_are_given(const struct weir_guests *guests)
{
    return guests->kallsyms || guests->modules || guests->mount;
}

/* proc_file: of which the user has to make a copy. */
static int check_file(const char *path, const char *option, const char *proc_file, struct weir_error *err)
{
    struct stat status;
    int fd = path ? weir_regular_file_open(AT_FDCWD, path, &status) : -1, result = 0;
    if (path && fd == -ENODATA)
        result = weir_error_set(err, -EINVAL, "%s: '%s' is not a regular file", option, path);
    else if (path && fd < 0)
        result = weir_error_set_errno(err, fd, "%s: cannot open '%s'", option, path);
    if (result < 0)
        weir_error_hint(err, "it takes a copy of the guest's %s, which root of the guest makes", proc_file);
    if (fd >= 0)
        close(fd);
    return result;
}

int weir_guests_check(const struct weir_guests *guests, struct weir_error *err)
{
    int result = check_file(guests->kallsyms, "--guestkallsyms", "/proc/kallsyms", err);
    if (result == 0)
        result = check_file(guests->modules, "--guestmodules", "/proc/modules", err);
    if (result < 0 || !guests->mount)
        return result;
    int fd = open(guests->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        result = weir_error_set_errno(err, -errno, "--guestmount: cannot open directory '%s'", guests->mount);
        weir_error_hint(err, "it has the root of each guest, named as the process of the hypervisor: "
                             "sshfs guest:/ DIR/PID -o direct_io");
        return result;
    }
    close(fd);
    return 0;
}

int weir_synth_guests(const struct weir_synth_options *options, const struct weir_guests *guests,
                      struct weir_error *err)
{
    struct weir_synth_block block;
    int result = weir_synth_block_init(&block, options);
    if (result == 0 && (guests->kallsyms || guests->modules))
        result = emit_default(&block, guests);
    if (result == 0 && guests->mount)
        result = emit_mounts(&block, guests->mount);
    if (result == 0)
        result = weir_synth_block_flush(&block);
    weir_synth_block_fini(&block);
    return result < 0 ? weir_error_set_errno(err, result, "cannot record the kernels of guests") : 0;
}
