/* Whether the sender of a receive in the engine may wait: for synchronous sends, and for messages longer than the
 * library's eager limit.
 *
 * Each process decides alone, because other processes of the job may run without this library. */

/* Every library sends this size eagerly through shared memory, unless the user sets a limit. The smallest default
 * limit is 4 KiB (Open MPI, minus its header). */
#define EAGER_BYTES_MOST 1024
/* The size for other transports of UCX. */
#define EAGER_BYTES_UNKNOWN 256

/* Returns the number of the job's processes on this host, from the launcher. -1: unknown. */
static long processes_here(void)
{
    static const char *const variables[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "I_MPI_LOCAL_SIZE",
                                            "PMI_LOCAL_SIZE"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (number_of(variables[i], -1) > 0)
            return number_of(variables[i], -1);
    return -1;
}

/* Returns whether all processes of MPI_COMM_WORLD are on this host. */
static bool is_on_one_host(int processes)
{
    if (processes <= 0 || processes_here() > 0)
        return processes > 0 && processes_here() == processes;
    return number_of("SLURM_STEP_NUM_TASKS", -1) == processes && number_of("SLURM_STEP_NUM_NODES", -1) == 1;
}

/* With more processes than processors, a polling process delays others. Otherwise MPICH's number of polls. */
static int find_polls_before_yield(void)
{
    cpu_set_t allowed;
    long processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return processes_here() > processors ? 4 : 1000;
}

#if defined(OPEN_MPI)
static bool uses_layer(const char *name)
{
    const char *layer = selected_component("mca_pml_base_selected_component", false, "pml");
    return layer != NULL && strcmp(layer, name) == 0;
}

/* Returns whether Open MPI matches messages itself. */
static bool matches_itself(void)
{
    return uses_layer("ob1");
}

/* Over libfabric, MPI_Imrecv of Open MPI 4.1 and 5.0 claims a message with the wrong source address. */
static bool fails_imrecv(void)
{
    return uses_layer("cm");
}
#else
static bool fails_imrecv(void)
{
    return false;
}

/* Returns whether the network module buffers unexpected messages. UCX does, libfabric may not. */
static bool matches_itself(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    return REAL(Get_library_version)(version, &length) == MPI_SUCCESS && strcmp(network_module(version), "ucx") == 0;
}
#endif

#if defined(OPEN_MPI)
/* ob1's header of a message is at most this long. */
#define HEADER_BYTES 128

/* Returns the longest message that every loaded transport (BTL) sends eagerly, from Open MPI's variables: the
 * environment, the command line or a file may set them. Messages to self cannot block this process. 0: unknown. */
static uint64_t asked_eager_bytes(void)
{
    static const char *const transports[] = {"sm",  "vader", "smcuda", "tcp",  "uct",   "ofi",
                                             "usnic", "ugni", "scif",   "openib", "portals4"};
    int (*find)(const char *, const char *, const char *, const char *) =
        (__typeof__(find))library_symbol(RTLD_DEFAULT, "mca_base_var_find");
    int (*get)(int, const void *, void *, const char **) =
        (__typeof__(get))library_symbol(RTLD_DEFAULT, "mca_base_var_get_value");
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; find != NULL && get != NULL && i < sizeof transports / sizeof *transports; i++) {
        const size_t *bytes = NULL;
        int variable = find("opal", "btl", transports[i], "eager_limit");
        if (variable >= 0 && get(variable, &bytes, NULL, NULL) == 0 && bytes != NULL && *bytes < least)
            least = *bytes;
    }
    return least == UINT64_MAX || least < HEADER_BYTES ? 0 : least - HEADER_BYTES;
}
#else
/* Returns whether UCX's configuration, from the environment or a file, has a number as limit of eager sends. */
static bool has_ucx_limit(void)
{
    int (*read)(const char *, const char *, void **) = (__typeof__(read))library_symbol(RTLD_DEFAULT, "ucp_config_read");
    void (*print)(const void *, FILE *, const char *, int) =
        (__typeof__(print))library_symbol(RTLD_DEFAULT, "ucp_config_print");
    void (*release)(void *) = (__typeof__(release))library_symbol(RTLD_DEFAULT, "ucp_config_release");
    void *configuration;
    char *text = NULL;
    size_t length;
    if (read == NULL || print == NULL || release == NULL || read(NULL, NULL, &configuration) != 0)
        return false;
    FILE *file = open_memstream(&text, &length);
    if (file != NULL) {
        print(configuration, file, NULL, 1); /* UCS_CONFIG_PRINT_CONFIG */
        fclose(file);
    }
    release(configuration);
    const char *limit = text != NULL ? strstr(text, "UCX_RNDV_THRESH=") : NULL;
    bool is_number = limit != NULL && strcspn(limit, "0123456789") < strcspn(limit, "\n");
    free(text);
    return is_number;
}

/* Returns whether the user has set a limit of eager sends. */
static bool is_eager_set(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        if (strncmp(*variable, "MPIR_CVAR_", 10) == 0 && strstr(*variable, "EAGER") != NULL)
            return true;
    return matches_itself() && has_ucx_limit();
}
#endif

/* Returns the largest receive that may stay in the engine during a blocking call. 0 if libfabric may transport
 * messages: its providers may hold few unexpected messages per sender and then accept no others, including those of
 * collective operations. */
static uint64_t find_eager_bytes(int processes)
{
#if defined(OPEN_MPI)
    (void)processes;
    uint64_t asked = matches_itself() ? asked_eager_bytes() : 0;
    return asked < EAGER_BYTES_MOST ? asked : EAGER_BYTES_MOST;
#else
    if (is_eager_set())
        return 0;
    if (is_on_one_host(processes) && !is_memory_off())
        return EAGER_BYTES_MOST;
    return matches_itself() ? EAGER_BYTES_UNKNOWN : 0;
#endif
}

/* Returns whether a dynamic symbol is a synchronous send. */
static bool is_synchronous_name(const char *name)
{
    char lower[32];
    size_t length = strnlen(name, sizeof lower - 1);
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 'a' - 'A' : name[i]);
    lower[length] = 0;
    const char *rest = lower[0] == 'p' ? lower + 1 : lower;
    return strncmp(rest, "mpi_ssend", 9) == 0 || strncmp(rest, "mpi_issend", 10) == 0;
}

/* Imports of the executable and its libraries, except MPI libraries. */
struct imports {
    bool synchronous;
    bool initializes;     /* an object imports MPI_Init. Programs that look up functions by name do not */
    bool needs_library;   /* an object other than the Python bindings, which import every function: see below */
    bool of_bindings;     /* the current object is of the Python bindings */
};

static bool is_part_of_mpi(const char *path)
{
    static const char *const names[] = {"libmpi.so",   "libmpi_",  "libmpifort", "libmpich", "libmpicxx",
                                        "libmatchpoint", "libopen-", "mca_",       "libpmpi",  "libmpl"};
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Overflow is off in programs that import these functions:
 * - Fault tolerance: Open MPI's blocking and nonblocking receives report a failed process differently.
 * - MPICH's streams and threads as ranks have matching queues of their own.
 * - Open MPI implements the others with messages on the program's communicator and tag. If the shim took them from
 *   the unexpected queue, they would be lost. */
static bool needs_library(const char *name)
{
    static const char *const names[] = {"mpix_comm_", "mpix_stream_", "mpix_threadcomm_",
#if defined(OPEN_MPI)
                                        "mpi_precv_init", "mpi_intercomm_create", "mpi_comm_create_group"
#endif
    };
    const char *rest = name[0] == 'P' || name[0] == 'p' ? name + 1 : name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncasecmp(rest, names[i], strlen(names[i])) == 0 && strstr(rest, "from_group") == NULL)
            return true;
    return false;
}

/* Returns the number of symbols of a GNU hash table. The table has the first symbol of each chain, and marks the
 * last. */
static uint32_t count_symbols(const uint32_t *table)
{
    uint32_t buckets = table[0], first = table[1], words = table[2], last = 0;
    const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(table + 4) + words), *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while ((chain[last - first] & 1) == 0)
        last++;
    return last + 1;
}

static void read_imports(const ElfW(Dyn) * dynamic, uintptr_t base, struct imports *imports)
{
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const uint32_t *hash = NULL, *gnu_hash = NULL;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t value = dynamic->d_un.d_ptr;
        uintptr_t address = value < base ? base + value : value; /* glibc has relocated it, other loaders may not */
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)address;
        else if (dynamic->d_tag == DT_STRTAB)
            strings = (const char *)address;
        else if (dynamic->d_tag == DT_HASH)
            hash = (const uint32_t *)address;
        else if (dynamic->d_tag == DT_GNU_HASH)
            gnu_hash = (const uint32_t *)address;
    }
    if (symbols == NULL || strings == NULL)
        return;
    /* A function with its address taken by the executable is undefined, but has a hash entry. */
    uint32_t count = hash != NULL ? hash[1] : gnu_hash != NULL ? count_symbols(gnu_hash) : 0;
    for (uint32_t i = 1; i < count; i++) {
        const char *name = strings + symbols[i].st_name;
        if (symbols[i].st_shndx != SHN_UNDEF)
            continue;
        imports->synchronous |= is_synchronous_name(name);
        imports->needs_library |= !imports->of_bindings && needs_library(name);
        imports->initializes |= strncasecmp(name, "mpi_init", 8) == 0 || strncasecmp(name, "mpi_session_init", 16) == 0;
    }
}

static int read_object_imports(struct dl_phdr_info *info, size_t size, void *found)
{
    struct imports *imports = found;
    (void)size;
    if (is_part_of_mpi(info->dlpi_name))
        return 0;
#if !defined(OPEN_MPI) /* there, a call through the bindings would lose messages */
    imports->of_bindings = strstr(info->dlpi_name, "/mpi4py/") != NULL;
#endif
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            read_imports((const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), info->dlpi_addr, found);
    return 0;
}

static struct imports find_imports(void)
{
    struct imports imports = {0};
    dl_iterate_phdr(read_object_imports, &imports);
    return imports;
}

/* Returns whether processes of this job may send synchronously. This includes jobs of several programs, and programs
 * that look up MPI functions by name. */
static bool may_send_synchronously(const struct imports *imports)
{
    const char *forced = getenv("MATCHPOINT_SYNCHRONOUS");
    if (forced != NULL)
        return atoi(forced) != 0;
    return imports->synchronous || !imports->initializes || number_of("OMPI_NUM_APP_CTX", 1) > 1;
}

/* Returns the loader's count of loaded objects. */
static int count_loaded(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

static unsigned long long objects_loaded(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(count_loaded, &count);
    return count;
}

/* Checks plugins loaded since the last check: they may send synchronously. */
static void check_plugins(void)
{
    unsigned long long loaded = overflow.synchronous ? overflow.objects : objects_loaded();
    if (loaded == overflow.objects)
        return;
    overflow.objects = loaded;
    struct imports imports = find_imports();
    overflow.synchronous = may_send_synchronously(&imports);
    if (overflow.synchronous)
        give_back_all();
}
