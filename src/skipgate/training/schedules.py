"""The learning rate of an epoch."""

from skipgate.settings import Constant, Recipe, Steps


def learning_rate(recipe: Recipe, epoch: int) -> float:
    """The rate that epoch `epoch` (from 0) trains with."""
    schedule = recipe.schedule
    first = recipe.optimiser.rate
    if isinstance(schedule, Constant):
        return first
    done = epoch if isinstance(schedule, Steps) else epoch / recipe.epochs
    return float(first * schedule.factor ** sum(done >= at for at in schedule.at))


def milestones(recipe: Recipe) -> list[int]:
    """The first epoch of every stretch of equal learning rate."""
    rates = [learning_rate(recipe, epoch) for epoch in range(recipe.epochs)]
    return [e for e in range(recipe.epochs) if e == 0 or rates[e] != rates[e - 1]]
