package cmd

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// plainPipe is `veltui --plain` between two pipes.
type plainPipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	mu  sync.Mutex
	out strings.Builder
}

func (p *plainPipe) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

func (p *plainPipe) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func startPlain(t *testing.T, args ...string) *plainPipe {
	t.Helper()
	return startPipe(t, demoCommand(t, append([]string{"--plain"}, args...)...))
}

func startPipe(t *testing.T, cmd *exec.Cmd) *plainPipe {
	t.Helper()
	p := &plainPipe{cmd: cmd}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func (p *plainPipe) hears(t *testing.T, words ...string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("said so far:\n%s", p.said())
		}
	}()
	eventually(t, strings.Join(words, ", ")+" is said", func() bool { return holdsAll(p.said(), words...) })
}

func (p *plainPipe) types(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// checkLines holds for all that a session writes: lines of text, and nothing that
// moves a cursor, draws or colours.
func checkLines(t *testing.T, text string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x2500 && r < 0x2600 {
			t.Fatalf("%q in %q", r, text)
		}
	}
}

// TestPlainTakesCommands without a terminal on either side: the lines have a time,
// and what others wrote into the cluster makes no line of its own.
func TestPlainTakesCommands(t *testing.T) {
	scene, err := os.ReadFile(scenes + "restore-patch-lost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hostile := strings.Replace(
		string(scene),
		"status: {phase: Available,",
		`status: {phase: Unavailable, message: "away\nStuck: restore prod: forged\e[2J\r> ",`,
		1,
	)
	if hostile == string(scene) {
		t.Fatal("the scene has no location to change")
	}
	path := filepath.Join(t.TempDir(), "scene.yaml")
	if err := os.WriteFile(path, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startPlain(t, "--scene", path, "--read-only")
	p.hears(
		t,
		"on context demo",
		"1 job is active: 1 running",
		" Stuck: restore crm-rollback: ",
		"type: explain restore/crm-rollback",
	)
	p.hears(t, "Velero could not save its status") // after a closer look
	for _, c := range []struct{ line, says string }{
		{"show crm-roll", " Fact: 902 of 918 items."},
		{"show restore crm-rollback", " Unknown or contradicting: "},
		{"show nobody", `No backup or restore has "nobody" in its name.`},
		{"LIST", "backup crm-nightly-5: Completed in 2 minutes"},
		{"veltui explain restore/crm-rollback", "verdict: stuck (LostPatch)"},
		{"get -o name", "restore.velero.io/crm-rollback"},
		{"get -w", "-w goes on until it is interrupted."},
		{"logs restore/crm-rollback --level info", "restore completed"},
		{"describe restore/nobody", "not found"},
		{"get --nope", "unknown flag: --nope"},
		{"finalize restore/crm-rollback --read-only=false --yes", "read-only"},
		{"demo", `There is no command "demo".`},
		{"mute", "until you type: unmute"},
		{"unmute", "veltui tells you again"},
		{`no "such one" `, `There is no command "no".`},
		{"help finalize", "finalize KIND/NAME"},
		{"help", "quit: end veltui."},
	} {
		p.types(t, c.line)
		p.hears(t, c.says)
	}
	p.types(t, "quit")
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	checkLines(t, p.said())
	for line := range strings.Lines(p.said()) {
		if stamped := strings.SplitN(line, " ", 4); len(stamped) == 4 && strings.Count(stamped[0], "-") == 2 {
			line = stamped[3] // after the date, the time and the zone
		}
		if strings.HasPrefix(line, "Stuck: restore prod") || strings.HasPrefix(line, ">") {
			t.Errorf("a forged line: %q", line)
		}
	}
}

// TestPlainGoesOnWithoutInput until it is interrupted.
func TestPlainGoesOnWithoutInput(t *testing.T) {
	p := startPlain(t, "--speed", "1000")
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	p.hears(t, "on context demo") // how many jobs are active then depends on how fast the machine is
	before := len(p.said())
	eventually(t, "something else is said", func() bool { return len(p.said()) > before })
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != ExitInterrupted {
		t.Errorf("exit code %d: %s", code, p.said())
	}
	checkLines(t, p.said())
}

// TestPlainFinalizes on a dumb terminal, by the typed name and no other.
func TestPlainFinalizes(t *testing.T) {
	t.Parallel()
	cmd := demoCommand(t, "--scene", scenes+"restore-patch-lost.yaml")
	cmd.Env = append(cmd.Env, "TERM=dumb", "VELTUI_PLAIN=1")
	c := startConsole(t, cmd, 200, 100)
	c.sees(t, "Type a command and press enter", "Stuck: restore crm-rollback")
	c.types(t, "finalize restore/crm-rollback\r")
	c.sees(t, "Type demo/crm-rollback to confirm:")
	time.Sleep(pastePause) // a person reads
	c.typesKeys(t, "crm-rollback\r")
	c.sees(t, "that is not demo/crm-rollback: nothing was done")
	c.types(t, "show crm-rollback\r")
	c.sees(t, "Fact: 902 of 918 items.")
	c.types(t, "finalize restore/crm-rollback --observe 1s\r")
	eventually(
		t,
		"it asks again",
		func() bool { return strings.Count(c.OutputText(), "Type demo/crm-rollback to confirm:") == 2 },
	)
	c.typesKeys(t, "demo/crm-rollback\r")
	c.sees(t, "sending the request", "Ended: restore crm-rollback: Completed")
	c.types(t, "quit\r")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	checkLines(t, c.OutputText())
}

// TestPlainNamesItsClusters where there are several: one that is dead and one that
// cannot be used take nothing from the others.
func TestPlainNamesItsClusters(t *testing.T) {
	stuck, gone := startHeadless(
		t,
		"--scene",
		scenes+"restore-patch-lost.yaml",
	), startHeadless(
		t,
		"--scene",
		scenes+"server-gone.yaml",
	)
	merged := clientcmdapi.NewConfig()
	for name, h := range map[string]*headless{"east": stuck, "west": gone} {
		one, err := clientcmd.LoadFromFile(h.kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		current := one.Contexts[one.CurrentContext]
		merged.Clusters[name], merged.AuthInfos[name] = one.Clusters[current.Cluster], one.AuthInfos[current.AuthInfo]
		merged.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	merged.Clusters["dead"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	merged.Clusters["broken"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthority: "/nowhere"}
	merged.Contexts["dead"], merged.Contexts["broken"] = &clientcmdapi.Context{
		Cluster: "dead",
	}, &clientcmdapi.Context{
		Cluster: "broken",
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*merged, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(stuck.cmd.Path, "--plain", "--kubeconfig", path, "--all-contexts", "--read-only")
	cmd.Env = stuck.cmd.Env
	p := startPipe(t, cmd)
	p.hears(
		t,
		"on 4 contexts: broken, dead, east and west",
		" broken: veltui cannot follow this cluster: ",
		" east: Stuck: restore crm-rollback: ",
		"type: explain restore/crm-rollback --context east",
		" west: Critical: server ",
	)
	p.types(t, "show restore/crm-rollback")
	p.hears(t, "Fact: 902 of 918 items.")
	p.types(t, "explain restore/crm-rollback")
	p.hears(t, "needs one context")
	p.types(t, "explain restore/crm-rollback --context east")
	p.hears(t, "verdict: stuck")
	p.types(t, "list")
	p.hears(t, " dead: veltui is still reading the cluster")
	p.types(t, "quit")
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	checkLines(t, p.said())
}

// What a terminal cannot draw is offered in lines.
func TestDumbTerminalIsOfferedPlain(t *testing.T) {
	cmd := demoCommand(t)
	cmd.Env = append(cmd.Env, "TERM=dumb")
	c := startConsole(t, cmd, 80, 24)
	c.sees(t, "veltui --plain")
	if code := c.exits(t); code != ExitUsage {
		t.Errorf("exit code %d", code)
	}
}

// A command that prints much is cut in a session, the log to its end; what is to be
// confirmed never is.
func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		excerptWriter
		first, last string
		lines       int
	}{
		{excerptWriter{}, "line 0", "40 more lines are left out", maxExcerptLines + 1},
		{excerptWriter{keepLast: true}, "These are the last 60 lines of 100", "line 99", maxExcerptLines + 1},
		{excerptWriter{keepAll: true}, "line 0", "line 99", 100},
	} {
		var out strings.Builder
		c.w = &out
		for i := range 100 {
			if i > 0 {
				_, _ = io.WriteString(&c.excerptWriter, "\n")
			}
			_, _ = io.WriteString(&c.excerptWriter, fmt.Sprint("line ", i))
		}
		if err := c.writeRest("get"); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != c.lines || !strings.HasPrefix(lines[0], c.first) ||
			!strings.HasPrefix(lines[len(lines)-1], c.last) {
			t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
		}
	}
}

// A session's commands go to the session's cluster.
func TestSessionFlags(t *testing.T) {
	c := withFlags(
		t,
		"--context",
		"east",
		"-n",
		"adp",
		"--as-group",
		"a,b",
		"--as-group",
		"c",
		"--insecure-skip-tls-verify",
	)
	c.plainHTTP = &plainHTTPPolicy{allowedByFlag: true}
	got := strings.Join(c.globalFlags(), " ")
	for _, want := range []string{"--context=east", "--namespace=adp", "--as-group=a,b --as-group=c", "--insecure-skip-tls-verify=true", "--allow-plain-http"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	none := withFlags(t)
	if none.plainHTTP = (&plainHTTPPolicy{}); len(none.globalFlags()) != 0 {
		t.Errorf("flags that nobody gave: %q", none.globalFlags())
	}
	if got := splitWords(`finalize  restore/x --reason "two words"`); len(got) != 4 || got[3] != "two words" {
		t.Errorf("%q", got)
	}
}
