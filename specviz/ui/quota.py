"""How many seconds of a lent GPU a job needs, and what that is of a visitor's day.

What this server saw counts; before it saw anything, a guess by the size of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from threading import Lock

from specviz.catalog import text
from specviz.jobs import Job, ProbeJob
from specviz.limits import Limits
from specviz.models import registry
from specviz.models.base import InputError
from specviz.trace import Event, Header, Prefill, Step, Trace

# Minutes a day: a visitor without an account, with one, with a PRO account.
DAY = (2, 5, 40)
# The package multiplies what is asked for by this on half a Blackwell card, the size that is asked
# for here, and takes the product from the day (``duration_factor``).
CHARGED = 1.5
# Guesses, wide on purpose and never measured there: a pass of a small model is mostly waiting for
# its layers' kernels, one of a large model reads all of its weights.
PASS, PASS_PER_BILLION = 0.03, 0.006
RECURRENT = 8.0  # passes that one with many iterations counts as
TOKEN, TOKEN_PER_BILLION = 0.0002, 0.0004  # of the prompt
START, LOAD, LOAD_PER_BILLION = 5.0, 15.0, 6.0
COST_PASSES = 70  # that are timed where nobody knows yet what a pass costs
CHARACTERS = 3  # a token has at least so many, in most texts
PICTURE = 1500  # tokens that a picture may take
SPARE = 1.25  # a pass later in a text costs more than one at its beginning


PLAIN = "autoregressive"

# A step of a wave or with a head costs more than a plain one: model, decoder, dtype.
Way = tuple[str, str, str]


@dataclass(frozen=True)
class Pace:
    """Seconds of one pass and of reading one token of a prompt."""

    step: float
    token: float


@dataclass(frozen=True)
class Need:
    """``fixed`` seconds whatever the budget is, and seconds ``each`` new token adds at most."""

    fixed: float
    each: float
    new: int

    @property
    def seconds(self) -> int:
        """All of it, in whole seconds."""
        return ceil(self.fixed + self.each * self.new)


class Meter:
    """What jobs need here; ``limits.gpu_seconds`` is what one call may ask for."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._seen: dict[Way, Pace] = {}
        self._guard = Lock()

    def duration(self, job: Job | ProbeJob) -> int:
        """Seconds to ask for, never more than one call may; the argument of the decorator."""
        return min(self.need(job).seconds, self.limits.gpu_seconds)

    def check(self, job: Job | ProbeJob) -> None:
        """Raise InputError for a job that one call cannot end, with what to lower."""
        need, most = self.need(job), self.limits.gpu_seconds
        if need.seconds <= most:
            return
        allowed = int((most - need.fixed) / need.each) if need.each else 0
        lower = f"lower max new tokens to {allowed}" if allowed >= 1 else "shorten the prompt"
        plain = isinstance(job, Job) and job.baseline
        other = ", leave out plain decoding" if plain else ""
        raise InputError(
            f"This would need about {need.seconds} s of GPU and one call may ask for {most} s: "
            f"{lower}{other}, or choose a smaller model."
        )

    def need(self, job: Job | ProbeJob) -> Need:
        """An upper bound in most cases: every pass counts as if it brought one token."""
        if isinstance(job, ProbeJob):
            return self._probe(job)
        pace, seen = self._pace(way(job))
        fixed = START + self._load(job.model) + _prompt(job) * pace.token
        if not seen and job.decoder != PLAIN:
            fixed += COST_PASSES * pace.step
        each = pace.step
        if job.baseline:
            plain, _ = self._pace(way(job, PLAIN))
            fixed, each = fixed + _prompt(job) * plain.token, each + plain.step
        return Need(fixed, SPARE * each, job.max_new_tokens)

    def _probe(self, job: ProbeJob) -> Need:
        """Prompt and answer are read twice; nothing is decoded."""
        run = Trace(job.events).run("decoder")
        if run is None:
            return Need(START, 0.0, 0)
        twice = 2 * (len(run.header.tokens) + len(run.tokens))
        read = SPARE * self._token(run.header.model) * twice
        return Need(START + self._load(run.header.model) + read, 0.0, 0)

    def watch(self, job: Job | ProbeJob, events: Iterator[Event]) -> Iterator[Event]:
        """``events`` of ``job``, whose seconds are remembered for the next."""
        steps: dict[str, list[float]] = {}
        prompt, token = 0, 0.0
        for event in events:
            match event:
                case Header():
                    prompt = len(event.tokens)
                case Prefill():
                    token = max(token, event.seconds / max(1, prompt))
                case Step():
                    own = event.seconds
                    steps.setdefault(event.role, []).append(own.draft + own.verify + own.commit)
            yield event
        if not isinstance(job, Job):
            return
        with self._guard:
            for role, took in steps.items():
                key = way(job, PLAIN if role == "baseline" else None)
                self._seen[key] = Pace(sum(took) / len(took), token)

    def _pace(self, key: Way) -> tuple[Pace, bool]:
        """That of a way to decode, and whether it was seen here."""
        with self._guard:
            seen = self._seen.get(key)
        return (_guess(key[0]), False) if seen is None else (seen, True)

    def _token(self, model: str) -> float:
        """Seconds of reading a token, whatever decoded: the slowest that was seen."""
        with self._guard:
            seen = [pace.token for (name, _, _), pace in self._seen.items() if name == model]
        return max(seen) if seen else _guess(model).token

    @staticmethod
    def _load(model: str) -> float:
        """Seconds until the weights are there: a new worker has to read them, unless the server
        had them when it was forked."""
        if registry.is_loaded(model):
            return 0.0
        return LOAD + LOAD_PER_BILLION * registry.find(model).parameters

    def line(self, job: Job, lang: str = "en") -> str:
        """What is said beside Run of a job that may run."""
        asked = self.duration(job)
        charged = ceil(CHARGED * asked)
        first, free, pro = (60 * minutes // charged for minutes in DAY)
        return text(
            "ui.zero", lang, seconds=asked, charged=charged, first=first, free=free, pro=pro
        )


def way(job: Job, decoder: str | None = None) -> Way:
    """What the seconds of ``job`` depend on, or of the same job with another ``decoder``."""
    return job.model, decoder or job.decoder, job.dtype


def _guess(model: str) -> Pace:
    """By the size of a model that nothing was seen of."""
    entry = registry.find(model)
    size = entry.parameters
    many = RECURRENT if entry.mean is not None else 1.0
    step = many * (PASS + PASS_PER_BILLION * size)
    return Pace(step, many * (TOKEN + TOKEN_PER_BILLION * size))


def _prompt(job: Job) -> int:
    """Tokens that the prompt of ``job`` may have."""
    words = [job.prompt, job.document or "", job.system or "", *(turn.text for turn in job.history)]
    tokens = sum(map(len, words)) // CHARACTERS + PICTURE * len(job.all_pictures)
    most = [n for n in (job.context, job.limits.prompt_tokens) if n is not None]
    return min([tokens, *most])
