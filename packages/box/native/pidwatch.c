/*
 * pidwatch: tells pulse the moment a process ends that is not its child.
 *
 * Node has no way to wait for such a process but to look again and again; the kernel has one, a
 * descriptor of the process. It costs nothing while nothing happens.
 *
 *   stdin   watch PID START     START as the 22nd field of /proc/PID/stat says it
 *           forget PID
 *   stdout  ready               once, when the kernel can do this
 *           missing REASON      once, when it cannot; then it ends
 *           gone PID START [HOW]  it ended, or was not there: a PID with another START is another process;
 *                               HOW is its status as wait(2) gives it, where that can be known: while it
 *                               waits for its parent, and later where the kernel tells strangers (6.15)
 *           blind PID START     it cannot be watched (too many descriptors): the caller must look
 *
 * It ends with its stdin, and so with pulse.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* As the kernel has it; headers of older systems do not. */
struct info {
  uint64_t mask, cgroup;
  uint32_t pid, tgid, ppid, ids[8];
  int32_t exit_code;
};
#define GET_INFO _IOWR(0xFF, 11, struct info)
#define INFO_EXIT (1ULL << 3)

struct watched {
  int fd;
  int pid;
  unsigned long long start;
};

static struct watched *list;
static size_t count, room;
static int poller;

static void say(const char *what, int pid, unsigned long long start) {
  char line[64];
  int length = snprintf(line, sizeof line, "%s %d %llu\n", what, pid, start);
  /* Nobody reads any more: pulse is gone. */
  if (write(1, line, (size_t)length) != length) _exit(0);
}

static void say_gone(int pid, unsigned long long start, int how) {
  char line[80];
  int length = snprintf(line, sizeof line, "gone %d %llu %d\n", pid, start, how);
  if (write(1, line, (size_t)length) != length) _exit(0);
}

/* 0 when there is no such process. Its status stands last in the line once it has ended. */
static unsigned long long start_of(int pid, char *state, int *how) {
  char path[32], text[1024], *at;
  unsigned long long start;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  /* The name in parentheses may hold anything: fields count from the last one. */
  at = strrchr(text, ')');
  if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", state, &start) != 2) return 0;
  if (how) *how = atoi(strrchr(text, ' ') + 1);
  return start;
}

static int has_ended(char state) { return state == 'Z' || state == 'X'; }

static struct watched *find(int pid) {
  for (size_t i = 0; i < count; i++)
    if (list[i].pid == pid) return &list[i];
  return NULL;
}

static void drop(struct watched *one) {
  close(one->fd); /* leaves the poller too */
  *one = list[--count];
}

static void watch(int pid, unsigned long long start) {
  struct watched *known = find(pid);
  if (known && known->start == start) return;
  if (known) drop(known);
  if (count == room) {
    size_t more = room ? room * 2 : 64;
    struct watched *grown = realloc(list, more * sizeof *list);
    if (!grown) {
      say("blind", pid, start);
      return;
    }
    list = grown;
    room = more;
  }
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0) {
    say(errno == ESRCH || errno == EINVAL ? "gone" : "blind", pid, start);
    return;
  }
  /* Looked at after it was opened: whoever this descriptor means now, it means for good. */
  char state;
  int how;
  int is_it = start_of(pid, &state, &how) == start;
  if (!is_it || has_ended(state)) {
    close(fd);
    if (is_it) say_gone(pid, start, how);
    else say("gone", pid, start);
    return;
  }
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = (unsigned long long)(unsigned)pid};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) {
    close(fd);
    say("blind", pid, start);
    return;
  }
  list[count++] = (struct watched){.fd = fd, .pid = pid, .start = start};
}

/* Once the parent has heard of it there is no line any more; newer kernels tell by the descriptor then. */
static int ending_of(const struct watched *one, int *how) {
  struct info info = {.mask = INFO_EXIT};
  char state;
  if (start_of(one->pid, &state, how) == one->start && has_ended(state)) return 1;
  if (ioctl(one->fd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT)) return 0;
  *how = info.exit_code;
  return 1;
}

static void ended(struct watched *one) {
  int how;
  if (ending_of(one, &how)) say_gone(one->pid, one->start, how);
  else say("gone", one->pid, one->start);
  drop(one);
}

static void obey(const char *line) {
  int pid;
  unsigned long long start;
  if (sscanf(line, "watch %d %llu", &pid, &start) == 2) watch(pid, start);
  else if (sscanf(line, "forget %d", &pid) == 1) {
    struct watched *known = find(pid);
    if (known) drop(known);
  }
}

static char pending[4096];
static size_t held;

static void read_orders(void) {
  ssize_t length = read(0, pending + held, sizeof pending - 1 - held);
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (length <= 0) _exit(0);
  held += (size_t)length;
  pending[held] = 0;
  char *from = pending, *end;
  while ((end = strchr(from, '\n'))) {
    *end = 0;
    obey(from);
    from = end + 1;
  }
  held -= (size_t)(from - pending);
  if (held == sizeof pending - 1) _exit(2); /* no order is that long */
  memmove(pending, from, held);
}

int main(void) {
  struct rlimit limit;
  struct epoll_event events[64], input = {.events = EPOLLIN, .data.u64 = 0};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  poller = epoll_create1(EPOLL_CLOEXEC);
  if (self < 0 || poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, 0, &input) != 0) {
    printf("missing %s\n", strerror(errno));
    return 0;
  }
  close(self);
  if (write(1, "ready\n", 6) != 6) return 0;
  for (;;) {
    int ready = epoll_wait(poller, events, 64, -1);
    if (ready < 0 && errno != EINTR) return 1;
    for (int i = 0; i < ready; i++) {
      if (events[i].data.u64 == 0) {
        read_orders();
        continue;
      }
      struct watched *one = find((int)events[i].data.u64);
      if (one) ended(one);
    }
  }
}
