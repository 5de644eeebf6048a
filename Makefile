# make help says what there is. The work is done by small programs in tools/, steps/, docs/ and bench/.
#
# Files in build/stamps say what is up to date, so that a second `make` does only what is left to do.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Python keeps what it has compiled there and not among the sources. Where it may keep nothing, each of the tests' many
# programs would compile PyTorch's modules anew, which takes longer than to import them.
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
unexport PYTHONDONTWRITEBYTECODE

PYTHON_HERE := .venv/bin/python
STAMPS := build/stamps

# Files, without what running and building leaves among them. "/." keeps the folder steps apart from the target steps.
NOT_SOURCES := -name __pycache__ -o -name lib -o -path '*torch_openreg/./include' -o -name '*.so' -o -name '.?*' -o -path '*docs/./steps/[0-9]*'
files = $(shell find $(addsuffix /.,$(1)) \( $(NOT_SOURCES) \) -prune -o \( -type $(or $(2),f) \) -print)

# Of C++ the folders, too: adding or removing a file changes the libraries.
LIBRARIES := $(call files,openreg/driver openreg/kernels openreg/csrc openreg/bindings examples/isolated-device/device_fallback,f -o -type d)
PACKAGE := $(call files,openreg/torch_openreg) $(wildcard openreg/*.py)

.venv/ready: pyproject.toml tools/setup.sh tools/environment.py
	@sh tools/setup.sh
	@touch $@

# With TORCH=2.14.1, make does what it is asked for in a copy that is for this version of PyTorch.
ifeq ($(origin TORCH),command line)
GOALS := $(or $(MAKECMDGOALS),all)
.PHONY: $(GOALS) other-torch
$(GOALS): other-torch ;
other-torch: .venv/ready
	@$(PYTHON_HERE) tools/other_torch.py $(TORCH) $(GOALS) $(foreach it,PART N OUT RED DRIVER NAME STEP SIM DEVICE ARGS VENDOR_HEADER VENDOR_LIB TRY,$(if $($(it)),$(it)="$($(it))"))
else

.PHONY: all
all: $(STAMPS)/build  ## Set up, build, train a network on the device, build the guide
	@$(MAKE) -s -j2 $(STAMPS)/digits $(STAMPS)/guide # the guide is built by one processor
	@$(PYTHON_HERE) tools/welcome.py

.PHONY: setup
setup: .venv/ready  ## Install what is missing, and make .venv

.PHONY: build
build: $(STAMPS)/build  ## Build the libraries and install the package into .venv

.PHONY: test
test: $(STAMPS)/build  ## Everything the tests hold; PART="backend steps" runs only these; TORCH=2.14.1 with that PyTorch
	@$(PYTHON_HERE) tools/test.py $(PART)

.PHONY: test-all
test-all: $(STAMPS)/build  ## The same, and operators with all their samples and data types
	@$(PYTHON_HERE) tools/test.py --all $(PART)

.PHONY: check
check: $(STAMPS)/build  ## What one runs while working: up to 5 minutes
	@$(PYTHON_HERE) tools/test.py --quick $(PART)

.PHONY: contract
contract: .venv/ready  ## What a driver has, lacks and does wrong; DRIVER=process, or the path of your own; ARGS="--seconds 300" stops it
	@$(PYTHON_HERE) tools/contract.py $(DRIVER) $(ARGS)

.PHONY: doctor
doctor: $(STAMPS)/build  ## Each mechanism of a backend: works, missing, silent, wrong; DEVICE=npu another; ARGS="--html page.html"
	@$(PYTHON_HERE) openreg/torch_openreg/doctor $(if $(DEVICE),--device "$(DEVICE)") $(ARGS)

.PHONY: mutants
mutants: $(STAMPS)/build  ## Seed bugs, one at a time, and see each of them caught; NAME=orFree runs those of one mechanism
	@$(PYTHON_HERE) tools/mutants.py --record $(NAME)

.PHONY: step
step: .venv/ready  ## N=03: show the failure, build the step, run it; RED=1 proves the failure; OUT=dir hands the tree out
	@$(if $(N),,echo 'make step: which? For example: make step N=01' >&2; exit 2)
	@$(PYTHON_HERE) steps/step.py $(N) $(if $(RED),--red) $(if $(OUT),--out "$(OUT)")

.PHONY: backend
backend: .venv/ready  ## A project of your own, NAME=acme, built and tried: STEP=04, OUT=dir, SIM=1, VENDOR_HEADER=, VENDOR_LIB=, TRY=0
	@$(if $(NAME),,echo 'make backend: what is it to be called? For example: make backend NAME=acme' >&2; exit 2)
	@$(PYTHON_HERE) backend/generate.py $(NAME) $(if $(STEP),--step $(STEP)) $(if $(OUT),--out "$(OUT)") $(if $(SIM),--sim) \
	  $(if $(filter 0,$(TRY)),,--try) $(if $(VENDOR_HEADER),--vendor-header "$(VENDOR_HEADER)") $(if $(VENDOR_LIB),--vendor-lib "$(VENDOR_LIB)")

.PHONY: driver
driver: $(STAMPS)/build  ## A driver of your own, NAME=acme OUT=dir, as a library below our names: STEP=04, VENDOR_HEADER=, VENDOR_LIB=
	@$(if $(NAME),,echo 'make driver: what is the chip called? For example: make driver NAME=acme OUT=/tmp/acme' >&2; exit 2)
	@$(if $(OUT),,echo 'make driver: where to? For example: make driver NAME=acme OUT=/tmp/acme' >&2; exit 2)
	@$(PYTHON_HERE) backend/driver.py $(NAME) --out "$(OUT)" $(if $(STEP),--step $(STEP)) \
	  $(if $(VENDOR_HEADER),--vendor-header "$(VENDOR_HEADER)") $(if $(VENDOR_LIB),--vendor-lib "$(VENDOR_LIB)")

.PHONY: steps
steps: .venv/ready  ## All steps, and a table of them
	@$(PYTHON_HERE) steps/step.py all

.PHONY: digits
digits: $(STAMPS)/build  ## Train the network again
	@$(PYTHON_HERE) examples/digits.py

.PHONY: guide
guide: $(STAMPS)/guide  ## Build the guide: build/guide/index.html

.PHONY: book
book: $(STAMPS)/guide  ## The chapters as one PDF, to print or to read elsewhere: build/book/openreg.pdf
	@$(PYTHON_HERE) tools/book.py

.PHONY: recording
recording: .venv/ready  ## The picture of red → green on the start page, from a new run
	@$(PYTHON_HERE) tools/recording.py

.PHONY: traces
traces: $(STAMPS)/build  ## The pictures of the slow training loop and of the mended one, from new runs
	@$(PYTHON_HERE) tools/trace_picture.py

.PHONY: memory-picture
memory-picture: $(STAMPS)/build  ## The picture of the memory of a training step, from a new run
	@$(PYTHON_HERE) tools/memory_picture.py

.PHONY: bench
bench: $(STAMPS)/build  ## Measure, with the CPU beside it: a table, and what the guide shows of speed
	@$(PYTHON_HERE) bench/run.py

.PHONY: gpu
gpu: $(STAMPS)/build  ## On a machine with an NVIDIA GPU: what only that can show, recorded; PART="contract train", ARGS="--seconds 120"
	@$(PYTHON_HERE) tools/gpu.py $(PART) $(ARGS)

.PHONY: wheel
wheel: .venv/ready  ## What is handed to others, in dist: a source archive, and a wheel built from it
	@$(PYTHON_HERE) tools/wheel.py

.PHONY: lint
lint: $(STAMPS)/build  ## ruff, clang-format, clang-tidy, zizmor, and our own rules
	@$(PYTHON_HERE) tools/test.py lint ladder
	@$(PYTHON_HERE) tools/mutants.py --check

.PHONY: format
format: .venv/ready  ## Format all files
	@$(PYTHON_HERE) tools/lint.py --fix

.PHONY: clean
clean:  ## Remove what was built; .venv stays
	rm -rf build dist openreg/torch_openreg/lib openreg/torch_openreg/include openreg/torch_openreg/*.so

.PHONY: help
help:  ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

$(STAMPS)/build: .venv/ready CMakeLists.txt setup.py pyproject.toml tools/build.py $(LIBRARIES)
	@$(PYTHON_HERE) tools/build.py
	@mkdir -p $(@D) && touch $@

$(STAMPS)/digits: $(STAMPS)/build examples/digits.py $(PACKAGE)
	@$(PYTHON_HERE) examples/digits.py --save build/digits.json
	@touch $@

$(STAMPS)/guide: $(STAMPS)/build $(PACKAGE) $(call files,docs steps tests examples)
	@echo 'guide: building the pages'
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(PYTHON_HERE) -m sphinx -q -W --keep-going -n -b html docs build/guide
	@touch $@

endif
