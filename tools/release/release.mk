# goreleaser makes a release as .goreleaser.yaml says, into dist/; tools/release makes
# its SBOMs and licences. ONLY=linux_amd64 makes one platform.
GORELEASER := bin/goreleaser-$(shell cksum tools/goreleaser/go.mod | cut -d ' ' -f 1)
RELEASE := nice -n 19 $(GO) run -C tools/release -p $(JOBS) .

.PHONY: release-files
release-files: build man ## Write what packages hold beside the binary: licences of others, manual pages, completions
	@rm -rf bin/release && mkdir -p bin/release/completions bin/release/man
	@cp bin/man/*.1 bin/release/man && gzip -9n bin/release/man/*
	@$(RELEASE) licenses -root $(CURDIR) $(CURDIR)/bin/release/THIRD_PARTY_LICENSES
	@bin/veltui completion bash > bin/release/completions/veltui.bash
	@bin/veltui completion zsh > bin/release/completions/_veltui
	@bin/veltui completion fish > bin/release/completions/veltui.fish
	@bin/veltui completion kubectl > bin/release/completions/kubectl_complete-veltui

$(GORELEASER):
	@echo "building goreleaser (once; about five minutes on two cores)"
	@CGO_ENABLED=0 nice $(GO) build -C tools/goreleaser -p $(JOBS) -ldflags '-s -w' -o $(CURDIR)/$@ github.com/goreleaser/goreleaser/v2

.PHONY: release-snapshot
release-snapshot: $(GORELEASER) ## Build archives, packages, SBOMs, checksums and manifests into dist/
	@mkdir -p bin && sed 's/^    targets: .*/    targets: [$(or $(ONLY),$(shell sed -n 's/^    targets: \[\(.*\)\]/\1/p' .goreleaser.yaml))]/' .goreleaser.yaml > bin/goreleaser.yaml
	@$(GORELEASER) release --snapshot --clean -f bin/goreleaser.yaml

.PHONY: release
release: $(GORELEASER) ## Build the tagged commit and publish it (CI)
	@$(GORELEASER) release --clean

.PHONY: reproducible
reproducible: ## Build the commit for linux/amd64 in two folders, the second time without the build cache, and compare all files (a quarter of an hour on two busy cores; 2 GB in TMPDIR)
	@other=$$(mktemp -d); trap 'rm -rf "$$other"' EXIT; \
	  git clone -q . "$$other/first" && git clone -q . "$$other/second"; \
	  $(MAKE) --no-print-directory -C "$$other/first" release-snapshot ONLY=linux_amd64; \
	  GOCACHE=$$other/cache $(MAKE) --no-print-directory -C "$$other/second" release-snapshot ONLY=linux_amd64; \
	  diff -r -x metadata.json -x artifacts.json "$$other/first/dist" "$$other/second/dist" && cat "$$other/first/dist/checksums.txt"

.PHONY: licenses
licenses: ## Check the licences of all modules that a release holds
	@$(RELEASE) licenses -root $(CURDIR)
