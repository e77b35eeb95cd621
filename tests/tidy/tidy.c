/*
 * tidy DIR: applies the rules to every file of the tree below DIR, and those of mentions and modules to the tree as a
 * whole, and fails when one is broken. tidy --modules DIR prints what the modules' rules are about, edge by edge. One
 * thread.
 * Hidden entries (but .ci) and build* are not part of the tree.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "tests/tidy/mentions.h"
#include "tests/tidy/modules.h"
#include "tests/tidy/rules.h"

#define PATH_BYTES   4096
#define FOLDERS_DEEP 16 /* a deeper tree is a loop or a mistake */

struct tally {
    const char *root; /* borrowed */
    bool is_quiet;    /* prints no findings */
    unsigned files;
    unsigned findings;
    unsigned advice;
    struct mentions mentions;
    struct modules modules;
};

static void print_finding(void *ctx, const struct finding *finding)
{
    struct tally *tally = ctx;
    if (tally->is_quiet)
        return;
    *(finding->is_advice ? &tally->advice : &tally->findings) += 1;
    printf("%s:%u: %s%s: %s\n", finding->path, finding->line, finding->is_advice ? "advice: " : "", finding->rule,
           finding->message);
}

static int check_file(struct tally *tally, const char *path, const char *relative_path)
{
    if (source_kind_of(relative_path) == SOURCE_OTHER)
        return 0;
    struct weir_buf text = WEIR_BUF_INIT;
    struct source source = {0};
    int result = weir_buf_append_file(&text, path);
    if (result == 0)
        result = source_init(&source, relative_path, weir_buf_str(&text));
    if (result == 0) {
        const struct finding_sink sink = {.report = print_finding, .ctx = tally};
        rules_check(&source, &sink);
        tally->files++;
    }
    if (result == 0)
        result = mentions_collect(&tally->mentions, &source);
    if (result == 0)
        result = modules_collect(&tally->modules, &source);
    source_fini(&source);
    weir_buf_fini(&text);
    return result;
}

static bool is_part_of_tree(const char *relative_path, const char *name)
{
    bool is_top = relative_path == name;
    if (name[0] == '.')
        return is_top && strcmp(name, ".ci") == 0;
    return !(is_top && strncmp(name, "build", strlen("build")) == 0);
}

static int walk(struct tally *tally, const char *path, unsigned depth);

static int visit(struct tally *tally, const char *folder, const char *name, unsigned depth)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    const char *relative_path = path + strlen(tally->root) + 1;
    const char *relative_name = path + strlen(folder) + 1;
    struct stat status;
    if (!is_part_of_tree(relative_path, relative_name))
        return 0;
    if (lstat(path, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return walk(tally, path, depth + 1);
    return S_ISREG(status.st_mode) ? check_file(tally, path, relative_path) : 0;
}

static int walk(struct tally *tally, const char *path, unsigned depth)
{
    if (depth > FOLDERS_DEEP)
        return -ELOOP;
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        return -errno;
    int result = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (result == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            result = visit(tally, path, name, depth);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int main(int argc, char **argv)
{
    bool only_modules = argc == 3 && strcmp(argv[1], "--modules") == 0;
    if (argc != 2 && !only_modules) {
        fprintf(stderr, "usage: tidy [--modules] DIR\n");
        return 2;
    }
    struct tally tally = {
        .root = argv[argc - 1], .is_quiet = only_modules, .mentions = MENTIONS_INIT, .modules = MODULES_INIT};
    const struct finding_sink sink = {.report = print_finding, .ctx = &tally};
    int result = walk(&tally, tally.root, 0);
    if (result == 0)
        result = modules_link(&tally.modules);
    if (result == 0 && only_modules) {
        modules_print(&tally.modules, stdout);
    } else if (result == 0) {
        mentions_check(&tally.mentions, &sink);
        modules_check(&tally.modules, &tree_exceptions, &sink);
    }
    mentions_fini(&tally.mentions);
    modules_fini(&tally.modules);
    if (result < 0) {
        fprintf(stderr, "tidy: cannot read %s: %s\n", tally.root, strerror(-result));
        return 2;
    }
    if (!only_modules)
        printf("tidy: %u files, %u findings, %u advices\n", tally.files, tally.findings, tally.advice);
    return only_modules || (tally.findings == 0 && tally.files > 0) ? 0 : 1;
}
