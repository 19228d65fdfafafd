package cmd

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/testbed"
)

// front stands in front of an API server, knows people by their tokens, and notes what
// they ask.
type front struct {
	server *httptest.Server
	// behind is the cluster that it leads to.
	behind  atomic.Pointer[bed]
	proxies map[*bed]*httputil.ReverseProxy
	// answer may answer in place of the API server.
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]

	mu    sync.Mutex
	asked []askedOf
}

// askedOf is one request, and which cluster it was for.
type askedOf struct {
	cluster       *bed
	token, method string
	url           url.URL
}

func (a askedOf) String() string { return a.method + " " + a.url.RequestURI() + " by " + a.token }

// writes reports whether a request changes the cluster, or would but for a dry run.
func (a askedOf) writes() bool {
	return a.method != http.MethodGet && !strings.Contains(a.url.Path, "/authorization.k8s.io/") &&
		!strings.Contains(a.url.Path, "/authentication.k8s.io/")
}

// newFront leads to a cluster. A token is the name of its user, an @ and the name of
// the front, and perhaps a number behind a #. All but [twinViewer] may do everything.
func newFront(t *testing.T, name string, behind *bed) *front {
	t.Helper()
	f := &front{proxies: map[*bed]*httputil.ReverseProxy{}}
	f.behind.Store(behind)
	for _, b := range []*bed{twinsOnce.a, twinsOnce.b} {
		f.proxies[b] = proxyTo(t, b)
	}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		f.mu.Lock()
		f.asked = append(f.asked, askedOf{cluster: f.behind.Load(), token: token, method: r.Method, url: *r.URL})
		f.mu.Unlock()
		switch answer := f.answer.Load(); {
		case !isFor(token, name):
			unauthorized(w)
		case answer != nil && (*answer)(w, r):
		default:
			f.pass(w, r)
		}
	}))
	f.server.EnableHTTP2 = true
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.server.StartTLS()
	t.Cleanup(func() { testbed.CloseServer(f.server) })
	return f
}

// isFor reports whether a token is for a front: jane@a, or jane@a#2.
func isFor(token, front string) bool {
	_, at, _ := strings.Cut(token, "@")
	at, _, _ = strings.Cut(at, "#")
	return at == front
}

// pass has the cluster behind it answer.
func (f *front) pass(w http.ResponseWriter, r *http.Request) {
	user, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "@")
	r.Header.Set("Impersonate-User", user)
	if user != twinViewer {
		r.Header.Set("Impersonate-Group", "system:masters")
	}
	f.proxies[f.behind.Load()].ServeHTTP(w, r)
}

// twinViewer may patch Velero's kinds and read what is in its namespace, and nothing
// about the cluster itself.
const twinViewer = "viewer"

func proxyTo(t *testing.T, b *bed) *httputil.ReverseProxy {
	t.Helper()
	proxy, err := testbed.NewProxy(b.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	return proxy
}

// once has a front answer the first request that is such a one in place of the API
// server. It returns a channel that is closed then.
func (f *front) once(is func(*http.Request) bool, answer http.HandlerFunc) <-chan struct{} {
	met := make(chan struct{})
	var once sync.Once
	var counting sync.Mutex // requests come side by side
	hook := func(w http.ResponseWriter, r *http.Request) (answered bool) {
		counting.Lock()
		isOne := is(r)
		counting.Unlock()
		if !isOne {
			return false
		}
		once.Do(func() { answer(w, r); answered = true; close(met) })
		return answered
	}
	f.answer.Store(&hook)
	return met
}

// seen is what was asked so far.
func (f *front) seen() []askedOf {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]askedOf{}, f.asked...)
}

// checkSeparate fails the test for what was written to the second cluster through the
// fronts, and for tokens that came to the wrong one.
func (w *twins) checkSeparate(t *testing.T, fronts map[string]*front) {
	t.Helper()
	for name, f := range fronts {
		for _, a := range f.seen() {
			if !isFor(a.token, name) {
				t.Errorf("a token went to the wrong server %s: %s", name, a)
			}
			if a.cluster == w.b && a.writes() {
				t.Errorf("the second cluster was written to: %s", a)
			}
		}
	}
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprint(
		w,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`,
	)
}

// kubeconfig is a file that can be replaced while veltui runs.
type kubeconfig struct{ path string }

func newKubeconfig(t *testing.T, f *front, token string) *kubeconfig {
	t.Helper()
	k := &kubeconfig{filepath.Join(t.TempDir(), "config")}
	k.lead(t, f, token)
	return k
}

// twinContext is the context's name, wherever it leads.
const twinContext = "prod-east"

// lead has the file lead to another server, or give other credentials, from one moment
// to the next. Extra is added to the certificates.
func (k *kubeconfig) lead(t *testing.T, f *front, token string, extra ...byte) {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
	c := clientcmdapi.NewConfig()
	c.Clusters[twinContext] = &clientcmdapi.Cluster{
		Server:                   f.server.URL,
		CertificateAuthorityData: append(ca, extra...),
	}
	c.AuthInfos[twinContext] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts[twinContext] = &clientcmdapi.Context{Cluster: twinContext, AuthInfo: twinContext, Namespace: "velero"}
	c.CurrentContext = twinContext
	if err := clientcmd.WriteToFile(*c, k.path+".new"); err != nil {
		t.Error(err) // perhaps in a goroutine of a server
		return
	}
	if err := os.Rename(k.path+".new", k.path); err != nil {
		t.Error(err)
	}
}

// said is how a command ended.
type said struct {
	stdout, stderr, state string
	code                  int
}

// run runs veltui with the kubeconfig to its end.
func (k *kubeconfig) run(t *testing.T, w *twins, args ...string) said {
	t.Helper()
	cmd, state := k.command(t, w, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("running veltui: %v", err)
	}
	return said{out.String(), errs.String(), state, cmd.ProcessState.ExitCode()}
}

// command is veltui with the kubeconfig, and its state folder.
func (k *kubeconfig) command(t *testing.T, w *twins, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd, state := through(k.path, w.a.command(t, args...)), t.TempDir()
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
	return cmd, state
}
