package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpconform/mcpconform/docs/drivers"
	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/starter"
)

// foundSDK is the value of --client by itself: the SDK that the project depends on.
const foundSDK = "auto"

func driverNames() []string {
	var names []string
	for _, one := range drivers.All() {
		names = append(names, one.Name)
	}
	return names
}

// writeClient writes a driver for the client of an SDK, and the config that has it started.
func (b *initial) writeClient(ctx context.Context, out io.Writer, arguments []string) error {
	switch {
	case len(arguments) > 0 || b.URL != "" || b.start != "":
		return usageError("init --client takes no server: it writes what drives a client")
	case b.ci != "":
		return usageError("--ci is for servers: a step that runs mcpconform client checks the client")
	}
	driver, err := b.driver()
	if err != nil {
		return err
	}
	if err := b.free("--client", driver.File); err != nil {
		return err
	}
	config, wrong := starter.ClientConfig(driver.Command)
	text, err := driver.Text()
	if err := firstOf(err, wrong); err != nil {
		return err
	}
	if err := b.put(ctx, driver.File, text, 0o644); err != nil {
		return err
	}
	words := "Wrote " + driver.File
	taken := b.free("--output", b.output) != nil
	if !taken {
		if err := b.put(ctx, b.output, config, 0o644); err != nil {
			return err
		}
		words += " and " + b.output
	}
	_, _ = fmt.Fprintf(out, "%s, for %s.\n", words, driver.SDK)
	if taken {
		lines := strings.Split(strings.TrimSpace(string(config)), "\n")
		_, _ = fmt.Fprintf(out, "%s exists already. Add to it: %s\n", b.output, lines[len(lines)-1])
	}
	_, err = fmt.Fprintf(
		out,
		"Read %s, and create your own client where it connects. Then run: mcpconform client%s\n",
		driver.File,
		b.byConfig(),
	)
	return err
}

// byConfig is the flag that names the config, where it is not the one that is read by itself.
func (b *initial) byConfig() string {
	if b.output == config.DefaultFile {
		return ""
	}
	return " --config " + shellWord(b.output)
}

// driver is the one that was chosen, or that for the SDK that the project depends on.
func (b *initial) driver() (drivers.Driver, error) {
	choice := "; choose one with --client=" + strings.Join(driverNames(), ", --client=")
	if b.client != foundSDK {
		driver, known := starter.DriverNamed(b.client)
		if !known {
			return driver, usageError("--client=%s is unknown%s", b.client, nearest.Hint(b.client, driverNames()))
		}
		return driver, nil
	}
	found, err := starter.SDKs(os.DirFS("."))
	switch {
	case err != nil:
		return drivers.Driver{}, usageError("%s", err)
	case len(found) == 0:
		return drivers.Driver{}, usageError(
			"neither package.json, go.mod, pyproject.toml nor requirements.txt here names an MCP SDK%s",
			choice,
		)
	case len(found) > 1:
		return drivers.Driver{}, usageError(
			"%s names %s, and %s %s%s",
			found[0].In,
			found[0].SDK,
			found[1].In,
			found[1].SDK,
			choice,
		)
	}
	driver, _ := starter.DriverNamed(found[0].Driver)
	return driver, nil
}
