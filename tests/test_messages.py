"""Errors, notes and findings are said in the reader's language, whatever values stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest
import spoken

from specviz import catalog
from specviz.catalog.templates import Template, Templates

HOLE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
WORD = re.compile(r"[A-Za-z]{3,}")
FIX = ": choose the head that was trained for this target, in the SafeAILab or speculators format."
RAVEN = (
    ": choose weights in the published format of this architecture, with the configuration that "
    "belongs to them."
)
MISFIT = (
    "lacks the tensors a, b, c and 2 more",
    "has the unknown tensors q",
    "has tensors of another size, q (1x2 instead of 3x4), p (5 instead of 6), "
    "o (7 instead of 8) and 4 more",
)
MISFITS = (
    *(" and ".join(some) for count in (1, 2, 3) for some in combinations(MISFIT, count)),
    "has tensors of another size, q (1x2 instead of 3x4)",
    "has tensors of another size, q (1 instead of 2), p (1 instead of 2)",
    "has tensors of another size, q (1 instead of 2), p (1 instead of 2), o (1 instead of 2)",
)
# What the source alone does not tell: a part of the sentence is made elsewhere. Each with all that
# may stand there.
OPEN: dict[str, tuple[str, ...]] = {
    "{name} cannot be {value}: {model.label} makes {times}, so give {allowed(least, depth)}.": (
        "draft cannot be 9: toy makes 1 iteration, so give 1.",
        "draft cannot be 9: toy makes 8 iterations, so give a whole number from -1 to 8.",
    ),
    "{self.sinks} sinks and {self.depth} levels leave no room for a window in the {facts.trained} "
    "positions that {facts.label} was trained for: give fewer"
    "{', or another trained range' if self.trained else ''}.": (
        "4 sinks and 5 levels leave no room for a window in the 6 positions that h was trained for:"
        " give fewer.",
        "4 sinks and 5 levels leave no room for a window in the 6 positions that h was trained for:"
        " give fewer, or another trained range.",
    ),
    "SPECVIZ_MAX_{name.upper()} cannot be {given[name][:80]}: give a whole number from {low}{most},"
    " or unset it.": (
        "SPECVIZ_MAX_PICTURES cannot be 'x': give a whole number from 0 on, or unset it.",
        "SPECVIZ_MAX_FILE_MB cannot be '99': give a whole number from 1 to 32, or unset it.",
    ),
    "The {what} is empty: {way_out}.": (
        "The prompt is empty: write something to continue.",
        "The document is empty: choose one with text.",
        "The question is empty: ask something about the document.",
    ),
    "The {what} holds half a character at position {half.start() + 1}: type it again.": (
        "The prompt holds half a character at position 3: type it again.",
        "The document holds half a character at position 3: type it again.",
        "The question holds half a character at position 3: type it again.",
    ),
    "{name} is larger than the limit of {TEXT_LIMIT >> 20} MB: cut out the part that matters.": (
        "a.txt is larger than the limit of 32 MB: cut out the part that matters.",
        "The text of a.txt is larger than the limit of 32 MB: cut out the part that matters.",
        "The prompt is larger than the limit of 32 MB: cut out the part that matters.",
        "The document is larger than the limit of 32 MB: cut out the part that matters.",
        "The question is larger than the limit of 32 MB: cut out the part that matters.",
    ),
    "{label} {' and '.join(parts)}" + FIX: tuple(f"h {parts}{FIX}" for parts in MISFITS),
    "The checkpoint {label} {' and '.join(parts)}" + RAVEN: tuple(
        f"The checkpoint r {parts}{RAVEN}" for parts in MISFITS
    ),
    "{label} was made for {what} {own}, the target has {target}" + FIX: (
        f"h was made for hidden states of size 1, the target has 2{FIX}",
        f"h was made for embeddings of size 1, the target has 2{FIX}",
        f"h was made for a vocabulary of 1, the target has 2{FIX}",
    ),
    "{label} has an architecture{written} that transformers {TRANSFORMERS} does not know, and "
    "specviz runs no code that comes with a model: choose another model.": (
        "m has an architecture that transformers 5.1 does not know, and specviz runs no code that "
        "comes with a model: choose another model.",
        "m has an architecture (its own code needs transformers 4.2) that transformers 5.1 does "
        "not know, and specviz runs no code that comes with a model: choose another model.",
    ),
    "<entry.problem()>": (),  # the sentences of all problems are read where they are made
    "<None>": (),
    "<str(problem())>": (),
    "{name} is {what}.": (
        "a.psd is a Photoshop file: save it as PNG.",
        "a.pdf is a PDF document: give the page as a PNG.",
        "a.ps is a PostScript drawing: save it as PNG.",
        "a.ico is an icon file: save it as PNG.",
        "a.avi is a video: give one frame of it as a PNG.",
        "a.zip is a packed file: unpack it first.",
    ),
    "{name} is {what}: save its text as a plain text file first.": tuple(
        f"a.x is {what}: save its text as a plain text file first."
        for what in (
            "a packed file (docx, epub, odt or zip)", "an old Office file", "an RTF file",
            "a compressed file",
        )
    ),
    "Nothing would change, because {picture.name[:80]} looks the same {WAYS[kind]}: choose another "
    "picture.": (
        "Nothing would change, because 'a' looks the same as the picture given in its place: "
        "choose another picture.",
        "Nothing would change, because 'a' looks the same when it is blank: choose another "
        "picture.",
        "Nothing would change, because 'a' looks the same when its tiles are shuffled: choose "
        "another picture.",
    ),
    "This trace has two headers for the {event.role}.": (
        "This trace has two headers for the decoder.",
        "This trace has two headers for the baseline.",
    ),
    "This trace has a {event.type} before the {event.role}'s header.": (
        "This trace has a step before the decoder's header.",
        "This trace has a finish before the baseline's header.",
    ),
    "The comparison calls {'other' if at is not None else 'the same'} tokens {told}.": (
        "The comparison calls other tokens equal.",
        "The comparison calls the same tokens unequal.",
        "The comparison calls the same tokens tied.",
    ),
    "The comparison finds a difference at {check.first_difference}, it is at {at}.": (
        "The comparison finds a difference at 3, it is at 4.",
        "The comparison finds a difference at None, it is at 4.",
        "The comparison finds a difference at 3, it is at None.",
    ),
    "The comparison says {'whole' if check.complete else 'cut'} runs, they are not.": (
        "The comparison says whole runs, they are not.",
        "The comparison says cut runs, they are not.",
    ),
    "The {role}'s {finding}": (
        "The decoder's step 1 comes after an end token.",
        "The baseline's step 1 comes after an end token.",
    ),
    "step {index} {finding}": ("step 3 does not tell what became of an offer.",),
    "picture {number} {finding}": ("picture 1 is not the one whose digest is recorded.",),
    "The picture of probe {number} {f}": ("The picture of probe 1 is no PNG.",),
    "as {name} {finding}": ("picture 1 as given is no PNG.", "picture 1 as seen is no PNG."),
    "sees in {what} {told}, its run has {own}.": (
        "sees in the mode slot, its run has shift.",
        "sees in a trained range of 1, its run has 2.",
    ),
    "reads {name} of iteration {read}, the full pass has {wave.depth}.": (
        "reads keys of iteration 9, the full pass has 8.",
        "reads values of iteration 9, the full pass has 8.",
    ),
    "Kept the {' and the '.join(parts)} of the {total} tokens of the document{mark}: prompt and "
    "answer have room for {room.limit} together.": tuple(
        f"Kept the {parts} of the 9 tokens of the document{mark}: prompt and answer have room for "
        "7 together."
        for parts, mark in (
            ("first 2 and the last 1", " ([...] stands for the rest)"),
            ("first 1", " ([...] stands for the rest)"), ("first 3", ""), ("last 3", ""),
        )
    ),
    "{' and '.join(found)} {ends} turned into LF.": (
        "1 CRLF line end turned into LF.", "2 CRLF line ends turned into LF.",
        "1 CR line end turned into LF.", "5 CR line ends turned into LF.",
        "2 CRLF and 1 CR line ends turned into LF.",
    ),
    "Read as UTF-8; {places} shown as \ufffd.": (
        "Read as UTF-8; 1 damaged place is shown as \ufffd.",
        "Read as UTF-8; 3 damaged places are shown as \ufffd.",
    ),
    "Shown to the model at {wide} x {high} pixels{view.how}.": tuple(
        f"Shown to the model at 6 x 4 pixels{how}."
        for how in (
            "", ", stretched to fit", ", its edges cut off", ", with bars beside it",
            ", in 2 x 3 tiles of 8 x 8 and once as a whole",
            ", stretched to fit, in 2 x 3 tiles of 8 x 8 and once as a whole",
        )
    ),
    "{_pages(len(pages))} read from the PDF.": (
        "1 page read from the PDF.", "3 pages read from the PDF.",
    ),
    "{_pages(empty)} without text left out.": (
        "1 page without text left out.", "3 pages without text left out.",
    ),
    "{_pages(broken)} could not be read.": (
        "1 page could not be read.", "3 pages could not be read.",
    ),
    "Its {what} (0 to {full}) were scaled to 0 to 255.": (
        "Its 12-bit values (0 to 4095) were scaled to 0 to 255.",
        "Its fractional values (0 to 1) were scaled to 0 to 255.",
    ),
    "Its {what} were rounded to 0 to 255.": (
        "Its fractional values were rounded to 0 to 255.",
    ),
    "Its {what} ({low} to {high}) were stretched to 0 to 255.": (
        "Its 32-bit values (-7 to 99) were stretched to 0 to 255.",
        "Its fractional values (-0.5 to 9) were stretched to 0 to 255.",
    ),
    "{label} ({config.model_type}) has {what}, which cannot take back a rejected draft: choose a "
    "model with full or sliding attention in every layer.": (
        "m (mamba) has a recurrent state, which cannot take back a rejected draft: choose a model "
        "with full or sliding attention in every layer.",
        "m (mix) has conv and linear_attention layers, which cannot take back a rejected draft: "
        "choose a model with full or sliding attention in every layer.",
    ),
    "The weights of smol-boards are damaged ({what}): take {FOLDER.name} again from a copy of its "
    "repository.": tuple(
        f"The weights of b are damaged ({what}): take c again from a copy of its repository."
        for what in (
            "the log says which", "q is missing or unknown", "u: q is missing", "u: q is unknown",
            "u: the sizes of q do not fit", "u: the ranks of q differ",
        )
    ),
    "The config.json of {label} has {name} {shown}: it has to be {wish.rstrip(',')}.": tuple(
        f"The config.json of h has q 'x': it has to be {wish}."
        for wish in (
            "the settings of one layer", "an object", "'silu', the only one computed here",
            "a whole number from 1 to 9", "a list of names", "a whole number above 0",
            "a divisor of num_attention_heads, with an even head_dim", "at most vocab_size",
            "one to eight layers below 5, the number that the target has", "a number above 0",
            "one of 'default', 'yarn', which are computed here", "above low_freq_factor",
            "true or false",
        )
    ),
    "{label} cannot run with {spelled[:20]} iterations: write {limits} after the @, with -seeded "
    "behind it for a start from fixed noise.": tuple(
        f"m cannot run with 'x' iterations: write {limits} after the @, with -seeded behind it "
        "for a start from fixed noise."
        for limits in ("a whole number", "a whole number from 1 to 12")
    ),
    "first cannot be {self.first} with a block of {self.block}: give first {allowed(1, self.block)}"
    ", or a block of {self.first} or more.": (
        "first cannot be 9 with a block of 5: give first a whole number from 1 to 5, or a block of "
        "9 or more.",
        "first cannot be 9 with a block of 1: give first 1, or a block of 9 or more.",
    ),
    "{self.name} cannot be {value}: give {self.limits}.": tuple(
        f"knob cannot be 'x': give {limits}."
        for limits in (
            "one of a, b", "true or false", "a name or a path", "a whole number from 1 to 9",
            "a number from 0.5 to 9",
        )
    ),
    "{name} cannot be read: {error.strerror}.": tuple(
        f"a.txt cannot be read: {reason}."
        for reason in (
            "No such file or directory", "Permission denied", "Is a directory",
            "File name too long", "Input/output error",
        )
    ),
    "There is no change {name} for {decoder}; its changes are: {names}.": (
        "There is no change 'x' for autoregressive; its changes are: none.",
        "There is no change 'x' for das; its changes are: a, b.",
    ),
    "This run had {given} already: choose another change.": (
        "This run had no-copy and gamma=0 already: choose another change.",
    ),
    "This trace has schema {found}, this version reads schemas {known}: open it with the specviz "
    "version that wrote it.": (
        "This trace has schema 9, this version reads schemas 1 and 2 and 3: open it with the "
        "specviz version that wrote it.",
    ),
    "The recording holds the picture {name} only as the model saw it "
    "({' x '.join(map(str, used.size))} pixels), because the pictures of a talk are kept up to "
    "{GIVEN_BYTES >> 20} MB in all: record the run again with smaller ones.": (
        "The recording holds the picture 'a' only as the model saw it (3 x 4 pixels), because the "
        "pictures of a talk are kept up to 8 MB in all: record the run again with smaller ones.",
    ),
    "This would need about {need.seconds} s of GPU and one call may ask for {most} s: {lower}"
    "{other}, or choose a smaller model.": tuple(
        f"This would need about 90 s of GPU and one call may ask for 60 s: {lower}{other}, or "
        "choose a smaller model."
        for lower in ("lower max new tokens to 9", "shorten the prompt")
        for other in ("", ", leave out plain decoding")
    ),
}  # fmt: skip
# Too short to be told from other strings of the source.
SHORT = (
    "AMD EPYC, 2 cores",
    "x86_64, 1 threads",
    "AMD EPYC, 2 cores, 4 threads",
    "Read as UTF-8.",
    "This trace is larger than 96 MB.",
    "The run failed; see the log.",
)
AUDITS = ("audit", "audit_head", "audit_pictures")


def said(template: str) -> tuple[str, ...]:
    """Sentences that a template may become, the values numbers where nothing better is known."""
    if template in OPEN:
        return OPEN[template]
    numbers = iter(range(701, 800))
    return (HOLE.sub(lambda match: str(next(numbers)), template),)


def findings() -> Iterator[str]:
    """What the audit of a trace finds, as whole sentences."""
    for name in AUDITS:
        for template in spoken.yielded(spoken.ROOT / f"{name}.py"):
            for each in said(template):
                yield each if each[0].isupper() else f"The decoder's {_in_step(each)}"


def _in_step(finding: str) -> str:
    own = ("step", "run", "end", "prompt", "picture", "steps")
    png = ("is no PNG.", "is damaged,", "has ", "is not the one")
    if finding.startswith(png):
        return f"picture 1 {finding}"
    return finding if finding.split()[0] in own else f"step 1 {finding}"


@cache
def every() -> list[str]:
    known = {template for _, template in (*spoken.errors(), *spoken.sentences())}
    sentences = [each for template in sorted(known) for each in said(template)]
    return sorted({*sentences, *findings(), *SHORT})


def left(english: str) -> set[str]:
    """English words that the Russian sentence still has, but for names in its own templates."""
    if english in catalog.sentences("ru"):
        return set()
    used = [catalog.templates("ru").known[key] for key in catalog.templates("ru").used(english)]
    own = {*WORD.findall(" ".join(used))}
    return {*WORD.findall(catalog.sentence(english, "ru"))} & {*WORD.findall(english)} - own


VALUES = {
    # names in the examples above
    "AMD", "EPYC", "x86_64",
    "cut", "draft", "toy", "knob", "txt", "psd", "pdf", "ico", "avi", "zip", "mamba", "mix", "conv",
    "attention", "linear", "autoregressive", "das", "slot", "shift", "silu",
    "default", "yarn", "copy", "gamma", "step", "finish", "SPECVIZ",
    "MAX", "PICTURES", "FILE", "smol", "boards", "raven", "tiny", "smollm", "pip",
    "install", "deps", "requirements", "weights",
}  # fmt: skip


def test_whatever_is_said_below_the_page_is_translated() -> None:
    wrong = {}
    for english in every():
        russian = catalog.sentence(english, "ru")
        numbers = set(re.findall("7[0-9][0-9]", english)) - set(re.findall("7[0-9]{2}", russian))
        if not re.search("[а-яё]", russian) or numbers or left(english) - VALUES:
            wrong[english] = russian
    assert wrong == {}


def test_no_template_is_left_over() -> None:
    used = {key for english in every() for key in catalog.templates("ru").used(english)}
    assert set(catalog.templates("ru").known) - used == set()


def test_no_open_sentence_is_left_over() -> None:
    known = {template for _, template in (*spoken.errors(), *spoken.sentences())}
    known |= {t for name in AUDITS for t in spoken.yielded(spoken.ROOT / f"{name}.py")}
    assert set(OPEN) - known == set()


def test_a_translation_names_every_value_of_its_template_and_no_other() -> None:
    wrong = []
    for key, russian in catalog.templates("ru").known.items():
        told = re.findall(r"\{(\w+)!?\}", russian)
        forms = re.findall(r"\{(\w+)(\|[^}]*)\}", russian)
        if sorted(told) != sorted(Template.of(key).names):
            wrong.append(f"{key} has other values")
        if not {name for name, _ in forms} <= {*told}:
            wrong.append(f"{key} hides a number")
        if any(each.count("|") != len(catalog.FORMS["ru"]) for _, each in forms):
            wrong.append(f"{key} has not every form")
        if "}{" in key:
            wrong.append(f"{key} does not tell where a value ends")
        if not re.search("[а-яё]", russian) and not key.startswith("…"):
            wrong.append(f"{key} is not Russian")
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        "{x}", "{name}", "{name!}", "{0}", "{name|a|b|c}", "отчёт.txt", "\\1.txt", "a: b", "$&",
        # Sentences of the page's own, and parts of sentences.
        "A nursery rhyme", "Read as UTF-8.", "Permission denied", "keys", "a and b",
    ],
)  # fmt: skip
def test_what_a_person_wrote_stays_literal(name: str) -> None:
    english = f"{name} is empty: choose a document with text."
    assert catalog.sentence(english, "ru") == f"{name} пуст: выберите документ с текстом."
    english = f"{name} is an RTF file: save its text as a plain text file first."
    russian = f"{name} — файл RTF: сначала сохраните его текст обычным текстовым файлом."
    assert catalog.sentence(english, "ru") == russian


def test_a_number_has_its_form() -> None:
    english = "The prompt has {} tokens, the context of toy ends at 8: shorten the prompt."
    found = [catalog.sentence(english.format(n), "ru") for n in ("1", "22", "5", "1.5", "many")]
    assert [said.split(", а")[0] for said in found] == [
        "В промпте 1 токен", "В промпте 22 токена", "В промпте 5 токенов",
        "В промпте 1.5 токенов", "В промпте many токенов",
    ]  # fmt: skip


def test_the_most_literal_template_wins_and_a_part_is_no_sentence() -> None:
    known = {
        "{a} is {b}.": "{a} — {b!}.",
        "{a} is empty.": "{a} пуст.",
        "…red": "красный",
        "…{n} and {rest}": "{n} и {rest!}",
    }
    found = Templates(known, lambda n: 0)
    assert found.sentence("x is empty.") == "x пуст."
    assert found.sentence("red is red.") == "red — красный."
    assert found.sentence("x is red and red.") == "x — red и красный."
    assert list(found.used("x is red.")) == ["{a} is {b}.", "…red"]
    for other in ("red", " is red.", "x is .", "x is red", "is empty."):
        assert found.sentence(other) is None
    deep = "x is " + "1 and " * 9 + "red."
    assert found.sentence(deep) == "x — 1 и 1 и 1 и 1 и 1 and 1 and 1 and 1 and 1 and red."


def test_what_has_no_template_is_shown_as_it_is() -> None:
    for english in ("Something new.", "", "x" * 5000, "{name} is", "a is a folder: choose it."):
        assert catalog.sentence(english, "ru") == english
    assert catalog.sentence("Read as UTF-8.", "en") == "Read as UTF-8."
    long = "a" * 5000 + " is empty: choose another file."
    assert catalog.sentence(long, "ru") == long
