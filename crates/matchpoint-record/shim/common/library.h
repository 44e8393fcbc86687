/* The MPI library: its functions, code addresses and constants. */

/* Symbols of this library only: calls need no lookup. */
#define HIDDEN __attribute__((visibility("hidden")))

/* An MPI function. All are adjacent in a section. The recorder numbers functions by their index there. */
struct function {
    const char *name;   /* without the P */
    const char *fields; /* letters of docs/reference/trace-format.md */
    void *real;         /* PMPI_… of the library */
    void *next;         /* MPI_… of a tool between application and library, if any. 32 bytes per element: no
                         * compiler adds padding */
};

extern struct function __start_matchpoint_functions[] HIDDEN, __stop_matchpoint_functions[] HIDDEN;

#define FUNCTION(NAME, TITLE, FIELDS)                                                                    \
    static struct function function_##NAME __attribute__((used, section("matchpoint_functions"), aligned(32))) = { \
        TITLE, FIELDS, NULL, NULL}

#define CODE_(NAME) ((uint64_t)(&function_##NAME - __start_matchpoint_functions))
#define CODE(NAME) CODE_(NAME)

#define REAL_(NAME) ((__typeof__(&MPI_##NAME))function_##NAME.real)
#define REAL(NAME) REAL_(NAME)

#define FAILED(result) __builtin_expect((result) != MPI_SUCCESS, 0)

/* A library function that is used, but not recorded. */
#define USED(NAME) FUNCTION(NAME, "MPI_" #NAME, NULL)

#define EXPORT __attribute__((visibility("default")))

/* Constants that are addresses in Open MPI: a direct use would make the recorder depend on Open MPI at load time. */
static struct {
    /* The most used constants are in one cache line. */
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Datatype byte, packed;
    MPI_Errhandler errors_return;
    uintptr_t text_from, text_to; /* the library's code, once found */
    uintptr_t own_from, own_to;   /* the recorder's */
    void *handle;                 /* of dlopen, if the library is not in the global scope */
    const char *foreign;          /* the library's family, if the header is of another: nothing is recorded */
} library __attribute__((aligned(64)));

static inline bool is_of_library(const void *address)
{
    return (uintptr_t)address - library.text_from < library.text_to - library.text_from;
}

/* Components that the library loads at their first use, and that call MPI like an application. */
#define COMPONENTS 8
static struct {
    uintptr_t from, to;
} components[COMPONENTS];
static _Atomic int components_known;

static bool is_of_component(const void *address)
{
    for (int i = 0; i < atomic_load(&components_known); i++)
        if ((uintptr_t)address - components[i].from < components[i].to - components[i].from)
            return true;
    return false;
}

static inline bool is_of_recorder(const void *address)
{
    return (uintptr_t)address - library.own_from < library.own_to - library.own_from;
}

/* Returns whether a file is an MPI library: libmpi.so.12, libmpi_abi.so, libmpich.so, libmpi_cray.so. libmpiP.so is
 * a tool; libmpifort.so and libmpi_mpifh.so are bindings. */
static bool is_named_as_library(const char *path)
{
    static const char *const names[] = {"libmpi.so", "libmpi_abi.so", "libmpich.so", "libpmpi.so", "libmpi_cray.so",
                                        "libmpi_gnu", "libmpi_intel", "libmpi_aocc", "libmpi_nvidia", "libmpi_ibm.so",
                                        "libmpi_mt.so", "libmpi_ilp64.so"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* A program may load its MPI library with dlopen, as Python does. The library is then not in the recorder's scope. */
static int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    if (!is_named_as_library(info->dlpi_name))
        return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

/* `scope`: RTLD_NEXT for functions, to skip the recorder's; RTLD_DEFAULT for data, which an executable may have
 * copied. */
static void *library_symbol(void *scope, const char *name)
{
    void *symbol = dlsym(scope, name);
    if (symbol == NULL && library.handle == NULL)
        dl_iterate_phdr(find_library, &library.handle);
    if (symbol == NULL && library.handle != NULL)
        symbol = dlsym(library.handle, name);
    return symbol;
}

static void text_of(const struct dl_phdr_info *info, uintptr_t *from, uintptr_t *to)
{
    *from = UINTPTR_MAX;
    *to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        *from = begin < *from ? begin : *from;
        *to = begin + header->p_memsz > *to ? begin + header->p_memsz : *to;
    }
}

static int find_text(struct dl_phdr_info *info, size_t size, void *inside)
{
    uintptr_t from, to;
    (void)size;
    text_of(info, &from, &to);
    if ((uintptr_t)find_text - from < to - from) {
        library.own_from = from;
        library.own_to = to;
    }
    if ((uintptr_t)inside - from < to - from) {
        library.text_from = from;
        library.text_to = to;
    }
    return 0;
}

/* Defined by the including file: the library is found. `tools`: a tool is between it and the application. */
static void library_found(bool tools);

#if defined(OPEN_MPI)
/* Defined by the including file: a component that uses the library is loaded. */
static void component_found(void);

/* ROMIO, an Open MPI component that implements files with communicators, messages and collectives. */
static int find_component(struct dl_phdr_info *info, size_t size, void *unused)
{
    uintptr_t from, to;
    (void)size;
    (void)unused;
    if (strstr(info->dlpi_name, "/mca_io_romio") == NULL)
        return 0;
    text_of(info, &from, &to);
    int known = atomic_load(&components_known);
    if (!is_of_component((const void *)from) && known < COMPONENTS) {
        components[known].from = from;
        components[known].to = to;
        atomic_store(&components_known, known + 1);
        component_found();
    }
    return 0;
}
#endif

/* Returns the function of a tool between application and library. Matchpoint's library of overflow matching does not
 * count: the recorder calls it by the second name. */
static void *tool_between(const struct function *function)
{
    Dl_info info;
    void *next = dlsym(RTLD_NEXT, function->name);
    if (next == NULL || is_of_library(next) || dladdr(next, &info) == 0 || is_named_as_library(info.dli_fname) ||
        strstr(info.dli_fname, "/libmatchpoint-mpi.so") != NULL)
        return NULL;
    return next;
}

/* Handles and statuses of another family cannot be read. */
static const char *foreign_family(void)
{
    Dl_info info = {0};
    void *init = library_symbol(RTLD_NEXT, "PMPI_Init");
    bool is_standard = init != NULL && dladdr(init, &info) != 0 && strstr(info.dli_fname, "libmpi_abi.so") != NULL;
    bool is_open_mpi = !is_standard && library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL;
#if defined(MATCHPOINT_STANDARD_ABI)
    return is_standard ? NULL : is_open_mpi ? "Open MPI" : "MPICH's ABI";
#elif defined(OPEN_MPI)
    return is_open_mpi ? NULL : is_standard ? "MPI's standard ABI" : "MPICH's ABI";
#else
    return is_standard ? "MPI's standard ABI" : is_open_mpi ? "Open MPI" : NULL;
#endif
}

static void log_error(const char *format, ...);

/* Called for missing functions: a program that checks for functions at run time finds all functions of this header. */
static int missing_function(void)
{
    log_error("the program calls a function of MPI that its MPI library lacks; name the compiler of its MPI with --mpicc");
    abort();
}

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_find(void)
{
    char name[128];
    bool tools = false;
    /* No Matchpoint library defines this function, so its address is in the MPI library. */
    void *version = library_symbol(RTLD_NEXT, "PMPI_Get_library_version");
    if (version != NULL)
        dl_iterate_phdr(find_text, version);
    for (struct function *function = __start_matchpoint_functions; function != __stop_matchpoint_functions; function++) {
        if (function->name[0] != 'M')
            continue;
        snprintf(name, sizeof name, "P%s", function->name);
        function->real = library_symbol(RTLD_NEXT, name);
        if (function->real == NULL)
            function->real = (void *)missing_function;
        else
            function->next = tool_between(function);
        tools |= function->next != NULL;
    }
    library_found(tools);
    library.foreign = foreign_family();
#if defined(OPEN_MPI)
    library.comm_world = (MPI_Comm)library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_world");
    library.comm_self = (MPI_Comm)library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_self");
    library.comm_null = (MPI_Comm)library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_null");
    library.request_null = (MPI_Request)library_symbol(RTLD_DEFAULT, "ompi_request_null");
    library.message_null = (MPI_Message)library_symbol(RTLD_DEFAULT, "ompi_message_null");
    library.message_no_proc = (MPI_Message)library_symbol(RTLD_DEFAULT, "ompi_message_no_proc");
    library.byte = (MPI_Datatype)library_symbol(RTLD_DEFAULT, "ompi_mpi_byte");
    library.packed = (MPI_Datatype)library_symbol(RTLD_DEFAULT, "ompi_mpi_packed");
    library.errors_return = (MPI_Errhandler)library_symbol(RTLD_DEFAULT, "ompi_mpi_errors_return");
#else
    library.comm_world = MPI_COMM_WORLD;
    library.comm_self = MPI_COMM_SELF;
    library.comm_null = MPI_COMM_NULL;
    library.request_null = MPI_REQUEST_NULL;
    library.message_null = MPI_MESSAGE_NULL;
    library.message_no_proc = MPI_MESSAGE_NO_PROC;
    library.byte = MPI_BYTE;
    library.packed = MPI_PACKED;
    library.errors_return = MPI_ERRORS_RETURN;
#endif
}

static inline void library_ready(void)
{
    pthread_once(&library_once, library_find);
}

