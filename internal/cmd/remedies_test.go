package cmd

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// readyToStart is a backup that left Velero's queue that long ago.
func (b *bed) readyToStart(t *testing.T, name string) {
	t.Helper()
	b.create(t, &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
		Status: veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseReadyToStart}})
}

// proxied is a kubeconfig that leads to the API server by way of a proxy. Times in
// what is read through it are that much earlier, so that what was made a moment ago
// has been quiet for that long, and answer may answer in place of the API server.
func (b *bed) proxied(t *testing.T, ahead time.Duration, answer func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	return b.proxiedAs(t, b.RESTConfig(), "proxied-"+strings.ReplaceAll(t.Name(), "/", "-"), ahead, answer)
}

// proxiedAs is [bed.proxied] for a user who is not the administrator, with the
// name of the kubeconfig's file.
func (b *bed) proxiedAs(
	t *testing.T,
	config *rest.Config,
	file string,
	ahead time.Duration,
	answer func(http.ResponseWriter, *http.Request) bool,
) string {
	t.Helper()
	proxy, err := testbed.NewPlainProxy(config)
	if err != nil {
		t.Fatal(err)
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		// The answer to a write has the time at which it is made.
		if ahead != 0 && r.Request.Method == http.MethodGet &&
			strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			r.Body = &agedBody{body: r.Body, lines: bufio.NewReader(r.Body), by: ahead}
			r.ContentLength = -1
			r.Header.Del("Content-Length")
		}
		return nil
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer == nil || !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { testbed.CloseServer(server) })
	path, err := b.KubeconfigFor(testbed.ServerConfig(server), file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// agedBody makes the times in an answer earlier, line by line.
type agedBody struct {
	body  io.Closer
	lines *bufio.Reader
	by    time.Duration
	left  []byte
}

var timeInJSON = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

func (a *agedBody) Read(p []byte) (int, error) {
	if len(a.left) == 0 {
		line, err := a.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		a.left = timeInJSON.ReplaceAllFunc(line, func(text []byte) []byte {
			at, err := time.Parse(time.RFC3339, string(text[1:len(text)-1]))
			if err != nil {
				return text
			}
			return at.Add(-a.by).AppendFormat(nil, `"`+time.RFC3339+`"`)
		})
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

func (a *agedBody) Close() error { return a.body.Close() }

// through makes a command use another kubeconfig.
func through(kubeconfig string, cmd *exec.Cmd) *exec.Cmd {
	for i, arg := range cmd.Args {
		if arg == "--kubeconfig" {
			cmd.Args[i+1] = kubeconfig
		}
	}
	return cmd
}

// A backup that Velero forgot in the moment of its start is woken, by one who
// is told how by explain.
func TestFinalizeWakes(t *testing.T) {
	b := control(t)
	b.readyToStart(t, "forgotten")
	b.veleroPod(t, time.Now().Add(10*time.Minute)) // half an hour ago, by the proxy's clock
	kubeconfig := b.proxied(t, 40*time.Minute, nil)

	stdout, err := through(kubeconfig, b.command(t, "explain", "backup/forgotten", "-o", "json")).Output()
	var e document.Explanation
	if json.Unmarshal(stdout, &e) != nil || len(e.Remedies) != 1 || e.Remedies[0].Action != "wake" ||
		!e.Remedies[0].Possible {
		t.Fatalf("%v\n%s", err, stdout)
	}
	stdout, _ = through(kubeconfig, b.command(t, "explain", "backup/forgotten")).Output()
	if !holdsAll(
		string(stdout),
		"option: wake it",
		"veltui finalize backup/forgotten --wake",
		" patch backups.velero.io forgotten --type=json ",
		"woken-by",
		"woken-at",
		"woken-reason",
		"woken-attempt",
	) {
		t.Errorf("explain says\n%s", stdout)
	}
	stdout, err = through(kubeconfig, b.command(t, "finalize", "backup/forgotten", "--yes")).Output()
	if exitOf(err) != ExitRefused || !holdsAll(string(stdout), "refused: it is ready to start", "option: wake it") {
		t.Errorf("%v\n%s", err, stdout)
	}
	stdout, err = through(
		kubeconfig,
		b.command(t, "finalize", "backup/forgotten", "--wake", "--yes", "--read-only"),
	).CombinedOutput()
	if exitOf(err) != ExitRefused || strings.Count(string(stdout), "read-only") != 1 {
		t.Errorf("%v\n%s", err, stdout)
	}
	stdout, err = through(
		kubeconfig,
		b.command(t, "finalize", "backup/forgotten", "--wake", "--dry-run=server", "-o", "json"),
	).Output()
	var d document.Finalization
	if err != nil || json.Unmarshal(stdout, &d) != nil || d.Asked != "wake" || d.Outcome.State != "checked" ||
		len(d.Remedies) != 1 {
		t.Errorf("%v\n%s", err, stdout)
	}
	stdout, err = through(
		kubeconfig,
		b.command(t, "finalize", "backup/forgotten", "--wake", "--yes", "--observe", "1s"),
	).Output()
	if exitOf(err) != ExitTimeout ||
		!holdsAll(string(stdout), "no effect: it is still ReadyToStart", "to do the same with kubectl:", "log: ") {
		t.Errorf("%v\n%s", err, stdout)
	}
	var forgotten veleroapi.Backup
	if err := b.client.Get(
		t.Context(),
		client.ObjectKey{Namespace: "velero", Name: "forgotten"},
		&forgotten,
	); err != nil {
		t.Fatal(err)
	}
	if forgotten.Annotations["veltui.io/woken-by"] == "" || forgotten.Status.Phase != veleroapi.BackupPhaseReadyToStart {
		t.Errorf("annotations %v, phase %s", forgotten.Annotations, forgotten.Status.Phase)
	}
}

// Where nothing speaks for it, nothing is done.
func TestFinalizeRefusesRemedies(t *testing.T) {
	b := control(t)
	b.readyToStart(t, "starting")
	b.veleroPod(t, time.Now().Add(-10*time.Minute))
	stdout, stderr, code := b.run(t, "finalize", "backup/starting", "--wake", "--yes")
	if code != ExitRefused || stderr != "" ||
		!holdsAll(
			stdout,
			"wake backup velero/starting",
			"refused: the evidence does not call for it",
			"phase ReadyToStart",
		) {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	stdout, _, code = b.run(t, "finalize", "backup/starting", "--cancel-volumes", "--yes", "-o", "json")
	var d document.Finalization
	if err := json.Unmarshal(
		[]byte(stdout),
		&d,
	); err != nil || code != ExitRefused || d.Asked != "cancel-volumes" || d.Outcome.State != "refused" ||
		d.Outcome.Message == "" {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
	for _, args := range [][]string{{"--wake", "--cancel-volumes"}, {"--wake", "--phase", "Failed"}, {"--cancel-volumes", "--phase", "Failed"}} {
		if _, stderr, code := b.run(
			t,
			append([]string{"finalize", "backup/starting", "--yes"}, args...)...); code != ExitUsage ||
			!holdsAll(stderr, "at most one") {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}

// A job that has ended although a volume of it goes on: explain says so, and how
// it could be cancelled, if anybody heard it.
func TestExplainEndedButMoving(t *testing.T) {
	b := control(t)
	failed := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "ended"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFailed},
	}
	b.create(t, failed)
	b.create(t, &veleroapi.DataUpload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "velero",
			Name:      "goes-on",
			Labels:    map[string]string{veleroapi.BackupUIDLabel: string(failed.UID)},
		},
		Status: veleroapi.DataUploadStatus{Phase: veleroapi.DataUploadPhaseInProgress},
	})
	kubeconfig := b.proxied(t, 40*time.Minute, nil)
	stdout, err := through(kubeconfig, b.command(t, "explain", "backup/ended")).Output()
	if exitOf(err) != ExitFailed ||
		!holdsAll(string(stdout), "option: cancel 1 data upload", "the backup has ended, but 1 of its volumes has not",
			"no node-agent is running to cancel them", "patch datauploads.velero.io goes-on --type=json") ||
		strings.Contains(string(stdout), "--cancel-volumes") {
		t.Errorf("%v\n%s", err, stdout)
	}
	stdout, err = through(kubeconfig, b.command(t, "explain", "backup/ended", "-o", "json")).Output()
	var e document.Explanation
	if json.Unmarshal(stdout, &e) != nil || e.Finalize != nil || len(e.Remedies) != 1 || e.Remedies[0].Possible ||
		strings.Join(e.Remedies[0].Volumes, " ") != "dataupload/goes-on" {
		t.Errorf("%v\n%s", err, stdout)
	}
}
