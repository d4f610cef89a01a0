# The operator's make targets. `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# One setting for builds, tests and linters, so that they share one build cache.
export GOFLAGS := -buildvcs=false -trimpath
export CGO_ENABLED := 0
export LOCALKUBE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkey-operator/localkube
export LOCALKUBE_STATE ?= $(LOCALKUBE_CACHE)/run

TOOL      := go tool -modfile=tools/go.mod
LINT      := go tool -modfile=tools/lint/go.mod golangci-lint
LINT_HERE := go tool -modfile=../../tools/lint/go.mod golangci-lint
LOCALKUBE := bin/localkube
KUBECTL   := $(LOCALKUBE_CACHE)/bin/kubectl
IMAGE     := docker.io/library/valkey-operator:dev
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The suite that needs a whole Kubernetes; the others run anywhere, some beside real servers on loopback.
REAL_SUITE  := ./testscripts/cluster
PURE_SUITES  = $(shell go list ./... | grep -v '/testscripts/cluster$$')

-include api.mk chart.mk

##@ General

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: image localkube-up $(HELM) ## Start a Kubernetes, install the operator, make a cluster, use it
	HELM=$(HELM) go run ./testscripts/demo -image $(IMAGE)

.PHONY: test
test: verify lint test-pure test-localkube test-real ## Everything: generated files, linters, every suite

##@ Build

.PHONY: build
build: ## Build the operator into bin/
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/valkey-operator ./operator

.PHONY: image
image: build $(LOCALKUBE) ## Build the operator's image as bin/valkey-operator.tar
	$(LOCALKUBE) image bin/valkey-operator.tar $(IMAGE) --file bin/valkey-operator=/usr/bin/valkey-operator --entrypoint /usr/bin/valkey-operator --user 65532:65532

.PHONY: $(LOCALKUBE)
$(LOCALKUBE):
	@cd testscripts/localkube && go build -o ../../$(LOCALKUBE) .

##@ A real Kubernetes on this machine

.PHONY: localkube
localkube: $(LOCALKUBE) ## Build Kubernetes and the Valkey images (about 10 minutes when cold, a second when warm)
	$(LOCALKUBE) build

.PHONY: localkube-up
localkube-up: localkube ## Start three nodes in three zones; needs root on Linux
	$(LOCALKUBE) up

.PHONY: localkube-down
localkube-down: $(LOCALKUBE) ## Stop it and leave nothing behind
	$(LOCALKUBE) down

##@ Checks

.PHONY: verify
verify: api-verify ## Fail when generated files differ from what they are generated from

.PHONY: lint
lint: lint-go api-lint chart-lint ## All linters: Go, CUE, the chart

.PHONY: lint-go
lint-go: ## golangci-lint over the operator and localkube
	$(LINT) run ./...
	cd testscripts/localkube && $(LINT_HERE) run ./...

.PHONY: test-pure
test-pure: localkube ## Unit tests, properties and pure scenarios; some use real servers and a real API server on loopback
	go test -count=1 $(PURE_SUITES)
	go test -C tools -count=1 ./...

.PHONY: sim
sim: ## The simulation at length: SEEDS=10000 SHARDS=3 FIRST=1; a seed that fails prints the script that replays it
	go test -count=1 -timeout 2h -run TestSeeds ./testscripts/sim -seeds $(or $(SEEDS),10000) -shards $(or $(SHARDS),3) -first $(or $(FIRST),1)

.PHONY: mutants
mutants: MUTANTS := $(CURDIR)/bin/mutants/$(subst /,-of-,$(or $(SHARE),1/1))
mutants: ## What tells the operator from each of its mutants: SHARE=2/8 for a part of them, TIME=30m, MUTANT='words of its name'
	mkdir -p $(MUTANTS)
	go run ./testscripts/sim/mutate $(MUTANTS)
	go test -c -o $(MUTANTS)/decide.test ./testscripts/decide
	go test -c -overlay $(MUTANTS)/overlay.json -o $(MUTANTS)/actions.test ./actions
	go test -count=1 -timeout 0 -overlay $(MUTANTS)/overlay.json -run TestEveryMutant ./testscripts/sim -v \
		-mutants $(or $(SHARE),1/1) -mutant-time $(or $(TIME),3h) -mutant '$(MUTANT)' -scenarios $(MUTANTS)/decide.test -actions $(MUTANTS)/actions.test

.PHONY: test-localkube
test-localkube: localkube ## localkube's own tests, on a second instance of it
	go test -C testscripts/localkube -count=1 -timeout 15m ./...

.PHONY: test-real
test-real: image localkube ## The suites on a real Kubernetes: localkube, or the cluster of KUBECONFIG
	OPERATOR_IMAGE=$(IMAGE) testscripts/on-kubernetes $(MAKE) chart-cluster-test test-actions test-cluster

.PHONY: test-actions
test-actions: ## The actions on the API server of KUBECONFIG, where no operator may run
	$(KUBECTL) apply -f cue/api/crds
	$(KUBECTL) wait --for=condition=Established --timeout=30s -f cue/api/crds
	go test -count=1 -tags kubernetes -run 'RealAPI|ReadBack' ./actions

.PHONY: test-cluster
test-cluster: build ## The scenarios and measurements on the cluster of KUBECONFIG
	go test -count=1 -v -timeout 45m $(REAL_SUITE)

RECORD := $(CURDIR)/bin/reliability.jsonl

.PHONY: reliability
reliability: image localkube ## The failure scenarios RUNS=5 times, or those that match SCENARIOS='^(a|b)': writes the tables of docs/reliability.md
	rm -f $(RECORD)
	RELIABILITY_RECORD=$(RECORD) testscripts/on-kubernetes go test -count=1 -v -timeout 6h -run 'TestReliability/$(SCENARIOS)' $(REAL_SUITE) -runs $(or $(RUNS),5); \
	status=$$?; go run ./testscripts/figures/page $(RECORD) docs/reliability.md && exit $$status

.PHONY: bench
bench: ## The figures of docs/performance.md that need no Kubernetes
	go test -run '^$$' -bench . -benchmem ./engine/derivation ./testscripts/decide

.PHONY: bench-cluster
bench-cluster: build localkube ## The figures of docs/performance.md that take a real Kubernetes and no scenario
	testscripts/on-kubernetes go test -run '^$$' -bench . -benchtime 1x -timeout 30m $(REAL_SUITE)
