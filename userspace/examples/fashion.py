# SPDX-License-Identifier: MIT
"""Fashion-MNIST and a small convolutional network, with all parameters in one flat tensor."""
from __future__ import annotations

import gzip
import os
from typing import Iterator, NamedTuple

import torch
from torch import nn

# Where Debian's package dataset-fashion-mnist puts it.
DATA_DIR = "/usr/share/datasets/fashion-mnist"


class Images(NamedTuple):
    """images: uint8 (n, 1, 28, 28); labels: int64 (n,), 0 to 9."""

    images: torch.Tensor
    labels: torch.Tensor


class Data(NamedTuple):
    train: Images
    test: Images


def _read(path: str, skip: int) -> torch.Tensor:
    try:
        with gzip.open(path) as f:
            return torch.frombuffer(bytearray(f.read()), dtype=torch.uint8, offset=skip)
    except FileNotFoundError as e:
        raise FileNotFoundError(e.errno, f"there is no {path}: install the package dataset-fashion-"
                                "mnist, or say with --data where the data is") from e


def _images(directory: str, part: str) -> Images:
    images = _read(os.path.join(directory, f"{part}-images-idx3-ubyte.gz"), 16)
    labels = _read(os.path.join(directory, f"{part}-labels-idx1-ubyte.gz"), 8)
    return Images(images.view(-1, 1, 28, 28), labels.long())


def load(directory: str = DATA_DIR) -> Data:
    """Reads the IDX files."""
    return Data(_images(directory, "train"), _images(directory, "t10k"))


def to_float(images: torch.Tensor) -> torch.Tensor:
    """What the network eats: float32 of mean 0 and deviation 1 over the training set."""
    return (images.float() - 72.9404) / 90.0212


def batches(data: Images, rank: int, workers: int, batch: int,
            seed: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless batches of worker ``rank``: the same ones in every run with the same arguments."""
    epoch = 0
    while True:
        order = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(
            seed * 1000 + epoch))[rank::workers]
        for index in order.split(batch):
            if len(index) == batch:
                yield to_float(data.images[index]), data.labels[index]
        epoch += 1


class Net(nn.Sequential):
    """Two convolutions with strides and two linear layers: cheap to compute, for its size."""

    def __init__(self, hidden: int = 200) -> None:
        super().__init__(
            nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, hidden), nn.ReLU(),
            nn.Linear(hidden, 10),
        )


class Flat:
    """A model whose parameters, and whose gradients, are views into one flat tensor each.

    Small parameters come first, so that one critical head covers all biases and small layers:
    losing a bias's gradient costs more than losing as many of a large matrix. The gradient has
    some room before them, ``HEAD`` elements, in which the loss travels along.

    params: float32 (n,)          grads: float32 (HEAD + n,)
    """

    HEAD = 4        # 16 bytes: what follows stays aligned
    SMALL = 4096    # elements of a parameter that goes into the critical head

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        ordered = sorted(model.parameters(), key=lambda p: p.numel())
        n = sum(p.numel() for p in ordered)
        self.params = torch.empty(n)
        self.grads = torch.zeros(self.HEAD + n)
        small = self.HEAD
        at = 0
        for p in ordered:
            end = at + p.numel()
            self.params[at:end] = p.detach().reshape(-1)
            p.data = self.params[at:end].view_as(p)
            p.grad = self.grads[self.HEAD + at:self.HEAD + end].view_as(p)
            if p.numel() <= self.SMALL:
                small = self.HEAD + end
            at = end
        self.critical = small * self.grads.element_size()


def accuracy(model: nn.Module, data: Images, batch: int = 500) -> float:
    """Share of the images that the model names right, 0 to 1."""
    right = 0
    with torch.no_grad():
        for images, labels in zip(data.images.split(batch), data.labels.split(batch)):
            right += int((model(to_float(images)).argmax(1) == labels).sum())
    return right / len(data.labels)
