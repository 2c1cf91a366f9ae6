/* A disk that fails: stands before the C library's calls (LD_PRELOAD) and makes the n-th of a kind fail.
 *
 * FAULT_BELOW   only files below this folder count
 * FAULT_CALL    open (of new files), write, sync or rename
 * FAULT_AT      which of them fails, from 1
 * FAULT_LOG     a line for each of these calls that counts, and for each failure
 * FAULT_ALLOCATION  which allocation of at least 64 KiB fails, from 1
 * FAULT_SHRINK  a file whose path ends so is cut to nothing as soon as it is mapped
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static void note(const char *call, const char *path, const char *other) {
    const char *log = getenv("FAULT_LOG");
    if (!log) return;
    char line[9000];
    int bytes = snprintf(line, sizeof line, "%s\t%s\t%s\n", call, path, other);
    int file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0644);
    syscall(SYS_write, file, line, bytes);
    syscall(SYS_close, file);
}

static int is_below(const char *path) {
    const char *below = getenv("FAULT_BELOW");
    return below && strncmp(path, below, strlen(below)) == 0;
}

/* Whether this call is to fail. */
static int fails(const char *call, const char *path, const char *other) {
    if (!is_below(path)) return 0;
    note(call, path, other);
    const char *wanted = getenv("FAULT_CALL"), *at = getenv("FAULT_AT");
    if (!wanted || !at || strcmp(wanted, call) != 0) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != atol(at)) return 0;
    note("failed", path, other);
    return 1;
}

static const char *path_of(int file, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t bytes = readlink(link, path, size - 1);
    path[bytes < 0 ? 0 : bytes] = 0;
    return path;
}

/* A relative path as a whole one. */
static const char *whole(const char *path, char *room, size_t size) {
    char folder[4096];
    if (path[0] == '/' || !getcwd(folder, sizeof folder)) return path;
    snprintf(room, size, "%s/%s", folder, path);
    return room;
}

static int file_fails(const char *call, int file) {
    char path[4096];
    /* A signal's handler writes there, on a stack that has no room for paths where processors save much. */
    if (file == STDERR_FILENO) return 0;
    return fails(call, path_of(file, path, sizeof path), "");
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (file_fails("write", file)) return errno = ENOSPC, -1;
    return syscall(SYS_write, file, bytes, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (file_fails("write", file)) return errno = ENOSPC, -1;
    return syscall(SYS_writev, file, parts, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    if (file_fails("write", file)) return errno = ENOSPC, -1;
    return syscall(SYS_pwrite64, file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return pwrite64(file, bytes, count, at);
}

int fsync(int file) {
    if (file_fails("sync", file)) return errno = EIO, -1;
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    if (file_fails("sync", file)) return errno = EIO, -1;
    return syscall(SYS_fdatasync, file);
}

int rename(const char *from, const char *to) {
    char a[8192], b[8192];
    if (fails("rename", whole(from, a, sizeof a), whole(to, b, sizeof b))) return errno = EIO, -1;
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    char room[8192];
    if ((flags & O_CREAT) && folder == AT_FDCWD && fails("open", whole(path, room, sizeof room), ""))
        return errno = EDQUOT, -1;
    return syscall(SYS_openat, folder, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return openat64(AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return openat64(AT_FDCWD, path, flags, mode);
}

#ifdef __GLIBC__
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* Whether this allocation is to fail. Blocks are large where they hold what files hold. */
static int has_no_memory(size_t bytes) {
    static atomic_long allocations;
    if (bytes < 65536) return 0;
    const char *at = getenv("FAULT_ALLOCATION");
    if (!at || atomic_fetch_add(&allocations, 1) + 1 != atol(at)) return 0;
    note("failed", "memory", "");
    return 1;
}

void *malloc(size_t bytes) {
    return has_no_memory(bytes) ? (errno = ENOMEM, NULL) : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return has_no_memory(count * bytes) ? (errno = ENOMEM, NULL) : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes) {
    return has_no_memory(bytes) ? (errno = ENOMEM, NULL) : __libc_realloc(block, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    if (has_no_memory(bytes)) return ENOMEM;
    *block = __libc_memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}
#endif

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off64_t offset) {
    void *map = (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
    const char *end = getenv("FAULT_SHRINK");
    if (map != MAP_FAILED && end && file >= 0) {
        char room[4096];
        const char *path = path_of(file, room, sizeof room);
        size_t length = strlen(path);
        if (length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0) {
            note("shrunk", path, "");
            if (truncate(path, 0)) note("failed", path, "");
        }
    }
    return map;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap64(at, bytes, protection, flags, file, offset);
}
