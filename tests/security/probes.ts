/** What every attempt has at hand, in its language: system calls by number, `attempt`, and `answer`, which leaves a value for the host. */

export type Lang = 'python' | 'node' | 'bash';

/** With `answer` writing to that path. What bash prints is its answer. */
export const preludes: Record<Lang, (output: string) => string> = {
  python: (output) => `
import ctypes, errno, json, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return "ok" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))
def attempt(action, *args, **named):
    try:
        action(*args, **named)
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno, repr(error))
def answer(value):
    with open("${output}", "w") as file: json.dump(value, file)
def status(pid="self"):
    return dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/%s/status" % pid) if ":\\t" in line)
`,
  node: (output) => `
const fs = require("fs");
const answer = (value) => fs.writeFileSync("${output}", JSON.stringify(value));
const attempt = (action) => { try { action(); return "ok"; } catch (error) { return error.code; } };
`,
  bash: () => '',
};
