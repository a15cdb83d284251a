"""Mutation testing (DeMillo et al., 1978): plant one-line bugs, and see whether a test fails.

    python scripts/mutants.py [--room metrics --each 60 --seed 3]     # ten bugs in each room, or 60
    python scripts/mutants.py --only src/seqloom/metrics/labels.py:33

A bug is one changed expression or one dropped statement. Each is planted in a copy of the package,
and the tests of its room run on it until the first fails. What no test notices survives; survivors
that change nothing anybody could see are listed in mutants.toml, with a reason each. The exit code
is 1 if others are 5 % of the bugs or more. At first the tests of a room run once under coverage.py,
so that of all tests only those that reach the changed line are run. What is known is kept in
build/mutants: a run that was stopped goes on, and one with new tests tries the survivors alone.
"""

import argparse
import ast
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT, PLACES = Path(__file__).parents[1], Path(__file__).with_suffix(".toml")
MOST_SURVIVORS = 0.05
SLACK = 60.0  # seconds; kernels of a changed file are compiled anew
PATIENCE = 4.0  # tests that take so many times as long are in an endless loop: the bug is noticed
WARM = ("numpy", "torch", "numba", "scipy.optimize", "sklearn")  # no plugins: pytest would warn

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
}
COMPARED |= {right: left for left, right in COMPARED.items()}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
}
CALLED = {"min": "max", "any": "all", "argmin": "argmax", "minimum": "maximum", "floor": "ceil"}
CALLED |= {right: left for left, right in CALLED.items()} | {"sum": "mean", "mean": "sum"}
SYMMETRIC = {"min", "max", "minimum", "maximum", "zip", "add", "multiply", "logaddexp"}
SYMMETRIC |= {"isinstance"}
SHOWN = {None, "strict", "dtype", "decimals", "unit", "help", "encoding"}  # not what is computed


class Mutant(NamedTuple):
    """A bug: what stands at a place, and what is planted there instead."""

    file: str
    line: int
    start: int  # offsets in the file's bytes
    end: int
    before: str
    after: str
    text: str  # the line as it is
    lines: tuple[int, ...] = ()  # its line, and that where its statement begins

    def key(self) -> tuple[str, str, str, str]:
        """What the list of accepted survivors names: no line number, which would move."""
        return self.file, self.text, self.before, self.after

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


class Room(NamedTuple):
    """Files that are changed, and the tests that should notice, the likeliest first."""

    name: str
    files: list[str]
    tests: list[str]


@dataclass
class Accepted:
    """A survivor that nobody could notice, and why."""

    file: str
    line: str
    before: str
    after: str
    why: str

    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.line, self.before, self.after


def read_places(path: Path = PLACES) -> tuple[list[Room], list[Accepted]]:
    """The rooms and the accepted survivors."""
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    rooms = []
    for name, room in told["rooms"].items():
        files = sorted({str(p.relative_to(ROOT)) for g in room["files"] for p in ROOT.glob(g)})
        rooms.append(Room(name, files, room["tests"]))
    return rooms, [Accepted(**entry) for entry in told.get("accepted", [])]


class _Planter(ast.NodeVisitor):
    """Collects every bug of a file.

    Annotations, decorators, messages and what is only raised or shown are left out: nothing there
    can make a number wrong.
    """

    def __init__(self, file: str, source: str) -> None:
        self.file, self.source = file, source
        self.lines = source.splitlines()
        self.starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.statement = 0

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and know where its statement begins."""
        if isinstance(node, ast.stmt):
            self.statement = node.lineno
        super().visit(node)

    def plant(self, node: ast.AST, after: str) -> None:
        """Note a bug: the source of a node is replaced."""
        place: Any = node
        start = self.starts[place.lineno - 1] + place.col_offset
        end = self.starts[place.end_lineno - 1] + place.end_col_offset
        before = self.source.encode()[start:end].decode()
        if " ".join(before.split()) != after:
            text = self.lines[place.lineno - 1].strip()
            lines = (place.lineno, self.statement)
            before = " ".join(before.split())
            self.found.append(
                Mutant(self.file, place.lineno, start, end, before, after, text, lines)
            )

    def plant_changed(self, node: ast.expr, **fields: Any) -> None:
        """Note a bug: a node with other fields."""
        values = {name: getattr(node, name) for name in node._fields} | fields
        self.plant(node, f"({ast.unparse(type(node)(**values))})")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in {"__repr__", "__str__"}:
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(default)
            self._visit_body(node.body)

    def _visit_body(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_text:
                self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_body(node.body)

    def visit_Module(self, node: ast.Module) -> None:
        self._visit_body(node.body)

    def visit_Raise(self, node: ast.Raise) -> None:
        """What is wrong with an error's words is for its own tests."""

    visit_Import = visit_ImportFrom = visit_Assert = visit_JoinedStr = visit_Raise  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not (isinstance(node.value, ast.Name) and node.value.id[:1].isupper()):  # no type
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        only_raises = all(isinstance(statement, ast.Raise) for statement in node.body)
        if ast.unparse(node.test) != "TYPE_CHECKING" and not only_raises:
            self.plant(node.test, f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.plant_changed(node, body=node.orelse, orelse=node.body)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            other = COMPARED[type(operator)]()
            self.plant_changed(node, ops=[*node.ops[:place], other, *node.ops[place + 1 :]])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = _is_text(node.left) or _is_text(node.right)
        if type(node.op) in COMPUTED and not is_text:
            self.plant_changed(node, op=COMPUTED[type(node.op)]())
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self.plant_changed(node, op=other)
        for place in range(len(node.values)):
            left = node.values[:place] + node.values[place + 1 :]
            self.plant(
                node, f"({ast.unparse(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))})"
            )
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.plant(node, f"({ast.unparse(node.operand)})")
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.plant(node, str(not value))
        elif isinstance(value, int):
            self.plant(node, str(value + 1))
        elif isinstance(value, float):
            self.plant(node, repr(value * 1.5 if value else 0.5))

    def visit_Call(self, node: ast.Call) -> None:
        is_symmetric = ast.unparse(node.func).rpartition(".")[2] in SYMMETRIC
        has_two = len(node.args) > 1 and not any(isinstance(n, ast.Starred) for n in node.args[:2])
        if has_two and not is_symmetric:
            self.plant_changed(node, args=[node.args[1], node.args[0], *node.args[2:]])
        for keyword in node.keywords:
            if keyword.arg not in SHOWN:
                left = [k for k in node.keywords if k is not keyword]
                self.plant_changed(node, keywords=left)
        match node.func:
            case ast.Name(id=name) if name in CALLED and name not in {"sum", "floor"}:
                self.plant(node.func, CALLED[name])
            case ast.Attribute(value=value, attr=name) if name in CALLED:
                self.plant(node.func, f"{ast.unparse(value)}.{CALLED[name]}")
        parts = [node.func, *node.args, *node.keywords]
        for part in parts:
            if not (isinstance(part, ast.keyword) and part.arg == "strict"):  # it only raises
                self.visit(part)

    def _drop(self, node: ast.stmt) -> None:
        self.plant(node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._drop(node)
        else:
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._drop(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.plant(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.plant(node, "pass")

    def visit_Assign(self, node: ast.Assign) -> None:
        """Dropped where something else was there before: an attribute, an element."""
        if all(isinstance(target, ast.Subscript) for target in node.targets):
            self.plant(node, "pass")
        self.generic_visit(node)


def _is_text(node: ast.expr) -> bool:
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return is_constant or isinstance(node, ast.JoinedStr)


def mutants_of(file: str) -> list[Mutant]:
    """Every bug that can be planted in a file and still is Python."""
    source = (ROOT / file).read_text(encoding="utf-8")
    planter = _Planter(file, source)
    planter.visit(ast.parse(source))
    return [mutant for mutant in dict.fromkeys(planter.found) if _parses(planted(mutant))]


def planted(mutant: Mutant) -> str:
    """The source of a file with its bug."""
    source = (ROOT / mutant.file).read_bytes()
    return (source[: mutant.start] + mutant.after.encode() + source[mutant.end :]).decode()


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class Reach(NamedTuple):
    """Which tests of a room run which line, and how long the room's tests take."""

    tests: list[str]  # by how long they take, the quickest first
    lines: dict[str, dict[str, list[int]]]  # file → line → tests; -1 outside of any test
    seconds: float

    def of(self, mutant: Mutant, room: Room) -> list[str]:
        """The tests that run a line; all where it runs as something is imported or compiled."""
        lines = self.lines.get(mutant.file, {})
        found = {test for line in mutant.lines for test in lines.get(str(line), [])}
        if -1 in found or (not found and _is_compiled(mutant.file)):
            return room.tests
        return [self.tests[place] for place in sorted(found)]


def _is_compiled(file: str) -> bool:
    """Whether a file has kernels: no tracer sees their lines."""
    return "@jit" in (ROOT / file).read_text(encoding="utf-8")


class _Tracer:
    """A plugin of pytest: the line coverage of every test, with what its fixtures run."""

    def __init__(self, sources: Path) -> None:
        import coverage  # noqa: PLC0415  # in the child alone

        self.sources, self.seconds = sources, {}  # type: Path, dict[str, float]
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, source=[str(sources / "seqloom")]
        )
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        if fixturedef.scope != "function":  # other tests use it, too
            self.coverage.switch_context("")

    def pytest_runtest_call(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_runtest_logfinish(self) -> None:
        self.coverage.switch_context("")

    def write(self, path: Path) -> None:
        """Write what was seen as JSON."""
        self.coverage.stop()
        tests = sorted(self.seconds, key=self.seconds.__getitem__)
        places = {name: place for place, name in enumerate(tests)}
        data = self.coverage.get_data()
        lines = {}
        for file in data.measured_files():
            relative = "src/" + str(Path(file).relative_to(self.sources))
            lines[relative] = {
                str(line): sorted(places.get(name, -1) for name in names)
                for line, names in data.contexts_by_lineno(file).items()
            }
        seen = {"tests": tests, "lines": lines, "seconds": sum(self.seconds.values())}
        path.write_text(json.dumps(seen), encoding="utf-8")


class Copy:
    """A copy of the package to plant bugs in; the tests run in a process of each bug's own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        shutil.copytree(ROOT / "src", self.folder / "src")

    def reach(self, room: Room, path: Path) -> Reach:
        """Run the tests of a room without a bug, and keep which lines each runs."""
        if not path.is_file() and self._wait(room.tests, 7200, path) != "passed":
            print((self.folder / "log.txt").read_text(encoding="utf-8")[-3000:])
            raise SystemExit(f"{room.name}: its tests fail without a bug")
        return Reach(**json.loads(path.read_text(encoding="utf-8")))

    def run(self, mutant: Mutant, tests: list[str], patience: float) -> str:
        """Run tests with a bug: `passed`, `failed` or `endless`; without tests `unreached`."""
        if not tests:
            return "unreached"
        path = self.folder / mutant.file
        whole, told = path.read_bytes(), path.stat()
        path.write_text(planted(mutant), encoding="utf-8")
        hidden = self._without_machine_code(path)
        try:
            return self._wait(tests, patience)
        finally:
            path.write_bytes(whole)
            os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
            if hidden is not None:
                shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
                hidden.rename(path.parent / "__pycache__")

    def _without_machine_code(self, path: Path) -> Path | None:
        """Put Numba's cache of a folder away: it would not see that a helper in it has changed."""
        cache = path.parent / "__pycache__"
        if not any(cache.glob("*.nbi")):
            return None
        return cache.rename(path.parent / "__pycache__.kept")

    def _wait(self, tests: list[str], patience: float, reach: Path | None = None) -> str:
        child = os.fork()
        if child == 0:
            self._run_tests(tests, reach)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return "passed" if os.waitstatus_to_exitcode(status) == 0 else "failed"
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "endless"

    def _run_tests(self, tests: list[str], reach: Path | None) -> None:
        """In the child: this never returns."""
        code = 3
        try:
            os.setsid()
            log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(log, stream)
            os.chdir(ROOT)
            sources = self.folder / "src"
            sys.path.insert(0, str(sources))
            os.environ |= {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
            sys.dont_write_bytecode = True
            tracer = _Tracer(sources) if reach is not None else None
            import pytest  # noqa: PLC0415  # not before the fork: it rewrites what it imports

            told = ["-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
            code = int(pytest.main(told, plugins=[] if tracer is None else [tracer]))
            if tracer is not None and reach is not None and code == 0:
                tracer.write(reach)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def close(self) -> None:
        """Throw the copy away."""
        shutil.rmtree(self.folder, ignore_errors=True)


class State:
    """What is known from earlier runs: what was noticed, and which test runs which line.

    A bug that was noticed stays so while its file is the same; one that survived is tried again
    when the tests of its room have changed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / "results.jsonl"
        self.known: dict[str, tuple[str, str]] = {}
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.known[entry["id"]] = (entry["result"], entry["tests"])

    def result(self, mutant: Mutant, room: Room) -> str | None:
        """What came of a bug; None if it has to be tried."""
        result, tests = self.known.get(_hash([repr(tuple(mutant)), mutant.file]), (None, ""))
        return result if result in NOTICED or tests == self.tests(room) else None

    def add(self, mutant: Mutant, room: Room, result: str) -> None:
        """Note what came of a bug."""
        mark, tests = _hash([repr(tuple(mutant)), mutant.file]), self.tests(room)
        self.known[mark] = (result, tests)
        entry = {"id": mark, "tests": tests, "mutant": str(mutant), "result": result}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def tests(self, room: Room) -> str:
        """A hash of the tests of a room."""
        files = [
            f for test in room.tests for f in sorted([ROOT / test, *(ROOT / test).rglob("*.py")])
        ]
        return _hash([str(file.relative_to(ROOT)) for file in files if file.is_file()])

    def reach_file(self, room: Room) -> Path:
        """Where the reach of a room's tests is kept."""
        return self.folder / f"{room.name}-{self.tests(room)}-{_hash(room.files)}.json"


NOTICED = {"failed", "endless"}


def _hash(parts: list[str]) -> str:
    """A hash of texts, and of the contents of those that name a file."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() + b"\0")
        if len(part) < 200 and (ROOT / part).is_file():
            found.update((ROOT / part).read_bytes())
    return found.hexdigest()[:16]


def chosen(rooms: list[Room], given: argparse.Namespace) -> Iterator[tuple[Room, Mutant]]:
    """The bugs to plant: some of each room, drawn by the seed, or those of one place."""
    for room in rooms:
        if given.room and room.name not in given.room:
            continue
        found = [mutant for file in room.files for mutant in mutants_of(file)]
        if given.only:
            yield from ((room, m) for m in found if f"{m.file}:{m.line}".startswith(given.only))
        else:
            random.Random(f"{given.seed} {room.name}").shuffle(found)
            yield from ((room, mutant) for mutant in found[: given.each])


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--room", action="append", metavar="NAME", help="(default: all)")
    parser.add_argument("--each", type=int, default=10, help="bugs of each room (%(default)s)")
    parser.add_argument("--seed", default="1", help="which bugs are drawn (%(default)s)")
    parser.add_argument("--only", metavar="FILE:LINE", help="every bug of a file or a line")
    parser.add_argument(
        "--state", type=Path, default=ROOT / "build" / "mutants", help="a folder: what is known"
    )
    parser.add_argument("--list", action="store_true", help="list the bugs, and plant none")
    return parser.parse_args()


def main() -> int:
    """Plant, run, report."""
    given = arguments()
    rooms, accepted = read_places()
    known = {entry.key() for entry in accepted}
    bugs = list(chosen(rooms, given))
    if given.list:
        print("\n".join(str(mutant) for _, mutant in bugs))
        return 0
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in WARM:  # a child is forked: what is imported here, it need not import again
        with contextlib.suppress(ImportError):
            __import__(name)
    copy = Copy()
    try:
        results = _run_all(bugs, copy, State(given.state), known)
    finally:
        copy.close()
    return _report(results)


Results = dict[str, dict[str, list[Mutant]]]


def _run_all(
    bugs: list[tuple[Room, Mutant]], copy: Copy, state: State, known: set[tuple[str, str, str, str]]
) -> Results:
    results: Results = {}
    for number, (room, mutant) in enumerate(bugs, 1):
        told = results.setdefault(room.name, {"noticed": [], "accepted": [], "survived": []})
        if mutant.key() in known:
            told["accepted"].append(mutant)
            continue
        result = state.result(mutant, room)
        if result is None:
            reach = copy.reach(room, state.reach_file(room))
            patience = PATIENCE * reach.seconds + SLACK
            result = copy.run(mutant, reach.of(mutant, room), patience)
            state.add(mutant, room, result)
        told["noticed" if result in NOTICED else "survived"].append(mutant)
        word = result if result in NOTICED else f"SURVIVED ({result})"
        print(f"[{number}/{len(bugs)}] {room.name}: {word} {mutant}", flush=True)
    return results


def _report(results: Results) -> int:
    print("\n| room | planted | noticed | accepted | survived |\n|---|---:|---:|---:|---:|")
    planted_, survived = 0, 0
    for name, told in results.items():
        counts = [len(told[key]) for key in ("noticed", "accepted", "survived")]
        planted_, survived = planted_ + counts[0] + counts[2], survived + counts[2]
        print(f"| {name} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    share = survived / max(planted_, 1)
    print(f"\n{survived} of {planted_} that could be noticed survived: {share:.1%}")
    for told in results.values():
        for mutant in told["survived"]:
            print(f"  {mutant}\n      {mutant.text}")
    return int(share >= MOST_SURVIVORS)


if __name__ == "__main__":
    sys.exit(main())
