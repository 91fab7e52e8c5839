/*
 * The way to the box. Where the host gave this sandbox a channel, the guest listens on 127.0.0.1:3128 and joins each connection with
 * the channel's socket. It decides nothing: what may pass is decided by the server behind the socket, which knows the sandbox by the
 * socket alone. So nothing is gained by taking its place, and nothing is lost but the way out when it is killed.
 *
 * Pid 1 holds the listening socket, so that no program can take the port; the copying is done by a process of its own, which
 * starts with the first connection, ends when it has had none for a while, and is started again if somebody ends it.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BOX_FOLDER "/.skillbox/box"
#define BOX_SOCKET BOX_FOLDER "/box.sock"
#define RELAY_PORT 3128
#define MAX_PAIRS 256
#define PIECE (16 * 1024)
#define IDLE_MS 10000

/* One direction: read from `from`, not yet written to the other end. */
struct flow { unsigned char data[PIECE]; size_t start, length; int ended, shut; };
struct pair { int fd[2]; struct flow flow[2]; };

static struct pair pairs[MAX_PAIRS];
static int pair_count;

int open_relay(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(RELAY_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int one = 1;
  if (access(BOX_FOLDER, F_OK) != 0) return -1;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 128) == 0) return fd;
  close(fd);
  return -1;
}

static int connect_box(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = BOX_SOCKET};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Without blocking it is there at once or not at all: EAGAIN means that the server has more to do than it can. */
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) { close(fd); return -1; }
  return fd;
}

static void accept_pair(int listener) {
  int one = 1;
  int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  int box = pair_count < MAX_PAIRS ? connect_box() : -1;
  if (box < 0) { close(client); return; }
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct pair *p = &pairs[pair_count++];
  p->fd[0] = client;
  p->fd[1] = box;
  for (int i = 0; i < 2; i++) p->flow[i].start = p->flow[i].length = 0, p->flow[i].ended = p->flow[i].shut = 0;
}

/* From end i to the other; 0 when the pair is of no use any more. */
static int move(struct pair *p, int i, int readable, int writable) {
  struct flow *f = &p->flow[i];
  if (readable && !f->ended && f->length == 0) {
    ssize_t n = read(p->fd[i], f->data, PIECE);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return 0;
    if (n == 0) f->ended = 1;
    if (n > 0) { f->start = 0; f->length = (size_t)n; writable = 1; }
  }
  if (writable && f->length) {
    ssize_t n = write(p->fd[1 - i], f->data + f->start, f->length);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return 0;
    if (n > 0) { f->start += (size_t)n; f->length -= (size_t)n; }
  }
  if (f->ended && !f->length && !f->shut) { shutdown(p->fd[1 - i], SHUT_WR); f->shut = 1; }
  return !(p->flow[0].shut && p->flow[1].shut);
}

static short events_of(const struct pair *p, int i) {
  const struct flow *out = &p->flow[i], *in = &p->flow[1 - i];
  return (short)((!out->ended && !out->length ? POLLIN : 0) | (in->length ? POLLOUT : 0));
}

void serve_relay(int listener) {
  static struct pollfd fds[1 + 2 * MAX_PAIRS];
  signal(SIGPIPE, SIG_IGN);
  for (;;) {
    int polled = pair_count;
    fds[0] = (struct pollfd){listener, POLLIN, 0};
    for (int k = 0; k < polled; k++)
      for (int i = 0; i < 2; i++) {
        short events = events_of(&pairs[k], i);
        /* An end that is waited for in neither way would report its closing for ever. */
        fds[1 + 2 * k + i] = (struct pollfd){events ? pairs[k].fd[i] : -1, events, 0};
      }
    int ready = poll(fds, (nfds_t)(1 + 2 * polled), polled ? -1 : IDLE_MS);
    if (ready == 0) _exit(0); /* pid 1 listens on, and starts another one */
    if (ready < 0 && errno != EINTR) _exit(1);
    if (ready < 0) continue;
    for (int k = polled - 1; k >= 0; k--) {
      struct pair *p = &pairs[k];
      int alive = 1;
      for (int i = 0; i < 2 && alive; i++) {
        short from = fds[1 + 2 * k + i].revents, to = fds[1 + 2 * k + 1 - i].revents;
        alive = move(p, i, from & (POLLIN | POLLHUP | POLLERR), to & (POLLOUT | POLLHUP | POLLERR));
      }
      if (alive) continue;
      close(p->fd[0]);
      close(p->fd[1]);
      pair_count--;
      if (k != pair_count) *p = pairs[pair_count];
    }
    if (fds[0].revents) accept_pair(listener);
  }
}
