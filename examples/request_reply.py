"""Ask and answer over two UDP streams: one driver, two clients, on ports that the driver chooses.

    python examples/request_reply.py [COUNT]

A question carries its number in its first eight bytes and the answer repeats it, so a late answer is never taken for another one's.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from aerowire.client import Aeron, Header, Publication, Subscription
from aerowire.driver import MediaDriver

CHANNEL = "aeron:udp?endpoint=127.0.0.1:0"
QUESTIONS, ANSWERS = 1001, 1002
FRAGMENT_LIMIT = 10
NUMBER_LENGTH = 8
TIMEOUT_S = 10.0


def wait_until(is_done: Callable[[], bool], what: str) -> None:
    """Call `is_done` until it is true, yielding in between. Raises TimeoutError with `what` after TIMEOUT_S."""
    deadline = time.monotonic() + TIMEOUT_S
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {TIMEOUT_S} s")
        time.sleep(0)


def send(publication: Publication, message: bytes) -> None:
    """Offer until the stream takes the message: it waits for a subscriber, and for room in the window."""
    wait_until(lambda: publication.offer(message) >= 0, f"offering to {publication.channel}")


def channel_of(subscription: Subscription) -> str:
    return f"aeron:udp?endpoint={subscription.resolved_endpoint}"


def serve(questions: Subscription, answers: Publication, done: threading.Event) -> None:
    """Answer every question in capitals until `done`."""

    def on_question(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        del header
        text = bytes(buffer[offset : offset + length])
        send(answers, text[:NUMBER_LENGTH] + text[NUMBER_LENGTH:].upper())

    while not done.is_set():
        if questions.poll(on_question, FRAGMENT_LIMIT) == 0:
            time.sleep(0)


def ask(questions: Publication, answers: Subscription, count: int) -> list[str]:
    """Ask `count` questions, each after the answer to the one before; return the answers."""
    received: dict[int, bytes] = {}

    def on_answer(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        del header
        text = bytes(buffer[offset : offset + length])
        received[int.from_bytes(text[:NUMBER_LENGTH], "little")] = text[NUMBER_LENGTH:]

    def has_answer(number: int) -> bool:
        answers.poll(on_answer, FRAGMENT_LIMIT)
        return number in received

    for number in range(count):
        send(questions, number.to_bytes(NUMBER_LENGTH, "little") + b"question %d" % number)
        wait_until(lambda asked=number: has_answer(asked), f"answer to question {number}")  # type: ignore[misc]
    return [received[number].decode() for number in range(count)]


def main(count: int) -> None:
    with (
        MediaDriver.launch_embedded() as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as asker,
        Aeron.connect(aeron_dir=driver.aeron_dir) as server,
        asker.add_subscription(CHANNEL, ANSWERS) as answers_in,
        server.add_subscription(CHANNEL, QUESTIONS) as questions_in,
        asker.add_publication(channel_of(questions_in), QUESTIONS) as questions_out,
        server.add_publication(channel_of(answers_in), ANSWERS) as answers_out,
    ):
        done = threading.Event()
        worker = threading.Thread(target=serve, args=(questions_in, answers_out, done))
        worker.start()
        try:
            answers = ask(questions_out, answers_in, count)
        finally:
            done.set()
            worker.join()
    print(f"{len(answers)} answers, the last one: {answers[-1]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
