"""Views: pictures of models and predictions that print, draw, save and show in a notebook."""

from .activations import ActivationsView
from .attention import AttentionView
from .attribution import AttributionTarget, AttributionView
from .base import View
from .beam import BeamView
from .calibration import CalibrationBin, ReliabilityView
from .confusion_matrix import ConfusionMatrixView
from .decomposition import Component, ComponentsView
from .forecast import FanChart, ForecastView, fan_charts
from .gates import GateStatistics, GateStatisticsView, GatesView
from .gradient_flow import GradientFlow, GradientFlowView, TruncatedGradient
from .heads import HeadsView
from .hierarchy import HierarchyView
from .hmm import TrellisView
from .ladder import LadderView, RungPoint
from .metric_by_length import HorizonView, LengthBucket, LengthCurve, LengthView
from .neuron import NeuronFeature, NeuronView
from .next_token import LabelProbabilitiesView, NextTokenView
from .piano_roll import PianoRollView
from .segmentation import Regime, RegimesView
from .surprisal import SurprisalView
from .tags import TagsView

__all__ = [
    "ActivationsView",
    "AttentionView",
    "AttributionTarget",
    "AttributionView",
    "BeamView",
    "CalibrationBin",
    "Component",
    "ComponentsView",
    "ConfusionMatrixView",
    "FanChart",
    "ForecastView",
    "GateStatistics",
    "GateStatisticsView",
    "GatesView",
    "GradientFlow",
    "GradientFlowView",
    "HeadsView",
    "HierarchyView",
    "HorizonView",
    "LabelProbabilitiesView",
    "LadderView",
    "LengthBucket",
    "LengthCurve",
    "LengthView",
    "NeuronFeature",
    "NeuronView",
    "NextTokenView",
    "PianoRollView",
    "Regime",
    "RegimesView",
    "ReliabilityView",
    "RungPoint",
    "SurprisalView",
    "TagsView",
    "TrellisView",
    "TruncatedGradient",
    "View",
    "fan_charts",
]
