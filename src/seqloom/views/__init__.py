"""Pictures of what happens inside a model: each prints, draws, saves and shows in a notebook."""

from .attention import AttentionView
from .beam import BeamView
from .cell import CellView, Story
from .choices import ChoicesView
from .components import Component, ComponentsView
from .confusion import ConfusionView
from .fan import Fan, fans_of
from .forecast import ForecastView
from .gate_shares import GateShare, GateSharesView
from .gates import GatesView
from .heads import HeadsView
from .hierarchy import HierarchyView
from .influence import InfluenceView, Moved
from .ladder import LadderView, RungPoint
from .lengths import HorizonView, LengthBucket, LengthCurve, LengthView
from .memory import Memory, MemoryView, Window
from .next_symbol import NextView
from .piano_roll import PianoRollView
from .regimes import Regime, RegimesView
from .reliability import Bin, ReliabilityView
from .states import StatesView
from .surprise import SurpriseView
from .tags import TagsView
from .trellis import TrellisView
from .view import View

__all__ = [
    "AttentionView",
    "BeamView",
    "Bin",
    "CellView",
    "ChoicesView",
    "Component",
    "ComponentsView",
    "ConfusionView",
    "Fan",
    "ForecastView",
    "GateShare",
    "GateSharesView",
    "GatesView",
    "HeadsView",
    "HierarchyView",
    "HorizonView",
    "InfluenceView",
    "LadderView",
    "LengthBucket",
    "LengthCurve",
    "LengthView",
    "Memory",
    "MemoryView",
    "Moved",
    "NextView",
    "PianoRollView",
    "Regime",
    "RegimesView",
    "ReliabilityView",
    "RungPoint",
    "StatesView",
    "Story",
    "SurpriseView",
    "TagsView",
    "TrellisView",
    "View",
    "Window",
    "fans_of",
]
