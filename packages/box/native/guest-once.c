/*
 * A one-shot run: files in, one program, everything ended, files out.
 *
 *   host -> guest
 *     F  u32 mode, path, bytes      make a file (and its folders; only those when the path ends with /)
 *     A  path, bytes                append to it
 *     X  u64 log cap, u32 argc, argv…, u32 envc, env…, cwd              start a program; stdin is empty
 *     P  u32 argc, argv…, u32 envc, env…, cwd                           start one ahead of its job: descriptor 3 is its line to us
 *     G  u64 log cap, u32 envc, env…                                    the job of the one that waits; from here on it is as with X
 *     K  u32 signal                 signal the program's session; 9 ends everything in the sandbox
 *     C  u32 max files, u64 max bytes, u64 max bytes per file, root    once the program has ended: end everything, send files below root
 *   guest -> host
 *     R  in a nest: its turn        ready
 *     W                             the one that was started ahead waits for its job
 *     O, E  bytes                   stdout, stderr (up to the cap, the rest is dropped here)
 *     T  u64 dropped bytes          how much was dropped, once, before Q
 *     Q  i32 code, i32 signal, u64 user µs, u64 system µs, u64 peak kB  the program ended
 *     N  u8 kind, u64 size, path    an entry: f file (D frames follow), x too large, l link, p fifo, s socket, d device, ! unreadable
 *     D  bytes                      Z  u8 why: 0 complete, 1 too many, 2 too large
 *     !  u32 errno, text            a request failed
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 32

static struct {
  pid_t pid;
  uint32_t id;
  int out, err;
  uint64_t cap, sent, dropped;
  uint64_t spent; /* µs of processor time before its job came */
} program = {.pid = 0, .out = -1, .err = -1};

/* Started ahead: its pipes are read once its job has come. */
static struct waiting waiter = {.pid = 0, .out = -1, .err = -1, .line = -1};
static int waiter_ready;

/* Asked for while the program runs, so that its end and its files come in one go. */
static struct { int asked; uint32_t id; struct reader request; unsigned char *bytes; } collection;

/* In a nest: what comes after the files is the next run. The turn proves to the host that this run is the one its parent has announced. */
static const char *turn;

/* What is left is dying: nobody waits for it any more. */
static int ending;

static unsigned char chunk[CHUNK];
static int signals;

/* ---- what the host is told: together, so that it is woken once for what belongs together ---- */

static unsigned char told[2 * CHUNK];
static size_t told_bytes;

static void say(void) {
  if (told_bytes) send_bytes(CHANNEL, told, told_bytes);
  told_bytes = 0;
}

static void tell(char type, uint32_t id, const void *payload, uint32_t length) {
  if (told_bytes + HEADER + length > sizeof told) say();
  told_bytes += frame_head(told + told_bytes, type, id, length);
  if (length) memcpy(told + told_bytes, payload, length);
  told_bytes += length;
}

#define refuse(...) do { say(); complain(CHANNEL, __VA_ARGS__); } while (0)

/* ---- files in ---- */

static void make_parents(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755); /* it may exist; if it could not be made, opening the file says so */
    *slash = '/';
  }
}

static void write_bytes(uint32_t id, const char *path, int fd, struct reader *r) {
  while (fd >= 0 && r->at < r->end) {
    ssize_t n = write(fd, r->at, (size_t)(r->end - r->at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) { refuse(id, "cannot write %s", path); break; }
    r->at += n;
  }
  if (fd >= 0) close(fd);
}

static void make_file(uint32_t id, struct reader r) {
  mode_t mode = get32(&r) & 0777;
  char *path = get_string(&r);
  if (r.bad) { errno = 0; refuse(id, "bad file request"); return; }
  make_parents(path);
  if (*path && path[strlen(path) - 1] == '/') return;
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) { refuse(id, "cannot make %s", path); return; }
  write_bytes(id, path, fd, &r);
}

static void append_file(uint32_t id, struct reader r) {
  char *path = get_string(&r);
  if (r.bad) { errno = 0; refuse(id, "bad file request"); return; }
  int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) { refuse(id, "cannot append to %s", path); return; }
  write_bytes(id, path, fd, &r);
}

/* ---- programs ---- */

static void start_program(uint32_t id, struct reader r) {
  int out[2], err[2];
  uint64_t cap = get64(&r);
  char **argv = get_strings(&r), **env = get_strings(&r), *cwd = get_string(&r);
  errno = 0;
  if (r.bad || !argv[0]) refuse(id, "bad start request");
  else if (program.pid) refuse(id, "a program is running");
  else if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) refuse(id, "cannot make pipes");
  else {
    pid_t pid = fork();
    if (pid == 0) { setsid(); become_program(argv, env, cwd, open("/dev/null", O_RDONLY), out[1], err[1]); }
    close(out[1]);
    close(err[1]);
    if (pid < 0) refuse(id, "cannot fork");
    else {
      program.pid = pid;
      program.id = id;
      program.cap = cap;
      program.out = out[0];
      program.err = err[0];
      fcntl(program.out, F_SETFL, O_NONBLOCK);
      fcntl(program.err, F_SETFL, O_NONBLOCK);
    }
  }
  free(argv);
  free(env);
}

pid_t fork_waiting(struct waiting *program) {
  int out[2], err[2], line[2];
  if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line)) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    *program = (struct waiting){0, out[1], err[1], line[1]};
    return 0;
  }
  *program = (struct waiting){pid, out[0], err[0], line[0]};
  close(out[1]);
  close(err[1]);
  close(line[1]);
  return pid;
}

static void prepare_program(uint32_t id, struct reader r) {
  char **argv = get_strings(&r), **env = get_strings(&r), *cwd = get_string(&r);
  errno = 0;
  if (r.bad || !argv[0]) refuse(id, "bad prepare request");
  else if (program.pid || waiter.pid) refuse(id, "a program is there already");
  else {
    pid_t pid = fork_waiting(&waiter);
    if (pid == 0) become_waiter(argv, env, cwd, open("/dev/null", O_RDONLY), waiter.out, waiter.err, waiter.line);
    if (pid < 0) { waiter.pid = 0; refuse(id, "cannot start a program ahead"); }
  }
  free(argv);
  free(env);
}

/* It has said that it waits, or it has closed its line without a word; how it ended comes by its exit then. */
static void hear_waiter(void) {
  char byte;
  if (read(waiter.line, &byte, 1) != 1) { close(waiter.line); waiter.line = -1; return; }
  waiter_ready = 1;
  kill(-1, SIGSTOP); /* what it was asked to import may have started something: nothing runs until there is a job */
  tell('W', 0, NULL, 0);
}

static uint64_t processor_time(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void hand_over(uint32_t id, struct reader r) {
  uint64_t cap = get64(&r);
  unsigned char head[4];
  const unsigned char *env = r.at + 4;
  errno = 0;
  if (r.bad || r.end < env) { refuse(id, "bad job"); return; }
  if (!waiter_ready) { refuse(id, "nobody waits for a job"); return; }
  kill(-1, SIGCONT);
  program.pid = waiter.pid;
  program.id = id;
  program.cap = cap;
  program.out = waiter.out;
  program.err = waiter.err;
  program.spent = processor_time(waiter.pid);
  fcntl(program.out, F_SETFL, O_NONBLOCK);
  fcntl(program.err, F_SETFL, O_NONBLOCK);
  put32(head, (uint32_t)(r.end - env));
  /* Should it be gone already, its exit tells. */
  if (send(waiter.line, head, 4, MSG_NOSIGNAL) == 4)
    for (const unsigned char *at = env; at < r.end;) {
      ssize_t n = send(waiter.line, at, (size_t)(r.end - at), MSG_NOSIGNAL);
      if (n <= 0) break;
      at += n;
    }
  close(waiter.line);
  waiter.pid = 0;
  waiter.line = waiter.out = waiter.err = -1;
  waiter_ready = 0;
}

/* Returns 0 when there is nothing more for now, -1 when the pipe is finished. */
static int forward_once(int fd, char type) {
  ssize_t n = read(fd, chunk, CHUNK);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  if (n == 0) return -1;
  uint64_t room = program.cap - program.sent;
  uint64_t take = (uint64_t)n < room ? (uint64_t)n : room;
  if (take) tell(type, program.id, chunk, (uint32_t)take);
  program.sent += take;
  program.dropped += (uint64_t)n - take;
  return 1;
}

static void drain(int *fd, char type) {
  if (*fd < 0) return;
  /* Bounded: every writer is dead, so at most one pipe's capacity is left. */
  for (int i = 0; i < 64 && forward_once(*fd, type) > 0; i++) ;
  close(*fd);
  *fd = -1;
}

static void end_everything(void) {
  kill(-1, SIGKILL);
  for (;;) {
    pid_t pid = waitpid(-1, NULL, 0);
    if (pid > 0 || (pid < 0 && errno == EINTR)) { kill(-1, SIGKILL); continue; }
    return; /* ECHILD: nobody is left */
  }
}

static uint64_t micros(struct timeval t) { return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec; }

static void tell_end(int code, int signal, uint64_t user, uint64_t system, uint64_t peak) {
  unsigned char payload[32];
  drain(&program.out, 'O');
  drain(&program.err, 'E');
  if (program.dropped) {
    put64(payload, program.dropped);
    tell('T', program.id, payload, 8);
  }
  put32(payload, (uint32_t)code);
  put32(payload + 4, (uint32_t)signal);
  put64(payload + 8, user - (program.spent < user ? program.spent : user));
  put64(payload + 16, system);
  put64(payload + 24, peak);
  tell('Q', program.id, payload, 32);
  program.pid = 0;
}

static void report_exit(int status) {
  struct rusage used;
  end_everything();
  getrusage(RUSAGE_CHILDREN, &used);
  tell_end(WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0, micros(used.ru_utime),
           micros(used.ru_stime), (uint64_t)used.ru_maxrss);
}

/* ---- in a nest: ends that are told before they happen (include/uapi/linux/seccomp.h) ---- */

struct notice { uint64_t id; uint32_t pid, flags; int32_t call; uint32_t architecture; uint64_t at, arguments[6]; };
struct answer { uint64_t id; int64_t value; int32_t error; uint32_t flags; };
#define TAKE_NOTICE 0xc0502100u
#define GIVE_ANSWER 0xc0182101u
#define GO_ON 1

static size_t read_proc(pid_t pid, const char *name, char *into, size_t size) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, into, size - 1);
  if (fd >= 0) close(fd);
  into[n < 0 ? 0 : n] = 0;
  return n < 0 ? 0 : (size_t)n;
}

/* Whether it has ever waited for a child: what that one used is only added up once the program itself has ended. */
static int had_children(void) {
  char text[1024];
  unsigned long faults = 1, hard = 1;
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  char *name_end = read_proc(program.pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
  if (!name_end || sscanf(name_end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %lu %*u %lu", &faults, &hard) != 2) return 1;
  return faults || hard || used.ru_minflt || used.ru_majflt;
}

static int is_alone(void) {
  DIR *processes = opendir("/proc");
  int others = !processes;
  for (struct dirent *entry; processes && !others && (entry = readdir(processes));) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    others = pid > 1 && pid != program.pid;
  }
  if (processes) closedir(processes);
  return !others;
}

static uint64_t peak_of(pid_t pid) {
  char text[4096];
  char *line = read_proc(pid, "status", text, sizeof text) ? strstr(text, "\nVmHWM:") : NULL;
  return line ? strtoull(line + 7, NULL, 10) : 0;
}

/* The program wants to end, and nobody else is there: that is its end. All others go on to theirs. */
static void hear_end(void) {
  struct notice notice = {0};
  struct answer answer = {.flags = GO_ON};
  if (ioctl(ends, TAKE_NOTICE, &notice) != 0) return; /* it was ended meanwhile */
  if (program.pid && notice.pid == (uint32_t)program.pid && is_alone() && !had_children()) {
    uint64_t peak = peak_of(program.pid), spent = processor_time(program.pid);
    ending = 1;
    kill(-1, SIGKILL);
    tell_end((int)(notice.arguments[0] & 0xff), 0, spent, 0, peak);
    return;
  }
  answer.id = notice.id;
  ioctl(ends, GIVE_ANSWER, &answer); /* or it was ended meanwhile */
}

static void reap(void) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) > 0) ;
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (pid == program.pid) { report_exit(status); return; }
    if (pid == waiter.pid) { errno = 0; refuse(0, "the program ended before its job came"); return; }
  }
}

/* ---- files out ---- */

struct budget { uint32_t id, files; uint64_t bytes, per_file; int why; };

static void announce(struct budget *b, char kind, uint64_t size, const char *path) {
  unsigned char payload[PATH_MAX + 16];
  size_t length = strlen(path);
  payload[0] = (unsigned char)kind;
  put64(payload + 1, size);
  memcpy(payload + 9, path, length + 1);
  tell('N', b->id, payload, (uint32_t)(length + 10));
}

static char kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return 'l';
  if (S_ISFIFO(mode)) return 'p';
  if (S_ISSOCK(mode)) return 's';
  return 'd';
}

/* What is left behind counts as well: the names alone could flood the host. */
static void announce_left(struct budget *b, char kind, const char *path) {
  if (b->files == 0) b->why = 1;
  else { b->files--; announce(b, kind, 0, path); }
}

static void send_file(struct budget *b, int dir, const char *name, const char *path) {
  struct stat info;
  int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    announce_left(b, '!', path);
    if (fd >= 0) close(fd);
    return;
  }
  uint64_t size = (uint64_t)info.st_size, left = size;
  if (b->files == 0) b->why = 1;
  else if (size > b->bytes || size > b->per_file) { b->why = 2; announce(b, 'x', size, path); }
  if (b->why) { close(fd); return; }
  b->files--;
  b->bytes -= size;
  announce(b, 'f', size, path);
  while (left > 0) {
    ssize_t n = read(fd, chunk, left < CHUNK ? (size_t)left : CHUNK);
    if (n <= 0) break;
    tell('D', b->id, chunk, (uint32_t)n);
    left -= (uint64_t)n;
  }
  close(fd);
}

static void send_tree(struct budget *b, int dir, const char *prefix, int depth) {
  DIR *stream = fdopendir(dir);
  if (!stream) { close(dir); return; }
  for (struct dirent *entry; !b->why && (entry = readdir(stream));) {
    char path[PATH_MAX];
    struct stat info;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    int n = snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "/" : "", entry->d_name);
    if (n < 0 || (size_t)n >= sizeof path) { b->why = 1; break; }
    if (fstatat(dir, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) announce_left(b, '!', path);
    else if (S_ISREG(info.st_mode)) send_file(b, dir, entry->d_name, path);
    /* The one place where a folder is wrong: the host must hear of it, even when it is empty. */
    else if (!S_ISDIR(info.st_mode) || (depth == 0 && !strcmp(path, "output.json"))) announce_left(b, kind_of(info.st_mode), path);
    else {
      int child = depth < MAX_DEPTH ? openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
      if (child < 0) announce_left(b, '!', path);
      else send_tree(b, child, path, depth + 1);
    }
  }
  closedir(stream);
}

static void collect_later(uint32_t id, struct reader r) {
  size_t length = (size_t)(r.end - r.at);
  errno = 0;
  if (collection.asked) { refuse(id, "files were asked for already"); return; }
  collection.bytes = malloc(length);
  if (!collection.bytes) leave(1);
  memcpy(collection.bytes, r.at, length);
  collection.request = (struct reader){collection.bytes, collection.bytes + length, 0};
  collection.id = id;
  collection.asked = 1;
}

static void collect(uint32_t id, struct reader r) {
  struct budget b = {.id = id, .files = get32(&r), .bytes = get64(&r), .per_file = get64(&r)};
  char *root = get_string(&r);
  unsigned char why;
  errno = 0;
  if (r.bad) { refuse(id, "bad collect request"); return; }
  if (!ending) end_everything();
  int dir = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (dir >= 0) send_tree(&b, dir, "", 0);
  why = (unsigned char)b.why;
  tell('Z', id, &why, 1);
  if (!turn) return;
  say();
  leave(NEXT_PLEASE);
}

/* ---- the loop ---- */

static void handle(char type, uint32_t id, struct reader r) {
  if (type == 'F') make_file(id, r);
  else if (type == 'A') append_file(id, r);
  else if (type == 'X') start_program(id, r);
  else if (type == 'P') prepare_program(id, r);
  else if (type == 'G') hand_over(id, r);
  else if (type == 'C') { if (program.pid) collect_later(id, r); else collect(id, r); }
  else if (type == 'K') {
    int signal = (int)get32(&r);
    if (signal == SIGKILL) kill(-1, SIGKILL);
    else if (program.pid > 1) kill(-program.pid, signal);
  } else { errno = 0; refuse(id, "unknown request"); }
}

/* 1 when there may be more, 0 when there is nothing for now, -1 when the host is gone. Never reads past a request: in a nest what follows is the next run's. */
static int read_request(void) {
  static unsigned char *buffer;
  static size_t have;
  uint32_t length = 0, id;
  if (!buffer && !(buffer = malloc(HEADER + MAX_FRAME))) leave(1);
  if (have >= HEADER) memcpy(&length, buffer, 4);
  ssize_t n = recv(CHANNEL, buffer + have, HEADER + length - have, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN ? 0 : errno == EINTR ? 1 : -1;
  if (n == 0) return -1;
  have += (size_t)n;
  if (have < HEADER) return 1;
  memcpy(&length, buffer, 4);
  memcpy(&id, buffer + 5, 4);
  if (length > MAX_FRAME) leave(1);
  if (have < HEADER + (size_t)length) return 1;
  have = 0;
  handle((char)buffer[4], id, (struct reader){buffer + HEADER, buffer + HEADER + length, 0});
  return 1;
}

static int read_requests(void) {
  for (int i = 0; i < 64; i++) {
    int result = read_request();
    if (result <= 0) return result;
  }
  return 1;
}

void serve_nested(struct waiting given, const char *announced) {
  turn = announced;
  waiter = given;
  serve_once();
}

void serve_once(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) leave(1);
  tell('R', 0, turn, turn ? (uint32_t)strlen(turn) : 0);
  say();
  for (;;) {
    struct pollfd fds[] = {{CHANNEL, POLLIN, 0}, {signals, POLLIN, 0}, {program.out, POLLIN, 0}, {program.err, POLLIN, 0},
                           {waiter_ready ? -1 : waiter.line, POLLIN, 0}, {ends, POLLIN, 0}};
    if (poll(fds, 6, -1) < 0 && errno != EINTR) leave(1);
    if (fds[2].revents && forward_once(program.out, 'O') < 0) { close(program.out); program.out = -1; }
    if (fds[3].revents && forward_once(program.err, 'E') < 0) { close(program.err); program.err = -1; }
    if (fds[4].revents) hear_waiter();
    if (fds[5].revents & POLLIN) hear_end();
    if (fds[1].revents) reap();
    if (collection.asked && !program.pid) { collection.asked = 0; collect(collection.id, collection.request); free(collection.bytes); }
    if (fds[0].revents && read_requests() < 0) leave(0);
    say();
  }
}
