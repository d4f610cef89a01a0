# The operator's make targets. `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help

export GOFLAGS := -buildvcs=false
export LOCALKUBE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkey-operator/localkube
export LOCALKUBE_STATE ?= $(LOCALKUBE_CACHE)/run

TOOL      := go tool -modfile=tools/go.mod
LINT      := go tool -modfile=tools/lint/go.mod golangci-lint
LOCALKUBE := bin/localkube
IMAGE     := docker.io/library/valkey-operator:dev
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Suites that need a Kubernetes; everything else runs anywhere.
REAL_SUITES := ./testscripts/api/... ./testscripts/chart/... ./testscripts/cluster/...
PURE_SUITES := $(shell go list ./... 2>/dev/null | grep -vE '/testscripts/(api|chart|cluster)(/|$$)')

-include api.mk chart.mk

##@ General

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: image localkube-up ## Start a Kubernetes, install the operator, make a cluster, use it
	go run ./testscripts/demo -image $(IMAGE)

.PHONY: test
test: verify lint test-pure test-real ## Everything: generated files, linters, all three test levels

##@ Build

.PHONY: build
build: ## Build the operator into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/valkey-operator ./operator

.PHONY: image
image: build $(LOCALKUBE) ## Build the operator's image as bin/valkey-operator.tar
	$(LOCALKUBE) image bin/valkey-operator.tar $(IMAGE) --file bin/valkey-operator=/usr/bin/valkey-operator --entrypoint /usr/bin/valkey-operator --user 65532:65532

.PHONY: $(LOCALKUBE)
$(LOCALKUBE):
	@cd testscripts/localkube && CGO_ENABLED=0 go build -trimpath -o ../../$(LOCALKUBE) .

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

.PHONY: lint
lint: lint-go lint-cue lint-chart ## All linters

.PHONY: lint-go
lint-go: ## golangci-lint
	$(LINT) run ./...

.PHONY: test-pure
test-pure: localkube ## Unit tests, properties and pure scenarios; real servers on loopback, no Kubernetes
	go test -count=1 $(PURE_SUITES)

.PHONY: test-real
test-real: image localkube ## Suites on a real Kubernetes: localkube, or the cluster of KUBECONFIG
	OPERATOR_IMAGE=$(IMAGE) testscripts/on-kubernetes go test -count=1 -p 1 -timeout 45m -v $(REAL_SUITES)

.PHONY: bench
bench: ## The figures of docs/performance.md that need no Kubernetes
	go test -run '^$$' -bench . -benchmem ./engine/derivation ./testscripts/decide
