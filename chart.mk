# Targets of the Helm chart; the Makefile includes this file.
#
# Helm is pinned in tools/go.mod. `go tool` would link its 60 MB anew for each call, so it is built once
# into the cache and built again only when the pin moves.

VALKEY_OPERATOR_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkey-operator
HELM ?= $(VALKEY_OPERATOR_CACHE)/bin/helm
CHART := charts/valkey-operator

$(VALKEY_OPERATOR_CACHE)/bin/helm: tools/go.mod
	@mkdir -p $(@D)
	go build -C tools -trimpath -o $@ helm.sh/helm/v4/cmd/helm
	@touch $@

.PHONY: chart-lint chart-test chart-cluster-test

chart-lint: $(HELM) ## Lint the Helm chart with its defaults and with every example of values.
	$(HELM) lint --strict --quiet $(CHART)
	for values in testscripts/chart/values/*.yaml; do $(HELM) lint --strict --quiet --values $$values $(CHART) || exit 1; done

chart-test: $(HELM) ## Render the chart and check every manifest, every right and every refusal; needs no cluster.
	HELM=$(HELM) go test ./testscripts/chart

chart-cluster-test: $(HELM) ## Install, upgrade and uninstall the chart on the cluster of KUBECONFIG; with OPERATOR_IMAGE its pods too.
	HELM=$(HELM) go test -count=1 -tags cluster -timeout 15m -run TestOnCluster ./testscripts/chart
