# The only list of commands. Each works as the first one ever run in a clone.

PYTHON := .venv/bin/python
CODE := python tests tools benches
# All of them are run, whatever target one misses; the exit code is that of the last that failed.
BENCHES := hammer oltp order_entry collectors ledger users drives learned verdicts report
PROOFS := prove resumes null_studies limits
# Capabilities whose absence is a failure and not a skip, such as postgresql,cgroup.
REQUIRE ?=
# Tests of real drives and servers, which measure, and of what is promised: after those of Rust, one at a time.
AFTER_RUST := tests/real tests/contract
# Tests of engines, pages and whole runs, which mostly wait: one at a time, beside those.
RUNS := tests/conformance tests/browser tests/e2e
# So many of the others at a time.
AT_A_TIME ?= 2
# What `make test` leaves to `make test-all`: every width and theme, every file system, every kill;
# of Rust, minutes of load on drives of every shape.
TIER := -m 'not long'
RUST_TIER :=
# Tests of the hammer mostly wait for windows to end; more of them disturb each other on two CPUs.
RUST_AT_A_TIME ?= 2
# What takes longer than this hangs, and is told so instead of keeping everybody waiting.
RUST_TEST_MAX_S := 2400
PYTHON_TEST_MAX_S := 2700

# Where rustup puts Rust, of a shell that is older than its installation.
CARGO_BIN := $(wildcard $(or $(CARGO_HOME),$(HOME)/.cargo)/bin)
ifneq ($(CARGO_BIN),)
export PATH := $(CARGO_BIN):$(PATH)
endif

# Where it is set, each program that a test starts would compile every module again: half of its start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo papers papers-users papers-agents papers-hci papers-block evidence-backups evidence-neighbours test test-all test-kernel setup browser check lint tests golden bench prove lock wheel image

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

demo: ## run studies/demo.yaml, without rights for drives disk-and-memory.yaml; print where the report is
	@study=demo; tools/setup can-emulate || study=disk-and-memory; \
	tools/setup && .venv/bin/stithy run studies/$$study.yaml

# Published tests of users, and those of hyper-converged storage; all others need no database.
HCI := $(foreach each,policies space tenants,studies/papers/test-$(each).yaml)
USERS := $(filter-out $(HCI),$(wildcard studies/papers/test-*.yaml)) studies/users-within-a-second.yaml
# Each study by itself: one that cannot answer does not keep the others from being printed.
RUN_PAPERS = out=runs/papers-$$(date -u +%Y%m%dT%H%M%SZ); mkdir -p $$out; for each in $(1); do \
	    .venv/bin/stithy run $$each --out $$out/$$(basename $$each .yaml) || echo "$$each ended with $$?"; \
	done; $(PYTHON) tools/papers.py $$out $(notdir $(1))

papers: setup papers-users papers-agents papers-hci papers-block ## run studies/papers, scale models of published tests, in about three hours

papers-users: setup ## those of users on a database, in about an hour and three quarters; print published ratios beside those found here
	@$(call RUN_PAPERS,$(USERS))

papers-agents: setup ## those with users of 29 agents, each a process of this machine, in about 9 minutes; print the same
	@out=runs/papers-$$(date -u +%Y%m%dT%H%M%SZ); mkdir -p $$out; \
	$(PYTHON) tools/with_agents.py 29 .venv/bin/stithy run studies/papers/ramp-agents.yaml --out $$out/ramp-agents || echo "it ended with $$?"; \
	$(PYTHON) tools/papers.py $$out ramp-agents.yaml

papers-hci: setup ## those of storage policies and space, in about 40 minutes; print the same
	@$(call RUN_PAPERS,$(HCI))

papers-block: setup ## those of storage alone, in about 15 minutes; print the same
	@$(call RUN_PAPERS,$(wildcard studies/papers/block-*.yaml))

# Programs and tests are one build, quicker to make than a release.
# What a run found is printed beside what was published.
RUN_EVIDENCE = out=runs/$@-$$(date -u +%Y%m%dT%H%M%SZ); .venv/bin/stithy run studies/papers/$(1).yaml --out $$out/$(1) && \
	$(PYTHON) tools/papers.py $$out $(1).yaml

evidence-backups: setup ## run tests 4a and 4b on a quiet machine, in 8 minutes
	@$(call RUN_EVIDENCE,test-4)

evidence-neighbours: setup ## run tests 5a to 5d on a quiet machine, in 11 minutes
	@$(call RUN_EVIDENCE,test-5)

test: export STITHY_BUILD := ci
test: setup lint tests ## every check and test, Rust and Python

test-all: TIER :=
test-all: RUST_TIER := -- --include-ignored
test-all: PYTHON_TEST_MAX_S := 3600
test-all: test ## those, and the ones that take long: every width, file system and kill

# Not measured there: user-mode-linux has one CPU, and slow system calls.
test-kernel: setup ## tests of what a kernel may lack (md, device-mapper), under one that is fetched: user-mode-linux
	@tools/with_kernel.py $(PYTHON) -m pytest --require=kernel_arrays -m needs_kernel_arrays tests/real tests/e2e/test_arrays.py

setup: ## install what is missing, build the programs, make .venv
	@tools/setup

browser: ## that, and what tests look at reports with: Chromium and axe-core
	@tools/setup browser

check: setup lint ## lint, types and style, in about a minute
	@PYTHONPATH=tests $(PYTHON) tests/tidy/ratchet.py
	@$(PYTHON) -m pytest tests/tidy

# Debian packages cargo without them; what is not checked is said, and CI requires them.
IF_HERE = if cargo $(1) --version >/dev/null 2>&1 || [ -n "$(REQUIRE)" ]; then $(2); \
	else echo "not checked: cargo $(1) is not installed (rustup component add $(if $(filter fmt,$(1)),rustfmt,$(1)))"; fi

lint:
	@$(call IF_HERE,fmt,cargo fmt --all --check)
	$(PYTHON) -m ruff check --quiet $(CODE)
	$(PYTHON) -m ruff format --quiet --check $(CODE)
	@kept=$$(.venv/bin/lint-imports 2>&1) || { echo "$$kept"; exit 1; }
	@echo both at a time: mypy, and clippy with -D warnings; code=0; \
	$(PYTHON) -m mypy --no-error-summary & types=$$!; \
	{ $(call IF_HERE,clippy,cargo clippy --quiet --locked --workspace --all-targets --profile ci -- -D warnings); } || code=$$?; \
	wait $$types || code=$$?; exit $$code

RUST_TEST = STITHY_REQUIRE=$(REQUIRE) RUST_TEST_THREADS=$(RUST_AT_A_TIME) timeout --kill-after=30 $(RUST_TEST_MAX_S) \
	cargo test --quiet --locked --workspace --lib --test '*' --profile ci --no-fail-fast $(RUST_TIER)
PYTEST = $(PYTHON) -m pytest $(TIER) --durations=20 --durations-min=5 --session-timeout=$(PYTHON_TEST_MAX_S) $(if $(REQUIRE),--require=$(REQUIRE))

# What was not run, in the last lines. Cargo does not say which tests it ignores.
LEFT_OUT := target/left-out.txt
SHOW_LEFT_OUT = $(if $(RUST_TIER),,grep -ro '\#\[ignore' crates --include=*.rs | sed 's/:.*//; s/^/long, run by `make test-all`: /' >>$(LEFT_OUT);) \
	echo "Left out: $$(wc -l <$(LEFT_OUT)) tests"; sort $(LEFT_OUT) | uniq -c

# Three lanes beside each other: Rust tests and what comes after them; runs, which mostly wait; all other Python tests,
# which compute. Each runs to its end, whatever fails in another. What measures comes when no program is built any more.
# Small tables wait for threads of Polars longer than for its work.
tests:
	@code=0; export PYTHONHASHSEED=$$$$ POLARS_MAX_THREADS=1 STITHY_LEFT_OUT=$(abspath $(LEFT_OUT)); mkdir -p target; : >$(LEFT_OUT); \
	{ ended=0; $(RUST_TEST) || ended=$$?; $(PYTEST) $(wildcard $(AFTER_RUST)) || ended=$$?; exit $$ended; } \
	>target/rust-tests.log 2>&1 & rust=$$!; \
	$(PYTEST) $(wildcard $(RUNS)) >target/runs-tests.log 2>&1 & runs=$$!; \
	$(PYTEST) $(foreach each,$(AFTER_RUST) $(RUNS),--ignore=$(each)) --numprocesses=$(AT_A_TIME) --dist=worksteal || code=$$?; \
	wait $$rust || code=$$?; wait $$runs || code=$$?; cat target/rust-tests.log target/runs-tests.log; \
	$(SHOW_LEFT_OUT); exit $$code

golden: setup ## accept help, errors, plans, figures' words, reference pages; read the diff
	@$(PYTHON) -m pytest tests/golden --accept-golden

prove: setup ## prove for hours that drives are disks (root), killed runs resume, verdicts and limits hold
	@code=0; for each in $(PROOFS); do nice -n 5 $(PYTHON) benches/$$each.py || code=$$?; done; exit $$code

bench: setup ## measure hammer, collectors, a ledger, many users, drives, learned profiles, verdicts and the report
	@code=0; for each in $(BENCHES); do $(PYTHON) benches/$$each.py || code=$$?; done; exit $$code

wheel: setup ## build the wheel, which needs no Rust where it is installed
	@rm -rf target/wheels
	@PATH="$$PWD/.venv/bin:$$PATH" maturin build --profile $(or $(STITHY_BUILD),release) --out target/wheels
	@echo "Install it, in an environment or for a user: pip install $$(ls target/wheels/*.whl), or uv tool install"

image: ## build a container image with it and PostgreSQL, of Containerfile (needs podman or docker)
	@$$(command -v podman || command -v docker) build --tag stithy --file Containerfile .

lock: ## pin the newest allowed versions again (needs uv)
	@tools/lock.py
