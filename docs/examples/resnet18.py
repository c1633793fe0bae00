"""Probe a network of your own: torchvision's ResNet-18, untrained and on made-up images, so that nothing is downloaded."""

import json

import torch
from torch import nn
from torchvision.models import resnet18

from skipgate.probes import PROBES, Images, Probes, Subject, adopt

model = resnet18(
    weights=None
).eval()  # weights="DEFAULT" has trained ones, where the web can be reached
blocks = [
    block for stage in (model.layer1, model.layer2, model.layer3, model.layer4) for block in stage
]
# What a block is when it is closed; the identity, where nothing is said.
shortcuts = {
    i: nn.Sequential(b.downsample, nn.ReLU())
    for i, b in enumerate(blocks)
    if b.downsample is not None
}

x = torch.rand(32, 3, 64, 64)
images = Images(
    x, model(x).argmax(1)
)  # its own answers are the labels, so that an error is a changed answer
subject = Subject(adopt(model, blocks, images.x[:2], shortcuts), images, batch=16)

for name in ("lesion", "shuffle", "estimation"):
    print(name, json.dumps(PROBES[name](subject, Probes())))
