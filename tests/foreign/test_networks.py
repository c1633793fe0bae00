"""Networks of others, put through the loader, give the same outputs as where they come from."""

import io
import json

import pytest
import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor, nn

from skipgate.data.weights import load_into
from skipgate.files import Problem
from skipgate.foreign import pickles, tfjs
from skipgate.foreign.names import fill, fingerprint, layers
from skipgate.nets.bodies import Plan, build
from skipgate.settings import Imagenet, Norm, Resnet, Vgg, Weights
from tests.toys import ONE, ZERO

SMALL_HE = Imagenet(
    "imagenet",
    (2, 2, 1, 2),
    bottleneck=True,
    width=4,
    stride="first",
    bias=True,
    norm=Norm(0.1, 0.001),
)
SMALL_56 = Resnet("resnet", 2, width=4, order="post", shortcut="project-norm")
SMALL_VGG = Vgg("vgg", (2, 2, 1), width=4, widest=8, hidden=6)


def empty(body, side=32, classes=7, carry=ONE):
    return build(body, Plan(ONE, carry, (3, side, side), classes, 1)).double().eval()


def pictures(side=32, count=3) -> Tensor:
    return torch.randn(
        count, 3, side, side, generator=torch.Generator().manual_seed(5), dtype=torch.float64
    )


def made_up(network, rename) -> dict[str, Tensor]:
    """Random tensors for every layer, under the names that `rename` gives them."""
    generator = torch.Generator().manual_seed(3)
    found = {}
    for name, layer in layers(network).items():
        for key in ("weight", "bias", "running_mean", "running_var"):
            if (tensor := getattr(layer, key, None)) is not None:
                drawn = torch.randn(tensor.shape[1:], generator=generator) / 4
                found[f"{rename(name)}.{key}"] = 1 + drawn.abs() if key == "running_var" else drawn
    return found


def conv(state, name, x, stride=1, padding=0):
    return F.conv2d(x, state[f"{name}.weight"], state.get(f"{name}.bias"), stride, padding)


def norm(state, name, x, epsilon=0.00001):
    keys = ("running_mean", "running_var", "weight", "bias")
    return F.batch_norm(x, *(state[f"{name}.{key}"] for key in keys), eps=epsilon)


def doubled(state):
    return {key: tensor.double() for key, tensor in state.items()}


def he_forward(state: dict[str, Tensor], x: Tensor, blocks) -> Tensor:
    """He et al.'s network by the names of their release, as one would write it down."""
    h = F.relu(norm(state, "bn_conv1", conv(state, "conv1", F.pad(x, (3,) * 4), 2), 0.001))
    h = F.max_pool2d(F.pad(h, (1,) * 4), 3, 2)
    for stage, count in enumerate(blocks, start=2):
        for letter in "abcdef"[:count]:
            name, first = f"{stage}{letter}_branch", letter == "a"
            stride = 2 if first and stage > 2 else 1
            f = F.relu(norm(state, f"bn{name}2a", conv(state, f"res{name}2a", h, stride), 0.001))
            f = F.relu(norm(state, f"bn{name}2b", conv(state, f"res{name}2b", f, 1, 1), 0.001))
            f = norm(state, f"bn{name}2c", conv(state, f"res{name}2c", f), 0.001)
            if first:
                h = norm(state, f"bn{name}1", conv(state, f"res{name}1", h, stride), 0.001)
            h = F.relu(h + f)
    return h.mean((2, 3)) @ state["fc1000.weight"].T + state["fc1000.bias"]


def he_name(layer: str) -> str:
    """res2a_branch2a and so on, by a table written out for the small network."""
    if not layer.startswith("layer"):
        return {"conv1": "conv1", "bn1": "bn_conv1", "fc": "fc1000"}[layer]
    stage, block, *rest = layer.removeprefix("layer").split(".")
    place = f"{int(stage) + 1}{'ab'[int(block)]}_branch"
    ends = {"conv1": "2a", "conv2": "2b", "conv3": "2c", "bn1": "2a", "bn2": "2b", "bn3": "2c"}
    if rest[0] == "downsample":
        return ("res" if rest[1] == "0" else "bn") + place + "1"
    return ("res" if rest[0].startswith("conv") else "bn") + place + ends[rest[0]]


KERAS = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "moving_mean",
    "running_var": "moving_variance",
}


def as_tfjs(state: dict[str, Tensor], shards=3) -> dict[str, bytes]:
    """A model of TensorFlow.js with these tensors, in the order of their names."""
    entries, content = [], b""
    for name in sorted(state):
        layer, _, key = name.rpartition(".")
        tensor = state[name].float()
        affine = f"{layer}.running_mean" not in state
        word = {"weight": "kernel", "bias": "bias"}[key] if affine else KERAS[key]
        if tensor.ndim == 4:
            tensor = tensor.permute(2, 3, 1, 0)
        if tensor.ndim == 2:
            tensor = tensor.T
        content += tensor.contiguous().numpy().tobytes()
        entries.append({"name": f"{layer}/{word}", "shape": list(tensor.shape), "dtype": "float32"})
    step = -(-len(content) // shards)
    parts = {f"shard{i}": content[i * step : (i + 1) * step] for i in range(shards)}
    manifest = {"weightsManifest": [{"paths": list(parts), "weights": entries}]}
    return {"model.json": json.dumps(manifest).encode(), **parts}


@pytest.fixture
def he_files():
    state = made_up(empty(SMALL_HE, 64), he_name)
    return state, as_tfjs(state)


def written(tmp_path, files: dict[str, bytes]) -> str:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return str(tmp_path / next(iter(files)))


def test_he_et_als_network_gives_the_logits_of_a_forward_pass_written_down(he_files, tmp_path):
    state, files = he_files
    network = empty(SMALL_HE, 64)
    file = written(tmp_path, files)
    load_into(network, file, Weights(file, names="he"))
    x = pictures(64)
    expected = he_forward(doubled(state), x, SMALL_HE.blocks)
    assert torch.allclose(network(x.unsqueeze(0))[0], expected, rtol=1e-9)
    assert expected.std() > 0.01


def test_resnet_56s_layout_gives_the_logits_of_a_forward_pass_written_down():
    network = empty(SMALL_56)
    state = made_up(network, lambda n: n.replace("downsample", "shortcut").replace("fc", "linear"))
    fill(network, state, "short")
    s, x = doubled(state), pictures()
    h = F.relu(norm(s, "bn1", conv(s, "conv1", x, 1, 1)))
    for stage in (1, 2, 3):
        for block in (0, 1):
            name = f"layer{stage}.{block}."
            stride = 2 if stage > 1 and block == 0 else 1
            f = F.relu(norm(s, f"{name}bn1", conv(s, f"{name}conv1", h, stride, 1)))
            f = norm(s, f"{name}bn2", conv(s, f"{name}conv2", f, 1, 1))
            if stride == 2:
                h = norm(s, f"{name}shortcut.1", conv(s, f"{name}shortcut.0", h, 2))
            h = F.relu(h + f)
    expected = F.linear(h.mean((2, 3)), s["linear.weight"], s["linear.bias"])
    assert torch.allclose(network(x.unsqueeze(0))[0], expected, rtol=1e-9)


def test_vgg_is_an_ordinary_sequence_of_layers():
    torch.manual_seed(1)
    parts: list[nn.Module] = []
    width = 3
    for stage, count in enumerate(SMALL_VGG.layers):
        for _ in range(count):
            wide = SMALL_VGG.width_of(stage)
            parts += [nn.Conv2d(width, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU()]
            width = wide
        parts.append(nn.MaxPool2d(2))
    theirs = nn.Sequential(
        *parts,
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(width * 16, 6),
        nn.BatchNorm1d(6),
        nn.ReLU(),
        nn.Linear(6, 7),
    )
    theirs.train()(
        pictures(count=9).float()
    )  # so that running statistics are not those of the start
    theirs.double().eval()
    network = empty(SMALL_VGG, carry=ZERO)
    buffer = io.BytesIO()
    torch.save(theirs, buffer)
    fill(network, pickles.tensors(buffer.getvalue()), "in-order")
    x = pictures()
    assert torch.allclose(network(x.unsqueeze(0))[0], theirs(x), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "blocks", "bottleneck", "parameters"),
    [
        ("resnet18", (2, 2, 2, 2), False, 11689512),
        ("resnet34", (3, 4, 6, 3), False, 21797672),
        ("resnet50", (3, 4, 6, 3), True, 25557032),
    ],
)
def test_torchvisions_networks_with_their_own_weights_give_their_own_logits(
    tmp_path, name, blocks, bottleneck, parameters
):
    torch.manual_seed(2)
    theirs = getattr(torchvision.models, name)()
    theirs.train()(pictures(64).float())
    file = tmp_path / f"{name}.pth"
    torch.save(theirs.state_dict(), file)
    ours = build(Imagenet("imagenet", blocks, bottleneck), Plan(ONE, ONE, (3, 64, 64), 1000, 1))
    load_into(ours, str(file), Weights(str(file)))
    assert sum(p.numel() for p in ours.parameters()) == parameters
    x = pictures(64)
    with torch.no_grad():
        found = ours.double().eval()(x.unsqueeze(0))[0]
        assert torch.allclose(found, theirs.double().eval()(x), rtol=1e-7, atol=1e-9)


def test_every_source_and_format_is_one_net(he_files, tmp_path):
    """The same tensors under other names and in another form have the same hash."""
    state, files = he_files
    first, second = empty(SMALL_HE, 64).float(), empty(SMALL_HE, 64).float()
    renamed = {
        f"{name}.{key}": state[f"{he_name(name)}.{key}"]
        for name, layer in layers(first).items()
        for key in ("weight", "bias", "running_mean", "running_var")
        if getattr(layer, key, None) is not None
    }
    torch.save(renamed, tmp_path / "renamed.pt")
    one = load_into(
        first, written(tmp_path, files), Weights(str(tmp_path / "model.json"), names="he")
    )
    other = load_into(second, str(tmp_path / "renamed.pt"), Weights(str(tmp_path / "renamed.pt")))
    assert one == other == fingerprint(first)
    first.blocks[1].transform.affines[0].weight.data[0, 0, 0] += 0.001
    assert fingerprint(first) != one


def test_the_prefix_of_data_parallel_training_is_taken_off():
    network = empty(SMALL_56)
    state = made_up(network, str)
    plainly = fill(network, state, "torchvision")
    assert (
        fill(empty(SMALL_56), {f"module.{k}": t for k, t in state.items()}, "torchvision")
        == plainly
    )


def refused(network, state, names="torchvision"):
    with pytest.raises(Problem) as caught:
        fill(network, state, names)
    return str(caught.value)


def test_weights_of_another_network_are_refused():
    network = empty(SMALL_56)
    state = made_up(network, str)
    missing = {key: t for key, t in state.items() if key != "layer2.1.bn2.bias"}
    assert "it has no layer2.1.bn2.bias" in refused(network, missing)
    assert "1 tensors more, such as extra" in refused(network, {**state, "extra": torch.ones(1)})
    other = {**state, "layer1.0.conv1.weight": torch.zeros(4, 4, 1, 1)}
    assert "shape (4, 4, 1, 1) instead of (4, 4, 3, 3)" in refused(network, other)
    deeper = made_up(empty(Resnet("resnet", 3, width=4, order="post")), str)
    assert "weights of another network" in refused(network, deeper)
    assert "weights of another network" in refused(network, deeper, "in-order")
    assert "it has no linear.weight" in refused(
        network, {k.replace("downsample", "shortcut"): t for k, t in state.items()}, "short"
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.update(shard2=f["shard2"][:-4]), "one of them is cut or missing"),
        (lambda f: f.pop("shard1"), "its shard shard1 is not there"),
        (lambda f: f.update(shard2=f["shard2"] + b"1234"), "4 bytes more than it lists"),
        (lambda f: f.update({"model.json": b"{}"}), "no model of TensorFlow.js"),
        (lambda f: f.update({"model.json": b"\x00"}), "no model of TensorFlow.js"),
        (
            lambda f: f.update({"model.json": f["model.json"].replace(b"float32", b"uint8", 1)}),
            "is no float32",
        ),
    ],
)
def test_a_model_of_tensorflow_js_that_is_not_whole_is_refused(he_files, change, sentence):
    _, files = he_files
    change(files)
    with pytest.raises(Problem, match=sentence):
        tfjs.tensors(files["model.json"], files)
