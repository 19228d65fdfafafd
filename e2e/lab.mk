# The lab: a real Velero server with its S3 plugin, a real S3 server and
# kube-controller-manager, built once from their Go modules beside the test bed
# (see the Makefile). The folder's name holds a digest of everything that goes
# in, so nothing is built again until a version or one of our sources changes.
# The lab's own plugin has a digest of its own: it changes more often, and takes
# seconds where the others take minutes.
#
# VELERO chooses an older Velero. Each has a tools/velero/MINOR.mod, and shares
# all but Velero itself and the lab's plugin with the newest.
LAB_NEWEST := 1.18
VELERO     ?= $(LAB_NEWEST)
LAB_OLDER  := 1.17 1.16 1.15 1.14
LAB_MOD    := $(if $(filter $(VELERO),$(LAB_NEWEST)),go,$(VELERO))
ifeq ($(wildcard tools/velero/$(LAB_MOD).mod),)
  $(error VELERO=$(VELERO) is none of $(LAB_OLDER) $(LAB_NEWEST))
endif
lab-velero  = $(shell awk '{ sub("^require ", "") } $$1 == "github.com/vmware-tanzu/velero" { print $$2; exit }' tools/velero/$(1).mod)
lab-ldflags = -s -w -X github.com/vmware-tanzu/velero/pkg/buildinfo.Version=$(call lab-velero,$(1))
lab-sources = $(wildcard tools/velero/*.go tools/velero/$(1).mod tools/velero/$(1).sum \
  $(foreach m,velero-plugin-for-aws s3 kubernetes,tools/$(m)/go.mod tools/$(m)/go.sum))
lab-folder  = bin/lab-$(call lab-velero,$(1))-$(shell { cat $(call lab-sources,$(1)); echo '$(call lab-ldflags,$(1))'; } | sha256sum | cut -c1-10)

LAB_VELERO_VERSION := $(call lab-velero,$(LAB_MOD))
LAB_LDFLAGS := $(call lab-ldflags,$(LAB_MOD))
LAB_SHARED  := $(call lab-folder,go)
LAB         := $(call lab-folder,$(LAB_MOD))
LAB_PLUGIN  := $(LAB)/labplugin-$(shell cat tools/velero/labplugin/*.go | sha256sum | cut -c1-10)
LAB_BUILD    = @mkdir -p $(@D) && cd $(1) && CGO_ENABLED=0 nice $(GO) build -p $(JOBS) -trimpath -ldflags '$(LAB_LDFLAGS)' -o $(CURDIR)/$@ $(2)

LAB_PROGRAMS := $(LAB)/velero $(LAB_PLUGIN) $(LAB)/plugins/velero-plugin-for-aws \
  $(LAB)/versitygw $(LAB)/kube-controller-manager

# How long the whole suite may take, and which of its tests to run.
E2E_TIMEOUT ?= 40m
E2E_RUN     ?=
E2E_SKIP    ?=
# With E2E_ROW=yes the result is written into docs/install.md.
E2E_ROW     ?=
E2E_AFTER    = $(if $(E2E_ROW),--post-run-command 'e2e/compatibility.sh $(LAB_VELERO_VERSION) $(KUBE_VERSION)')

# The suite mostly waits for Velero's own periods, so it runs in shards beside each
# other, each with a lab of its own. Each shard takes about as long as the others.
# The last one runs every test that no list names, also one that is new.
E2E_LIST_1 := TestFinalPatchLost TestCauses
E2E_LIST_2 := TestDelete TestCoverageReasons TestLostPatchOfAFailedBackup TestRules TestSchedulesStorageAndDeletions
E2E_LIST_3 := TestRestores TestDryRunEqualsRestore TestDryRunStoresNothing TestVerifyFindsWhatDidNotComeBack \
  TestVerifySaysWhatBecameOfVolumes TestVerifyFindsLostVolumes TestVerifyFindsVolumesThatPodsDidNotGet \
  TestVerifyComparesContents TestVerifyNamesMergedItems TestVerifyReadsNewNames \
  TestVerifyAfterTheSameRestoreTwice TestVerifyReadsTheResourceModifier
E2E_LIST_4 := TestCoverage TestDescribe TestCompare TestVolumesWaitForASlot TestCancelOneOfThree \
  TestVolumesAndOperationsPages TestDeleteSnapshots TestPreviewIsWhatVeleroRestores
E2E_SHARDS := 1 2 3 4 rest

E2E_SPACE   := $(subst ,, )
e2e-pattern  = ^($(subst $(E2E_SPACE),|,$(strip $(1))))$$
e2e-select   = $(if $(filter rest,$(1)),-skip '$(call e2e-pattern,$(foreach n,$(E2E_SHARDS),$(E2E_LIST_$(n))))',-run '$(call e2e-pattern,$(E2E_LIST_$(1)))')
e2e-packages = $(if $(filter rest,$(1)),./e2e/...,./e2e)
E2E_TESTSUM  = LAB_PROGRAMS=$(CURDIR)/$(LAB) VELTUI=$(CURDIR)/bin/veltui $(GOTESTSUM) --format testname $(RERUN)
E2E_TEST     = -tags e2e -count 1 -timeout $(E2E_TIMEOUT)
# Each line tells when it was printed, and by which shard.
E2E_STAMP    = while IFS= read -r line; do printf '%(%H:%M:%S)T e2e $(1): %s\n' -1 "$$line"; done

.PHONY: lab-programs
lab-programs: testbed $(LAB_PROGRAMS)
	@ln -f $(LAB_PLUGIN) $(LAB)/plugins/labplugin

$(LAB)/velero:
	@echo "building velero $(LAB_VELERO_VERSION) (once; about three minutes on two cores)"
	$(call LAB_BUILD,tools/velero,-modfile=$(LAB_MOD).mod .)

$(LAB_PLUGIN): | $(LAB)/velero
	@echo "building the lab's own plugin (once; seconds after velero)"
	@rm -f $(LAB)/labplugin-*
	$(call LAB_BUILD,tools/velero,-modfile=$(LAB_MOD).mod ./labplugin)

$(LAB_SHARED)/plugins/velero-plugin-for-aws:
	@echo "building velero-plugin-for-aws (once; about two minutes on two cores)"
	$(call LAB_BUILD,tools/velero-plugin-for-aws,github.com/vmware-tanzu/velero-plugin-for-aws/velero-plugin-for-aws)

$(LAB_SHARED)/versitygw:
	@echo "building versitygw, the S3 server (once; about a minute on two cores)"
	$(call LAB_BUILD,tools/s3,github.com/versity/versitygw/cmd/versitygw)

$(LAB_SHARED)/kube-controller-manager:
	@echo "building kube-controller-manager $(KUBE_VERSION) (once; about a minute after kube-apiserver)"
	$(call LAB_BUILD,tools/kubernetes,k8s.io/kubernetes/cmd/kube-controller-manager)

ifneq ($(LAB),$(LAB_SHARED))
LAB_LINKED := $(addprefix $(LAB)/,plugins/velero-plugin-for-aws versitygw kube-controller-manager)
$(LAB_LINKED): $(LAB)/%: $(LAB_SHARED)/%
	@mkdir -p $(@D) && ln -f $< $@
endif

.PHONY: e2e
e2e: build lab-programs lint-tools ## Hold veltui against a real Velero server, VELERO=1.18 or older (about 12 minutes; the first time also builds it)
ifneq ($(E2E_RUN)$(E2E_SKIP)$(E2E_ROW),)
	$(E2E_TESTSUM) $(E2E_AFTER) --packages $(if $(E2E_ROW),./e2e,./e2e/...) -- $(E2E_TEST) -run '$(E2E_RUN)' -skip '$(E2E_SKIP)'
else
	@$(GO) test -c -tags e2e -o /dev/null ./e2e # compiled once, and not by each shard
	@$(MAKE) --no-print-directory -j $(words $(E2E_SHARDS)) $(E2E_SHARDS:%=e2e-shard-%)
endif

.PHONY: $(E2E_SHARDS:%=e2e-shard-%)
$(E2E_SHARDS:%=e2e-shard-%): e2e-shard-%:
	@$(if $(E2E_LOGS),E2E_LOGS='$(E2E_LOGS)/$*') $(E2E_TESTSUM) --packages $(call e2e-packages,$*) -- $(E2E_TEST) $(call e2e-select,$*) 2>&1 | \
	  $(call E2E_STAMP,$*)

.PHONY: e2e-obstacles
e2e-obstacles: ## Plant obstacles, restore with a real Velero, and write docs/dev/obstacles.md (about 15 minutes)
	@E2E_OBSTACLES=$(CURDIR)/docs/dev/obstacles.md $(MAKE) e2e E2E_RUN='^TestObstacles$$'

# Where e2e-eta keeps its recordings and tables.
E2E_ETA ?= $(CURDIR)/bin/eta

.PHONY: e2e-eta
e2e-eta: ## Judge total and ETA at every second of three restores at Velero's default rate (about 6 minutes)
	@E2E_ETA='$(E2E_ETA)' $(MAKE) e2e E2E_RUN='^TestETA$$'

.PHONY: e2e-causes
e2e-causes: ## Plant causes, have a real Velero fail of them, and write docs/dev/causes.md (about 15 minutes)
	@E2E_CAUSES=$(CURDIR)/docs/dev/causes.md $(MAKE) e2e E2E_RUN='^(TestCauses|TestLostPatchIsFoundSoon)$$'

.PHONY: e2e-versions
e2e-versions: ## Run the suite with every Velero, one after the other, and write docs/install.md
	@for v in $(LAB_NEWEST) $(LAB_OLDER); do $(MAKE) e2e VELERO=$$v E2E_ROW=yes || failed="$${failed-} $$v"; done; \
	  if [ -n "$${failed-}" ]; then echo "failed:$$failed" >&2; exit 1; fi

.PHONY: lab
lab: build lab-programs ## Start a real Velero on loopback and leave it running
	@LAB_PROGRAMS=$(CURDIR)/$(LAB) $(GO) run ./e2e/labctl up

.PHONY: lab-down
lab-down: ## End what make lab started
	@$(GO) run ./e2e/labctl down

# A random story against a real Velero, judged in hindsight. OLDER=1.17 also rolls
# the server back to that version; OUT keeps recordings, tables and scenarios.
SEED      ?= 1
DURATION  ?= 15m
OLDER     ?=
OUT       ?= $(CURDIR)/bin/chaos
LAB_BEFORE = $(if $(OLDER),$(CURDIR)/$(call lab-folder,$(OLDER)))

.PHONY: chaos
chaos: lab-programs ## Run the story of SEED (1) for DURATION (15m) against a real Velero, and judge every second of it
	$(if $(OLDER),@$(MAKE) lab-programs VELERO=$(OLDER))
	@mkdir -p bin && $(GO) build -o bin/chaos-run ./e2e/chaos
	LAB_PROGRAMS=$(CURDIR)/$(LAB) bin/chaos-run -seed $(SEED) -duration $(DURATION) -out '$(OUT)' -older '$(LAB_BEFORE)'

.PHONY: chaos-judge
chaos-judge: ## Judge RECORDING, the file of a run, again
	@mkdir -p bin && $(GO) build -o bin/chaos-run ./e2e/chaos && bin/chaos-run -recording '$(RECORDING)'
