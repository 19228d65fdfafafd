package cmd

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/testbed"
)

const (
	// maxOwnMemory is what a command needs without any bomb.
	maxOwnMemory = 60 << 20
	// maxBombCost is how much more memory a gigabyte in one answer may cost.
	maxBombCost = 40 << 20
)

// A bomb is a gigabyte after decompression, and begins as an honest answer does.
type bomb struct {
	name, start, again string
}

var (
	longText = bomb{
		"one long text",
		`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"`,
		"A",
	}
	sameObject = bomb{
		"the same object",
		`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a","namespace":"velero","uid":"u"}}`,
		`,{"metadata":{"name":"a","namespace":"velero","uid":"u"}}`,
	}
)

// packed is the bomb in gzip.
func (b bomb) packed(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, b.start)
	chunk := strings.Repeat(b.again, 1<<20/len(b.again))
	for written := 0; written < 1<<30; written += len(chunk) {
		_, _ = io.WriteString(w, chunk)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bomber stands between veltui and the API server.
type bomber struct {
	kubeconfig string
	// code and target say what is answered with a bomb.
	mu     sync.Mutex
	code   int
	target *regexp.Regexp
	packed []byte
	// thrown counts the bombs that were read, or refused.
	thrown atomic.Int32
}

func (b *bed) bomber(t *testing.T) *bomber {
	t.Helper()
	proxy, err := testbed.NewProxy(b.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	p := &bomber{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		code, target, packed := p.code, p.target, p.packed
		p.mu.Unlock()
		if target == nil || !target.MatchString(r.Method+" "+r.URL.RequestURI()) {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(code)
		_, _ = w.Write(packed)
		p.thrown.Add(1)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { testbed.CloseServer(server) })
	if p.kubeconfig, err = b.KubeconfigFor(testbed.ServerConfig(server), "bomber"); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *bomber) arm(code int, target string, packed []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code, p.target, p.packed = code, regexp.MustCompile(target), packed
	p.thrown.Store(0)
}

// TestBombsCostLittle answers each kind of request with a gigabyte in gzip, and runs
// the commands that make it.
func TestBombsCostLittle(t *testing.T) {
	skipUnderRace(t)
	if runtime.GOOS != "linux" {
		t.Skip("the most memory that a process had is read from /proc")
	}
	b := control(t)
	b.prey(t)
	p := b.bomber(t)
	preflight := []string{"preflight", "backup/prey-run", "--compare"}
	finalize, dashboard := []string{"finalize", "restore/prey", "--dry-run"}, []string{}
	shots := []struct {
		what string
		bomb bomb
		code int
		at   string
		args [][]string
	}{
		{
			"everything",
			sameObject,
			200,
			`.`,
			[][]string{{"get"}, finalize, {"describe", "restore/prey"}, preflight, dashboard},
		},
		{"everything", longText, 200, `.`, [][]string{{"get"}, {"describe", "restore/prey"}, dashboard}},
		{"errors", longText, 500, `.`, [][]string{{"get"}, dashboard}},
		{"missing", sameObject, 404, `^GET /api`, [][]string{{"get"}}},
		{"one object", longText, 200, `/(restores|backups)/`, [][]string{{"describe", "restore/prey"}}},
		{
			"lists of jobs",
			sameObject,
			200,
			`^GET .*/(restores|backups)(\?|$)`,
			[][]string{{"get", "backups", "-o", "json"}},
		},
		{"pods", sameObject, 200, `^GET /api/v1/.*pods`, [][]string{finalize}},
		{"access reviews", sameObject, 200, `selfsubject`, [][]string{finalize, dashboard}},
		{"watches", longText, 200, `watch=(1|true)`, [][]string{dashboard}},
		{"namespaces", sameObject, 200, `/namespaces(/|\?|$)`, [][]string{finalize}},
	}
	if !testbed.WantsMore() {
		shots = shots[:1]
		shots[0].args = [][]string{{"get"}, dashboard}
	}
	packed := map[string][]byte{}
	for _, s := range shots {
		if packed[s.bomb.name] == nil {
			packed[s.bomb.name] = s.bomb.packed(t)
		}
		for _, args := range s.args {
			t.Run(fmt.Sprint(s.bomb.name, " in ", s.what, " ", args), func(t *testing.T) {
				p.arm(s.code, s.at, packed[s.bomb.name])
				cmd := through(p.kubeconfig, b.command(t, append(args, "-n", "velero", "--request-timeout", "5s")...))
				peak := p.peak(t, cmd, len(args) == 0)
				// A command may have ended before the handler of its bomb has.
				for end := time.Now().Add(time.Minute); p.thrown.Load() == 0 && time.Now().Before(end); {
					time.Sleep(10 * time.Millisecond)
				}
				thrown := p.thrown.Load()
				t.Logf("%d MB, %d bombs", peak>>20, thrown)
				if thrown == 0 || peak > maxOwnMemory+int64(thrown)*maxBombCost {
					t.Errorf("%d MB after %d bombs", peak>>20, thrown)
				}
			})
		}
	}
}

// peak runs a command and returns the most memory that it had. The dashboard is ended
// once it has met two bombs.
func (p *bomber) peak(t *testing.T, cmd *exec.Cmd, isDashboard bool) (most int64) {
	t.Helper()
	done := make(chan struct{})
	if isDashboard {
		c := startConsole(t, cmd, 120, 40)
		defer func() {
			_ = c.Cmd.Process.Kill()
			_ = c.Cmd.Wait()
		}()
	} else {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		most = max(most, residentPeak(cmd.Process.Pid))
		if isDashboard && p.thrown.Load() >= 2 {
			return most
		}
		select {
		case <-done:
			return most
		case <-time.After(2 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	return most
}

// residentPeak is the most memory that a process has had, zero once it has ended. What
// wait reports for a process includes the memory of the one that started it.
func residentPeak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(peak)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10
}
