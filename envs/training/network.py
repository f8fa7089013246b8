"""rsl_rl's network, with observations that are cut off once they are normalized.

Forces of contacts are rare and large: of a humanoid they come a hundred deviations from their mean, and one of them
moves the policy further than a whole batch should.
"""

from __future__ import annotations

from typing import Any

import torch
from rsl_rl.models import MLPModel


class ClippedMLP(MLPModel):
    """`clip`: how many deviations from the mean an observation may be."""

    def __init__(self, *args: Any, clip: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.clip = clip

    def get_latent(self, *args: Any, **options: Any) -> torch.Tensor:
        return super().get_latent(*args, **options).clamp(-self.clip, self.clip)
