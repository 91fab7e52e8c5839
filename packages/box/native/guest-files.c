/*
 * Files, watches and ports of a living sandbox. Each connection is served by a process of its own, so that a long walk or a
 * slow reader stops nobody else. It sees what programs see and may do what they may; links lead where they lead in here.
 *
 *   host -> guest, one request per connection
 *     G  u64 offset, u64 limit, path         read: N, D…, z
 *     V  u32 mode, u32 flags, path           write: z, then the host sends D… and z, then N, z.  flags: 1 append, 2 must be new
 *     S  path                                stat: N, z                T  u32 depth, u32 most, path     list: N…, z
 *     M  u32 mode, path                      make a folder, parents too: N, z
 *     R  from, to                            move: N, z                U  path                          remove, all of it: z
 *     H  u8 recursive, path                  watch: z, then h until the host hangs up
 *     B  u16 port                            connect to 127.0.0.1:port: z, then bytes both ways without frames
 *   guest -> host
 *     N  u8 kind, u32 mode, u32 uid, u32 gid, u64 size, i64 mtime ms, path, link target
 *     h  u8 what (c created, w written, d removed, r renamed, a attributes), path relative to the watched folder
 */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 64
#define MAX_WATCHES 8192

static unsigned char buffer[MAX_FRAME];
static unsigned char chunk[CHUNK];
static int host;

int is_file_request(char type) { return type != 0 && strchr("GVSTMRUHB", type) != NULL; }

static void done(void) { send_frame(host, 'z', 0, NULL, 0); }

/* ---- entries ---- */

static char kind_of(mode_t mode) {
  if (S_ISREG(mode)) return 'f';
  if (S_ISDIR(mode)) return 'd';
  if (S_ISLNK(mode)) return 'l';
  if (S_ISFIFO(mode)) return 'p';
  return S_ISSOCK(mode) ? 's' : 'c';
}

static void send_entry(const char *path, const struct stat *info) {
  static unsigned char payload[2 * PATH_MAX + 64];
  char target[PATH_MAX] = "";
  if (S_ISLNK(info->st_mode)) {
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
  }
  size_t length = strlen(path) + 1, more = strlen(target) + 1;
  int64_t modified = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
  payload[0] = (unsigned char)kind_of(info->st_mode);
  put32(payload + 1, info->st_mode & 07777);
  put32(payload + 5, info->st_uid);
  put32(payload + 9, info->st_gid);
  put64(payload + 13, (uint64_t)info->st_size);
  put64(payload + 21, (uint64_t)modified);
  memcpy(payload + 29, path, length);
  memcpy(payload + 29 + length, target, more);
  send_frame(host, 'N', 0, payload, (uint32_t)(29 + length + more));
}

static int send_stat(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) { complain(host, 0, "%s", path); return 0; }
  send_entry(path, &info);
  return 1;
}

static void list(const char *path, uint32_t depth, uint32_t *most) {
  DIR *dir = opendir(path);
  if (!dir) { complain(host, 0, "%s", path); return; }
  for (struct dirent *entry; *most > 0 && (entry = readdir(dir));) {
    char child[PATH_MAX];
    struct stat info;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    int n = snprintf(child, sizeof child, "%s%s%s", path, strcmp(path, "/") ? "/" : "", entry->d_name);
    if (n < 0 || (size_t)n >= sizeof child || lstat(child, &info) != 0) continue; /* gone meanwhile, or too long to name */
    (*most)--;
    send_entry(child, &info);
    if (S_ISDIR(info.st_mode) && depth > 1) list(child, depth - 1, most);
  }
  closedir(dir);
}

/* ---- bytes ---- */

static void read_out(uint64_t offset, uint64_t limit, const char *path) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &info) != 0) { complain(host, 0, "%s", path); return; }
  errno = S_ISDIR(info.st_mode) ? EISDIR : S_ISREG(info.st_mode) ? 0 : EINVAL;
  if (errno) { complain(host, 0, "%s", path); return; }
  if (offset && lseek(fd, (off_t)offset, SEEK_SET) < 0) { complain(host, 0, "%s", path); return; }
  send_entry(path, &info);
  while (limit > 0) {
    ssize_t n = read(fd, chunk, limit < CHUNK ? (size_t)limit : CHUNK);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) { complain(host, 0, "%s", path); return; }
    if (n == 0) break;
    send_frame(host, 'D', 0, chunk, (uint32_t)n);
    limit -= (uint64_t)n;
  }
  done();
}

static int make_parents(char *path, mode_t mode) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    int failed = mkdir(path, mode) != 0 && errno != EEXIST;
    *slash = '/';
    if (failed) return 0;
  }
  return 1;
}

static int write_all(int fd, const unsigned char *data, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, data, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    data += n;
    length -= (size_t)n;
  }
  return 1;
}

/* Into a file beside it, which takes its name when all has arrived: a reader never sees half of it. */
static void write_in(uint32_t mode, uint32_t flags, char *given) {
  char path[PATH_MAX], temporary[PATH_MAX + 32];
  struct stat info;
  char type;
  uint32_t id;
  struct reader r;
  int append = flags & 1, is_new = (flags & 2) != 0;
  if (!realpath(given, path)) {
    if (strlen(given) >= sizeof path) { errno = ENAMETOOLONG; complain(host, 0, "%s", given); return; }
    strcpy(path, given);
  }
  if (!make_parents(path, 0755)) { complain(host, 0, "%s", path); return; }
  int exists = stat(path, &info) == 0;
  errno = exists && is_new ? EEXIST : exists && S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (errno) { complain(host, 0, "%s", path); return; }
  /* What is not a plain file (a device, a fifo) cannot be replaced by one. */
  int in_place = append || (exists && !S_ISREG(info.st_mode));
  snprintf(temporary, sizeof temporary, "%s.skillbox-%d", path, getpid());
  int fd = in_place ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (append ? O_APPEND : 0), mode)
                    : open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) { complain(host, 0, "%s", path); return; }
  if (!in_place && exists) fchmod(fd, info.st_mode & 07777);
  done();
  for (;;) {
    if (!read_frame(host, buffer, &type, &id, &r)) { if (!in_place) unlink(temporary); _exit(0); }
    if (type == 'z') break;
    if (type != 'D' || !write_all(fd, r.at, (size_t)(r.end - r.at))) {
      int error = type == 'D' ? errno : EPROTO;
      if (!in_place) unlink(temporary);
      errno = error;
      complain(host, 0, "%s", path);
      /* Closing on bytes that nobody read would take the reason with it. */
      while (read_frame(host, buffer, &type, &id, &r)) ;
      return;
    }
  }
  if (close(fd) != 0 || (!in_place && rename(temporary, path) != 0)) { complain(host, 0, "%s", path); return; }
  if (send_stat(path)) done();
}

/* ---- folders ---- */

static void make_folder(uint32_t mode, char *path) {
  struct stat info;
  if (stat(path, &info) == 0) { errno = EEXIST; complain(host, 0, "%s", path); return; }
  if (!make_parents(path, mode) || mkdir(path, mode) != 0) { complain(host, 0, "%s", path); return; }
  if (send_stat(path)) done();
}

static int remove_tree(int dir, const char *name, int depth) {
  if (unlinkat(dir, name, 0) == 0) return 1;
  if (errno != EISDIR && errno != EPERM) return 0;
  if (depth > 1024) { errno = ELOOP; return 0; }
  int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0) fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *stream = fd < 0 ? NULL : fdopendir(fd);
  if (!stream) { if (fd >= 0) close(fd); return 0; }
  int ok = 1;
  for (struct dirent *entry; ok && (entry = readdir(stream));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    ok = remove_tree(fd, entry->d_name, depth + 1);
  }
  int error = errno;
  closedir(stream);
  errno = error;
  return ok && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static void move(const char *from, char *to) {
  if (!make_parents(to, 0755) || rename(from, to) != 0) { complain(host, 0, "%s to %s", from, to); return; }
  if (send_stat(to)) done();
}

/* ---- watching ---- */

static struct { int wd; char *path; } watched[MAX_WATCHES];
static int watch_count;
static int notify;

static void watch_one(const char *root, const char *relative, int recursive) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s%s%s", root, *relative ? "/" : "", relative);
  int wd = inotify_add_watch(notify, path, IN_CREATE | IN_CLOSE_WRITE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR);
  if (wd < 0 || watch_count == MAX_WATCHES) return;
  watched[watch_count].wd = wd;
  watched[watch_count++].path = strdup(relative);
  DIR *dir = recursive ? opendir(path) : NULL;
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    char child[PATH_MAX];
    if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    snprintf(child, sizeof child, "%s%s%s", relative, *relative ? "/" : "", entry->d_name);
    watch_one(root, child, 1);
  }
  if (dir) closedir(dir);
}

static void tell(const struct inotify_event *event, const char *root, int recursive) {
  unsigned char payload[PATH_MAX + 2];
  const char *folder = NULL;
  for (int i = 0; i < watch_count; i++) if (watched[i].wd == event->wd) folder = watched[i].path;
  if (!folder || !event->len) return;
  char what = event->mask & IN_CREATE ? 'c' : event->mask & (IN_MODIFY | IN_CLOSE_WRITE) ? 'w' : event->mask & IN_DELETE ? 'd' : event->mask & IN_ATTRIB ? 'a' : 'r';
  /* A file that is closed after writing was told as written already. */
  if (event->mask & IN_CLOSE_WRITE) return;
  payload[0] = (unsigned char)(event->mask & IN_MOVED_TO ? 'c' : what);
  int n = snprintf((char *)payload + 1, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", event->name);
  if (n < 0 || n >= PATH_MAX) return;
  send_frame(host, 'h', 0, payload, (uint32_t)n + 2);
  if (recursive && event->mask & IN_ISDIR && event->mask & (IN_CREATE | IN_MOVED_TO)) watch_one(root, (char *)payload + 1, 1);
}

static void watch(int recursive, const char *root) {
  notify = inotify_init1(IN_CLOEXEC);
  if (notify < 0) { complain(host, 0, "cannot watch"); return; }
  watch_one(root, "", recursive);
  if (watch_count == 0) { complain(host, 0, "%s", root); return; }
  done();
  for (;;) {
    struct pollfd fds[] = {{notify, POLLIN, 0}, {host, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents) _exit(0); /* the host hung up */
    ssize_t n = read(notify, chunk, sizeof chunk);
    for (unsigned char *at = chunk; n > 0 && at < chunk + n; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len) {
      tell((struct inotify_event *)at, root, recursive);
    }
  }
}

/* ---- ports ---- */

static int connect_to(uint16_t port) {
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&v4, sizeof v4) == 0) return fd;
  int error = errno;
  if (fd >= 0) close(fd);
  fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&v6, sizeof v6) == 0) return fd;
  if (fd >= 0) close(fd);
  errno = error;
  return -1;
}

static void tunnel(uint16_t port) {
  int peer = connect_to(port), one = 1, open_ends = 2;
  if (peer < 0) { complain(host, 0, "nothing answers on port %u", port); return; }
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  done();
  struct pollfd fds[] = {{host, POLLIN, 0}, {peer, POLLIN, 0}};
  while (open_ends) {
    if (poll(fds, 2, -1) < 0) continue;
    for (int i = 0; i < 2; i++) {
      if (!fds[i].revents || fds[i].fd < 0) continue;
      int to = i == 0 ? peer : host;
      ssize_t n = read(fds[i].fd, chunk, CHUNK);
      if (n > 0 && write_all(to, chunk, (size_t)n)) continue;
      shutdown(to, SHUT_WR);
      fds[i].fd = -1;
      open_ends--;
    }
  }
}

void serve_files(int fd) {
  char type;
  uint32_t id;
  struct reader r;
  host = fd;
  if (!read_frame(host, buffer, &type, &id, &r)) _exit(0);
  uint64_t a = type == 'G' ? get64(&r) : type == 'H' ? (r.at < r.end ? *r.at++ : 0) : type == 'B' ? get16(&r) : strchr("VTM", type) ? get32(&r) : 0;
  uint64_t b = type == 'G' ? get64(&r) : strchr("VT", type) ? get32(&r) : 0;
  char *path = type == 'B' ? "" : strdup(get_string(&r)), *to = type == 'R' ? strdup(get_string(&r)) : "";
  uint32_t most = (uint32_t)b;
  errno = EINVAL;
  if (r.bad || (type != 'B' && path[0] != '/')) complain(host, 0, "a path must be absolute");
  else if (type == 'G') read_out(a, b, path);
  else if (type == 'V') write_in((uint32_t)a & 0777, (uint32_t)b, path);
  else if (type == 'S') { if (send_stat(path)) done(); }
  else if (type == 'T') { list(path, a > MAX_DEPTH ? MAX_DEPTH : (uint32_t)a, &most); done(); }
  else if (type == 'M') make_folder((uint32_t)a & 0777, path);
  else if (type == 'R') move(path, to);
  else if (type == 'U') { if (remove_tree(AT_FDCWD, path, 0)) done(); else complain(host, 0, "%s", path); }
  else if (type == 'H') watch((int)a, path);
  else if (type == 'B') tunnel((uint16_t)a);
  _exit(0);
}
