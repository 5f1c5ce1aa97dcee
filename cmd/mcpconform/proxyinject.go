package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// injecting is what a proxy injects, and how often it did.
type injecting struct {
	fault.Injection

	mu    sync.Mutex
	times map[string]int
}

// injecting reads --inject; nil for none.
func (p *proxying) injecting() (*injecting, error) {
	switch {
	case len(p.inject) == 0 && (p.rate != 1 || p.seed != 0):
		return nil, usageError("--rate and --seed need --inject")
	case len(p.inject) == 0:
		return nil, nil
	case p.rate < 0 || p.rate > 1:
		return nil, usageError("--rate %v must be from 0 to 1, such as 0.01", p.rate)
	}
	if p.seed == 0 {
		p.seed = 1 + rand.Uint64N(maxSeed) //nolint:gosec // a seed, not a secret
	}
	flags := &references.Faults{IDs: p.inject, Flag: "--inject"}
	injection, err := flags.Injection(protocol.ServerRole)
	if err != nil {
		if injection, err = flags.Injection(protocol.ClientRole); err != nil {
			return nil, err
		}
	}
	for _, one := range injection.Faults {
		if one.Switch != "" {
			return nil, usageError(
				"--inject %s is a switch of the reference, and nothing that can be injected into what passes",
				one.ID,
			)
		}
	}
	draws := rand.New(rand.NewPCG(p.seed, 0)) //nolint:gosec // it is to be the same again
	i := &injecting{Injection: injection, times: map[string]int{}}
	i.Chance = func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return draws.Float64() < p.rate
	}
	i.Matched = func(one *fault.Fault) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.times[one.ID]++
	}
	return i, nil
}

// told says what was injected how often.
func (i *injecting) told(seed uint64) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []string
	for _, one := range i.Faults {
		if i.times[one.ID] == 0 {
			i.times[one.ID] = 0 // it is told, too
		}
	}
	for _, id := range slices.Sorted(maps.Keys(i.times)) {
		all = append(all, fmt.Sprintf("%s %d times", id, i.times[id]))
	}
	return fmt.Sprintf("Injected, with --seed %d: %s.", seed, strings.Join(all, ", "))
}

// injectOverHTTP stands before the server at the URL, with faults, until the context ends.
func (p *proxying) injectOverHTTP(ctx context.Context, recorder *proxy.Recorder, injecting *injecting) error {
	live, err := runner.NewLive(p.judging())
	if err != nil {
		return err
	}
	between, err := proxy.NewInjector(p.URL, recorder, transcript.NewMemoryBudget(judgedMemory), injecting.Injection)
	if err != nil {
		return usageError("--url %s", err)
	}
	listener, hide, err := p.listening(ctx, transcript.Messages, live)
	if err != nil {
		between.Close()
		return err
	}
	defer hide()
	go func() { _ = between.Serve(listener) }() // until it is closed
	<-ctx.Done()
	for _, connection := range between.Close() {
		live.Take(connection.Header, connection.Events, connection.Name)
	}
	_, _ = fmt.Fprintln(stderr(), injecting.told(p.seed))
	return p.writeAndPrint(live)
}
