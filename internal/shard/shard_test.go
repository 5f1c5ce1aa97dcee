package shard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/reports"
)

func TestEachIsDealtToOneShard(t *testing.T) {
	t.Parallel()
	const count = 3
	owners := map[string][]int{}
	plans := map[string]bool{}
	for index := 1; index <= count; index++ {
		dealer := shard.Shard{Index: index, Count: count}.Dealer()
		for i := range 20 {
			name := fmt.Sprint("check ", i)
			if dealer.Mine(name, fmt.Sprint("scenario ", i/2)) {
				owners[name] = append(owners[name], index)
			}
		}
		plans[dealer.Report().Plan] = true
	}
	for i := range 20 {
		own := owners[fmt.Sprint("check ", i)]
		if len(own) != 1 || !slices.Equal(own, owners[fmt.Sprint("check ", i/2*2)]) {
			t.Errorf("check %d is dealt to %v, and what belongs with it to %v", i, own, owners[fmt.Sprint("check ", i/2*2)])
		}
	}
	if len(plans) != 1 {
		t.Errorf("the shards have %d plans", len(plans))
	}
	if whole := (shard.Shard{}).Dealer(); !whole.Mine("a", "a") || whole.Report() != nil {
		t.Error("a whole run is taken for a shard")
	}
}

type part = shard.Part[shard.Head]

func of(file string, index, count int, alter ...func(*shard.Head)) part {
	head := shard.Head{
		Shard:    &reports.Shard{Index: index, Count: count, Plan: "p"},
		Started:  time.Unix(int64(100+index), 0),
		Duration: 5,
		Common:   []shard.Common{{What: "target", Is: "a server"}},
	}
	for _, change := range alter {
		change(&head)
	}
	return part{File: file, Found: &head}
}

func TestPartsAreGatheredInTheirOrder(t *testing.T) {
	t.Parallel()
	found, whole, err := shard.Gather([]part{
		of("c", 3, 3, func(h *shard.Head) { h.Interrupted = "SIGINT" }), of("a", 1, 3),
		of("b", 2, 3, func(h *shard.Head) { h.Errors = []string{"no disk"} }),
	}, func(head *shard.Head) shard.Head { return *head })
	if err != nil {
		t.Fatal(err)
	}
	for i, head := range found {
		if head.Shard.Index != i+1 {
			t.Errorf("at %d stands shard %d", i, head.Shard.Index)
		}
	}
	if !whole.Started.Equal(time.Unix(101, 0)) || whole.Duration != 7 {
		t.Errorf("it lasted %v from %v", whole.Duration, whole.Started)
	}
	if whole.Interrupted != "shard 3/3: SIGINT" || !slices.Equal(whole.Errors, []string{"shard 2/3: no disk"}) {
		t.Errorf("it tells %q and %q", whole.Interrupted, whole.Errors)
	}
}

func TestWhatIsNoWholeRunIsNamed(t *testing.T) {
	t.Parallel()
	for wanted, parts := range map[string][]part{
		"shard 2/2 is missing":                               {of("a", 1, 2)},
		"a and b are both shard 1/2":                         {of("a", 1, 2), of("b", 1, 2)},
		"b is shard 3/2, which cannot be":                    {of("a", 1, 2), of("b", 3, 2)},
		"a is a whole run, not a shard":                      {of("a", 1, 2, func(h *shard.Head) { h.Shard = nil })},
		`the number of shards is "3" there and "2" here`:     {of("a", 1, 2), of("b", 2, 3)},
		`the target is "a client" there and "a server" here`: {of("a", 1, 2), of("b", 2, 2, func(h *shard.Head) { h.Common[0].Is = "a client" })},
		`what is to be checked is "q" there and "p" here`:    {of("a", 1, 2), of("b", 2, 2, func(h *shard.Head) { h.Shard.Plan = "q" })},
	} {
		_, _, err := shard.Gather(parts, func(head *shard.Head) shard.Head { return *head })
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("said %v, wanted %q", err, wanted)
		}
	}
}
