package references

import (
	"cmp"
	"os"
	"slices"
	"sync"

	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Flags of a middleman that is a process of its own: what it only looks for, and
// where it tells what matched.
const (
	WatchFlag   = "watch"
	MatchedFlag = "matched"
)

// Faults say what is injected into the traffic of a target.
type Faults struct {
	IDs  []string
	Flag string // that has them, for what is wrong with them; --fault when empty

	watch, matched string // files
}

// Add adds the flags.
func (f *Faults) Add(flags *pflag.FlagSet) {
	flags.StringArrayVar(
		&f.IDs,
		"fault",
		nil,
		"with the fault or variation `ID` of the fixtures, or one of a file by FILE#ID; may be given several times",
	)
	flags.StringVar(&f.watch, WatchFlag, "", "only look for the faults of a `FILE`")
	flags.StringVar(&f.matched, MatchedFlag, "", "append the ids of those that matched to a `FILE`")
	for _, hidden := range []string{WatchFlag, MatchedFlag} {
		_ = flags.MarkHidden(hidden) // it stands there
	}
}

// Injection is what is injected into the traffic of a target that plays a role. Defects of the
// reference may be given by their names.
func (f *Faults) Injection(role string, defects ...string) (fault.Injection, error) {
	var injection fault.Injection
	flag := cmp.Or(f.Flag, "--fault")
	for _, name := range f.IDs {
		if slices.Contains(defects, name) {
			injection.Faults = append(injection.Faults, &fault.Fault{ID: name, Role: role, Switch: name})
			continue
		}
		one, err := fault.Find(fixtures.Wire, name)
		if err != nil {
			return injection, program.UsageError("%s %s: %s%s", flag, name, err, nearest.Hint(name, defects))
		}
		if plays := cmp.Or(one.Role, protocol.ServerRole); plays != role {
			return injection, program.UsageError(
				"%s %s is one of a %s: give it to mcpconform reference %s",
				flag,
				name,
				plays,
				plays,
			)
		}
		if one.Into == fault.IntoRecording {
			return injection, program.UsageError(
				"%s %s is injected into what was recorded of a client: run mcpconform selftest --role client --filter %s -v",
				flag,
				name,
				name,
			)
		}
		injection.Faults = append(injection.Faults, one)
	}
	if f.watch != "" {
		text, err := os.ReadFile(f.watch)
		if err == nil {
			injection.Watched, err = fault.Parse(f.watch, text)
		}
		if err != nil {
			return injection, program.UsageError("--%s: %s", WatchFlag, err)
		}
	}
	if f.matched != "" {
		injection.Matched = Tell(f.matched)
	}
	return injection, nil
}

// defectOf is the defect of the reference that one of the faults names; "" for none.
func defectOf(injection fault.Injection, defects []string) (defect string, err error) {
	for _, one := range injection.Faults {
		switch {
		case one.Switch == "":
		case !slices.Contains(defects, one.Switch):
			return "", program.UsageError(
				"%s:%d: the reference has no switch %q%s",
				one.File,
				one.Line,
				one.Switch,
				nearest.Hint(one.Switch, defects),
			)
		case defect != "":
			return "", program.UsageError(
				"--fault %s: the reference can have one defect of its own at a time, and has %s",
				one.ID,
				defect,
			)
		default:
			defect = one.Switch
		}
	}
	return defect, nil
}

// Tell returns what appends the ids of faults to a file, each once.
func Tell(file string) func(*fault.Fault) {
	var mu sync.Mutex
	reported := map[string]bool{}
	return func(one *fault.Fault) {
		mu.Lock()
		defer mu.Unlock()
		if reported[one.ID] {
			return
		}
		reported[one.ID] = true
		out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return // the match is not counted
		}
		_, _ = out.WriteString(one.ID + "\n")
		_ = out.Close()
	}
}
