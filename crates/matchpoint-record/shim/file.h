/* The rank file: blocks, their checksums, and compression if the system has zstd. */

enum block_kind { BLOCK_HEAD = 1, BLOCK_CLOCK = 3, BLOCK_OFFSET, BLOCK_END, BLOCK_MODULES, BLOCK_CALLS, BLOCK_WITHIN, BLOCK_SEARCH = 10 };
enum codec { CODEC_STORED, CODEC_ZSTD };

#define BLOCK_RAW_MAX ((size_t)16 << 20) /* readers reject more */

struct block_header {
    char magic[4];
    uint8_t kind, codec;
    uint16_t thread;
    uint32_t stored, raw;
    uint64_t calls;
    uint32_t crc, zero;
};

static struct {
    int descriptor;
    dev_t device; /* identifies the file, with the inode */
    ino_t inode;
    char path[PATH_MAX];
    uint64_t bytes;
    uint64_t limit; /* bytes after which calls are only counted */
    bool failed;    /* a write has failed; no more writes */
    uint64_t limit_ticks;
    uint32_t crc_tables[8][256];
    void *compressor; /* reused, because a new compressor per block would take longer than the compression */
    size_t (*compress)(void *compressor, void *to, size_t room, const void *from, size_t bytes, int level);
    size_t (*compress_bound)(size_t bytes);
    unsigned (*is_error)(size_t code);
    void *packed;
    size_t packed_room;
} file = {.descriptor = -1};

/* For calls of real applications, level 1 takes 6 bytes per call, this level 10 bytes and half the time. Compression
 * takes processor time from the application. */
#define ZSTD_LEVEL (-5)

/* Loaded with dlopen, because the recorder must load without zstd. Blocks are then stored uncompressed. */
static void find_zstd(void)
{
#if defined(RTLD_DEEPBIND)
    /* An executable may contain another version of zstd. Without RTLD_DEEPBIND, libzstd would call that version. */
    void *zstd = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#else
    void *zstd = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    if (zstd == NULL)
        return;
    void *(*create)(void);
    *(void **)&create = dlsym(zstd, "ZSTD_createCCtx");
    *(void **)&file.compress = dlsym(zstd, "ZSTD_compressCCtx");
    *(void **)&file.compress_bound = dlsym(zstd, "ZSTD_compressBound");
    *(void **)&file.is_error = dlsym(zstd, "ZSTD_isError");
    if (create != NULL && file.compress != NULL && file.compress_bound != NULL && file.is_error != NULL)
        file.compressor = create();
}

static void crc_prepare(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest & 1 ? rest >> 1 ^ 0xedb88320u : rest >> 1;
        file.crc_tables[0][byte] = rest;
    }
    for (int table = 1; table < 8; table++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = file.crc_tables[table - 1][byte];
            file.crc_tables[table][byte] = before >> 8 ^ file.crc_tables[0][before & 0xff];
        }
}

static uint32_t crc(uint32_t so_far, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint32_t rest = ~so_far;
    /* Eight bytes at a time (Kounavis and Berry 2005), assembled for any byte order. */
    for (; length >= 8; at += 8, length -= 8) {
        uint32_t first = rest ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        rest = file.crc_tables[7][first & 0xff] ^ file.crc_tables[6][first >> 8 & 0xff] ^
               file.crc_tables[5][first >> 16 & 0xff] ^ file.crc_tables[4][first >> 24] ^ file.crc_tables[3][at[4]] ^
               file.crc_tables[2][at[5]] ^ file.crc_tables[1][at[6]] ^ file.crc_tables[0][at[7]];
    }
    while (length-- > 0)
        rest = file.crc_tables[0][(rest ^ *at++) & 0xff] ^ rest >> 8;
    return ~rest;
}

static __attribute__((format(printf, 1, 2))) void log_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char line[1024];
    int length = snprintf(line, sizeof line, "matchpoint: process %ld: ", (long)getpid());
    vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", line);
}

/* Minimum descriptor of the rank file. Applications that close descriptors by number seldom reach this number. The
 * usual limit is 1024. */
#define DESCRIPTOR_FROM 700

static bool file_is_own(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_dev == file.device && status.st_ino == file.inode;
}

static void file_opened(int descriptor)
{
    struct stat status;
    int high = fcntl(descriptor, F_DUPFD_CLOEXEC, DESCRIPTOR_FROM);
    if (high >= 0)
        close(descriptor);
    file.descriptor = high >= 0 ? high : descriptor;
    if (fstat(file.descriptor, &status) == 0) {
        file.device = status.st_dev;
        file.inode = status.st_ino;
    }
}

/* Called before each block: an application may have closed the descriptor and opened another file with this number. */
static void file_check(void)
{
    if (file.failed || file_is_own(file.descriptor))
        return;
    int again = open(file.path, O_WRONLY | O_APPEND | O_CLOEXEC);
    file.descriptor = -1;
    if (again >= 0 && file_is_own(again)) {
        file_opened(again);
        return;
    }
    if (again >= 0)
        close(again);
    file.failed = true;
    log_error("the program closed %s, which no longer exists; the trace of this process ends here", file.path);
}

/* Beyond the file size limit (ulimit -f), the system sends a signal that ends the process. A failure of the recorder
 * must not end the application: the signal is blocked, and consumed if the write caused it. */
static ssize_t write_within_limits(struct iovec *parts, int count)
{
    sigset_t beyond, before, pending;
    sigemptyset(&beyond);
    sigaddset(&beyond, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &beyond, &before);
    ssize_t written = writev(file.descriptor, parts, count);
    int error = errno;
    if (written < 0 && error == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&beyond, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* Writes immediately, so that a killed process leaves whole blocks. */
static void file_write(struct iovec *parts, int count)
{
    while (count > 0 && !file.failed) {
        ssize_t written = write_within_limits(parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            file.failed = true;
            log_error("cannot write %s: %s; the trace of this process ends here", file.path, strerror(errno));
            return;
        }
        file.bytes += (uint64_t)written;
        for (; count > 0 && (size_t)written >= parts->iov_len; parts++, count--)
            written -= (ssize_t)parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
}

static bool packed_room(size_t bytes)
{
    if (bytes <= file.packed_room)
        return true;
    void *more = realloc(file.packed, bytes);
    if (more == NULL)
        return false;
    file.packed = more;
    file.packed_room = bytes;
    return true;
}

/* Called with the drain's mutex, once the drain runs. False: a block of calls beyond the limit. */
static bool file_block(enum block_kind kind, uint16_t thread, uint64_t calls, const void *raw, size_t bytes)
{
    struct block_header header = {
        .magic = {'M', 'P', 't', 'b'}, .kind = (uint8_t)kind, .thread = thread, .raw = (uint32_t)bytes, .calls = calls};
    const void *stored = raw;
    size_t length = bytes;
    if (file.compressor != NULL && bytes >= 256 && packed_room(file.compress_bound(bytes))) {
        size_t packed = file.compress(file.compressor, file.packed, file.packed_room, raw, bytes, ZSTD_LEVEL);
        if (!file.is_error(packed) && packed < bytes) {
            header.codec = CODEC_ZSTD;
            stored = file.packed;
            length = packed;
        }
    }
    if (kind == BLOCK_CALLS && file.bytes + sizeof header + length > file.limit)
        return false;
    file_check();
    header.stored = (uint32_t)length;
    header.crc = crc(crc(0, &header, offsetof(struct block_header, crc)), stored, length);
    file_write((struct iovec[]){{&header, sizeof header}, {(void *)(uintptr_t)stored, length}}, 2);
    return true;
}

/* A growing text, for JSON. */
struct text {
    char *bytes;
    size_t length, room;
};

static __attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    for (;;) {
        size_t left = text->room - text->length;
        va_start(arguments, format);
        int needed = vsnprintf(text->bytes ? text->bytes + text->length : NULL, left, format, arguments);
        va_end(arguments);
        if (needed < 0 || (size_t)needed < left) {
            text->length += needed < 0 ? 0 : (size_t)needed;
            return;
        }
        size_t room = 2 * text->room + (size_t)needed + 1;
        char *more = realloc(text->bytes, room);
        if (more == NULL)
            return;
        text->bytes = more;
        text->room = room;
    }
}

/* Returns the number of bytes of the UTF-8 character at `at`; 0: invalid. */
static int utf8_length(const unsigned char *at)
{
    int length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool odd = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf0 && at[1] < 0x90) ||
               (at[0] == 0xf4 && at[1] >= 0x90);
    return odd ? 0 : length;
}

/* Adds a JSON string. Invalid UTF-8 bytes in paths become replacement characters. */
static void text_add_string(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at != 0;) {
        int length = utf8_length(at);
        if (*at == '"' || *at == '\\')
            text_add(text, "\\%c", *at);
        else if (*at < 0x20)
            text_add(text, "\\u%04x", *at);
        else if (length == 0)
            text_add(text, "\\ufffd");
        else
            text_add(text, "%.*s", length, (const char *)at);
        at += length > 0 ? length : 1;
    }
    text_add(text, "\"");
}
