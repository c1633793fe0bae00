"""Probe a network of your own: torchvision's ResNet-18, untrained, on made-up images."""

import json

import torch
from torch import nn
from torchvision.models import resnet18

from skipgate.probes import PROBES, Images, Probes, Subject, adopt

model = resnet18(weights=None).eval()  # "DEFAULT" has trained ones, where the web can be reached
stages = (model.layer1, model.layer2, model.layer3, model.layer4)
blocks = [block for stage in stages for block in stage]
# What a block is when it is closed; the identity, where nothing is said.
changing = {i: b.downsample for i, b in enumerate(blocks) if b.downsample is not None}
shortcuts = {i: nn.Sequential(downsample, nn.ReLU()) for i, downsample in changing.items()}
x = torch.rand(32, 3, 64, 64)
images = Images(x, model(x).argmax(1))  # its own answers: an error is a changed answer

subject = Subject(adopt(model, blocks, x[:2], shortcuts), images, batch=16)

for name in ("lesion", "shuffle", "estimation"):
    print(name, json.dumps(PROBES[name](subject, Probes())))
