"""Runs the scenario through the Python SDK; README.md in the folder above says how."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import re
import sys
import threading
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Dict, Iterator
from urllib.parse import parse_qsl

root = Path(__file__).resolve().parent.parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "sdks/python"))

from skillbox import (  # noqa: E402
    Cancellation,
    Cancelled,
    Client,
    ExecResult,
    Page,
    ProgramHandle,
    SandboxHandle,
    ServerEvent,
    SkillboxError,
    WorkProgress,
)

scenario = json.loads(Path(os.environ["SCENARIO"]).read_text())
variables: Dict[str, Any] = json.loads(os.environ["VARIABLES"])
With = Dict[str, Any]


def run(method: Callable[..., Any]) -> Callable[[With], Any]:
    """The API has files in base64; this SDK takes their contents."""

    def call(w: With) -> Any:
        files = w.pop("files", None)
        return method(**w, files=files and {path: base64.b64decode(text) for path, text in files.items()})

    return call


def download_files(c: Client, w: With) -> Any:
    paths = c.download_files(c.get_execution(w["id"]), w["folder"])
    return sorted(os.path.relpath(path, w["folder"]) for path in paths)


def labelled(method: Callable[..., Any], w: With) -> Any:
    """The API has labels as a query; this SDK takes a mapping."""
    if "labels" in w:
        w["labels"] = dict(parse_qsl(w["labels"]))
    return method(**w)


def execute(sandbox: SandboxHandle, w: With) -> Any:
    if not w.pop("stream", False):
        return sandbox.exec(**w)
    heard: Dict[str, str] = {"heard_stdout": "", "heard_stderr": ""}

    def into(name: str) -> Callable[[str], None]:
        return lambda text: heard.update({name: heard[name] + text})

    result = sandbox.exec(**w, on_stdout=into("heard_stdout"), on_stderr=into("heard_stderr"))
    return {**waited(result), **heard}


def waited(result: ExecResult) -> With:
    return {name: value for name, value in dataclasses.asdict(result).items() if name not in ("pid", "timed_out")}


def watch(sandbox: SandboxHandle, w: With) -> Any:
    events = sandbox.files.watch(w.get("path"), recursive=w.get("recursive"))
    seen = list(islice(events, w["first"]))
    events.close()  # type: ignore[attr-defined]
    return seen


def listened(work: Callable[..., Any], w: With) -> Any:
    w.pop("progress")
    heard = set()

    def hear(progress: WorkProgress) -> None:
        step = progress.step
        if step is not None and step.kind == "service" and step.state != "running":
            heard.add(f"{step.name} {step.state}")

    result = work(**w, on_progress=hear)
    return {**shown(result), "heard": sorted(heard)}


def follow(stream: Callable[..., Any], w: With) -> Any:
    first = w.pop("first")
    events = stream(**w)
    seen = list(islice(events, first))
    events.close()
    return seen


def call(c: Client, name: str, w: With) -> Any:
    group, method = name.split(".")
    special: Dict[str, Callable[[], Any]] = {
        "client.register_skill": lambda: c.register_skill(w["path"]),
        "client.download_files": lambda: download_files(c, w),
        "client.run": lambda: run(c.run)(w),
        "execution.has_files": lambda: c.get_execution(w["id"]).has_files,
        "skills.push": lambda: c.skills.push(Path(w["path"]).read_bytes()),
        "executions.run": lambda: run(c.executions.run)(w),
        "executions.submit": lambda: run(c.executions.submit)(w),
        "executions.all": lambda: c.executions.all(**{name: value for name, value in w.items() if name != "limit"}),
        "events.follow": lambda: follow(c.events.follow, w),
        "runtime.follow_logs": lambda: follow(c.runtime.follow_logs, w),
        "sandboxes.list": lambda: labelled(c.sandboxes.list, w),
        "sandboxes.all": lambda: labelled(c.sandboxes.all, w),
        "sandboxes.delete_snapshot": lambda: c.sandboxes.delete_snapshot(w["snapshot"]),
    }
    if name in special:
        return special[name]()
    if "progress" in w:
        return listened(getattr(getattr(c, group), method), w)
    if group == "client":
        return getattr(c, method)(**w)
    if group not in ("sandbox", "program", "files"):
        return getattr(getattr(c, group), method)(**w)
    sandbox = c.sandbox(w.pop("id"))
    if group == "program":
        result = getattr(sandbox.program(w.pop("program")), method)(**w)
        return waited(result) if isinstance(result, ExecResult) else result
    if name == "sandbox.exec":
        return execute(sandbox, w)
    if name == "files.watch":
        return watch(sandbox, w)
    if name == "files.move":
        return sandbox.files.move(w["from"], w["to"])
    return getattr(sandbox.files if group == "files" else sandbox, method)(**w)


def shown(value: Any) -> Any:
    """As the API has it."""
    if isinstance(value, (Page, ServerEvent)):
        return {field.name: shown(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, SandboxHandle):
        return shown(value.record)
    if isinstance(value, ProgramHandle):
        return {"program_id": value.program}
    if dataclasses.is_dataclass(value):
        fields = {field.name: (shown(getattr(value, field.name)), field.default) for field in dataclasses.fields(value)}
        # What may be absent has None as its default; null is said for the end of a program.
        return {name: one for name, (one, default) in fields.items() if one is not None or default is not None or ended(value, name)}
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: shown(one) for name, one in value.items()}
    if isinstance(value, (list, Iterator)):
        return [shown(one) for one in value]
    return value


def ended(value: Any, name: str) -> bool:
    is_end = type(value).__name__ == "ProgramEvent" and value.text is None and value.base64 is None and value.before is None
    return is_end and name in ("exit_code", "signal")


def fill(value: Any) -> Any:
    """The value with variables in place of ${name}."""
    if isinstance(value, list):
        return [fill(one) for one in value]
    if isinstance(value, dict):
        return {name: fill(one) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\$\{(\w+)\}", value)
    return variables[whole[1]] if whole else re.sub(r"\$\{(\w+)\}", lambda match: str(variables[match[1]]), value)


def at(value: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        value = value[int(name) if isinstance(value, list) else name]
    return value


def client_of(step: With) -> Client:
    chosen = fill(step.get("as", {}))
    options = chosen.get("options", {})
    client = Client(chosen.get("url", os.environ["SKILLBOX_URL"]), chosen.get("key", os.environ["SKILLBOX_API_KEY"]))
    if "max_retries" in options:
        client = client.with_options(max_retries=options["max_retries"])
    if "timeout_ms" in options:
        client = client.with_options(timeout=options["timeout_ms"] / 1000)
    if "cancel_after_ms" in step:
        cancellation = Cancellation()
        client = client.with_options(cancellation=cancellation)
        threading.Timer(step["cancel_after_ms"] / 1000, cancellation.cancel).start()
    return client.with_tenant(chosen["tenant"]) if "tenant" in chosen else client


def error_of(error: SkillboxError) -> With:
    code = "cancelled" if isinstance(error, Cancelled) else error.code
    more = {name: getattr(error, name, None) for name in ("status", "hint", "request_id", "retry_after")}
    return {"code": code, **more, **({"hint": None} if isinstance(error, Cancelled) else {})}


for step in scenario["steps"]:
    line: With = {"step": step["name"]}
    try:
        line["result"] = shown(call(client_of(step), step["call"], fill(step.get("with", {}))))
        for name, pointer in step.get("keep", {}).items():
            variables[name] = at(line["result"], pointer)
    except SkillboxError as error:
        line["error"] = error_of(error)
    print(json.dumps(line), flush=True)
