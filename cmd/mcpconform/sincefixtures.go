package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// knownFixtures are those that may have to change when a sentence does.
type knownFixtures struct {
	faults     map[string][]*fault.Fault // by requirement
	variations []*fault.Fault
	peers      map[string][]string // names of those that break a requirement, by requirement
}

func readFixtures() (*knownFixtures, error) {
	all, err := fault.Load(fixtures.Wire)
	if err != nil {
		return nil, err
	}
	known := &knownFixtures{faults: map[string][]*fault.Fault{}}
	for _, one := range all {
		if path.Dir(one.File) == fixtures.Variations {
			known.variations = append(known.variations, one)
		}
		for _, id := range one.Breaks {
			known.faults[id] = append(known.faults[id], one)
		}
	}
	known.peers, err = readPeers(fixtures.Peers)
	return known, err
}

// readPeers returns the names of the peers that are known to break each requirement.
func readPeers(folder fs.FS) (map[string][]string, error) {
	names, err := fs.Glob(folder, "peers/*.yaml")
	if err != nil {
		return nil, err
	}
	peers := map[string][]string{}
	for _, name := range names {
		source, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		var peer struct {
			Name       string
			Deviations []struct{ Requirement string }
		}
		if err := yaml.Unmarshal(source, &peer); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, deviation := range peer.Deviations {
			if id := deviation.Requirement; !slices.Contains(peers[id], peer.Name) {
				peers[id] = append(peers[id], peer.Name)
			}
		}
	}
	return peers, nil
}

// about tells what of the fixtures is about a requirement. A variation says of none: those are
// named that are about a member of a message which one of its faults is about, too.
func (k *knownFixtures) about(id string) aboutASentence {
	about := aboutASentence{ID: id, Peers: k.peers[id]}
	subjects := map[string]bool{}
	for _, one := range k.faults[id] {
		about.Faults = append(about.Faults, one.ID)
		maps.Copy(subjects, subjectsOf(one))
	}
	for _, one := range k.variations {
		for subject := range subjectsOf(one) {
			if subjects[subject] {
				about.Variations = append(about.Variations, one.ID)
				break
			}
		}
	}
	return about
}

// subjectsOf are the members of messages that a fault or variation looks at or edits, by the
// methods of the messages. Those of messages with any method are left out.
func subjectsOf(one *fault.Fault) map[string]bool {
	subjects := map[string]bool{}
	role := cmp.Or(one.Role, protocol.ServerRole)
	for _, change := range append(slices.Clone(one.Changes), one.Change) {
		if change.When == nil {
			continue
		}
		for what, methods := range map[string]fault.Words{
			"call": change.When.Method, "response": change.When.ResponseTo, "asks": change.When.Asks, "answers": change.When.Answers,
		} {
			for _, method := range methods {
				for member := range membersOf(change) {
					if method != "*" {
						subjects[strings.Join([]string{role, what, string(change.When.Direction), method, member}, " ")] = true
					}
				}
			}
		}
	}
	return subjects
}

// membersOf are the pointers of a change, as far as two steps.
func membersOf(change fault.Change) map[string]bool {
	members := map[string]bool{}
	add := func(pointer string) {
		steps := jsonrpc.Path(pointer)
		members[jsonrpc.Pointer(steps[:min(len(steps), 2)]...)] = true
	}
	for pointer := range change.When.Where {
		add(pointer)
	}
	for _, action := range change.Do {
		for _, pointer := range []*string{action.Replace, action.Add, action.Remove, action.Rename} {
			if pointer != nil {
				add(*pointer)
			}
		}
	}
	return members
}
