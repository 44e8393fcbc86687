/* Slow calls, all of which `tests/all/stalls.rs` must find. `volatile` keeps the words in memory at all levels of
 * optimization. */

#include <matchpoint.h>

struct pair {
  uint32_t source, context;
};

typedef uint64_t two_words __attribute__((vector_size(16)));

mp_outcome arrive_of_pair(mp_engine *engine, uint64_t message, struct pair pair);
mp_outcome arrive_at_address(mp_engine *engine, const mp_message *message);
mp_outcome arrive_by_value(mp_engine *engine, mp_message message);
void take_outcome(two_words outcome);

/* Two stores of 4 bytes, and a load of 8. */
mp_outcome stall_of_halves(mp_engine *engine, uint64_t message, uint32_t context, uint32_t source) {
  volatile struct pair pair;
  pair.source = source;
  pair.context = context;
  return arrive_of_pair(engine, message, pair);
}

/* Two stores of 8 bytes, and a load of 16. */
void stall_of_words(mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag) {
  mp_outcome outcome = mp_arrive(engine, message, pair, tag);
  volatile union {
    uint64_t words[2];
    two_words both;
  } copy;
  copy.words[0] = outcome.id;
  copy.words[1] = (uint64_t)outcome.status;
  take_outcome(copy.both);
}

mp_outcome stack_by_address(mp_engine *engine, uint64_t id, uint64_t pair, uint64_t tag) {
  mp_message message = {id, pair, tag};
  return arrive_at_address(engine, &message);
}

mp_outcome stack_by_value(mp_engine *engine, uint64_t id, uint64_t pair, uint64_t tag) {
  mp_message message = {id, pair, tag};
  return arrive_by_value(engine, message);
}
