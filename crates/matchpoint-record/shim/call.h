/* How a function is recorded: its number in the trace, and the entry points of the recorder. */

/* Calls of it that failed: functions of their own, numbered behind all others, for those have the numbers of one byte. */
extern struct function __start_matchpoint_failures[] HIDDEN, __stop_matchpoint_failures[] HIDDEN;

#define FAILURE(NAME)                                                                                    \
    static struct function failure_##NAME __attribute__((used, section("matchpoint_failures"), aligned(32))) = { \
        "MPI_" #NAME " (failed)", "i", NULL, NULL}

#define FUNCTIONS ((uint64_t)(__stop_matchpoint_functions - __start_matchpoint_functions))
#define FAILURES ((uint64_t)(__stop_matchpoint_failures - __start_matchpoint_failures))
#define CODE_FAILED_(NAME) (FUNCTIONS + (uint64_t)(&failure_##NAME - __start_matchpoint_failures))
#define CODE_FAILED(NAME) CODE_FAILED_(NAME)

static inline const struct function *function_of(uint64_t code)
{
    return code < FUNCTIONS ? &__start_matchpoint_functions[code] : &__start_matchpoint_failures[code - FUNCTIONS];
}

/* Opens the definition of a recorded function, its body follows. Both of its names lead there: the bindings for Fortran of
 * some libraries call the one, those of others the other. What the library itself calls by the second name (for files,
 * say) is its own business, and goes to the real one. Neither name calls the other, for another tool may stand between. */
#define CALL(NAME, FIELDS, PARAMETERS, ARGUMENTS) CALL_(NAME, FIELDS, PARAMETERS, ARGUMENTS)
#define CALL_(NAME, FIELDS, PARAMETERS, ARGUMENTS)                                                       \
    EXPORT int MPI_##NAME PARAMETERS;                                                                    \
    EXPORT int PMPI_##NAME PARAMETERS;                                                                   \
    FUNCTION(NAME, "MPI_" #NAME, FIELDS);                                                                \
    FAILURE(NAME);                                                                                       \
    static __attribute__((noinline)) int call_##NAME PARAMETERS;                                         \
    static __attribute__((noinline, cold)) int asked_##NAME PARAMETERS                                   \
    {                                                                                                    \
        void *instead = instead_of(&function_##NAME);                                                    \
        if (instead != NULL)                                                                             \
            return ((__typeof__(&MPI_##NAME))instead)ARGUMENTS;                                          \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int MPI_##NAME PARAMETERS                                                                            \
    {                                                                                                    \
        if (__builtin_expect(always.asks_who_calls, 0)) {                                                       \
            asked = (struct asked){__builtin_return_address(0), true};                                   \
            return asked_##NAME ARGUMENTS;                                                               \
        }                                                                                                \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int PMPI_##NAME PARAMETERS                                                                           \
    {                                                                                                    \
        if (is_of_library(__builtin_return_address(0)))                                                  \
            return REAL(NAME) ARGUMENTS;                                                                 \
        if (__builtin_expect(always.asks_who_calls, 0)) {                                                       \
            asked = (struct asked){__builtin_return_address(0), false};                                  \
            return asked_##NAME ARGUMENTS;                                                               \
        }                                                                                                \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    static int call_##NAME PARAMETERS

/* A call may go elsewhere instead of being recorded: to a tool that stands between, which then calls the second name; or
 * straight to the library, if it comes from one of its components. Asked only where there are such, or call sites are kept,
 * and handed over beside the arguments: the way of all other calls is two instructions longer than none. */
struct asked {
    const void *caller;
    bool first; /* by the first name */
};
static __thread struct asked asked __attribute__((tls_model("initial-exec")));
static void *instead_of(const struct function *function);

static bool within_call(void);

static void *instead_of(const struct function *function)
{
    struct asked by = asked;
    library_ready();
    if (is_of_component(by.caller))
        return function->real;
    if (by.first && function->next != NULL)
        return function->next;
    if (always.sites_wanted && !within_call())
        site = by.caller;
    return NULL;
}

static bool has(void *function)
{
    return function != NULL && function != (void *)missing_function;
}
