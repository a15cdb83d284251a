"""Write docs/reference/recipes.md from the constructors that recipes call."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seqloom.config import Option, options, summary
from seqloom.data.options import Data
from seqloom.models import MODELS
from seqloom.recipe import shipped
from seqloom.tasks import TASKS
from seqloom.training.options import Training

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "recipes.md"
HEAD = """# Recipes

A recipe is a TOML file with four tables. Each table holds the keyword arguments of one constructor.
Omitted keys have their default; unknown keys are errors.

| table | contents | `name` |
|---|---|---|
| `[data]` | files, their format, and the split | none |
| `[task]` | inputs, outputs and metrics | a task |
| `[model]` | the model and its hyperparameters | a model |
| `[training]` | optimizer, schedule, evaluation | none |

```toml
[data]
train = "words.tsv"

[task]
name = "translate"
source_tokens = "characters"

[model]
name = "encoder-decoder"
hidden_size = 128

[training]
epochs = 20
```

- `seqloom train my.toml` trains it. `seqloom train my.toml other.tsv` takes another training file.
- File names in a recipe are relative to the recipe.
- `--set table.key=value` overrides one setting, and may be repeated.
- `--dry-run` prints the recipe with all defaults and exits. A run stores the same text.
- `name = "my_models.py:MyModel"` uses a class from your own Python file, which is executed; a run
  keeps a copy of it.
- `seqloom explain NAME` prints the options below.

<!-- Written by scripts/option_pages.py (make docs): edit the docstrings of the classes. -->
"""


def text() -> str:
    """The whole document."""
    parts = [HEAD, f"\nShipped recipes: {_listed(shipped())}.\n"]
    parts += ["\n## `[data]`\n", _table(Data)]
    parts += ["\n## `[task]`\n", *(_section(name, TASKS[name]) for name in TASKS)]
    parts += ["\n## `[model]`\n", *(_section(name, MODELS[name]) for name in MODELS)]
    parts += ["\n## `[training]`\n", _table(Training)]
    return "".join(parts)


def _section(name: str, thing: Callable[..., Any]) -> str:
    return f'\n### `name = "{name}"`\n\n{summary(thing)}\n{_table(thing)}'


def _table(thing: Callable[..., Any]) -> str:
    rows = ["| option | default | type | description |", "|---|---|---|---|"]
    return "\n".join(["", *rows, *(_row(option) for option in options(thing))]) + "\n"


def _row(option: Option) -> str:
    default = f"`{json.dumps(option.default, ensure_ascii=False)}`"
    takes = option.expects.replace("'", "`")
    return f"| `{option.name}` | {default} | {takes} | {option.help} |"


def _listed(names: dict[str, Path]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text(), encoding="utf-8")
    sys.stderr.write(f"wrote {TARGET}\n")
