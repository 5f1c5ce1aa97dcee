package logging

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

// asksToLog calls a tool with a level for its log messages.
func asksToLog(id, level string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"n","_meta":{"io.modelcontextprotocol/logLevel":"` + level + `"}}}` + "\n"
}

func logs(level string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}` + "\n"
}

func TestLoggingRulesOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	declared := Discovers(`{"logging":{}}`)
	for _, test := range []struct {
		name, script string
		broken       []string
	}{
		{"messages at and above the level", declared + asksToLog("1", "warning") + logs("warning") + logs("emergency") + Gives("1", Final), nil},
		{"a message below the level", declared + asksToLog("1", "warning") + logs("notice") + Gives("1", Final), []string{"logging.level.respected"}},
		{"a message that may be for either of two requests", declared + asksToLog("1", "error") + asksToLog("2", "info") + logs("info") + Gives("2", Final) + Gives("1", Final), nil},
		{"a message for nobody", declared + AsksPlain("1", "tools/call", `"name":"n"`) + logs("error") + Gives("1", Final), []string{"logging.message.requested"}},
		{"a message right after the answer", declared + asksToLog("1", "info") + Gives("1", Final) + logs("error"), nil},
		{"a message after another answer", declared + asksToLog("1", "info") + Gives("1", Final) + AsksPlain("2", "tools/list", "") + Gives("2", Final) + logs("error"),
			[]string{"logging.message.requested"}},
		{"a message of an undeclared server", Discovers(`{}`) + asksToLog("1", "info") + logs("error") + Gives("1", Final), []string{"logging.capability.declared"}},
		{"a level that does not exist", declared + asksToLog("1", "info") + logs("fatal") + Gives("1", Final), []string{"logging.message.level"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, _ := BrokenAndSeen(Rules(), Converse(t, StatelessCell, test.script))
			if difference := cmp.Diff(append([]string{}, test.broken...), append([]string{}, found...)); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}
