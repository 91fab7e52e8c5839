/* What the parts of the guest share: frames, and the requests each part serves. */
#ifndef GUEST_H
#define GUEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHANNEL 3
#define HEADER 9
#define MAX_FRAME (1024 * 1024 + 64 * 1024)
#define CHUNK (64 * 1024)

/* A payload that is being read; `bad` once it was shorter than it should be. */
struct reader { const unsigned char *at, *end; int bad; };

void put16(unsigned char *at, uint16_t value);
void put32(unsigned char *at, uint32_t value);
void put64(unsigned char *at, uint64_t value);
uint16_t get16(struct reader *r);
uint32_t get32(struct reader *r);
uint64_t get64(struct reader *r);
char *get_string(struct reader *r);
char **get_strings(struct reader *r);
size_t frame_head(unsigned char *head, char type, uint32_t id, uint32_t length);

/* Blocking: for one-shot runs and for the workers that serve files. They end the process when the host is gone. */
void send_bytes(int fd, const void *data, size_t length);
void send_frame(int fd, char type, uint32_t id, const void *payload, uint32_t length);
void complain(int fd, uint32_t id, const char *format, ...);
int read_frame(int fd, unsigned char *buffer, char *type, uint32_t *id, struct reader *r);

void close_from(unsigned first);
/* Ends this process. The first of a run in a nest has one thread, and does not call exit_group: that is told at `ends`, where it listens itself. */
_Noreturn void leave(int code);
/* In a new child: environment, folder, descriptors, then the program; does not return. */
void become_program(char **argv, char **env, const char *cwd, int in, int out, int err);
/* The same, with `line` as its descriptor 3. */
void become_waiter(char **argv, char **env, const char *cwd, int in, int out, int err, int line);

/* guest-once.c: one program, then its files. Does not return. */
void serve_once(void);
/* The same for a run in a nest, which ends with NEXT_PLEASE; the program waits already, unless its pid is 0. `turn` is told with R. Does not return. */
struct waiting { pid_t pid; int out, err, line; };
void serve_nested(struct waiting program, const char *turn);
#define NEXT_PLEASE 10
/* In a nest: where the kernel tells that a process of the run is about to end; -1 where it does not. */
extern int ends;
/* Makes the pipes and the line of a program that is started ahead, and forks; 0 in the child, where `program` is its side. */
pid_t fork_waiting(struct waiting *program);
/* guest-nest.c: the parent of runs in namespaces of their own. Does not return. */
void open_nest(void);
/* guest-programs.c: programs that outlive the connection that started them. Does not return. */
void serve_programs(int listener);
/* guest-files.c: one request about files, a watch, or a tunnel to a port, in a process of its own. Does not return. */
void serve_files(int fd);
int is_file_request(char type);
/* guest-relay.c: the way to the box; -1 where this sandbox has none. */
int open_relay(void);
/* Joins what connects there with the box, in a process of its own. Does not return. */
void serve_relay(int listener);

#endif
