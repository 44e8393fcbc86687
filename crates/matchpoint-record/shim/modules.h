/* The files that contain the process's code, and their addresses. Readers convert call sites to functions with these
 * addresses. */

struct modules {
    struct text text;
    int count;
};

static int add_module(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    struct modules *modules = into;
    char program[PATH_MAX] = "";
    const char *name = info->dlpi_name;
    if (name[0] == 0 && modules->count == 0) { /* the executable is first and has no name */
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        program[length > 0 ? length : 0] = 0;
        name = program;
    }
    if (name[0] == 0)
        return 0;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        from = begin < from ? begin : from;
        to = begin + header->p_memsz > to ? begin + header->p_memsz : to;
    }
    text_add(&modules->text, "%s{\"path\":", modules->count++ == 0 ? "" : ",");
    text_add_string(&modules->text, name);
    text_add(&modules->text, ",\"base\":%llu,\"from\":%llu,\"to\":%llu}", (unsigned long long)info->dlpi_addr,
             (unsigned long long)from, (unsigned long long)to);
    return 0;
}

static void write_modules(void)
{
    struct modules modules = {0};
    text_add(&modules.text, "[");
    dl_iterate_phdr(add_module, &modules);
    text_add(&modules.text, "]");
    file_block(BLOCK_MODULES, 0, 0, modules.text.bytes, modules.text.length);
    free(modules.text.bytes);
}

static int find_binding(struct dl_phdr_info *info, size_t size, void *unused)
{
    static const char *const names[] = {"libmpifort", "libmpichfort", "libfmpich", "libmpi_mpifh", "libmpi_usempi"};
    (void)size;
    (void)unused;
    const char *slash = strrchr(info->dlpi_name, '/');
    for (size_t i = 0; i < sizeof names / sizeof *names && site_bindings_known < SITE_BINDINGS; i++) {
        if (slash == NULL || strncmp(slash + 1, names[i], strlen(names[i])) != 0)
            continue;
        for (int j = 0; j < info->dlpi_phnum; j++) {
            const ElfW(Phdr) *header = &info->dlpi_phdr[j];
            if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && site_bindings_known < SITE_BINDINGS) {
                site_bindings[site_bindings_known].from = info->dlpi_addr + header->p_vaddr;
                site_bindings[site_bindings_known++].to = info->dlpi_addr + header->p_vaddr + header->p_memsz;
            }
        }
    }
    return 0;
}
