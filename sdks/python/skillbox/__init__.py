"""The Python SDK of Skillbox: one file, standard library only.

    from skillbox import Client

    client = Client("http://localhost:8080", "sk-your-key")
    result = client.run("data-analysis", input={"data": [1, 2, 3, 4, 5]})
    print(result.output)

Everything of /v1 is in groups: client.skills, client.executions, client.sandboxes, client.templates, client.keys, client.tenants,
client.credits, client.secrets, client.events, client.webhooks, client.host, client.runtime, client.sessions. A Client may be used by several threads.
"""

from __future__ import annotations

import base64
import codecs
import dataclasses
import errno
import hashlib
import http.client
import io
import json
import os
import random
import secrets
import select
import socket
import ssl
import stat
import threading
import time
import typing
import uuid
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import (
    Any,
    BinaryIO,
    Callable,
    Dict,
    Generic,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)
from urllib.parse import quote, urlencode, urlsplit

__version__ = "0.1.0"

T = TypeVar("T")

#: What travels as it is, instead of JSON.
Bytes = Union[bytes, str, BinaryIO, Iterable[bytes]]
#: Seconds, or a text such as 90s or 2h.
Duration = Union[int, float, str]


class SkillboxError(Exception):
    """Everything the SDK raises by itself."""

    #: Stable; those a box answers with are listed in /openapi.json.
    code: str
    message: str
    #: What can be done about it.
    hint: Optional[str]

    def __init__(self, code: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message if hint is None else f"{message} {hint}")
        self.code = code
        self.message = message
        self.hint = hint


class APIError(SkillboxError):
    """What a box answered instead of doing what was asked."""

    status: int
    #: Finds the request in the log of the box.
    request_id: Optional[str]
    details: Any
    #: Seconds after which it may be tried again, when the box said so.
    retry_after: Optional[float]

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        super().__init__(str(body.get("error")), str(body.get("message")), body.get("hint"))
        self.status = status
        self.request_id = body.get("request_id")
        self.details = body.get("details")
        self.retry_after = retry_after

    @property
    def status_code(self) -> int:
        return self.status

    @property
    def error_code(self) -> str:
        return self.code

    def __str__(self) -> str:
        return f"{super().__str__()} [{self.status} {self.code}, request {self.request_id}]"


class ConnectionFailed(SkillboxError):
    """No box answered, or the connection broke."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__("unreachable", f"No box answers at {url}: {why}.", "Is it running, and is this its address? skillbox health says so.")


class TimedOut(SkillboxError):
    """The time that the caller gave was over. What was asked may have been done."""

    def __init__(self, url: str, seconds: float) -> None:
        super().__init__("timed_out", f"{url} did not answer within {seconds:g} s.", "Raise timeout, or ask again.")


class Cancelled(SkillboxError):
    """The caller cancelled. What was asked may have been done."""

    def __init__(self) -> None:
        super().__init__("aborted", "The call was cancelled.")


class Cancellation:
    """Ends calls from another thread: client.with_options(cancellation=c).run(...), and elsewhere c.cancel()."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._sockets: List[socket.socket] = []

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        self._event.set()
        with self._lock:
            for held in self._sockets:
                _shut(held)

    def _hold(self, held: socket.socket) -> None:
        with self._lock:
            self._sockets.append(held)
        if self.cancelled:
            _shut(held)

    def _release(self, held: socket.socket) -> None:
        with self._lock:
            if held in self._sockets:
                self._sockets.remove(held)


def _shut(held: socket.socket) -> None:
    try:
        held.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # It is closed already, which is what was wanted.


@dataclass(frozen=True)
class Options:
    """How calls are made. Client.with_options() gives a client with others."""

    #: Whom an administrator acts for; other keys have their own tenant.
    tenant_id: Optional[str] = None
    #: Seconds for one attempt, until the answer is there; 0 for no limit. Default: 60, and none for what is waited for: runs, programs,
    #: new sandboxes.
    timeout: Optional[float] = None
    #: Attempts after the first, on 429, 503 and broken connections.
    max_retries: int = 3
    #: Seconds; a box that asks for a longer pause is not waited for.
    longest_pause: float = 30.0
    #: Ends all calls of the client.
    cancellation: Optional[Cancellation] = None


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list. Groups have all() beside list(), which reads page after page."""

    items: List[T]
    next_cursor: Optional[str]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class ServerEvent(Generic[T]):
    """One event of a stream. Its id, given as last_event_id, goes on from there."""

    id: str
    event: str
    data: T


def is_final(status: str) -> bool:
    """Whether an execution in this status has ended."""
    return status not in ("queued", "running")


class _Ends:
    """What the record of an execution means."""

    status: Any
    files_list: List[Any]

    @property
    def has_files(self) -> bool:
        """Whether it made artifacts."""
        return len(self.files_list) > 0

    @property
    def finished(self) -> bool:
        return is_final(self.status)


# Records: made from the schemas of the box by make docs. Do not edit.


@dataclass(frozen=True)
class ApiKey:
    #: Id of the key (not the key)
    id: str
    name: str
    #: Tenant
    tenant: str
    #: Who acts: adm a person, agt an agent, atm automation
    actor: Literal["adm", "agt", "atm"]
    scopes: List[Literal["skills:read", "skills:write", "executions:read", "executions:run", "sandboxes:read", "sandboxes:use", "secrets:manage", "graph:read", "graph:use", "admin"]]
    #: Time in ISO 8601, UTC
    created_at: str
    expires_at: Optional[str]
    revoked_at: Optional[str]
    #: Exact to a minute
    last_used_at: Optional[str]
    #: The key that this one was signed in with, and ends with; null for one that was made
    parent: Optional[str]


@dataclass(frozen=True)
class Artifact:
    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class ArtifactStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    #: As the workspace sees it; the path of the host for what the workspace does not see
    path: str
    host_path: str
    #: present: there, with nothing to compare to
    state: Literal["ok", "missing", "stale", "present"]


@dataclass(frozen=True)
class Attention:
    severity: Literal["error", "warning"]
    #: What it is about, such as service:web
    subject: str
    message: str
    #: The command that mends it or shows more
    fix: Optional[str]


@dataclass(frozen=True)
class GraphActionError:
    error: str
    message: str
    hint: str


@dataclass(frozen=True)
class GraphAction:
    section: Any
    id: str
    #: Such as clone, fetch, download, copy, write, install, mkdir, expire
    action: str
    result: Literal["done", "unchanged", "planned", "skipped", "failed"]
    path: Optional[str]
    detail: Optional[str]
    error: Optional[GraphActionError]


@dataclass(frozen=True)
class SyncReport:
    dry_run: bool
    changed: bool
    ok: bool
    actions: List[GraphAction]
    duration_ms: float


@dataclass(frozen=True)
class TaskOutcomeError:
    error: str
    message: str
    hint: str


@dataclass(frozen=True)
class TaskOutcome:
    id: str
    #: ready: it was; done: it ran and its check holds now
    result: Literal["ready", "done", "failed", "blocked", "dry-run"]
    duration_ms: float
    detail: Optional[str]
    error: Optional[TaskOutcomeError]
    #: Last lines of its log, where it failed
    tail: List[str]


@dataclass(frozen=True)
class BootstrapReport:
    ok: bool
    sync: SyncReport
    tasks: List[TaskOutcome]


@dataclass(frozen=True)
class BoxModelRuntime:
    mode: str
    agent_user: str
    provider: str
    network: str


@dataclass(frozen=True)
class BoxModelPath:
    variable: str
    path: str
    host_path: str


@dataclass(frozen=True)
class BoxModel:
    name: str
    version: str
    purpose: Optional[str]
    runtime: BoxModelRuntime
    ports: Dict[str, int]
    paths: List[BoxModelPath]
    manifest: Optional[str]
    state_root: str
    clients: List[str]
    #: All that the manifest and the overlays name
    profiles: List[str]


@dataclass(frozen=True)
class BridgeStatusOutput:
    #: As the workspace sees it; the path of the host for what the workspace does not see
    path: str
    host_path: str
    present: bool


@dataclass(frozen=True)
class BridgeStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    state: Literal["fresh", "stale", "missing"]
    outputs: List[BridgeStatusOutput]


@dataclass(frozen=True)
class CanaryRunStep:
    step: Literal["create", "exec", "destroy"]
    ms: float


@dataclass(frozen=True)
class CanaryRun:
    #: Time in ISO 8601, UTC
    time: str
    ok: bool
    #: How long each step took, as far as it came
    steps: List[CanaryRunStep]
    error: Optional[str]


@dataclass(frozen=True)
class CheckStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    state: Literal["ok", "fail"]
    detail: str


@dataclass(frozen=True)
class ContextReportFile:
    path: str
    changed: bool


@dataclass(frozen=True)
class ContextReport:
    client: Optional[str]
    files: List[ContextReportFile]
    bytes: int


@dataclass(frozen=True)
class CreatedApiKey:
    #: Id of the key (not the key)
    id: str
    name: str
    #: Tenant
    tenant: str
    #: Who acts: adm a person, agt an agent, atm automation
    actor: Literal["adm", "agt", "atm"]
    scopes: List[Literal["skills:read", "skills:write", "executions:read", "executions:run", "sandboxes:read", "sandboxes:use", "secrets:manage", "graph:read", "graph:use", "admin"]]
    #: Time in ISO 8601, UTC
    created_at: str
    expires_at: Optional[str]
    revoked_at: Optional[str]
    #: Exact to a minute
    last_used_at: Optional[str]
    #: The key that this one was signed in with, and ends with; null for one that was made
    parent: Optional[str]
    #: The key itself; shown this once
    key: str


@dataclass(frozen=True)
class CreatedWebhook:
    #: Name of the webhook
    name: str
    #: Whose events it gets; null: those of all tenants, as the manifest declares
    tenant: Optional[str]
    url: str
    events: List[str]
    source: Literal["api", "manifest"]
    #: null for those of the manifest
    created_at: Optional[str]
    #: failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then
    state: Literal["ok", "failing", "away"]
    #: Since when it fails or is away
    since: Optional[str]
    #: What the last failure was
    error: Optional[str]
    #: Deliveries that wait
    pending: int
    #: Deliveries that were given up; skillbox webhook retry sends them again
    dead: int
    #: Events of the box that were not looked at yet for this webhook
    events_behind: int
    #: Key that signs deliveries. It is in this answer and nowhere else
    secret: str


@dataclass(frozen=True)
class CredentialRule:
    host: str
    scheme: Literal["https", "http"]
    port: int
    header: str
    #: Text of the header; ${secret} stands for the value of the secret
    value: str
    #: Name of a secret of the tenant; default/NAME is one of the operator
    secret: str


@dataclass(frozen=True)
class CreditBalance:
    #: Tenant
    tenant: str
    #: What new sandboxes can be paid with
    available: float
    #: Set aside for sandboxes that live
    held: float
    #: Settled so far
    spent: float
    #: available + held + spent
    granted: float


@dataclass(frozen=True)
class CreditEntry:
    #: Order in the ledger
    seq: int
    #: Time in ISO 8601, UTC
    time: str
    #: Tenant
    tenant: str
    #: grant: added; hold: set aside; settle: spent of what was held; release: held no longer
    kind: Literal["grant", "hold", "settle", "release"]
    amount: float
    sandbox: Optional[str]
    note: Optional[str]
    actor: str


@dataclass(frozen=True)
class ServiceOutcomeError:
    error: str
    message: str
    hint: str


@dataclass(frozen=True)
class ServiceOutcome:
    id: str
    result: Literal["started", "already-running", "failed", "timeout", "skipped", "dry-run", "stopped", "killed", "stuck", "external", "not-running"]
    pid: Optional[int]
    duration_ms: float
    detail: Optional[str]
    error: Optional[ServiceOutcomeError]
    #: Last lines of its log, where it failed
    tail: List[str]


@dataclass(frozen=True)
class DownReport:
    ok: bool
    dry_run: bool
    services: List[ServiceOutcome]


@dataclass(frozen=True)
class EnvFileStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    #: As the workspace sees it; the path of the host for what the workspace does not see
    path: str
    host_path: str
    repo: Optional[str]
    state: Literal["ok", "missing", "stale", "source-missing"]


@dataclass(frozen=True)
class EventActor:
    """Who caused it"""

    #: Who acts: adm a person, agt an agent, atm automation
    kind: Literal["adm", "agt", "atm"]
    id: str


@dataclass(frozen=True)
class EventSubject:
    """What it is about"""

    type: str
    id: str


@dataclass(frozen=True)
class Event:
    #: Position in the box; grows, may have gaps
    seq: int
    #: Unique id
    id: str
    #: Time in ISO 8601, UTC
    time: str
    #: Tenant
    tenant: str
    #: Who caused it
    actor: EventActor
    #: Host that recorded it
    host: str
    #: What it is about
    subject: EventSubject
    #: What happened, such as execution.finished
    type: str
    #: The particulars
    data: Dict[str, Any]


@dataclass(frozen=True)
class ExecutionError:
    code: str
    message: str
    details: Any = None


@dataclass(frozen=True)
class ExecutionTimings:
    """Where the time went, in milliseconds to the microsecond; null for a phase that was not reached. What comes after the commit is in the header Server-Timing of the answer and in /metrics"""

    #: Waiting for a slot, and for dependencies that are being installed
    queue: float
    #: Finding the skill, checking the input, writing the row that accepts it
    claim: Optional[float]
    #: Getting a sandbox: one that stood ready, or a new one until its program can start
    sandbox: Optional[float]
    #: The program, from its job to its exit
    run: Optional[float]
    #: Fetching output and artifacts, storing them, checking the output
    collect: Optional[float]
    #: Writing the end, up to its commit
    record: Optional[float]


@dataclass(frozen=True)
class Execution(_Ends):
    #: Id of the execution
    execution_id: str
    #: Name of the skill
    skill_name: str
    #: Semantic version of the skill
    skill_version: str
    #: Tenant
    tenant_id: str
    status: Literal["queued", "running", "success", "failed", "timeout", "cancelled"]
    input: Any
    #: What the skill wrote to SANDBOX_OUTPUT; null when it wrote nothing
    output: Any
    #: stdout and stderr in order, cut with a mark when too long
    logs: str
    files_list: List[Artifact]
    #: Link to all artifacts as tar.gz, good for an hour without a key; made when read
    files_url: Optional[str]
    error: Optional[ExecutionError]
    exit_code: Optional[int]
    signal: Optional[str]
    #: Time spent waiting for a slot
    queued_ms: int
    #: Time of the run itself, without the queue
    duration_ms: Optional[int]
    #: null until it has ended, and when the server that ran it is gone
    timings: Optional[ExecutionTimings]
    #: Whether a sandbox that stood ready served it; null when it got none
    warm: Optional[bool]
    peak_memory_bytes: Optional[int]
    cpu_ms: Optional[int]
    provider: Optional[str]
    host: Optional[str]
    #: Time in ISO 8601, UTC
    created_at: str
    started_at: Optional[str]
    finished_at: Optional[str]


@dataclass(frozen=True)
class ExecutionEvent:
    """event: stdout, stderr or status; id: its number, to be sent as Last-Event-ID to go on from there"""

    #: Time in ISO 8601, UTC
    time: str
    text: str


@dataclass(frozen=True)
class ExecutionFiguresPoint:
    #: Time in ISO 8601, UTC
    time: str
    success: int
    failed: int
    other: int


@dataclass(frozen=True)
class Spread:
    """In milliseconds"""

    p50: float
    p95: float


@dataclass(frozen=True)
class ExecutionFiguresPhase:
    p50: float
    p95: float
    phase: Literal["queue", "claim", "sandbox", "run", "collect", "record"]


@dataclass(frozen=True)
class ExecutionFiguresError:
    code: str
    count: int


@dataclass(frozen=True)
class ExecutionFiguresSkill:
    #: Name of the skill
    skill: str
    runs: int
    failed: int
    total: Optional[Spread]
    #: Time in ISO 8601, UTC
    last_at: str


@dataclass(frozen=True)
class ExecutionFigures:
    #: Time in ISO 8601, UTC
    since: str
    #: Time in ISO 8601, UTC
    until: str
    #: Length of a point in time
    step_seconds: int
    #: false: so much ran that only the newest part of the time was counted
    complete: bool
    #: That run now
    running: int
    #: That wait now
    queued: int
    #: By when they were created; failed includes timeout, other is cancelled or not ended; times without any are left out
    points: List[ExecutionFiguresPoint]
    #: The newest ones, of which the times below are
    sampled: int
    #: All phases together; null when none has ended
    total: Optional[Spread]
    #: Those that were reached
    phases: List[ExecutionFiguresPhase]
    #: Share that a sandbox that stood ready served
    warm: Optional[float]
    #: Most frequent first
    errors: List[ExecutionFiguresError]
    #: Most used first
    skills: List[ExecutionFiguresSkill]


@dataclass(frozen=True)
class ExecutionSummaryError:
    code: str
    message: str
    details: Any = None


@dataclass(frozen=True)
class ExecutionSummary:
    #: Id of the execution
    execution_id: str
    #: Name of the skill
    skill_name: str
    #: Semantic version of the skill
    skill_version: str
    #: Tenant
    tenant_id: str
    status: Literal["queued", "running", "success", "failed", "timeout", "cancelled"]
    error: Optional[ExecutionSummaryError]
    exit_code: Optional[int]
    signal: Optional[str]
    #: Time spent waiting for a slot
    queued_ms: int
    #: Time of the run itself, without the queue
    duration_ms: Optional[int]
    #: null until it has ended, and when the server that ran it is gone
    timings: Optional[ExecutionTimings]
    #: Whether a sandbox that stood ready served it; null when it got none
    warm: Optional[bool]
    peak_memory_bytes: Optional[int]
    cpu_ms: Optional[int]
    provider: Optional[str]
    host: Optional[str]
    #: Time in ISO 8601, UTC
    created_at: str
    started_at: Optional[str]
    finished_at: Optional[str]


@dataclass(frozen=True)
class FileEntry:
    path: str
    kind: Literal["file", "directory", "symlink", "other"]
    size: int
    mode: int
    #: Time in ISO 8601, UTC
    modified_at: str
    target: Optional[str] = None


@dataclass(frozen=True)
class FocusReportStep:
    step: Literal["sync", "bootstrap", "up", "collect", "context", "persist"]
    result: Literal["done", "unchanged", "failed", "skipped"]
    duration_ms: float
    detail: Optional[str]


@dataclass(frozen=True)
class ServiceStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    kind: str
    #: running: its process lives and its health holds; starting: lives, health not yet; down: was started and is gone or unhealthy; declared: never started or stopped; ok: managed elsewhere and healthy; idle: nothing to run; unknown: managed elsewhere, no way to tell
    state: Literal["running", "starting", "down", "declared", "ok", "idle", "unknown"]
    #: up asked for it and down did not since: pulse keeps it alive
    wanted: bool
    pid: Optional[int]
    #: Sandbox it runs in; null: on the host
    sandbox: Optional[str]
    #: null: no healthcheck, or nothing runs
    healthy: Optional[bool]
    mode: Optional[Literal["reuse", "prod", "fresh"]]
    #: Those it supports
    modes: List[Literal["reuse", "prod", "fresh"]]
    depends_on: List[str]
    started_at: Optional[str]
    #: By pulse, since it was last started by hand
    restarts: int
    #: Path of its log on the host
    log: Optional[str]
    #: Why it is not well
    detail: Optional[str]


@dataclass(frozen=True)
class RepoState:
    id: str
    path: str
    branch: Optional[str]
    dirty: Optional[int]
    last_commit: Optional[str]


@dataclass(frozen=True)
class FocusReportError:
    log: str
    line: str


@dataclass(frozen=True)
class RuntimeActivity:
    #: Time in ISO 8601, UTC
    time: str
    type: str
    subject: str
    data: Dict[str, Any]


@dataclass(frozen=True)
class FocusReport:
    ok: bool
    client: str
    profiles: List[str]
    resumed: bool
    #: Time in ISO 8601, UTC
    focused_at: str
    steps: List[FocusReportStep]
    attention: List[Attention]
    services: List[ServiceStatus]
    repos: List[RepoState]
    #: Of late, from logs
    errors: List[FocusReportError]
    activity: List[RuntimeActivity]
    #: Those that are open
    sessions: List[str]
    #: Files that agents read
    context: List[str]


@dataclass(frozen=True)
class GraphCheck:
    name: str
    #: Of the registry of errors
    code: Optional[str]
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: Optional[str]


@dataclass(frozen=True)
class GraphExamination:
    healthy: bool
    checks: List[GraphCheck]


@dataclass(frozen=True)
class Health:
    #: degraded: the box runs, and something an operator accepted or should mend is missing
    status: Literal["ok", "degraded"]
    version: str
    host: str
    #: Layers of the sandbox this host lacks and the manifest accepts
    missing_layers: List[str]


@dataclass(frozen=True)
class HostCheck:
    name: str
    #: missing: the box cannot do its work; warn: it can, but look at it
    state: Literal["ok", "warn", "missing"]
    detail: str
    #: The line that mends it
    fix: Optional[str] = None


@dataclass(frozen=True)
class HostExamination:
    #: Nothing is missing
    healthy: bool
    checks: List[HostCheck]


@dataclass(frozen=True)
class HostReportMemory:
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class HostReportDisk:
    """Where the state root is"""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class HostReportWarmExecutions:
    """For runs of skills"""

    #: That stand ready now
    ready: int
    #: That the demand of late asks for
    wanted: int
    pools: int
    memory_bytes: int
    #: Since the start
    served: int
    #: Since the start: none was ready
    missed: int


@dataclass(frozen=True)
class HostReportWarmSandboxesTemplate:
    template: str
    #: That stand ready now
    ready: int
    #: That the demand of late asks for
    wanted: int


@dataclass(frozen=True)
class HostReportWarmSandboxes:
    """For creates of living sandboxes"""

    #: That stand ready now
    ready: int
    #: That the demand of late asks for
    wanted: int
    pools: int
    memory_bytes: int
    #: Since the start
    served: int
    #: Since the start: none was ready
    missed: int
    templates: List[HostReportWarmSandboxesTemplate]


@dataclass(frozen=True)
class HostReportWarm:
    """Sandboxes made ready ahead"""

    #: SKILLBOX_WARM_MEMORY, for both
    budget_bytes: int
    #: For runs of skills
    executions: HostReportWarmExecutions
    #: For creates of living sandboxes
    sandboxes: HostReportWarmSandboxes


@dataclass(frozen=True)
class HostReportProvider:
    name: str
    tier: str
    healthy: bool
    detail: str


@dataclass(frozen=True)
class Webhook:
    #: Name of the webhook
    name: str
    #: Whose events it gets; null: those of all tenants, as the manifest declares
    tenant: Optional[str]
    url: str
    events: List[str]
    source: Literal["api", "manifest"]
    #: null for those of the manifest
    created_at: Optional[str]
    #: failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then
    state: Literal["ok", "failing", "away"]
    #: Since when it fails or is away
    since: Optional[str]
    #: What the last failure was
    error: Optional[str]
    #: Deliveries that wait
    pending: int
    #: Deliveries that were given up; skillbox webhook retry sends them again
    dead: int
    #: Events of the box that were not looked at yet for this webhook
    events_behind: int


@dataclass(frozen=True)
class HostReport:
    host: str
    version: str
    cpus: int
    #: Share of all processors that was busy in the last seconds
    cpu_used: float
    #: Programs that ran or wanted to, over 1, 5 and 15 minutes
    load: List[float]
    memory: HostReportMemory
    #: Where the state root is
    disk: HostReportDisk
    #: Of this host, by state
    sandboxes: Dict[str, int]
    #: Sandboxes made ready ahead
    warm: HostReportWarm
    providers: List[HostReportProvider]
    #: The last run here; null before the first
    canary: Optional[CanaryRun]
    #: Those of the box whose hub refuses or does not answer, or that gave up deliveries
    webhooks: List[Webhook]


@dataclass(frozen=True)
class LastFocusStep:
    step: Literal["sync", "bootstrap", "up", "collect", "context", "persist"]
    result: Literal["done", "unchanged", "failed", "skipped"]
    duration_ms: float
    detail: Optional[str]


@dataclass(frozen=True)
class LastFocusError:
    log: str
    line: str


@dataclass(frozen=True)
class LastFocus:
    ok: bool
    client: str
    #: As they were asked for, core aside
    profiles: List[str]
    #: Those that were named; empty: all
    services: List[str]
    #: reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset
    mode: Literal["reuse", "prod", "fresh"]
    #: Time in ISO 8601, UTC
    focused_at: str
    steps: List[LastFocusStep]
    repos: List[RepoState]
    #: Of late, from logs
    errors: List[LastFocusError]
    activity: List[RuntimeActivity]
    #: Those that are open
    sessions: List[str]
    #: Files that agents read
    context: List[str]


@dataclass(frozen=True)
class LedgerEntry:
    legacy_surface: str
    client: Optional[str]
    surface_type: Literal["service", "env_target", "helper", "flag"]
    action: Literal["declare", "bridge", "build", "drop"]
    ownership_state: Literal["covered", "bridge-only", "deferred", "external"]
    intended_profiles: List[str]
    bridge_dependency: Optional[str]
    request_error: Optional[str]


@dataclass(frozen=True)
class LintFinding:
    severity: Literal["error", "warning"]
    code: str
    file: str
    line: int
    message: str
    fix: str


@dataclass(frozen=True)
class LogStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    #: As the workspace sees it; the path of the host for what the workspace does not see
    path: str
    host_path: str
    retention_days: Optional[float]
    state: Literal["ok", "missing"]
    bytes: int


@dataclass(frozen=True)
class PreviewLink:
    url: str
    #: Time in ISO 8601, UTC
    expires_at: str


@dataclass(frozen=True)
class Program:
    program_id: int
    pid: int
    argv: List[str]
    cwd: str
    tag: str
    #: Time in ISO 8601, UTC
    started_at: str
    ended: bool
    exit_code: Optional[int]
    signal: Optional[str]
    #: Number of its last output so far
    last_event: int


@dataclass(frozen=True)
class ProgramEvent:
    """event: stdout or stderr with text or base64, pty with base64, lost when output before a number is gone, end with exit_code and signal, error when the sandbox went away; id: to be sent as Last-Event-ID to go on from there"""

    text: Optional[str] = None
    base64: Optional[str] = None
    before: Optional[int] = None
    exit_code: Optional[int] = None
    signal: Optional[str] = None
    error: Optional[str] = None
    message: Optional[str] = None


@dataclass(frozen=True)
class ProgramResult:
    program_id: int
    pid: int
    ended: bool
    exit_code: Optional[int]
    signal: Optional[str]
    #: What a terminal shows, for a program that has one
    stdout: str
    stderr: str
    timed_out: bool


@dataclass(frozen=True)
class PulseStatus:
    running: bool
    pid: Optional[int]
    updated_at: Optional[str]
    #: Seconds between two whole looks; a process that ends is seen at once
    interval: float
    auto_restart: bool
    cycle_count: int
    heals: int
    events_emitted: int
    config_hash: Optional[str]
    service_states: Dict[str, str]
    check_states: Dict[str, str]
    #: Services that fell too often; up or restart tries them again
    given_up: List[str]
    #: Services that wait for their next start
    next_attempts: Dict[str, str]


@dataclass(frozen=True)
class SkillDependencies:
    #: python: requirements.txt; node: package.json with its lock file
    kind: Literal["python", "node"]
    #: building, available or failed; not_built: not with the interpreter this host has now, the next run or build starts it
    state: Literal["not_built", "building", "available", "failed"]
    #: Why it failed, in one line; the build log has the rest
    error: Optional[str]
    #: Unpacked bytes
    size_bytes: Optional[int]
    files: Optional[int]
    started_at: Optional[str]
    finished_at: Optional[str]


@dataclass(frozen=True)
class PushedSkillResources:
    cpu: Optional[float]
    memory_bytes: Optional[int]


@dataclass(frozen=True)
class SkillFile:
    path: str
    size: int


@dataclass(frozen=True)
class PushedSkill:
    #: Name of the skill
    name: str
    #: Semantic version of the skill
    version: str
    description: str
    #: executable: has an entrypoint; cognitive: instructions only
    mode: Literal["executable", "cognitive"]
    lang: Optional[Literal["python", "node", "bash"]]
    #: Time in ISO 8601, UTC
    created_at: str
    #: null when it declares none
    dependencies: Optional[SkillDependencies]
    #: Path of the program inside the skill
    entrypoint: Optional[str]
    image: Optional[str]
    timeout_ms: Optional[int]
    resources: PushedSkillResources
    #: Modules that are imported before a job comes
    preload: List[str]
    env: Dict[str, str]
    input_schema: Optional[Dict[str, Any]]
    output_schema: Optional[Dict[str, Any]]
    license: Optional[str]
    metadata: Dict[str, Any]
    #: The Markdown body of SKILL.md
    instructions: str
    #: SHA-256 over the paths, modes and contents of its files
    digest: str
    #: Unpacked bytes
    size: int
    files: List[SkillFile]
    #: false when exactly this content was there already
    created: bool
    warnings: List[LintFinding]


@dataclass(frozen=True)
class Readiness:
    status: Literal["ok", "unavailable"]
    #: ok, or what is wrong
    checks: Dict[str, str]


@dataclass(frozen=True)
class RenderedGraphWhy:
    #: Such as services.web.command
    path: str
    file: str
    line: int


@dataclass(frozen=True)
class RenderedGraph:
    client: Optional[str]
    profiles: List[str]
    #: Sections with their items, placeholders filled in
    graph: Dict[str, Any]
    #: What ${NAME} stands for; secrets are never among them
    variables: Dict[str, str]
    #: With why: the file and line of each value
    why: List[RenderedGraphWhy]


@dataclass(frozen=True)
class RepoStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    #: As the workspace sees it; the path of the host for what the workspace does not see
    path: str
    host_path: str
    source: Literal["bind", "directory", "git", "manual"]
    #: dirty: local changes; behind: the last sync fetched more
    state: Literal["ok", "missing", "dirty", "behind", "unknown"]
    branch: Optional[str]
    commit: Optional[str]
    #: Why its state is unknown
    detail: Optional[str]


@dataclass(frozen=True)
class RouteExplanationRoute:
    provider: str
    taken: bool
    reason: str


@dataclass(frozen=True)
class RouteExplanation:
    #: Exactly what would be made: name@version
    template: str
    price_per_hour: float
    #: Candidates in order; taken: this one would make it now
    route: List[RouteExplanationRoute]


@dataclass(frozen=True)
class SkillSetStatusSkill:
    name: str
    state: Literal["ok", "not-installed", "stale", "extra"]
    commit: Optional[str]


@dataclass(frozen=True)
class SkillSetStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    state: Literal["ok", "missing", "stale", "invalid"]
    skills: List[SkillSetStatusSkill]
    detail: Optional[str]


@dataclass(frozen=True)
class TaskStatus:
    id: str
    #: Overlay that declares it; null: the box itself
    client: Optional[str]
    #: Empty: always
    profiles: List[str]
    required: bool
    notes: Optional[str]
    #: ready: its success check holds
    state: Literal["ready", "pending", "blocked"]
    depends_on: List[str]
    blocked_by: List[str]


@dataclass(frozen=True)
class RuntimeStatus:
    client: Optional[str]
    profiles: List[str]
    #: Overlays there are
    clients: List[str]
    #: Nothing needs attention
    healthy: bool
    config_hash: str
    repos: List[RepoStatus]
    artifacts: List[ArtifactStatus]
    env_files: List[EnvFileStatus]
    skills: List[SkillSetStatus]
    tasks: List[TaskStatus]
    services: List[ServiceStatus]
    logs: List[LogStatus]
    checks: List[CheckStatus]
    bridges: List[BridgeStatus]
    parity_ledger: List[LedgerEntry]
    connectors: List[str]
    pulse: PulseStatus
    #: What was focused last, whichever client is selected, and what was found then; null: nothing yet
    focus: Optional[LastFocus]
    attention: List[Attention]


@dataclass(frozen=True)
class SandboxOrigin:
    #: Id of the sandbox
    sandbox: str
    #: null: it was forked
    snapshot: Optional[str]


@dataclass(frozen=True)
class SandboxLimits:
    memory_bytes: int
    cpu: float
    processes: int
    disk_bytes: int


@dataclass(frozen=True)
class SandboxRoute:
    provider: str
    taken: bool
    reason: str


@dataclass(frozen=True)
class SandboxEndpoint:
    service: str
    #: Its number for previews
    port: int
    #: Path of the box that leads to it
    preview: str
    #: A line for the shell of who may log in to its host, that reaches it without the box
    tunnel: Optional[str]


@dataclass(frozen=True)
class Sandbox:
    #: Id of the sandbox
    id: str
    #: Tenant
    tenant: str
    state: Literal["requested", "provisioning", "ready", "paused", "destroying", "destroyed", "failed"]
    #: Exactly what it was made from: name@version
    template: str
    provider: Optional[str]
    #: How strong the walls of its provider are
    tier: Optional[str]
    #: Host that owns it
    host: str
    #: Whose disk it began with; null: that of its template
    origin: Optional[SandboxOrigin]
    #: Names and values of your own
    labels: Dict[str, str]
    network: Literal["none", "allow", "full"]
    #: What it reaches with network allow
    network_allow: List[Any]
    limits: SandboxLimits
    #: What happens when nothing uses it for idle_ms
    on_idle: Literal["destroy", "pause", "keep"]
    idle_ms: Optional[int]
    on_expiry: Literal["destroy", "pause"]
    #: Time in ISO 8601, UTC
    created_at: str
    ready_at: Optional[str]
    expires_at: Optional[str]
    ended_at: Optional[str]
    #: Why it is in this state
    reason: Optional[str]
    #: Why it is paused: somebody asked, nothing used it, or its time was over
    pause_cause: Optional[Literal["asked", "idle", "expired"]]
    #: Why each candidate was taken or passed over
    route: List[SandboxRoute]
    #: Servers that are in it from the start
    endpoints: List[SandboxEndpoint]


@dataclass(frozen=True)
class SandboxUsage:
    #: Time in ISO 8601, UTC
    time: str
    #: CPU time since it was last started
    cpu_ms: float
    memory_bytes: int
    memory_limit_bytes: int
    disk_bytes: int
    disk_limit_bytes: int
    processes: int


@dataclass(frozen=True)
class SandboxMetrics:
    now: SandboxUsage
    history: List[SandboxUsage]


@dataclass(frozen=True)
class Secret:
    #: Name of the secret
    name: str
    #: Time in ISO 8601, UTC
    created_at: str
    #: When its value was set last
    updated_at: str
    #: Who set it: kind and id of the key
    updated_by: str


@dataclass(frozen=True)
class ServiceLog:
    service: str
    path: str
    lines: List[str]


@dataclass(frozen=True)
class ServiceLogLine:
    service: str
    line: str


@dataclass(frozen=True)
class ServiceLogs:
    items: List[ServiceLog]


@dataclass(frozen=True)
class SessionEvent:
    #: Time in ISO 8601, UTC
    ts: str
    type: str
    client_id: str
    #: Id of the session
    session_id: str
    detail: Dict[str, Any]


@dataclass(frozen=True)
class SignInLink:
    #: Good once; exchanged for a key at /v1/sign-in
    code: str
    #: The dashboard, with the code behind the #, where no server and no log sees it
    url: str
    #: Time in ISO 8601, UTC
    expires_at: str


@dataclass(frozen=True)
class SkillResources:
    cpu: Optional[float]
    memory_bytes: Optional[int]


@dataclass(frozen=True)
class Skill:
    #: Name of the skill
    name: str
    #: Semantic version of the skill
    version: str
    description: str
    #: executable: has an entrypoint; cognitive: instructions only
    mode: Literal["executable", "cognitive"]
    lang: Optional[Literal["python", "node", "bash"]]
    #: Time in ISO 8601, UTC
    created_at: str
    #: null when it declares none
    dependencies: Optional[SkillDependencies]
    #: Path of the program inside the skill
    entrypoint: Optional[str]
    image: Optional[str]
    timeout_ms: Optional[int]
    resources: SkillResources
    #: Modules that are imported before a job comes
    preload: List[str]
    env: Dict[str, str]
    input_schema: Optional[Dict[str, Any]]
    output_schema: Optional[Dict[str, Any]]
    license: Optional[str]
    metadata: Dict[str, Any]
    #: The Markdown body of SKILL.md
    instructions: str
    #: SHA-256 over the paths, modes and contents of its files
    digest: str
    #: Unpacked bytes
    size: int
    files: List[SkillFile]


@dataclass(frozen=True)
class SkillSummary:
    #: Name of the skill
    name: str
    #: Semantic version of the skill
    version: str
    description: str
    #: executable: has an entrypoint; cognitive: instructions only
    mode: Literal["executable", "cognitive"]
    lang: Optional[Literal["python", "node", "bash"]]
    #: Time in ISO 8601, UTC
    created_at: str
    #: null when it declares none
    dependencies: Optional[SkillDependencies]


@dataclass(frozen=True)
class Snapshot:
    #: Id of the snapshot
    id: str
    #: Id of the sandbox
    sandbox: str
    name: Optional[str]
    template: str
    #: Time in ISO 8601, UTC
    created_at: str


@dataclass(frozen=True)
class StaleSandbox:
    sandbox: str
    provider: Optional[str]
    #: orphan: no living record owns it; expired: its time is over; unfinished: a server stopped while it was made or ended
    why: Literal["orphan", "expired", "unfinished"]
    reaped: bool


@dataclass(frozen=True)
class TemplateResources:
    cpu: float
    memory_bytes: int
    disk_bytes: int
    processes: int
    tmp_bytes: int


@dataclass(frozen=True)
class TemplateNetwork:
    mode: Literal["none", "allow", "full"]
    allow: List[Any]
    credentials: Optional[List[CredentialRule]] = None
    #: Whether it trusts the box, which looks into TLS where a rule needs it
    tls: Optional[bool] = None
    #: What it finds at http://box.internal
    internal: Optional[List[Literal["network", "graph", "graph-read"]]] = None


@dataclass(frozen=True)
class TemplateTtl:
    default_ms: int
    max_ms: int


@dataclass(frozen=True)
class TemplateIdle:
    action: Literal["destroy", "pause", "keep"]
    after_ms: Optional[int]


@dataclass(frozen=True)
class Template:
    name: str
    version: int
    description: str
    #: Candidates, in order
    providers: List[str]
    image: Optional[str]
    resources: TemplateResources
    network: TemplateNetwork
    ttl: TemplateTtl
    idle: TemplateIdle
    placement: List[str]
    #: Commands run once, before it is ready
    setup: List[str]
    #: JSON Schema of the inputs
    inputs: Optional[Dict[str, Any]]
    price_per_hour: float
    #: Names and values of your own
    labels: Dict[str, str]
    admin_only: bool
    #: What its provider wants to know
    options: Dict[str, Any]
    source: Literal["built-in", "manifest", "api"]


@dataclass(frozen=True)
class TenantLimits:
    #: Requests allowed per second, with bursts of twice that
    requests_per_second: float
    #: Executions that may run at once
    slots: int
    #: Bytes of skills, artifacts and logs the tenant may keep
    storage_bytes: int


@dataclass(frozen=True)
class Tenant:
    #: Tenant
    name: str
    limits: TenantLimits
    storage_used_bytes: int
    #: true when the manifest declares it; then it is read-only here
    declared: bool


@dataclass(frozen=True)
class UpReport:
    ok: bool
    dry_run: bool
    #: reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset
    mode: Literal["reuse", "prod", "fresh"]
    sync: SyncReport
    tasks: List[TaskOutcome]
    services: List[ServiceOutcome]
    #: Where the box answers
    url: Optional[str]
    admin_key_file: Optional[str]


@dataclass(frozen=True)
class WatchEvent:
    """event: create, write, remove, rename or attributes"""

    #: Relative to the watched folder
    path: str


@dataclass(frozen=True)
class WebhookDeliverySubject:
    type: str
    id: str


@dataclass(frozen=True)
class WebhookDelivery:
    #: The webhook-id of the delivery, the same at every attempt
    event_id: str
    #: Position of the event in the box
    seq: int
    type: str
    subject: WebhookDeliverySubject
    state: Literal["pending", "delivered", "dead"]
    attempts: int
    #: HTTP status of the last answer; null when there was none
    status: Optional[int]
    error: Optional[str]
    #: null when it is over, or when it comes as soon as those before it
    next_attempt_at: Optional[str]
    finished_at: Optional[str]


@dataclass(frozen=True)
class WebhookRetry:
    retried: int


@dataclass(frozen=True)
class WebhookTest:
    ok: bool
    #: HTTP status of the answer; null when there was none
    status: Optional[int]
    error: Optional[str]
    ms: float


@dataclass(frozen=True)
class WorkStep:
    #: Such as sync, run site or start web; the same from its beginning to its end
    name: str
    #: phase: what the others are parts of
    kind: Literal["phase", "sync", "bridge", "task", "service"]
    state: Literal["running", "done", "unchanged", "planned", "skipped", "failed"]
    #: null: not known, or not over
    duration_ms: Optional[float]
    #: Why it failed, or what there is to say
    detail: Optional[str]
    #: Last lines of its log, where it failed
    tail: List[str]


@dataclass(frozen=True)
class WorkProgress:
    #: Time in ISO 8601, UTC
    time: str
    #: One line about what goes on now
    text: str
    #: A part of the work that began or ended; null: only the line is new
    step: Optional[WorkStep]


@dataclass(frozen=True)
class WorkSession:
    #: Id of the session
    session_id: str
    client_id: str
    label: Optional[str]
    goal: Optional[str]
    state: Literal["active", "completed", "failed", "abandoned"]
    #: Time in ISO 8601, UTC
    started_at: str
    #: Time in ISO 8601, UTC
    updated_at: str
    ended_at: Optional[str]
    #: How often
    resumed: int
    events: int
    #: Active, but nobody was heard of for an hour
    stale: bool
    summary: Optional[str]
    #: Folder with meta.json, events.jsonl and handoff.md
    path: str


@dataclass(frozen=True)
class WorkSessionDetail:
    #: Id of the session
    session_id: str
    client_id: str
    label: Optional[str]
    goal: Optional[str]
    state: Literal["active", "completed", "failed", "abandoned"]
    #: Time in ISO 8601, UTC
    started_at: str
    #: Time in ISO 8601, UTC
    updated_at: str
    ended_at: Optional[str]
    #: How often
    resumed: int
    events: int
    #: Active, but nobody was heard of for an hour
    stale: bool
    summary: Optional[str]
    #: Folder with meta.json, events.jsonl and handoff.md
    path: str
    timeline: List[SessionEvent]
    handoff: Optional[str]


@dataclass(frozen=True)
class WorkSessions:
    items: List[WorkSession]


# End of the records.


@dataclass(frozen=True)
class ExecResult:
    """How a program ended, and what it wrote."""

    program_id: int
    pid: int
    ended: bool
    exit_code: Optional[int]
    signal: Optional[str]
    stdout: str
    stderr: str
    #: None when the output was streamed: then nobody knows.
    timed_out: Optional[bool]


@lru_cache(maxsize=None)
def _fields_of(kind: Any) -> Dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode(kind: Any, value: Any) -> Any:
    """JSON as a record. What a newer box adds is left out; what an older one lacks is None."""
    if value is None or kind is Any:
        return value
    origin = typing.get_origin(kind)
    if origin is Union:
        return _decode(typing.get_args(kind)[0], value)
    if origin is list:
        (item,) = typing.get_args(kind)
        return [_decode(item, one) for one in value]
    if origin is dict:
        return {name: _decode(typing.get_args(kind)[1], one) for name, one in value.items()}
    if dataclasses.is_dataclass(kind):
        return typing.cast(Any, kind)(**{name: _decode(field, value.get(name)) for name, field in _fields_of(typing.cast(Any, kind)).items()})
    return value


def _given(**fields: Any) -> Dict[str, Any]:
    """Without what was left out."""
    return {name.rstrip("_"): value for name, value in fields.items() if value is not None}


# Connections ------------------------------------------------------------------------------------------------------------------

#: The box closes connections that are idle for 65 seconds.
_longest_idle = 30.0
_longest_connect = 10.0
_default_timeout = 60.0
#: The box says that it is alive every 15 seconds.
_longest_silence = 45.0
_first_pause = 0.25
#: It does not go away by itself.
_lasting = ("sandbox_limit",)
#: May stand for something that was half done.
_doubtful = ("unavailable",)


class _Pool:
    """Connections to one box, kept for the next request."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SkillboxError("usage", f"{url!r} is not the address of a box.", "Give one such as http://localhost:8080.")
        self.url = url.rstrip("/")
        self.prefix = parts.path.rstrip("/")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []
        self._lock = threading.Lock()

    def take(self, timeout: float) -> http.client.HTTPConnection:
        with self._lock:
            while self._idle:
                since, connection = self._idle.pop()
                if time.monotonic() - since < _longest_idle and connection.sock is not None and not _readable(connection.sock):
                    return connection
                connection.close()
        kind: Any = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        more = {"context": ssl.create_default_context()} if self._secure else {}
        connection = kind(self._host, self._port, timeout=timeout, **more)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return typing.cast(http.client.HTTPConnection, connection)

    def give(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), connection))

    def close(self) -> None:
        with self._lock:
            for _since, connection in self._idle:
                connection.close()
            self._idle.clear()

    def __del__(self) -> None:
        # A client that is dropped takes its idle connections along. One that could not be made has none.
        if hasattr(self, "_idle"):
            self.close()


class _Connection:
    """One box, one key: requests with time limits, retries and typed errors. Knows routes, but no particular one."""

    def __init__(self, pool: _Pool, key: Optional[str], options: Options) -> None:
        self.pool = pool
        self.url = pool.url
        self.key = key
        self.options = options

    def call(self, route: str, input: Mapping[str, Any], **send: Any) -> Any:
        """The answer of a route, read: JSON, text, bytes, or None."""
        return self._exchange(route, input, _read_answer, **send)

    def open(self, route: str, input: Mapping[str, Any], **send: Any) -> "Download":
        """The answer of a route, unread: only its head is waited for."""
        return self._exchange(route, input, lambda answer: answer, **send)

    def _exchange(
        self,
        route: str,
        input: Mapping[str, Any],
        read: Callable[["Download"], T],
        *,
        body: Optional[Bytes] = None,
        content_type: str = "application/octet-stream",
        headers: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
        accept: Sequence[int] = (),
        waits: bool = False,
    ) -> T:
        method, target, content, content_type = _request_of(route, input, body, content_type)
        whole = {
            "User-Agent": f"skillbox-python/{__version__}",
            **({"Authorization": f"Bearer {self.key}"} if self.key else {}),
            **({"X-Tenant-ID": self.options.tenant_id} if self.options.tenant_id else {}),
            **({"Content-Type": content_type} if content is not None else {}),
            **({"Idempotency-Key": idempotency_key} if idempotency_key else {}),
            **(headers or {}),
        }
        repeatable = method == "GET" or idempotency_key is not None
        rewind = _rewinder(content)
        number = 0
        while True:
            number += 1
            try:
                return self._attempt(method, target, whole, content, read, accept, self._limit(waits))
            except SkillboxError as error:
                pause = _pause_before(error, number, repeatable, self.options)
                if pause is None or rewind is None:
                    raise
            rewind()
            self.sleep(pause)

    def _limit(self, waits: bool) -> Optional[float]:
        if self.options.timeout is None:
            return None if waits else _default_timeout
        return self.options.timeout or None

    def sleep(self, seconds: float) -> None:
        cancellation = self.options.cancellation
        if cancellation is None:
            time.sleep(seconds)
        elif cancellation._event.wait(seconds):
            raise Cancelled()

    def _attempt(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: Optional[Bytes],
        read: Callable[["Download"], T],
        accept: Sequence[int],
        timeout: Optional[float],
    ) -> T:
        deadline = None if timeout is None else time.monotonic() + timeout
        answer = Download(self, timeout, deadline)
        try:
            answer._send(method, self.pool.prefix + target, headers, content)
            if answer.status >= 400 and answer.status not in accept:
                raise _error_of(self.url, answer)
            result = read(answer)
            if result is answer:
                answer._unhurried(timeout)
            else:
                answer._finish()
            return result
        except BaseException:
            answer.close()
            raise


class Download:
    """Bytes of an answer as they come. Iterate over it, or read it; close it, or use it in a with statement."""

    def __init__(self, connection: _Connection, timeout: Optional[float], deadline: Optional[float]) -> None:
        self._owner = connection
        self._cancellation = connection.options.cancellation
        self._timeout = timeout
        self._deadline = deadline
        #: How long each read may take, once there is no deadline.
        self._silence: Optional[float] = None
        self._connection: Optional[http.client.HTTPConnection] = None
        self._socket: Optional[socket.socket] = None
        self._response: Optional[http.client.HTTPResponse] = None

    @property
    def status(self) -> int:
        return self._answer.status

    def header(self, name: str) -> Optional[str]:
        return self._answer.getheader(name)

    def read(self) -> bytes:
        return b"".join(self)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            chunk = self._guarded(lambda: self._answer.read1(65536))
            if chunk == b"":
                break
            yield chunk
        if self._answer.length not in (None, 0):
            raise ConnectionFailed(self._owner.url, "the answer ended before it was whole")
        self._finish()

    def close(self) -> None:
        """What was not read is not fetched any more."""
        if self._socket is not None and self._cancellation is not None:
            self._cancellation._release(self._socket)
        if self._response is not None:
            self._response.close()
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._socket = None

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    @property
    def _answer(self) -> http.client.HTTPResponse:
        if self._response is None:
            raise SkillboxError("usage", "This download is closed.")
        return self._response

    def _send(self, method: str, target: str, headers: Mapping[str, str], content: Optional[Bytes]) -> None:
        if self._cancellation is not None and self._cancellation.cancelled:
            raise Cancelled()

        def connect() -> None:
            left = self._left()
            self._connection = self._owner.pool.take(_longest_connect if left is None else min(left, _longest_connect))

        self._guarded(connect)
        connection = typing.cast(http.client.HTTPConnection, self._connection)
        self._socket = connection.sock
        if self._cancellation is not None:
            self._cancellation._hold(typing.cast(socket.socket, self._socket))

        def exchange() -> None:
            try:
                connection.request(method, target, body=typing.cast(Any, content), headers=dict(headers))
            except (BrokenPipeError, ConnectionResetError):
                # A box that refuses a body before it has read it says why.
                self._response = connection.getresponse()
                return
            self._response = connection.getresponse()

        self._guarded(exchange)

    def _left(self) -> Optional[float]:
        return self._silence if self._deadline is None else max(0.001, self._deadline - time.monotonic())

    def _unhurried(self, silence: Optional[float]) -> None:
        """The head is there: what follows may take long, as long as something comes."""
        self._deadline = None
        self._silence = silence

    def _guarded(self, work: Callable[[], T]) -> T:
        """Within the time that is left, and with the errors of the SDK."""
        if self._socket is not None:
            self._socket.settimeout(self._left())
        try:
            return work()
        except (TimeoutError, socket.timeout) as error:
            if self._cancellation is not None and self._cancellation.cancelled:
                raise Cancelled() from error
            if self._deadline is None or time.monotonic() < self._deadline:
                raise ConnectionFailed(self._owner.url, "nothing came for too long") from error
            raise TimedOut(self._owner.url, self._timeout or 0) from error
        except (OSError, http.client.HTTPException) as error:
            if self._cancellation is not None and self._cancellation.cancelled:
                raise Cancelled() from error
            raise ConnectionFailed(self._owner.url, _reason_of(error)) from error

    def _finish(self) -> None:
        """The answer is read: the connection serves the next one."""
        connection, answer = self._connection, self._answer
        if connection is None or self._socket is None:
            return
        if not answer.isclosed() or answer.will_close or connection.sock is None:
            self.close()
            return
        if self._cancellation is not None:
            self._cancellation._release(self._socket)
            if self._cancellation.cancelled:
                self.close()
                return
        self._connection = None
        self._socket = None
        self._owner.pool.give(connection)

    def _events(self) -> Iterator[Tuple[str, str, str]]:
        """Server-sent events: id, event, data."""
        self._unhurried(_longest_silence)
        fields = {"id": "", "event": "message"}
        data: List[str] = []
        while True:
            line = self._line().rstrip(b"\r\n").decode()
            name, _colon, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "data":
                data.append(value)
            elif name in fields:
                fields[name] = value
            elif line == "" and data:
                yield fields["id"], fields["event"], "\n".join(data)
                fields, data = {"id": "", "event": "message"}, []

    def _line(self) -> bytes:
        line = self._guarded(self._answer.readline)
        if not line.endswith(b"\n"):
            if self._cancellation is not None and self._cancellation.cancelled:
                raise Cancelled()
            raise _StreamEnded(self._owner.url)
        return line


class _StreamEnded(ConnectionFailed):
    def __init__(self, url: str) -> None:
        super().__init__(url, "the stream ended before its end")


def _readable(held: socket.socket) -> bool:
    """An idle connection with something to read was closed by the other side."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(held, select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(poll.poll(0))
    return bool(select.select([held], [], [], 0)[0])


def _reason_of(error: BaseException) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, (ConnectionResetError, BrokenPipeError, http.client.IncompleteRead, http.client.RemoteDisconnected)):
        return "the connection broke"
    return str(error) or type(error).__name__


def _read_answer(answer: Download) -> Any:
    content = answer.read()
    kind = answer.header("Content-Type") or ""
    if answer.status == 204:
        return None
    if kind.startswith("application/json"):
        return json.loads(content)
    return content.decode() if kind.startswith("text/plain") else content


def _error_of(url: str, answer: Download) -> SkillboxError:
    content = answer.read()
    try:
        body = json.loads(content)
    except ValueError:
        body = None  # Not JSON: said below.
    if isinstance(body, dict) and isinstance(body.get("error"), str) and isinstance(body.get("message"), str):
        asked = answer.header("Retry-After") or ""
        return APIError(answer.status, body, float(asked) if asked.isdigit() else None)
    return SkillboxError(
        "unreachable",
        f"{url} answered with status {answer.status}, but not as a Skillbox does.",
        "Something else may listen there, or stand before the box.",
    )


def _request_of(
    route: str, input: Mapping[str, Any], body: Optional[Bytes], content_type: str
) -> Tuple[str, str, Optional[Bytes], str]:
    """Where each field goes: path, query, or JSON body."""
    method, pattern = route.split(" ")
    rest = dict(input)
    parts = []
    for part in pattern.split("/"):
        if not part.startswith("{"):
            parts.append(part)
            continue
        name = part[1:-1]
        # The one parameter that goes over several parts.
        parts.append(quote(str(rest.pop(name)), safe="/" if name == "path" else ""))
    target = "/".join(parts)
    if body is None and method not in ("GET", "DELETE"):
        return method, target, json.dumps(rest, ensure_ascii=False, allow_nan=False).encode(), "application/json"
    query = urlencode({name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()})
    content = body.encode() if isinstance(body, str) else body
    return method, f"{target}?{query}" if query else target, content, content_type


def _rewinder(content: Optional[Bytes]) -> Optional[Callable[[], Any]]:
    """Makes the body ready to be sent once more; None when it cannot be."""
    if content is None or isinstance(content, (bytes, str)):
        return lambda: None
    seek = getattr(content, "seek", None)
    if seek is None or not typing.cast(BinaryIO, content).seekable():
        return None
    start = typing.cast(BinaryIO, content).tell()
    return lambda: seek(start)


def _pause_before(error: SkillboxError, number: int, repeatable: bool, options: Options) -> Optional[float]:
    """Seconds until the next attempt; None when there should be none."""
    if number > options.max_retries:
        return None
    pause = _first_pause * 2 ** (number - 1) * (0.5 + random.random() / 2)
    if isinstance(error, ConnectionFailed):
        return pause if repeatable else None
    if not isinstance(error, APIError) or error.status not in (429, 503):
        return None
    if error.code in _lasting or (error.code in _doubtful and not repeatable):
        return None
    # Later than asked by a little, each at another time: all who were refused together would come back together.
    asked = (error.retry_after or 0.0) * (1 + random.random() / 10)
    whole = max(pause, asked)
    return whole if whole <= options.longest_pause else None


def _follow(
    connection: _Connection,
    route: str,
    input: Mapping[str, Any],
    kind: Type[T],
    is_last: Callable[[ServerEvent[T]], bool],
    last_event_id: Optional[str],
) -> Iterator[ServerEvent[T]]:
    """Events of a route until the one that is the last; reconnects where it had got to, without loss or repeat."""
    failures = 0
    options = dataclasses.replace(connection.options, max_retries=max(connection.options.max_retries, 6))
    while True:
        try:
            for event in _events(connection, route, input, kind, last_event_id):
                failures = 0
                last_event_id = event.id
                yield event
                if is_last(event):
                    return
        except SkillboxError as error:
            failures += 1
            pause = _pause_before(error, failures, True, options)
            if pause is None:
                raise
            connection.sleep(pause)


def _events(
    connection: _Connection, route: str, input: Mapping[str, Any], kind: Type[T], last_event_id: Optional[str]
) -> Iterator[ServerEvent[T]]:
    headers = {"Accept": "text/event-stream", **({} if last_event_id is None else {"Last-Event-ID": last_event_id})}
    with connection.open(route, input, headers=headers) as answer:
        for id, event, data in answer._events():
            yield ServerEvent(id, event, _decode(kind, json.loads(data)))


def _page(kind: Type[T], value: Mapping[str, Any]) -> Page[T]:
    return Page(_decode(List[kind], value["items"]), value.get("next_cursor"))  # type: ignore[valid-type]


def _every(read: Callable[[Optional[str]], Page[T]]) -> Iterator[T]:
    cursor: Optional[str] = None
    while True:
        page = read(cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


# Groups -----------------------------------------------------------------------------------------------------------------------


class _Group:
    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def _ask(self, kind: Type[T], route: str, input: Mapping[str, Any], **send: Any) -> T:
        return typing.cast(T, _decode(kind, self._connection.call(route, input, **send)))

    def _list(self, kind: Type[T], route: str, input: Mapping[str, Any]) -> Page[T]:
        return _page(kind, self._connection.call(route, input))


class Skills(_Group):
    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[SkillSummary]:
        """One page: each skill in its latest version."""
        return self._list(SkillSummary, "GET /v1/skills", _given(limit=limit, cursor=cursor))

    def all(self) -> Iterator[SkillSummary]:
        return _every(lambda cursor: self.list(limit=500, cursor=cursor))

    def search(self, words: str, *, limit: Optional[int] = None) -> Page[SkillSummary]:
        """By words in name, description and instructions."""
        return self._list(SkillSummary, "GET /v1/skills/search", _given(q=words, limit=limit))

    def get(self, name: str, version: str = "latest") -> Skill:
        """With instructions and schemas."""
        return self._ask(Skill, "GET /v1/skills/{name}/{version}", _given(name=name, version=version))

    def versions(self, name: str) -> Page[SkillSummary]:
        """Highest first."""
        return self._list(SkillSummary, "GET /v1/skills/{name}/versions", _given(name=name))

    def push(self, archive: Bytes) -> PushedSkill:
        """A zip with SKILL.md at its root or one folder down. The same content again changes nothing."""
        return self._ask(PushedSkill, "POST /v1/skills", {}, body=archive, content_type="application/zip")

    def push_files(self, files: Mapping[str, Union[str, bytes]]) -> PushedSkill:
        """Paths and contents, SKILL.md among them."""
        return self.push(_zip([(path, text.encode() if isinstance(text, str) else text, False) for path, text in files.items()]))

    def push_folder(self, path: Union[str, "os.PathLike[str]"]) -> PushedSkill:
        """A folder with SKILL.md, or a zip of one, on the disk."""
        return self.push(_read_skill(os.fspath(path)))

    def file(self, name: str, version: str, path: str) -> bytes:
        """The bytes of one of its files, as it was pushed; its record lists them."""
        input = {"name": name, "version": version, "path": path}
        return self._connection.open("GET /v1/skills/{name}/{version}/files/{path}", input).read()

    def delete(self, name: str, version: str) -> None:
        self._connection.call("DELETE /v1/skills/{name}/{version}", _given(name=name, version=version))

    def build(self, name: str, version: str = "latest") -> SkillDependencies:
        """Installs its dependencies, once more if that failed; answers at once."""
        return self._ask(SkillDependencies, "POST /v1/skills/{name}/{version}/build", _given(name=name, version=version))

    def build_log(self, name: str, version: str = "latest") -> str:
        """What the installer said."""
        return self._ask(str, "GET /v1/skills/{name}/{version}/build", _given(name=name, version=version))


class Executions(_Group):
    def run(
        self,
        skill: str,
        input: Any = None,
        *,
        version: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Union[str, bytes]]] = None,
        timeout: Optional[Duration] = None,
        idempotency_key: Optional[str] = None,
    ) -> Execution:
        """Runs a skill and waits for its end, however it ends.

        It is sent under an Idempotency-Key, so that a retry never runs it twice. files are paths and contents that the skill finds
        under SANDBOX_INPUT_DIR; timeout is the limit of the run itself. Cancelling gives up the waiting only: to stop an execution,
        submit and cancel it.
        """
        record = self._create(skill, input, version, env, files, timeout, idempotency_key, wait=True)
        return record if record.finished else self.wait(record.execution_id)

    def submit(
        self,
        skill: str,
        input: Any = None,
        *,
        version: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Union[str, bytes]]] = None,
        timeout: Optional[Duration] = None,
        idempotency_key: Optional[str] = None,
    ) -> Execution:
        """Starts a run and answers at once."""
        return self._create(skill, input, version, env, files, timeout, idempotency_key, wait=False)

    def _create(
        self,
        skill: str,
        input: Any,
        version: Optional[str],
        env: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, Union[str, bytes]]],
        timeout: Optional[Duration],
        idempotency_key: Optional[str],
        wait: bool,
    ) -> Execution:
        inside = files and {path: base64.b64encode(_bytes(content)).decode() for path, content in files.items()}
        request = _given(skill=skill, version=version, input=input, env=env, files=inside, timeout=timeout, wait=wait)
        return self._ask(Execution, "POST /v1/executions", request, idempotency_key=idempotency_key or str(uuid.uuid4()), waits=wait)

    def wait(self, id: str) -> Execution:
        """Its record, once it has ended."""
        for _event in self.stream(id):
            pass
        return self.get(id)

    def stream(self, id: str, *, last_event_id: Optional[str] = None) -> Iterator[ServerEvent[ExecutionEvent]]:
        """stdout, stderr and status from the beginning, or after last_event_id, until it has ended; goes on by itself where a
        connection broke."""
        return _follow(
            self._connection,
            "GET /v1/executions/{id}/events",
            {"id": id},
            ExecutionEvent,
            lambda event: event.event == "status" and is_final(event.data.text),
            last_event_id,
        )

    def list(
        self,
        *,
        skill: Optional[str] = None,
        status: Optional[str] = None,
        since: Optional[str] = None,
        tenant: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[ExecutionSummary]:
        """Newest first."""
        query = _given(skill=skill, status=status, since=since, tenant=tenant, limit=limit, cursor=cursor)
        return self._list(ExecutionSummary, "GET /v1/executions", query)

    def all(
        self, *, skill: Optional[str] = None, status: Optional[str] = None, since: Optional[str] = None, tenant: Optional[str] = None
    ) -> Iterator[ExecutionSummary]:
        return _every(lambda cursor: self.list(skill=skill, status=status, since=since, tenant=tenant, limit=500, cursor=cursor))

    def figures(self, *, window: Optional[Literal["15m", "1h", "6h", "24h"]] = None, skill: Optional[str] = None) -> ExecutionFigures:
        """How they did of late: how many, how they ended, where their time went."""
        return self._ask(ExecutionFigures, "GET /v1/executions/figures", _given(window=window, skill=skill))

    def get(self, id: str) -> Execution:
        return self._ask(Execution, "GET /v1/executions/{id}", {"id": id})

    def logs(self, id: str) -> str:
        return self._ask(str, "GET /v1/executions/{id}/logs", {"id": id})

    def cancel(self, id: str) -> Execution:
        """Ends its whole process tree, or takes it out of the queue."""
        return self._ask(Execution, "POST /v1/executions/{id}/cancel", {"id": id})

    def delete(self, id: str) -> None:
        """With its log and artifacts."""
        self._connection.call("DELETE /v1/executions/{id}", {"id": id})

    def files(self, id: str) -> Page[Artifact]:
        """Its artifacts."""
        return self._list(Artifact, "GET /v1/executions/{id}/files", {"id": id})

    def file(self, id: str, path: str) -> bytes:
        """The bytes of one artifact."""
        return self.open_file(id, path).read()

    def open_file(self, id: str, path: str) -> Download:
        """One artifact, as it comes."""
        return self._connection.open("GET /v1/executions/{id}/files/{path}", {"id": id, "path": path})

    def archive(self, id: str) -> bytes:
        """All artifacts, as a tar.gz."""
        return self._connection.open("GET /v1/executions/{id}/files.tar.gz", {"id": id}).read()

    def download(self, execution: Execution, folder: Union[str, "os.PathLike[str]"]) -> List[str]:
        """Writes its artifacts under a folder, none of them outside; returns the paths written."""
        return _write_artifacts(execution.files_list, os.fspath(folder), lambda path: self.open_file(execution.execution_id, path))


class Sandboxes(_Group):
    def create(
        self,
        template: Optional[str] = None,
        *,
        labels: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
        ttl: Optional[Duration] = None,
        on_expiry: Optional[Literal["destroy", "pause"]] = None,
        snapshot: Optional[str] = None,
        network: Optional[Mapping[str, Any]] = None,
        inputs: Optional[Mapping[str, Any]] = None,
    ) -> "SandboxHandle":
        """Answers when it is ready. In a with statement it is destroyed at the end."""
        request = _given(
            template=template, labels=labels, env=env, ttl=ttl, on_expiry=on_expiry, snapshot=snapshot, network=network, inputs=inputs
        )
        record = self._ask(Sandbox, "POST /v1/sandboxes", request, waits=True)
        return SandboxHandle(self._connection, record.id, record)

    def list(
        self,
        *,
        state: Optional[str] = None,
        template: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        tenant: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Sandbox]:
        """Newest first."""
        query = _given(state=state, template=template, labels=labels and urlencode(labels), tenant=tenant, limit=limit, cursor=cursor)
        return self._list(Sandbox, "GET /v1/sandboxes", query)

    def all(
        self,
        *,
        state: Optional[str] = None,
        template: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        tenant: Optional[str] = None,
    ) -> Iterator[Sandbox]:
        return _every(
            lambda cursor: self.list(state=state, template=template, labels=labels, tenant=tenant, limit=500, cursor=cursor)
        )

    def snapshots(
        self, *, sandbox: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Snapshot]:
        return self._list(Snapshot, "GET /v1/snapshots", _given(sandbox=sandbox, limit=limit, cursor=cursor))

    def delete_snapshot(self, id: str) -> None:
        self._connection.call("DELETE /v1/snapshots/{id}", {"id": id})


class SandboxHandle(_Group):
    """One living sandbox, by its id."""

    def __init__(self, connection: _Connection, id: str, record: Optional[Sandbox] = None) -> None:
        super().__init__(connection)
        self.id = id
        #: As it was when it was made; None for a handle of one that was there.
        self.record = record
        self.files = SandboxFiles(connection, id)

    def __enter__(self) -> "SandboxHandle":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.destroy()

    def get(self) -> Sandbox:
        return self._ask(Sandbox, "GET /v1/sandboxes/{id}", {"id": self.id})

    def destroy(self) -> Sandbox:
        """Ends it and removes its disk. What is destroyed already stays so."""
        return self._ask(Sandbox, "DELETE /v1/sandboxes/{id}", {"id": self.id})

    def recreate(self) -> Sandbox:
        """A fresh disk under the same id."""
        return self._ask(Sandbox, "POST /v1/sandboxes/{id}/recreate", {"id": self.id})

    def set_ttl(self, ttl: Duration) -> Sandbox:
        """Time until it ends, from now."""
        return self._ask(Sandbox, "POST /v1/sandboxes/{id}/ttl", {"id": self.id, "ttl": ttl})

    def set_network(self, mode: Optional[Literal["none", "allow"]] = None, allow: Optional[Sequence[Any]] = None) -> Sandbox:
        """What it reaches, while it lives."""
        return self._ask(Sandbox, "PUT /v1/sandboxes/{id}/network", _given(id=self.id, mode=mode, allow=allow))

    def pause(self) -> Sandbox:
        """Frees its memory, keeps its disk; the next use resumes it."""
        return self._ask(Sandbox, "POST /v1/sandboxes/{id}/pause", {"id": self.id})

    def resume(self) -> Sandbox:
        return self._ask(Sandbox, "POST /v1/sandboxes/{id}/resume", {"id": self.id})

    def snapshot(self, name: Optional[str] = None) -> Snapshot:
        """Keeps its disk as it is now."""
        return self._ask(Snapshot, "POST /v1/sandboxes/{id}/snapshots", _given(id=self.id, name=name))

    def restore(self, snapshot: str) -> Sandbox:
        """Puts the disk of a snapshot into it."""
        return self._ask(Sandbox, "POST /v1/sandboxes/{id}/restore", {"id": self.id, "snapshot": snapshot})

    def fork(self, count: Optional[int] = None, *, ttl: Optional[Duration] = None) -> List["SandboxHandle"]:
        """Sandboxes that start from its disk: all of them or none."""
        page = self._list(Sandbox, "POST /v1/sandboxes/{id}/fork", _given(id=self.id, count=count, ttl=ttl))
        return [SandboxHandle(self._connection, record.id, record) for record in page]

    def events(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Event]:
        """What happened to it, oldest first."""
        return self._list(Event, "GET /v1/sandboxes/{id}/events", _given(id=self.id, limit=limit, cursor=cursor))

    def all_events(self) -> Iterator[Event]:
        return _every(lambda cursor: self.events(limit=500, cursor=cursor))

    def metrics(self) -> SandboxMetrics:
        """What it uses, now and of late."""
        return self._ask(SandboxMetrics, "GET /v1/sandboxes/{id}/metrics", {"id": self.id})

    def preview_link(self, port: int) -> PreviewLink:
        """A link to a server that listens in it, good for an hour without a key."""
        return self._ask(PreviewLink, "POST /v1/sandboxes/{id}/ports/{port}/link", {"id": self.id, "port": port})

    def exec(
        self,
        command: Union[str, Sequence[str]],
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Union[str, bool]] = None,
        timeout: Optional[Duration] = None,
        tag: Optional[str] = None,
        on_stdout: Optional[Callable[[str], object]] = None,
        on_stderr: Optional[Callable[[str], object]] = None,
    ) -> ExecResult:
        """Runs a line for bash, or words, and waits for the end. With on_stdout or on_stderr the output also comes as it is written."""
        if on_stdout is not None or on_stderr is not None:
            started = self.start(command, env=env, cwd=cwd, stdin=stdin, timeout=timeout, tag=tag)
            return started.wait(on_stdout=on_stdout, on_stderr=on_stderr)
        request = self._program(command, env, cwd, stdin, None, timeout, tag, wait=True)
        return self._ask(ExecResult, "POST /v1/sandboxes/{id}/programs", request, waits=True)

    def start(
        self,
        command: Union[str, Sequence[str]],
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Union[str, bool]] = None,
        pty: Optional[Mapping[str, int]] = None,
        timeout: Optional[Duration] = None,
        tag: Optional[str] = None,
    ) -> "ProgramHandle":
        """Starts a program, which goes on whether or not anybody listens. stdin=True keeps its stdin open for write()."""
        request = self._program(command, env, cwd, stdin, pty, timeout, tag, wait=False)
        result = self._ask(ExecResult, "POST /v1/sandboxes/{id}/programs", request)
        return ProgramHandle(self._connection, self.id, result.program_id, result.pid)

    def _program(
        self,
        command: Union[str, Sequence[str]],
        env: Optional[Mapping[str, str]],
        cwd: Optional[str],
        stdin: Optional[Union[str, bool]],
        pty: Optional[Mapping[str, int]],
        timeout: Optional[Duration],
        tag: Optional[str],
        wait: bool,
    ) -> Dict[str, Any]:
        what: Dict[str, Any] = {"cmd": command} if isinstance(command, str) else {"argv": list(command)}
        return {**what, **_given(id=self.id, env=env, cwd=cwd, stdin=stdin, pty=pty, timeout=timeout, tag=tag, wait=wait)}

    def programs(self) -> List[Program]:
        return self._list(Program, "GET /v1/sandboxes/{id}/programs", {"id": self.id}).items

    def program(self, program: int) -> "ProgramHandle":
        """One that was started before."""
        return ProgramHandle(self._connection, self.id, program)


class ProgramHandle(_Group):
    """A program in a sandbox: followed, fed, signalled."""

    def __init__(self, connection: _Connection, sandbox: str, program: int, pid: Optional[int] = None) -> None:
        super().__init__(connection)
        self.sandbox = sandbox
        self.program = program
        #: Known to whoever started it.
        self.pid = pid
        self._which = {"id": sandbox, "program": program}

    def get(self) -> Program:
        return self._ask(Program, "GET /v1/sandboxes/{id}/programs/{program}", self._which)

    def output(
        self, *, encoding: Optional[Literal["text", "base64"]] = None, follow: bool = True, last_event_id: Optional[str] = None
    ) -> Iterator[ServerEvent[ProgramEvent]]:
        """stdout and stderr with text or base64, pty with base64, lost, and end with exit_code and signal: from the beginning, or after
        last_event_id, until it has ended; goes on by itself where a connection broke. follow=False ends with what there is so far."""
        route = "GET /v1/sandboxes/{id}/programs/{program}/events"
        input = {**self._which, **_given(encoding=encoding, follow=None if follow else False)}
        if follow:
            events = _follow(self._connection, route, input, ProgramEvent, lambda event: event.event in ("end", "error"), last_event_id)
        else:
            events = _so_far(_events(self._connection, route, input, ProgramEvent, last_event_id))
        for event in events:
            if event.event == "error":
                raise SkillboxError(event.data.error or "sandbox_failed", event.data.message or "The sandbox went away.")
            yield event

    def wait(
        self, *, on_stdout: Optional[Callable[[str], object]] = None, on_stderr: Optional[Callable[[str], object]] = None
    ) -> ExecResult:
        """Its output and how it ended."""
        said = {"stdout": "", "stderr": ""}
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for event in self.output():
            data = event.data
            if event.event == "end":
                return ExecResult(self.program, self.pid or 0, True, data.exit_code, data.signal, said["stdout"], said["stderr"], None)
            text = data.text if data.text is not None else decoder.decode(base64.b64decode(data.base64 or ""))
            stream = "stderr" if event.event == "stderr" else "stdout"
            said[stream] += text
            listener = on_stderr if stream == "stderr" else on_stdout
            if listener is not None:
                listener(text)
        raise SkillboxError("sandbox_failed", "The output ended before the program.")

    def write(self, data: Bytes) -> None:
        """Bytes or text for its stdin; start it with stdin=True."""
        self._connection.call("POST /v1/sandboxes/{id}/programs/{program}/stdin", self._which, body=data)

    def close_stdin(self) -> None:
        self._connection.call("DELETE /v1/sandboxes/{id}/programs/{program}/stdin", self._which)

    def kill(self, signal: Union[str, int] = "SIGTERM") -> None:
        """To it and what it started."""
        self._connection.call("POST /v1/sandboxes/{id}/programs/{program}/signal", {**self._which, "signal": signal})

    def resize(self, cols: int, rows: int) -> None:
        """Its terminal."""
        self._connection.call("POST /v1/sandboxes/{id}/programs/{program}/resize", {**self._which, "cols": cols, "rows": rows})


def _so_far(events: Iterator[ServerEvent[T]]) -> Iterator[ServerEvent[T]]:
    try:
        yield from events
    except _StreamEnded:
        return  # This stream has no last event: its end is the end.


class SandboxFiles(_Group):
    """Files of one sandbox. A relative path starts at /home/user."""

    def __init__(self, connection: _Connection, id: str) -> None:
        super().__init__(connection)
        self._id = id

    def read(self, path: str, *, offset: Optional[int] = None, limit: Optional[int] = None) -> bytes:
        return self.open(path, offset=offset, limit=limit).read()

    def read_text(self, path: str) -> str:
        return self.read(path).decode()

    def open(self, path: str, *, offset: Optional[int] = None, limit: Optional[int] = None) -> Download:
        """As it comes, of any size."""
        return self._connection.open("GET /v1/sandboxes/{id}/files", _given(id=self._id, path=path, offset=offset, limit=limit))

    def write(
        self, path: str, content: Bytes, *, mode: Optional[str] = None, append: Optional[bool] = None, new: Optional[bool] = None
    ) -> FileEntry:
        """The file appears whole or not at all; folders on the way are made. mode is octal digits such as 755."""
        query = {**_given(id=self._id, mode=mode, append=append, new=new), "path": path}
        return self._ask(FileEntry, "PUT /v1/sandboxes/{id}/files", query, body=content)

    def stat(self, path: str) -> FileEntry:
        return self._ask(FileEntry, "GET /v1/sandboxes/{id}/files/stat", {"id": self._id, "path": path})

    def list(self, path: Optional[str] = None, *, depth: Optional[int] = None, limit: Optional[int] = None) -> List[FileEntry]:
        """Default: the home folder."""
        return self._list(FileEntry, "GET /v1/sandboxes/{id}/files/list", _given(id=self._id, path=path, depth=depth, limit=limit)).items

    def make_dir(self, path: str) -> FileEntry:
        return self._ask(FileEntry, "POST /v1/sandboxes/{id}/files/mkdir", {"id": self._id, "path": path})

    def move(self, source: str, target: str) -> FileEntry:
        return self._ask(FileEntry, "POST /v1/sandboxes/{id}/files/move", {"id": self._id, "from": source, "to": target})

    def remove(self, path: str) -> None:
        """A folder goes with everything in it."""
        self._connection.call("DELETE /v1/sandboxes/{id}/files", {"id": self._id, "path": path})

    def watch(self, path: Optional[str] = None, *, recursive: Optional[bool] = None) -> Iterator[ServerEvent[WatchEvent]]:
        """create, write, remove, rename and attributes from now on, until the reader leaves. What a broken connection missed is gone:
        then it raises."""
        route = "GET /v1/sandboxes/{id}/files/watch"
        answer = self._connection.open(route, _given(id=self._id, path=path, recursive=recursive))
        # Opened before the first event is asked for: what happens from now on is seen.
        return _watched(answer)


def _watched(answer: Download) -> Iterator[ServerEvent[WatchEvent]]:
    with answer:
        for id, event, data in answer._events():
            if event == "error":
                raise APIError(503, json.loads(data))
            yield ServerEvent(id, event, _decode(WatchEvent, json.loads(data)))


class Templates(_Group):
    def list(self) -> Page[Template]:
        """The newest version of each."""
        return self._list(Template, "GET /v1/templates", {})

    def get(self, name: str) -> Template:
        return self._ask(Template, "GET /v1/templates/{name}", {"name": name})

    def apply(self, name: str, definition: Mapping[str, Any]) -> Template:
        """Makes it, or a new version of it. docs/templates.md has the fields."""
        return self._ask(Template, "PUT /v1/templates/{name}", {**definition, "name": name})

    def explain(self, name: str) -> RouteExplanation:
        """Which provider would make a sandbox of it now, and why not the others."""
        return self._ask(RouteExplanation, "GET /v1/templates/{name}/route", {"name": name})


class Keys(_Group):
    def create(
        self,
        name: str,
        *,
        tenant: Optional[str] = None,
        actor: Optional[Literal["adm", "agt", "atm"]] = None,
        scopes: Optional[Sequence[str]] = None,
        expires_in: Optional[str] = None,
    ) -> CreatedApiKey:
        """The key itself is in this answer and nowhere else."""
        request = _given(name=name, tenant=tenant, actor=actor, scopes=scopes, expires_in=expires_in)
        return self._ask(CreatedApiKey, "POST /v1/keys", request)

    def list(self, *, tenant: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[ApiKey]:
        return self._list(ApiKey, "GET /v1/keys", _given(tenant=tenant, limit=limit, cursor=cursor))

    def all(self, *, tenant: Optional[str] = None) -> Iterator[ApiKey]:
        return _every(lambda cursor: self.list(tenant=tenant, limit=500, cursor=cursor))

    def self(self) -> ApiKey:
        """The one that is used: its tenant, and what it may do."""
        return self._ask(ApiKey, "GET /v1/keys/self", {})

    def revoke(self, id: str) -> ApiKey:
        return self._ask(ApiKey, "DELETE /v1/keys/{id}", {"id": id})


class SignIn(_Group):
    """Into the dashboard without typing a key."""

    def link(self, *, scopes: Optional[Sequence[str]] = None) -> SignInLink:
        """A link that signs in once, within minutes, to what this key may do."""
        return self._ask(SignInLink, "POST /v1/sign-in/links", _given(scopes=scopes))

    def exchange(self, code: str) -> CreatedApiKey:
        """The key for the code of such a link; needs no key. Works once."""
        return self._ask(CreatedApiKey, "POST /v1/sign-in", {"code": code})

    def end(self) -> None:
        """The key stops working if it came from a link; one that was made stays."""
        self._connection.call("DELETE /v1/sign-in", {})


class Tenants(_Group):
    def list(self) -> Page[Tenant]:
        """With their limits and use."""
        return self._list(Tenant, "GET /v1/tenants", {})

    def set(
        self,
        name: str,
        *,
        requests_per_second: Optional[float] = None,
        slots: Optional[int] = None,
        storage_bytes: Optional[int] = None,
    ) -> Tenant:
        """What is left out stays as it is."""
        limits = _given(name=name, requests_per_second=requests_per_second, slots=slots, storage_bytes=storage_bytes)
        return self._ask(Tenant, "PUT /v1/tenants/{name}", limits)


class Credits(_Group):
    def balance(self) -> CreditBalance:
        """Of the tenant."""
        return self._ask(CreditBalance, "GET /v1/credits", {})

    def grant(
        self, tenant: str, amount: float, *, note: Optional[str] = None, idempotency_key: Optional[str] = None
    ) -> CreditEntry:
        """Sent under an Idempotency-Key, so that a retry never grants twice."""
        request = _given(tenant=tenant, amount=amount, note=note)
        return self._ask(CreditEntry, "POST /v1/credits/grants", request, idempotency_key=idempotency_key or str(uuid.uuid4()))

    def history(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[CreditEntry]:
        return self._list(CreditEntry, "GET /v1/credits/history", _given(limit=limit, cursor=cursor))

    def all_history(self) -> Iterator[CreditEntry]:
        return _every(lambda cursor: self.history(limit=500, cursor=cursor))


class Secrets(_Group):
    def set(self, name: str, value: str) -> Secret:
        """No answer ever has its value."""
        return self._ask(Secret, "PUT /v1/secrets/{name}", {"name": name, "value": value})

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Secret]:
        return self._list(Secret, "GET /v1/secrets", _given(limit=limit, cursor=cursor))

    def all(self) -> Iterator[Secret]:
        return _every(lambda cursor: self.list(limit=500, cursor=cursor))

    def delete(self, name: str) -> None:
        self._connection.call("DELETE /v1/secrets/{name}", {"name": name})


class Events(_Group):
    def list(
        self,
        *,
        type: Optional[str] = None,
        subject: Optional[str] = None,
        since: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Event]:
        """What happened, newest first."""
        return self._list(Event, "GET /v1/events", _given(type=type, subject=subject, since=since, limit=limit, cursor=cursor))

    def all(self, *, type: Optional[str] = None, subject: Optional[str] = None, since: Optional[str] = None) -> Iterator[Event]:
        return _every(lambda cursor: self.list(type=type, subject=subject, since=since, limit=500, cursor=cursor))

    def follow(
        self, *, type: Optional[str] = None, recent: Optional[int] = None, last_event_id: Optional[str] = None
    ) -> Iterator[ServerEvent[Event]]:
        """What happens, as it happens, after so many recent ones; goes on by itself where a connection broke. It has no end."""
        query = _given(type=type, recent=recent)
        return _follow(self._connection, "GET /v1/events/stream", query, Event, lambda event: False, last_event_id)


class Webhooks(_Group):
    def create(self, name: str, url: str, *, events: Optional[Sequence[str]] = None) -> CreatedWebhook:
        """The secret that signs deliveries is in this answer and nowhere else."""
        return self._ask(CreatedWebhook, "POST /v1/webhooks", _given(name=name, url=url, events=events))

    def list(self) -> Page[Webhook]:
        return self._list(Webhook, "GET /v1/webhooks", {})

    def get(self, name: str) -> Webhook:
        return self._ask(Webhook, "GET /v1/webhooks/{name}", {"name": name})

    def delete(self, name: str) -> None:
        self._connection.call("DELETE /v1/webhooks/{name}", {"name": name})

    def test(self, name: str) -> WebhookTest:
        """Sends the hub an event now, and tells what it answered."""
        return self._ask(WebhookTest, "POST /v1/webhooks/{name}/test", {"name": name})

    def deliveries(
        self, name: str, *, state: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[WebhookDelivery]:
        query = _given(name=name, state=state, limit=limit, cursor=cursor)
        return self._list(WebhookDelivery, "GET /v1/webhooks/{name}/deliveries", query)

    def retry(self, name: str, event: Optional[str] = None) -> WebhookRetry:
        """Sends again what was given up; with an event, only its delivery."""
        return self._ask(WebhookRetry, "POST /v1/webhooks/{name}/retry", _given(name=name, event=event))


class Host(_Group):
    """The host that answers."""

    def inspect(self) -> HostReport:
        return self._ask(HostReport, "GET /v1/host", {})

    def doctor(self) -> HostExamination:
        """Looks at it anew: what it has and lacks, and the line that mends each."""
        return self._ask(HostExamination, "GET /v1/host/doctor", {})

    def stale(self) -> Page[StaleSandbox]:
        """Sandboxes that no record owns, whose time is over, or that a crash left unfinished."""
        return self._list(StaleSandbox, "GET /v1/host/stale", {})

    def canary(self) -> CanaryRun:
        """Makes a sandbox, runs a program in it, ends it, and tells how long each step took."""
        return self._ask(CanaryRun, "POST /v1/host/canary", {})

    def reap(self, *, dry_run: Optional[bool] = None) -> Page[StaleSandbox]:
        """Ends and removes what is stale."""
        return self._list(StaleSandbox, "POST /v1/host/reap", _given(dry_run=dry_run))


OnProgress = Callable[[WorkProgress], object]


class Runtime(_Group):
    """The declared environment of the box. profile and service take several names with commas between them.

    With on_progress, what takes long tells how it goes on: each part that begins or ends, and lines about it.
    """

    def status(self, *, client: Optional[str] = None, profile: Optional[str] = None) -> RuntimeStatus:
        """State of everything that is declared, and what needs attention."""
        return self._ask(RuntimeStatus, "GET /v1/runtime", _given(client=client, profile=profile))

    def describe(self) -> BoxModel:
        """The model of the box: its paths inside and on the host, ports, clients and profiles."""
        return self._ask(BoxModel, "GET /v1/sandbox", {})

    def render(self, *, client: Optional[str] = None, profile: Optional[str] = None, why: Optional[bool] = None) -> RenderedGraph:
        """What is declared, after overlays, profiles and placeholders."""
        return self._ask(RenderedGraph, "GET /v1/runtime/graph", _given(client=client, profile=profile, why=why))

    def sync(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        dry_run: Optional[bool] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> SyncReport:
        """Brings repos, artifacts, env files, log folders and skills to what is declared."""
        request = _given(client=client, profile=profile, dry_run=dry_run)
        return self._work(SyncReport, "POST /v1/runtime/sync", request, on_progress)

    def bootstrap(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        task: Optional[str] = None,
        dry_run: Optional[bool] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> BootstrapReport:
        """Syncs, then runs the tasks whose success check does not hold yet."""
        request = _given(client=client, profile=profile, task=task, dry_run=dry_run)
        return self._work(BootstrapReport, "POST /v1/runtime/bootstrap", request, on_progress)

    def up(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        service: Optional[str] = None,
        mode: Optional[Literal["reuse", "prod", "fresh"]] = None,
        dry_run: Optional[bool] = None,
        wait_seconds: Optional[float] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> UpReport:
        """Starts services with what they need, and waits until they are healthy: look at ok."""
        request = _given(client=client, profile=profile, service=service, mode=mode, dry_run=dry_run, wait_seconds=wait_seconds)
        return self._work(UpReport, "POST /v1/runtime/up", request, on_progress)

    def down(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        service: Optional[str] = None,
        dry_run: Optional[bool] = None,
        wait_seconds: Optional[float] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> DownReport:
        """Stops services, those that need others first. The server that answers goes on."""
        request = _given(client=client, profile=profile, service=service, dry_run=dry_run, wait_seconds=wait_seconds)
        return self._work(DownReport, "POST /v1/runtime/down", request, on_progress)

    def restart(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        service: Optional[str] = None,
        mode: Optional[Literal["reuse", "prod", "fresh"]] = None,
        dry_run: Optional[bool] = None,
        wait_seconds: Optional[float] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> UpReport:
        """Stops services with those that need them, then starts all of these again."""
        request = _given(client=client, profile=profile, service=service, mode=mode, dry_run=dry_run, wait_seconds=wait_seconds)
        return self._work(UpReport, "POST /v1/runtime/restart", request, on_progress)

    def logs(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        service: Optional[str] = None,
        lines: Optional[int] = None,
    ) -> List[ServiceLog]:
        """The last lines that services and tasks wrote."""
        query = _given(client=client, profile=profile, service=service, lines=lines)
        return self._list(ServiceLog, "GET /v1/runtime/logs", query).items

    def follow_logs(
        self,
        *,
        client: Optional[str] = None,
        profile: Optional[str] = None,
        service: Optional[str] = None,
        lines: Optional[int] = None,
        last_event_id: Optional[str] = None,
    ) -> Iterator[ServerEvent[ServiceLogLine]]:
        """The last lines, then each that is written; goes on by itself where a connection broke. It has no end."""
        query = _given(client=client, profile=profile, service=service, lines=lines)
        return _follow(self._connection, "GET /v1/runtime/logs", query, ServiceLogLine, lambda event: False, last_event_id)

    def doctor(self, *, client: Optional[str] = None, profile: Optional[str] = None) -> GraphExamination:
        """Checks the machine and the graph, with the line that mends each fault."""
        return self._ask(GraphExamination, "GET /v1/runtime/doctor", _given(client=client, profile=profile))

    def context(self, *, client: Optional[str] = None, profile: Optional[str] = None, dry_run: Optional[bool] = None) -> ContextReport:
        """Writes CLAUDE.md and AGENTS.md, which tell agents where they are."""
        return self._ask(ContextReport, "POST /v1/runtime/context", _given(client=client, profile=profile, dry_run=dry_run))

    def focus(
        self,
        client_id: Optional[str] = None,
        *,
        profile: Optional[str] = None,
        service: Optional[str] = None,
        mode: Optional[Literal["reuse", "prod", "fresh"]] = None,
        resume: Optional[bool] = None,
        wait_seconds: Optional[float] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> FocusReport:
        """Activates a client in one pass; with resume the last one, without redoing what still holds."""
        request = _given(client_id=client_id, profile=profile, service=service, mode=mode, resume=resume, wait_seconds=wait_seconds)
        return self._work(FocusReport, "POST /v1/runtime/focus", request, on_progress)

    def pulse(self) -> PulseStatus:
        """What the supervisor sees and did."""
        return self._ask(PulseStatus, "GET /v1/runtime/pulse", {})

    def start_pulse(self, interval: Optional[float] = None) -> PulseStatus:
        return self._ask(PulseStatus, "POST /v1/runtime/pulse/start", _given(interval=interval))

    def stop_pulse(self) -> PulseStatus:
        """Services go on, and nobody starts them again when they fall."""
        return self._ask(PulseStatus, "POST /v1/runtime/pulse/stop", {})

    def _work(self, kind: Type[T], route: str, request: Mapping[str, Any], on_progress: Optional[OnProgress]) -> T:
        """Waited for as long as it takes; closing the connection interrupts it, in order."""
        if on_progress is None:
            return self._ask(kind, route, request, waits=True)
        with self._connection.open(route, request, headers={"Accept": "text/event-stream"}, waits=True) as answer:
            if not (answer.header("Content-Type") or "").startswith("text/event-stream"):
                # A box that is older than this.
                return typing.cast(T, _decode(kind, json.loads(answer.read())))
            for _id, event, data in answer._events():
                value = json.loads(data)
                if event == "result":
                    return typing.cast(T, _decode(kind, value))
                if event == "error":
                    raise APIError(value.pop("status"), value, None)
                if event == "progress":
                    on_progress(_decode(WorkProgress, value))
        raise _StreamEnded(self._connection.url)


class Sessions(_Group):
    """Durable timelines of work notes, one per piece of work and client."""

    def start(self, client_id: str, *, label: Optional[str] = None, goal: Optional[str] = None) -> WorkSession:
        return self._ask(WorkSession, "POST /v1/runtime/sessions", _given(client_id=client_id, label=label, goal=goal))

    def event(
        self, id: str, message: str, *, type: Optional[str] = None, detail: Optional[Mapping[str, Any]] = None
    ) -> SessionEvent:
        """Adds to one that is active."""
        request = _given(id=id, message=message, type=type, detail=detail)
        return self._ask(SessionEvent, "POST /v1/runtime/sessions/{id}/events", request)

    def heartbeat(self, id: str) -> WorkSession:
        """Tells that somebody still works on it."""
        return self._ask(WorkSession, "POST /v1/runtime/sessions/{id}/heartbeat", {"id": id})

    def end(
        self, id: str, *, state: Optional[Literal["completed", "failed", "abandoned"]] = None, summary: Optional[str] = None
    ) -> WorkSession:
        return self._ask(WorkSession, "POST /v1/runtime/sessions/{id}/end", _given(id=id, state=state, summary=summary))

    def resume(self, id: str) -> WorkSession:
        """Goes on with one that ended."""
        return self._ask(WorkSession, "POST /v1/runtime/sessions/{id}/resume", {"id": id})

    def get(self, id: str) -> WorkSessionDetail:
        """With its events and what it handed over."""
        return self._ask(WorkSessionDetail, "GET /v1/runtime/sessions/{id}", {"id": id})

    def list(
        self,
        *,
        client_id: Optional[str] = None,
        state: Optional[Literal["active", "completed", "failed", "abandoned"]] = None,
        limit: Optional[int] = None,
    ) -> List[WorkSession]:
        """Newest first."""
        return self._list(WorkSession, "GET /v1/runtime/sessions", _given(client_id=client_id, state=state, limit=limit)).items


class Client:
    """A box: Client("http://localhost:8080", "sk-...")."""

    def __init__(
        self,
        url: str,
        key: Optional[str] = None,
        tenant_id: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        max_retries: int = Options.max_retries,
        longest_pause: float = Options.longest_pause,
        cancellation: Optional[Cancellation] = None,
    ) -> None:
        options = Options(tenant_id, timeout, max_retries, longest_pause, cancellation)
        self._use(_Connection(_Pool(url), key, options))

    def _use(self, connection: _Connection) -> None:
        self._connection = connection
        self.skills = Skills(connection)
        self.executions = Executions(connection)
        self.sandboxes = Sandboxes(connection)
        self.templates = Templates(connection)
        self.keys = Keys(connection)
        self.sign_in = SignIn(connection)
        self.tenants = Tenants(connection)
        self.credits = Credits(connection)
        self.secrets = Secrets(connection)
        self.events = Events(connection)
        self.webhooks = Webhooks(connection)
        self.host = Host(connection)
        self.runtime = Runtime(connection)
        self.sessions = Sessions(connection)

    def with_options(self, **changes: Any) -> "Client":
        """The same box with other options: client.with_options(timeout=5, cancellation=c). They are the fields of Options."""
        client = Client.__new__(Client)
        pool, key, options = self._connection.pool, self._connection.key, self._connection.options
        client._use(_Connection(pool, key, dataclasses.replace(options, **changes)))
        return client

    def with_tenant(self, tenant_id: str) -> "Client":
        """The same box, acting for a tenant."""
        return self.with_options(tenant_id=tenant_id)

    def close(self) -> None:
        """Lets go of idle connections. The client can be used again."""
        self._connection.pool.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def sandbox(self, id: str) -> SandboxHandle:
        """One sandbox by its id; nothing is asked of the box yet."""
        return SandboxHandle(self._connection, id)

    def run(
        self,
        skill: str,
        input: Any = None,
        *,
        version: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Union[str, bytes]]] = None,
        timeout: Optional[Duration] = None,
        idempotency_key: Optional[str] = None,
    ) -> Execution:
        """Runs a skill and waits for its end: client.run("data-analysis", input={"data": [1, 2, 3]})."""
        return self.executions.run(
            skill, input, version=version, env=env, files=files, timeout=timeout, idempotency_key=idempotency_key
        )

    def get_execution(self, id: str) -> Execution:
        return self.executions.get(id)

    def get_execution_logs(self, id: str) -> str:
        return self.executions.logs(id)

    def download_files(self, result: Execution, folder: Union[str, "os.PathLike[str]"]) -> List[str]:
        """Writes the artifacts of an execution under a folder, none of them outside."""
        return self.executions.download(result, folder)

    def register_skill(self, skill: Union[str, "os.PathLike[str]", bytes]) -> PushedSkill:
        """A folder with SKILL.md, the path of a zip, or the bytes of one."""
        return self.skills.push(skill) if isinstance(skill, bytes) else self.skills.push_folder(skill)

    def list_skills(self) -> List[SkillSummary]:
        return list(self.skills.all())

    def get_skill(self, name: str, version: str = "latest") -> Skill:
        return self.skills.get(name, version)

    def health(self) -> Health:
        return typing.cast(Health, _decode(Health, self._connection.call("GET /health", {})))

    def ready(self) -> Readiness:
        """Whether the box can do its work; what it cannot is an answer, not an error."""
        return typing.cast(Readiness, _decode(Readiness, self._connection.call("GET /ready", {}, accept=(503,))))


# Folders ----------------------------------------------------------------------------------------------------------------------

#: What a computer leaves in folders.
_leftovers = frozenset(["__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", "__pycache__"])


def _bytes(content: Union[str, bytes]) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _read_skill(path: str) -> bytes:
    """The zip of a folder, or what is a zip already."""
    if not os.path.exists(path):
        raise SkillboxError("usage", f"There is nothing at {path}.", "Name the folder that has SKILL.md in it, or a zip of it.")
    if os.path.isdir(path):
        return _zip(list(_files_in(path, "")))
    with open(path, "rb") as file:
        return file.read()


def _files_in(root: str, below: str) -> Iterator[Tuple[str, bytes, bool]]:
    with os.scandir(os.path.join(root, below)) as entries:
        found = sorted((entry for entry in entries if entry.name not in _leftovers), key=lambda entry: entry.name)
    for entry in found:
        path = f"{below}/{entry.name}" if below else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _files_in(root, path)
        elif entry.is_file(follow_symlinks=False):
            with open(entry.path, "rb") as file:
                yield path, file.read(), bool(entry.stat().st_mode & 0o111)
        else:
            raise SkillboxError("usage", f"{path} is neither a file nor a folder: it cannot be part of a skill.", "Put the file itself there.")


def _zip(files: Sequence[Tuple[str, bytes, bool]]) -> bytes:
    """The same files give the same bytes, whenever they are packed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content, executable in files:
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def _write_artifacts(artifacts: Sequence[Artifact], folder: str, read: Callable[[str], Download]) -> List[str]:
    """Their names come from a skill, so none may lead out of the folder: not by itself, and not over a link, there or put there meanwhile."""
    # All names first: either nothing is wrong with any of them, or nothing is written.
    for artifact in artifacts:
        _require_safe(artifact.path)
    os.makedirs(folder, exist_ok=True)
    written = []
    with _Pinned(folder) as root:
        for artifact in artifacts:
            *parts, name = artifact.path.split("/")
            target = os.path.join(folder, *parts, name)
            parent = _make_folders(root, parts, artifact.path)
            try:
                with read(artifact.path) as content:
                    _write_whole(parent, name, artifact, content, target)
            finally:
                if parent is not root:
                    parent.close()
            written.append(target)
    return written


class _Pinned:
    """A folder held open: what is done in it happens there, whatever its name leads to by then. Windows has no such thing; there it is its path."""

    _can = hasattr(os, "O_NOFOLLOW") and {os.open, os.mkdir, os.stat, os.unlink, os.rename} <= os.supports_dir_fd

    def __init__(self, path: str, within: Optional["_Pinned"] = None) -> None:
        self.path = path
        #: None: the path is all there is.
        self.fd: Optional[int] = None
        if self._can:
            # The first one is the caller's own, and may be a link.
            flags = os.O_RDONLY | os.O_DIRECTORY | (os.O_NOFOLLOW if within else 0)
            self.fd = os.open(within.at(os.path.basename(path)) if within else path, flags, dir_fd=within.fd if within else None)

    def at(self, name: str) -> str:
        """What `name` in it is called, together with `dir_fd=fd`."""
        return name if self.fd is not None else os.path.join(self.path, name)

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def __enter__(self) -> "_Pinned":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


def _require_safe(path: str) -> None:
    for part in path.split("/"):
        if part in ("", ".", "..") or "\0" in part or "\\" in part or part[1:2] == ":":
            raise _refused(path, "its name could lead out of the folder")


def _make_folders(root: _Pinned, parts: Sequence[str], path: str) -> _Pinned:
    folder = root
    for part in parts:
        above = folder
        try:
            folder = _make_folder(above, part, path)
        finally:
            if above is not root:
                above.close()
    return folder


def _make_folder(above: _Pinned, part: str, path: str) -> _Pinned:
    try:
        os.mkdir(above.at(part), dir_fd=above.fd)
    except FileExistsError:
        found = os.stat(above.at(part), dir_fd=above.fd, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            raise _refused(path, f"{part} is {'a link' if stat.S_ISLNK(found.st_mode) else 'not a folder'}") from None
    try:
        return _Pinned(os.path.join(above.path, part), above)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _refused(path, f"{part} has become a link") from None
        raise


def _write_whole(folder: _Pinned, name: str, artifact: Artifact, content: Iterable[bytes], target: str) -> None:
    """Under another name at first, so that a broken download leaves the old file, and a link at the target is replaced, not followed."""
    temporary = f".{name[:50]}.{secrets.token_hex(6)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    digest = hashlib.sha256()
    file = os.fdopen(os.open(folder.at(temporary), flags, 0o666, dir_fd=folder.fd), "wb")
    try:
        with file:
            for chunk in content:
                digest.update(chunk)
                file.write(chunk)
            own = os.fstat(file.fileno())
        if digest.hexdigest() != artifact.sha256:
            raise _refused(artifact.path, "it did not arrive as it was sent")
        _require_in(folder.at(temporary), folder.fd, own, artifact.path)
        os.replace(folder.at(temporary), folder.at(name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        _require_in(target, None, own, artifact.path)
    except BaseException as error:
        try:
            os.unlink(folder.at(temporary), dir_fd=folder.fd)
        except FileNotFoundError:
            # It has its name already, or its folder is gone.
            pass
        if isinstance(error, IsADirectoryError):
            raise _refused(artifact.path, f"{name} is a folder") from error
        raise


def _require_in(name: str, folder: Optional[int], own: os.stat_result, path: str) -> None:
    """Whether this name still leads to what was written."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        found = None
    if found is None or not os.path.samestat(found, own):
        raise _refused(path, "its folder was replaced while it was written")


def _refused(path: str, why: str) -> SkillboxError:
    return SkillboxError(
        "usage",
        f"The artifact {json.dumps(path)} cannot be saved: {why}.",
        "Save into an empty folder, or fetch all of them as an archive: executions.archive(id).",
    )
