/* The service manager's socket. Source: sd_notify(3), "Well-known assignments" and "Notes"; sd_watchdog_enabled(3). */
#include "cli/service.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/value.h"

#define STATUS_PERIOD_NS (10 * WEIR_NS_PER_S)
#define PERIOD_MS        1000

/* "@name" is an abstract name. Returns the length of the address; 0: not an address. */
static socklen_t address_of(struct sockaddr_un *address, const char *name)
{
    size_t length = strlen(name);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(address->sun_path))
        return 0;
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
}

static int connect_to(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(&address, name);
    if (length == 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The time that WATCHDOG_USEC gives this process, in ns; 0: none. */
static uint64_t watchdog_of_environment(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *of = getenv("WATCHDOG_PID");
    uint64_t us, pid;
    if (!text || weir_value_parse_number(text, &us) < 0 || us > UINT64_MAX / WEIR_NS_PER_US)
        return 0;
    if (of && (weir_value_parse_number(of, &pid) < 0 || pid != (uint64_t)getpid()))
        return 0;
    return us * WEIR_NS_PER_US;
}

void weir_service_open(struct weir_service *service)
{
    const char *name = getenv("NOTIFY_SOCKET");
    *service = (struct weir_service){.fd = name ? connect_to(name) : -1};
    if (service->fd >= 0)
        service->watchdog_ns = watchdog_of_environment();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void weir_service_close(struct weir_service *service)
{
    if (service->fd >= 0)
        close(service->fd);
    service->fd = -1;
}

bool weir_service_hears(const struct weir_service *service)
{
    return service->fd >= 0;
}

uint64_t weir_service_period_ms(const struct weir_service *service)
{
    uint64_t half_ms = service->watchdog_ns / 2 / WEIR_NS_PER_MS;
    if (service->fd < 0)
        return 0;
    if (half_ms == 0 || half_ms > PERIOD_MS)
        return PERIOD_MS;
    return half_ms;
}

static void tell(const struct weir_service *service, const char *text)
{
    if (service->fd >= 0)
        (void)!send(service->fd, text, strlen(text), MSG_NOSIGNAL);
}

void weir_service_tell_ready(struct weir_service *service)
{
    tell(service, "READY=1\nSTATUS=recording\n");
}

void weir_service_tell_state(struct weir_service *service, uint64_t now_ns, const char *text)
{
    if (service->watchdog_ns > 0 && now_ns - service->told_alive_ns >= service->watchdog_ns / 4) {
        service->told_alive_ns = now_ns;
        tell(service, "WATCHDOG=1\n");
    }
    if (now_ns - service->told_status_ns >= STATUS_PERIOD_NS) {
        char message[600];
        service->told_status_ns = now_ns;
        snprintf(message, sizeof(message), "STATUS=%s\n", text);
        tell(service, message);
    }
}

void weir_service_tell_stopping(struct weir_service *service)
{
    if (!service->stopping)
        tell(service, "STOPPING=1\nSTATUS=finishing the file\n");
    service->stopping = true;
}
