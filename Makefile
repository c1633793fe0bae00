# Two commands do everything: `make repro` and `make test`. Both install what they need into .venv first.
PYTHON ?= python3
STUDY ?= digits
JOBS ?= 2
PORT ?= 5000
READY := .venv/.ready

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true
# Else a server starts eight more processes, for jobs that are not ours.
export MLFLOW_SERVER_ENABLE_JOB_EXECUTION := false
# Processes beside each other, as tests and nets are, must not each take all cores. Trainings take what their recipe says.
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS

.DEFAULT_GOAL := help
.PHONY: help setup repro all report test lint advisories verify check freeze ui bench soak rehearsal mutants again lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  STUDY=$(STUDY) chooses the study for repro, report, check and freeze; JOBS=$(JOBS) how many nets"
	@echo "  repro trains at once; PORT=$(PORT) the port for ui"

setup: $(READY) ## install everything, at the locked versions, into .venv

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skipgate needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv
	pip install --quiet --progress-bar off --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

repro: $(READY) ## train, probe and report the study; ends with the verdict table
	python -m pipeline.repro $(STUDY) --jobs $(JOBS)

all: $(READY) ## run every study that this machine can, render all pages, and list what was refused
	python -m pipeline.everything --jobs $(JOBS)

report: $(READY) ## render the committed results again, without training
	python -m pipeline.stages
	dvc repro --force --single-item report@$(STUDY)
	dvc repro --quiet --single-item overview
	python -m pipeline.show

test: $(READY) ## run the tests
	pytest -n auto

lint: $(READY) ## check style and types
	ruff check .
	ruff format --check .
	mypy

advisories: $(READY) ## look the locked packages up in the vulnerability database, where it can be reached
	python -m pipeline.advisories

verify: $(READY) ## prove that results, digests, verdicts and pages follow from each other
	python -m pipeline.verify

check: verify ## verify, then compare the study with its frozen numbers, after training what is missing
	dvc repro report@$(STUDY)
	python -m pipeline.check $(STUDY)

freeze: $(READY) ## make the study's present numbers the frozen ones: make freeze REASON='...'; NETS='...' alone
	python -m pipeline.freeze $(STUDY) $(NETS) --reason "$(REASON)" --jobs $(JOBS)

ui: $(READY) ## serve the MLflow UI on this machine, with every run in it, and print links into it
	python -m pipeline.sync --links $(or $(MLFLOW_TRACKING_URI),http://127.0.0.1:$(PORT))
	$(if $(MLFLOW_TRACKING_URI),,mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port $(PORT))

bench: $(READY) ## measure speed against the ordinary ways; SECTION= measures one part
	python -m pipeline.bench $(SECTION)

soak: $(READY) ## kill trainings 200 times at random and compare what is left
	python -m tests.soak

rehearsal: $(READY) ## run `make all` in a fresh clone with every training cut short, and look at what is left
	python -m tests.rehearsal

mutants: $(READY) ## put small wrongs into copies of the project and see that each is caught
	python -m tests.mutants

again: $(READY) ## train and probe one net from scratch: make again NET=gated-10
	python -m pipeline.forget $(NET)
	dvc repro --force probe@$(NET)

lock: ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --no-annotate --extra dev \
	  --output-file requirements.lock pyproject.toml

clean: ## remove what can be made again, but not .venv and not DVC's cache
	rm -rf .vault .frozen data models mlflow.db mlruns .mypy_cache .pytest_cache .ruff_cache
