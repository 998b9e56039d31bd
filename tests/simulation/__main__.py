"""Run trials of all modes and print their scorecard (`make chaos`), or the story of one job."""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from simulation.callers.trial import MODES, Trial
from simulation.scorecard import Scorecard
from simulation.world.story import story
from simulation.world.world import World


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials. Return the exit status: 1 if an invariant was broken."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000, help="in all")
    parser.add_argument("--seeds", type=int, default=50, help="number of seeds; each is used for every mode")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--story", metavar="JOB", help="run only the first trial and print the story of this job")
    given = parser.parse_args(arguments)
    modes = [given.mode] if given.mode else list(MODES)
    jobs = -(-given.jobs // (given.seeds * len(modes)))
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    trials = [Trial.harsh(mode, seed=seed, jobs=jobs) for seed in seeds for mode in modes]
    if given.story:
        world = World(trials[0])
        world.run()
        print(story(world, given.story))
        return 0
    started = time.monotonic()
    total = Scorecard.total(run_all(trials, given.processes))
    print(f"{total}\n{len(trials)} trials in {time.monotonic() - started:.0f} s")
    if given.json:
        given.json.write_text(total.as_json() + "\n")
    return 0 if total.is_clean else 1


def run_all(trials: list[Trial], processes: int) -> list[Scorecard]:
    """Return a scorecard for each trial, in the order of the trials."""
    cards: dict[int, Scorecard] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(Scorecard.of, trial): number for number, trial in enumerate(trials)}
        for done in as_completed(running):
            cards[running[done]] = done.result()
            if sys.stderr.isatty():
                print(f"\r{len(cards)} of {len(trials)} trials ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return [cards[number] for number in range(len(trials))]


if __name__ == "__main__":
    sys.exit(main())
