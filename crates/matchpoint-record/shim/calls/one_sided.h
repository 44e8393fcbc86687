/* One-sided communication (MPI-4.1 §12): functions and times only, because it needs no matching. */

static void put_plain(struct lane *lane, uint64_t code, uint64_t entered)
{
    uint64_t *record = begin(lane, code, 0, entered, ticks());
    if (record != NULL)
        commit(lane, record, WORD_FIELDS);
}

#define PLAIN(NAME, P, A)                                                                                \
    CALL(NAME, "", P, A)                                                                                 \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME) A;                                                                         \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME) A;                                                                       \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        put_plain(lane, CODE(NAME), entered);                                                            \
        return leave(lane, result);                                                                      \
    }

#include "../common/one_sided.h"
