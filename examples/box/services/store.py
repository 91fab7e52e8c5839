"""A counter behind HTTP: GET /count tells it, POST /count with the token adds one. It survives a kill at any moment."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

port = int(os.environ["PORT"])
file = os.environ["COUNT_FILE"]
token = os.environ["STORE_TOKEN"]
lock = Lock()


def read():
    with open(file) as source:
        return json.load(source)


def add():
    with lock:
        state = read()
        state["count"] += 1
        with open(file + ".new", "w") as target:
            json.dump(state, target)
        os.replace(file + ".new", file)
        return state


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {"status": "ok"})
        elif self.path == "/count":
            self.answer(200, read())
        else:
            self.answer(404, {"error": "not_found"})

    def do_POST(self):
        if self.headers.get("Authorization") != "Bearer " + token:
            self.answer(401, {"error": "unauthorized"})
        elif self.path == "/count":
            self.answer(200, add())
        else:
            self.answer(404, {"error": "not_found"})

    def log_message(self, *_):
        pass


print(f"store listens on {port}", flush=True)
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
