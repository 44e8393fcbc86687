/* Processor time of UCX's tag matching, in ns per message, over the transport `self`: one process, one thread, 8 bytes.
 *
 *     cc -O2 tag_depth.c -lucp -lucs -o tag_depth && UCX_TLS=self ./tag_depth CASE DEPTH
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <ucp/api/ucp.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const ucp_tag_t FULL = UINT64_MAX;
static const ucp_tag_t WILD = ~(ucp_tag_t)0xffff; /* any of the 16 low bits */

static ucp_worker_h worker;
static ucp_ep_h endpoint;
static uint64_t payload, buffer;

static void check(ucs_status_t status, const char *call)
{
    if (status != UCS_OK) {
        fprintf(stderr, "error: %s: %s\n", call, ucs_status_string(status));
        exit(EXIT_FAILURE);
    }
}

static void *check_request(void *request, const char *call)
{
    if (UCS_PTR_IS_ERR(request)) {
        check(UCS_PTR_STATUS(request), call);
    }
    return request;
}

static void complete(void *request)
{
    if (request != NULL) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            ucp_worker_progress(worker);
        }
        ucp_request_free(request);
    }
}

static void *receive(ucp_tag_t tag, ucp_tag_t mask)
{
    static const ucp_request_param_t param;

    return check_request(ucp_tag_recv_nbx(worker, &buffer, sizeof(buffer), tag, mask, &param), "ucp_tag_recv_nbx");
}

static void transmit(ucp_tag_t tag)
{
    static const ucp_request_param_t param;

    complete(check_request(ucp_tag_send_nbx(endpoint, &payload, sizeof(payload), tag, &param), "ucp_tag_send_nbx"));
}

/* Tags of the receives or messages that are queued. They differ above the 16 low bits. */
static ucp_tag_t queued_tag(int i)
{
    return (ucp_tag_t)(i + 16) << 16;
}

static void cancel(void *request)
{
    ucp_request_cancel(worker, request);
    complete(request);
}

/* One repetition: returns the number of messages, or of calls. */
typedef int (*repeat_fn)(void **requests, int depth, ucp_tag_t mask);

static int send_to_last(void **requests, int depth, ucp_tag_t mask)
{
    int i;

    for (i = 0; i < 1000; ++i) {
        void *request = receive(3, mask);
        transmit(3);
        complete(request);
    }
    return i;
}

static void post_all(void **requests, int depth, ucp_tag_t mask)
{
    int i;

    for (i = 0; i < depth; ++i) {
        requests[i] = receive(queued_tag(i), mask);
    }
}

static void complete_all(void **requests, int depth)
{
    int i;

    for (i = 0; i < depth; ++i) {
        complete(requests[i]);
    }
}

static int send_in_order(void **requests, int depth, ucp_tag_t mask)
{
    int i;

    post_all(requests, depth, mask);
    for (i = 0; i < depth; ++i) {
        transmit(queued_tag(i));
    }
    complete_all(requests, depth);
    return depth;
}

static int send_in_reverse(void **requests, int depth, ucp_tag_t mask)
{
    int i;

    post_all(requests, depth, mask);
    for (i = depth - 1; i >= 0; --i) {
        transmit(queued_tag(i));
    }
    complete_all(requests, depth);
    return depth;
}

static int receive_unexpected(void **requests, int depth, ucp_tag_t mask)
{
    int i;

    for (i = 0; i < depth; ++i) {
        transmit(queued_tag(i));
    }
    while (ucp_worker_progress(worker) != 0) {
    }
    for (i = depth - 1; i >= 0; --i) {
        complete(receive(queued_tag(i), mask));
    }
    return depth;
}

static int cancel_in_reverse(void **requests, int depth, ucp_tag_t mask)
{
    int i;

    post_all(requests, depth, mask);
    for (i = depth - 1; i >= 0; --i) {
        cancel(requests[i]);
    }
    return depth;
}

static int probe_without_match(void **requests, int depth, ucp_tag_t mask)
{
    ucp_tag_recv_info_t info;
    int i;

    for (i = 0; i < 1000; ++i) {
        if (ucp_tag_probe_nb(worker, 3, mask, 0, &info) != NULL) {
            fprintf(stderr, "error: a probe found a message with another tag\n");
            exit(EXIT_FAILURE);
        }
    }
    return i;
}

/* What is queued before the repetitions. */
enum queued { NOTHING, RECEIVES, MESSAGES };

static const struct {
    const char *name;
    enum queued queued;
    ucp_tag_t queued_mask;
    repeat_fn repeat;
    ucp_tag_t mask;
    const char *meaning;
} cases[] = {
    {"last", RECEIVES, FULL, send_to_last, FULL, "DEPTH other receives are posted"},
    {"last_behind_wild", RECEIVES, WILD, send_to_last, FULL, "DEPTH other receives with masks are posted"},
    {"wild_last", RECEIVES, FULL, send_to_last, WILD, "a receive with a mask, behind DEPTH other receives"},
    {"in_order", NOTHING, FULL, send_in_order, FULL, "DEPTH receives, and their messages in order"},
    {"in_order_wild", NOTHING, FULL, send_in_order, WILD, "the same with masks"},
    {"reverse", NOTHING, FULL, send_in_reverse, FULL, "DEPTH receives, and their messages in reverse"},
    {"reverse_wild", NOTHING, FULL, send_in_reverse, WILD, "the same with masks"},
    {"unexpected", NOTHING, FULL, receive_unexpected, FULL, "DEPTH messages, then their receives in reverse"},
    {"unexpected_wild", NOTHING, FULL, receive_unexpected, WILD, "the same with masks"},
    {"cancel", NOTHING, FULL, cancel_in_reverse, FULL, "DEPTH receives are posted, and cancelled in reverse"},
    {"cancel_wild", NOTHING, FULL, cancel_in_reverse, WILD, "the same with masks"},
    {"probe", MESSAGES, FULL, probe_without_match, FULL, "a probe without a match, DEPTH messages wait"},
    {"probe_wild", MESSAGES, FULL, probe_without_match, WILD, "the same with a mask"},
};

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void start_worker(void)
{
    ucp_params_t params          = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t defaults = {0};
    ucp_ep_params_t peer         = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    ucp_context_h context;
    ucp_config_t *config;
    size_t length;

    check(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    check(ucp_worker_create(context, &defaults, &worker), "ucp_worker_create");
    check(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
    peer.address = address;
    check(ucp_ep_create(worker, &peer, &endpoint), "ucp_ep_create");
    ucp_worker_release_address(worker, address);
    send_to_last(NULL, 0, FULL);
}

static void print_usage(void)
{
    size_t i;

    fprintf(stderr, "usage: tag_depth CASE DEPTH\n");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        fprintf(stderr, "  %-17s %s\n", cases[i].name, cases[i].meaning);
    }
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    int depth = (argc == 3) ? atoi(argv[2]) : -1;
    double least = 1e18, start, ns;
    void **requests;
    size_t which;
    long count;
    int i;

    for (which = 0; which < sizeof(cases) / sizeof(cases[0]); ++which) {
        if ((argc == 3) && (strcmp(argv[1], cases[which].name) == 0)) {
            break;
        }
    }
    /* Cases without queued entries exchange DEPTH messages. */
    if ((which == sizeof(cases) / sizeof(cases[0])) || (depth < (cases[which].queued == NOTHING))) {
        print_usage();
    }
    requests = calloc(depth + 1, sizeof(*requests));
    if (requests == NULL) {
        check(UCS_ERR_NO_MEMORY, "calloc");
    }

    start_worker();
    for (i = 0; i < depth; ++i) {
        if (cases[which].queued == RECEIVES) {
            requests[i] = receive(queued_tag(i), cases[which].queued_mask);
        } else if (cases[which].queued == MESSAGES) {
            transmit(queued_tag(i));
        }
    }
    while (ucp_worker_progress(worker) != 0) {
    }
    /* The least of 20 measurements of 5 ms, or of one repetition if that is longer. */
    for (i = 0; i < 20; ++i) {
        count = 0;
        start = now_ns();
        do {
            count += cases[which].repeat(requests, depth, cases[which].mask);
            ns = now_ns() - start;
        } while (ns < 5e6);
        least = (ns / count < least) ? ns / count : least;
    }
    printf("%.1f\n", least);
    for (i = 0; i < depth; ++i) {
        if (cases[which].queued == RECEIVES) {
            cancel(requests[i]);
        } else if (cases[which].queued == MESSAGES) {
            complete(receive(queued_tag(i), FULL));
        }
    }
    return EXIT_SUCCESS;
}
