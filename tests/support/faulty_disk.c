/* A disk that fails on demand, preloaded between a process and the C library.

   Python and SQLite call the same functions here, and see the error codes of a real disk. Only calls on
   files under the watched folder count. The n-th of them fails, or all from the n-th on; or every change is
   written to a journal, from which the states that a power loss may leave are built (power_loss.py). */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FILES 4096
#define MOST_CALLS 1000000

enum { ERROR, SHORT, TORN };               /* how a call fails: not at all done, done in part, part then error */
enum { READS = 1, CHANGES = 2, LOCKS = 4 }; /* what a call does */

static struct {
    char folder[PATH_MAX];
    size_t length;
    long target;
    int code, way, sticky; /* sticky: 0 or the kinds of calls that fail from the target on */
    long count, failed;
    int armed, journal, names;
} disk = {.journal = -1, .names = -1};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char *paths[MOST_FILES];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int watched(const char *path) {
    return disk.armed && path && strncmp(path, disk.folder, disk.length) == 0;
}

static const char *known(int fd) {
    return disk.armed && fd >= 0 && fd < MOST_FILES ? paths[fd] : NULL;
}

static const char *full(int folder, const char *path, char *into) {
    if (!path || path[0] == '/' || folder == AT_FDCWD) return path;
    const char *top = known(folder);
    if (!top) return NULL;
    snprintf(into, PATH_MAX, "%s/%s", top, path);
    return into;
}

static void opened(int fd, const char *path) {
    if (fd < 0 || fd >= MOST_FILES) return;
    char *old = paths[fd];
    paths[fd] = path && watched(path) ? strdup(path) : NULL;
    free(old);
}

static void say(int fd, const void *data, size_t size) {
    const char *at = data;
    while (size) {
        long done = syscall(SYS_write, fd, at, size);
        if (done <= 0) return;
        at += done;
        size -= done;
    }
}

/* Counts a call; returns 1 if it has to fail now, with its way and code. */
static int fails(int kind, const char *name, const char *path, int *way) {
    int now = 0;
    pthread_mutex_lock(&turn);
    disk.count++;
    if (disk.names >= 0) {
        char line[PATH_MAX + 64];
        int size = snprintf(line, sizeof line, "%s\t%d\t%s\n", name, kind, path);
        say(disk.names, line, size);
    }
    if (disk.target && disk.count < MOST_CALLS) {
        if (disk.count == disk.target || (disk.count > disk.target && (disk.sticky & kind))) {
            now = 1;
            disk.failed++;
        }
    }
    pthread_mutex_unlock(&turn);
    if (way) *way = disk.way;
    if (now && (disk.way == ERROR || !way)) errno = disk.code;
    return now && (way || disk.way == ERROR || disk.way == TORN);
}

/* One record of the journal: a line of JSON-free text, then the data of a write. */
static void record(const char *event, const char *path, const char *other, long long inode, long long offset,
                   const void *data, size_t size) {
    if (disk.journal < 0) return;
    char line[2 * PATH_MAX + 128];
    pthread_mutex_lock(&turn);
    int length = snprintf(line, sizeof line, "%s\t%lld\t%lld\t%zu\t%s\t%s\n", event, inode, offset, size,
                          path ? path : "", other ? other : "");
    say(disk.journal, line, length);
    if (data) say(disk.journal, data, size);
    pthread_mutex_unlock(&turn);
}

static long long inode_of(int fd) {
    struct stat found;
    return REAL(fstat)(fd, &found) == 0 ? (long long)found.st_ino : 0;
}

static long long inode_at(const char *path) {
    struct stat found;
    return REAL(lstat)(path, &found) == 0 ? (long long)found.st_ino : 0;
}

/* The face to Python. */

void disk_arm(const char *folder, long target, int code, int way, int sticky, int names, int journal) {
    snprintf(disk.folder, sizeof disk.folder, "%s", folder);
    disk.length = strlen(folder);
    disk.target = target;
    disk.code = code;
    disk.way = way;
    disk.sticky = sticky;
    disk.names = names;
    disk.journal = journal;
    disk.count = disk.failed = 0;
    disk.armed = 1;
}

void disk_disarm(void) { disk.armed = 0; }
long disk_count(void) { return disk.count; }
long disk_failed(void) { return disk.failed; }
void disk_mark(const char *text) { record("mark", text, NULL, 0, 0, NULL, 0); }

/* Opening and closing. */

static int open_at(const char *name, int folder, const char *given, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    const char *path = full(folder, given, buffer);
    int is_watched = watched(path);
    int changes = flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC);
    if (is_watched && fails(changes ? CHANGES : READS, name, path, NULL)) return -1;
    int is_new = is_watched && (flags & O_CREAT) && inode_at(path) == 0;
    int fd = (int)syscall(SYS_openat, folder, given, flags | O_LARGEFILE, mode);
    if (is_watched && fd >= 0) {
        if (is_new) record("create", path, NULL, inode_of(fd), 0, NULL, 0);
        if (!is_new && (flags & O_TRUNC)) record("truncate", path, NULL, inode_of(fd), 0, NULL, 0);
    }
    opened(fd, is_watched ? path : NULL);
    return fd;
}

#define MODE                                   \
    mode_t mode = 0;                           \
    if (flags & (O_CREAT | __O_TMPFILE)) {     \
        va_list rest;                          \
        va_start(rest, flags);                 \
        mode = va_arg(rest, mode_t);           \
        va_end(rest);                          \
    }

int open(const char *path, int flags, ...) { MODE return open_at("open", AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return open_at("open", AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return open_at("open", folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return open_at("open", folder, path, flags, mode); }

int close(int fd) {
    opened(fd, NULL);
    return (int)syscall(SYS_close, fd);
}

int dup2(int from, int to) {
    int fd = REAL(dup2)(from, to);
    opened(fd, known(from));
    return fd;
}

DIR *opendir(const char *path) {
    if (watched(path) && fails(READS, "opendir", path, NULL)) return NULL;
    return REAL(opendir)(path);
}

DIR *fdopendir(int fd) {
    if (known(fd) && fails(READS, "opendir", known(fd), NULL)) return NULL;
    return REAL(fdopendir)(fd);
}

/* Reading. */

#define READ(name, call)                                                \
    int way;                                                            \
    const char *path = known(fd);                                       \
    if (path && fails(READS, name, path, &way)) {                       \
        if (way != SHORT) return errno = disk.code, -1;                 \
        size = (size + 1) / 2;                                          \
    }                                                                   \
    return call;

ssize_t read(int fd, void *into, size_t size) { READ("read", syscall(SYS_read, fd, into, size)) }
ssize_t pread(int fd, void *into, size_t size, off_t at) { READ("read", syscall(SYS_pread64, fd, into, size, at)) }
ssize_t pread64(int fd, void *into, size_t size, off64_t at) { READ("read", syscall(SYS_pread64, fd, into, size, at)) }

/* Writing. */

static ssize_t write_at(int fd, const void *data, size_t size, int has_offset, off64_t offset) {
    const char *path = known(fd);
    int way = ERROR, is_torn = 0;
    if (path && fails(CHANGES, "write", path, &way)) {
        if (way == ERROR) return errno = disk.code, -1;
        is_torn = way == TORN;
        size = (size + 1) / 2;
    }
    if (path && disk.journal >= 0 && !has_offset) {
        int flags = REAL(fcntl)(fd, F_GETFL);
        offset = lseek64(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    }
    ssize_t done = has_offset ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
    if (path && done > 0) record("write", path, NULL, inode_of(fd), offset, data, done);
    return is_torn ? (errno = disk.code, -1) : done;
}

ssize_t write(int fd, const void *data, size_t size) { return write_at(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_at(fd, data, size, 1, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return write_at(fd, data, size, 1, at); }

static int change(int fd, const char *name, const char *event, long long offset) {
    const char *path = known(fd);
    if (path && fails(CHANGES, name, path, NULL)) return -1;
    if (path && event) record(event, path, NULL, inode_of(fd), offset, NULL, 0);
    return 0;
}

int fsync(int fd) {
    if (change(fd, "sync", NULL, 0)) return -1;
    int done = (int)syscall(SYS_fsync, fd);
    if (done == 0 && known(fd)) record("sync", known(fd), NULL, inode_of(fd), 0, NULL, 0);
    return done;
}
int fdatasync(int fd) { return fsync(fd); }

int ftruncate(int fd, off_t size) {
    return change(fd, "truncate", "truncate", size) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t size) {
    return change(fd, "allocate", NULL, 0) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, size);
}
int fallocate64(int fd, int mode, off64_t at, off64_t size) { return fallocate(fd, mode, at, size); }
int posix_fallocate(int fd, off_t at, off_t size) {
    return change(fd, "allocate", NULL, 0) ? errno : REAL(posix_fallocate)(fd, at, size);
}
int posix_fallocate64(int fd, off64_t at, off64_t size) { return posix_fallocate(fd, at, size); }

static ssize_t copied(int from, int to, ssize_t done, off64_t at) {
    char *data = done > 0 && known(to) && disk.journal >= 0 ? malloc(done) : NULL;
    (void)from;
    if (data) {
        int again = (int)syscall(SYS_openat, AT_FDCWD, known(to), O_RDONLY);
        if (syscall(SYS_pread64, again, data, done, at) == done)
            record("write", known(to), NULL, inode_of(to), at, data, done);
        syscall(SYS_close, again);
        free(data);
    }
    return done;
}

static ssize_t send_file(int to, int from, off64_t *offset, size_t size) {
    if ((known(to) || known(from)) && fails(CHANGES, "copy", known(to) ? known(to) : known(from), NULL)) return -1;
    off64_t at = lseek64(to, 0, SEEK_CUR);
    return copied(from, to, syscall(SYS_sendfile, to, from, offset, size), at);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t size) { return send_file(to, from, offset, size); }
ssize_t sendfile64(int to, int from, off64_t *offset, size_t size) { return send_file(to, from, offset, size); }
ssize_t copy_file_range(int from, off64_t *in, int to, off64_t *out, size_t size, unsigned flags) {
    if ((known(to) || known(from)) && fails(CHANGES, "copy", known(to) ? known(to) : known(from), NULL)) return -1;
    off64_t at = out ? *out : lseek64(to, 0, SEEK_CUR);
    return copied(from, to, syscall(SYS_copy_file_range, from, in, to, out, size, flags), at);
}

/* Names. */

static int named(const char *name, int folder, const char *given, const char *event, char *buffer,
                 const char **path, long long *inode) {
    *path = full(folder, given, buffer);
    (void)event;
    if (!watched(*path)) {
        *path = NULL;
        return 0;
    }
    if (fails(CHANGES, name, *path, NULL)) return -1;
    *inode = inode_at(*path);
    return 0;
}

#define NAMED(name, folder, given, event, call)                                     \
    char buffer[PATH_MAX];                                                          \
    const char *path;                                                               \
    long long inode = 0;                                                            \
    if (named(name, folder, given, event, buffer, &path, &inode)) return -1;        \
    int done = (int)(call);                                                         \
    if (done == 0 && path && event) record(event, path, NULL, inode ? inode : inode_at(path), 0, NULL, 0); \
    return done;

int unlinkat(int folder, const char *given, int flags) {
    NAMED(flags & AT_REMOVEDIR ? "rmdir" : "unlink", folder, given, flags & AT_REMOVEDIR ? "rmdir" : "unlink",
          syscall(SYS_unlinkat, folder, given, flags))
}
int unlink(const char *given) { return unlinkat(AT_FDCWD, given, 0); }
int rmdir(const char *given) { return unlinkat(AT_FDCWD, given, AT_REMOVEDIR); }
int mkdirat(int folder, const char *given, mode_t mode) {
    NAMED("mkdir", folder, given, "mkdir", syscall(SYS_mkdirat, folder, given, mode))
}
int mkdir(const char *given, mode_t mode) { return mkdirat(AT_FDCWD, given, mode); }

static int rename_at(int from, const char *old, int to, const char *fresh) {
    char one[PATH_MAX], other[PATH_MAX];
    const char *before = full(from, old, one), *after = full(to, fresh, other);
    if (!watched(before) && !watched(after)) return (int)syscall(SYS_renameat2, from, old, to, fresh, 0);
    if (fails(CHANGES, "rename", after, NULL)) return -1;
    int done = (int)syscall(SYS_renameat2, from, old, to, fresh, 0);
    if (done == 0) record("rename", before, after, inode_at(after), 0, NULL, 0);
    return done;
}
int rename(const char *old, const char *fresh) { return rename_at(AT_FDCWD, old, AT_FDCWD, fresh); }
int renameat(int from, const char *old, int to, const char *fresh) { return rename_at(from, old, to, fresh); }

int linkat(int from, const char *old, int to, const char *fresh, int flags) {
    char other[PATH_MAX];
    const char *after = full(to, fresh, other);
    if (watched(after) && fails(CHANGES, "link", after, NULL)) return -1;
    int done = (int)syscall(SYS_linkat, from, old, to, fresh, flags);
    if (done == 0 && watched(after)) record("create", after, NULL, inode_at(after), 0, NULL, 0);
    return done;
}
int link(const char *old, const char *fresh) { return linkat(AT_FDCWD, old, AT_FDCWD, fresh, 0); }

int chmod(const char *given, mode_t mode) {
    NAMED("chmod", AT_FDCWD, given, NULL, syscall(SYS_fchmodat, AT_FDCWD, given, mode))
}
int fchmod(int fd, mode_t mode) { return change(fd, "chmod", NULL, 0) ? -1 : (int)syscall(SYS_fchmod, fd, mode); }
int chown(const char *given, uid_t user, gid_t group) {
    NAMED("chown", AT_FDCWD, given, NULL, syscall(SYS_fchownat, AT_FDCWD, given, user, group, 0))
}
int fchown(int fd, uid_t user, gid_t group) {
    return change(fd, "chown", NULL, 0) ? -1 : (int)syscall(SYS_fchown, fd, user, group);
}
int utimensat(int folder, const char *given, const struct timespec times[2], int flags) {
    NAMED("utime", folder, given, NULL, syscall(SYS_utimensat, folder, given, times, flags))
}

/* Looking. */

#define LOOK(name, folder, given)                                                        \
    char buffer[PATH_MAX];                                                               \
    const char *path = full(folder, given, buffer);                                      \
    if (watched(path) && fails(READS, name, path, NULL)) return -1;

int stat(const char *given, struct stat *into) { LOOK("stat", AT_FDCWD, given) return REAL(stat)(given, into); }
int stat64(const char *given, struct stat64 *into) { LOOK("stat", AT_FDCWD, given) return REAL(stat64)(given, into); }
int lstat(const char *given, struct stat *into) { LOOK("stat", AT_FDCWD, given) return REAL(lstat)(given, into); }
int lstat64(const char *given, struct stat64 *into) { LOOK("stat", AT_FDCWD, given) return REAL(lstat64)(given, into); }
int fstatat(int folder, const char *given, struct stat *into, int flags) {
    LOOK("stat", folder, given) return REAL(fstatat)(folder, given, into, flags);
}
int fstatat64(int folder, const char *given, struct stat64 *into, int flags) {
    LOOK("stat", folder, given) return REAL(fstatat64)(folder, given, into, flags);
}
int fstat(int fd, struct stat *into) {
    if (known(fd) && fails(READS, "stat", known(fd), NULL)) return -1;
    return REAL(fstat)(fd, into);
}
int fstat64(int fd, struct stat64 *into) {
    if (known(fd) && fails(READS, "stat", known(fd), NULL)) return -1;
    return REAL(fstat64)(fd, into);
}
/* The names of the three in programs built for an older C library. */
int __xstat64(int version, const char *given, struct stat64 *into) { (void)version; return stat64(given, into); }
int __lxstat64(int version, const char *given, struct stat64 *into) { (void)version; return lstat64(given, into); }
int __fxstat64(int version, int fd, struct stat64 *into) { (void)version; return fstat64(fd, into); }
int __xstat(int version, const char *given, struct stat *into) { (void)version; return stat(given, into); }
int __lxstat(int version, const char *given, struct stat *into) { (void)version; return lstat(given, into); }
int __fxstat(int version, int fd, struct stat *into) { (void)version; return fstat(fd, into); }

int access(const char *given, int mode) { LOOK("access", AT_FDCWD, given) return REAL(access)(given, mode); }

/* Locks and maps. */

int flock(int fd, int operation) {
    const char *call = operation & LOCK_NB ? "lock" : "wait for lock";
    if (known(fd) && fails(LOCKS, call, known(fd), NULL)) return -1;
    return (int)syscall(SYS_flock, fd, operation);
}

static int control(int fd, int command, long argument) {
    int locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;
    if (locks && known(fd)) {
        /* Releasing a lock does not fail on a disk. */
        int releases = ((struct flock *)argument)->l_type == F_UNLCK;
        const char *call = command == F_SETLKW ? "wait for lock" : "lock";
        if (!releases && fails(LOCKS, call, known(fd), NULL)) return -1;
    }
    int done = (int)syscall(SYS_fcntl, fd, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && done >= 0) opened(done, known(fd));
    return done;
}

#define ARGUMENT                               \
    va_list rest;                              \
    va_start(rest, command);                   \
    long argument = va_arg(rest, long);        \
    va_end(rest);

int fcntl(int fd, int command, ...) { ARGUMENT return control(fd, command, argument); }
int fcntl64(int fd, int command, ...) { ARGUMENT return control(fd, command, argument); }

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    if (known(fd) && fails(CHANGES, "map", known(fd), NULL)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, access, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int access, int flags, int fd, off64_t offset) {
    return mmap(at, size, access, flags, fd, offset);
}
