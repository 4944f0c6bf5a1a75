"""A worker whose lock is that of kazoo: a contender's node in a queue. Its czxid is the fence."""

import logging

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, LockTimeout, SessionExpiredError

from worker_protocol import Fail, Session, Unknown


class KazooWorker:
    honours = ["renew", "fence"]

    def __init__(self, init, tell_lost):
        hosts = init["service"].split("://", 1)[1].rsplit("@", 1)[-1]
        self.timeout = init["requestTimeoutMs"] / 1000
        self.client = KazooClient(hosts=hosts, timeout=init["leaseMs"] / 1000)
        self.client.add_listener(self.note)
        self.client.start(timeout=10)
        self.tell_lost = tell_lost
        self.interruptions = 0
        self.path = "/" + init["lock"]
        self.lock = None
        self.record = None
        self.czxid = None

    def note(self, state):
        if state == KazooState.CONNECTED:
            return
        self.interruptions += 1
        if state == KazooState.LOST and self.record is not None:
            self.tell_lost("kazoo: the session is lost")

    def acquire(self, owner, wait_ms):
        lock = self.client.Lock(self.path, owner)
        before = self.interruptions
        try:
            limit = wait_ms / 1000 if wait_ms > 0 else self.timeout
            got = lock.acquire(blocking=wait_ms > 0, timeout=limit)
        except LockTimeout as error:
            raise Fail("busy", str(error)) from error
        except KazooException as error:
            raise Unknown(type(error).__name__, str(error)) from error
        if not got:
            # Interrupted, it cannot tell whether its node was made.
            raise Fail("busy") if self.interruptions == before else Unknown("connection-lost")
        record = self.path + "/" + lock.node
        stat = self.ask(lambda: self.client.exists(record))
        if stat is None:
            raise Unknown("lost-at-once", record + " is gone")
        self.lock, self.record, self.czxid = lock, record, stat.czxid
        return stat.czxid

    def renew(self):
        """The session is the lease: any answered request renews it, if the node is still there."""
        stat = self.ask(lambda: self.client.exists(self.record))
        if stat is None or stat.czxid != self.czxid:
            raise Fail("not-owner", self.record + " is gone")

    def release(self):
        # kazoo calls a release done when the node was gone before.
        self.renew()
        if not self.ask(self.lock.release):
            raise Fail("not-owner", "kazoo does not hold it")

    @staticmethod
    def ask(request):
        try:
            return request()
        except SessionExpiredError as error:
            # Its node went with its session.
            raise Fail("not-owner", "the session has expired") from error
        except KazooException as error:
            raise Unknown(type(error).__name__, str(error)) from error


logging.basicConfig(level=logging.ERROR)
Session(KazooWorker).run()
