# A GPU machine needs the NVIDIA driver and container toolkit: docker run --gpus all. PyTorch's wheels bring CUDA's libraries along.
FROM nvidia/cuda:13.0.1-base-ubuntu24.04

RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ git make npm python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 skipgate \
 && install --directory --owner skipgate /skipgate
USER skipgate
WORKDIR /skipgate

# The environment is a layer of its own: a change of the source does not install it again.
COPY --chown=skipgate requirements.lock pyproject.toml README.md LICENSE Makefile ./
RUN mkdir --parents src/skipgate && touch src/skipgate/__init__.py && make setup
COPY --chown=skipgate . .

# Data, models and results outlive the container. DVC's cache stands beside the models that it links to.
RUN mkdir --parents data models results reports .dvc/cache
VOLUME ["/skipgate/data", "/skipgate/models", "/skipgate/results", "/skipgate/reports", "/skipgate/.dvc/cache"]
ENTRYPOINT ["make"]
CMD ["repro"]
