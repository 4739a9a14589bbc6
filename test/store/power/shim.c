/*
 * A library that LD_PRELOAD loads into a process with an open file store. It does one of two things, or both:
 *
 * - CARILLON_FAULTS names a file with one line "number class errno skip count". Calls of that class on files below
 *   CARILLON_FOLDER fail with that errno, `count` times, after `skip` calls have passed. A new number starts over.
 *   With errno -1 a write takes only half of its bytes, as on a disk that becomes full.
 *   Classes: data (page writes), meta (writes into LMDB's two meta pages), sync (fsync, fdatasync), open, rename, any.
 * - CARILLON_RECORD names a file that gets a record of every call that changes or flushes a file below
 *   CARILLON_FOLDER, in order, with contents. test/store/power/recording.ts reads it.
 *
 * One lock is held during each call and its record, so the records have the order of the calls.
 */
#define _GNU_SOURCE
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE, SYNC, CREATE, MAKE_FOLDER, RENAME, UNLINK, REMOVE_FOLDER };
/* A write through a descriptor opened with O_DSYNC is on the disk when it returns. */
enum { DURABLE = 1 };
#define META_END 16384

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_length;
static int faults = -1, record = -1;
static long rule, passed, failed;

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("CARILLON_FOLDER");
  if (!text || strlen(text) >= sizeof folder) return;
  strcpy(folder, text);
  folder_length = strlen(folder);
  if ((text = getenv("CARILLON_FAULTS"))) faults = syscall(SYS_openat, AT_FDCWD, text, O_RDONLY | O_CLOEXEC);
  if ((text = getenv("CARILLON_RECORD")))
    record = syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static int is_inside(const char *path) {
  return folder_length && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == 0 || path[folder_length] == '/');
}

/* The absolute path of a file. Its last part may be a symbolic link, which is not followed. */
static int path_of(const char *name, char *path) {
  char copy[PATH_MAX / 2];
  if (!folder_length || strlen(name) >= sizeof copy) return 0;
  strcpy(copy, name);
  size_t length = strlen(copy);
  while (length > 1 && copy[length - 1] == '/') copy[--length] = 0;
  char *slash = strrchr(copy, '/');
  char resolved[PATH_MAX];
  if (!slash) {
    if (!realpath(".", resolved)) return 0;
    snprintf(path, PATH_MAX, "%s/%s", resolved, copy);
  } else {
    *slash = 0;
    if (!realpath(slash == copy ? "/" : copy, resolved)) return 0;
    snprintf(path, PATH_MAX, "%s/%s", strcmp(resolved, "/") ? resolved : "", slash + 1);
  }
  return is_inside(path);
}

static int path_of_descriptor(int fd, char *path) {
  char link[64];
  if (!folder_length) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_inside(path);
}

/* The errno with which this call must fail, or 0. */
static int fault_of(const char *class) {
  if (faults < 0) return 0;
  char text[128] = "", wanted[32];
  long number, skip, count;
  int error;
  if (syscall(SYS_pread64, faults, text, sizeof text - 1, 0L) <= 0) return 0;
  if (sscanf(text, "%ld %31s %d %ld %ld", &number, wanted, &error, &skip, &count) != 5) return 0;
  if (number != rule) {
    rule = number;
    passed = failed = 0;
  }
  if (strcmp(wanted, class) != 0 && strcmp(wanted, "any") != 0) return 0;
  if (passed++ < skip || failed >= count) return 0;
  failed++;
  return error;
}

/* A record: type, flags, lengths of both paths, offset, length of the contents; then both paths and the contents. */
static void note(int type, int flags, const char *path, const char *second, uint64_t offset, const struct iovec *parts,
                 int count, uint64_t length) {
  if (record < 0) return;
  struct {
    uint32_t type, flags, path, second;
    uint64_t offset, length;
  } head = {type, flags, strlen(path), second ? strlen(second) : 0, offset, length};
  size_t size = sizeof head + head.path + head.second + length;
  char *all = malloc(size), *at = all;
  at = mempcpy(at, &head, sizeof head);
  at = mempcpy(at, path, head.path);
  at = mempcpy(at, second ? second : "", head.second);
  for (int i = 0; i < count && length > 0; i++) {
    size_t take = parts[i].iov_len < length ? parts[i].iov_len : length;
    at = mempcpy(at, parts[i].iov_base, take);
    length -= take;
  }
  for (at = all; size > 0;) {
    long done = syscall(SYS_write, record, at, size);
    if (done <= 0) abort();
    at += done;
    size -= done;
  }
  free(all);
}

static int is_durable(int fd) { return (fcntl(fd, F_GETFL) & O_DSYNC) == O_DSYNC; }

static ssize_t written(int fd, const struct iovec *parts, int count, off64_t offset) {
  char path[PATH_MAX];
  int is_ours = path_of_descriptor(fd, path);
  if (!is_ours)
    return offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
  pthread_mutex_lock(&lock);
  off64_t at = offset < 0 ? lseek64(fd, 0, SEEK_CUR) : offset;
  if (offset < 0 && (fcntl(fd, F_GETFL) & O_APPEND)) at = lseek64(fd, 0, SEEK_END);
  int error = fault_of(at < META_END ? "meta" : "data");
  ssize_t done = -1;
  if (error < 0)
    done = syscall(SYS_pwrite64, fd, parts[0].iov_base, parts[0].iov_len / 2, at);
  else if (!error)
    done = offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
  else
    errno = error;
  if (done > 0) {
    int kept = errno;
    note(WRITE, is_durable(fd) ? DURABLE : 0, path, 0, at, parts, count, done);
    errno = kept;
  }
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  struct iovec part = {(void *)bytes, length};
  return written(fd, &part, 1, offset);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return written(fd, parts, count, offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return written(fd, parts, count, offset); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return written(fd, parts, count, -1); }
ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  return written(fd, &part, 1, -1);
}

static int synced(int fd, long number) {
  char path[PATH_MAX];
  if (!path_of_descriptor(fd, path)) return syscall(number, fd);
  pthread_mutex_lock(&lock);
  int error = fault_of("sync");
  int done = error ? -1 : syscall(number, fd);
  if (error) errno = error;
  if (done == 0) note(SYNC, 0, path, 0, 0, 0, 0, 0);
  pthread_mutex_unlock(&lock);
  return done;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int ftruncate64(int fd, off64_t length) {
  char path[PATH_MAX];
  if (!path_of_descriptor(fd, path)) return syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&lock);
  int done = syscall(SYS_ftruncate, fd, length);
  if (done == 0) note(TRUNCATE, 0, path, 0, length, 0, 0, 0);
  pthread_mutex_unlock(&lock);
  return done;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int opened(int at, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX];
  int is_ours = name[0] == '/' || at == AT_FDCWD ? path_of(name, path) : 0;
  if (!is_ours) return syscall(SYS_openat, at, name, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat before;
  int is_new = (flags & O_CREAT) && lstat(path, &before) != 0;
  int error = fault_of("open");
  int fd = error ? -1 : syscall(SYS_openat, at, name, flags, mode);
  if (error) errno = error;
  if (fd >= 0 && is_new) note(CREATE, 0, path, 0, 0, 0, 0, 0);
  if (fd >= 0 && !is_new && (flags & O_TRUNC)) note(TRUNCATE, 0, path, 0, 0, 0, 0, 0);
  pthread_mutex_unlock(&lock);
  return fd;
}
static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}
#define OPEN(name, ...)                        \
  {                                            \
    va_list rest;                              \
    va_start(rest, flags);                     \
    mode_t mode = mode_of(flags, rest);        \
    va_end(rest);                              \
    return opened(__VA_ARGS__, flags, mode);   \
  }
int open(const char *name, int flags, ...) OPEN(open, AT_FDCWD, name)
int open64(const char *name, int flags, ...) OPEN(open64, AT_FDCWD, name)
int openat(int at, const char *name, int flags, ...) OPEN(openat, at, name)
int openat64(int at, const char *name, int flags, ...) OPEN(openat64, at, name)

int mkdir(const char *name, mode_t mode) {
  char path[PATH_MAX];
  if (!path_of(name, path)) return syscall(SYS_mkdirat, AT_FDCWD, name, mode);
  pthread_mutex_lock(&lock);
  int done = syscall(SYS_mkdirat, AT_FDCWD, name, mode);
  int kept = errno;
  if (done == 0) note(MAKE_FOLDER, 0, path, 0, 0, 0, 0, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return done;
}

static int removed(int at, const char *name, int flags) {
  char path[PATH_MAX];
  int is_ours = name[0] == '/' || at == AT_FDCWD ? path_of(name, path) : 0;
  if (!is_ours) return syscall(SYS_unlinkat, at, name, flags);
  pthread_mutex_lock(&lock);
  int done = syscall(SYS_unlinkat, at, name, flags);
  int kept = errno;
  if (done == 0) note(flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK, 0, path, 0, 0, 0, 0, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return done;
}
int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return removed(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int at, const char *name, int flags) { return removed(at, name, flags); }
int remove(const char *name) {
  int done = removed(AT_FDCWD, name, 0);
  return done != 0 && errno == EISDIR ? removed(AT_FDCWD, name, AT_REMOVEDIR) : done;
}

int rename(const char *from, const char *to) {
  char path[PATH_MAX], second[PATH_MAX];
  int is_ours = path_of(from, path) && path_of(to, second);
  if (!is_ours) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  pthread_mutex_lock(&lock);
  int error = fault_of("rename");
  int done = error ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  int kept = error ? error : errno;
  if (done == 0) note(RENAME, 0, path, second, 0, 0, 0, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return done;
}
