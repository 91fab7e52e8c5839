"""python3 -m unittest, in this folder. What needs a box runs when SKILLBOX_URL and SKILLBOX_API_KEY name one."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple
from unittest import mock

import skillbox
from skillbox import APIError, Cancellation, Cancelled, Client, ConnectionFailed, SkillboxError, TimedOut

Handler = Callable[["Scripted"], None]


class Scripted(http.server.BaseHTTPRequestHandler):
    """A box that answers what a test tells it to, and remembers what it was asked."""

    protocol_version = "HTTP/1.1"
    answers: List[Handler] = []
    asked: List[Tuple[str, str, Dict[str, str], bytes]] = []

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                chunk = self.rfile.read(int(self.rfile.readline(), 16))
                self.rfile.readline()
                if chunk == b"":
                    break
                body += chunk
        type(self).asked.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        type(self).answers.pop(0)(self)

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def say(self, status: int, body: Any, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


def refuse(status: int, code: str, **headers: str) -> Handler:
    return lambda box: box.say(status, {"error": code, "message": "No.", "hint": "Later.", "request_id": "r-1"}, **headers)


def answer(body: Any) -> Handler:
    return lambda box: box.say(200, body)


def broken(box: Scripted) -> None:
    box.close_connection = True


def events(*blocks: str) -> Handler:
    """A stream that breaks after these."""

    def serve(box: Scripted) -> None:
        box.send_response(200)
        box.send_header("Content-Type", "text/event-stream")
        box.send_header("Transfer-Encoding", "chunked")
        box.end_headers()
        for block in (": connected\n\n", *blocks):
            content = block.encode()
            box.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        box.close_connection = True

    return serve


def status(number: int, text: str) -> str:
    return f'id: {number}\nevent: status\ndata: {{"time":"t","text":"{text}"}}\n\n'


execution: Dict[str, Any] = {"execution_id": "e1", "status": "success", "files_list": [], "output": {"a": 1}}


class ScriptedCase(unittest.TestCase):
    def setUp(self) -> None:
        self.box = type("Box", (Scripted,), {"answers": [], "asked": []})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.box)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.client = Client(self.url, "sk-key")
        self.addCleanup(self.client.close)
        self.pauses: List[float] = []
        patch = mock.patch("time.sleep", self.pauses.append)
        patch.start()
        self.addCleanup(patch.stop)

    def script(self, *answers: Handler) -> None:
        self.box.answers.extend(answers)


class Retries(ScriptedCase):
    def test_a_refused_run_is_sent_again_under_the_same_key_after_the_pause_that_was_asked(self) -> None:
        self.script(refuse(429, "queue_full", Retry_After="3"), refuse(503, "overloaded", Retry_After="1"), answer(execution))
        self.assertEqual(self.client.run("x", input={"n": 1}).output, {"a": 1})
        keys = {headers["idempotency-key"] for _m, _p, headers, _b in self.box.asked}
        bodies = {body for _m, _p, _h, body in self.box.asked}
        self.assertEqual((len(self.box.asked), len(keys), len(bodies)), (3, 1, 1))
        self.assertTrue(3 <= self.pauses[0] <= 3.3 and 1 <= self.pauses[1] <= 1.1, self.pauses)

    def test_two_runs_have_two_keys(self) -> None:
        self.script(answer(execution), answer(execution))
        self.client.run("x")
        self.client.run("x")
        self.assertNotEqual(self.box.asked[0][2]["idempotency-key"], self.box.asked[1][2]["idempotency-key"])

    def test_pauses_grow_and_attempts_end(self) -> None:
        self.script(*[refuse(503, "overloaded")] * 4)
        with self.assertRaises(APIError) as raised:
            self.client.list_skills()
        self.assertEqual((raised.exception.code, len(self.box.asked)), ("overloaded", 4))
        for pause, base in zip(self.pauses, (0.25, 0.5, 1.0)):
            self.assertTrue(base / 2 <= pause <= base, self.pauses)

    def test_a_box_that_asks_for_too_much_patience_is_not_waited_for(self) -> None:
        self.script(refuse(429, "rate_limited", Retry_After="120"))
        with self.assertRaises(APIError) as raised:
            self.client.list_skills()
        self.assertEqual((raised.exception.retry_after, self.pauses), (120.0, []))

    def test_a_broken_connection_is_mended_for_what_may_be_repeated_only(self) -> None:
        self.script(broken, answer({"items": [], "next_cursor": None}), broken, answer(execution))
        self.assertEqual(self.client.list_skills(), [])
        self.assertEqual(self.client.run("x").status, "success")
        self.script(broken)
        with self.assertRaises(ConnectionFailed):
            self.client.keys.create("x")
        self.assertEqual(len(self.box.asked), 5)

    def test_what_may_be_half_done_is_not_repeated(self) -> None:
        self.script(refuse(503, "unavailable"))
        with self.assertRaises(APIError):
            self.client.sandboxes.create()
        self.assertEqual(len(self.box.asked), 1)

    def test_a_file_is_sent_again_from_where_it_began_and_a_generator_is_not(self) -> None:
        file = io.BytesIO(b"skipped content")
        file.seek(8)
        self.script(refuse(503, "overloaded"), answer({"path": "/a"}), refuse(503, "overloaded"))
        self.client.sandbox("i1").files.write("a", file)
        self.assertEqual([body for _m, _p, _h, body in self.box.asked], [b"content", b"content"])
        with self.assertRaises(APIError):
            self.client.sandbox("i1").files.write("a", (chunk for chunk in [b"once"]))
        self.assertEqual(len(self.box.asked), 3)


class Errors(ScriptedCase):
    def test_carry_everything_the_box_said(self) -> None:
        self.script(refuse(404, "skill_not_found"))
        with self.assertRaises(APIError) as raised:
            self.client.get_skill("x")
        error = raised.exception
        self.assertEqual((error.status_code, error.error_code, error.hint, error.request_id), (404, "skill_not_found", "Later.", "r-1"))
        self.assertIn("r-1", str(error))

    def test_something_that_is_no_box_is_named(self) -> None:
        self.script(lambda box: box.say(502, b"<html>"))
        with self.assertRaisesRegex(SkillboxError, "not as a Skillbox does"):
            self.client.health()

    def test_an_address_that_is_none_is_refused(self) -> None:
        with self.assertRaisesRegex(SkillboxError, "not the address of a box"):
            Client("localhost:8080", "sk-key")

    def test_tenant_and_key_are_sent(self) -> None:
        self.script(answer(execution), answer(execution))
        Client(self.url, "sk-key", tenant_id="acme").get_execution("e1")
        self.client.with_tenant("other").get_execution("e1")
        self.assertEqual([asked[2].get("x-tenant-id") for asked in self.box.asked], ["acme", "other"])
        self.assertEqual(self.box.asked[0][2]["authorization"], "Bearer sk-key")


class Time(ScriptedCase):
    def test_a_box_that_says_nothing_is_given_up(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)
        self.script(lambda box: release.wait(10) and None)
        begun = time.monotonic()
        with self.assertRaises(TimedOut):
            self.client.with_options(timeout=0.1).run("x")
        self.assertLess(time.monotonic() - begun, 5)

    def test_another_thread_cancels(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)
        cancellation = Cancellation()
        self.script(lambda box: (cancellation.cancel(), release.wait(10)) and None)
        with self.assertRaises(Cancelled):
            self.client.with_options(cancellation=cancellation).run("x")
        with self.assertRaises(Cancelled):
            self.client.with_options(cancellation=cancellation).health()
        self.assertEqual(len(self.box.asked), 1)

    def test_cancelling_ends_a_pause(self) -> None:
        cancellation = Cancellation()
        self.script(lambda box: (refuse(503, "overloaded", Retry_After="20")(box), threading.Timer(0.05, cancellation.cancel).start()) and None)
        begun = time.monotonic()
        with self.assertRaises(Cancelled):
            self.client.with_options(cancellation=cancellation).health()
        self.assertLess(time.monotonic() - begun, 10)


class Streams(ScriptedCase):
    def test_a_broken_stream_goes_on_where_it_had_got_to(self) -> None:
        self.script(events(status(1, "queued"), status(2, "running")), broken, events(status(3, "success")))
        seen = [(event.id, event.data.text) for event in self.client.executions.stream("e1")]
        self.assertEqual(seen, [("1", "queued"), ("2", "running"), ("3", "success")])
        self.assertEqual([asked[2].get("last-event-id") for asked in self.box.asked], [None, "2", "2"])

    def test_what_was_half_said_is_not_an_event(self) -> None:
        self.script(events(status(1, "running"), "id: 2\nevent: status\ndata: {"), events(status(2, "failed")))
        self.assertEqual([event.id for event in self.client.executions.stream("e1")], ["1", "2"])

    def test_a_stream_that_is_refused_says_why(self) -> None:
        self.script(refuse(404, "not_found"))
        with self.assertRaises(APIError):
            next(self.client.executions.stream("e1"))


class Downloads(ScriptedCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def result(self, *paths: str, content: bytes = b"data") -> skillbox.Execution:
        files = [{"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()} for path in paths]
        self.script(answer({**execution, "files_list": files}))
        return self.client.get_execution("e1")

    def test_names_that_lead_out_write_nothing_at_all(self) -> None:
        for bad in ("../a", "/etc/a", "a/../../b", "a//b", "./a", "a\\b", "C:a", "a\0b", ""):
            result = self.result("fine.txt", bad)
            with self.assertRaisesRegex(SkillboxError, "could lead out"):
                self.client.download_files(result, self.folder / "out")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_links_that_are_there_are_not_followed(self) -> None:
        outside = self.folder / "outside"
        outside.mkdir()
        (self.folder / "out").mkdir()
        (self.folder / "out/link").symlink_to(outside)
        with self.assertRaisesRegex(SkillboxError, "link is a link"):
            self.client.download_files(self.result("link/a.txt"), self.folder / "out")
        (outside / "kept.txt").write_text("kept")
        (self.folder / "out/b.txt").symlink_to(outside / "kept.txt")
        result = self.result("b.txt")
        self.script(lambda box: box.say(200, b"data"))
        self.client.download_files(result, self.folder / "out")
        self.assertEqual((outside / "kept.txt").read_text(), "kept")
        self.assertEqual((self.folder / "out/b.txt").read_bytes(), b"data")

    def test_a_link_that_takes_the_place_of_a_folder_is_not_followed(self) -> None:
        outside = self.folder / "outside"
        outside.mkdir()

        def swap(box: Scripted) -> None:
            (self.folder / "out/sub").rename(self.folder / "out/moved")
            (self.folder / "out/sub").symlink_to(outside)
            box.say(200, b"data")

        result = self.result("sub/a.txt")
        self.script(swap)
        with self.assertRaisesRegex(SkillboxError, "was replaced while it was written"):
            self.client.download_files(result, self.folder / "out")
        self.assertEqual(list(outside.iterdir()), [])

    def test_no_folder_stays_open(self) -> None:
        result = self.result("a/b/c.txt", "d/e.txt")
        self.script(lambda box: box.say(200, b"data"), lambda box: box.say(200, b"dat!"))
        with self.assertRaisesRegex(SkillboxError, "did not arrive"):
            self.client.download_files(result, self.folder / "out")
        held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]
        self.assertEqual([path for path in held if path.startswith(str(self.folder))], [])

    def test_what_arrives_otherwise_than_sent_leaves_the_old_file(self) -> None:
        (self.folder / "a.txt").write_text("old")
        result = self.result("a.txt")
        self.script(lambda box: box.say(200, b"dat!"))
        with self.assertRaisesRegex(SkillboxError, "did not arrive"):
            self.client.download_files(result, self.folder)
        self.assertEqual([(path.name, path.read_text()) for path in self.folder.iterdir()], [("a.txt", "old")])


class Records(ScriptedCase):
    def test_a_newer_box_may_say_more_and_an_older_one_less(self) -> None:
        self.script(answer({**execution, "new_field": 1, "error": {"code": "timeout", "message": "m", "also": 2}}))
        record = self.client.get_execution("e1")
        self.assertEqual((record.error and record.error.code, record.timings, record.has_files), ("timeout", None, False))

    def test_paths_are_encoded(self) -> None:
        self.script(lambda box: box.say(200, b"x"), answer({"items": [], "next_cursor": None}))
        self.client.executions.file("e1", "a b/c?d#é.txt")
        self.client.sandboxes.list(labels={"a": "1&2"})
        self.assertEqual(self.box.asked[0][1], "/v1/executions/e1/files/a%20b/c%3Fd%23%C3%A9.txt")
        self.assertEqual(self.box.asked[1][1], "/v1/sandboxes?labels=a%3D1%25262")

    def test_every_page_is_read(self) -> None:
        one = {"name": "a"}
        self.script(answer({"items": [one], "next_cursor": "c 1"}), answer({"items": [one, one], "next_cursor": None}))
        self.assertEqual(len(self.client.list_skills()), 3)
        self.assertIn("cursor=c+1", self.box.asked[1][1])


@unittest.skipUnless("SKILLBOX_URL" in os.environ, "needs SKILLBOX_URL and SKILLBOX_API_KEY")
class Live(unittest.TestCase):
    """What only a box can show. The common scenario of all SDKs is in tests/sdks."""

    def setUp(self) -> None:
        self.client = Client(os.environ["SKILLBOX_URL"], os.environ["SKILLBOX_API_KEY"])
        self.addCleanup(self.client.close)

    def test_one_client_serves_many_threads(self) -> None:
        results: List[Any] = []
        work = lambda n: results.append(self.client.run("word-counter", input={"text": "a " * n}).output["total_words"])  # noqa: E731
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), [1, 2, 3, 4, 5, 6])

    def test_a_folder_and_its_files_are_the_same_skill(self) -> None:
        folder = Path(__file__).parent.parent.parent / "examples/skills/text-summary"
        again = self.client.register_skill(folder)
        self.assertFalse(again.created)
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.assertEqual(self.client.skills.push_files(files).digest, again.digest)

    def test_a_sandbox_streams_and_ends_with_its_block(self) -> None:
        said: List[str] = []
        with self.client.sandboxes.create("base", ttl="10m") as sandbox:
            result = sandbox.exec("echo one; sleep 0.1; echo two; echo bad >&2; exit 4", on_stdout=said.append)
            self.assertEqual((result.exit_code, "".join(said), result.stderr), (4, "one\ntwo\n", "bad\n"))
            sandbox.files.write("in/x.bin", (chunk for chunk in [b"a" * 70_000, b"b"]))
            with sandbox.files.open("in/x.bin", offset=69_999) as content:
                self.assertEqual(content.read(), b"ab")
        self.assertEqual(self.client.sandbox(sandbox.id).get().state, "destroyed")


if __name__ == "__main__":
    sys.exit(unittest.main())
