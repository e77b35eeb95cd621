/* Uevents of CPUs, and the kernel's list of online CPUs. One thread. */
#include "topology/cpu_watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "topology/sysroot.h"

#define KERNEL_GROUP  1u           /* multicast group of the kernel's own uevents; 2 is udev's */
#define MESSAGE_BYTES (2048 + 512) /* UEVENT_BUFFER_SIZE, and the line before it */

/* Reads the number of "PREFIX137"; nothing may follow it. */
static bool parse_cpu(const char *text, size_t length, const char *prefix, unsigned *cpu)
{
    size_t skipped = strlen(prefix);
    if (length <= skipped || memcmp(text, prefix, skipped) != 0)
        return false;
    unsigned number = 0;
    for (size_t at = skipped; at < length; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        number = 10 * number + (unsigned)(text[at] - '0');
        if (number >= WEIR_CPU_LIMIT)
            return false;
    }
    *cpu = number;
    return true;
}

bool weir_cpu_uevent_parse(const char *message, size_t bytes, struct weir_cpu_change *change)
{
    const char *end = memchr(message, '\0', bytes); /* the line before the variables ends in a zero */
    size_t length = end ? (size_t)(end - message) : 0;
    change->came = parse_cpu(message, length, "online@/devices/system/cpu/cpu", &change->cpu);
    return change->came || parse_cpu(message, length, "offline@/devices/system/cpu/cpu", &change->cpu);
}

void weir_cpu_watch_open(struct weir_cpu_watch *watch, const char *sysroot)
{
    *watch = (struct weir_cpu_watch){.fd = -1, .sysroot = sysroot};
    if (sysroot[0])
        return;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        fd = -1;
    }
    watch->fd = fd;
}

void weir_cpu_watch_close(struct weir_cpu_watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
}

int weir_cpu_watch_next(const struct weir_cpu_watch *watch, struct weir_cpu_change *change)
{
    char message[MESSAGE_BYTES];
    while (watch->fd >= 0) {
        struct sockaddr_nl from = {0};
        socklen_t from_bytes = sizeof(from);
        ssize_t got = recvfrom(watch->fd, message, sizeof(message), 0, (struct sockaddr *)&from, &from_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == ENOBUFS ? -ENOBUFS : 0;
        if (from.nl_pid == 0 && weir_cpu_uevent_parse(message, (size_t)got, change)) /* 0: from the kernel */
            return 1;
    }
    return 0;
}

int weir_cpu_watch_list(const struct weir_cpu_watch *watch, struct weir_cpuset *online)
{
    struct weir_sysroot root;
    weir_sysroot_init(&root, watch->sysroot);
    bool told = weir_sysroot_read_list(&root, online, "sys/devices/system/cpu/online");
    int result = root.error < 0 ? root.error : told ? 0 : -EIO;
    weir_sysroot_fini(&root);
    return result;
}

bool weir_cpu_watch_smt_is_off(const struct weir_cpu_watch *watch)
{
    struct weir_sysroot root;
    weir_sysroot_init(&root, watch->sysroot);
    const char *control = weir_sysroot_read(&root, "sys/devices/system/cpu/smt/control");
    bool is_off = control && (strcmp(control, "off") == 0 || strcmp(control, "forceoff") == 0);
    weir_sysroot_fini(&root);
    return is_off;
}

int weir_cpu_watch_offline(const struct weir_cpu_watch *watch, const struct weir_cpuset *online,
                           struct weir_cpuset *offline)
{
    struct weir_cpuset present = WEIR_CPUSET_INIT;
    struct weir_sysroot root;
    weir_sysroot_init(&root, watch->sysroot);
    weir_sysroot_read_list(&root, &present, "sys/devices/system/cpu/present"); /* unknown: none */
    int result = root.error < 0 ? root.error : weir_cpuset_without(offline, &present, online);
    weir_cpuset_fini(&present);
    weir_sysroot_fini(&root);
    return result;
}
