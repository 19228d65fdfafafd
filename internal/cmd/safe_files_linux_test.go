package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// maxEnd is more than the program takes to end after a signal, however busy the machine is; what holds it up lasts
// for ever.
const maxEnd = time.Minute

// endsBySignal starts a program, sends it a signal once it is ready, and checks how
// it ends.
func endsBySignal(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, ready func() bool) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	eventually(t, "it is ready", ready)
	began := time.Now()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if took, code := time.Since(began), cmd.ProcessState.ExitCode(); took > maxEnd || code != 128+int(signal) {
		t.Errorf("it ended after %s with exit code %d", took, code)
	}
}

// hang holds up a request until its client is gone, which the server sees once it has
// read all of it.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// fifo makes a named pipe.
func fifo(t *testing.T, path string) string {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// isRead reports whether somebody waits for what a named pipe brings, which nobody
// sends.
func isRead(t *testing.T, path string) func() bool {
	return func() bool {
		file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			t.Cleanup(func() { _ = file.Close() })
		}
		return err == nil
	}
}

// fullPipe is a pipe that nobody reads, and tells when nothing more goes into it.
func fullPipe(t *testing.T) (in *os.File, full func() bool) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	size, err := unix.FcntlInt(r.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return w, func() bool {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		return err == nil && n >= size
	}
}

// Whatever a program waits for, a signal ends it within seconds.
func TestSignalEndsWhateverBlocks(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("blocked", time.Hour))
	// hangs leads to an API server that does not answer some requests.
	hangs := func(t *testing.T, which func(r *http.Request) bool) (kubeconfig string, asked func() bool) {
		var n atomic.Int32
		kubeconfig = b.proxied(t, 0, func(_ http.ResponseWriter, r *http.Request) bool {
			if !which(r) {
				return false
			}
			n.Add(1)
			hang(r)
			return true
		})
		return kubeconfig, func() bool { return n.Load() > 0 }
	}
	for name, prepare := range map[string]func(t *testing.T) (cmd *exec.Cmd, ready func() bool){
		"the log is a pipe": func(t *testing.T) (*exec.Cmd, func() bool) {
			kubeconfig, asked := hangs(t, func(*http.Request) bool { return true })
			cmd := through(kubeconfig, b.command(t, "get"))
			state := t.TempDir()
			if err := os.Mkdir(filepath.Join(state, "veltui"), 0o700); err != nil {
				t.Fatal(err)
			}
			fifo(t, filepath.Join(state, "veltui", "veltui.log"))
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
			return cmd, asked
		},
		"nobody reads standard output": func(t *testing.T) (*exec.Cmd, func() bool) {
			cmd := b.command(t, "completion", "bash")
			out, full := fullPipe(t)
			cmd.Stdout = out
			return cmd, full
		},
		"nobody reads standard error": func(t *testing.T) (*exec.Cmd, func() bool) {
			kubeconfig := filepath.Join(t.TempDir(), "loud")
			plugin(t, kubeconfig, "yes >&2")
			cmd := through(kubeconfig, b.command(t, "get"))
			errs, full := fullPipe(t)
			cmd.Stderr = errs
			return cmd, full
		},
		"a credential plugin hangs": func(t *testing.T) (*exec.Cmd, func() bool) {
			kubeconfig, began := filepath.Join(t.TempDir(), "hanging"), filepath.Join(t.TempDir(), "began")
			plugin(t, kubeconfig, "echo $$ > "+began+"; exec sleep 600")
			return through(kubeconfig, b.command(t, "get")), func() bool {
				text, err := os.ReadFile(began)
				pid, notYet := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil || notYet != nil {
					return false
				}
				t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
				return true
			}
		},
		"the kubeconfig is a pipe": func(t *testing.T) (*exec.Cmd, func() bool) {
			path := fifo(t, filepath.Join(t.TempDir(), "kubeconfig"))
			return through(path, b.command(t, "get")), isRead(t, path)
		},
		"the restore is a pipe": func(t *testing.T) (*exec.Cmd, func() bool) {
			path := fifo(t, filepath.Join(t.TempDir(), "restore.yaml"))
			return b.command(t, "preflight", "-f", path), isRead(t, path)
		},
		"a patch is not answered": func(t *testing.T) (*exec.Cmd, func() bool) {
			kubeconfig, asked := hangs(t, func(r *http.Request) bool { return r.Method == http.MethodPatch && !r.URL.Query().Has("dryRun") })
			return through(kubeconfig, b.command(t, "finalize", "restore/blocked", "--phase", "Failed", "--yes")), asked
		},
	} {
		signals := []syscall.Signal{syscall.SIGTERM}
		if strings.Contains(name, "error") {
			signals = append(signals, syscall.SIGQUIT) // which has more to print
		}
		for _, signal := range signals {
			t.Run(fmt.Sprint(name, " ", signal), func(t *testing.T) {
				t.Parallel()
				cmd, ready := prepare(t)
				endsBySignal(t, cmd, signal, ready)
			})
		}
	}
}

// The dashboard ends while its dialog waits for an answer.
func TestSignalEndsAHangingDialog(t *testing.T) {
	t.Parallel()
	b := control(t)
	b.quiet(t, inProgress("dialogue", time.Hour))
	var hanging atomic.Bool
	var asked atomic.Int32
	kubeconfig := b.proxied(t, 0, func(_ http.ResponseWriter, r *http.Request) bool {
		if !hanging.Load() {
			return false
		}
		asked.Add(1)
		hang(r)
		return true
	})
	cmd := through(kubeconfig, b.command(t, "-n", "velero"))
	c := startConsole(t, cmd, 120, 40)
	c.sees(t, "live", "dialogue")
	c.settles(t)
	hanging.Store(true)
	c.types(t, "/dialogue\rf")
	eventually(t, "the dialog asks", func() bool { return asked.Load() > 1 })
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.exits(t); code != 143 || time.Since(began) > maxEnd {
		t.Errorf("exit code %d after %s", code, time.Since(began))
	}
}

// plugin writes a kubeconfig whose credential plugin runs a script.
func plugin(t *testing.T, kubeconfig, script string) {
	t.Helper()
	text := fmt.Sprintf(
		`{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: x, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: ["-c", %q]}}}]}`,
		script,
	)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a shell makes of <(...) and - is a pipe that somebody writes to.
func TestPipesThatAreMeant(t *testing.T) {
	b := control(t)
	b.create(t, restore("piped", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	const spec = "apiVersion: velero.io/v1\nkind: Restore\nmetadata: {name: r}\nspec: {backupName: nothing-like-it}\n"
	for script, want := range map[string]string{
		`KUBECONFIG=<(cat "$1") "$0" get restores`:                             "piped",
		`"$0" --kubeconfig <(cat "$1") get restores`:                           "piped",
		`printf '` + spec + `' | "$0" --kubeconfig "$1" preflight -f -`:        "nothing-like-it",
		`"$0" --kubeconfig "$1" preflight -f <(printf '` + spec + `')`:         "nothing-like-it",
		`printf '` + spec + `' | "$0" --kubeconfig <(cat "$1") preflight -f -`: "nothing-like-it",
	} {
		cmd := b.command(t)
		shell := exec.Command("bash", "-c", script, b.binary, b.Kubeconfig())
		shell.Env = cmd.Env
		if out, _ := shell.CombinedOutput(); !strings.Contains(string(out), want) ||
			strings.Contains(string(out), "regular file") {
			t.Errorf("%s:\n%s", script, out)
		}
	}
}

// An unsafe audit log refuses the write with what mends it, and nothing else.
func TestUnsafeAuditLogRefusesWritesOnly(t *testing.T) {
	b := control(t)
	for name, spoil := range map[string]func(dir, log string) error{
		"a pipe":               func(_, log string) error { return syscall.Mkfifo(log, 0o600) },
		"a link":               func(_, log string) error { return os.Symlink("../victim", log) },
		"a writable directory": func(dir, _ string) error { return os.Chmod(dir, 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			restored := "unsafe-" + strings.ReplaceAll(name, " ", "-")
			b.quiet(t, inProgress(restored, time.Hour))
			state := t.TempDir()
			dir := filepath.Join(state, "veltui", "finalize")
			if err := errors.Join(os.MkdirAll(dir, 0o700), spoil(dir, filepath.Join(dir, action.AuditLogFile))); err != nil {
				t.Fatal(err)
			}
			cmd := b.command(t, "finalize", "restore/"+restored, "--phase", "Failed", "--yes")
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
			var out bytes.Buffer
			if code := runs(
				t,
				cmd,
				&out,
			); code != ExitRefused || !holdsAll(out.String(), "cannot keep a safe audit log", dir, "run: ") ||
				b.restorePhase(t, restored) != "InProgress" {
				t.Errorf("exit code %d\n%s", code, out.String())
			}
			cmd = b.command(t, "report", "restore/"+restored, "--no-artifacts")
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
			if code := runs(t, cmd, &out); code != ExitOK {
				t.Errorf("report: exit code %d\n%s", code, out.String())
			}
		})
	}
}

// runs runs a program to its end, which must come.
func runs(t *testing.T, cmd *exec.Cmd, out *bytes.Buffer) int {
	t.Helper()
	out.Reset()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatalf("it does not end\n%s", out)
	}
	return cmd.ProcessState.ExitCode()
}

// An attempt whose process was killed is reported, with what became of it: once, as
// soon as that is known, and only by the cluster where it was made. A report has it
// although its beginning is lost.
func TestKilledAttemptIsReported(t *testing.T) {
	b := control(t)
	state := t.TempDir()
	log := filepath.Join(state, "veltui", "finalize", action.AuditLogFile)
	run := func(kubeconfig string, args ...string) string {
		t.Helper()
		cmd := through(kubeconfig, b.command(t, args...))
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
		var out bytes.Buffer
		runs(t, cmd, &out)
		return out.String()
	}
	// kill begins an attempt, and kills it once the log has some entry.
	kill := func(name, kubeconfig, entry string) {
		t.Helper()
		b.quiet(t, inProgress(name, time.Hour))
		cmd := through(
			kubeconfig,
			b.command(t, "finalize", "restore/"+name, "--phase", "Failed", "--yes", "--observe", "10m"),
		)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the log has "+entry, func() bool {
			data, _ := os.ReadFile(log)
			return strings.Contains(string(data), `"event":"`+entry+`"`)
		})
		if out := run(
			b.Kubeconfig(),
			"finalize",
			"restore/"+name,
			"--dry-run",
		); strings.Contains(
			out,
			"was not completed",
		) {
			t.Errorf("reported while it runs:\n%s", out)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	const unfinished = "to finalize restore/killed in context"

	refusing := b.proxied(t, 0, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") {
			return false
		}
		hang(r)
		return true
	})
	kill("killed", refusing, "send")
	if out := run(
		b.Kubeconfig(),
		"finalize",
		"restore/killed",
		"--dry-run",
	); !holdsAll(
		out,
		unfinished,
		"was not completed; its outcome is looked up when veltui is connected to https://",
	) {
		t.Errorf("on another cluster:\n%s", out)
	}
	for range 2 {
		if out := run(
			refusing,
			"finalize",
			"restore/killed",
			"--dry-run",
		); !holdsAll(
			out,
			unfinished,
			"was not completed: it is unknown whether it was applied. The Restore is InProgress now.",
		) {
			t.Errorf("untouched:\n%s", out)
		}
	}
	report := run(refusing, "report", "restore/killed", "--no-artifacts")
	if !holdsAll(report, "its end is not recorded, and it is unknown whether it was applied") {
		t.Errorf("%s", report)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}

	kill("landed", b.Kubeconfig(), "landed")
	if out := run(
		b.Kubeconfig(),
		"finalize",
		"restore/landed",
		"--dry-run",
	); !holdsAll(
		out,
		"to finalize restore/landed",
		"was not completed: it was applied.",
	) {
		t.Errorf("%s", out)
	}
	if out := run(
		b.Kubeconfig(),
		"finalize",
		"restore/landed",
		"--dry-run",
	); strings.Contains(
		out,
		"was not completed",
	) {
		t.Errorf("reported again:\n%s", out)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	_, withoutBegin, _ := strings.Cut(string(data), "\n")
	if err := os.WriteFile(log, []byte(`{"time":"2026-`+withoutBegin), 0o600); err != nil {
		t.Fatal(err)
	}
	report = run(b.Kubeconfig(), "report", "restore/landed", "--no-artifacts")
	if !holdsAll(
		report,
		"the entry of its beginning is lost",
		"looked up after veltui had ended: it was applied",
		"1 line damaged",
	) {
		t.Errorf("%s", report)
	}
}

// The dashboard reports it at its start, and once more on the terminal when it ends.
func TestDashboardReportsAttempts(t *testing.T) {
	b := control(t)
	b.create(t, restore("left", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	config, err := clientcmd.LoadFromFile(b.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "veltui", "finalize")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(
		`{"time":%q,"event":"begin","attempt":"x","context":"prod-east","cluster":%q,"action":"finalize","kind":"Restore","namespace":"velero","name":"left","uid":"u","machine":%q}`,
		time.Now().
			Format(time.RFC3339),
		config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server,
		machine,
	)
	if err := os.WriteFile(filepath.Join(dir, action.AuditLogFile), []byte(entry+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for times, reported := range []bool{true, false} {
		cmd := b.command(t, "-n", "velero")
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Dir(filepath.Dir(dir)))
		c := startConsole(t, cmd, 120, 40)
		c.sees(t, "live", "left")
		const sentence = "to finalize restore/left in context prod-east was not completed: nothing was"
		if reported {
			c.sees(t, sentence)
		}
		c.settles(t)
		c.types(t, "q")
		if code := c.exits(t); code != ExitOK {
			t.Errorf("exit code %d", code)
		}
		if _, after, left := strings.Cut(
			c.OutputText(),
			"\x1b[?1049l",
		); !left ||
			strings.Contains(after, sentence) != reported {
			t.Errorf("start %d, after its end: %q", times+1, after)
		}
	}
}
