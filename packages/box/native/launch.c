/*
 * launch: stands between the server and bubblewrap.
 *
 * It exists because some things must happen before bubblewrap and cannot be said with its flags:
 * join the sandbox's cgroup, close every inherited descriptor, mount the size-limited noexec work
 * area in a mount namespace of its own (so that a crash leaves no mount on the host), and give up
 * the caller's uid. The server starts it ahead of need: joining a cgroup costs a kernel grace
 * period (about 10 ms), waiting on a socket costs nothing.
 *
 *   argv      --cgroup FILE ...   cgroup.procs files to join at once
 *   fd 2      diagnostics         fd 3      the channel: first our orders, then the guest's frames
 *
 * Orders are a u32 length and that many bytes of NUL-terminated words:
 *   parent PID             the server; if it is not our parent any more, we end
 *   userns none|self|sub   none: we are root. self, sub: rootless, without or with subordinate ids
 *   submap UID COUNT GID COUNT
 *   bind SOURCE NAME       make a host file or folder reachable at /tmp/NAME, once there is a stage
 *   idmap SOURCE NAME UID  the same for a folder whose files belong to UID on disk and to the sandbox's uid inside (root only)
 *   beneath ROOT PATH NAME UID  a folder below ROOT on whose way there is no link; idmap as above, or bind when UID is 0
 *   show SOURCE NAME       the same as bind, for reading only; show-own gives root's files to the sandbox's uid, for reading
 *   stage BYTES INODES     mount the tmpfs of the work area at /tmp of the private namespace; stage-exec lets programs run from it
 *   overlay NAME UPPER WORK LOWER...  .   layers, named as above, as one folder at /tmp/NAME; the list ends with a dot
 *   folder NAME PATH       a folder below /tmp/NAME that belongs to the sandbox's uid, made where it is missing
 *   attach NAME INTO PATH  /tmp/NAME at PATH below /tmp/INTO; who may have written there leads no step of the way elsewhere
 *   outlive PIDFILE        a living sandbox: it stays when the server goes, and its pid is written there
 *   listen PATH            what the guest gets as descriptor 3: a listening socket, whose path only the host knows
 *   dir NAME MODE          make a folder on it that belongs to the sandbox's uid
 *   seccomp FILE           open it as descriptor 9
 *   rlimit NAME VALUE
 *   ids UID GID            whom to become
 *   guest SOCKET           instead of exec: a sandbox of another maker, whose first process listens there as that uid
 *   hand-over NAME AT ...  the rest: /tmp/NAME, with what is attached to it, at the folder AT of that sandbox; then we are done
 *   exec PATH ARG ...      the rest is bubblewrap's command line
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHANNEL 3
#define SECCOMP_FD 9
#define MAX_ORDERS (256 * 1024)
#define MAX_WORDS 2048
#define MAX_BINDS 48
#define STAGE "/tmp"

static char *words[MAX_WORDS + 1];
static int word_count, at;
static pid_t expected_parent;
static int outlives;
static int rootless;
static int listener = -1;
static int guest_mounts = -1;
static uid_t target_uid = (uid_t)-1;
static gid_t target_gid = (gid_t)-1;

static void fail(const char *format, ...) {
  va_list list;
  int saved = errno;
  va_start(list, format);
  dprintf(2, "launch: ");
  vdprintf(2, format, list);
  dprintf(2, saved ? ": %s\n" : "\n", saved ? strerror(saved) : "");
  va_end(list);
  _exit(126);
}

static void close_from(unsigned first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("cannot read the descriptor limit");
  for (unsigned fd = first; fd < limit.rlim_cur && fd < 1048576; fd++) close((int)fd);
}

static void write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail("cannot open %s", path);
  if (write(fd, text, strlen(text)) < 0) fail("cannot write %s", path);
  close(fd);
}

static int read_exactly(void *into, size_t length) {
  char *p = into;
  while (length > 0) {
    ssize_t n = read(CHANNEL, p, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot read the channel");
    if (n == 0) return 0;
    p += n;
    length -= (size_t)n;
  }
  return 1;
}

static void read_orders(void) {
  uint32_t length;
  if (!read_exactly(&length, sizeof length)) _exit(0); /* never needed: the server closed us */
  if (length == 0 || length > MAX_ORDERS) { errno = 0; fail("orders of %u bytes", length); }
  char *text = malloc(length + 1);
  if (!text) fail("out of memory");
  if (!read_exactly(text, length)) _exit(0);
  text[length] = 0;
  for (char *p = text; p < text + length && word_count < MAX_WORDS; p += strlen(p) + 1) words[word_count++] = p;
}

static char *next(void) {
  errno = 0;
  if (at >= word_count) fail("orders end too early");
  return words[at++];
}

static unsigned long long next_number(void) {
  char *word = next(), *end;
  unsigned long long value = strtoull(word, &end, 10);
  errno = 0;
  if (end == word || *end) fail("not a number: %s", word);
  return value;
}

static void die_with_parent(void) {
  if (outlives) {
    prctl(PR_SET_PDEATHSIG, 0);
    return;
  }
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail("cannot ask to die with the parent");
  if (expected_parent && getppid() != expected_parent) _exit(0);
}

static void private_mounts(int flags) {
  if (unshare(flags) != 0) fail("cannot make a namespace (unshare 0x%x)", flags);
}

static void stop_propagation(void) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail("cannot make mounts private");
}

/* The helper is forked before unshare, so that it stays in the parent user namespace: only from
 * there may newuidmap write our maps. */
static void map_subordinate_ids(const char *uid_start, const char *uid_count, const char *gid_start, const char *gid_count) {
  int ready[2], done[2], status;
  char byte = 0, self[24], own_uid[24], own_gid[24];
  snprintf(self, sizeof self, "%d", getpid());
  snprintf(own_uid, sizeof own_uid, "%u", getuid());
  snprintf(own_gid, sizeof own_gid, "%u", getgid());
  if (pipe2(ready, O_CLOEXEC) || pipe2(done, O_CLOEXEC)) fail("cannot make a pipe");
  pid_t helper = fork();
  if (helper < 0) fail("cannot fork");
  if (helper == 0) {
    if (read(ready[0], &byte, 1) != 1) _exit(1);
    pid_t gid_helper = fork();
    if (gid_helper == 0) {
      execlp("newgidmap", "newgidmap", self, "0", own_gid, "1", "1", gid_start, gid_count, (char *)NULL);
      _exit(127);
    }
    if (gid_helper < 0 || waitpid(gid_helper, &status, 0) < 0 || status != 0) _exit(1);
    execlp("newuidmap", "newuidmap", self, "0", own_uid, "1", "1", uid_start, uid_count, (char *)NULL);
    _exit(127);
  }
  private_mounts(CLONE_NEWUSER | CLONE_NEWNS);
  if (write(ready[1], &byte, 1) != 1) fail("cannot wake the id mapper");
  if (waitpid(helper, &status, 0) < 0) fail("cannot wait for the id mapper");
  errno = 0;
  if (status != 0) fail("newuidmap or newgidmap refused the subordinate ids of this user");
  close(ready[0]); close(ready[1]); close(done[0]); close(done[1]);
  if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) fail("cannot take the mapped ids");
}

static void map_own_id(void) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  char map[64];
  private_mounts(CLONE_NEWUSER | CLONE_NEWNS);
  write_file("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", uid, uid);
  write_file("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1", gid, gid);
  write_file("/proc/self/gid_map", map);
}

static void enter_namespaces(const char *kind) {
  rootless = strcmp(kind, "none") != 0;
  if (!strcmp(kind, "none")) private_mounts(CLONE_NEWNS);
  else if (!strcmp(kind, "self")) map_own_id();
  else if (!strcmp(kind, "sub")) {
    errno = 0;
    if (strcmp(next(), "submap")) fail("userns sub needs submap");
    char *uid_start = next(), *uid_count = next(), *gid_start = next(), *gid_count = next();
    map_subordinate_ids(uid_start, uid_count, gid_start, gid_count);
  } else fail("unknown userns %s", kind);
  stop_propagation();
}

static void make_dir(const char *name, unsigned mode) {
  char path[512];
  snprintf(path, sizeof path, STAGE "/%s", name);
  if (mkdir(path, 0700) != 0) fail("cannot make %s", path);
  if (target_uid != (uid_t)-1 && chown(path, target_uid, target_gid) != 0) fail("cannot hand over %s", path);
  if (chmod(path, mode) != 0) fail("cannot set the mode of %s", path);
}

/* Sources are opened before the stage covers /tmp, where they may well lie. */
static struct bind { int fd; const char *source, *name; long disk_uid; int read_only; } binds[MAX_BINDS];
static int bind_count;

static void remember_open(int fd, const char *source, const char *name, long disk_uid, int read_only) {
  if (fd < 0) fail("cannot see %s", source);
  errno = 0;
  if (bind_count == MAX_BINDS) fail("too many binds");
  binds[bind_count].source = source;
  binds[bind_count].name = name;
  binds[bind_count].disk_uid = disk_uid;
  binds[bind_count].read_only = read_only;
  binds[bind_count].fd = fd;
  bind_count++;
}

static void remember_bind(const char *source, const char *name, long disk_uid, int read_only) {
  remember_open(open(source, O_PATH | O_CLOEXEC), source, name, disk_uid, read_only);
}

/* For folders whose way there somebody hostile can change meanwhile. */
static void remember_beneath(const char *root, const char *path, const char *name, long disk_uid) {
  struct { uint64_t flags, mode, resolve; } how = {
    .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
    .resolve = 0x08 /* RESOLVE_BENEATH */ | 0x04 /* RESOLVE_NO_SYMLINKS */ | 0x02 /* RESOLVE_NO_MAGICLINKS */,
  };
  int base = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base < 0) fail("cannot see %s", root);
  remember_open((int)syscall(SYS_openat2, base, path, &how, sizeof how), path, name, disk_uid > 0 ? disk_uid : -1, 0);
  close(base);
}

/* A user namespace that exists only to say: uid FROM on disk is uid TO in the mount. */
static int mapping_namespace(long from, uid_t to) {
  int go[2];
  char path[64], map[64], byte;
  if (pipe2(go, O_CLOEXEC)) fail("cannot make a pipe");
  pid_t holder = fork();
  if (holder < 0) fail("cannot fork");
  if (holder == 0) {
    if (unshare(CLONE_NEWUSER) != 0) _exit(1);
    if (write(go[1], "r", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  close(go[1]);
  if (read(go[0], &byte, 1) != 1) fail("cannot make a namespace for the id map");
  close(go[0]);
  /* Root keeps its number: overlayfs makes its own folders as whoever mounts it. */
  if (from == 0) snprintf(map, sizeof map, "0 %u 1\n", to);
  else snprintf(map, sizeof map, "0 0 1\n%ld %u 1\n", from, to);
  snprintf(path, sizeof path, "/proc/%d/uid_map", holder);
  write_file(path, map);
  snprintf(path, sizeof path, "/proc/%d/gid_map", holder);
  write_file(path, map);
  snprintf(path, sizeof path, "/proc/%d/ns/user", holder);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("cannot open the id map");
  kill(holder, SIGKILL);
  waitpid(holder, NULL, 0);
  return fd;
}

static void bind_mapped(int fd, const char *path, long disk_uid, int read_only) {
  struct { uint64_t set, clear, propagation, userns; } attributes = {.set = 0x00100000 /* MOUNT_ATTR_IDMAP */ | (read_only ? 1u /* MOUNT_ATTR_RDONLY */ : 0u)};
  int tree = (int)syscall(SYS_open_tree, fd, "", 0x1000 /* AT_EMPTY_PATH */ | 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
  if (tree < 0) fail("cannot clone a mount");
  attributes.userns = (uint64_t)mapping_namespace(disk_uid, target_uid);
  if (syscall(SYS_mount_setattr, tree, "", 0x1000, &attributes, sizeof attributes) != 0) fail("cannot map the ids of a mount");
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, path, 4 /* MOVE_MOUNT_F_EMPTY_PATH */) != 0) fail("cannot place a mount");
  close((int)attributes.userns);
  close(tree);
}

/* What the mount has of its own stays: in a user namespace it may not be taken away. */
static void make_read_only(const char *path) {
  static const struct { unsigned long from, to; } kept[] = {
    {ST_NOSUID, MS_NOSUID}, {ST_NODEV, MS_NODEV}, {ST_NOEXEC, MS_NOEXEC}, {ST_NOATIME, MS_NOATIME}, {ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME},
  };
  struct statvfs info;
  unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
  if (statvfs(path, &info) != 0) fail("cannot see %s", path);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) if (info.f_flag & kept[i].from) flags |= kept[i].to;
  if (mount(NULL, path, NULL, flags, NULL) != 0) fail("cannot make %s read-only", path);
}

static void bind_in(const struct bind *bind) {
  char path[512], from[64];
  struct stat info;
  int fd = bind->fd;
  snprintf(path, sizeof path, STAGE "/%s", bind->name);
  snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
  if (fstat(fd, &info) != 0) fail("cannot see %s", bind->source);
  if (S_ISDIR(info.st_mode)) {
    if (mkdir(path, 0755) != 0) fail("cannot make %s", path);
  } else {
    int made = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (made < 0) fail("cannot make %s", path);
    close(made);
  }
  if (bind->disk_uid >= 0 && !rootless) bind_mapped(fd, path, bind->disk_uid, bind->read_only);
  else if (mount(from, path, NULL, MS_BIND, NULL) != 0) fail("cannot bind %s", bind->source);
  else if (bind->read_only) make_read_only(path);
  close(fd);
}

static void mount_stage(unsigned long long bytes, unsigned long long inodes, unsigned long noexec) {
  char options[128];
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0755", bytes, inodes);
  if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV | noexec, options) != 0) fail("cannot mount the work area");
  for (int i = 0; i < bind_count; i++) bind_in(&binds[i]);
}

/* Folders that the inside may write: each step is one name and no link, and what is missing is made for the sandbox. */
static int open_way(const char *name, char *path) {
  char top[512], shown[512];
  snprintf(top, sizeof top, STAGE "/%s", name);
  snprintf(shown, sizeof shown, "%s", path);
  int folder = open(top, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) fail("cannot see %s", top);
  char *rest = NULL;
  for (char *step = strtok_r(path, "/", &rest); step; step = strtok_r(NULL, "/", &rest)) {
    errno = 0;
    if (!strcmp(step, ".") || !strcmp(step, "..")) fail("the path %s", shown);
    int made = mkdirat(folder, step, 0755) == 0;
    if (!made && errno != EEXIST && errno != EROFS) fail("cannot make %s of %s", step, shown);
    int next = openat(folder, step, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) fail("%s of %s must be a folder, and no link", step, shown);
    if (made && target_uid != (uid_t)-1 && fchownat(next, "", target_uid, target_gid, AT_EMPTY_PATH) != 0) fail("cannot hand over %s", shown);
    close(folder);
    folder = next;
  }
  return folder;
}

static void attach(const char *name, const char *into, char *path) {
  char from[512], to[64];
  int folder = open_way(into, path);
  snprintf(from, sizeof from, STAGE "/%s", name);
  snprintf(to, sizeof to, "/proc/self/fd/%d", folder);
  if (mount(from, to, NULL, MS_BIND, NULL) != 0) fail("cannot attach %s", name);
  close(folder);
}

/* Layers lie on the stage, so that their paths are short and hold no colon. */
static void mount_overlay(const char *name) {
  char path[512], options[4096];
  char *upper = next(), *work = next();
  int n = snprintf(options, sizeof options, "upperdir=" STAGE "/%s,workdir=" STAGE "/%s%s,lowerdir=", upper, work, rootless ? ",userxattr" : "");
  for (int i = 0;; i++) {
    char *lower = next();
    if (!strcmp(lower, ".")) break;
    n += snprintf(options + n, sizeof options - (size_t)n, "%s" STAGE "/%s", i ? ":" : "", lower);
    errno = 0;
    if ((size_t)n >= sizeof options) fail("too many layers");
  }
  snprintf(path, sizeof path, STAGE "/%s", name);
  if (mkdir(path, 0755) != 0) fail("cannot make %s", path);
  if (mount("overlay", path, "overlay", MS_NOSUID | MS_NODEV, options) != 0) fail("cannot mount the layers");
}

/* From here on the parent is init, so that dying with the parent means: with bubblewrap, not with the server. */
static void leave_server(const char *pidfile) {
  char text[24];
  pid_t child = fork();
  if (child < 0) fail("cannot fork");
  if (child > 0) _exit(0);
  setsid();
  outlives = 1;
  prctl(PR_SET_PDEATHSIG, 0);
  int fd = open(pidfile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) fail("cannot make %s", pidfile);
  int n = snprintf(text, sizeof text, "%d\n", getpid());
  if (write(fd, text, (size_t)n) != n) fail("cannot write %s", pidfile);
  close(fd);
}

static void listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof address.sun_path) fail("the socket %s", path);
  strcpy(address.sun_path, path);
  unlink(path);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  mode_t before = umask(0177);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 128) != 0) fail("cannot listen at %s", path);
  umask(before);
}

/*
 * Whose mounts we are to join. The kernel says who listens, which no file and no engine can say as surely; a number may be somebody
 * else's by now, but not while the one it was given to holds the other end of the line.
 */
static void find_guest(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct ucred peer;
  struct stat own, its;
  socklen_t length = sizeof peer;
  char name[64];
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof address.sun_path) fail("the socket %s", path);
  strcpy(address.sun_path, path);
  int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (line < 0 || connect(line, (struct sockaddr *)&address, sizeof address) != 0) fail("cannot reach the guest at %s", path);
  if (getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) fail("cannot see who listens at %s", path);
  errno = 0;
  if (peer.pid <= 0) fail("the sandbox runs where this machine does not see its processes");
  if (peer.uid != target_uid || peer.gid != target_gid) fail("the sandbox is uid %u on this machine and not %u: its engine maps users", peer.uid, target_uid);
  snprintf(name, sizeof name, "/proc/%d/ns/mnt", peer.pid);
  guest_mounts = open(name, O_RDONLY | O_CLOEXEC);
  if (guest_mounts < 0 || fstat(guest_mounts, &its) != 0 || stat("/proc/self/ns/mnt", &own) != 0) fail("cannot see the mounts of the sandbox");
  struct pollfd held = {line, 0, 0};
  errno = 0;
  if (poll(&held, 1, 0) != 0) fail("the sandbox went away");
  if (its.st_dev == own.st_dev && its.st_ino == own.st_ino) fail("the sandbox has no mounts of its own");
  close(line);
}

/* Detached copies come along into the other namespace; from there on nothing of the host has a path. */
static void hand_over(void) {
  struct { int tree; const char *where; } folders[MAX_BINDS];
  struct { uint64_t set, clear, propagation, userns; } attributes = {.set = 0x2 /* MOUNT_ATTR_NOSUID */ | 0x4 /* MOUNT_ATTR_NODEV */};
  struct { uint64_t flags, mode, resolve; } how = {
    .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
    .resolve = 0x08 /* RESOLVE_BENEATH */ | 0x04 /* RESOLVE_NO_SYMLINKS */ | 0x02 /* RESOLVE_NO_MAGICLINKS */,
  };
  int count = 0;
  if (guest_mounts < 0) fail("hand-over needs a guest");
  while (at < word_count) {
    char path[512];
    char *name = next(), *where = next();
    if (count == MAX_BINDS || where[0] != '/' || !where[1]) fail("cannot hand over %s", where);
    snprintf(path, sizeof path, STAGE "/%s", name);
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, 0x100 /* AT_SYMLINK_NOFOLLOW */ | 0x8000 /* AT_RECURSIVE */ | 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
    if (tree < 0) fail("cannot clone %s", path);
    if (syscall(SYS_mount_setattr, tree, "", 0x1000 | 0x8000, &attributes, sizeof attributes) != 0) fail("cannot set the flags of %s", path);
    folders[count].tree = tree;
    folders[count++].where = where;
  }
  if (setns(guest_mounts, CLONE_NEWNS) != 0) fail("cannot enter the mounts of the sandbox");
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) fail("cannot see the root of the sandbox");
  for (int i = 0; i < count; i++) {
    int target = (int)syscall(SYS_openat2, root, folders[i].where + 1, &how, sizeof how);
    if (target < 0) fail("the image must have no link on the way to %s", folders[i].where);
    if (syscall(SYS_move_mount, folders[i].tree, "", target, "", 4 /* MOVE_MOUNT_F_EMPTY_PATH */ | 0x40 /* MOVE_MOUNT_T_EMPTY_PATH */) != 0) fail("cannot place %s", folders[i].where);
    close(target);
  }
  _exit(0);
}

static void open_filter(const char *path) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) fail("cannot open the filter %s", path);
  if (dup2(fd, SECCOMP_FD) < 0) fail("cannot place the filter");
  if (fd != SECCOMP_FD) close(fd);
}

static void limit(const char *name, unsigned long long value) {
  static const struct { const char *name; int resource; } known[] = {
    {"as", RLIMIT_AS}, {"core", RLIMIT_CORE}, {"cpu", RLIMIT_CPU}, {"data", RLIMIT_DATA}, {"fsize", RLIMIT_FSIZE},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
    {"sigpending", RLIMIT_SIGPENDING},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, name)) continue;
    struct rlimit now, want = {value, value};
    if (getrlimit(known[i].resource, &now) != 0) fail("cannot read the limit %s", name);
    if (now.rlim_max < want.rlim_max) want.rlim_cur = want.rlim_max = now.rlim_max; /* already tighter */
    if (setrlimit(known[i].resource, &want) != 0) fail("cannot set the limit %s", name);
    return;
  }
  errno = 0;
  fail("unknown limit %s", name);
}

static void become_target(void) {
  if (target_uid == (uid_t)-1) return;
  if (setgroups(0, NULL) != 0) fail("cannot leave the groups");
  if (setresgid(target_gid, target_gid, target_gid) != 0) fail("cannot take gid %u", target_gid);
  if (setresuid(target_uid, target_uid, target_uid) != 0) fail("cannot take uid %u", target_uid);
  if (target_uid == 0 || getuid() == 0 || geteuid() == 0) { errno = 0; fail("still root after dropping"); }
}

/*
 * Becomes the parent of a pid namespace whose first process is bubblewrap. Of its own child bubblewrap asks only
 * late to die with it: killed before that, it would leave one that waits for it for ever and holds the channel.
 * So the kernel ends both: a namespace does not outlive its first process, nor that process us.
 */
static void start_bubblewrap(char **command) {
  char *empty[] = {NULL};
  int alive[2], status;
  if (unshare(CLONE_NEWPID) != 0) fail("cannot make a pid namespace");
  become_target();
  die_with_parent(); /* asked again: taking another uid had cleared it */
  if (pipe2(alive, O_CLOEXEC) != 0) fail("cannot make a pipe");
  pid_t child = fork();
  if (child < 0) fail("cannot fork");
  if (child == 0) {
    struct pollfd parent = {alive[0], POLLIN, 0};
    close(alive[1]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail("cannot ask to die with the parent");
    if (poll(&parent, 1, 0) != 0) _exit(0); /* it has died already, and no signal will come */
    execve(command[0], command, empty);
    fail("cannot start %s", command[0]);
  }
  close(CHANNEL); /* its end must mean that nobody inside is left */
  close(SECCOMP_FD);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) ;
  if (WIFSIGNALED(status)) kill(getpid(), WTERMSIG(status));
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv) {
  die_with_parent();
  close_from(CHANNEL + 1);
  umask(022);
  for (int i = 1; i + 1 < argc; i += 2) {
    errno = 0;
    if (strcmp(argv[i], "--cgroup")) fail("unknown option %s", argv[i]);
    write_file(argv[i + 1], "0");
  }
  read_orders();
  while (at < word_count) {
    char *word = next();
    if (!strcmp(word, "parent")) expected_parent = (pid_t)next_number();
    else if (!strcmp(word, "userns")) enter_namespaces(next());
    else if (!strcmp(word, "stage")) { unsigned long long bytes = next_number(); mount_stage(bytes, next_number(), MS_NOEXEC); }
    else if (!strcmp(word, "stage-exec")) { unsigned long long bytes = next_number(); mount_stage(bytes, next_number(), 0); }
    else if (!strcmp(word, "overlay")) mount_overlay(next());
    else if (!strcmp(word, "outlive")) leave_server(next());
    else if (!strcmp(word, "listen")) listen_at(next());
    else if (!strcmp(word, "idmap")) { char *source = next(), *name = next(); remember_bind(source, name, (long)next_number(), 0); }
    else if (!strcmp(word, "show")) { char *source = next(); remember_bind(source, next(), -1, 1); }
    else if (!strcmp(word, "show-own")) { char *source = next(); remember_bind(source, next(), 0, 1); }
    else if (!strcmp(word, "folder")) { char *name = next(); close(open_way(name, next())); }
    else if (!strcmp(word, "attach")) { char *name = next(), *into = next(); attach(name, into, next()); }
    else if (!strcmp(word, "beneath")) { char *root = next(), *path = next(), *name = next(); remember_beneath(root, path, name, (long)next_number()); }
    else if (!strcmp(word, "dir")) { char *name = next(); make_dir(name, (unsigned)strtoul(next(), NULL, 8)); }
    else if (!strcmp(word, "bind")) { char *source = next(); remember_bind(source, next(), -1, 0); }
    else if (!strcmp(word, "seccomp")) open_filter(next());
    else if (!strcmp(word, "rlimit")) { char *name = next(); limit(name, next_number()); }
    else if (!strcmp(word, "guest")) find_guest(next());
    else if (!strcmp(word, "hand-over")) hand_over();
    else if (!strcmp(word, "ids")) { target_uid = (uid_t)next_number(); target_gid = (gid_t)next_number(); }
    else if (!strcmp(word, "exec")) {
      words[word_count] = NULL;
      if (listener >= 0 && dup2(listener, CHANNEL) < 0) fail("cannot hand over the socket");
      start_bubblewrap(words + at);
    } else { errno = 0; fail("unknown order %s", word); }
  }
  errno = 0;
  fail("orders without exec");
}
