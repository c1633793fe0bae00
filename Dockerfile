# A GPU machine needs the NVIDIA driver and container toolkit: docker run --gpus all. PyTorch's wheels bring CUDA's libraries along.
#
# tests/test_docker.py runs what runs without an engine and without root: what the lines copy and make, and what `make` would do.
# FROM, apt-get, useradd and the installation itself it does not run.
FROM nvidia/cuda:13.0.1-base-ubuntu24.04

# Ubuntu drops the packages that newer ones replace, so a pinned version would stop the build before long.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ git make npm python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 skipgate \
 && install --directory --owner skipgate /skipgate
USER 10001
WORKDIR /skipgate

# The environment is a layer of its own: a change of the source does not install it again.
COPY --chown=10001 requirements.lock pyproject.toml README.md LICENSE Makefile ./
RUN mkdir --parents src/skipgate && touch src/skipgate/__init__.py && make setup
COPY --chown=10001 . .

# A copy may be younger than the environment of a cached layer, which `make` would install again: what it is made from is the same.
# Data, models and results outlive the container. DVC's cache stands beside the models that it links to.
RUN mkdir --parents data models results reports .dvc/cache && touch .venv/.ready
VOLUME ["/skipgate/data", "/skipgate/models", "/skipgate/results", "/skipgate/reports", "/skipgate/.dvc/cache"]
ENTRYPOINT ["make"]
CMD ["repro"]
