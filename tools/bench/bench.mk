# What veltui is measured beside, built once: kubectl from its Go modules, and
# the veltui of an earlier commit with PEERS_BASE=COMMIT. velero is the lab's.
KUBECTL_VERSION := $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' tools/kubectl/go.mod)
PEERS       := bin/peers-$(KUBECTL_VERSION)
PEERS_BASE  ?=
PEERS_OLD   := $(if $(PEERS_BASE),$(PEERS)/veltui-$(PEERS_BASE))
# More flags, such as -only screen,keys or -jobs 500 -uploads 2000 (go run ./tools/bench -h).
PEERS_FLAGS ?=
PEERS_OUT   ?= bin/peers.md

$(PEERS)/kubectl:
	@echo "building kubectl $(KUBECTL_VERSION) (once; about two minutes on two cores)"
	@mkdir -p $(PEERS)
	@cd tools/kubectl && CGO_ENABLED=0 $(GO) build -p $(JOBS) -trimpath -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBECTL_VERSION)' -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kubectl

$(PEERS)/veltui-%:
	@echo "building veltui of $* (once)"
	@rm -rf $(PEERS)/source-$* && mkdir -p $(PEERS)/source-$*
	@git archive $* | tar -x -C $(PEERS)/source-$*
	@cd $(PEERS)/source-$* && CGO_ENABLED=0 $(GO) build -p $(JOBS) -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ .
	@rm -rf $(PEERS)/source-$*

.PHONY: bench-peers
bench-peers: build testbed $(PEERS)/kubectl $(LAB)/velero $(PEERS_OLD) ## Measure veltui beside kubectl, velero, watch and k9s on one large cluster (about ten minutes)
	$(GO) run ./tools/bench -veltui $(CURDIR)/bin/veltui $(if $(PEERS_OLD),-before $(CURDIR)/$(PEERS_OLD)) -kubectl $(CURDIR)/$(PEERS)/kubectl \
	  -velero $(CURDIR)/$(LAB)/velero -out $(PEERS_OUT) $(PEERS_FLAGS)
