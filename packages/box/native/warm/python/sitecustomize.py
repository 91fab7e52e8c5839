"""Holds a started interpreter until its job comes; then the interpreter goes on to the entrypoint by itself, as ever.

It is imported while the interpreter starts, before anything of the skill. It leaves nothing behind: the path it came by,
its name and its variables go, and the system's own sitecustomize is imported in its place.

In a nest the interpreter that starts is a parent: it runs no job, each job begins as a copy of it.
"""


def wait():
    import os
    import sys

    here = os.path.dirname(__file__)
    line = 3

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

    def known():
        return set(sys.modules), set(sys.path_importer_cache)

    def forget(before):
        for cache, names in zip((sys.modules, sys.path_importer_cache), before):
            for name in set(cache) - names:
                del cache[name]

    def copy():
        """Returns once for each job, in a process of its own."""
        before = known()
        import ctypes

        nest = ctypes.PyDLL(os.path.join(os.path.dirname(here), "nest.so"))
        forget(before)
        settle()
        ctypes.pythonapi.PyOS_BeforeFork()
        nest.nest_next()
        ctypes.pythonapi.PyOS_AfterFork_Child()

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

    preload(os.environ.get("SKILLBOX_PRELOAD", ""))
    if os.environ.get("SKILLBOX_NEST"):
        copy()
        # Not before: the parent must not find a package of the skill under a name that it imports itself.
        at = sys.path.index(here) + 1
        sys.path[at:at] = filter(None, os.environ["SKILLBOX_PATH"].split(":"))
    # What the skill asks for is its own code: it runs where its job will, and nowhere else.
    preload(os.environ.get("SKILLBOX_MODULES", ""))
    settle()

    os.write(line, b"R")
    job = read(int.from_bytes(read(4), "little"))
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
