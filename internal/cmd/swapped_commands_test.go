package cmd

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// revoke has a front refuse the token with which it was asked so far: from the nth
// request on, which is when then is called, or at once if n is 0.
func (f *front) revoke(token string, n int64, then func()) {
	var count atomic.Int64
	var revoked atomic.Bool
	if n == 0 {
		then()
		revoked.Store(true)
	}
	hook := func(w http.ResponseWriter, r *http.Request) bool {
		if count.Add(1) == n {
			then()
			revoked.Store(true)
		}
		if !revoked.Load() || strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != token {
			return false
		}
		unauthorized(w)
		return true
	}
	f.answer.Store(&hook)
}

// Commands that go on until they are ended say so, and end, when their context leads to
// another cluster while their credentials are renewed.
func TestFollowersOfASwappedCluster(t *testing.T) {
	w := startTwins(t)
	r := w.restore(t)
	w.a.veleroPod(t, time.Now()) // which has logs
	subject, logged := "restore/"+r.Name, time.Now().UTC().Format(time.RFC3339)
	for _, c := range []struct {
		args []string
		sees string
	}{
		{[]string{"get", "-w", subject}, r.Name},
		{[]string{"get", "-w", subject, "-o", "json"}, r.Name},
		{[]string{"wait", subject}, r.Name},
		{[]string{"wait", subject, "--for", "delete"}, r.Name},
		{[]string{"wait", "restore/not-there", "--wait-for-creation"}, "not-there"},
		{[]string{"logs", "-f", subject}, "restoring"},
		{[]string{"--plain"}, "active: "},
	} {
		for _, v := range w.swaps() {
			t.Run(strings.Join(c.args, " ")+"/"+v.name, func(t *testing.T) {
				if v.others {
					w.otherUID(t)
				}
				a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
				logging := func(answer http.ResponseWriter, request *http.Request) bool {
					if !strings.HasSuffix(request.URL.Path, "/log") {
						return false
					}
					fmt.Fprintf(
						answer,
						"%s time=%q level=info msg=restoring restore=velero/%s\n",
						logged,
						logged,
						r.Name,
					)
					if request.URL.Query().Get("follow") == "true" {
						_ = http.NewResponseController(answer).Flush()
						<-request.Context().Done()
					}
					return true
				}
				a.answer.Store(&logging)
				k := newKubeconfig(t, a, "jane@a")
				cmd, _ := k.command(t, w, c.args...)
				path := filepath.Join(t.TempDir(), "output")
				output, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				defer output.Close()
				cmd.Stdout, cmd.Stderr = output, output
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				defer func() { _ = cmd.Process.Kill() }()
				read := func() string { text, _ := os.ReadFile(path); return string(text) }
				eventually(t, "it shows the first cluster", func() bool {
					if strings.Contains(read(), c.sees) {
						return true
					}
					select {
					case err := <-ended:
						t.Fatalf("it ended: %v\n%s", err, read())
					default:
					}
					return false
				})
				a.revoke("jane@a", 0, func() { v.lead(t, k, a, b) })
				if v.others {
					k.lead(t, a, "jane@a#2")
				}
				a.server.CloseClientConnections() // a watch that was allowed goes on
				select {
				case err := <-ended:
					if code := exitOf(err); code != ExitError || !strings.Contains(read(), movedSentence) {
						t.Errorf("exit code %d\n%s", code, read())
					}
				case <-time.After(patience):
					t.Fatalf("it goes on:\n%s", read())
				}
				w.checkSeparate(t, map[string]*front{"a": a, "b": b})
			})
		}
	}
}

// Commands that read in several steps say so when their context leads to another
// cluster while their credentials are renewed, and nothing of that one is mixed in.
func TestReadersOfASwappedCluster(t *testing.T) {
	w := startTwins(t)
	r := w.restore(t)
	subject := "restore/" + r.Name
	for _, args := range [][]string{
		{"get"}, {"get", subject, "-o", "wide"}, {"explain", subject}, {"describe", subject}, {"report", subject},
		{"finalize", subject, "--dry-run=server"}, {"results", subject}, {"logs", subject}, {"verify", subject}, {"etcd"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			a := newFront(t, "a", w.a)
			k := newKubeconfig(t, a, "jane@a")
			k.run(t, w, args...)
			whole := int64(len(a.seen()))
			for _, n := range []int64{1, whole/2 + 1, whole} {
				a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
				k := newKubeconfig(t, a, "jane@a")
				a.revoke("jane@a", n, func() { k.lead(t, b, "jane@b") })
				s := k.run(t, w, args...)
				if s.code == ExitOK || !strings.Contains(s.stderr+s.stdout, movedSentence) {
					t.Errorf(
						"at request %d of %d, which is %s: exit code %d\n%s\n%s",
						n,
						whole,
						a.seen()[min(int(n), len(a.seen()))-1],
						s.code,
						s.stdout,
						s.stderr,
					)
				}
				if asked := b.seen(); len(asked) > 0 {
					t.Errorf("the second server was asked %s", asked)
				}
			}
		})
	}
}
