# A release without goreleaser: what .goreleaser.yaml says, by tools/release, into
# dist/. ONLY=linux/amd64 makes one platform.
RELEASE := nice -n 19 $(GO) run -C tools/release -p $(JOBS) .

.PHONY: release-files
release-files: build ## Write what packages hold beside the binary: licences of others, completions
	@mkdir -p bin/release/completions
	@$(RELEASE) licenses -root $(CURDIR) $(CURDIR)/bin/release/THIRD_PARTY_LICENSES
	@bin/veltui completion bash > bin/release/completions/veltui.bash
	@bin/veltui completion zsh > bin/release/completions/_veltui
	@bin/veltui completion fish > bin/release/completions/veltui.fish

.PHONY: release-snapshot
release-snapshot: release-files ## Build archives, packages, SBOMs, checksums and manifests into dist/
	@$(RELEASE) snapshot -root $(CURDIR) -only '$(ONLY)'

.PHONY: reproducible
reproducible: ## Build linux/amd64 twice, without the build cache the second time, and compare all files
	@$(MAKE) --no-print-directory release-snapshot ONLY=linux/amd64
	@rm -rf bin/once && mv dist bin/once
	@cache=$$(mktemp -d); trap 'rm -rf "$$cache"' EXIT; GOCACHE=$$cache $(MAKE) --no-print-directory release-snapshot ONLY=linux/amd64
	@diff -r bin/once dist && cmp bin/once/checksums.txt dist/checksums.txt && cat dist/checksums.txt

.PHONY: licenses
licenses: ## Check the licences of all modules that a release holds
	@$(RELEASE) licenses -root $(CURDIR)
