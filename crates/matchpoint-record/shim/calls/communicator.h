/* Communicators: creation, release and members (MPI-4.1 §7, 8, 11). */

FUNCTION(members, "+members", "cGG");

#if defined(OPEN_MPI)
USED(Group_incl);

/* Open MPI searches the other group from its beginning for each process: quadratic for a communicator as large as
 * the world. The members of most communicators have a constant stride, so they are searched in a small group of the
 * expected next processes. */
#define GUESSED_AT_ONCE 32
#define GUESSES_WRONG_MOST 64 /* limit of wrong guesses; then the stride is not constant */

/* Returns the number of members from `at` on that are the ranks `next`, `next` + `step` and so on. */
static int guess_members(MPI_Group group, int at, int size, int next, int step, const int *ranks, int *members)
{
    int found[GUESSED_AT_ONCE], count = 0, right = 0;
    MPI_Group few;
    for (; count < GUESSED_AT_ONCE && at + count < size && next >= 0 && next < world.size; count++, next += step)
        members[at + count] = next;
    if (count == 0 || REAL(Group_incl)(world.group, count, members + at, &few) != MPI_SUCCESS)
        return 0;
    REAL(Group_translate_ranks)(group, count, ranks + at, few, found);
    REAL(Group_free)(&few);
    while (right < count && found[right] == right)
        right++;
    return right;
}
#endif

/* Finds the members of a group, as ranks in MPI_COMM_WORLD. `ranks` is 0, 1 and so on. */
static void find_members(MPI_Group group, int size, const int *ranks, int *members)
{
    int at = 0;
#if defined(OPEN_MPI)
    int next = 0, step = 1;
    for (int wrong = 0; at < size && wrong < GUESSES_WRONG_MOST; wrong++) {
        for (int right = GUESSED_AT_ONCE; at < size && right == GUESSED_AT_ONCE; at += right, next += right * step)
            right = guess_members(group, at, size, next, step, ranks, members);
        if (at == size)
            break;
        REAL(Group_translate_ranks)(group, 1, ranks + at, world.group, members + at);
        step = at > 0 ? members[at] - members[at - 1] : 1;
        next = members[at++] + step;
    }
#endif
    if (at < size)
        REAL(Group_translate_ranks)(group, size - at, ranks + at, world.group, members + at);
}

/* Writes members as words of a record; -1: members of other worlds. */
static uint64_t *put_members(uint64_t *words, MPI_Group group, int size, int *scratch)
{
    for (int i = 0; i < size; i++)
        scratch[i] = i;
    pthread_rwlock_rdlock(&world.lock);
    bool known = world.group_known;
    if (known)
        find_members(group, size, scratch, scratch + size);
    pthread_rwlock_unlock(&world.lock);
    *words++ = (uint64_t)size;
    for (int i = 0; i < size; i++) {
        int rank = known ? scratch[size + i] : MPI_UNDEFINED;
        *words++ = (uint64_t)(int64_t)(rank == MPI_UNDEFINED ? -1 : rank);
    }
    return words;
}

static inline bool has_members(MPI_Comm *made)
{
    return *made != library.comm_null;
}

/* Writes the members of a communicator after the call that created it. */
static void write_members(struct lane *lane, MPI_Comm comm)
{
    int inter = 0, own_size = 0, other_size = 0;
    MPI_Group own, other;
    uint64_t entered = ticks();
    REAL(Comm_test_inter)(comm, &inter);
    REAL(Comm_group)(comm, &own);
    REAL(Group_size)(own, &own_size);
    if (inter) {
        REAL(Comm_remote_group)(comm, &other);
        REAL(Group_size)(other, &other_size);
    }
    size_t most = (size_t)(own_size > other_size ? own_size : other_size);
    int *scratch = malloc(2 * (most + 1) * sizeof *scratch);
    uint64_t *record = scratch == NULL
                           ? NULL
                           : begin(lane, CODE(members), 3 + (uint64_t)own_size + (uint64_t)other_size, entered, entered);
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        uint64_t *at = put_members(record + WORD_FIELDS + 1, own, own_size, scratch);
        if (inter)
            at = put_members(at, other, other_size, scratch);
        else
            *at++ = 0;
        commit(lane, record, (uint64_t)(at - record));
    }
    free(scratch);
    REAL(Group_free)(&own);
    if (inter)
        REAL(Group_free)(&other);
}

/* For a call that is not recorded, for example in a callback: the communicator's members are not queried. */
static int add_unrecorded(int result, MPI_Comm *made)
{
    if (!FAILED(result) && has_members(made))
        queues_add(*made, false);
    return result;
}

/* Calls that create the communicator `made`. `...` are their fields. */
#define MAKES(NAME, FIELDS, MEMBERS, P, A, ...)                                                          \
    CALL(NAME, FIELDS, P, A)                                                                             \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return add_unrecorded(REAL(NAME) A, made);                                                   \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME) A;                                                                       \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        const uint64_t fields[] = {__VA_ARGS__};                                                         \
        const size_t words = sizeof fields / sizeof *fields;                                             \
        bool remark = MEMBERS && has_members(made);                                                      \
        uint64_t code = CODE(NAME) | (remark ? REMARK_FOLLOWS : 0);                                      \
        uint64_t *record = begin(lane, code, words, entered, ticks());                                   \
        if (record != NULL) {                                                                            \
            memcpy(record + WORD_FIELDS, fields, sizeof fields);                                         \
            commit(lane, record, WORD_FIELDS + words);                                                   \
            if (remark)                                                                                  \
                write_members(lane, *made);                                                              \
        }                                                                                                \
        if (has_members(made))                                                                           \
            queues_add(*made, strchr(FIELDS, 'q') == NULL); /* with a request, it is incomplete */       \
        return leave(lane, result);                                                                      \
    }

#define MADE comm_word(*made)
#define SIGNED(value) (uint64_t)(int64_t)(value)

#ifdef MPI_4
static uint64_t string_hash(const char *string)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *string != 0; string++)
        hash = (hash ^ (unsigned char)*string) * 0x100000001b3;
    return hash >> 1;
}
#endif

#include "../common/communicators.h"

#define ENDS_COMMUNICATOR(NAME)                                                                          \
    CALL(NAME, "c", (MPI_Comm * comm), (comm))                                                           \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        queues_drop(*comm); /* always: bound handles must not outlive the communicator */                \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(comm);                                                                     \
        uint64_t word = comm_word(*comm);                                                                \
        unsigned before = begin_callbacks(lane);                                                         \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(comm);                                                                   \
        entered = end_callbacks(lane, before, entered);                                                  \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin(lane, CODE(NAME), 1, entered, ticks());                                 \
        if (record != NULL) {                                                                            \
            record[WORD_FIELDS] = word;                                                                  \
            commit(lane, record, WORD_FIELDS + 1);                                                       \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

ENDS_COMMUNICATOR(Comm_free)
ENDS_COMMUNICATOR(Comm_disconnect)
