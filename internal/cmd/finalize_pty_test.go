package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// gate stands between the dashboard and the API server: it sees every write,
// and can fail at the worst moment.
type gate struct {
	server *httptest.Server
	// onPatch is asked before a patch that is no dry run is passed on.
	onPatch func(w http.ResponseWriter, r *http.Request) (pass bool)
	// last is the connection after which all others are closed.
	last atomic.Value

	mu     sync.Mutex
	writes []string // method, path and query of what is neither a read nor a question
	bodies []string // of patches that are no dry run
}

// gateConn is where a request's context holds its connection.
type gateConn struct{}

// fall lets nobody in any more, and closes all connections when the present
// request has its answer.
func (g *gate) fall(r *http.Request) {
	_ = g.server.Listener.Close()
	g.last.Store(r.Context().Value(gateConn{}))
}

func openGate(t *testing.T, b *bed) *gate {
	t.Helper()
	proxy, err := testbed.NewProxy(b.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	g := &gate{}
	g.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.saw(t, r) && g.onPatch != nil && !g.onPatch(w, r) {
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	g.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, gateConn{}, c) }
	g.server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed && c == g.last.Load() {
			go g.server.CloseClientConnections()
		}
	}
	g.server.Start()
	t.Cleanup(func() { testbed.CloseServer(g.server) })
	return g
}

// saw notes a write, and reports whether it is a patch that is no dry run.
func (g *gate) saw(t *testing.T, r *http.Request) bool {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/authorization.k8s.io/") ||
		strings.Contains(r.URL.Path, "/authentication.k8s.io/") {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("reading a request: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	real := r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == ""
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes = append(g.writes, r.Method+" "+r.URL.Path+"?"+r.URL.Query().Get("dryRun"))
	if real {
		g.bodies = append(g.bodies, string(body))
	}
	return real
}

func (g *gate) seen() (writes, bodies []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, g.writes...), append([]string{}, g.bodies...)
}

// operator is the dashboard on a terminal, with a state folder that the test
// can read.
type operator struct {
	*console
	state string
}

func (b *bed) operate(t *testing.T, kubeconfig string, args ...string) *operator {
	t.Helper()
	o := &operator{state: t.TempDir()}
	cmd := exec.Command(
		b.binary,
		append([]string{"--kubeconfig", kubeconfig, "-n", "velero", "--no-artifacts"}, args...)...)
	cmd.Env = append(b.command(t).Env, "XDG_STATE_HOME="+o.state)
	o.console = startConsole(t, cmd, 80, 24)
	return o
}

// through is a kubeconfig that leads through the gate.
func (g *gate) through(t *testing.T, b *bed) string {
	t.Helper()
	path, err := b.KubeconfigFor(&rest.Config{Host: g.server.URL}, strings.ReplaceAll(t.Name(), "/", "-"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// opens the dialog on a restore and waits for its plan, and until it listens.
func (o *operator) opens(t *testing.T, name string) {
	t.Helper()
	o.sees(t, "live")
	o.types(t, "/"+name+"\r")
	o.sees(t, "/"+name[:min(5, len(name))], " of ")
	o.types(t, "f")
	o.sees(
		t,
		"Finalize restore velero/"+name,
		"Press enter to apply; you will be asked to type local/"+name,
		"enter type the name",
	)
}

func (o *operator) confirms(t *testing.T, name string) {
	t.Helper()
	o.types(t, "\r")
	o.sees(t, "and press enter:")
	o.types(t, "local/"+name+"\r")
}

// log reads the audit log; nil if there is none.
func (o *operator) log(t *testing.T) []action.AuditEntry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.state, "veltui", "finalize", action.AuditLogFile))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var entries []action.AuditEntry
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var e action.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		entries = append(entries, e)
	}
	return entries
}

func eventsOf(entries []action.AuditEntry) string {
	var words []string
	for _, e := range entries {
		words = append(words, e.Event)
	}
	return strings.Join(words, " ")
}

func TestFinalizeByKeyboard(t *testing.T) {
	b := control(t)
	r := inProgress("keyed", time.Hour) // no server runs
	b.quiet(t, r)
	g := openGate(t, b)
	o := b.operate(t, g.through(t, b))
	o.opens(t, "keyed")
	o.sees(t, "InProgress -> Failed", "No pod was recognised as a Velero server")
	o.types(t, "\r")
	o.sees(t, "Type local/keyed and press enter:")
	for _, wrong := range []string{"y", "keyed", "local/keye"} {
		o.types(t, wrong+"\r")
		o.sees(t, "That is not local/keyed, so nothing was done.", wrong)
		o.types(t, "\x15")
	}
	if writes, _ := g.seen(); len(writes) > 0 || b.restorePhase(t, "keyed") != "InProgress" {
		t.Fatalf("before it was confirmed: %q", writes)
	}
	o.types(t, "local/keyed\r")
	o.sees(t, "watch the result", "so far: Failed", "You can close this: veltui watches on")
	if phase := b.restorePhase(t, "keyed"); phase != "Failed" {
		t.Errorf("phase %s", phase)
	}
	o.types(t, "\x1b")
	o.sees(t, " of ", "q quit")
	o.types(t, "q")
	if code := o.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	o.checkRestored(t)
	after := o.OutputText()[strings.LastIndex(o.OutputText(), "\x1b[?1049l"):]
	if !holdsAll(
		after,
		"restore/keyed: InProgress -> Failed",
		"the patch was applied",
		"it was Failed when veltui stopped watching",
		"finalize.jsonl",
	) {
		t.Errorf("on the user's own terminal: %q", after)
	}
	writes, bodies := g.seen()
	if len(bodies) != 1 || !holdsAll(bodies[0], `"op":"test","path":"/metadata/uid","value":"`+string(r.UID)+`"`,
		`"op":"test","path":"/metadata/resourceVersion"`, `"op":"test","path":"/status/phase","value":"InProgress"`) {
		t.Errorf("patches sent: %q", bodies)
	}
	if len(writes) != 3 || !strings.HasSuffix(writes[0], "?All") || !strings.Contains(writes[2], "/events") {
		t.Errorf("want a dry run, a patch and an event: %q", writes)
	}
	if got := eventsOf(o.log(t)); got != "begin check send landed end" {
		t.Errorf("the log has %s", got)
	}
}

// What somebody else changes while the dialog is open is never written over.
func TestFinalizeByKeyboardMeetsAChange(t *testing.T) {
	b := control(t)
	r := inProgress("contended", time.Hour)
	b.quiet(t, r)
	g := openGate(t, b)
	o := b.operate(t, g.through(t, b))
	o.opens(t, "contended")
	// Velero's own write would keep a final phase from being written at all.
	r.Status.Progress.ItemsRestored = 8
	if err := b.client.Update(t.Context(), r, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	o.confirms(t, "contended")
	o.sees(
		t,
		"It changed in the meantime: nothing was written.",
		"It changed after the plan was shown",
		"enter see the new plan",
	)
	if _, bodies := g.seen(); len(bodies) > 0 {
		t.Errorf("patches sent: %q", bodies)
	}
	o.types(t, "\r")
	o.sees(t, "this is a new plan", "enter type the name")
	o.types(t, "\x1b[6~") // a page down
	o.sees(t, "8 of 9 items")
	o.types(t, "\x1b")
	eventually(t, "the dialog is closed", func() bool { return !strings.Contains(o.ScreenText(), "Finalize") })
	o.types(t, "q")
	if code := o.exits(t); code != ExitOK || b.restorePhase(t, "contended") != "InProgress" {
		t.Errorf("exit code %d, phase %s", code, b.restorePhase(t, "contended"))
	}
}

func TestReadOnlyDashboardFinalizesNothing(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("guarded", time.Hour))
	g := openGate(t, b)
	o := b.operate(t, g.through(t, b), "--read-only")
	o.sees(t, "live", "guarded")
	o.types(t, "/guarded\rf")
	o.sees(t, "f: read-only: nothing may be changed")
	o.types(t, "?/nothing may\r")
	o.sees(t, "not now: read-only: nothing may be changed")
	o.types(t, "q") // q in help goes back
	eventually(t, "help is closed", func() bool { return !strings.Contains(o.ScreenText(), "not now: read-only") })
	o.types(t, "q")
	o.exits(t)
	if writes, _ := g.seen(); len(writes) > 0 || b.restorePhase(t, "guarded") != "InProgress" {
		t.Errorf("a read-only dashboard wrote %q", writes)
	}
}

func TestDashboardWithoutTheRightToPatch(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("withheld", time.Hour))
	cfg, err := b.AddUserWithRules(
		t.Context(),
		"looker",
		"velero",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"*"},
			Verbs:     []string{"get", "list", "watch"},
		},
		rbacv1.PolicyRule{
			APIGroups: []string{""},
			Resources: []string{"pods"},
			Verbs:     []string{"get", "list", "watch"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(cfg, "looker")
	if err != nil {
		t.Fatal(err)
	}
	o := b.operate(t, kubeconfig)
	o.sees(t, "live", "withheld")
	o.types(t, "/withheld\r")
	eventually(t, "the rights are known", func() bool { return !strings.Contains(o.ScreenText(), " f finalize") })
	o.types(t, "?/may not patch\r")
	o.sees(t, "not now: you may not patch restores.velero.io")
	o.types(t, "q")
	o.sees(t, "/ filter")
	o.types(t, "f")
	o.sees(t, "f: you may not patch restores.velero.io in namespace velero", "docs/rbac.md")
	o.types(t, "q")
	o.exits(t)
	if phase := b.restorePhase(t, "withheld"); phase != "InProgress" {
		t.Errorf("phase %s", phase)
	}
}

// The API server dies when the patch is sent, and then the program is told to
// end, or its terminal goes away. Nothing is half done, and the log says what
// was sent.
func TestFinalizeEndsInMidRetry(t *testing.T) {
	b := control(t)
	for _, end := range []struct {
		name string
		do   func(t *testing.T, o *operator) error
		code int
		// lost is true if the patch's answer is lost, not refused.
		lost bool
		sent action.SentState
	}{
		{"SIGHUP", func(_ *testing.T, o *operator) error { return o.Cmd.Process.Signal(syscall.SIGHUP) }, 129, false, action.NotSent},
		{"SIGTERM", func(_ *testing.T, o *operator) error { return o.Cmd.Process.Signal(syscall.SIGTERM) }, 143, true, action.Doubtful},
		{"terminal", func(_ *testing.T, o *operator) error { return o.TTY().Close() }, -1, false, action.NotSent},
		{"ctrl+c", func(t *testing.T, o *operator) error { o.types(t, "\x03"); return nil }, ExitInterrupted, true, action.Doubtful},
		{"q", func(t *testing.T, o *operator) error {
			o.types(t, "q")
			o.sees(t, "q again stops it and quits")
			o.types(t, "q")
			return nil
		}, ExitOK, false, action.NotSent},
	} {
		t.Run(end.name, func(t *testing.T) {
			if end.name == "SIGHUP" || end.name == "ctrl+c" { // as SIGTERM and q
				testbed.RequireMore(t)
			}
			name := "torn-" + strings.ReplaceAll(strings.ToLower(end.name), "+", "-")
			r := inProgress(name, time.Hour)
			b.quiet(t, r)
			g := openGate(t, b)
			var once sync.Once
			g.onPatch = func(w http.ResponseWriter, r *http.Request) bool {
				once.Do(func() {
					if err := b.KillAPIServer(); err != nil {
						t.Error(err)
					}
					g.fall(r)
				})
				if end.lost {
					panic(http.ErrAbortHandler)
				}
				refuse(w)
				return false
			}
			dead := true
			revive := func() {
				if dead {
					dead = false
					if err := b.StartAPIServer(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			defer revive()
			o := b.operate(t, g.through(t, b))
			o.opens(t, name)
			o.confirms(t, name)
			o.sees(t, "send it", "attempt ", "dial tcp", "left of the deadline")
			if err := end.do(t, o); err != nil {
				t.Fatal(err)
			}
			if code := o.exits(t); end.code >= 0 && code != end.code || end.code < 0 && code == ExitOK {
				t.Errorf(
					"exit code %d, want %d; last words: %q",
					code,
					end.code,
					o.OutputText()[max(len(o.OutputText())-600, 0):],
				)
			}
			if end.name != "terminal" {
				o.checkRestored(t)
				after := o.OutputText()[strings.LastIndex(o.OutputText(), "\x1b[?1049l"):]
				if !holdsAll(after, "restore/"+name+": InProgress -> Failed: unfinished", "finalize.jsonl") {
					t.Errorf("on the user's own terminal: %q", after)
				}
			}
			entries := o.log(t)
			if got := eventsOf(entries); got != "begin check send end" {
				t.Fatalf("the log has %s", got)
			}
			if last := entries[3]; last.Sent != end.sent || last.State != action.StateUnfinished || last.Error == "" {
				t.Errorf("the log ends with %+v", last)
			}
			revive()
			var now veleroapi.Restore
			if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(r), &now); err != nil {
				t.Fatal(err)
			}
			if now.ResourceVersion != r.ResourceVersion {
				t.Errorf("it was changed: phase %s, annotations %v", now.Status.Phase, now.Annotations)
			}
		})
	}
}

// A patch that hangs is in doubt: the program still ends in time, and says so.
func TestFinalizeEndsWhileTheAPIServerHangs(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("hung", time.Hour))
	g := openGate(t, b)
	var once sync.Once
	g.onPatch = func(http.ResponseWriter, *http.Request) bool {
		once.Do(func() {
			if err := b.PauseAPIServer(); err != nil {
				t.Error(err)
			}
		})
		return true
	}
	o := b.operate(t, g.through(t, b)) // or skips, and then nothing was paused
	defer func() {
		if err := b.ResumeAPIServer(); err != nil {
			t.Error(err)
		}
	}()
	o.opens(t, "hung")
	o.confirms(t, "hung")
	o.sees(t, "send it", "attempt 1 is under way; no answer yet")
	if err := o.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := o.exits(t); code != 143 {
		t.Errorf("exit code %d", code)
	}
	o.checkRestored(t)
	after := o.OutputText()[strings.LastIndex(o.OutputText(), "\x1b[?1049l"):]
	if !holdsAll(after, "restore/hung: InProgress -> Failed: unfinished", "unknown whether it was applied") {
		t.Errorf("on the user's own terminal: %q", after)
	}
	entries := o.log(t)
	if len(entries) != 4 || entries[3].Sent != action.Doubtful {
		t.Errorf("the log has %s: %+v", eventsOf(entries), entries)
	}
}

// refuse answers as an API server that is too busy: nothing was carried out.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprint(
		w,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too busy","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":1}}`,
	)
}
