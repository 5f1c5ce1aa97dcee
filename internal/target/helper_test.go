package target_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// behaviour is the variable that turns the test binary into a target.
const behaviour = "MCPCONFORM_TEST_BEHAVIOUR"

// helper is the environment of a target with a behaviour. The race detector's
// second of sleep at exit is left out.
func helper(name string) []string {
	return []string{behaviour + "=" + name, "GORACE=atexit_sleep_ms=0"}
}

func TestMain(m *testing.M) {
	if name := os.Getenv(behaviour); name != "" {
		behave(name)
		return
	}
	os.Exit(m.Run())
}

// behave plays a target, good or bad.
func behave(name string) {
	name, argument, _ := strings.Cut(name, ":")
	switch name {
	case "echo":
		scanner := bufio.NewScanner(os.Stdin)
		for scanner.Scan() {
			fmt.Println(scanner.Text())
		}
	case "exit":
		status, err := strconv.Atoi(argument)
		if err != nil {
			panic(err)
		}
		os.Exit(status)
	case "complain":
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		fmt.Fprint(os.Stderr, "giving up")
		os.Exit(2)
	case "variables": // of GitHub
		for _, variable := range os.Environ() {
			if strings.HasPrefix(variable, "GITHUB_") {
				fmt.Println(variable)
			}
		}
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hang":
		// Reads nothing and ends by SIGTERM only.
		fmt.Println("ready")
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGUSR1)
		<-wait
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGUSR1)
		<-wait
	case "flood-stderr":
		line := strings.Repeat("x", 99) + "\n"
		for range 10_000 {
			_, _ = io.WriteString(os.Stderr, line)
		}
		_, _ = io.WriteString(os.Stderr, "the last line")
	case "long-stderr":
		_, _ = io.WriteString(os.Stderr, strings.Repeat("y", 20<<10)+"\nshort\n")
	case "fork": // leaves a child behind that holds the pipes
		child := offspring("deaf")
		fmt.Println("child", child.Process.Pid)
		os.Exit(0)
	case "escape": // the child makes a session of its own
		child := offspring("deaf")
		fmt.Println("child", child.Process.Pid)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "escape-unmarked": // and clears its environment
		child := offspring("deaf")
		fmt.Println("child", child.Process.Pid)
		os.Exit(0)
	default:
		panic("unknown behaviour " + name)
	}
}

func offspring(name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), behaviour+"="+name)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	switch os.Getenv(behaviour) {
	case "escape":
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	case "escape-unmarked":
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		child.Env = []string{behaviour + "=" + name}
	}
	ready, err := child.StdinPipe() // kept open: the child must not see an end
	if err != nil {
		panic(err)
	}
	_ = ready
	if err := child.Start(); err != nil {
		panic(err)
	}
	return child
}
