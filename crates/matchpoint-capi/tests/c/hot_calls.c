/* Callers of the functions that an MPI library calls for each message. `tests/all/stalls.rs` reads the compiled code
 * of three kinds of caller: the arguments are in a request, the caller first writes the request, the caller uses the
 * outcome immediately. */

#include <matchpoint.h>

struct request {
  uint32_t context, source;
  uint64_t id, tag, ignore, place;
  mp_outcome outcome;
  int32_t status;
};

#define PAIR(request) mp_pair((request)->context, (request)->source)

/* Callers that store the result in a member of the request. */
#define CALLS(name, result, ...) \
  void name##_of_request(mp_engine *engine, struct request *request) { \
    request->result = mp_##name(engine, __VA_ARGS__); \
  } \
  void name##_of_new_request(mp_engine *engine, struct request *request, uint32_t context, uint32_t source, uint64_t tag) { \
    request->context = context; \
    request->source = source; \
    request->tag = tag; \
    request->ignore = 0; \
    request->result = mp_##name(engine, __VA_ARGS__); \
  }

#define CALLS_WITH_OUTCOME(name, ...) \
  CALLS(name, outcome, __VA_ARGS__) \
  uint64_t name##_at_once(mp_engine *engine, struct request *request) { \
    mp_outcome outcome = mp_##name(engine, __VA_ARGS__); \
    return outcome.status == MP_MATCHED ? outcome.id : 0; \
  }

#define CALLS_WITH_STATUS(name, ...) \
  CALLS(name, status, __VA_ARGS__) \
  int name##_at_once(mp_engine *engine, struct request *request) { \
    return mp_##name(engine, __VA_ARGS__) == MP_FOUND; \
  }

CALLS_WITH_OUTCOME(post_exact, request->id, PAIR(request), request->tag)
CALLS_WITH_OUTCOME(post, request->id, PAIR(request), request->tag, request->ignore)
CALLS_WITH_OUTCOME(arrive, request->id, PAIR(request), request->tag)
CALLS_WITH_OUTCOME(probe, PAIR(request), request->tag, request->ignore)
CALLS_WITH_OUTCOME(matched_probe, PAIR(request), request->tag, request->ignore)
CALLS_WITH_OUTCOME(take_receive, PAIR(request), request->tag)
CALLS_WITH_OUTCOME(queue_message, request->id, PAIR(request), request->tag, request->place)
CALLS_WITH_OUTCOME(queue_receive, request->id, PAIR(request), request->tag, request->ignore, request->place)
CALLS_WITH_STATUS(cancel, request->id, PAIR(request), request->tag, request->ignore)
CALLS_WITH_STATUS(retract, request->id, PAIR(request), request->tag)
