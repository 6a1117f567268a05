"""Requests about small programs: write, explain, mend, test."""

from __future__ import annotations

import random

LANGUAGES = ("Python", "Python", "Python", "JavaScript", "C", "Java", "Bash", "SQL", "HTML", "Rust")
JOBS = (
    "reverses a string", "adds two numbers", "counts the vowels in a word",
    "finds the largest of {n} numbers",
    "checks whether a number is prime", "prints the first {n} Fibonacci numbers",
    "removes duplicates from a list", "sorts a list of names", "reads a text file line by line",
    "converts Celsius to Fahrenheit", "counts words in a sentence", "checks for a palindrome",
    "computes the factorial of {n}", "finds the average of a list", "merges two dictionaries",
    "prints all even numbers up to {n}", "capitalises every word", "rolls {n} dice and adds them",
    "finds the longest word in a list", "swaps two variables",
    "prints a multiplication table of {n}",
    "removes all spaces from a text", "counts down from {n}", "splits a list into parts of {n}",
    "checks whether a year is a leap year", "finds the sum of the digits of a number",
    "turns a list of pairs into a dictionary", "searches a sorted list",
    "validates an email address",
    "flattens a list of lists", "finds words that occur more than {n} times",
    "rotates a list by {n}",
    "computes the area of a circle", "generates a random password of {n} letters",
    "converts a number to binary", "finds common elements of two lists",
    "prints a triangle of stars",
    "makes a guessing game with {n} tries", "counts how often each letter occurs",
)  # fmt: skip
IDEAS = (
    "a for loop", "a while loop", "a dictionary", "recursion", "a class", "inheritance",
    "an exception",
    "a list comprehension", "a lambda function", "a decorator", "a generator", "a unit test",
    "a global variable", "an array", "a pointer", "a regular expression", "a binary tree",
    "a stack",
    "a queue", "a hash table", "an API", "a database index", "version control", "a linked list",
    "a set", "a tuple", "type hints", "a context manager", "a string format", "a module",
)  # fmt: skip
NAMES = (
    "f",
    "compute",
    "total",
    "check",
    "process",
    "find",
    "count_items",
    "select",
    "run",
    "build",
)
LISTS = ("numbers", "values", "items", "words", "names", "scores", "prices", "rows")
EXTRAS = (
    "", "", "", " Add comments.", " Use type hints.", " Give an example call.",
    " Explain each line.",
    " Do not use any library.", " Keep it as short as possible.", " Handle empty input.",
    " Add a docstring.", " What is its complexity?",
)  # fmt: skip


def _snippet(rng: random.Random) -> str:
    """A few lines of Python that do something simple, now and then with a mistake."""
    name, values = rng.choice(NAMES), rng.choice(LISTS)
    n, m = rng.randint(2, 20), rng.randint(1, 9)
    sign = rng.choice(("+", "-", "*"))
    comparison = rng.choice((">", "<", ">=", "==", "!="))
    bodies = (
        f"    return [x {sign} {m} for x in {values} if x {comparison} {n}]",
        f"    total = 0\n    for x in {values}:\n        total = total {sign} x\n    return total",
        f"    result = []\n    for i in range({n}):\n        result.append({values}[i])\n"
        "    return result",
        f"    best = None\n    for x in {values}:\n"
        f"        if best is None or x {comparison} best:\n"
        "            best = x\n    return best",
        f"    counts = {{}}\n    for x in {values}:\n        counts[x] = counts.get(x, 0) + {m}\n"
        "    return counts",
        f"    i = {m}\n    while i < {n + 9}:\n"
        f"        print({values}, i)\n        i = i {sign} {m}",
        f"    if len({values}) {comparison} {n}:\n        return {values}[:{m}]\n"
        f"    return sorted({values})",
    )
    return f"def {name}({values}):\n{rng.choice(bodies)}"


def task(rng: random.Random) -> str:
    """A request about a program."""
    language = rng.choice(LANGUAGES)
    job = rng.choice(JOBS).format(n=rng.randint(2, 50))
    idea, other = rng.sample(IDEAS, 2)
    code = _snippet(rng)
    forms = (
        f"Write a {language} function that {job}.",
        f"Write a {language} program that {job}.",
        f"How do I write a {language} program that {job}?",
        f"Show me a small {language} example that {job} and uses {idea}.",
        f"Can you give me {language} code that {job}?",
        f"What is {idea} in {language}?",
        f"Explain {idea} to a beginner who knows {other}.",
        f"When should I use {idea} instead of {other} in {language}?",
        f"What does this code do?\n\n{code}",
        f"Explain this function line by line:\n\n{code}",
        f"Find the mistake in this code, if there is one:\n\n{code}",
        f"Write a test for this function:\n\n{code}",
        f"Rewrite this code so that it is easier to read:\n\n{code}",
        f"Translate this function to {rng.choice(LANGUAGES[3:6])}:\n\n{code}",
        f"Complete this function so that it {job}:\n\ndef {rng.choice(NAMES)}(",
    )
    wish, *given = rng.choice(forms).split("\n\n", 1)
    return "\n\n".join([wish + rng.choice(EXTRAS), *given])
