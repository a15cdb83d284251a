"""A river that is simulated: rain falls by seasons, snow waits for spring, the ground remembers.

rain_t   = seasonal mean · gamma noise, wet years and dry years by turns
snow_t   = what falls in the cold; it melts in spring
store_t  = 0.75 store_{t-1} + rain and meltwater, less what the sun takes
flow_t   = 0.25 store_{t-1} + a share of the rain at once
"""

import math
import random

from .example import Material


def flows(months: int, seed: int = 1) -> list[float]:
    """Cubic metres a second, month by month."""
    chance = random.Random(seed)
    store, snow, wet, found = 80.0, 0.0, 0.0, list[float]()
    for month in range(months + 24):  # two years until it runs as it always does
        angle = 2 * math.pi * (month % 12) / 12
        wet = 0.92 * wet + chance.gauss(0, 0.12)
        rain = (
            60 * (1 + 0.35 * math.cos(angle - 0.6)) * math.exp(wet) * chance.gammavariate(4, 0.25)
        )
        cold = 9 - 11 * math.cos(angle) + chance.gauss(0, 1.5)  # degrees; the first is January
        kept = rain if cold < 1 else 0.0
        melt = snow * min(1.0, max(0.0, cold) / 9)
        snow += kept - melt
        run_off, taken = rain - kept, 18 * max(0.0, cold) / 20
        found.append(max(4.0, 0.25 * store + 0.3 * (run_off + melt)))
        store = max(5.0, 0.75 * store + 0.7 * (run_off + melt) - taken)
    return found[24:]


def monthly_flow(years: int = 60, seed: int = 1) -> str:
    """A table of months and flows."""
    rows = [
        f"{1960 + month // 12}-{month % 12 + 1:02},{flow:.1f}\n"
        for month, flow in enumerate(flows(12 * years, seed))
    ]
    return "".join(["month,flow\n", *rows])


FLOW = Material(
    "made", "A river that is simulated: rain, snow, and ground that remembers.", monthly_flow
)
