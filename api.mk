# Targets of the API and what is generated from it; the Makefile includes this file.
#
# The CUE files of cue/api/v1alpha1 are written by hand. From them come the Go types and their copies (beside them), the
# CRDs (cue/api/crds) and the CRDs as templates of the chart. Tools are pinned in tools/go.mod and built once.

VALKEY_OPERATOR_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkey-operator
CUE ?= $(VALKEY_OPERATOR_CACHE)/bin/cue
CONTROLLER_GEN := $(VALKEY_OPERATOR_CACHE)/bin/controller-gen
CRDGEN := $(VALKEY_OPERATOR_CACHE)/bin/crdgen

$(VALKEY_OPERATOR_CACHE)/bin/cue: tools/go.mod
	@mkdir -p $(@D)
	go build -C tools -trimpath -o $@ cuelang.org/go/cmd/cue
	@touch $@

$(CONTROLLER_GEN): tools/go.mod
	@mkdir -p $(@D)
	go build -C tools -trimpath -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
	@touch $@

$(CRDGEN): tools/go.mod $(wildcard tools/crdgen/*.go)
	@mkdir -p $(@D)
	go build -C tools -trimpath -o $@ ./crdgen
	@touch $@

# generate-in writes everything that is generated, below the directory $(1).
define generate-in
cd $(1)/cue && $(CUE) exp gengotypes ./api/v1alpha1
rm -f $(1)/cue/api/v1alpha1/zz_generated.deepcopy.go
cd $(1) && $(CONTROLLER_GEN) object paths=./cue/api/v1alpha1
rm -rf $(1)/cue/api/crds/*.yaml $(1)/$(CRD_TEMPLATES)
cd $(1) && $(CRDGEN) -module cue -plain cue/api/crds -chart $(CRD_TEMPLATES)
endef

CRD_TEMPLATES := charts/valkey-operator/templates/crds
GENERATED := cue/api/v1alpha1 cue/api/crds $(CRD_TEMPLATES)

.PHONY: api-generate api-verify api-lint api-test crds

api-generate: $(CUE) $(CONTROLLER_GEN) $(CRDGEN) ## Regenerate Go types, deep copies and CRDs from cue/api/v1alpha1.
	$(call generate-in,$(CURDIR))

api-verify: $(CUE) $(CONTROLLER_GEN) $(CRDGEN) ## Fail when anything generated from cue/api/v1alpha1 differs from what is committed.
	@set -e; fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	mkdir -p $$fresh/charts/valkey-operator/templates; \
	cp -r go.mod go.sum cue $$fresh; \
	$(MAKE) --no-print-directory --silent -f $(CURDIR)/api.mk fresh=$$fresh api-generate-fresh; \
	for dir in $(GENERATED); do diff -r -u $$dir $$fresh/$$dir || { echo "run: make api-generate" >&2; exit 1; }; done

.PHONY: api-generate-fresh
api-generate-fresh:
	$(call generate-in,$(fresh))

api-lint: $(CUE) ## Check the CUE module: formatting and every package.
	cd cue && $(CUE) fmt --check --files .
	cd cue && $(CUE) vet ./...

api-test: $(CUE) ## Test the API on a real API server, its CRD generator and the checks for CI; needs `make localkube` or KUBECONFIG.
	go -C tools test ./crdgen
	CUE=$(CUE) go test ./testscripts/api ./testscripts/ci

crds: ## Print the CRDs, for use without Helm.
	@cat cue/api/crds/*.yaml | sed 's/^apiVersion: apiextensions/---\n&/'
