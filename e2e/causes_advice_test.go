//go:build e2e

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wantAdvisable runs a command of a next step as it stands, in a shell, but so that it writes nothing: the program
// knows the command and its flags, and does what it says or explains why not.
func wantAdvisable(t *testing.T, command string) {
	t.Helper()
	line, ok := harmless(t, command)
	if !ok {
		return
	}
	code, printed := runShell(t, line)
	t.Logf("advised, ended with %d: %s", code, line)
	if !isAnswer(command, code, printed) {
		t.Errorf("the advised command ended with %d: %s\n%s", code, line, printed)
	}
}

// Verbs of kubectl's commands: those that only read, and those that write and take --dry-run=server.
var (
	readingVerbs = []string{"get", "describe", "logs", "api-resources", "api-versions", "auth", "top", "explain"}
	writingVerbs = []string{"patch", "set", "delete", "apply", "annotate", "label", "create"}
)

// harmless returns the line with which nothing is written; ok is false if the program is not there.
func harmless(t *testing.T, command string) (line string, ok bool) {
	t.Helper()
	program, rest, _ := strings.Cut(command, " ")
	words := strings.Fields(rest)
	switch {
	case program == "kubectl" && kubectlPath() == "":
		t.Logf("no kubectl here: not run: %s", command)
		return "", false
	case program == "kubectl" && slices.ContainsFunc(writingVerbs, func(v string) bool { return slices.Contains(words, v) }):
		return command + " --dry-run=server", true
	case program == "kubectl" && slices.Contains(words, "edit"):
		return "KUBE_EDITOR=true " + command, true
	case program == "kubectl" && !slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains(readingVerbs, word)
	}) && !strings.Contains(rest, "rollout history") && !strings.Contains(rest, "rollout status"):
		t.Errorf("not known to be harmless, so it is not run: %s", command)
		return "", false
	case program == "veltui" && (strings.HasPrefix(rest, "finalize ") || strings.HasPrefix(rest, "backup delete ")):
		return command + " --dry-run=server --yes", true
	}
	return command, true
}

// isAnswer reports whether a command has done what it says, or explained why not. veltui's exit codes also tell how the
// job ended; with 1 it could not do something, with 2 it did not understand the command.
func isAnswer(command string, code int, printed string) bool {
	if strings.HasPrefix(command, "kubectl ") {
		return code == 0
	}
	switch code {
	case exitError:
		return strings.Contains(printed, "not stored") || strings.Contains(printed, "object store")
	case 2:
		return false
	}
	return strings.TrimSpace(printed) != ""
}

func kubectlPath() string {
	path, err := exec.LookPath("kubectl")
	if err != nil {
		return ""
	}
	return path
}

// runShell runs a line as a person does who copies it.
func runShell(t *testing.T, line string) (code int, printed string) {
	t.Helper()
	path, err := veltui()
	must(t, err)
	cmd := exec.CommandContext(patient(t), "/bin/sh", "-c", line)
	cmd.Env = append(slices.Clone(veltuiTells.cmd.Env), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
