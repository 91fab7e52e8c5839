/*
 * Programs in a living sandbox: they outlive the connection that started them, and the server itself. Their last output
 * and their exit code are kept until the host says that it has them.
 *
 *   host -> guest
 *     P  u32 flags (1 terminal, 2 stdin), u16 columns, u16 rows, argv, env, cwd, tag   start; id is the host's choice
 *     J  u64 after                   join: output after that number, then what comes
 *     I  bytes                       stdin; empty closes it            W  u16 columns, u16 rows   resize
 *     K  u32 signal                  to the program's session; id 0: to everything in the sandbox, and ESRCH for signal 0 when there is nothing
 *     L                              list                               Y   forget an ended program
 *   guest -> host
 *     p  i32 pid                     started, or joined
 *     o e t  u64 number, bytes       stdout, stderr, terminal           m  u64 number   output before it is lost
 *     q  u64 number, i32 code, i32 signal                               it ended, and all its output was sent
 *     l  i32 pid, u8 ended, i32 code, i32 signal, u64 last number, u64 started (ms), argv, cwd, tag   then z
 *     z                              done                               !  u32 errno, text
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROGRAMS 128
#define MAX_CONNECTIONS 256
#define BACKLOG (1024 * 1024)
#define QUEUE_HIGH (512 * 1024)
#define STDIN_HIGH (4 * 1024 * 1024)

struct piece { struct piece *next; uint64_t number; uint32_t length; char type; unsigned char data[]; };

struct program {
  int used;
  uint32_t id;
  pid_t pid;
  int out, err, in, terminal;
  int reaped, code, signal, reported;
  int close_in;
  uint64_t last, started;
  size_t kept;
  struct piece *first, *newest;
  unsigned char *pending;
  size_t pending_length;
  char *cwd, *tag;
  unsigned char *words;
  size_t words_length;
};

struct connection {
  int fd;
  uint32_t joined; /* id of the program, 0 for none */
  unsigned char *in;
  size_t have, room;
  unsigned char *out;
  size_t out_start, out_length, out_room;
  int closing;
};

static struct program programs[MAX_PROGRAMS];
static struct connection connections[MAX_CONNECTIONS];
static int connection_count;
static unsigned char chunk[CHUNK];
static int relay = -1;
static pid_t relay_pid;

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* ---- sending without waiting ---- */

static void enqueue(struct connection *c, const void *data, size_t length) {
  if (c->closing) return;
  if (c->out_start && c->out_start + c->out_length + length > c->out_room) {
    memmove(c->out, c->out + c->out_start, c->out_length);
    c->out_start = 0;
  }
  if (c->out_length + length > c->out_room) {
    size_t room = (c->out_length + length) * 2;
    unsigned char *grown = realloc(c->out, room);
    if (!grown) { c->closing = 1; return; }
    c->out = grown;
    c->out_room = room;
  }
  memcpy(c->out + c->out_start + c->out_length, data, length);
  c->out_length += length;
}

static void push(struct connection *c, char type, uint32_t id, const void *payload, uint32_t length) {
  unsigned char head[HEADER];
  enqueue(c, head, frame_head(head, type, id, length));
  if (length) enqueue(c, payload, length);
}

static void push_piece(struct connection *c, uint32_t id, const struct piece *piece) {
  unsigned char head[HEADER + 8];
  frame_head(head, piece->type, id, piece->length + 8);
  put64(head + HEADER, piece->number);
  enqueue(c, head, sizeof head);
  enqueue(c, piece->data, piece->length);
}

static void refuse(struct connection *c, uint32_t id, int error, const char *text) {
  unsigned char payload[256];
  size_t length = strlen(text);
  if (length > sizeof payload - 4) length = sizeof payload - 4;
  put32(payload, (uint32_t)error);
  memcpy(payload + 4, text, length);
  push(c, '!', id, payload, (uint32_t)length + 4);
}

static void flush(struct connection *c) {
  while (c->out_length) {
    ssize_t n = write(c->fd, c->out + c->out_start, c->out_length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) { c->closing = 1; return; }
    c->out_start += (size_t)n;
    c->out_length -= (size_t)n;
  }
  c->out_start = 0;
  if (c->out_room > 256 * 1024) { free(c->out); c->out = NULL; c->out_room = 0; }
}

/* ---- programs ---- */

static struct program *find(uint32_t id) {
  for (int i = 0; i < MAX_PROGRAMS; i++) if (programs[i].used && programs[i].id == id) return &programs[i];
  return NULL;
}

static void forget(struct program *p) {
  for (struct piece *piece = p->first, *next; piece; piece = next) { next = piece->next; free(piece); }
  free(p->pending);
  free(p->cwd);
  free(p->tag);
  free(p->words);
  memset(p, 0, sizeof *p);
}

/* A free place; when all are taken, that of the program that ended first. */
static struct program *make_place(void) {
  struct program *oldest = NULL;
  for (int i = 0; i < MAX_PROGRAMS; i++) {
    if (!programs[i].used) return &programs[i];
    if (programs[i].reported && (!oldest || programs[i].started < oldest->started)) oldest = &programs[i];
  }
  if (oldest) forget(oldest);
  return oldest;
}

static void keep(struct program *p, char type, const unsigned char *data, size_t length) {
  struct piece *piece = malloc(sizeof *piece + length);
  if (!piece) return;
  piece->next = NULL;
  piece->number = ++p->last;
  piece->length = (uint32_t)length;
  piece->type = type;
  memcpy(piece->data, data, length);
  if (p->newest) p->newest->next = piece; else p->first = piece;
  p->newest = piece;
  p->kept += length;
  for (int i = 0; i < connection_count; i++) if (connections[i].joined == p->id) push_piece(&connections[i], p->id, piece);
  while (p->kept > BACKLOG && p->first != p->newest) {
    struct piece *old = p->first;
    p->first = old->next;
    p->kept -= old->length;
    free(old);
  }
}

/* A reader that is slow slows the program; a program without readers goes on, and its oldest output is lost. */
static int has_room(const struct program *p) {
  for (int i = 0; i < connection_count; i++) if (connections[i].joined == p->id && connections[i].out_length > QUEUE_HIGH) return 0;
  return 1;
}

static void read_output(struct program *p, int *fd, char type) {
  ssize_t n = read(*fd, chunk, CHUNK);
  if (n > 0) { keep(p, type, chunk, (size_t)n); return; }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (p->in == *fd) p->in = -1;
  close(*fd);
  *fd = -1;
}

static void send_end(struct connection *c, const struct program *p) {
  unsigned char payload[16];
  put64(payload, p->last + 1);
  put32(payload + 8, (uint32_t)p->code);
  put32(payload + 12, (uint32_t)p->signal);
  push(c, 'q', p->id, payload, 16);
}

/* The end is told once the pipes are empty. A child that holds them open after the program is gone is not waited for. */
static void report_ends(void) {
  for (int i = 0; i < MAX_PROGRAMS; i++) {
    struct program *p = &programs[i];
    if (!p->used || !p->reaped || p->reported) continue;
    for (int *fd = &p->out; fd; fd = fd == &p->out ? &p->err : NULL) {
      for (int n = 0; n < 64 && *fd >= 0 && has_room(p); n++) {
        struct pollfd one = {*fd, POLLIN, 0};
        if (poll(&one, 1, 0) <= 0) break;
        read_output(p, fd, p->terminal ? 't' : fd == &p->out ? 'o' : 'e');
      }
    }
    if (!has_room(p)) continue;
    if (p->in >= 0 && !p->terminal) close(p->in);
    if (p->out >= 0) close(p->out);
    if (p->err >= 0) close(p->err);
    p->in = p->out = p->err = -1;
    p->reported = 1;
    for (int c = 0; c < connection_count; c++) if (connections[c].joined == p->id) send_end(&connections[c], p);
  }
}

static void reap(int signals) {
  struct signalfd_siginfo info;
  int status;
  pid_t pid;
  while (read(signals, &info, sizeof info) > 0) ;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid == relay_pid) relay_pid = 0;
    for (int i = 0; i < MAX_PROGRAMS; i++) {
      if (!programs[i].used || programs[i].pid != pid || programs[i].reaped) continue;
      programs[i].reaped = 1;
      programs[i].code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      programs[i].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
  }
}

static int make_pipes(int in[2], int out[2], int err[2], int wants_in) {
  if (pipe2(out, O_CLOEXEC)) return 0;
  if (pipe2(err, O_CLOEXEC)) { close(out[0]); close(out[1]); return 0; }
  if (wants_in && pipe2(in, O_CLOEXEC)) { close(out[0]); close(out[1]); close(err[0]); close(err[1]); return 0; }
  return 1;
}

static pid_t start_piped(struct program *p, char **argv, char **env, const char *cwd, int wants_in) {
  int in[2] = {-1, -1}, out[2], err[2];
  if (!make_pipes(in, out, err, wants_in)) return -1;
  if (!wants_in) in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_t pid = fork();
  if (pid == 0) { setsid(); become_program(argv, env, cwd, in[0], out[1], err[1]); }
  int saved = errno;
  close(in[0]);
  close(out[1]);
  close(err[1]);
  p->in = in[1];
  p->out = out[0];
  p->err = err[0];
  if (p->in >= 0) fcntl(p->in, F_SETFL, O_NONBLOCK);
  fcntl(p->out, F_SETFL, O_NONBLOCK);
  fcntl(p->err, F_SETFL, O_NONBLOCK);
  errno = saved;
  return pid;
}

static pid_t start_terminal(struct program *p, char **argv, char **env, const char *cwd, struct winsize size) {
  int master, slave;
  if (openpty(&master, &slave, NULL, NULL, &size) != 0) return -1;
  fcntl(master, F_SETFD, FD_CLOEXEC);
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    become_program(argv, env, cwd, slave, slave, slave);
  }
  int saved = errno;
  close(slave);
  fcntl(master, F_SETFL, O_NONBLOCK);
  p->out = p->in = master;
  p->err = -1;
  p->terminal = 1;
  errno = saved;
  return pid;
}

static struct winsize get_size(struct reader *r) {
  struct winsize size = {0};
  size.ws_col = get16(r);
  size.ws_row = get16(r);
  return size;
}

static size_t words_of(char **list, unsigned char *into) {
  size_t length = 4;
  uint32_t count = 0;
  for (; list[count]; count++) {
    size_t n = strlen(list[count]) + 1;
    if (into) memcpy(into + length, list[count], n);
    length += n;
  }
  if (into) put32(into, count);
  return length;
}

static void start(struct connection *c, uint32_t id, struct reader r) {
  uint32_t flags = get32(&r);
  struct winsize size = get_size(&r);
  char **argv = get_strings(&r), **env = get_strings(&r), *cwd = get_string(&r), *tag = get_string(&r);
  struct program *p = NULL;
  unsigned char pid_bytes[4];
  if (r.bad || !argv[0] || id == 0) refuse(c, id, EINVAL, "bad start request");
  else if (find(id)) refuse(c, id, EEXIST, "this id is in use");
  else if (access(cwd, X_OK) != 0) refuse(c, id, errno, "cannot enter the working directory");
  else if (!(p = make_place())) refuse(c, id, EAGAIN, "too many programs");
  else {
    memset(p, 0, sizeof *p);
    p->out = p->err = p->in = -1;
    p->pid = flags & 1 ? start_terminal(p, argv, env, cwd, size) : start_piped(p, argv, env, cwd, (flags & 2) != 0);
    if (p->pid < 0) {
      int error = errno;
      if (p->out >= 0) close(p->out);
      if (p->err >= 0) close(p->err);
      if (p->in >= 0 && p->in != p->out) close(p->in);
      memset(p, 0, sizeof *p);
      refuse(c, id, error, "cannot fork");
    } else {
      p->used = 1;
      p->id = id;
      p->started = now_ms();
      p->cwd = strdup(cwd);
      p->tag = strdup(tag);
      p->words_length = words_of(argv, NULL);
      p->words = malloc(p->words_length);
      if (!p->words || !p->cwd || !p->tag) _exit(1);
      words_of(argv, p->words);
      c->joined = id;
      put32(pid_bytes, (uint32_t)p->pid);
      push(c, 'p', id, pid_bytes, 4);
    }
  }
  free(argv);
  free(env);
}

static void join(struct connection *c, uint32_t id, struct reader r) {
  uint64_t after = get64(&r);
  struct program *p = find(id);
  unsigned char bytes[8];
  if (r.bad || !p) { refuse(c, id, ESRCH, "no such program"); return; }
  put32(bytes, (uint32_t)p->pid);
  push(c, 'p', id, bytes, 4);
  c->joined = id;
  uint64_t oldest = p->first ? p->first->number : p->last + 1;
  if (oldest > after + 1) { put64(bytes, oldest); push(c, 'm', id, bytes, 8); }
  for (struct piece *piece = p->first; piece; piece = piece->next) if (piece->number > after) push_piece(c, id, piece);
  if (p->reported) send_end(c, p);
}

static void feed(struct connection *c, uint32_t id, struct reader r) {
  struct program *p = find(id);
  size_t length = (size_t)(r.end - r.at);
  if (!p || p->reaped || p->in < 0 || p->close_in) { refuse(c, id, EPIPE, "stdin is closed"); return; }
  if (length == 0) {
    if (p->terminal) { unsigned char eot = 4; r = (struct reader){&eot, &eot + 1, 0}; length = 1; }
    else p->close_in = 1;
  }
  if (p->pending_length + length > STDIN_HIGH) { refuse(c, id, EAGAIN, "the program does not read its stdin"); return; }
  unsigned char *grown = realloc(p->pending, p->pending_length + length + 1);
  if (!grown) { refuse(c, id, ENOMEM, "out of memory"); return; }
  p->pending = grown;
  memcpy(p->pending + p->pending_length, r.at, length);
  p->pending_length += length;
  push(c, 'z', id, NULL, 0);
}

static void write_stdin(struct program *p) {
  while (p->pending_length) {
    ssize_t n = write(p->in, p->pending, p->pending_length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) { p->pending_length = 0; p->close_in = 1; break; }
    p->pending_length -= (size_t)n;
    memmove(p->pending, p->pending + n, p->pending_length);
  }
  if (p->close_in && p->in >= 0 && !p->terminal) { close(p->in); p->in = -1; }
}

static void signal_program(struct connection *c, uint32_t id, struct reader r) {
  int number = (int)get32(&r);
  struct program *p = id ? find(id) : NULL;
  /* To everything; with signal 0 the question whether there is anything, be it what an ended program left. */
  if (id == 0) {
    if (kill(-1, number) != 0 && number == 0) { refuse(c, id, ESRCH, "nothing runs"); return; }
  }
  else if (!p || p->reaped) { refuse(c, id, ESRCH, "no such program"); return; }
  else if (kill(-p->pid, number) != 0 && kill(p->pid, number) != 0) { refuse(c, id, errno, "cannot signal"); return; }
  push(c, 'z', id, NULL, 0);
}

static void resize(struct connection *c, uint32_t id, struct reader r) {
  struct winsize size = get_size(&r);
  struct program *p = find(id);
  if (!p || !p->terminal || p->out < 0) { refuse(c, id, ESRCH, "no such terminal"); return; }
  ioctl(p->out, TIOCSWINSZ, &size);
  push(c, 'z', id, NULL, 0);
}

static void list(struct connection *c) {
  for (int i = 0; i < MAX_PROGRAMS; i++) {
    struct program *p = &programs[i];
    if (!p->used) continue;
    size_t cwd = strlen(p->cwd) + 1, tag = strlen(p->tag) + 1, length = 29 + p->words_length + cwd + tag;
    unsigned char *payload = malloc(length);
    if (!payload) _exit(1);
    put32(payload, (uint32_t)p->pid);
    payload[4] = (unsigned char)p->reported;
    put32(payload + 5, (uint32_t)p->code);
    put32(payload + 9, (uint32_t)p->signal);
    put64(payload + 13, p->last);
    put64(payload + 21, p->started);
    memcpy(payload + 29, p->words, p->words_length);
    memcpy(payload + 29 + p->words_length, p->cwd, cwd);
    memcpy(payload + 29 + p->words_length + cwd, p->tag, tag);
    push(c, 'l', p->id, payload, (uint32_t)length);
    free(payload);
  }
  push(c, 'z', 0, NULL, 0);
}

/* ---- connections ---- */

static void handle(struct connection *c, char type, uint32_t id, struct reader r) {
  if (type == 'P') start(c, id, r);
  else if (type == 'J') join(c, id, r);
  else if (type == 'I') feed(c, id, r);
  else if (type == 'K') signal_program(c, id, r);
  else if (type == 'W') resize(c, id, r);
  else if (type == 'L') list(c);
  else if (type == 'Y') {
    struct program *p = find(id);
    if (p && p->reported) forget(p);
    push(c, 'z', id, NULL, 0);
  } else refuse(c, id, ENOSYS, "unknown request");
}

/* File work may block for long: it gets a process of its own, which the connection is handed to. */
static int hand_over(struct connection *c) {
  unsigned char head[HEADER];
  if (c->joined || c->have || c->out_length) return 0;
  if (recv(c->fd, head, HEADER, MSG_PEEK) != HEADER || !is_file_request((char)head[4])) return 0;
  pid_t pid = fork();
  if (pid < 0) { refuse(c, 0, errno, "cannot fork"); flush(c); }
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
    int fd = dup2(c->fd, CHANNEL);
    close_from(CHANNEL + 1);
    serve_files(fd);
  }
  c->closing = 1;
  c->out_length = 0;
  return 1;
}

static void receive(struct connection *c) {
  if (hand_over(c)) return;
  for (;;) {
    uint32_t length = 0, id;
    size_t want = HEADER;
    if (c->have >= HEADER) {
      memcpy(&length, c->in, 4);
      if (length > MAX_FRAME) { c->closing = 1; return; }
      want += length;
    }
    if (want > c->room) {
      unsigned char *grown = realloc(c->in, want);
      if (!grown) { c->closing = 1; return; }
      c->in = grown;
      c->room = want;
    }
    if (c->have < want) {
      ssize_t n = read(c->fd, c->in + c->have, want - c->have);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) { c->closing = 1; return; }
      c->have += (size_t)n;
      continue; /* the header may just have told how much more there is */
    }
    memcpy(&id, c->in + 5, 4);
    c->have = 0;
    handle(c, (char)c->in[4], id, (struct reader){c->in + HEADER, c->in + HEADER + length, 0});
    if (c->closing) return;
  }
}

/* Somebody wants to speak to the box. While there is no room for a process they wait. */
static void start_relay(void) {
  relay_pid = fork();
  if (relay_pid < 0) { relay_pid = 0; usleep(20000); }
  if (relay_pid != 0) return;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  int fd = dup2(relay, CHANNEL);
  close_from(CHANNEL + 1);
  serve_relay(fd);
}

static void accept_one(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (connection_count == MAX_CONNECTIONS) { close(fd); return; }
  memset(&connections[connection_count], 0, sizeof *connections);
  connections[connection_count++].fd = fd;
}

static void drop_closed(void) {
  for (int i = 0; i < connection_count;) {
    struct connection *c = &connections[i];
    if (!c->closing) { i++; continue; }
    close(c->fd);
    free(c->in);
    free(c->out);
    connections[i] = connections[--connection_count];
  }
}

void serve_programs(int listener) {
  static struct pollfd fds[3 + MAX_CONNECTIONS + 3 * MAX_PROGRAMS];
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, NULL);
  int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) _exit(1);
  fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
  relay = open_relay();
  /* What a launch has to say is said: from here on nothing in here holds a file of the host. */
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, 2) < 0) _exit(1);
  close(nothing);
  for (;;) {
    int count = 0;
    fds[count++] = (struct pollfd){listener, POLLIN, 0};
    fds[count++] = (struct pollfd){signals, POLLIN, 0};
    fds[count++] = (struct pollfd){relay_pid == 0 ? relay : -1, POLLIN, 0};
    int first_connection = count, polled = connection_count;
    for (int i = 0; i < polled; i++) fds[count++] = (struct pollfd){connections[i].fd, (short)(POLLIN | (connections[i].out_length ? POLLOUT : 0)), 0};
    int first_program = count;
    for (int i = 0; i < MAX_PROGRAMS; i++) {
      struct program *p = &programs[i];
      int live = p->used && !p->reported, room = live && has_room(p);
      fds[count++] = (struct pollfd){room ? p->out : -1, POLLIN, 0};
      fds[count++] = (struct pollfd){room && !p->terminal ? p->err : -1, POLLIN, 0};
      fds[count++] = (struct pollfd){live && (p->pending_length || p->close_in) ? p->in : -1, POLLOUT, 0};
    }
    if (poll(fds, (nfds_t)count, -1) < 0 && errno != EINTR) _exit(1);
    for (int i = 0; i < MAX_PROGRAMS; i++) {
      struct program *p = &programs[i];
      struct pollfd *f = &fds[first_program + 3 * i];
      if (f[0].revents && p->out >= 0) read_output(p, &p->out, p->terminal ? 't' : 'o');
      if (f[1].revents && p->err >= 0) read_output(p, &p->err, 'e');
      if (f[2].revents && p->in >= 0) write_stdin(p);
    }
    if (fds[1].revents) reap(signals);
    report_ends();
    for (int i = 0; i < polled; i++) {
      if (fds[first_connection + i].revents & (POLLIN | POLLHUP | POLLERR)) receive(&connections[i]);
      if (connections[i].out_length) flush(&connections[i]);
    }
    drop_closed();
    if (fds[0].revents) accept_one(listener);
    if (fds[2].revents && relay_pid == 0) start_relay();
  }
}
