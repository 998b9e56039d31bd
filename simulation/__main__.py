"""`python -m simulation`: many trials on all seeds and both modes, and their scorecard."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lambda_src"))

from simulation.scorecard import Scorecard
from simulation.trial import MODES, Trial


def main() -> int:
    """The exit status: 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000, help="in all")
    parser.add_argument("--seeds", type=int, default=50, help="how many; half the trials are of each mode")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--mode", choices=MODES, help="only this one")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where to write the counts")
    arguments = parser.parse_args()
    modes = [arguments.mode] if arguments.mode else list(MODES)
    jobs = -(-arguments.jobs // (arguments.seeds * len(modes)))
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    trials = [Trial(mode=mode, seed=seed, jobs=jobs) for seed in seeds for mode in modes]
    started, cards = time.monotonic(), []
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(Scorecard.of, trial) for trial in trials]):
            cards.append(done.result())
            if sys.stderr.isatty():
                print(f"\r{len(cards)} of {len(trials)} trials", end="", file=sys.stderr, flush=True)
    total = Scorecard.total(cards)
    print(f"\n{total}\n{len(trials)} trials in {time.monotonic() - started:.0f} s")
    if arguments.json:
        arguments.json.write_text(total.as_json() + "\n")
    return 0 if total.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
