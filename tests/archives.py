"""Small data sets in the official formats."""

import hashlib
import io
import struct
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def cifar_batch(images: np.ndarray, labels: np.ndarray, word: bytes = b"labels") -> bytes:
    """A batch as Python 2 pickled it: a dict of a list and a NumPy array."""
    listed = b"".join(b"K" + bytes([label]) for label in labels.tolist())
    pixels = images.tobytes()
    shape = b"K" + bytes([len(images)]) + b"M\x00\x0c\x86"
    return (
        b"\x80\x02}q\x00(U" + bytes([len(word)]) + word + b"](" + listed + b"eU\x04data"
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01" + shape + b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(pixels))
        + pixels
        + b"tbu."
    )


def svhn_part(images: np.ndarray, digits: np.ndarray) -> bytes:
    """A .mat file: images last to first axis, and 10 for the digit 0."""
    buffer = io.BytesIO()
    labels = np.where(digits == 0, 10, digits).astype(np.uint8)[:, None]
    savemat(buffer, {"X": images.transpose(2, 3, 1, 0), "y": labels}, do_compression=True)
    return buffer.getvalue()


def jpeg(number: int, size: tuple[int, int] = (60, 44)) -> bytes:
    """A photograph with something to see in it."""
    coarse = np.random.default_rng(number).integers(0, 256, (6, 8, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize(size).save(buffer, "JPEG")
    return buffer.getvalue()


def imagenet(root: Path, classes: int = 3, train: int = 4, test: int = 2) -> Path:
    """`train` and `test` images of each class, of two shapes, in torchvision's layout."""
    for number in range(classes):
        for part, count in (("train", train), ("val", test)):
            folder = root / "imagenet" / part / f"n{number:08}"
            folder.mkdir(parents=True)
            for place in range(count):
                size = (60, 44) if place % 2 else (40, 70)
                name = (
                    f"{folder.name}_{place}"
                    if part == "train"
                    else f"ILSVRC2012_val_{place}{number}"
                )
                key = (number * 100 + place) * 2 + (part == "val")
                (folder / f"{name}.JPEG").write_bytes(jpeg(key, size))
    return root
