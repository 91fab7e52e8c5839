/* What every part of the guest reads and writes frames with, and how it gives its place to a program. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void put16(unsigned char *at, uint16_t value) { memcpy(at, &value, 2); }
void put32(unsigned char *at, uint32_t value) { memcpy(at, &value, 4); }
void put64(unsigned char *at, uint64_t value) { memcpy(at, &value, 8); }

static void take(struct reader *r, void *into, size_t length) {
  memset(into, 0, length);
  if ((size_t)(r->end - r->at) < length) { r->bad = 1; return; }
  memcpy(into, r->at, length);
  r->at += length;
}

uint16_t get16(struct reader *r) { uint16_t value; take(r, &value, 2); return value; }
uint32_t get32(struct reader *r) { uint32_t value; take(r, &value, 4); return value; }
uint64_t get64(struct reader *r) { uint64_t value; take(r, &value, 8); return value; }

char *get_string(struct reader *r) {
  const unsigned char *nul = r->at < r->end ? memchr(r->at, 0, (size_t)(r->end - r->at)) : NULL;
  if (!nul) { r->bad = 1; return ""; }
  char *text = (char *)r->at;
  r->at = nul + 1;
  return text;
}

char **get_strings(struct reader *r) {
  uint32_t count = get32(r);
  if (r->bad || count > 4096) { r->bad = 1; count = 0; }
  char **list = calloc(count + 1, sizeof *list);
  if (!list) leave(1);
  for (uint32_t i = 0; i < count; i++) list[i] = get_string(r);
  return list;
}

size_t frame_head(unsigned char *head, char type, uint32_t id, uint32_t length) {
  put32(head, length);
  head[4] = (unsigned char)type;
  put32(head + 5, id);
  return HEADER;
}

void send_bytes(int fd, const void *data, size_t length) {
  const char *p = data;
  while (length > 0) {
    ssize_t n = write(fd, p, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) leave(0); /* the host is gone */
    p += n;
    length -= (size_t)n;
  }
}

void send_frame(int fd, char type, uint32_t id, const void *payload, uint32_t length) {
  unsigned char head[HEADER];
  frame_head(head, type, id, length);
  send_bytes(fd, head, HEADER);
  if (length) send_bytes(fd, payload, length);
}

/* Payload of `!`: u32 errno (0 when it is our own refusal), text. */
void complain(int fd, uint32_t id, const char *format, ...) {
  unsigned char payload[516];
  int saved = errno;
  va_list list;
  va_start(list, format);
  int n = vsnprintf((char *)payload + 4, 400, format, list);
  va_end(list);
  if (n < 0) n = 0;
  if (n > 399) n = 399;
  put32(payload, (uint32_t)saved);
  if (saved) n += snprintf((char *)payload + 4 + n, 100, ": %s", strerror(saved));
  send_frame(fd, '!', id, payload, (uint32_t)n + 4);
}

static int read_all(int fd, unsigned char *into, size_t length) {
  while (length > 0) {
    ssize_t n = read(fd, into, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    into += n;
    length -= (size_t)n;
  }
  return 1;
}

/* `buffer` holds MAX_FRAME bytes; 0 when the host is gone or breaks the rules. */
int read_frame(int fd, unsigned char *buffer, char *type, uint32_t *id, struct reader *r) {
  unsigned char head[HEADER];
  uint32_t length;
  if (!read_all(fd, head, HEADER)) return 0;
  memcpy(&length, head, 4);
  memcpy(id, head + 5, 4);
  *type = (char)head[4];
  if (length > MAX_FRAME || !read_all(fd, buffer, length)) return 0;
  *r = (struct reader){buffer, buffer + length, 0};
  return 1;
}

int ends = -1;

_Noreturn void leave(int code) {
  if (ends < 0) _exit(code);
  for (;;) syscall(SYS_exit, code);
}

void close_from(unsigned first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  for (int fd = (int)first; fd < 65536; fd++) close(fd);
}

static void become(char **argv, char **env, const char *cwd, int in, int out, int err, int line) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
  if (line > 3 && dup2(line, 3) < 0) _exit(126);
  if (line == 3) fcntl(3, F_SETFD, 0);
  close_from(line < 0 ? 3 : 4);
  if (chdir(cwd) != 0) { dprintf(2, "cannot enter %s: %s\n", cwd, strerror(errno)); _exit(126); }
  if (strchr(argv[0], '/')) execve(argv[0], argv, env);
  else { environ = env; execvp(argv[0], argv); } /* a bare name is found by the program's own PATH */
  dprintf(2, "cannot start %s: %s\n", argv[0], strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

void become_program(char **argv, char **env, const char *cwd, int in, int out, int err) { become(argv, env, cwd, in, out, err, -1); }

void become_waiter(char **argv, char **env, const char *cwd, int in, int out, int err, int line) {
  become(argv, env, cwd, in, out, err, line);
}

