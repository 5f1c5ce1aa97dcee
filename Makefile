# What a developer runs; .ci/run calls the same.

.PHONY: test test-all lint vet-all bench peers peers-site build trace selftest fuzz release-snapshot release-reproduce docs-site

build:
	go build -o bin/mcpconform ./cmd/mcpconform

# No debugger looks at these tests, and without what one needs they are linked faster.
BARE = -ldflags=-w

# All tests: hermetic, in parallel. With MCP_SPEC_DIR and MCP_SCHEMA_DIR set they
# also compare with a checkout of the specification and the published schemas.
# Pages are also tried in a browser, which has a module of its own.
test:
	go test $(BARE) ./...
	go test -C fixtures/browser $(BARE) ./...

# What takes minutes: every hostile target, every fault of the opening, and every command of
# the docs; then, without the load of those, whole programs.
HOSTILE = Openings|Hostile|Bearable|PassNothing|Judged|SpokenTo|NoServer|Tried|DocsExamples|Contributing|CheckFinds|ListOfRun|Interrupts
SLOW = $$(grep -rl --include=*_test.go internal/slowtest . | xargs -n1 dirname | sort -u)
test-all:
	go test $(BARE) -timeout 30m -parallel 4 -run '$(HOSTILE)' $(SLOW) -all # most of the time is spent waiting
	go test $(BARE) -timeout 30m -skip '^TestLengthy|$(HOSTILE)' $(SLOW) -all

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	go vet -C fixtures/browser ./...
	go tool -modfile=.ci/tools/go.mod golangci-lint run --allow-parallel-runners ./...

# What else is compiled, tests among it: the systems that there are binaries for, and
# those that it should run on.
vet-all:
	for system in darwin windows freebsd; do GOOS=$$system go vet ./... || exit 1; done

# Every fault and every variation over the reference: each check must fail for the
# defects that it is there to find, and for no other.
selftest: build
	bin/mcpconform selftest

# How long a full run on the reference takes, by transport; as a process, one with the
# arguments in RUN, with the command in BESIDE in turns; and what it takes when the server has
# more tools, when more checks run at once, and of more targets (docs/performance.md).
bench:
	go test $(BARE) -run '^$$' -bench . -benchtime 2x ./internal/runner
	go test $(BARE) -run '^$$' -bench InTurns -benchtime 5x ./cmd/mcpconform
	go test $(BARE) -run '^$$' -bench Growth -benchtime 1x ./cmd/mcpconform
	go test $(BARE) -run '^$$' -bench . -benchtime 2s ./internal/proxy

# Check the servers that others wrote, and compare with what is recorded.
peers:
	fixtures/peers/install bin/peers
	MCP_PEERS_DIR=$(CURDIR)/bin/peers go test $(BARE) -count=1 -parallel 4 -timeout 25m -v ./fixtures/peers

# The peers that are started by a command, and more that others wrote, as a site:
# bin/matrix/index.html. Most break something, which is not for this to judge.
peers-site: build
	fixtures/peers/matrix/install bin/peers
	cd bin/peers && $(CURDIR)/bin/mcpconform matrix --out $(CURDIR)/bin/matrix --max-age 12h \
	  $(CURDIR)/fixtures/peers/matrix/targets.yaml || test $$? -eq 1

# Every normative sentence of a checkout of the specification, and what covers it.
trace:
	go run ./cmd/mcpconform trace --spec $(MCP_SPEC_DIR)

# Every fuzz target for FUZZTIME, one after the other.
FUZZTIME ?= 30s
fuzz:
	@grep -rl '^func Fuzz' --include=*_test.go . | xargs -n1 dirname | sort -u | while read package; do \
	  go test -list '^Fuzz' $$package | grep '^Fuzz' | while read target; do \
	    echo "== $$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
	  done || exit 1; \
	done

# All that a release consists of, below bin/release; nothing is published.
release-snapshot:
	.ci/release/snapshot bin/release

# The same twice, the second time without a cache, and compared: minutes.
release-reproduce:
	.ci/release/reproduce bin/reproduce

# The documentation as a site: bin/site/index.html, which needs no server. Its links are
# followed, within it.
docs-site:
	go tool -modfile=.ci/tools/hugo.mod hugo --config .ci/site/hugo.yaml --cleanDestinationDir --noBuildLock
	MCP_SITE_DIR=$(CURDIR)/bin/site go test -count=1 ./docs -run TestSite
