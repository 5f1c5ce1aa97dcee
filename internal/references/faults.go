package references

import (
	"cmp"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Faults say what is injected into the traffic of a target.
type Faults struct {
	IDs  []string
	Flag string // that has them, for what is wrong with them; --fault when empty
}

// Add adds the flag.
func (f *Faults) Add(flags *pflag.FlagSet) {
	flags.StringArrayVar(
		&f.IDs,
		"fault",
		nil,
		"with the fault or variation `ID` of the fixtures, or one of a file by FILE#ID; may be given several times",
	)
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
