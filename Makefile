# Everything a person or CI does with this repository. `make` alone prints help.

export GOTOOLCHAIN := go1.27.3

# The race detector has every process wait a second before it ends.
export GORACE := atexit_sleep_ms=0

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo build release test check race fuzz bench bench-git bench-server bench-parts peers suite conformance lint vuln cover chaos partitions long e2e-agents docs clean cc modules decided elsewhere queries database chromium

# The go command stamps the version from git, where it can ask git.
VCS      := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false)
FUZZTIME ?= 30s
ROUNDS   ?= 60
BYTES    ?= 1073741824
SRT      := bin/peers/sandbox-runtime
SUITE    := bin/conformance
TOOL     := go tool -modfile=tools/go.mod
INSIDE   := internal/executor/stages/dist
# A linker leaves a program in single pages of memory, from which it starts a sixth slower
# than from a copy: docs/design/0113-only-what-a-run-needs.md.
SETTLE   := settle() { cp -p "$$1" "$$1.copy" && mv "$$1.copy" "$$1"; }; settle
# Many tests wait, for disks and for programs to end: one package more than there are processors.
ATONCE   := $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1 )))
TEST     := $(TOOL) gotestsum --format pkgname --format-hide-empty-pkg -- -p $(ATONCE)

help: ## show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build modules ## let a pretend agent work under a policy, and watch
	@bin/paddock-demo

build: ## build bin/paddock, bin/paddock-stage and bin/paddock-server (static)
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -tags quick -o bin/ ./cmd/...
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -tags server -o bin/paddock-server ./cmd/paddock
	@for p in paddock paddock-stage paddock-server; do $(SETTLE) bin/$$p; done

release: ## build dist/paddock, one file to install: the stage is inside; and dist/paddock-server for who serves
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -o $(INSIDE)/paddock-stage ./cmd/paddock-stage
	cd $(INSIDE) && { sha256sum paddock-stage || shasum -a 256 paddock-stage; } 2>/dev/null | cut -c1-64 > paddock-stage.sha256
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -tags embed_stage -o dist/ ./cmd/paddock
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -tags embed_stage,server -o dist/paddock-server ./cmd/paddock
	@for p in paddock paddock-server; do $(SETTLE) dist/$$p; done

test: modules cc database chromium suite decided elsewhere ## run every test with the race detector and print a summary
	CGO_ENABLED=1 $(TEST) -race -timeout 30m ./...

check: ## everything that must hold before a change goes in
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	GOOS=darwin go vet ./... && GOOS=windows go vet ./... && GOARCH=arm64 go vet ./...
	$(MAKE) lint
	$(MAKE) test

race: cc database ## hunt races: every test five times, shuffled, with the race detector
	CGO_ENABLED=1 $(TEST) -race -count=5 -shuffle=on -timeout 60m ./...

fuzz: ## run each fuzzer for FUZZTIME (30s); `make test` only runs their seeds
	@git grep -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | while IFS=: read -r file func; do \
		echo "== $$(dirname "$$file") $${func#func }"; \
		go test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")"; \
	done

bench: build modules peers ## measure beside bubblewrap, runc and sandbox-runtime; RECORD=1 writes docs/, ONLY='run, full' rows of that name
	go test ./tests/benchmarks -count=1 -timeout 2h -v -run '^TestBenchmarks$$' -results $(CURDIR)/bin/benchmarks.json $(if $(ONLY),-only '$(ONLY)') \
		-rounds $(ROUNDS) -bytes $(BYTES) -sandbox-runtime $(CURDIR)/$(SRT)/node_modules/.bin/srt $(if $(RECORD),-record)

bench-git: ## measure the git tools beside git on repositories of three sizes; RECORD=1 writes docs/
	@mkdir -p bin
	go test ./tests/repositories -count=1 -timeout 1h -v -results $(CURDIR)/bin/benchmarks-git.json -rounds $(ROUNDS) $(if $(RECORD),-record)

bench-server: build ## measure the server: live output, followers, RECORDED (100000) runs, memory, and BullMQ on Redis
	@[ -d bin/peers/bullmq/node_modules/bullmq ] || ! command -v npm >/dev/null || \
		npm install --silent --no-fund --no-audit --prefix bin/peers/bullmq bullmq@5 || echo 'not installed: bullmq' >&2
	@command -v redis-server >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server >/dev/null; } || echo 'not installed: redis-server' >&2
	go test ./tests/server -count=1 -timeout 2h -v -measure -recorded $${RECORDED:-100000} $${KEPT:+-kept $$KEPT} -server $(CURDIR)/bin/paddock-server \
		-bullmq $(CURDIR)/bin/peers/bullmq -results $(CURDIR)/bin/server.json

bench-parts: ## the benchmarks of single packages
	go test -run '^$$' -bench . -benchmem ./...

lint: ## run the linters (the first time builds them: some minutes)
	$(TOOL) golangci-lint run

vuln: ## look for known vulnerabilities in what is called (needs vuln.go.dev)
	$(TOOL) govulncheck ./...

decided: ## fail unless every statement of the decide path is tested
	@out="$$(mktemp)"; trap 'rm -f "$$out"' EXIT; \
	go test -coverprofile "$$out" -coverpkg ./internal/policy,./internal/policy/tally,./internal/policy/wellformed,./internal/policy/allowance ./internal/policy; \
	go tool cover -func "$$out" | awk '$$NF != "100.0%" {print "not tested:", $$0; bad = 1} END {exit bad}'

# Other systems only explain, but what is for them is sound Go. Check asks of every package.
elsewhere:
	go test -count=1 ./tests/elsewhere

cover: ## coverage of the decide path: what isn't at 100 %, and the total
	go test -coverprofile cover.out -coverpkg ./internal/policy/... ./internal/policy/...
	@go tool cover -func cover.out | awk '$$NF != "100.0%" || /^total/'

chaos: cc ## end, starve and repeat runs on purpose, PADDOCK_CHAOS_RUNS (2000) of them; RECORD=1 writes docs/reports/chaos.md
	@mkdir -p bin docs/reports
	PADDOCK_CHAOS_RUNS=$${PADDOCK_CHAOS_RUNS:-2000} PADDOCK_CHAOS_REPORT=$(CURDIR)/$(if $(RECORD),docs/reports,bin)/chaos.md \
		go test ./tests/chaos -count=1 -timeout 2h -v
	CGO_ENABLED=1 $(TEST) -race -count=10 -shuffle=on -timeout 60m -run 'Crash|Race|Kill|Concurrent' ./...

long: ## the tests that take minutes: 10,000 runs, a line of 1 GiB, logs of 10 GiB, 8,000 held connections, 10 GiB under a limit of 1, 100,000 commits
	PADDOCK_LONG=1 $(TEST) -count=1 -timeout 60m -run 'TestManyRunsDoNotGrow|TestOneLongLine|TestLineOfALongLog|TestStressUnderCollector|TestFailedStartsLeaveNothing|TestEveryStepCanFail|TestLineOfALongPackedLog|TestReadersOfLiveRuns|TestManyRunsByOneServer|TestLargeRepository|TestOneRunForAFile|TestAnyEditIsTold|TestServeBecomesTheServer|TestTenTimesTheLimit|TestNotedIsCounted|TestModel|TestManyRows|TestPartitions|TestManyHoldConnections' ./runner ./internal/artifact/... ./internal/spawn ./internal/executor ./cmd/paddock ./internal/git ./internal/supervise ./internal/books ./internal/approval ./internal/store/tables/sqlite ./internal/httpapi/listen ./tests/partition

partitions: database ## cut, kill, slow and fail over two servers, four workers and a database; RECORD=1 writes docs/reports/partitions.md
	@mkdir -p bin docs/reports
	PADDOCK_LONG=1 PADDOCK_PARTITIONS_REPORT=$(CURDIR)/$(if $(RECORD),docs/reports,bin)/partitions.md \
		go test ./tests/partition -count=1 -timeout 30m -v -run '^TestPartitions$$'

conformance: build suite ## run the official MCP conformance suite, all of it
	PADDOCK_CONFORMANCE=$(CURDIR)/$(SUITE) go test -count=1 -timeout 30m -v -run 'Conformance' ./internal/mcpserver/wire/streamable ./cmd/paddock

e2e-agents: build ## drive the coding agents that are installed here
	@git grep -q 'func TestAgents' -- '*_test.go' || { echo 'no test drives a coding agent in this version' >&2; exit 1; }
	PADDOCK_E2E_AGENTS=1 $(TEST) -count=1 -run TestAgents ./...

docs: ## write again what is generated from the code
	go generate ./...

queries: ## write again the code of the store's queries (the first time builds sqlc: some minutes)
	cd internal/store/tables && go tool -modfile=../../../tools/go.mod sqlc generate

clean: ## remove what was built
	rm -rf bin dist $(INSIDE) cover.out

# What runs under a policy has no network: every module must be here before.
modules:
	@go mod download

# What we are measured against, by package name. One that can't be had here is a
# missing row of the table with its reason, so nothing of this may fail.
peers:
	@missing=; for p in bwrap:bubblewrap runc:runc socat:socat rg:ripgrep; do \
		command -v "$${p%:*}" >/dev/null || missing="$$missing $${p#*:}"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; } || echo "not installed:$$missing" >&2; \
	fi
	@[ -x $(SRT)/node_modules/.bin/srt ] || ! command -v npm >/dev/null || \
		npm install --silent --no-fund --no-audit --prefix $(SRT) @anthropic-ai/sandbox-runtime || echo 'not installed: sandbox-runtime' >&2

# The store's tests start a PostgreSQL of their own. Where it is missing and we may,
# get it; where we may not, those tests are skipped and say so.
database:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
		else \
			echo 'not installed: postgresql; what needs it is skipped' >&2; \
		fi; }

# The page is looked at in a real browser. Where it is missing and we may, get it.
chromium:
	@command -v chromium >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null || \
				echo 'the page is not tested in a browser: chromium could not be installed' >&2; \
		else \
			echo 'the page is not tested in a browser: install chromium' >&2; \
		fi; }

# The official MCP conformance suite, with the Node.js that it needs. The tests play a
# part of it; where it can't be had they are skipped and say so.
suite:
	@[ -f $(SUITE)/node_modules/@modelcontextprotocol/conformance/dist/index.js ] || { command -v npm >/dev/null && \
		npm install --ignore-scripts --silent --no-fund --no-audit --prefix $(SUITE) @modelcontextprotocol/conformance@0.2.0-alpha.12 \
			"node-$$(uname -s | tr A-Z a-z)-$$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')@22"; } || \
		echo 'not installed: the MCP conformance suite (npm gets it); what needs it is skipped' >&2

# The race detector needs a C compiler. Where it is missing and we may, get it.
cc:
	@command -v gcc >/dev/null || command -v clang >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev >/dev/null; \
		else \
			echo 'the race detector needs a C compiler: install gcc and libc6-dev' >&2; exit 1; \
		fi; }
