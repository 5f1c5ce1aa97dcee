// Package shard shares out what a run has to do among several machines, and finds out
// whether what they bring back is all of one run.
package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/reports"
)

// Shard is one of several parts of a run, counted from 1; zero means all of it.
type Shard struct{ Index, Count int }

// Dealer shares out a run. It deals the same to all shards when it is asked for the same
// in the same order.
type Dealer struct {
	shard Shard
	hand  map[string]int // the shard, counted from 0, that has what is run together
	plan  []string
}

// Dealer returns one for the shard, to which all belongs when it is zero.
func (s Shard) Dealer() *Dealer { return &Dealer{shard: s, hand: map[string]int{}} }

// Mine tells whether something belongs to the shard. What is to be run together does so
// together.
func (d *Dealer) Mine(name, together string) bool {
	d.Note(name)
	if d.shard.Count == 0 {
		return true
	}
	if _, dealt := d.hand[together]; !dealt {
		d.hand[together] = len(d.hand) % d.shard.Count
	}
	return d.hand[together] == d.shard.Index-1
}

// Note adds to the plan what is the same in every shard of the run.
func (d *Dealer) Note(line string) { d.plan = append(d.plan, line) }

// Report tells of the shard; nil when it is all of the run.
func (d *Dealer) Report() *reports.Shard {
	if d.shard.Count == 0 {
		return nil
	}
	sum := sha256.Sum256([]byte(strings.Join(d.plan, "\n")))
	return &reports.Shard{Index: d.shard.Index, Count: d.shard.Count, Plan: hex.EncodeToString(sum[:8])}
}

// Part is what a shard has found, and the file that tells of it.
type Part[Report any] struct {
	File  string
	Found *Report
}

// Head is what a part, or all of a run, has beside its findings.
type Head struct {
	Shard       *reports.Shard // nil for all of it
	Started     time.Time
	Duration    reports.Seconds
	Interrupted string
	Errors      []string
	Common      []Common // to all parts of a run
}

// Common is something that all parts of a run have in common.
type Common struct{ What, Is string }

// common is all of it.
func (h Head) common() []Common {
	all := append([]Common{{"number of shards", strconv.Itoa(h.Shard.Count)}}, h.Common...)
	return append(all, Common{"fingerprint of what is to be checked", h.Shard.Plan})
}

// Gather returns what the parts of a run have found, in the order of their shards, and
// the head of all of it. The error names the part that is missing, that is there twice,
// or that is of another run.
func Gather[Report any](parts []Part[Report], headOf func(*Report) Head) (found []*Report, whole Head, err error) {
	heads := make([]Head, len(parts))
	at := map[int]int{} // position of a shard
	for i, part := range parts {
		heads[i] = headOf(part.Found)
		if err := belongs(heads[i], heads[0], part.File, parts[0].File); err != nil {
			return nil, Head{}, err
		}
		if other, twice := at[heads[i].Shard.Index]; twice {
			return nil, Head{}, fmt.Errorf("%s and %s are both shard %s", parts[other].File, part.File, heads[i].Shard)
		}
		at[heads[i].Shard.Index] = i
	}
	ordered := make([]Head, 0, len(parts))
	for index := 1; index <= heads[0].Shard.Count; index++ {
		position, there := at[index]
		if !there {
			return nil, Head{}, fmt.Errorf("shard %d/%d is missing", index, heads[0].Shard.Count)
		}
		found = append(found, parts[position].Found)
		ordered = append(ordered, heads[position])
	}
	return found, together(ordered), nil
}

// belongs makes sure that a part is one of the same run as the first.
func belongs(head, first Head, file, firstFile string) error {
	if head.Shard == nil {
		return fmt.Errorf("%s is a whole run, not a shard: --shard makes these", file)
	}
	if head.Shard.Index < 1 || head.Shard.Index > head.Shard.Count {
		return fmt.Errorf("%s is shard %s, which cannot be", file, head.Shard)
	}
	wanted := first.common()
	for i, common := range head.common() {
		if common != wanted[i] {
			return fmt.Errorf(
				"%s is of another run than %s: the %s is %q there and %q here",
				file,
				firstFile,
				common.What,
				common.Is,
				wanted[i].Is,
			)
		}
	}
	return nil
}

// together is the head of a run whose parts have these: it lasted from the first
// beginning to the last end.
func together(heads []Head) Head {
	whole := Head{Started: slices.MinFunc(heads, func(a, b Head) int { return a.Started.Compare(b.Started) }).Started}
	ended := whole.Started
	for _, head := range heads {
		if end := head.Started.Add(head.Duration.Duration()); end.After(ended) {
			ended = end
		}
		if head.Interrupted != "" && whole.Interrupted == "" {
			whole.Interrupted = fmt.Sprintf("shard %s: %s", head.Shard, head.Interrupted)
		}
		for _, failure := range head.Errors {
			whole.Errors = append(whole.Errors, fmt.Sprintf("shard %s: %s", head.Shard, failure))
		}
	}
	whole.Duration = reports.SecondsOf(ended.Sub(whole.Started))
	return whole
}
