# Set-up and the few verbs. Everything is installed inside the checkout: .venv, .venv-cloud, .venv-models, .venv-clients, .venv-docs, .venv-audit, .venv-security, node_modules, tests/clients/node_modules.
.DEFAULT_GOAL := help
.PHONY: help setup local synth chromium test test-unit test-tools test-models test-clients test-security check format snapshot reference docs release recordings bench smoke chaos package sbom audit test-package requirements clean
DEPLOYMENT ?= qwen3-4b
comma := ,
ALL = $(subst $() ,$(),$(patsubst deployments/%.yaml,%$(comma),$(wildcard deployments/*.yaml deployments/*/*.yaml)))slipway-account-settings
PORT ?= 4566
JOBS ?= 100000
SEEDS ?= 50
PYTHON ?= python3
# Each test process has its own local cloud and runs whole files. Four processes suit two cores: they wait for the local
# cloud a third of their time. Files run in the order of `testpaths`, long ones first; xdist would start with those that
# have many tests.
SIDE_BY_SIDE = --numprocesses 4 --dist loadfile
# The record of a whole run; docs/evidence.md says how it is judged.
PERMISSIONS = $(CURDIR)/cdk.out/permissions
COMPILE = uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/node_modules/.bin:$(PATH)
export UV_LINK_MODE := copy
# Trust the system's certificates, as pip does: a proxy may inspect TLS.
export UV_SYSTEM_CERTS := 1
# Without cached bytecode a synth takes nearly three times as long.
unexport PYTHONDONTWRITEBYTECODE

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: .venv/.ready .venv-cloud/.ready node_modules/.ready  ## install everything (each verb below installs what it needs)

.venv/.ready: requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Slipway needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "Python's venv module is missing: install it (Debian: apt install python3-venv)." >&2; exit 1; }
	@echo "setting up .venv"
	@$(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/^ *#/p' requirements-dev.txt >.venv/uv.txt
	@.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r .venv/uv.txt
	@.venv/bin/uv pip sync -q --python .venv requirements-dev.txt
	@.venv/bin/uv pip install -q --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

.venv-cloud/.ready: local_cloud/requirements.txt .venv/.ready
	@echo "setting up .venv-cloud"
	@uv venv -q --clear --python .venv/bin/python .venv-cloud
	@uv pip sync -q --python .venv-cloud local_cloud/requirements.txt
	@touch $@

.venv-models/.ready: tests/models/requirements.txt .venv/.ready
	@echo "setting up .venv-models: torch takes about 5 GB"
	@uv venv -q --clear --python .venv/bin/python .venv-models
	@uv pip sync -q --python .venv-models tests/models/requirements.txt
	@touch $@

.venv-clients/.ready: tests/clients/requirements.txt tests/clients/requirements-litellm.txt tests/clients/package-lock.json .venv/.ready
	@echo "setting up .venv-clients"
	@uv venv -q --clear --python .venv/bin/python .venv-clients
	@uv pip sync -q --python .venv-clients tests/clients/requirements.txt
	@uv venv -q --python .venv/bin/python .venv-clients/litellm
	@uv pip sync -q --python .venv-clients/litellm tests/clients/requirements-litellm.txt
	@npm ci --prefix tests/clients --no-audit --no-fund --silent
	@touch $@

.venv-docs/.ready: docs/requirements.txt .venv/.ready
	@echo "setting up .venv-docs"
	@uv venv -q --clear --python .venv/bin/python .venv-docs
	@uv pip sync -q --python .venv-docs docs/requirements.txt
	@touch $@

.venv-security/.ready: tests/security/requirements.txt .venv/.ready
	@echo "setting up .venv-security"
	@uv venv -q --clear --python .venv/bin/python .venv-security
	@uv pip sync -q --python .venv-security tests/security/requirements.txt
	@touch $@

.venv-audit/.ready: tools/supply_chain/requirements.txt .venv/.ready
	@echo "setting up .venv-audit"
	@uv venv -q --clear --python .venv/bin/python .venv-audit
	@uv pip sync -q --python .venv-audit tools/supply_chain/requirements.txt
	@touch $@

node_modules/.ready: package-lock.json .venv/.ready
	@npm ci --no-audit --no-fund --silent
	@touch $@

local: .venv/.ready .venv-cloud/.ready  ## deploy DEPLOYMENT (default qwen3-4b) on this machine and answer a request
	@slipway local $(DEPLOYMENT) --port $(PORT) $(addprefix --playground-port ,$(PLAYGROUND_PORT))

synth: .venv/.ready node_modules/.ready  ## write DEPLOYMENT's template to cdk.out/
	@cdk synth --quiet -c deployment=$(DEPLOYMENT)

chromium: .venv/.ready  # for tests/browser; the variable CHROMIUM names another one
	@python -m support.chromium

test: .venv/.ready .venv-cloud/.ready node_modules/.ready chromium  ## run all tests of the product
	@rm -rf $(PERMISSIONS) && mkdir -p $(PERMISSIONS)
	@SLIPWAY_LOCAL_PERMISSIONS=$(PERMISSIONS) python -m pytest $(SIDE_BY_SIDE) --no-loadscope-reorder
	@python -m support.permissions $(PERMISSIONS)

test-unit: .venv/.ready  ## run tests/unit in a minute, without the tests that are marked as slow
	@python -m pytest --numprocesses 2 --dist loadfile -m "not slow" tests/unit

test-tools: .venv/.ready .venv-cloud/.ready node_modules/.ready  ## run the tests of our test tools: local cloud, model server, simulation
	@python -m pytest $(SIDE_BY_SIDE) tests/tools

test-models: .venv-models/.ready .venv-cloud/.ready node_modules/.ready  ## run model_src/transformers and model_src/generation with real torch and transformers
	@.venv-models/bin/python -m pytest --confcutdir tests/models tests/models

test-clients: .venv-clients/.ready .venv-cloud/.ready node_modules/.ready  ## call the API with unmodified OpenAI SDKs and other clients
	@.venv-clients/bin/python -m pytest --confcutdir tests/clients tests/clients

test-security: .venv/.ready .venv-security/.ready node_modules/.ready  ## let checkov, cloudsplaining and cdk-nag's other packs judge the templates
	@python -m pytest tests/security

check: .venv/.ready node_modules/.ready  ## run ruff, mypy and CloudFormation's own validation of every template
	@ruff format --check . && ruff check . && mypy
	@for handler in model_src/*/model.py; do MYPYPATH=model_src/shared mypy --no-error-summary $$handler || exit 1; done
	@CDK_VALIDATION=true cdk synth --quiet --output cdk.out/check -c deployment=$(ALL)

format: .venv/.ready  ## format the code and mend what ruff can
	@ruff check --fix-only --quiet . && ruff format --quiet .

snapshot: .venv/.ready  ## accept changed templates as the new snapshots, and print what the changes mean; read the diff
	@python -m pytest -q -rP tests/templates/test_snapshots.py --snapshot-update

reference: .venv/.ready  ## write deployments/schema.json and the generated pages and tables of docs/
	@slipway reference

# The site has the folders of the checkout, so the links are those that GitHub shows.
docs: .venv-docs/.ready  ## build the pages as a site in site/html, and check links, anchors and pictures
	@python -m pytest -q tests/unit/test_documentation.py -k linked_file
	@rm -rf site && mkdir -p site/pages/docs
	@cp -r README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE examples site/pages
	@cp -r docs/*.md docs/openapi.json docs/pictures docs/site.css site/pages/docs
	@find site -name __pycache__ -prune -exec rm -r {} +
	@cp docs/zensical.toml site && cd site && ../.venv-docs/bin/zensical build --strict
	@echo "look at it: python -m http.server --directory site/html"

release: .venv/.ready node_modules/.ready  ## cut VERSION: version, changelog, and what later releases must not break; docs/upgrading.md
	@python -m tools.release $(VERSION)

recordings: .venv/.ready .venv-cloud/.ready node_modules/.ready chromium  ## record make local, make test, the playground and a report anew, for docs/pictures/
	@python -m tools.recordings

bench: .venv/.ready .venv-cloud/.ready  ## measure the figures of docs/performance.md
	@python -m tools.benchmarks

smoke: .venv/.ready node_modules/.ready $(if $(LOCAL),.venv-cloud/.ready)  ## ask AWS what only AWS can tell, for an hour and a dollar; LOCAL=1, ONLY=<ids>, LIST=1, RESUME=<folder>, CLEAN=1
	@python -m tools.smoke $(if $(LOCAL),--local) $(if $(LIST),--list) $(if $(CLEAN),--clean) $(if $(ONLY),--only $(ONLY)) $(if $(RESUME),--resume $(RESUME))

chaos: .venv/.ready  ## simulate JOBS (default 100000) under random faults in virtual time, over SEEDS (default 50)
	@python -m simulation --jobs $(JOBS) --seeds $(SEEDS)

package: .venv/.ready  ## build the wheel and the source distribution into dist/, the same bytes each time
	@uv build --quiet --clear --no-build-isolation --out-dir dist && ls dist

sbom: .venv-audit/.ready  ## write a bill of materials into dist/ for each thing that is shipped
	@.venv-audit/bin/python -m tools.supply_chain sbom dist

audit: .venv-audit/.ready node_modules/.ready  ## ask PyPI and npm for known faults of all locked packages
	@.venv-audit/bin/python -m tools.supply_chain audit

test-package: .venv/.ready .venv-audit/.ready  ## install the wheel into an empty environment, and try what a new user does
	@python -m pytest tests/package

requirements: .venv/.ready .venv-audit/.ready  ## refresh all pinned versions, and the licences
	@$(COMPILE) pyproject.toml -o requirements.txt
	@$(COMPILE) pyproject.toml requirements-dev.in -o requirements-dev.txt
	@for file in constructs/llm_hosting/api/layer/requirements local_cloud/requirements local_cloud/requirements-models tests/models/requirements tests/clients/requirements tests/clients/requirements-litellm tests/security/requirements docs/requirements model_src/machine/requirements tools/supply_chain/requirements; do \
	  $(COMPILE) $$file.in -o $$file.txt; done
	@for handler in deepspeed fastertransformer transformers; do \
	  $(subst 3.11,3.8,$(COMPILE)) tools/supply_chain/handlers.in -o model_src/$$handler/requirements.txt; done
	@.venv-audit/bin/python -m tools.supply_chain licences

clean:  ## remove everything that was installed or generated
	@rm -rf .venv .venv-cloud .venv-models .venv-clients .venv-docs .venv-audit .venv-security node_modules tests/clients/node_modules cdk.out dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
