"""Services and a client in one event loop: many streams, no threads of one's own, and a deadline for every step.

    python examples/asyncio_chat.py [COUNT]

Each service answers on a stream of its own. The client asks all of them at once and waits for all the answers; a service that is asked to
stop leaves its `async for` when its subscription is closed.
"""

from __future__ import annotations

import asyncio
import sys

from aerowire import aio
from aerowire.driver import MediaDriver

CHANNEL = "aeron:ipc"
QUESTIONS, ANSWERS = 1000, 2000
SERVICES = ("upper", "title", "swapcase")
TIMEOUT_S = 10.0


async def serve(questions: aio.AsyncSubscription, answers: aio.AsyncPublication, kind: str) -> None:
    """Answer every question by the string method `kind`, until the subscription is closed."""
    async for question in questions:
        text = question.payload.decode()
        await answers.send(getattr(text, kind)().encode(), timeout_s=TIMEOUT_S)


async def ask(publication: aio.AsyncPublication, subscription: aio.AsyncSubscription, text: str) -> str:
    """Send a question and wait for its answer."""
    async with asyncio.timeout(TIMEOUT_S):
        await publication.send(text.encode())
        return (await subscription.receive()).payload.decode()


async def main(aeron_dir: str, count: int) -> None:
    """Run all services and ask each `count` questions."""
    async with aio.connect(aeron_dir) as aeron, asyncio.TaskGroup() as group:
        services = []
        clients = []
        for number, kind in enumerate(SERVICES):
            questions = await aeron.add_subscription(CHANNEL, QUESTIONS + number)
            answers = await aeron.add_publication(CHANNEL, ANSWERS + number)
            services.append(questions)
            group.create_task(serve(questions, answers, kind))
            clients.append(
                (await aeron.add_publication(CHANNEL, QUESTIONS + number), await aeron.add_subscription(CHANNEL, ANSWERS + number))
            )
        received = 0
        for number in range(count):
            texts = await asyncio.gather(*(ask(publication, subscription, f"Question {number}") for publication, subscription in clients))
            assert texts == [getattr(f"Question {number}", kind)() for kind in SERVICES]
            received += len(texts)
        for questions in services:
            await questions.close()
    print(f"{count} questions to {len(SERVICES)} services, {received} answers")


if __name__ == "__main__":
    with MediaDriver.launch_embedded() as driver:
        asyncio.run(main(driver.aeron_dir, int(sys.argv[1]) if len(sys.argv) > 1 else 100))
