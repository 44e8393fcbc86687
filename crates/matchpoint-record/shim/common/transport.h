/* Properties of the transport, from the environment and the loaded libraries. */

static long number_of(const char *variable, long otherwise)
{
    const char *value = getenv(variable);
    return value != NULL && *value != 0 ? atol(value) : otherwise;
}

/* Returns whether a setting disables shared memory. */
static bool is_memory_off(void)
{
    const char *fabrics = getenv("I_MPI_FABRICS");
    bool are_apart = number_of("MPIR_CVAR_NOLOCAL", 0) != 0 || number_of("MPIR_CVAR_NUM_CLIQUES", 1) > 1 ||
                     number_of("MPIR_CVAR_ODD_EVEN_CLIQUES", 0) != 0;
    return are_apart || (fabrics != NULL && strstr(fabrics, "shm") == NULL);
}

static int find_loaded(struct dl_phdr_info *info, size_t size, void *part)
{
    (void)size;
    return strstr(info->dlpi_name, part) != NULL;
}

/* Returns whether a library with `part` in its path is loaded. */
static inline bool is_loaded(const char *part)
{
    return dl_iterate_phdr(find_loaded, (void *)part) != 0;
}
