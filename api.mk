# Targets of the API and what is generated from it; the Makefile includes this file.
#
# The CUE files of cue/api/v1alpha1 are written by hand. From them come the Go types and their copies (beside them), the
# CRDs (cue/api/crds) and the CRDs as templates of the chart. The tools are pinned in tools/go.mod.

# Where go keeps the linked tool: a path, since the tools run in other directories than this.
CUE            = $(shell go tool -modfile=$(CURDIR)/tools/go.mod -n cue)
CONTROLLER_GEN = $(shell go tool -modfile=$(CURDIR)/tools/go.mod -n controller-gen)
CRD_TEMPLATES := charts/valkey-operator/templates/crds
GENERATED     := cue/api/v1alpha1 cue/api/crds $(CRD_TEMPLATES)

# generate-in writes everything that is generated, below the directory $(1).
define generate-in
rm -f $(1)/cue/api/crds/*.yaml $(1)/$(CRD_TEMPLATES)/*.yaml $(1)/cue/api/v1alpha1/zz_generated.deepcopy.go
cd $(1)/cue && $(CUE) exp gengotypes ./api/v1alpha1
cd $(1) && $(CONTROLLER_GEN) object paths=./cue/api/v1alpha1
go run -C $(CURDIR)/tools ./crdgen -module $(1)/cue -plain $(1)/cue/api/crds -chart $(1)/$(CRD_TEMPLATES)
endef

##@ API

.PHONY: api-generate
api-generate: ## Regenerate Go types, deep copies and CRDs from cue/api/v1alpha1
	$(call generate-in,$(CURDIR))

.PHONY: api-verify
api-verify: ## Fail when what is generated from cue/api/v1alpha1 differs from the files here
	@set -e; fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	cp -r go.mod go.sum cue $$fresh; \
	$(MAKE) --no-print-directory --silent -f api.mk api-generate-fresh FRESH=$$fresh; \
	for dir in $(GENERATED); do diff -r -u $$dir $$fresh/$$dir || { echo 'run: make api-generate' >&2; exit 1; }; done

.PHONY: api-generate-fresh
api-generate-fresh:
	$(call generate-in,$(FRESH))

.PHONY: api-lint
api-lint: ## Check the CUE module: formatting and every package
	cd cue && $(CUE) fmt --check --files . && $(CUE) vet ./...

.PHONY: api-test
api-test: ## The API on a real API server, its CRD generator and the checks for CI; needs make localkube or KUBECONFIG
	go test -C tools ./crdgen
	go test ./testscripts/api ./testscripts/ci

.PHONY: crds
crds: ## Print the CRDs, for use without Helm
	@sed 's/^# Generated.*/---/' cue/api/crds/*.yaml
