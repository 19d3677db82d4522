# Needs Go, git and GNU make. "make help" lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULE  := github.com/meshvip/coredns-meshvip
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION) -X github.com/coredns/coredns/coremain.GitCommit=$(VERSION)

# The build knows its version from git describe, above; asking git once more
# fails where the checkout belongs to somebody else.
GOBUILD := go build -buildvcs=false -ldflags '$(LDFLAGS)'

# make bench BENCH=Apply, make fuzz FUZZTIME=5m, make test KILLS=20. Setting one
# holds for "make nightly" too, which has its own otherwise.
BENCH     ?= .
BENCHTIME ?= 500ms
ROUNDS    ?= 5
NEW       ?= HEAD
FUZZTIME  ?= 30s
KILLS     ?= 100
CHECKS    ?= 100
CHAOS     ?= 10m

# The packages that share memory between goroutines are tested under the race
# detector, where there is a C compiler for it; the others need not pay for it.
RACE       := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
CONCURRENT  = $(shell go list ./... | grep -E '^$(MODULE)/(admin|allocator|kumatable|names|plugin|publish|test/etcdtest|watcher)(/|$$)')
PLAIN       = $(filter-out $(CONCURRENT) $(MODULE)/test/interop%,$(shell go list ./...))

# The packages with tests over random input.
RANDOM_INPUT = $(shell grep -rl --include='*_test.go' pgregory.net/rapid . | xargs -n 1 dirname | sort -u)

# Debian packages that test/benchserver measures beside ours, and its flags:
# make bench-server BENCHSERVER=-quick
BENCH_SERVER_PACKAGES := dnsperf knot nsd
BENCHSERVER           ?=

# Debian packages with the DNS clients and servers that test/interop talks to.
INTEROP_PACKAGES := bind9 bind9-dnsutils bind9-host bind9-utils iproute2 knot knot-dnsutils nsd unbound

.PHONY: bench-server help build coredns-full run test nightly bench bench-compare lint fuzz interop clean tools etcd cluster chaos

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: ## build bin/coredns, and bin/meshvipctl
	$(GOBUILD) -o bin/coredns ./cmd/coredns
	$(GOBUILD) -o bin/meshvipctl ./cmd/meshvipctl

coredns-full: ## build bin/coredns-full, with all of CoreDNS's plugins, and try it
	cmd/coredns/full.sh bin/coredns-full
	MESHVIP_COREDNS=$(CURDIR)/bin/coredns-full go test -count=1 ./test -run 'BothSpellings|READMEShows|Fallthrough|Kuma'

etcd: bin/etcd bin/etcdutl ## build bin/etcd and bin/etcdutl, at the version that tools/etcd/go.mod pins

# Under another name first: the old one may be running.
bin/etcd: PINNED = go.etcd.io/etcd/server/v3
bin/etcdutl: PINNED = go.etcd.io/etcd/etcdutl/v3
bin/etcd bin/etcdutl: tools/etcd/go.sum
	cd tools/etcd && go build -buildvcs=false -o $(CURDIR)/$@.make $(PINNED)
	mv $@.make $@

define TRY
Serving examples/resources on 127.0.0.1:1053; Ctrl-C stops it. In another
terminal (dig is Debian's dnsutils; any DNS client does):

  dig @127.0.0.1 -p 1053 backend.mesh +short         # a service, and its VIP
  dig @127.0.0.1 -p 1053 -x "$$(dig @127.0.0.1 -p 1053 backend.mesh +short)" +short   # and back
  dig @127.0.0.1 -p 1053 backend_kuma-demo_svc_5678.mesh +short   # a Kubernetes-style name,
  dig @127.0.0.1 -p 1053 backend.kuma-demo.svc.5678.mesh +short   # in both spellings
  dig @127.0.0.1 -p 1053 backend.mesh AAAA           # NOERROR, no answer, SOA: no IPv6 pool
  dig @127.0.0.1 -p 1053 nope.mesh                   # NXDOMAIN, SOA
  dig @127.0.0.1 -p 1053 kuma-demo.svc.5678.mesh     # NOERROR, no answer, SOA: only names below it

What the table says of a name or an address, and all of it:

  bin/meshvipctl --store data/meshvip.db explain backend.mesh
  bin/meshvipctl --store data/meshvip.db table

Kill it, start it again: every address is where it was (data/meshvip.db).

endef
export TRY

run: build ## serve examples/resources on 127.0.0.1:1053, and say what to dig
	@mkdir -p data
	@printf '%s\n' "$$TRY"
	@exec bin/coredns -conf Corefile.example

cluster: build etcd ## run three replicas on one etcd, and say what to try
	go build -buildvcs=false -o bin/cluster ./test/cluster
	@exec bin/cluster

chaos: etcd ## break replicas and etcd in all ways for CHAOS (10m), and check that no address was given twice
	MESHVIP_CHAOS=$(CHAOS) go test -count=1 -timeout 40m -v -run Chaos ./test/chaos

test: etcd ## run the tests, under the race detector where it counts (KILLS=100)
	@$(if $(RACE),,echo 'no C compiler: testing without the race detector')
	go test $(RACE) -timeout 20m $(CONCURRENT)
	MESHVIP_KILLS=$(KILLS) go test -timeout 20m $(PLAIN)

nightly: KILLS = 1000
nightly: CHECKS = 5000
nightly: CHAOS = 30m
nightly: FUZZTIME = 10m
nightly: ## test for hours: KILLS=1000, CHAOS=30m, random input CHECKS=5000 times, FUZZTIME=10m
	MESHVIP_KILLS=$(KILLS) go test -count=1 -timeout 2h -v -run 'Kill|Point' ./test
	$(MAKE) chaos CHAOS=$(CHAOS)
	go test -count=1 -timeout 4h $(RANDOM_INPUT) -rapid.checks=$(CHECKS)
	$(MAKE) fuzz FUZZTIME=$(FUZZTIME)

bench: ## print one table of the benchmarks beside their peers (BENCH=regexp, ROUNDS=5)
	go run ./test/ratio run -rounds $(ROUNDS) -benchtime '$(BENCHTIME)' -bench '$(BENCH)'

bench-compare: ROUNDS = 10
bench-compare: tools ## compare the benchmarks of two commits (OLD=commit, NEW=HEAD, BENCH=regexp)
	@if [[ -z '$(OLD)' ]]; then echo 'which commit to compare with? make bench-compare OLD=commit [NEW=HEAD] BENCH=regexp' >&2; exit 2; fi
	go run ./test/ratio compare -rounds $(ROUNDS) -benchtime '$(BENCHTIME)' -bench '$(BENCH)' '$(OLD)' '$(NEW)'

bench-server: build ## ask real servers with dnsperf, ours and its peers (Debian; installs them)
	@test/interop/install $(BENCH_SERVER_PACKAGES) || echo 'measuring with what is there'
	cd "$$(go list -m -f '{{.Dir}}' github.com/coredns/coredns)" && go build -buildvcs=false -o $(CURDIR)/bin/coredns-stock .
	go run ./test/benchserver -json bin/bench-server.json $(BENCHSERVER)

tools: # the linters, at the versions that tools/go.mod pins
	@cd tools && go build -buildvcs=false -o ../bin/tools/ tool

lint: tools ## check form (gofumpt), vet, staticcheck, and that go.mod is tidy
	@unformatted="$$(bin/tools/gofumpt -l .)"; if [[ -n $$unformatted ]]; then \
		printf 'not in form, run bin/tools/gofumpt -w on:\n%s\n' "$$unformatted" >&2; exit 1; fi
	go vet ./...
	go vet -tags failpoints ./allocator/failpoint
	bin/tools/staticcheck ./...
	go mod tidy -diff
	cd tools && go mod tidy -diff
	cd tools/etcd && go mod tidy -diff

fuzz: ## fuzz each target for FUZZTIME (30s)
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file func; do \
		echo "== $${func#func } in $$(dirname "$$file"), $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime '$(FUZZTIME)' "$$(dirname "$$file")" </dev/null; \
	done

interop: ## run test/interop against real DNS software (Debian; installs it)
	@if test/interop/install $(INTEROP_PACKAGES); then export MESHVIP_INTEROP=require; fi; \
		go test -count=1 -timeout 10m -v ./test/interop

clean: ## remove bin/ (data/, which holds the addresses, stays)
	rm -rf bin
