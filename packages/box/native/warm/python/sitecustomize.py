"""Holds a started interpreter until its job comes; then the interpreter goes on to the entrypoint by itself, as ever.

It is imported while the interpreter starts, before anything of the skill. It leaves nothing behind: the path it came by,
its name and its variables go, and the system's own sitecustomize is imported in its place.

In a nest the interpreter that starts is a parent: it runs no job, each job begins as a copy of it.
"""

import os
import sys


def known():
    return set(sys.modules), set(sys.path_importer_cache)


def forget(before):
    for cache, names in zip((sys.modules, sys.path_importer_cache), before):
        for name in set(cache) - names:
            del cache[name]


def preload(names):
    for name in filter(None, names.split(",")):
        try:
            __import__(name)
        except Exception:
            # The entrypoint imports it again and tells whoever reads its log.
            pass


def settle():
    """What is there before the job is left out of every collection, also the last one: it would take most of the end's time.

    Modules are kept, so that what a job puts into them is let go at the end as ever; so is what they define, which need
    not be taken apart. The job's own module is made anew, so that nothing of the job is left out.
    """
    before = known()
    import gc

    defined = (type, type(settle), type(len))
    kept = [[module, *(value for value in vars(module).values() if isinstance(value, defined))] for module in sys.modules.values()]
    kept.append(kept)
    del kept
    old = sys.modules["__main__"]
    gc.freeze()
    main = sys.modules["__main__"] = type(sys)("__main__")
    vars(main).update(vars(old))
    forget(before)


def end_soon():
    """Ends the interpreter once nothing of the job is left to do: taking apart what was there before takes longer than most jobs.

    It is registered before anything else, so that it is called last. It lets the interpreter end by itself whenever somebody could
    notice a difference: an exit code or an exception, something with a finaliser, an open file, a waiting generator, a foreign library.
    """
    before = known()
    import _io
    import _weakref
    import atexit
    import gc

    leave, get_pid, objects = os._exit, os.getpid, gc.get_objects
    order, inside = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
    stream_kind, reference_kind = _io._IOBase, _weakref.ReferenceType
    waiting = {"generator": "gi_frame", "coroutine": "cr_frame", "async_generator": "ag_frame"}
    is_collected = 1 << 14
    most = 20_000
    ends = {}

    def has_end(kind):
        if kind not in ends:
            ends[kind] = any("__del__" in inside(base) for base in order(kind))
        return ends[kind]

    def is_noticed(thing):
        kind = type(thing)
        if isinstance(thing, type):
            # Of those the collector does not know, the class is all that can be found.
            return not thing.__flags__ & is_collected and has_end(thing)
        if issubclass(kind, stream_kind):
            return not thing.closed
        if issubclass(kind, reference_kind):
            call = thing.__callback__
            return call is not None and getattr(call, "__module__", None) not in ("weakref", "_weakrefset")
        frame = waiting.get(kind.__name__)
        return has_end(kind) or (frame is not None and getattr(thing, frame, None) is not None)

    def is_foreign(module):
        file = getattr(module, "__file__", None)
        return isinstance(file, str) and file.endswith(".so") and "/lib-dynload/" not in file

    def is_plain():
        if end.pid != get_pid() or end.library is None or hasattr(sys, "last_type") or end.library.has_exit_code():
            return False
        left = objects()
        return len(left) <= most and not any(map(is_noticed, left)) and not any(map(is_foreign, list(sys.modules.values())))

    def end():
        try:
            if not is_plain():
                return
            for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
                if stream is not None and not stream.closed:
                    stream.flush()
        except BaseException:
            # Whatever it is, the interpreter meets it again and says so.
            return
        leave(0)

    end.pid = 0
    end.library = None
    atexit.register(end)
    forget(before)
    return end


def load_library(here):
    """None where this interpreter cannot load it."""
    before = known()
    try:
        import ctypes

        library = ctypes.PyDLL(os.path.join(os.path.dirname(here), "nest.so"))
        library.has_exit_code()
        return library, ctypes.pythonapi
    except (ImportError, OSError, AttributeError):
        return None, None
    finally:
        forget(before)


def wait():
    here = os.path.dirname(__file__)
    line = 3

    def read(count):
        parts = []
        while count > 0:
            part = os.read(line, count)
            if not part:
                # The sandbox is thrown away unused.
                os._exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    end = end_soon()
    preload(os.environ.get("SKILLBOX_PRELOAD", ""))
    end.library, python = load_library(here)
    if os.environ.get("SKILLBOX_NEST"):
        settle()
        python.PyOS_BeforeFork()
        end.library.nest_next()
        # From here on in a process of its own for each job.
        python.PyOS_AfterFork_Child()
        # Not before: the parent must not find a package of the skill under a name that it imports itself.
        at = sys.path.index(here) + 1
        sys.path[at:at] = filter(None, os.environ["SKILLBOX_PATH"].split(":"))
    # What the skill asks for is its own code: it runs where its job will, and nowhere else.
    preload(os.environ.get("SKILLBOX_MODULES", ""))
    settle()

    os.write(line, b"R")
    job = read(int.from_bytes(read(4), "little"))
    end.pid = os.getpid()
    os.close(line)
    os.environ.clear()
    for variable in job.split(b"\0")[:-1]:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    logging = sys.modules.get("logging")
    if logging:
        import time

        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()
    sys.path[:] = [path for path in sys.path if path != here]
    sys.path_importer_cache.pop(here, None)
    own = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError as problem:
        if problem.name != __name__:
            raise
        # There is none: whoever imports this one is told so too.
        sys.modules[__name__] = own
        raise


wait()
