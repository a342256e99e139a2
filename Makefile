# SPDX-License-Identifier: BSD-3-Clause
# The front door; CMake and Ninja do the work in build/.
#
#   make               builds (libraries in build/lib, programs in build/bin)
#   make demo          the main experiment, side by side with the MPIs alone: tables and build/demo/index.html
#   make check         style, all tests, the core's tests under sanitizers
#   make check-all     the same with the long tests
#   make check-asan, check-tsan, lint, bench, bench-apps, results, clean
#   make install PREFIX=/usr/local [DESTDIR=...]
#
# Every target first installs what is missing (tools/setup-packages, tools/setup-venvs); SETUP=no leaves that out.

BUILD := build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
SETUP ?= yes
CMAKE := cmake -G Ninja
PYTHON := $(BUILD)/venv/tools/bin/python
CTEST := ctest --output-on-failure --no-tests=error -j 2
# GCC 12's ThreadSanitizer cannot place its shadow memory where the kernel spreads mappings far.
NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: build setup configure demo check check-all check-asan check-tsan test test-all lint bench bench-apps results \
	install clean
.NOTPARALLEL:

build: configure
	@ninja -C $(BUILD) -j $(JOBS)

setup:
ifneq ($(SETUP),no)
	@tools/setup-packages
	@tools/setup-venvs
endif

configure: setup
	@$(CMAKE) -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) --log-level=WARNING

demo: build
	$(PYTHON) bench/demo.py

bench: build
	@$(if $(filter no,$(SETUP)),true,tools/setup-venvs intel) || echo "bench: without Intel MPI"
	$(PYTHON) bench/bench.py

results: build
	$(PYTHON) bench/publish.py

bench-apps: build
	$(PYTHON) bench/apps.py

check: build lint test check-asan check-tsan

check-all: build lint test-all check-asan check-tsan

test: build
	$(CTEST) --test-dir $(BUILD) -LE '^all$$'

test-all: build
ifneq ($(SETUP),no)
	@tools/setup-venvs mpich-abi
endif
	$(CTEST) --test-dir $(BUILD)

check-asan: setup
	@$(CMAKE) -S . -B $(BUILD)/asan -DTRUERMA_SANITIZE=address,undefined --log-level=WARNING
	@ninja -C $(BUILD)/asan -j $(JOBS)
	$(CTEST) --test-dir $(BUILD)/asan

check-tsan: setup
	@$(CMAKE) -S . -B $(BUILD)/tsan -DTRUERMA_SANITIZE=thread --log-level=WARNING
	@ninja -C $(BUILD)/tsan -j $(JOBS)
	$(NO_ASLR) $(CTEST) --test-dir $(BUILD)/tsan

lint: configure
	tools/lint $(BUILD)

install: build
	cmake --install $(BUILD) --prefix $(abspath $(PREFIX))

clean:
	rm -rf $(BUILD)
