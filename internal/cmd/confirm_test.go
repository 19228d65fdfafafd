package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// What was typed before the question does not answer it, whenever it came: at
// the start, while evidence was gathered, or without a pause until after the
// plan was shown.
func TestConfirmThrowsAwayTypeAhead(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("typed-ahead", time.Hour)) // no server runs
	answer := currentContext(t, b) + "/typed-ahead\n"
	for _, output := range []string{"text", "json"} {
		t.Run(output, func(t *testing.T) {
			c := startConsole(
				t,
				b.command(t, "finalize", "restore/typed-ahead", "--phase", "Failed", "-o", output),
				200,
				100,
			)
			c.types(t, answer+answer)
			c.sees(t, "plan: InProgress -> Failed")
			for range 20 {
				c.types(t, answer)
				time.Sleep(50 * time.Millisecond) // a key that is held, not a wait
			}
			if strings.Contains(c.ScreenText(), "to confirm") {
				t.Error("the question comes while somebody types")
			}
			c.sees(t, "Type "+strings.TrimSpace(answer)+" to confirm")
			if code := c.answers(t, "no\n"); code != ExitError || b.restorePhase(t, "typed-ahead") != "InProgress" {
				t.Errorf("exit code %d, phase %s\n%s", code, b.restorePhase(t, "typed-ahead"), c.ScreenText())
			}
		})
	}
}

// A wake is asked for in the same way.
func TestConfirmOfAWakeThrowsAwayTypeAhead(t *testing.T) {
	b := control(t)
	b.readyToStart(t, "typed-wake")
	b.veleroPod(t, time.Now().Add(10*time.Minute))
	kubeconfig := b.proxied(t, 40*time.Minute, nil)
	c := startConsole(
		t,
		through(kubeconfig, b.command(t, "finalize", "backup/typed-wake", "--wake", "-o", "yaml")),
		200,
		100,
	)
	c.types(t, "local/typed-wake\n")
	c.sees(t, "wake backup velero/typed-wake", "it will", "Type local/typed-wake to confirm")
	code := c.answers(t, "\n")
	var backup veleroapi.Backup
	if err := b.client.Get(
		t.Context(),
		client.ObjectKey{Namespace: "velero", Name: "typed-wake"},
		&backup,
	); err != nil {
		t.Fatal(err)
	}
	if code != ExitError || len(backup.Annotations) > 0 {
		t.Errorf("exit code %d, annotations %v", code, backup.Annotations)
	}
}

// answers waits until nothing more is drawn after the question, types key by key and
// returns the exit code.
func (c *console) answers(t *testing.T, text string) int {
	t.Helper()
	c.sees(t, "to confirm: ")
	c.typesKeys(t, text)
	return c.exits(t)
}

func TestConfirmTakesOneWholeLine(t *testing.T) {
	b := control(t)
	const right = "{}" // stands for the answer that confirms
	for i, a := range []struct {
		name, typed, says string
		code              int
	}{
		{"nothing", "\n", "nothing was done", ExitError},
		{"end of file", "\x04", "no answer: nothing was done", ExitError},
		{"end of file behind the name", right + "\x04\x04", "no answer: nothing was done", ExitError},
		{"ctrl+c", "\x03", "", ExitInterrupted},
		{"ctrl+c behind the name", right + "\x03", "", ExitInterrupted},
		{"another context", "prod/{NAME}\n", "that is not " + right, ExitError},
		{"the name alone", "{NAME}\n", "that is not " + right, ExitError},
		{"too much", right + "x\n", "that is not " + right, ExitError},
		{"another case", "{UPPER}\n", "that is not " + right, ExitError},
		{"spaces behind it", right + "  \n", "settled", ExitOK},
		{"a mistake taken back", right + "xy\b\x7f\n", "settled", ExitOK},
		{"a line taken back", "wrong\x15" + right + "\n", "settled", ExitOK},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("answered-%d", i)
			confirms := currentContext(t, b) + "/" + name
			of := strings.NewReplacer(right, confirms, "{UPPER}", strings.ToUpper(confirms), "{NAME}", name)
			b.quiet(t, inProgress(name, time.Hour))
			c := startConsole(
				t,
				b.command(t, "finalize", "restore/"+name, "--phase", "Failed", "--observe", "1s"),
				200,
				100,
			)
			before := freshTermios(t) // the program may have changed its own already
			code := c.answers(t, of.Replace(a.typed))
			want := map[bool]string{true: "Failed", false: "InProgress"}[a.code == ExitOK]
			if phase := b.restorePhase(
				t,
				name,
			); code != a.code || phase != want ||
				!strings.Contains(c.ScreenText(), of.Replace(a.says)) {
				t.Errorf("exit code %d, phase %s\n%s", code, phase, c.ScreenText())
			}
			if after := termiosOf(t, c.TTY()); after != before {
				t.Errorf("the terminal's modes were %+v and are %+v", before, after)
			}
		})
	}
}

// typing is what arrives at the question for which right is the answer.
type typing func(t *testing.T, c *console, right string)

// TestPastesDoNotConfirm pastes the right answer into terminals that mark pastes and into
// those that do not, and ends the question in every other way: each time the terminal is
// as it was, and marks pastes no longer.
func TestPastesDoNotConfirm(t *testing.T) {
	b := control(t)
	const on, off = "\x1b[200~", "\x1b[201~"
	pasted := "as from a paste: nothing was done"
	pastes := func(before, after string) typing {
		return func(t *testing.T, c *console, right string) { c.types(t, before+right+after) }
	}
	keys := func(text string) typing {
		return func(t *testing.T, c *console, _ string) { c.types(t, text) }
	}
	for i, a := range []struct {
		name string
		do   typing
		says string
		code int
		term string
	}{
		{"a line", pastes("", "\n"), pasted, ExitError, "xterm-256color"},
		{"a line ended by a carriage return", pastes("", "\r"), pasted, ExitError, "vt220"},
		{"a line on a dumb terminal", pastes("", "\r"), pasted, ExitError, "dumb"},
		{"a line, marked", pastes(on, "\r"+off), pasted, ExitError, "xterm-256color"},
		{"a word, marked", pastes(on, off), pasted, ExitError, "xterm-256color"},
		{"a word, and enter", func(t *testing.T, c *console, right string) {
			c.types(t, right)
			c.sees(t, "to confirm: "+right)
			c.typesKeys(t, "\n")
		}, pasted, ExitError, "xterm-256color"},
		{"the end of a word, and enter", func(t *testing.T, c *console, right string) {
			c.typesKeys(t, right[:4])
			c.types(t, right[4:])
			c.sees(t, "to confirm: "+right)
			c.typesKeys(t, "\n")
		}, pasted, ExitError, "xterm-256color"},
		{"the last character, and enter", func(t *testing.T, c *console, right string) {
			c.typesKeys(t, right[:len(right)-1])
			c.types(t, right[len(right)-1:]+"\n")
		}, pasted, ExitError, "xterm-256color"},
		{"several lines", pastes("", "\nveltui get\nrm x\n"), pasted, ExitError, "xterm-256color"},
		{"two answers", func(t *testing.T, c *console, right string) { c.types(t, right+"\n"+right+"\n") }, pasted, ExitError, "xterm-256color"},
		{"a line feed and the answer", pastes("\n", "\n"), "nothing was done", ExitError, "xterm-256color"},
		{"ctrl+c", keys("\x03"), "", ExitInterrupted, "xterm-256color"},
		{"SIGTERM", func(t *testing.T, c *console, right string) { signalProcess(t, c.Cmd.Process.Pid, syscall.SIGTERM) }, "", 143, "xterm-256color"},
		{"SIGHUP", func(t *testing.T, c *console, right string) { signalProcess(t, c.Cmd.Process.Pid, syscall.SIGHUP) }, "", 129, "xterm-256color"},
		{"ctrl+\\", keys("\x1c"), "", 131, "xterm-256color"},
		{"end of file", keys("\x04"), "no answer", ExitError, "xterm-256color"},
		{"a mistake", func(t *testing.T, c *console, right string) { c.typesKeys(t, "no\n") }, "nothing was done", ExitError, "xterm-256color"},
		{"the answer", func(t *testing.T, c *console, right string) { c.typesKeys(t, right+"\n") }, "settled", ExitOK, "xterm-256color"},
		{"an arrow in the answer", func(t *testing.T, c *console, right string) { c.types(t, "\x1b[D"); c.typesKeys(t, right+"\n") }, "settled", ExitOK, "xterm-256color"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("pasted-%d", i)
			b.quiet(t, inProgress(name, time.Hour))
			cmd := b.command(t, "finalize", "restore/"+name, "--phase", "Failed", "--observe", "1s")
			cmd.Env = append(cmd.Env, "TERM="+a.term)
			c := startConsole(t, cmd, 200, 100)
			before := freshTermios(t) // the program may have changed its own already
			c.sees(t, "to confirm: ")
			a.do(t, c, currentContext(t, b)+"/"+name)
			code := c.exits(t)
			want := map[bool]string{true: "Failed", false: "InProgress"}[a.code == ExitOK]
			if phase := b.restorePhase(
				t,
				name,
			); code != a.code || phase != want ||
				!strings.Contains(c.ScreenText(), a.says) {
				t.Errorf("exit code %d, phase %s\n%s", code, phase, c.ScreenText())
			}
			if after := termiosOf(t, c.TTY()); after != before {
				t.Errorf("the terminal's modes were %+v and are %+v", before, after)
			}
			begun, ended := strings.LastIndex(
				c.OutputText(),
				ansi.SetModeBracketedPaste,
			), strings.LastIndex(
				c.OutputText(),
				ansi.ResetModeBracketedPaste,
			)
			if marks := a.term == "xterm-256color"; marks != (begun >= 0) || marks && ended < begun {
				t.Errorf("the terminal marks pastes from %d to %d", begun, ended)
			}
		})
	}
}

// Evidence and plan are on the terminal before the question, wherever the data
// goes, and the data is not mixed with them.
func TestConfirmShowsWhatItAsksAbout(t *testing.T) {
	b := control(t)
	for _, output := range []string{"text", "json", "yaml"} {
		t.Run(output, func(t *testing.T) {
			name := "shown-" + output
			b.quiet(t, inProgress(name, time.Hour))
			path := filepath.Join(t.TempDir(), "out")
			cmd := b.command(t, "finalize", "restore/"+name, "--phase", "Failed", "--observe", "1s", "-o", output)
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			cmd.Stdout = file
			c := startConsole(t, cmd, 200, 100)
			c.sees(t, "facts:", "plan: InProgress -> Failed", "it will", "to confirm")
			if code := c.answers(t, currentContext(t, b)+"/"+name+"\n"); code != ExitOK {
				t.Errorf("exit code %d\n%s", code, c.ScreenText())
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var d document.Finalization
			switch {
			case output == "text" && !holdsAll(string(data), "plan: InProgress -> Failed", "settled"),
				output == "json" && (json.Unmarshal(data, &d) != nil || d.Outcome.State != "settled"),
				output == "yaml" && !strings.HasPrefix(string(data), "apiVersion: "):
				t.Errorf("the data is\n%s", data)
			}
		})
	}
}

func TestFinalizeWithoutATerminal(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("unasked", time.Hour))
	now := time.Now()
	b.create(
		t,
		restore(
			"over",
			veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted, CompletionTimestamp: metaTime(now)},
		),
	)
	for _, c := range []struct {
		name string
		code int
		says string
	}{
		{"unasked", ExitUsage, "there is no terminal to ask on: use --yes or --dry-run=server"},
		{"over", ExitRefused, "restore velero/over has ended: it is Completed"},
		{"nobody", ExitError, "not found"},
	} {
		for _, output := range []string{"text", "json"} {
			stdout, stderr, code := b.run(t, "finalize", "restore/"+c.name, "-o", output)
			if code != c.code || !strings.Contains(stderr, c.says) || stdout != "" {
				t.Errorf("%s: exit code %d, %q, %q", c.name, code, stdout, stderr)
			}
		}
	}
	// The question would go into a file.
	cmd := b.command(t, "finalize", "restore/unasked")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	c := startConsole(t, cmd, 80, 24)
	if code := c.exits(t); code != ExitUsage || !strings.Contains(stderr.String(), "standard error is not a terminal") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	if phase := b.restorePhase(t, "unasked"); phase != "InProgress" {
		t.Errorf("phase %s", phase)
	}
}

// Somebody who does not stop typing is not asked.
func TestConfirmGivesUpOnEndlessInput(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("endless", time.Hour))
	c := startConsole(t, b.command(t, "finalize", "restore/endless", "--phase", "Failed"), 200, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := c.TTY().WriteString("local/endless\n"); err != nil {
				return
			}
			select {
			case <-c.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	code := c.exits(t)
	_ = c.TTY().Close()
	<-done
	if code != ExitError || !strings.Contains(c.ScreenText(), "keeps sending input") ||
		b.restorePhase(t, "endless") != "InProgress" {
		t.Errorf("exit code %d, phase %s\n%s", code, b.restorePhase(t, "endless"), c.ScreenText())
	}
}
