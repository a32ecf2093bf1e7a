"""The replicated state: keys that values are appended to, with each client's last request, so that a repeated one is executed once."""

from __future__ import annotations

from hashlib import blake2b

from aerowire.simulation.scenarios.clusters.requests import Answer, Operation, Request

KEYS = 4


class Register:
    """Keys with the count and a digest of what was appended to them. Changed by `request`, `come_back` and `restore` alone.

    `answers` has the last answer of each client; `under_way` the requests whose append is to come by a message or a timer.
    """

    def __init__(self) -> None:
        self.keys: dict[int, tuple[int, int]] = dict.fromkeys(range(KEYS), (0, 0))
        self.answers: dict[int, Answer] = {}
        self.under_way: dict[tuple[int, int], Request] = {}

    def request(self, request: Request, position: int) -> tuple[Answer, bool]:
        """Execute a request that has come at a position; return its answer, and whether it has not come before."""
        last = self.answers.get(request.client)
        if last is not None and last.number >= request.number:
            return last, False
        if request.operation is Operation.APPEND:
            self._append(request)
        elif request.operation is not Operation.READ:
            self.under_way[request.client, request.number] = request
        answer = Answer(request.client, request.number, position, *self.keys[request.key])
        self.answers[request.client] = answer
        return answer, True

    def come_back(self, client: int, number: int) -> bool:
        """Append the value of a request whose message or timer has come; return whether it was expected."""
        request = self.under_way.pop((client, number), None)
        if request is not None:
            self._append(request)
        return request is not None

    def snapshot(self) -> list[object]:
        """Return the state as plain values."""
        return [
            [[key, *value] for key, value in sorted(self.keys.items())],
            [list(answer) for _, answer in sorted(self.answers.items())],
            [[int(request.operation), *request[1:]] for _, request in sorted(self.under_way.items())],
        ]

    def restore(self, state: list[object]) -> None:
        """Take the state of a snapshot."""
        keys, answers, under_way = state
        assert isinstance(keys, list)
        assert isinstance(answers, list)
        assert isinstance(under_way, list)
        self.keys = {key: (count, digest) for key, count, digest in keys}
        self.answers = {answer[0]: Answer(*answer) for answer in answers}
        self.under_way = {(row[2], row[3]): Request(Operation(row[0]), *row[1:]) for row in under_way}

    def digest(self) -> int:
        """Return a digest of the whole state."""
        return _digest(repr(self.snapshot()).encode())

    def _append(self, request: Request) -> None:
        count, digest = self.keys[request.key]
        self.keys[request.key] = count + 1, _digest(b"%d %d" % (digest, request.value))


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
