# veltui's make targets. `make help` lists them.
SHELL      := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
# Parallel compile actions. Two keep a 2-core machine usable while the large
# programs of the test bed are built.
JOBS    ?= 2
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/veltui/veltui/cmd.version=$(VERSION)

# The test bed: a real kube-apiserver and etcd, built once from their Go
# modules into a folder that is named after their versions.
KUBE_VERSION := $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' tools/kubernetes/go.mod)
ETCD_VERSION := $(shell awk '$$1 == "go.etcd.io/etcd/server/v3" { print $$2; exit }' tools/etcd/go.mod)
TESTBED      := bin/testbed-$(KUBE_VERSION)-$(ETCD_VERSION)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

.PHONY: build
build: ## Build bin/veltui, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/veltui .

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
