"""Measures the cosines of unrelated texts in a model's space, the baseline for every cosine.

One model gives 0.54 to an unrelated question and note, another 0.1 (docs/decisions/vectors.md). The
user's own texts are not used: notes of one person resemble each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.types import Background

if TYPE_CHECKING:
    from recollect.types import Vectors

_SAME_REGISTER = 1.0
"""Deviations by which unrelated notes of one person are closer than these texts, which share
neither subject nor style: 0.7 to 1.4 on three models, docs/decisions/vectors.md."""
_SAME_REGISTER_SPREAD = 0.9
_LEAST_DEVIATION = 1e-3  # a degenerate space must not make every cosine infinitely surprising

QUESTIONS = (
    "When did we agree to move the staging database?",
    "What is my sister allergic to?",
    "Which restaurant did they like in Lisbon?",
    "How do I restart the print server?",
    "What was the final price of the used bicycle?",
    "Who is responsible for the quarterly tax report?",
    "Which book did she recommend about glaciers?",
    "What time does the violin lesson start?",
    "How long should the sourdough rest overnight?",
    "Why did the deployment to production fail?",
    "What is the name of the neighbour's dog?",
    "Which vaccine is due before the trip to Kenya?",
    "What did the lawyer say about the lease?",
    "How many kilometres did I run last month?",
    "Which colour did we choose for the kitchen walls?",
    "What is the plot of the play he is writing?",
    "How is the telescope mount aligned?",
    "What password policy does the bank require?",
    "Which plants need shade on the balcony?",
    "What did the coach change in the training plan?",
)

NOTES = (
    "The river ferry now leaves every forty minutes, and bicycles travel free on weekdays.",
    "Melting chocolate over steam keeps it from burning; stir with a dry wooden spoon.",
    "Parser rewrite: tokens carry their line number, errors point at the first bad character.",
    "The museum's new wing shows textiles from the Andes, some more than two thousand years old.",
    "Insurance claim filed for the broken window; the adjuster visits on Thursday afternoon.",
    "In chess, the exchange sacrifice on c3 ruins the pawn structure for long-term play.",
    "Her thesis compares the songs of city blackbirds with those from the forest edge.",
    "Solar panels: nine modules on the south roof, inverter in the garage, meter replaced in May.",
    "The committee postponed the vote on the cycling lane until the noise study is published.",
    "Rust on the ship's hull is treated with phosphoric acid before the primer goes on.",
    "Grandfather's letters from 1952 describe the harvest and the first tractor in the village.",
    "The printer driver ignores duplex settings unless the tray is configured by hand.",
    "A mortgage with a fixed rate for fifteen years costs more at first but calms the nerves.",
    "The orchestra rehearses Dvořák on Mondays; the second horn still looks for a substitute.",
    "Knee exercises: three sets of ten, slowly, with the heel kept on the floor.",
    "Sponsors of the robotics club receive a visit to the workshop and a thank-you poster.",
    "The cheese dairy ages its wheels for eleven months in a cellar cut into sandstone.",
    "Our newsletter goes to four thousand readers; the spring issue is about repairing things.",
    "The cat tolerates the new food only when it is mixed with a spoon of the old one.",
    "At the border crossing, drivers need the green card and proof of the vehicle's owner.",
)


def background_of(questions: Vectors, notes: Vectors) -> Background:
    """Return the mean and deviation of the cosines of unrelated questions and notes."""
    cosines = (questions @ notes.T).astype(np.float64).ravel()
    spread = max(float(cosines.std()), _LEAST_DEVIATION)
    return Background(
        float(cosines.mean()) + _SAME_REGISTER * spread, _SAME_REGISTER_SPREAD * spread
    )
