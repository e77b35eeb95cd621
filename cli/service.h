/*
 * What a service manager hears of a recording: sd_notify(3)'s protocol, one datagram for each message to the socket
 * that NOTIFY_SOCKET names. The protocol is a dozen lines of text; libsystemd would bring its own libraries for that.
 *
 *     READY=1       events count, and the output has its name
 *     STATUS=...    the line of --status, every ten seconds
 *     WATCHDOG=1    the coordinator runs; so often as WATCHDOG_USEC demands
 *     STOPPING=1    the recording ends
 *
 * Coordinator thread. No function blocks or fails: a manager that does not read misses messages.
 */
#ifndef WEIR_CLI_SERVICE_H
#define WEIR_CLI_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

struct weir_service {
    int fd;                 /* owned socket, connected; -1: no service manager asks */
    uint64_t watchdog_ns;   /* longest time between two WATCHDOG=1; 0: none is asked for */
    uint64_t told_alive_ns; /* monotonic; of the last WATCHDOG=1 and STATUS */
    uint64_t told_status_ns;
    bool stopping; /* STOPPING=1 is told */
};

/* Connects to the socket that the environment names, and removes the names: they are for weir, not for the workload.
 * Call this before threads start. */
void weir_service_open(struct weir_service *service);

void weir_service_close(struct weir_service *service);

/* Whether a service manager hears. */
bool weir_service_hears(const struct weir_service *service);

/* Returns the milliseconds within which weir_service_tell_state() is to be called again; 0: hears nothing. */
uint64_t weir_service_period_ms(const struct weir_service *service);

void weir_service_tell_ready(struct weir_service *service);

/* Tells that weir lives, and the status if the last one is old. text: one line without escapes. */
void weir_service_tell_state(struct weir_service *service, uint64_t now_ns, const char *text);

/* Idempotent. */
void weir_service_tell_stopping(struct weir_service *service);

#endif
