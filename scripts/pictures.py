"""Draw the pictures of README.md anew, from a model that is trained here: docs/images/.

    python scripts/pictures.py

It trains the encoder-decoder of the README on its words, draws the attention weights of "sheep" as
SVG, and photographs the studio in Chromium (CHROMIUM, or /usr/bin/chromium). The photograph
is reduced to 128 colours, as the repository keeps it.
"""

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import seqloom

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1180, "height": 760}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def readme_blocks() -> tuple[str, str]:
    """The shell block of README.md that writes words.tsv, and its recipe."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    words = re.search(r"```sh\n(for a in.*?> words\.tsv\n)", text, re.DOTALL)
    recipe = re.search(r"<<'END'\n(.*?)END\n", text, re.DOTALL)
    assert words and recipe, "README.md has no words.tsv or no recipe"
    return words[1], recipe[1]


def photograph(runs: Path) -> None:
    """The attention of the run in the studio, as a PNG of few colours."""
    command = [sys.executable, "-m", "seqloom", "studio", "--no-browser", "--json", "--port", "0"]
    command += ["--runs-dir", str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["address"].split("/?")[0].rstrip("/")
            with sync_playwright() as driver:
                path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
                browser = driver.chromium.launch(executable_path=path, args=FLAGS)
                page = browser.new_page(viewport=SIZE)
                page.goto(f"{address}/inside/sounds?text=sheep", wait_until="load")
                page.wait_for_selector("#card-attention[data-state=ready]", timeout=60_000)
                page.locator("#card-attention").scroll_into_view_if_needed()
                page.wait_for_timeout(1500)
                picture = Image.open(io.BytesIO(page.screenshot()))
                browser.close()
        finally:
            server.terminate()
    picture.convert("RGB").quantize(128).save(IMAGES / "studio.png", optimize=True)


def main() -> None:
    """Train, draw and photograph."""
    IMAGES.mkdir(exist_ok=True)
    words, recipe = readme_blocks()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run(["sh", "-eu", "-c", words], cwd=place, check=True)
        (place / "sounds.toml").write_text(recipe, encoding="utf-8")
        run = seqloom.train(place / "sounds.toml", name="sounds", runs=place / "runs")
        print(run.evaluate().values())
        run.inspect("sheep").save(IMAGES / "alignment.svg")
        photograph(place / "runs")
    for image in sorted(IMAGES.iterdir()):
        print(f"{image.name}: {image.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
