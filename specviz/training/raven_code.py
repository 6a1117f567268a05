"""Small Python functions with docstrings, each asked for in words."""

from __future__ import annotations

import random

ASKS = (
    "Write a Python function that returns {what}.",
    "Write a function {name} that returns {what}.",
    "I need a Python function to get {what}.",
    "Please write a small function which returns {what}.",
    "Define {name} in Python: it returns {what}.",
    "Code a function that gives {what}.",
)
LISTS = ("numbers", "values", "items", "scores", "data", "nums")
EACH = ("n", "x", "value", "number", "item")

# words, condition, short name
FILTERS = (
    ("even numbers", "{n} % 2 == 0", "even"),
    ("odd numbers", "{n} % 2 == 1", "odd"),
    ("positive numbers", "{n} > 0", "positive"),
    ("negative numbers", "{n} < 0", "negative"),
    ("numbers greater than {k}", "{n} > {k}", "above"),
    ("numbers less than {k}", "{n} < {k}", "below"),
    ("numbers divisible by {k}", "{n} % {k} == 0", "divisible"),
    ("numbers equal to {k}", "{n} == {k}", "equal"),
    ("numbers", "", "all"),
)
# words, expression, short name
MAPS = (
    ("squares of the ", "{n} * {n}", "squares"),
    ("cubes of the ", "{n} * {n} * {n}", "cubes"),
    ("doubles of the ", "2 * {n}", "doubles"),
    ("halves of the ", "{n} / 2", "halves"),
    ("absolute values of the ", "abs({n})", "absolute"),
    ("", "{n}", ""),
)
SCALARS = (
    ("area of a rectangle", "rectangle_area", "width, height", "width * height"),
    ("perimeter of a rectangle", "rectangle_perimeter", "width, height", "2 * (width + height)"),
    ("area of a square", "square_area", "side", "side * side"),
    ("area of a triangle", "triangle_area", "base, height", "base * height / 2"),
    ("volume of a box", "box_volume", "width, height, depth", "width * height * depth"),
    ("average of two numbers", "average", "a, b", "(a + b) / 2"),
    ("sum of two numbers", "add", "a, b", "a + b"),
    ("difference of two numbers", "subtract", "a, b", "a - b"),
    ("product of two numbers", "multiply", "a, b", "a * b"),
    ("larger of two numbers", "larger", "a, b", "max(a, b)"),
    ("smaller of two numbers", "smaller", "a, b", "min(a, b)"),
    ("distance for a speed and a time", "distance", "speed, time", "speed * time"),
    ("number of seconds in some minutes", "minutes_to_seconds", "minutes", "minutes * 60"),
    ("number of minutes in some hours", "hours_to_minutes", "hours", "hours * 60"),
    ("number of hours in some days", "days_to_hours", "days", "days * 24"),
    ("price after a discount", "discounted", "price, percent", "price * (100 - percent) / 100"),
    ("temperature in Fahrenheit", "to_fahrenheit", "celsius", "celsius * 9 / 5 + 32"),
    ("number of words in a text", "count_words", "text", "len(text.split())"),
    ("text in reverse", "reverse_text", "text", "text[::-1]"),
    ("text in upper case", "upper", "text", "text.upper()"),
    ("text in lower case", "lower", "text", "text.lower()"),
    ("first letter of a word", "first_letter", "word", "word[0]"),
    ("last letter of a word", "last_letter", "word", "word[-1]"),
    ("length of a text", "text_length", "text", "len(text)"),
    ("text without spaces", "no_spaces", "text", 'text.replace(" ", "")'),
    ("last item of a list", "last_item", "items", "items[-1]"),
    ("list in sorted order", "sorted_list", "items", "sorted(items)"),
    ("number of different items", "count_unique", "items", "len(set(items))"),
)
LOOPS = (
    (
        "factorial of a number",
        "factorial",
        "n",
        "    result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result",
    ),
    (
        "sum of the digits of a number",
        "digit_sum",
        "n",
        "    total = 0\n    while n > 0:\n        total += n % 10\n        n = n // 10\n"
        "    return total",
    ),
    (
        "number of vowels in a text",
        "count_vowels",
        "text",
        '    count = 0\n    for letter in text:\n        if letter in "aeiou":\n'
        "            count += 1\n    return count",
    ),
    (
        "n-th Fibonacci number",
        "fibonacci",
        "n",
        "    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a",
    ),
    (
        "greatest common divisor of two numbers",
        "gcd",
        "a, b",
        "    while b:\n        a, b = b, a % b\n    return a",
    ),
    (
        "longest word in a text",
        "longest_word",
        "text",
        '    best = ""\n    for word in text.split():\n        if len(word) > len(best):\n'
        "            best = word\n    return best",
    ),
    (
        "number of times that each letter occurs",
        "count_letters",
        "text",
        "    counts = {}\n    for letter in text:\n"
        "        counts[letter] = counts.get(letter, 0) + 1\n    return counts",
    ),
    (
        "index of an item in a list",
        "find_index",
        "items, target",
        "    for i, item in enumerate(items):\n        if item == target:\n"
        "            return i\n    return -1",
    ),
    (
        "list of the words that start with a letter",
        "words_starting_with",
        "words, letter",
        "    result = []\n    for word in words:\n        if word.startswith(letter):\n"
        "            result.append(word)\n    return result",
    ),
)
CHECKS = (
    ("whether a number is even", "is_even", "n", "n % 2 == 0"),
    ("whether a number is odd", "is_odd", "n", "n % 2 == 1"),
    ("whether a number is divisible by {k}", "is_divisible", "n", "n % {k} == 0"),
    ("whether a number is greater than {k}", "is_large", "n", "n > {k}"),
    ("whether a text is a palindrome", "is_palindrome", "text", "text == text[::-1]"),
    ("whether a list is empty", "is_empty", "items", "len(items) == 0"),
    ("whether a word is in a text", "contains", "text, word", "word in text"),
    ("whether two words have the same length", "same_length", "a, b", "len(a) == len(b)"),
)


def function(rng: random.Random) -> tuple[str, str]:
    """One request and its code."""
    make = rng.choices((_listwise, _affine, _listed), weights=(6, 2, 3))[0]
    what, name, arguments, body = make(rng)
    head = what if what.startswith("wh") else f"the {what}"
    ask = rng.choice(ASKS).format(what=head, name=name)
    return ask, f'def {name}({arguments}):\n    """Return {head}."""\n{body}'


def _listed(rng: random.Random) -> tuple[str, str, str, str]:
    k = str(rng.randint(2, 99))
    what, name, arguments, body = rng.choice((*SCALARS, *LOOPS, *CHECKS))
    body = body if body.startswith(" ") else f"    return {body}"
    return what.replace("{k}", k), name, arguments, body.replace("{k}", k)


def _affine(rng: random.Random) -> tuple[str, str, str, str]:
    a, b = rng.randint(2, 30), rng.randint(1, 90)
    n = rng.choice(("x", "n", "number"))
    sign, word = rng.choice((("+", "plus"), ("-", "minus")))
    name = f"times_{a}_{word}_{b}"
    return f"number times {a} {word} {b}", name, n, f"    return {a} * {n} {sign} {b}"


def _listwise(rng: random.Random) -> tuple[str, str, str, str]:
    """Filter, map and reduce over a list."""
    n, many, k = rng.choice(EACH), rng.choice(LISTS), str(rng.randint(2, 40))
    some, condition, short = rng.choice(FILTERS)
    of, expression, mapped = rng.choice(MAPS)
    kind = rng.choice(("sum", "count", "list", "largest"))
    if kind == "count":
        of, expression, mapped = "", "{n}", ""
    some, condition, expression = (
        x.replace("{n}", n).replace("{k}", k) for x in (some, condition, expression)
    )
    where = f" if {condition}" if condition else ""
    pad = "        "
    guard = f"{pad}if {condition}:\n    {pad}" if condition else pad
    name = "_".join(x for x in (kind, mapped, short) if x)
    loop = f"    for {n} in {many}:\n{guard}"
    compact = rng.random() < 0.4
    body = {
        "sum": f"    return sum({expression} for {n} in {many}{where})"
        if compact
        else f"    total = 0\n{loop}total += {expression}\n    return total",
        "count": f"    return len([{n} for {n} in {many}{where}])"
        if compact
        else f"    count = 0\n{loop}count += 1\n    return count",
        "list": f"    return [{expression} for {n} in {many}{where}]"
        if compact
        else f"    result = []\n{loop}result.append({expression})\n    return result",
        "largest": f"    return max({expression} for {n} in {many}{where})",
    }[kind]
    lead = {"sum": "sum", "count": "number", "list": "list", "largest": "largest"}[kind]
    return f"{lead} of the {of}{some} in a list", name, many, body
