"""A media driver and its archive in one process. Aeron: ArchivingMediaDriver."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from aerowire.archive.archive import Archive
from aerowire.archive.context import ArchiveContext
from aerowire.base import arguments
from aerowire.base.directory import random_aeron_dir
from aerowire.driver.context import Context, ThreadingMode
from aerowire.driver.media_driver import MediaDriver
from aerowire.nodes.node_threads import with_one_thread
from aerowire.system.ports import Ports


class ArchivingMediaDriver:
    """A driver and an archive on it. Close it, or use it as a context manager. From `launch` or `launch_embedded`."""

    def __init__(self, driver: MediaDriver, archive: Archive) -> None:
        """Hold a driver and its archive, which are running; `launch` is the usual way."""
        self._driver = driver
        self._archive = archive

    @classmethod
    def launch(
        cls, driver_context: Context | None = None, *, ports: Ports | None = None, one_thread: bool = False, **archive_options: object
    ) -> ArchivingMediaDriver:
        """Start a driver, then an archive in its directory; `archive_options` are those of ArchiveContext.

        With `one_thread` the native agents of both take turns in one thread, which idles as the driver's first agents. A driver in INVOKER
        mode makes the archive one, too: its invoker runs both. Raises as MediaDriver.launch and Archive.launch, and leaves nothing running
        then.
        """
        arguments.instance("driver_context", driver_context, Context, "a Context of a driver")
        if one_thread:
            ports = with_one_thread(ports)
        driver = MediaDriver.launch(driver_context, ports=ports)
        try:
            options: dict[str, object] = {"aeron_dir": driver.aeron_dir, **archive_options}
            if driver.context.threading_mode is ThreadingMode.INVOKER:
                options |= {"threading_mode": "INVOKER", "media_driver_invoker": driver.invoker}
            archive = Archive.launch(ArchiveContext(**options), ports=ports)  # type: ignore[arg-type]
        except BaseException:
            driver.close()
            raise
        return cls(driver, archive)

    @classmethod
    def launch_embedded(cls, *, ports: Ports | None = None, one_thread: bool = False, **archive_options: object) -> ArchivingMediaDriver:
        """Start both, with the driver in a directory of its own that goes when it ends."""
        context = Context(aeron_dir=random_aeron_dir(), dir_delete_on_shutdown=True)
        return cls.launch(context, ports=ports, one_thread=one_thread, **archive_options)

    @property
    def driver(self) -> MediaDriver:
        """The driver."""
        return self._driver

    @property
    def archive(self) -> Archive:
        """The archive."""
        return self._archive

    @property
    def aeron_dir(self) -> str:
        """The directory by which clients find the driver."""
        return self._driver.aeron_dir

    def close(self) -> None:
        """Close the archive, then the driver. Harmless when done twice. Raises as their `close`."""
        try:
            self._archive.close()
        finally:
            self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ArchivingMediaDriver({self._driver!r}, {self._archive!r})"
