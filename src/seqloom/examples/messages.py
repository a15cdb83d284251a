"""Text messages made from templates: some want to sell something, and some only look so."""

import random

from .example import Material

HAM = (
    "are you coming {when}?",
    "{hello} can you call me {when}",
    "i left the {thing} at {place}",
    "meet me at {place} {when}",
    "ok see you {when} then",
    "did you win the game {when}?",
    "{hello} the {thing} is ready, call {person}",
    "sorry i can't talk now, will text you {when}",
    "{person} says the tickets are free {when}",
    "happy birthday {person}! see you {when}",
    "can you bring the {thing} to {place}?",
    "no reply from {person} yet, i will call {when}",
    "my new number is {number}, call me {when}",
    "lunch {when}? i have a free hour",
    "thanks for the {thing}, it is great",
    "please tell {person} i am at {place}",
)
SPAM = (
    "{win} you have won a {prize}! call {number} now",
    "free {prize}! text {code} to {number}",
    "urgent! your {account} needs attention, call {number}",
    "{hello} claim your {prize} {when}: {link}",
    "your {account} has won {money}, reply {code} to claim",
    "last chance: {prize} for {money}, {link}",
    "{win} text {code} to {number} to get a {prize}",
    "you are selected for {money}, call {number} {when}",
    "cheap {prize} only {when}! visit {link}",
    "{person} sent you a message, read it at {link}",
    "we tried to call you about your {prize}. ring {number}",
    "loan of {money} approved {when}, {link}",
)
SLOTS = {
    "when": ("tonight", "tomorrow", "at 6", "on sunday", "later", "now", "next week", "today"),
    "hello": ("hey", "hi", "hello", "hiya", "dear"),
    "thing": ("book", "car", "phone", "cake", "jacket", "key", "present", "ticket"),
    "place": ("work", "home", "the station", "school", "the pub", "mum's", "the shop"),
    "person": ("ada", "otto", "mira", "jonas", "lena", "your sister", "the boss"),
    "win": ("congratulations!", "winner!!", "good news:", "attention!", "hooray"),
    "prize": ("phone", "holiday", "voucher", "ringtone", "camera", "bonus", "ticket"),
    "account": ("account", "mobile number", "card", "subscription"),
    "money": ("£500", "£1000", "$2,000", "5000 euro", "£100 cash"),
    "code": ("WIN", "YES", "CLAIM", "STOP", "GO", "PRIZE"),
    "link": ("www.prizes.example", "bit.example/win", "http://claim.example", "deals.example"),
}


def message(chance: random.Random, is_spam: bool) -> str:
    """One message, written as people do."""
    slots = {name: chance.choice(words) for name, words in SLOTS.items()}
    slots["number"] = f"0{chance.randint(10**9, 10**10 - 1)}"
    text = chance.choice(SPAM if is_spam else HAM).format(**slots)
    if chance.random() < 0.3:
        text = text.upper() if is_spam and chance.random() < 0.5 else text.capitalize()
    if chance.random() < 0.2:
        text += chance.choice([" x", " :)", " lol", "!!", " ..."])
    return text


def messages(count: int = 4000, seed: int = 1) -> str:
    """A table of messages and labels, one in five of them spam; each text once."""
    chance, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        is_spam = chance.random() < 0.2
        found.setdefault(message(chance, is_spam), "spam" if is_spam else "ham")
    rows = [f'"{text.replace(chr(34), chr(34) * 2)}",{label}\n' for text, label in found.items()]
    return "".join(["text,label\n", *rows])


TEMPLATES = Material(
    "made", "Messages made from templates: real ones are not on this machine.", messages
)
