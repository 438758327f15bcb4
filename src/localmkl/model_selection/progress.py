"""A progress bar on stderr: how many fits, how fast, how long still."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, done: int = 0, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of fits that were finished since."""
    if not shown:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("fits", total=total, completed=done, rate="")

        def advance(count: int) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, advance=count, rate="" if speed is None else f"{speed:.3g}/s")

        yield advance
