# veltui's make targets. `make help` lists them.
SHELL      := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
# Parallel compile actions. Two keep a 2-core machine usable while the large
# programs of the test bed are built.
JOBS    ?= 2
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
# The commit's date, not the build's: equal sources give equal binaries.
DATE    ?= $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
LDFLAGS := -s -w -X github.com/veltui/veltui/internal/cmd.release=$(VERSION) -X github.com/veltui/veltui/internal/cmd.commit=$(COMMIT) -X github.com/veltui/veltui/internal/cmd.date=$(DATE)

# The test bed: a real kube-apiserver and etcd, built once from their Go
# modules into a folder that is named after their versions.
KUBE_VERSION := $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' tools/kubernetes/go.mod)
ETCD_VERSION := $(shell awk '$$1 == "go.etcd.io/etcd/server/v3" { print $$2; exit }' tools/etcd/go.mod)
TESTBED      := bin/testbed-$(KUBE_VERSION)-$(ETCD_VERSION)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-15s %s\n", $$1, $$2 }'

.PHONY: build
build: ## Build bin/veltui, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/veltui .

.PHONY: man
man: ## Write the manual pages of all commands into bin/man
	@mkdir -p bin/man && rm -f bin/man/*.1 && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run -C tools/man . $(VERSION) $(CURDIR)/bin/man && echo "bin/man: $$(ls bin/man | wc -l) pages"

.PHONY: testbed
testbed: ## Build kube-apiserver and etcd into bin/ (once; about five minutes on two cores)
ifdef KUBEBUILDER_ASSETS
	@test -x "$$KUBEBUILDER_ASSETS/kube-apiserver" -a -x "$$KUBEBUILDER_ASSETS/etcd" || \
	  { echo "KUBEBUILDER_ASSETS=$$KUBEBUILDER_ASSETS holds no kube-apiserver and etcd" >&2; exit 1; }
else
testbed: $(TESTBED)/etcd $(TESTBED)/kube-apiserver
endif

$(TESTBED)/etcd:
	@echo "building etcd $(ETCD_VERSION) (once; about a minute on two cores)"
	@mkdir -p $(TESTBED)
	@cd tools/etcd && CGO_ENABLED=0 $(GO) build -p $(JOBS) -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ go.etcd.io/etcd/server/v3

$(TESTBED)/kube-apiserver:
	@echo "building kube-apiserver $(KUBE_VERSION) (once; about four minutes on two cores)"
	@mkdir -p $(TESTBED)
	@cd tools/kubernetes && CGO_ENABLED=0 $(GO) build -p $(JOBS) -trimpath -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION)' -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kube-apiserver

.PHONY: demo
demo: build ## Run the dashboard on a cluster in memory that plays recordings of a real Velero
	@bin/veltui demo

.PHONY: picture
picture: build ## Make the pictures in docs/images anew, from a real run of the demo (a minute)
	$(GO) run ./tools/picture bin/veltui docs/images

# Tests that run beside each other in a package wait most of the time.
BESIDE  := -parallel 6
# RERUNS=1 gives a test that fails a second try, and prints that it needed one.
RERUNS  ?=
RERUN    = $(if $(RERUNS),--rerun-fails=$(RERUNS) --rerun-fails-max-failures=3)
# What is printed: pkgname is a line a package, testname one a test.
FORMAT  ?= pkgname
RUNTEST  = $(GOTESTSUM) --format $(FORMAT) $(RERUN)
TIMEOUT ?= 40m
FLAGS    = -timeout $(TIMEOUT) -p $(JOBS) $(BESIDE) $(TESTFLAGS)

# RACE=yes runs the packages that start goroutines or servers, or lock, with the race detector,
# and only samples where pure code is tried against hundreds of thousands of inputs, and
# nothing that drives the built program. All other packages, and what was sampled or
# skipped, then run whole without it; a package that has not changed since may answer
# from Go's test cache.
RACE ?=
PACKAGES   = $(patsubst %/,./%,$(sort $(dir $(1))))
TESTED     = $(call PACKAGES,$(shell git ls-files '*_test.go' | grep -vE '^tools/|/bench/'))
STARTS     = ^\s*go (func|[a-zA-Z_.]+\()|\.Go\(|\.Parallel\(|httptest\.|"sync(/atomic)?"
CONCURRENT = $(filter $(TESTED),$(call PACKAGES,$(shell git grep -lE '$(STARTS)' -- '*.go')))
SAMPLED    = $$(sed -nE 's/.*"Action":"skip","Package":"([^"]*)","Test":"([^"\/]+).*/\$(1)/p' bin/race.json | sort -u | paste -sd '$(2)')

.PHONY: test
test: testbed lint-tools ## Run unit and integration tests (on a real kube-apiserver; RACE=yes: with the race detector)
ifeq ($(RACE),)
	$(RUNTEST) --packages ./... -- -count=1 $(FLAGS)
else
	@mkdir -p bin
	CGO_ENABLED=1 $(RUNTEST) --jsonfile bin/race.json --packages "$(CONCURRENT)" -- -race -short -count=1 $(FLAGS)
	$(RUNTEST) --packages "$(filter-out $(CONCURRENT),$(TESTED))" -- $(FLAGS)
	$(RUNTEST) --packages "$(call SAMPLED,1, )" -- $(FLAGS) -run "^($(call SAMPLED,2,|))\$$"
endif

.PHONY: test-all
test-all: ## Run all tests, also those that only .ci/run asks for, and every combination of the invariants (hours)
	VELTUI_TESTS=all $(MAKE) test TIMEOUT=24h

# A number of inputs, not a time: a worker that answers after the end of the time fails the target with
# "context deadline exceeded". Minimizing an input has a time of its own, which becomes a number too.
FUZZTIME ?= 20000x

.PHONY: fuzz
fuzz: ## Run every fuzz target on FUZZTIME (20000x) new inputs
	@git grep -oE '^func Fuzz[A-Za-z0-9]+' -- '*_test.go' | while IFS=: read -r file target; do \
	  package=./$$(dirname "$$file") target=$${target#func }; \
	  echo "fuzzing $$package $$target"; \
	  $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x -parallel $(JOBS) "$$package" < /dev/null; \
	done

.PHONY: bench bench-go bench-collector bench-outages bench-requests
bench: bench-go bench-collector bench-outages bench-requests ## Run all benchmarks (about half an hour)

bench-go: ## Benchmark packages: job, watch, ui, collector, results, logs, and the ETA on recordings (VELTUI_CAPTURES=DIR: yours)
	$(GO) test -run '^$$' -bench . -benchmem ./internal/job ./watch ./ui ./collector ./internal/stored/results ./internal/stored/logs ./internal/job/forecast

bench-collector: ## Read a 1 GB backup beside tar, gzip, igzip and Velero's own reader
	cd tools/bench/collector && $(GO) run .

bench-outages: testbed ## Land a patch through outages of 5 s to 4 min, beside Velero's own helper (about twelve minutes)
	cd tools/bench/outages && $(GO) run .

bench-requests: testbed ## Count what the dashboard asks of the API server, idle and busy (VELTUI_BENCH_REQUESTS=FILE: another veltui; seven minutes)
	VELTUI_BENCH_REQUESTS=$${VELTUI_BENCH_REQUESTS:-yes} $(GO) test -count=1 -timeout 20m -run '^TestRequests$$' -v ./internal/cmd

.PHONY: bench-checks
bench-checks: testbed ## Measure verify, preflight and preflight --compare on 2,000 and 60,000 items (about eight minutes)
	$(GO) test -run '^$$' -bench '^BenchmarkVerify$$' -benchtime 3x -timeout 20m ./internal/restore/verify
	$(GO) test -run '^$$' -bench '^BenchmarkLive$$' -benchtime 3x -timeout 20m ./internal/restore/preflight

# Linters and the test runner, pinned in tools/lint and built once.
LINTBIN     := bin/lint-$(shell cksum tools/lint/go.mod | cut -d ' ' -f 1)
GOTESTSUM   := $(LINTBIN)/gotestsum
STATICCHECK := $(LINTBIN)/staticcheck

.PHONY: lint-tools
lint-tools: $(GOTESTSUM) $(STATICCHECK)

$(GOTESTSUM):
	@mkdir -p $(LINTBIN)
	@cd tools/lint && $(GO) build -p $(JOBS) -o $(CURDIR)/$@ gotest.tools/gotestsum

$(STATICCHECK):
	@mkdir -p $(LINTBIN)
	@cd tools/lint && $(GO) build -p $(JOBS) -o $(CURDIR)/$@ honnef.co/go/tools/cmd/staticcheck

.PHONY: lint
lint: lint-tools ## Check formatting, go.mod, go vet, staticcheck and the import rules
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted (run make fmt):"; echo "$$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) -C tools/release mod tidy -diff
	$(GO) -C tools/man mod tidy -diff
	$(GO) -C tools/man vet .
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) test -count=1 -run TestImportRules ./internal/repo

.PHONY: fmt
fmt: ## Format the source
	gofmt -w $$(git ls-files '*.go')

.PHONY: golden
golden: ## Write the golden frames anew (read the diff before you commit it)
	$(GO) test ./ui -run 'Golden|Frames' -update

.PHONY: docs
docs: ## Write the generated parts of docs: commands, keys, reasons, rights, contrasts
	$(GO) test -count=1 ./ui/draw -run '^TestContrast' -update
	$(GO) test -count=1 ./internal/cmd -run '^TestRights$$' -update
	$(GO) test -count=1 ./internal/repo -run '^TestDocsOf' -update

.PHONY: clean
clean: ## Remove what was built, but not the test bed
	rm -rf bin/veltui dist

include e2e/lab.mk
include tools/bench/bench.mk
include tools/release/release.mk
