"""A worker whose lock is that of redis-py: SET NX PX with a token, no fence."""

from urllib.parse import unquote, urlsplit

import redis
from redis.exceptions import LockError, LockNotOwnedError

from worker_protocol import Fail, Session, Unknown


class RedisPyWorker:
    honours = ["renew", "mutation"]

    def __init__(self, init, _tell_lost):
        url = urlsplit(init["service"])
        timeout = init["requestTimeoutMs"] / 1000
        self.redis = redis.Redis(
            host=url.hostname,
            port=url.port,
            db=int(url.path.strip("/") or 0),
            username=unquote(url.username) if url.username else None,
            password=unquote(url.password) if url.password else None,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
        )
        self.redis.ping()
        self.name = init["lock"]
        self.lease = init["leaseMs"] / 1000
        self.checks_owner = init["mutation"] != "release-without-owner-check"
        self.lock = None

    def acquire(self, owner, wait_ms):
        lock = self.redis.lock(self.name, timeout=self.lease, sleep=0.05, thread_local=False)
        waiting = {"blocking": True, "blocking_timeout": wait_ms / 1000}
        how = waiting if wait_ms > 0 else {"blocking": False}
        if not self.told(lambda: lock.acquire(token=owner, **how)):
            raise Fail("busy")
        self.lock = lock

    def renew(self):
        self.told(self.lock.reacquire)

    def release(self):
        if self.checks_owner:
            self.told(self.lock.release)
        else:
            # Broken on purpose, for a control: deletes whoever's record.
            self.told(lambda: self.redis.delete(self.name))

    @staticmethod
    def told(ask):
        """Turns the library's exceptions into what they prove."""
        try:
            return ask()
        except LockNotOwnedError as error:
            raise Fail("not-owner", str(error)) from error
        except LockError as error:
            raise Fail("no-grant", str(error)) from error
        except redis.TimeoutError as error:
            raise Unknown("timeout", str(error)) from error
        except redis.ConnectionError as error:
            raise Unknown("connection-lost", str(error)) from error


Session(RedisPyWorker).run()
