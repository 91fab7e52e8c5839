/*
 * The parent of one-shot runs: each is cloned into namespaces, limits and a filter of its own, runs once, and is gone before the
 * next. The parent runs no code of a skill and holds nothing of a job; it never reads the channel again once runs have begun.
 *
 * It is `guest --nest`, or an interpreter that has started and calls nest_next(), so that every run begins with a copy of it.
 *
 *   host -> nest
 *     B  u32 argc, argv…, u32 envc, env…, cwd     become an interpreter, which opens the nest itself
 *     N  u64 bytes, u64 inodes of the work area, u32 count, what stays visible below /sandbox…, u32 count, files of /proc to hide…,
 *        u32 count, folders of /proc to hide…, filter                       then runs begin; each is served as in guest-once.c
 *
 * Before each run the parent draws its turn, and tells it on descriptor 2, which no run holds: a first process that has fallen to
 * what it runs cannot pose as the next run.
 *
 * The sandbox around it shows, below /sandbox, what every run sees there read-only, and in /sandbox/.hidden a file and a folder
 * that cover what nobody should read.
 */
#define _GNU_SOURCE
#include "guest.h"

#if __has_include(<execinfo.h>)
#include <dlfcn.h>
#include <execinfo.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the kernel's own headers, which a small C library comes without. */
struct instruction { uint16_t code; uint8_t jt, jf; uint32_t k; };
struct program_text { unsigned short length; struct instruction *filter; };
struct capability_header { uint32_t version; int pid; };
struct capability_sets { uint32_t effective, permitted, inheritable; };
#define CAPABILITY_VERSION_3 0x20080522
#define SET_MODE_FILTER 1
#define NEW_LISTENER 8
#define LOAD 0x20
#define IS_EQUAL 0x15
#define ANSWER 0x06
#define ASK_LISTENER 0x7fc00000u
#if defined(__x86_64__)
#define ARCHITECTURE 0xc000003eu
#elif defined(__aarch64__)
#define ARCHITECTURE 0xc00000b7u
#endif

#define MAX_SHOWN 8
#define TURN_MARK '\6'
#define COVER_FILE "/sandbox/.hidden/file"
#define COVER_FOLDER "/sandbox/.hidden/folder"
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static struct {
  unsigned long long bytes, inodes;
  char **shown, **files, **folders;
  struct program_text filter;
  struct program_text telling; /* the same, and it tells of ends; of length 0 where that is not known for this machine */
} nest;

static void give_up(const char *what) {
  complain(CHANNEL, 0, "%s", what);
  leave(1);
}

static void must(int result, const char *what) {
  if (result < 0) give_up(what);
}

static void write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd, path);
  if (write(fd, text, strlen(text)) < 0) give_up(path);
  close(fd);
}

static void keep_ids(uid_t uid, gid_t gid) {
  char map[48];
  must(prctl(PR_SET_DUMPABLE, 1), "cannot show itself"); /* else these files are not its own; it is alone so far */
  write_text("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", uid, uid);
  write_text("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1", gid, gid);
  write_text("/proc/self/gid_map", map);
  must(prctl(PR_SET_DUMPABLE, 0), "cannot hide");
}

static void hide_proc(void) {
  unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  /* Not even this namespace's owner makes another below it. */
  write_text("/proc/sys/user/max_user_namespaces", "0");
  /* The one of the nest is covered, and nobody gets below; it is read-only all the same. */
  must(mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL), "cannot make the old /proc read-only");
  must(mount("proc", "/proc", "proc", flags, NULL), "cannot mount /proc");
  for (char **path = nest.files; *path; path++) must(mount(COVER_FILE, *path, NULL, MS_BIND, NULL), *path);
  for (char **path = nest.folders; *path; path++) must(mount(COVER_FOLDER, *path, NULL, MS_BIND, NULL), *path);
  must(mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL), "cannot make /proc read-only");
}

static int take_tree(const char *path) {
  int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
  must(fd, path);
  return fd;
}

static void place_tree(int fd, const char *path) {
  must((int)syscall(SYS_move_mount, fd, "", AT_FDCWD, path, 4 /* MOVE_MOUNT_F_EMPTY_PATH */), path);
  close(fd);
}

/* Terminals of its own: the file system of the nest would be one that a run leaves to the next. Old kernels give none to a uid like this; they keep it read-only. */
static void make_terminals(void) {
  must(mount(NULL, "/dev/pts", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL), "cannot make the old /dev/pts read-only");
  if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620") != 0 && errno != EINVAL && errno != EPERM)
    give_up("cannot mount /dev/pts");
}

static void make_folder(const char *path, mode_t mode) {
  if (mkdir(path, mode) != 0 || chmod(path, mode) != 0) give_up(path);
}

/* One size-limited file system for everything that a run writes, seen at three places. */
static void make_work_area(void) {
  int shown[MAX_SHOWN], count = 0;
  char options[96];
  for (; nest.shown[count]; count++) {
    if (count == MAX_SHOWN) { errno = 0; give_up("too much to show"); }
    shown[count] = take_tree(nest.shown[count]);
  }
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0755", nest.bytes, nest.inodes);
  must(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options), "cannot mount the work area");
  make_folder("/tmp/tmp", 01777);
  make_folder("/tmp/shm", 01777);
  make_folder("/tmp/work", 0755);
  make_folder("/tmp/work/input", 0755);
  make_folder("/tmp/work/out", 0755);
  make_folder("/tmp/work/out/files", 0755);
  must(mount("/tmp/shm", "/dev/shm", NULL, MS_BIND, NULL), "cannot place /dev/shm");
  must(mount("/tmp/work", "/sandbox", NULL, MS_BIND, NULL), "cannot place /sandbox");
  for (int i = 0; i < count; i++) {
    make_folder(nest.shown[i], 0755);
    place_tree(shown[i], nest.shown[i]);
  }
  int tmp = take_tree("/tmp/tmp");
  must(umount2("/tmp", MNT_DETACH), "cannot take the work area away");
  place_tree(tmp, "/tmp");
}

static void raise_loopback(void) {
  struct ifreq request = {.ifr_name = "lo"};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  must(fd, "cannot reach the loopback interface");
  must(ioctl(fd, SIOCGIFFLAGS, &request), "cannot read the loopback interface");
  request.ifr_flags |= IFF_UP;
  must(ioctl(fd, SIOCSIFFLAGS, &request), "cannot raise the loopback interface");
  close(fd);
}

static void drop_everything(void) {
  struct capability_header header = {CAPABILITY_VERSION_3, 0};
  struct capability_sets none[2] = {{0, 0, 0}, {0, 0, 0}};
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++) ;
  must((int)syscall(SYS_capset, &header, none), "cannot drop the capabilities");
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot give up new privileges");
  if (nest.telling.length) ends = (int)syscall(SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER, &nest.telling);
  /* Kernels before 5.0 tell nobody, and where one listens already there is no second: then ends are seen when they have happened. */
  if (ends < 0) must((int)syscall(SYS_seccomp, SET_MODE_FILTER, 0, &nest.filter), "cannot set the filter");
}

/* The first process of a run. */
static void settle(uid_t uid, gid_t gid) {
  must(prctl(PR_SET_PDEATHSIG, SIGKILL), "cannot ask to die with the nest");
  must(setsid(), "cannot leave the session of the nest");
  keep_ids(uid, gid);
  must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "cannot make mounts private");
  hide_proc();
  make_work_area();
  make_terminals();
  raise_loopback();
  must(chdir("/"), "cannot leave the folder of the nest");
  drop_everything();
}

/* Taking a process apart takes longer than most jobs: that it wants to end is told before. */
static void make_telling(void) {
#ifdef ARCHITECTURE
  static const struct instruction first[] = {
    {LOAD, 0, 0, 4}, {IS_EQUAL, 0, 3, ARCHITECTURE}, {LOAD, 0, 0, 0}, {IS_EQUAL, 0, 1, SYS_exit_group}, {ANSWER, 0, 0, ASK_LISTENER},
  };
  size_t count = sizeof first / sizeof *first;
  nest.telling.filter = malloc(sizeof first + nest.filter.length * sizeof *first);
  if (!nest.telling.filter) give_up("no memory for the filter");
  memcpy(nest.telling.filter, first, sizeof first);
  memcpy(nest.telling.filter + count, nest.filter.filter, nest.filter.length * sizeof *first);
  nest.telling.length = (unsigned short)(nest.filter.length + count);
#endif
}

static void read_settings(struct reader r) {
  nest.bytes = get64(&r);
  nest.inodes = get64(&r);
  nest.shown = get_strings(&r);
  nest.files = get_strings(&r);
  nest.folders = get_strings(&r);
  nest.filter.length = (unsigned short)((size_t)(r.end - r.at) / sizeof(struct instruction));
  nest.filter.filter = malloc((size_t)(r.end - r.at) + 1);
  errno = 0;
  if (r.bad || nest.filter.length == 0 || !nest.filter.filter) give_up("bad settings of a nest");
  memcpy(nest.filter.filter, r.at, (size_t)(r.end - r.at));
  make_telling();
}

static char turn[17];

static void announce_turn(void) {
  unsigned char drawn[8];
  char line[20];
  if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) give_up("cannot draw a turn");
  for (size_t i = 0; i < sizeof drawn; i++) snprintf(turn + 2 * i, 3, "%02x", drawn[i]);
  int length = snprintf(line, sizeof line, "%c%s\n", TURN_MARK, turn);
  if (write(2, line, (size_t)length) != length) leave(0); /* the host is gone */
}

static void leave_parent(void) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  must(nothing, "cannot open /dev/null");
  if (dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0) give_up("cannot leave the descriptors of the nest");
  close(nothing);
}

/* Runs one after the other: returns in the first process of each, and never in the parent. */
static void clone_runs(void) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  for (;;) {
    int status;
    announce_turn();
    pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)(NAMESPACES | SIGCHLD), NULL, NULL, NULL, 0UL);
    must(pid, "cannot make the namespaces of a run");
    if (pid == 0) { leave_parent(); settle(uid, gid); return; }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != NEXT_PLEASE) leave(1);
  }
}

static struct reader read_order(char expected, char *type) {
  static unsigned char *buffer;
  struct reader r;
  uint32_t id;
  if (!buffer && !(buffer = malloc(MAX_FRAME))) leave(1);
  if (!read_frame(CHANNEL, buffer, type, &id, &r)) leave(0);
  errno = 0;
  if (expected && *type != expected) give_up("an order out of turn");
  return r;
}

static void become_interpreter(struct reader r) {
  char **argv = get_strings(&r), **env = get_strings(&r), *cwd = get_string(&r);
  errno = 0;
  if (r.bad || !argv[0]) give_up("bad order to become an interpreter");
  /* What it writes before its first run is a complaint: it goes where those of the launcher go. */
  become_waiter(argv, env, cwd, open("/dev/null", O_RDONLY | O_CLOEXEC), 2, 2, CHANNEL);
}

void open_nest(void) {
  char type;
  struct reader r = read_order(0, &type);
  if (type == 'B') become_interpreter(r);
  else if (type != 'N') { errno = 0; give_up("an order out of turn"); }
  read_settings(r);
  clone_runs();
  serve_nested((struct waiting){0, -1, -1, -1}, turn);
}

#if __has_include(<execinfo.h>)
/* Whether the interpreter ends because somebody asked it to end with a code, which only it knows. */
__attribute__((visibility("default"))) int has_exit_code(void);
int has_exit_code(void) {
  void *callers[128];
  int count = backtrace(callers, 128);
  if (count == 128) return 1;
  for (int i = 0; i < count; i++) {
    Dl_info info;
    if (dladdr(callers[i], &info) && info.dli_sname && !strcmp(info.dli_sname, "Py_Exit")) return 1;
  }
  return 0;
}
#endif

/* Called by an interpreter that has started. Returns in the program of a run, once for each: descriptor 3 is its line. */
__attribute__((visibility("default"))) void nest_next(void);
void nest_next(void) {
  struct waiting program;
  char type;
  prctl(PR_SET_DUMPABLE, 0);
  fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);
  read_settings(read_order('N', &type));
  clone_runs();
  pid_t pid = fork_waiting(&program);
  must(pid, "cannot start a program ahead");
  if (pid > 0) {
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL); /* the interpreter's are none of ours */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    serve_nested(program, turn);
  }
  int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || dup2(in, 0) < 0 || dup2(program.out, 1) < 0 || dup2(program.err, 2) < 0 || dup2(program.line, CHANNEL) < 0 || chdir("/sandbox") != 0) leave(126);
  close_from(CHANNEL + 1);
  prctl(PR_SET_DUMPABLE, 1); /* what it sees of itself is what any program sees */
}
