/* Lines and hints that outputs of both kinds give: files and folders. Any thread. */
#include "io/output_refusal.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

int weir_output_refuse_link(const char *path, struct weir_error *err)
{
    weir_error_set(err, -ELOOP, "output '%s' is a symbolic link", path);
    weir_error_hint(err, "links are not written through: name the file that it points to");
    return -ELOOP;
}

int weir_output_check_owner(const char *path, uid_t owner, struct weir_error *err)
{
    if (geteuid() == 0 || owner == geteuid())
        return 0;
    weir_error_set(err, -EPERM, "output '%s' belongs to user %u, not to user %u", path, (unsigned)owner,
                   (unsigned)geteuid());
    weir_error_hint(err, "what others own is not replaced: choose another name");
    return -EPERM;
}

void weir_output_hint_lookup(int code, struct weir_error *err)
{
    if (code == -EACCES)
        weir_error_hint(err, "user %u may not enter a directory on the way to it", (unsigned)geteuid());
    else if (code == -ENOTDIR)
        weir_error_hint(err, "one of the directories on the way to it is a file");
    else if (code == -ENAMETOOLONG)
        weir_error_hint(err, "a name may have %d bytes, and a path %d", NAME_MAX, PATH_MAX - 1);
}

int weir_output_fail_lookup(const char *path, int code, struct weir_error *err)
{
    weir_error_set_errno(err, code, "cannot inspect output '%s'", path);
    weir_output_hint_lookup(code, err);
    return code;
}
