"""What networks are trained and judged on: one task per file, named as its settings are."""

from skipgate.reader import class_in
from skipgate.settings import TaskSettings
from skipgate.tasks.task import Task


def task_of(settings: TaskSettings) -> Task:
    """The task whose settings these are."""
    kind: type[Task] = class_in(f"{__name__}.{settings.kind}", Task)
    return kind(settings)
