/* Interface of an engine of libmatchpoint or of a stand-in. */

struct matcher {
    const char *name;
    void *(*create)(void);
    void (*destroy)(void *state);
    /* A receive is posted. The outcome has the address of the message, or the receive is queued. */
    mp_outcome (*post)(void *state, struct request *receive, uint64_t pair, uint64_t tag, uint64_t ignore);
    /* A message arrives. The outcome has the address of the receive, or the message is queued. */
    mp_outcome (*arrive)(void *state, struct request *message, uint64_t pair, uint64_t tag);
};
