"""Pictures of what happens inside a model: each prints, draws, saves and shows in a notebook."""

from .activations import StatesView
from .attention import AttentionView
from .attribution import InfluenceView, Moved
from .base import View
from .beam import BeamView
from .calibration import Bin, ReliabilityView
from .confusion_matrix import ConfusionView
from .decomposition import Component, ComponentsView
from .forecast import Fan, ForecastView, fans_of
from .gates import GateShare, GateSharesView, GatesView
from .gradient_flow import Memory, MemoryView, Window
from .heads import HeadsView
from .hierarchy import HierarchyView
from .hmm import TrellisView
from .ladder import LadderView, RungPoint
from .metric_by_length import HorizonView, LengthBucket, LengthCurve, LengthView
from .neuron import CellView, Story
from .next_token import ChoicesView, NextView
from .piano_roll import PianoRollView
from .segmentation import Regime, RegimesView
from .surprisal import SurpriseView
from .tags import TagsView

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
