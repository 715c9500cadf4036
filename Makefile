# The two that matter: `make demo` shows it, `make test` proves it.
.DEFAULT_GOAL := help
# What takes longest comes first: the others are done beside it.
CHECKS := $(addprefix check-,types format lint layers templates migrations settings api)
.PHONY: help demo test test-long drill-long fuzz-state mutants check $(CHECKS) fix bench \
	screenshots pictures environment
MAKEFLAGS += --no-print-directory

UV := .ci/uv
RUN := $(UV) run --no-sync
JOBS ?= auto
ARGS ?=

# What `check --deploy` looks at; nothing is connected to.
PRODUCTION := \
	DJANGO_SECRET_KEY=$$($(RUN) python -c 'import secrets; print(secrets.token_urlsafe(60))') \
	KEYTURN_BASE_URL=https://keyturn.example \
	KEYTURN_SMTP_URL=smtps://mail.invalid:465 \
	DATABASE_URL=postgresql://keyturn_app:unused@database.invalid/keyturn

help:
	@echo 'make demo         run everything on this machine, with people and requests in it'
	@echo 'make test         the tests, with real PostgreSQL, workers and Chromium'
	@echo 'make test-long    the tests that take longer: crashes, races, load'
	@echo 'make drill-long   kill workers at each place of the way, 25 times in each cell: KILLS='
	@echo 'make fuzz-state   random interleavings of every verb and fault: SECONDS=600, SEED='
	@echo 'make mutants      edits of the source, each of which a test must notice'
	@echo 'make check        formatting, lint, types, layers, migrations, settings'
	@echo 'make fix          format, and mend what can be mended by itself'
	@echo 'make bench        measure'
	@echo 'make screenshots  pictures of every page, in var/screenshots'
	@echo 'make pictures     the same, and those of the documentation anew'

# It leaves what the developer's environment has on top.
demo:
	@test -e .venv || echo 'Installing what Keyturn needs into .venv/' >&2
	@$(UV) sync --quiet --locked --inexact --no-default-groups --group demo --extra embedded
	@$(RUN) manage.py demo $(ARGS)

environment:
	@$(UV) sync --quiet --locked

test: environment
	@browser=$$(.ci/browser) || exit 1; \
	CHROMIUM="$$browser" $(RUN) pytest -n $(JOBS) --dist loadgroup $(ARGS) \
		-m "$$(test -n "$$browser" || echo "not browser and ")not long and not screenshots"

test-long: environment
	@KILLS=1 CHROMIUM="$$(.ci/browser)" $(RUN) pytest -m long $(ARGS)

KILLS ?= 25
drill-long: environment
	@KILLS=$(KILLS) $(RUN) pytest -n 0 -m long tests/drills/test_kill_matrix.py $(ARGS)

SECONDS ?= 600
SEED ?=
LANES ?=
fuzz-state: environment
	@$(RUN) python -m tests.machine.fuzz --seconds $(SECONDS) \
		$(if $(SEED),--seed $(SEED)) $(if $(LANES),--lanes $(LANES))

mutants: environment
	@$(RUN) python -m tests.mutants $(ARGS)

screenshots: environment
	@browser=$$(.ci/browser) || exit 1; \
	CHROMIUM="$$browser" $(RUN) pytest -m screenshots $(ARGS)

pictures: screenshots
	@$(RUN) python -m tests.browser.pictures

bench: environment
	@$(RUN) python -m benchmarks $(ARGS)

# All of them, also when one fails; each can be called by itself.
check: environment
	@$(MAKE) --jobs=2 --keep-going $(CHECKS)

check-format:
	$(RUN) ruff format --check .
check-lint:
	$(RUN) ruff check .
check-types:
	$(RUN) mypy
check-layers:
	$(RUN) lint-imports --no-logo
check-templates:
	git ls-files -z 'templates/*.html' | xargs -0 -r $(RUN) djade --check --target-version 6.1
check-migrations:
	@KEYTURN_POOL_SIZE=0 $(RUN) python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
check-settings:
	@$(PRODUCTION) $(RUN) manage.py check --deploy --fail-level WARNING

# BASE: what it must not break; otherwise the last tag, or the commit before.
BASE ?=
check-api:
	@mkdir -p var
	@KEYTURN_POOL_SIZE=0 $(RUN) manage.py spectacular --validate --fail-on-warn --file var/openapi.yaml
	@diff -q docs/openapi.yaml var/openapi.yaml || { \
		echo 'mend it: uv run manage.py spectacular --file docs/openapi.yaml'; exit 1; }
	@$(RUN) python -m tests.docs.breaking $(BASE)

fix: environment
	$(RUN) ruff format .
	$(RUN) ruff check --fix .
	git ls-files -z 'templates/*.html' | xargs -0 -r $(RUN) djade --target-version 6.1
