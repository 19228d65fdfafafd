# The lab: a real Velero server with its S3 plugin, a real S3 server and
# kube-controller-manager, built once from their Go modules beside the test bed
# (see the Makefile). The folder's name holds a digest of everything that goes
# in, so nothing is built again until a version or one of our sources changes.
# The lab's own plugin has a digest of its own: it changes more often, and takes
# seconds where the others take minutes.
LAB_SOURCES := $(wildcard tools/velero/*.go \
  $(foreach m,velero velero-plugin-for-aws s3 kubernetes,tools/$(m)/go.mod tools/$(m)/go.sum))
LAB_VELERO_VERSION := $(shell awk '$$1 == "github.com/vmware-tanzu/velero" { print $$2; exit }' tools/velero/go.mod)
LAB_LDFLAGS := -s -w -X github.com/vmware-tanzu/velero/pkg/buildinfo.Version=$(LAB_VELERO_VERSION)
LAB_KEY     := $(LAB_VELERO_VERSION)-$(shell { cat $(LAB_SOURCES); echo '$(LAB_LDFLAGS)'; } | sha256sum | cut -c1-10)
LAB         := bin/lab-$(LAB_KEY)
LAB_PLUGIN  := $(LAB)/labplugin-$(shell cat tools/velero/labplugin/*.go | sha256sum | cut -c1-10)
LAB_BUILD    = @mkdir -p $(@D) && cd $(1) && CGO_ENABLED=0 nice $(GO) build -p $(JOBS) -trimpath -ldflags '$(LAB_LDFLAGS)' -o $(CURDIR)/$@ $(2)

LAB_PROGRAMS := $(LAB)/velero $(LAB_PLUGIN) $(LAB)/plugins/velero-plugin-for-aws \
  $(LAB)/versitygw $(LAB)/kube-controller-manager

# How long the whole suite may take, and which of its tests to run.
E2E_TIMEOUT ?= 40m
E2E_RUN     ?= .

.PHONY: lab-programs
lab-programs: testbed $(LAB_PROGRAMS)
	@ln -f $(LAB_PLUGIN) $(LAB)/plugins/labplugin

$(LAB)/velero:
	@echo "building velero $(LAB_VELERO_VERSION) (once; about three minutes on two cores)"
	$(call LAB_BUILD,tools/velero,.)

$(LAB_PLUGIN): | $(LAB)/velero
	@echo "building the lab's own plugin (once; seconds after velero)"
	@rm -f $(LAB)/labplugin-*
	$(call LAB_BUILD,tools/velero,./labplugin)

$(LAB)/plugins/velero-plugin-for-aws:
	@echo "building velero-plugin-for-aws (once; about two minutes on two cores)"
	$(call LAB_BUILD,tools/velero-plugin-for-aws,github.com/vmware-tanzu/velero-plugin-for-aws/velero-plugin-for-aws)

$(LAB)/versitygw:
	@echo "building versitygw, the S3 server (once; about a minute on two cores)"
	$(call LAB_BUILD,tools/s3,github.com/versity/versitygw/cmd/versitygw)

$(LAB)/kube-controller-manager:
	@echo "building kube-controller-manager $(KUBE_VERSION) (once; about a minute after kube-apiserver)"
	$(call LAB_BUILD,tools/kubernetes,k8s.io/kubernetes/cmd/kube-controller-manager)

.PHONY: e2e
e2e: build lab-programs lint-tools ## Hold veltui against a real Velero server (about 15 minutes; the first time also builds it)
	LAB_PROGRAMS=$(CURDIR)/$(LAB) VELTUI=$(CURDIR)/bin/veltui $(GOTESTSUM) --format testname $(RERUN) --packages ./e2e/... -- -tags e2e -count 1 -timeout $(E2E_TIMEOUT) -run '$(E2E_RUN)'

.PHONY: lab
lab: build lab-programs ## Start a real Velero on loopback and leave it running
	@LAB_PROGRAMS=$(CURDIR)/$(LAB) $(GO) run ./e2e/labctl up

.PHONY: lab-down
lab-down: ## End what make lab started
	@$(GO) run ./e2e/labctl down
