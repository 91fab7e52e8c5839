/*
 * guest: pid 1 of every sandbox.
 *
 * It starts programs with real pipes or terminals, reports their true exit, and does file work inside, so that the host
 * never opens a path the inside controls. It holds no secret and trusts nobody: programs it starts cannot see its memory
 * or descriptors (not dumpable), and the host bounds every frame.
 *
 * Descriptor 3 is a connected socket for a one-shot run, a listening one for a living sandbox. Where no descriptor can be
 * handed in (a container engine starts it), `guest --listen PATH` makes the listening socket itself, and `guest --once PATH`
 * takes the first who comes there for a one-shot run. `guest --nest` is the parent of one-shot runs, one after the other,
 * each in namespaces of its own. Frames both ways:
 * u32 length of payload, u8 type, u32 id, payload; integers little-endian, strings end with NUL. The requests are
 * described where they are served: guest-once.c, guest-nest.c, guest-programs.c, guest-files.c.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* It takes its name once it listens, so that whoever finds it can connect. Who may come near it is the folder's matter. */
static void listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int n = snprintf(address.sun_path, sizeof address.sun_path, "%s.new", path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  int fits = n > 0 && (size_t)n < sizeof address.sun_path;
  if (!fits || fd < 0 || (unlink(address.sun_path) != 0 && errno != ENOENT) || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
      chmod(address.sun_path, 0666) != 0 || listen(fd, 128) != 0 || rename(address.sun_path, path) != 0) {
    dprintf(2, "cannot listen at %s: %s\n", path, strerror(errno));
    _exit(1);
  }
  if (fd == CHANNEL) return;
  if (dup2(fd, CHANNEL) < 0) _exit(1);
  close(fd);
}

/* One connection, and no other. A host that never comes has died: nobody would end this sandbox. */
static void accept_only(void) {
  struct pollfd coming = {CHANNEL, POLLIN, 0};
  int fd = poll(&coming, 1, 60 * 1000) > 0 ? accept(CHANNEL, NULL, NULL) : -1;
  if (fd < 0 || dup2(fd, CHANNEL) < 0) _exit(1);
  close(fd);
}

int main(int argc, char **argv) {
  int listening = 0;
  socklen_t size = sizeof listening;
  prctl(PR_SET_DUMPABLE, 0);
  if (argc == 3 && !strcmp(argv[1], "--listen")) listen_at(argv[2]);
  if (argc == 3 && !strcmp(argv[1], "--once")) { listen_at(argv[2]); accept_only(); }
  fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);
  fcntl(CHANNEL, F_SETFL, fcntl(CHANNEL, F_GETFL) & ~O_NONBLOCK);
  umask(022);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error to tell, not an end */
  if (getsockopt(CHANNEL, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening) serve_programs(CHANNEL);
  else if (argc == 2 && !strcmp(argv[1], "--nest")) open_nest();
  else serve_once();
}
