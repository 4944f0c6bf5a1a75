"""Worker protocol 1 for workers in Python: messages, parking, heartbeats, and the business resource.

A worker is a class with `honours`, `acquire`, `renew` and `release`; see redis_py_worker.py. An
operation raises Fail when it surely had no effect, Unknown when it may have had one; any other
exception is unknown too, because nobody can tell.
"""

import json
import os
import queue
import socket
import sys
import threading
import time

PARK_POINTS = ["before-send", "after-acquire", "before-release"]
BUSINESS = ["close-order", "pay-order", "release-stock", "write", "claim-task", "checkpoint"]
# What the resource answers when it wrote nothing.
REFUSALS = {
    "stale-token",
    "token-used",
    "fence-fault",
    "no-token",
    "token-out-of-range",
    "wrong-state",
    "effect-in-doubt",
    "sql-error",
    "bad-request",
}


class Fail(Exception):
    """Surely no effect: a code that proves it, and perhaps a detail."""


class Unknown(Exception):
    """Perhaps an effect, at any time after the invocation: a code, and perhaps a detail."""


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Resource:
    """The business resource: JSON lines over TCP, one request at a time."""

    def __init__(self, address, timeout):
        self.address = (address["host"], address["port"])
        self.timeout = timeout
        self.stream = None

    def write(self, request):
        if self.stream is None:
            try:
                connection = socket.create_connection(self.address, self.timeout)
            except OSError as error:
                raise Fail("connect-failed", str(error)) from error
            self.stream = connection.makefile("rw", encoding="utf-8", newline="\n")
        try:
            self.stream.write(json.dumps(request) + "\n")
            self.stream.flush()
            line = self.stream.readline()
        except OSError as error:
            self.drop()
            raise Unknown("timeout", str(error)) from error
        if not line:
            self.drop()
            raise Unknown("connection-lost")
        return json.loads(line)

    def drop(self):
        """A connection without an answer is out of step."""
        self.stream.close()
        self.stream = None


class Session:
    """One worker between its messages. `make` gets the `init` message and `tell_lost`."""

    def __init__(self, make):
        self.make = make
        self.init = None
        self.worker = None
        self.resource = None
        # Owner, fence and own deadline of the latest acquire.
        self.grant = None
        self.operations = queue.Queue()
        self.going = queue.Queue()
        self.output = threading.Lock()

    def run(self):
        """Reads messages until stdin ends; then everything ends, and nothing is released."""
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "init":
                self.begin(message)
            elif message["type"] == "op":
                self.operations.put(message)
            elif message["type"] == "go":
                self.going.put(message["id"])
            elif message["type"] == "ping":
                self.emit(type="pong", nonce=message["nonce"], atNs=str(now_ns()))
        os._exit(0)

    def begin(self, init):
        self.init = init
        self.resource = Resource(init["resource"], init["requestTimeoutMs"] / 1000)
        self.worker = self.make(init, self.tell_lost)
        self.emit(
            type="ready",
            version=1,
            workerId=init["workerId"],
            pid=os.getpid(),
            honours=PARK_POINTS + BUSINESS + self.worker.honours,
        )
        for work in (self.beat, self.operate):
            threading.Thread(target=work, daemon=True).start()

    def emit(self, **message):
        text = json.dumps({key: value for key, value in message.items() if value is not None})
        with self.output:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def beat(self):
        seq = 0
        while True:
            self.emit(type="heartbeat", seq=seq, atNs=str(now_ns()))
            seq += 1
            time.sleep(self.init["heartbeatEveryMs"] / 1000)

    def tell_lost(self, reason):
        self.emit(type="lost", lock=self.init["lock"], reason=reason, atNs=str(now_ns()))

    def operate(self):
        while True:
            op = self.operations.get()
            invoked = Invocation(self, op)
            try:
                body = self.perform(op, invoked)
            except (Fail, Unknown) as error:
                outcome = "fail" if isinstance(error, Fail) else "unknown"
                code, *detail = error.args
                body = {"outcome": outcome, "code": code, "detail": (detail or [None])[0]}
            except Exception as error:  # pylint: disable=broad-except
                name = type(error).__name__
                body = {"outcome": "unknown", "code": name, "detail": str(error)}
            invoked.result(body)

    def perform(self, op, invoked):
        self.park(op, "before-send")
        if op["action"] == "acquire":
            return self.acquire(op, invoked)
        if self.grant is None:
            raise Fail("no-grant", "this worker never had a grant")
        if op["action"] == "business":
            return self.business(op, invoked)
        if op["action"] == "release":
            self.park(op, "before-release")
        invoked.say(self.grant)
        # An operation that its `honours` does not name is not asked for.
        getattr(self.worker, op["action"])()
        return {"outcome": "ok"}

    def acquire(self, op, invoked):
        grant = {"owner": op["owner"]}
        begun = invoked.say(grant)
        fence = self.worker.acquire(op["owner"], op["waitMs"])
        invoked.completed = now_ns()
        if fence is not None:
            grant["fence"] = str(fence)
        self.grant = grant
        self.park(op, "after-acquire")
        deadline = begun + self.init["leaseMs"] * 1_000_000
        return {"outcome": "ok", "validUntilNs": str(deadline), **grant}

    def business(self, op, invoked):
        invoked.say(self.grant)
        request = {
            "kind": "write",
            "requestId": op["id"] + "/" + op["business"],
            "action": op["business"],
            "subject": op["subject"],
            "operationId": op["operationId"],
            "worker": self.init["workerId"],
            "attempt": op["attempt"],
            "owner": self.grant["owner"],
            "fence": self.grant.get("fence"),
        }
        if "value" in op:
            request["value"] = op["value"]
        reply = self.resource.write(request)
        refused = "fail" if reply["code"] in REFUSALS else "unknown"
        return {
            "outcome": "ok" if reply["accepted"] else refused,
            "code": reply["code"],
            "accepted": reply["accepted"],
            "replayed": reply["replayed"],
            "version": reply["version"],
        }

    def park(self, op, point):
        if op.get("park") != point:
            return
        self.emit(type="parked", id=op["id"], point=point, atNs=str(now_ns()))
        while self.going.get() != op["id"]:
            pass


class Invocation:
    """One operation: says that it leaves, and what came of it."""

    def __init__(self, session, op):
        self.session = session
        self.head = {"id": op["id"], "action": op["action"], "automatic": False}
        self.grant = {}
        self.invoked = None
        self.completed = None

    def say(self, grant):
        self.grant = grant
        self.invoked = now_ns()
        self.session.emit(type="invoked", atNs=str(self.invoked), **self.head, **grant)
        return self.invoked

    def result(self, body):
        completed = self.completed or now_ns()
        message = {**self.head, **self.grant, **body}
        message["invokedAtNs"] = str(self.invoked or completed)
        message["completedAtNs"] = str(completed)
        self.session.emit(type="result", **message)
