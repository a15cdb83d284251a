"""What the sentence of a view claims, checked against the numbers that the studio gets with it.

`check(told)` reads the JSON of a view and nothing else. Every part of its caption must be a sentence
that is known here, and each number, name and direction in it must be that of the numbers.
"""

import math
import re
from collections import Counter

import numpy as np
import pytest

from seqloom.views.draw.text import visible

N = r"([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)"
P = r"((?:<0\.01|>99\.99|<1|>99|\d[\d.]*) %)"
NAMES = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight")


def check(told):
    """The caption of a view, against its numbers."""
    rest = Caption(told["caption"])
    CHECKS[told["view"]](told, rest)
    assert not rest.text, f"nothing checks: {rest.text!r}"


class Caption:
    """A caption, of which sentences are taken away from the front."""

    def __init__(self, text):
        self.text = text

    def take(self, pattern):
        """The groups of a sentence that must come next."""
        found = self.may(pattern)
        assert found is not None, f"expected {pattern!r} in {self.text!r}"
        return found

    def may(self, pattern):
        """The groups of a sentence that may come next; None if it does not."""
        found = re.match(pattern, self.text, re.DOTALL)
        if found is None:
            return None
        self.text = self.text[found.end() :].lstrip()
        return found.groups()


def near(text, value):
    """Whether a number in a sentence is this one, as rounded there."""
    number = float(text.replace(",", ""))
    decimals = len(text.partition("e")[0].partition(".")[2])
    step = 10.0**-decimals * (10.0 ** int(text.partition("e")[2]) if "e" in text else 1.0)
    significant = 0.006 * abs(value)  # three digits
    return abs(number - value) <= max(0.51 * step, significant if step >= 1 else 0) + 1e-6


def is_share(text, share):
    """Whether a percentage in a sentence is this share; 0 and 100 % are exact."""
    number = text.removesuffix(" %")
    if number[0] in "<>":
        bound = float(number[1:]) / 100
        # JSON has eight digits: what is nearly nothing may be nothing there.
        return 0 <= share < bound if number[0] == "<" else bound < share <= 1
    if number in ("0", "100", "0.00", "100.00"):
        return share == pytest.approx(float(number) / 100, abs=1e-6)
    return near(number, 100 * share)


def attention(told, rest):
    weights = np.array(told["weights"])
    source, target = (list(map(visible, told["tokens"][side])) for side in ("src", "tgt"))
    if not weights.size:
        rest.take("There are no attention weights: the input or the output is empty.$")
        return
    if way := rest.may(r"Mostly (diagonal|reversed)\."):
        assert len(source) > 1
        high = np.sort(weights, axis=1)[:, ::-1]
        clear = weights[(high[:, 0] > 1.49 / len(source)) & (high[:, 0] > high[:, 1])]
        assert len(clear) > len(weights) / 2
        moves = np.diff(clear.argmax(1)) * (1 if way[0] == "diagonal" else -1)
        assert (moves >= 0).all() and (moves > 0).any()
    most, uniform = weights.max(), 1 / len(source)
    if found := rest.may(
        rf"No row has a clear maximum \(largest weight {N}, uniform weight {N}\)\."
    ):
        assert near(found[0], most) and near(found[1], uniform) and most < 1.5 * uniform + 1e-6
    else:
        query, key, weight = rest.take(rf'"(.*?)" attends to "(.*?)" \({N}\)\.')
        assert near(weight, most)
        places = np.argwhere(weights >= most - 1e-5)
        assert any((target[row], source[column]) == (query, key) for row, column in places)
    safe = np.where(weights > 0, weights, 1)
    bits = -(weights * np.log2(safe)).sum(1)
    count, unsure = int((bits > 1 + 1e-4).sum()), int((abs(bits - 1) <= 1e-4).sum())
    if len(weights) == 1:
        if not unsure:
            assert (rest.may(r"The row is spread out \(entropy > 1 bit\)\.") is not None) == count
        return
    if rest.may(rf"All {len(weights)} rows are spread out \(entropy > 1 bit\)\.") is not None:
        assert count + unsure == len(weights)
        return
    number, total = rest.take(r"(\w+) of (\d+) rows (?:is|are) spread out \(entropy > 1 bit\)\.")
    said = NAMES.index(number) if number in NAMES else int(number)
    assert int(total) == len(weights) and count <= said <= count + unsure


def heads(told, rest):
    every = [(layer["name"], n, head) for layer in told["layers"] for n, head in
             enumerate(layer["heads"])]  # fmt: skip
    number, layers, said = rest.take(r"(\d+) heads? in (\d+) layers?: (.*?)\.(?= Clearest|$)")
    assert int(number) == len(every) and int(layers) == len(told["layers"])
    counts = Counter(head["behaviour"] for _, _, head in every)
    assert said == ", ".join(f"{count} {name}" for name, count in counts.most_common())
    vague = {"spread out", "several positions", "mute", "no weights"}
    clear = [one for one in every if one[2]["behaviour"] not in vague]
    if not clear:
        return
    head, layer, behaviour, share = rest.take(rf"Clearest: head (\d+) of (.*), (.*?) \({N}\)\.")
    named = next(one for name, n, one in every if (name, n) == (layer, int(head)))
    assert named["behaviour"] == behaviour and near(share, named["share"])
    assert named["share"] >= max(one["share"] for _, _, one in clear) - 1e-4


def hierarchy(told, rest):
    sentences = told["sentences"]
    if rest.may(r"There are no attention weights: the document is empty\.$") is not None:
        assert not sentences
        return
    number, count, weight = rest.take(rf"Sentence (\d+) of (\d+) has the largest weight \({N}\)")
    one = sentences[int(number) - 1]
    assert int(count) == len(sentences) and near(weight, one["weight"])
    assert one["weight"] == max(other["weight"] for other in sentences)
    if one["words"]:
        word, own = rest.take(rf', in it "(.*)" \({N}\)')
        assert near(own, max(one["weights"]))
        assert visible(one["words"][int(np.argmax(one["weights"]))]) == word
    rest.take(r"\.")


def next_token(told, rest):
    choices, context = told["choices"], told["tokens"][told["rail"]]
    place = visible(context[told["at"]]) if 0 <= told["at"] < len(context) else None
    (token,) = rest.take(r'(?:After "(.*?)"|At the start): ')
    assert token == place
    shown = sorted(choices, key=lambda one: -one["p"])
    for one, pattern in zip(
        shown, (rf'"(.*?)" with {P}', rf', then "(.*?)" with {P}'), strict=False
    ):
        if (found := rest.may(pattern)) is None:
            assert one["p"] == 0
            break
        assert found[0] == visible(one["symbol"]) and is_share(found[1], one["p"])
    (perplexity,) = rest.take(rf"; perplexity {N}\.")
    known = np.array([one["p"] for one in choices if one["p"] > 0])
    least = math.exp(-(known * np.log(known)).sum())
    assert near(perplexity, least) if told["rest"] < 1e-9 else float(perplexity) >= least - 0.06
    if found := rest.may(rf'The actual token "(.*?)" has rank (\d+) with {P}\.'):
        came = told["came"]
        assert found[0] == visible(came["symbol"]) and int(found[1]) == came["rank"] > 0
        assert is_share(found[2], came["p"])
        before = sum(one["p"] > came["p"] for one in choices)
        ties = sum(one["p"] == came["p"] for one in choices) if came["p"] < 1e-7 else 0
        assert before <= min(came["rank"] - 1, len(choices)) <= before + ties
    if found := rest.may(
        rf"(\w+) tokens? of (\d+) can be sampled; {P} of the probability is cut off\."
    ):
        assert (NAMES.index(found[0]) if found[0] == "One" else int(found[0])) == told["kept"]
        assert is_share(found[2], told["cut"])
    elif rest.may(r"No token is cut off\.") is not None:
        assert told["cut"] == 0 and all(one["kept"] for one in choices)


def choices(told, rest):
    shown, chosen = told["choices"], []
    is_chosen = [one["p"] > 0.5 if told["several"] else n == 0 for n, one in enumerate(shown)]
    if found := rest.may(rf'No label has more than 50 %; highest: "(.*?)" with {P}\.'):
        assert not any(is_chosen) and found[0] == visible(shown[0]["label"])
        assert is_share(found[1], shown[0]["p"])
        return
    wanted = [one for one, own in zip(shown, is_chosen, strict=True) if own][:5]
    for one in wanted:
        label, share = rest.take(rf'(?:, )?"(.*?)" with {P}')
        chosen.append(label)
        assert label == visible(one["label"]) and is_share(share, one["p"])
    others = [one for one, own in zip(shown, is_chosen, strict=True) if not own]
    if others:
        label, share = rest.take(rf', next "(.*?)" with {P}')
        assert label == visible(others[0]["label"]) and is_share(share, others[0]["p"])
    rest.take(r"\.")


def surprise(told, rest):
    bits, ranks, tokens = told["bits"], told["ranks"], told["tokens"]["src"]
    known = [n for n, rank in enumerate(ranks) if rank]
    if not known:
        rest.take(r"There is nothing to predict: the text is empty\.")
        return
    mean, first, count = rest.take(
        rf"{N.replace('(', '(infinitely many|', 1)} bits per token; (\d+) of (\d+) tokens have rank 1\."
    )
    assert int(first) == sum(ranks[n] == 1 for n in known) and int(count) == len(known)
    assert told["mean"] is None if mean == "infinitely many" else near(mean, told["mean"])
    value = {n: math.inf if bits[n] is None else bits[n] for n in known}
    said = rest.take(r"Highest surprisal: (.*)\.$")[0]
    named = re.findall(r'"(.*?)" at (\d+) \(([\d.]+|∞) bits\)', said)
    assert len(named) == min(3, len(known))
    for token, place, amount in named:
        assert visible(tokens[int(place)]) == token
        assert amount == "∞" if value[int(place)] == math.inf else near(amount, value[int(place)])
    least = min(value[int(place)] for _, place, _ in named)
    places = {int(place) for _, place, _ in named}
    assert all(value[n] <= least + 1e-5 for n in known if n not in places)


def tags(told, rest):
    if not told["tags"]:
        rest.take(r"There is nothing to label: the text is empty\.")
        return
    count, kinds, spans = rest.take(r"(\d+) tokens, (\d+) different labels?(?:, (\d+) spans?)?; ")
    assert int(count) == len(told["tags"]) and int(spans or 0) == len(told["spans"])
    assert int(kinds) == len({tag["label"] for tag in told["tags"]})
    token, p, label, second = rest.take(
        rf'least certain about "(.*?)" \({N} (\S+)(?: / (.*))?\)\.$'
    )
    least = min(tag["p"] for tag in told["tags"])
    assert near(p, least)
    (place,) = [n for n, tag in enumerate(told["tags"]) if tag["p"] == least][:1]
    tag = told["tags"][place]
    assert (visible(told["tokens"]["src"][place]), visible(tag["label"])) == (token, label)
    if second:
        number, name = second.split(" ", 1)
        assert near(number, tag["alternatives"][0][1])
        assert name == visible(tag["alternatives"][0][0])


def trellis(told, rest):
    path, names = told["path"], list(map(visible, told["states"]))
    if not path:
        rest.take(r"There are no hidden states: the sequence is empty\.")
        return
    filtered, smoothed = np.array(told["filtered"]), np.array(told["smoothed"])
    name, count, total = rest.take(
        r'State "(.*?)" is the Viterbi state at (\d+) of (\d+) positions'
    )
    counts = Counter(path)
    assert int(total) == len(path) and int(count) == max(counts.values())
    assert any(names[state] == name and n == int(count) for state, n in counts.items())
    if found := rest.may(r"\((emissions|mean) (.*?)\); "):
        rows = [row for state, row in enumerate(told["shows"]) if names[state] == name]
        pairs = found[1].split(", ")
        if found[0] == "emissions":
            assert any(
                all(one.split(" ")[0] == visible(p[0]) and near(one.split(" ")[1], p[1])
                    for one, p in zip(pairs, row, strict=False))
                for row in rows
            )  # fmt: skip
        else:
            assert any(all(near(a, b[1]) for a, b in zip(pairs, row, strict=False)) for row in rows)
    else:
        rest.take("; ")
    said = rest.take(
        r"smoothing changes the most probable state (?:at (\d+) positions?|nowhere)\."
    )[0]
    changed = (filtered.argmax(1) != smoothed.argmax(1)).sum()
    close = _has_ties(filtered) + _has_ties(smoothed)
    assert abs(int(said or 0) - changed) <= close
    token, p, state = rest.take(rf'Least certain at "(.*?)" \({N} "(.*?)"(?: / .*)?\)\.$')
    assert near(p, smoothed.max(1).min())
    places = np.flatnonzero(smoothed.max(1) <= smoothed.max(1).min() + 1e-5)
    assert any(visible(told["tokens"]["src"][n]) == token for n in places)
    assert any(near(p, row[names.index(state)]) for row in smoothed[places])


def _has_ties(rows):
    best = np.sort(rows, axis=1)[:, ::-1]
    return int((best[:, 0] - best[:, 1] < 1e-5).sum()) if rows.shape[1] > 1 else 0


def states(told, rest):
    values = np.array(told["values"])
    name, count, low, high = rest.take(rf"(.*?): (\d+) cells from {N} to {N}\.")
    layer = told["layers"][told["layer"]]
    assert name.lower() == layer.lower() and int(count) == values.shape[1]
    assert near(low, values.min()) and near(high, values.max())
    cell, deviation, constant = rest.take(
        rf"Cell (\d+) varies most \(standard deviation {N}\); (\d+) are almost constant\."
    )
    spread = values.std(0)
    assert near(deviation, spread[int(cell)]) and spread[int(cell)] >= spread.max() - 1e-3
    limit = 0.05 * told["range"][1]
    assert (spread < limit - 1e-3).sum() <= int(constant) <= (spread < limit + 1e-3).sum()


def cell(told, rest):
    """The stories are numbers and sentences, and the caption tells one of them."""
    for one in told["stories"]:
        _story(one)
    number, count = rest.take(
        rf"Cell (\d+) of (\d+) in {re.escape(told['layers'][told['layer']])} "
    )
    assert (int(number), int(count)) == (told["cell"], told["cells"])
    own = [one for one in told["stories"] if one["cell"] == told["cell"]]
    if own:
        assert f"Cell {told['cell']} {rest.text}" == own[0]["sentence"]
        assert np.ptp(told["values"]) > 0
        rest.text = ""
        return
    low, high = rest.take(rf"ranges from {N} to {N}\.")
    assert near(low, min(told["values"])) and near(high, max(told["values"]))
    if rest.may(r"No cell of this layer clearly encodes a feature of this text\.") is not None:
        assert not told["stories"]
    else:
        assert rest.take(r"Clearest other cell: (.*)$")[0] == told["stories"][0]["sentence"]
        assert told["stories"][0]["share"] == max(one["share"] for one in told["stories"])


def _story(one):
    rest = Caption(one["sentence"])
    inside, outside = one["inside"], one["outside"]
    (number,) = rest.take(r"Cell (\d+) (?:is )?")
    assert int(number) == one["cell"] and 0 < one["share"] <= 1 + 1e-6 and one["information"] > 0
    if found := rest.may(rf"(high|low) {re.escape(one['story'])} \({N}, elsewhere {N}\)\.$"):
        assert near(found[1], inside) and near(found[2], outside)
        assert float(found[1]) != float(found[2])
        assert (found[0] == "high") == (inside > outside)
        return
    verb, first, last = rest.take(
        rf"(rises|falls|varies) with the {re.escape(one['story'])} \({N} [^,]*, {N} [^,]*\)\.$"
    )
    assert near(first, outside) and near(last, inside) and float(first) != float(last)
    assert verb == "varies" or (verb == "rises") == (inside > outside)


def gates(told, rest):
    for gate in told["gates"].values():
        values = np.array(gate["values"])
        assert abs(gate["open"] - (values > 0.9).mean()) < 0.01 + _edges(values, 0.9)
        assert abs(gate["shut"] - (values < 0.1).mean()) < 0.01 + _edges(values, 0.1)
    left = {name.removeprefix("gate."): gate for name, gate in told["gates"].items()}
    first, opened, shut = rest.take(
        rf"(.*?) gate: {P} of the values are open \(>0\.9\), {P} shut \(<0\.1\)\."
    )
    said = [(first, opened, shut)]
    while rest.text:
        said.append(rest.take(rf"(.*?) gate: open {P}, shut {P}\."))
    for name, opened, shut in said:
        gate = left.pop(name[:1].lower() + name[1:])
        assert is_share(opened, gate["open"]) and is_share(shut, gate["shut"])
    assert not left


def _edges(values, edge):
    return (abs(values - edge) < 1e-4).mean()


def gradient_flow(told, rest):
    (said,) = rest.take(r"Gradient norm of (.*?)\.(?= |$)(?! \d)")
    clauses = said.split("; ")
    assert len(clauses) == len(told["models"])
    for clause in clauses:
        name, _, fate = clause.rpartition(": ")
        flow = next(one for one in told["models"] if one["name"] == name)
        state = [math.inf if value is None else value for value in flow["state"]]
        if found := re.fullmatch(r"below 1 % after (\d+) steps?", fate):
            lag = int(found[1])
            assert all(value < 0.01 for value in state[lag:]) and state[lag - 1] >= 0.01
        else:
            size, lag = re.fullmatch(r"(.*) after all (\d+) steps?", fate).groups()
            assert int(lag) == len(state) - 1 and not state[-1] < 0.01
            if "times larger" in size:
                assert state[-1] > 2
            else:
                assert near(size.removesuffix(" %"), 100 * state[-1])
    exploding = rest.text
    rest.text = ""
    for flow in told["models"]:
        most = max(math.inf if value is None else value for value in flow["state"])
        assert (f"{flow['name']} has an exploding gradient" in exploding) == (most > 10)


def forecast(told, rest):
    series = told["series"]
    for one in series[:3]:
        _fan(one, rest, len(series) > 1)
    if len(series) > 3:
        assert int(rest.take(r"And ([\d,]+) more\.")[0].replace(",", "")) == len(series) - 3
    inside, known = 0, 0
    for one in series:
        low, high = (one["quantiles"][level] for level in ("0.1", "0.9"))
        for value, a, b in zip(one["actual"] or [], low, high, strict=bool(one["actual"])):
            known += value is not None
            inside += value is not None and a <= value <= b
    if known:
        said = rest.take(r"The 80 % interval covers ([\d,]+) of ([\d,]+) actual values?\.")
        assert [int(text.replace(",", "")) for text in said] == [inside, known]


def _fan(one, rest, named):
    mean, past, times = one["mean"], one["past"], one["times"]
    if named and one["name"]:
        rest.take(re.escape(visible(one["name"]).replace("·", " ")) + ": ")
    known = [n for n, value in enumerate(past) if value is not None]
    interval = rf"\(80 % interval {N} to {N}\)"
    if not known:
        value, low, high = rest.take(rf"{N} is forecast at .*? {interval}\.")
        assert near(value, mean[-1])
    elif found := rest.may(rf"(?i:(rises|falls)) from {N} at (\S+) to {N} at (\S+) {interval}"):
        verb, first, since, value, until, low, high = found
        start, end = float(first.replace(",", "")), float(value.replace(",", ""))
        assert near(value, mean[-1]) and times["ahead"][-1].startswith(until)
        assert (verb.lower() == "rises") == (end > start) and end != start
        # The forecast itself goes this way, not only from the last observation to its end.
        if len(mean) > 1 and not (near(first, mean[0]) and near(value, mean[0])):
            assert (mean[-1] - mean[0]) * (end - start) > 0
        _from(one, rest, known, first, since)
    else:
        first, since, until, low, high = rest.take(
            rf"(?i:stays) at {N} from (\S+) to (\S+) {interval}"
        )
        assert near(first, mean[-1]) and times["ahead"][-1].startswith(until)
        _from(one, rest, known, first, since)
    if known:
        _turns(one, rest)
        rest.take(r"\.")
    ends = [one["quantiles"][level][-1] for level in ("0.1", "0.9")]
    assert near(low, ends[0]) and near(high, ends[1])


def _from(one, rest, known, first, since):
    """It starts at the last observation; or at the first step, and the observation is told after."""
    last, place = one["past"][known[-1]], one["times"]["past"][known[-1]]
    if found := rest.may(rf", after {N} at ([^\s.;]+)"):
        assert near(first, one["mean"][0]) and one["times"]["ahead"][0].startswith(since)
        assert near(found[0], last) and place.startswith(found[1])
    else:
        assert near(first, last) and place.startswith(since)


def _turns(one, rest):
    mean = np.array(one["mean"])
    rest.may(r"; (?=highest|lowest)")
    for word, best in (("highest", int(mean.argmax())), ("lowest", int(mean.argmin()))):
        if found := rest.may(rf"(?:, )?{word} {N} at ([^\s.,;]+)"):
            assert near(found[0], mean[best]) and one["times"]["ahead"][best].startswith(found[1])
        else:  # then it is not far beyond both of the ends
            start = [value for value in one["past"] if value is not None][-1]
            ends = [min(start, mean[0]), max(start, mean[0]), mean[-1]]
            beyond = mean[best] - max(ends) if word == "highest" else min(ends) - mean[best]
            assert beyond <= 0.11 * max(np.ptp(mean), np.ptp(ends)) + 0.006 * abs(mean).max()


def components(told, rest):
    for number, one in enumerate(told["components"]):
        name, first, last, low, high = rest.take(
            rf"(?:; )?(.*?): {N} at \S+, {N} at \S+ \(95 % interval {N} to {N}\)"
        )
        mean, deviation = np.array(one["mean"]), np.array(one["deviation"])
        assert name.lower() == one["name"].lower()
        assert near(first, mean[0]) and near(last, mean[-1])
        assert near(low, mean[-1] - 1.96 * deviation[-1])
        assert near(high, mean[-1] + 1.96 * deviation[-1])
        never = rest.may(r", not significantly different from 0 at any step") is not None
        assert never == (number > 0 and bool((abs(mean) <= 1.96 * deviation).all()))
        rest.text = rest.text.lstrip()
    rest.take(r"\.")


def beam(told, rest):
    if rest.may(r"No output was found: no token can follow\.") is not None:
        assert not told["written"]
        return
    size, steps, count, text, own = rest.take(
        rf'Beam size (\d+), (\d+) steps, (\d+) candidates: "(.*?)" \({N} nats\)\.(?= Greedy)'
    )
    assert int(size) == told["beam"] and int(count) == len(told["nodes"])
    assert int(steps) == 1 + max(node["step"] for node in told["nodes"])
    assert near(own, told["log_probs"][0]) and told["log_probs"][0] >= max(told["log_probs"]) - 50
    if rest.may(r"Greedy search finds the same\.") is not None:
        assert told["greedy"]["text"] == told["written"][0]
        return
    assert told["greedy"]["text"] != told["written"][0]
    gain = told["log_probs"][0] - told["greedy"]["log_prob"]
    said = rest.take(r'Greedy search finds ".*", which is (.*) probable\.$')[0]
    if said == "about equally":
        assert abs(gain) < 0.0051
    else:
        amount, way = re.fullmatch(rf"{N} nats (less|more)", said).groups()
        assert near(amount, abs(gain)) and (way == "less") == (gain >= 0)


def influence(told, rest):
    values = np.array(told["influence"], dtype=float)
    source, target = (list(map(visible, told["tokens"][side])) for side in ("src", "tgt"))
    if not values.size:
        rest.take(r"There is nothing to explain: the input or the output is empty\.")
        return
    known = np.nan_to_num(values, nan=0.0)
    for row, reach in zip(known, told["reach"], strict=True):
        total, rounding = abs(row).sum(), 1e-6 * len(row)
        if total > rounding:
            assert abs(row[-reach:]).sum() >= 0.9 * total - rounding
    if told["unit"] == "weight":
        _of_forecast(told, rest, known, source)
    elif len(target) > 1:
        _of_many(told, rest, known, source)
    else:
        _of_one(told, rest, known[0], source)


def _of_forecast(told, rest, known, source):
    for row in dict.fromkeys([0, len(known) - 1]):
        if rest.may(r"No observation affects the forecast of (\S+)\.") is not None:
            assert not known[row].any()
            continue
        last, token, value = rest.take(
            rf"The forecast of .*? depends on the last (.*?) \(90 % of the attribution\), most on"
            rf" (.*?) \({N}\)\."
        )
        assert told["reach"][row] == (1 if last == "step" else int(last.split()[0]))
        best = int(abs(known[row]).argmax())
        assert source[best] == visible(token) and near(value, known[row, best])


def _of_many(told, rest, known, source):
    if rest.may(r"No token affects any part of the output\.") is not None:
        assert not known.any()
    else:
        verb, token, value = rest.take(
            rf"Largest: .*? (attends to|is supported by|is opposed by|is raised by|is lowered by)"
            rf' "(.*?)" \({N}\)\.'
        )
        best = abs(known).max()
        assert near(value.lstrip("+-"), best)
        places = np.argwhere(abs(known) >= best - 1e-5)
        assert any(
            source[column] == token
            and (known[row, column] < 0) == (verb in ("is opposed by", "is lowered by"))
            for row, column in places
        )
    if found := rest.may(r"(\d+) of (\d+) depend most on their own token\."):
        assert int(found[1]) == len(known)
        own = [
            row.any() and place - 1 < len(row) and abs(row[place - 1]) >= abs(row).max() - 1e-6
            for row, place in zip(known, told["places"], strict=True)
        ]
        assert int(found[0]) <= sum(own)


def _of_one(told, rest, row, source):
    if found := rest.may(
        r"The next (?:character|token) depends on the last (?:(\d+) )?\w+ \(90 % of the attribution\)\."
    ):
        assert told["reach"][0] == int(found[0] or 1)
    if rest.may(r"No token affects .*\.$") is not None:
        assert abs(row).max(initial=0) < 1e-5
        return
    least = 0.02 * abs(row).max()
    for pattern, sign in ((r"(?:For|Up) .*?: (.*?)\.(?= (?:Against|Down): |$)", 1),
                          (r"(?:Against|Down): (.*)\.$", -1)):  # fmt: skip
        if (
            sign > 0
            and rest.may(r"No token (?:raises|supports) .*?\.(?= (?:Against|Down)|$)") is not None
        ):
            assert row.max() <= least + 1e-5
            continue
        found = rest.may(r".* attends most to (.*)\.$") or rest.may(pattern)
        if found is None:
            assert (sign * row).max() <= least + 1e-5
            break
        named = re.findall(rf'"([^"]*)" {N}', found[0])
        order = np.sort(sign * row)[::-1]
        for n, (token, value) in enumerate(named):
            assert near(value.lstrip("+-"), order[n]) and order[n] > 0
            assert any(
                source[p] == token for p in np.flatnonzero(abs(sign * row - order[n]) < 1e-5)
            )


CHECKS = {
    "attention": attention,
    "heads": heads,
    "hierarchy": hierarchy,
    "next": next_token,
    "choices": choices,
    "surprise": surprise,
    "tags": tags,
    "trellis": trellis,
    "states": states,
    "cell": cell,
    "gates": gates,
    "gradient_flow": gradient_flow,
    "forecast": forecast,
    "components": components,
    "beam": beam,
    "influence": influence,
}
