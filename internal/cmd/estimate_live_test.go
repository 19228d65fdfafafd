package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// dripping is a file after which blanks come without end.
const dripping = `{"v1/Pod":["a/b"`

// store stands for the object store and for the part of the Velero server that
// signs URLs: it holds one tarball for every backup, and files.
type store struct {
	url       string
	downloads atomic.Int32 // of any file
	contents  atomic.Int32 // of the backups' contents alone
	// files are other artifacts, by KIND/NAME of their target; set them before
	// the first download. One that is empty is not there.
	files map[string]string
	// tarballs are those of backups that do not hold the capture; set them first.
	tarballs map[string][]byte
	// hold, if set, is waited for in the middle of a download; held tells that
	// a download is there.
	hold, held chan struct{}
	// answer, if set, answers in place of all files.
	answer atomic.Pointer[http.HandlerFunc]
	// modified is when files were stored, by KIND/NAME, where the store says so.
	modified map[string]time.Time
}

// openStore serves the captured tarball, and signs URLs until the test ends.
func openStore(t *testing.T, b *bed) *store {
	t.Helper()
	tarball, err := os.ReadFile(captureTarball)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("signature") != "secret-signature" {
			http.Error(w, "not signed", http.StatusForbidden)
			return
		}
		s.downloads.Add(1)
		if answer := s.answer.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		if at, known := s.modified[r.URL.Query().Get("kind")+"/"+r.URL.Query().Get("name")]; known {
			w.Header().Set("Last-Modified", at.UTC().Format(http.TimeFormat))
		}
		if kind := r.URL.Query().Get("kind"); kind != string(veleroapi.DownloadTargetKindBackupContents) {
			if file := s.files[kind+"/"+r.URL.Query().Get("name")]; file != "" {
				_, _ = io.WriteString(w, file)
				for file == dripping && r.Context().Err() == nil {
					_, _ = io.WriteString(w, " ")
					_ = http.NewResponseController(w).Flush()
				}
			} else {
				http.Error(w, "no such key", http.StatusNotFound)
			}
			return
		}
		s.contents.Add(1)
		if own := s.tarballs[r.URL.Query().Get("name")]; own != nil {
			_, _ = w.Write(own)
			return
		}
		if s.hold == nil {
			_, _ = w.Write(tarball)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(tarball)))
		_, _ = w.Write(tarball[:len(tarball)/2])
		_ = http.NewResponseController(w).Flush()
		close(s.held)
		select {
		case <-s.hold:
			_, _ = w.Write(tarball[len(tarball)/2:])
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.sign(ctx, b)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

// sign answers download requests as Velero does.
func (s *store) sign(ctx context.Context, b *bed) {
	for ctx.Err() == nil {
		var list veleroapi.DownloadRequestList
		_ = b.client.List(ctx, &list)
		for _, d := range list.Items {
			if d.Status.Phase != "" {
				continue
			}
			before := d.DeepCopy()
			d.Status.Phase = veleroapi.DownloadRequestPhaseProcessed
			d.Status.DownloadURL = s.url + "/b/backups/" + d.Spec.Target.Name + ".tar.gz?signature=secret-signature&kind=" + string(
				d.Spec.Target.Kind,
			) + "&name=" + d.Spec.Target.Name
			d.Status.Expiration = &metav1.Time{Time: time.Now().Add(10 * time.Minute)}
			_ = b.client.Patch(ctx, &d, client.MergeFrom(before))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// stored makes a backup that the store holds.
func (s *store) stored(t *testing.T, b *bed, name string, phase veleroapi.BackupPhase) {
	t.Helper()
	b.create(t, &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "of-" + name},
		Status:     veleroapi.BackupStorageLocationStatus{Phase: veleroapi.BackupStorageLocationPhaseAvailable},
		Spec: veleroapi.BackupStorageLocationSpec{Provider: "aws", Config: map[string]string{"s3Url": s.url},
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}}},
	})
	b.create(t, &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
		Spec:       veleroapi.BackupSpec{StorageLocation: "of-" + name},
		Status:     veleroapi.BackupStatus{Phase: phase},
	})
}

// targetNamespaces makes the namespaces that the captures' target had. They
// stay: a namespace cannot be deleted where no controller runs.
func targetNamespaces(t *testing.T, b *bed, names ...string) {
	t.Helper()
	for _, name := range names {
		err := b.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

// aLaterSecond waits for one: time stamps of the cluster have no parts of one.
func aLaterSecond(t *testing.T) metav1.Time {
	t.Helper()
	later := metav1.NewTime(time.Now().Add(2 * time.Second).Truncate(time.Second))
	eventually(t, "the second has come", func() bool { return !time.Now().Before(later.Time) })
	return later
}

// estimates runs veltui estimate with one cache for several runs.
func (b *bed) estimates(t *testing.T, cache string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := b.command(t, append([]string{"estimate", "-n", "velero"}, args...)...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("running veltui: %v", err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestEstimateInCluster asks for every captured Restore on a real API server.
func TestEstimateInCluster(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-full", veleroapi.BackupPhaseCompleted)
	targetNamespaces(t, b, "shop", "billing", "media", "ops", "quota-r17")
	cache := t.TempDir()
	dirs, err := filepath.Glob(captures + "/restores/r*")
	if err != nil || len(dirs) < 9 {
		t.Fatalf("captures: %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		var expected struct {
			Phase      string
			TotalItems int
		}
		data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err == nil {
			err = json.Unmarshal(data, &expected)
		}
		if err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := b.estimates(
			t,
			cache,
			"-f",
			filepath.Join(dir, "restore.yaml"),
			"-o",
			"json",
			"--velero-version",
			"v1.18.3",
		)
		if strings.Contains(stdout+stderr, "secret-signature") {
			t.Errorf("the signed URL is told: %s%s", stdout, stderr)
		}
		if expected.Phase == "FailedValidation" {
			if code != ExitError || !strings.Contains(stderr, "Velero refuses this restore: ") {
				t.Errorf("%s: exit code %d, %s", dir, code, stderr)
			}
			continue
		}
		if code != ExitOK {
			t.Errorf("%s: exit code %d: %s", dir, code, stderr)
			continue
		}
		d := parseEstimate(t, stdout)
		if d.Items != expected.TotalItems || d.Partial || len(d.Assumptions) > 0 {
			t.Errorf(
				"%s: %d items, partial %v, assuming %q; Velero ended with %d",
				dir,
				d.Items,
				d.Partial,
				d.Assumptions,
				expected.TotalItems,
			)
		}
	}
	if n := s.contents.Load(); n != 1 {
		t.Errorf("%d downloads for one backup", n)
	}
	var left veleroapi.DownloadRequestList
	if err := b.client.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d download requests left, %v", len(left.Items), err)
	}
	files, err := filepath.Glob(filepath.Join(cache, "veltui", "indexes", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("in the cache: %q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", files[0], info.Mode(), err)
	}
	// Read-only, what is known already may be asked, and nothing else.
	if _, stderr, code := b.estimates(t, cache, "--read-only", "backup/b-full"); code != ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := b.estimates(
		t,
		t.TempDir(),
		"--read-only",
		"backup/b-full",
	); code != ExitError ||
		!strings.Contains(stderr, "read-only") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if n := s.contents.Load(); n != 1 {
		t.Errorf("%d downloads, though it was to be read-only", n)
	}
	// Flags ask another question of the same index; what was damaged meanwhile
	// is downloaded again.
	for _, want := range []int32{1, 2} {
		stdout, stderr, code := b.estimates(
			t,
			cache,
			"backup/b-full",
			"--include-namespaces",
			"shop",
			"--include-resources",
			"cm,secrets",
			"--namespace-mappings",
			"shop:new",
			"-o",
			"json",
		)
		if code != ExitOK || parseEstimate(t, stdout).Items != 952 || s.contents.Load() != want {
			t.Errorf("exit code %d, %d downloads: %s%s", code, s.contents.Load(), stdout, stderr)
		}
		if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEstimateOfRestore asks for restores that are there already: namespaces
// that they made must count, though they exist now.
func TestEstimateOfRestore(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-of-restore", veleroapi.BackupPhasePartiallyFailed)
	targetNamespaces(t, b, "there-before")
	began := aLaterSecond(t)
	targetNamespaces(t, b, "made-by-it")
	begin := func(name, target string, phase veleroapi.RestorePhase, total int) {
		b.create(t, &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
			Spec: veleroapi.RestoreSpec{
				BackupName:         "b-of-restore",
				IncludedNamespaces: []string{"shop"},
				IncludedResources:  []string{"configmaps", "secrets"},
				ExcludedResources: []string{
					"nodes",
					"events",
					"restores.velero.io",
				},
				NamespaceMapping: map[string]string{"shop": target},
			},
			Status: veleroapi.RestoreStatus{
				Phase:          phase,
				StartTimestamp: &began,
				Progress:       &veleroapi.RestoreProgress{TotalItems: total, ItemsRestored: total},
			},
		})
	}
	begin("made", "made-by-it", veleroapi.RestorePhaseInProgress, 1)
	begin("before", "there-before", veleroapi.RestorePhaseCompleted, 951)
	begin("other", "there-before", veleroapi.RestorePhaseCompleted, 940)
	cache := t.TempDir()
	for name, want := range map[string]int{"made": 952, "before": 951, "other": 951} {
		stdout, stderr, code := b.estimates(t, cache, "restore/"+name, "-o", "json")
		if code != ExitOK {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
			continue
		}
		d := parseEstimate(t, stdout)
		if told := strings.Contains(
			strings.Join(d.Assumptions, "\n"),
			"Velero counted 940 items; the estimate is",
		); d.Items != want ||
			told != (name == "other") {
			t.Errorf("%s: %d items, want %d, assuming %q", name, d.Items, want, d.Assumptions)
		}
	}
	if n := s.contents.Load(); n != 1 {
		t.Errorf("%d downloads for one backup", n)
	}
}

func TestEstimateLiveErrors(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-unready", veleroapi.BackupPhaseInProgress)
	s.stored(t, b, "b-waiting", veleroapi.BackupPhaseWaitingForPluginOperations)
	b.create(t, restore("of-nothing", veleroapi.RestoreStatus{}))
	b.create(t, restore("of-a-schedule", veleroapi.RestoreStatus{}))
	restoreFile := func(spec string) string {
		path := filepath.Join(t.TempDir(), "r.yaml")
		if err := os.WriteFile(
			path,
			[]byte("apiVersion: velero.io/v1\nkind: Restore\nspec: "+spec+"\n"),
			0o600,
		); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"backup/nowhere"}, ExitError, `backups.velero.io "nowhere"`},
		{[]string{"backup/b-unready"}, ExitError, "still InProgress"},
		{[]string{"backup/b-waiting"}, ExitError, "write its contents anew until it has ended"},
		{[]string{"restore/of-nothing"}, ExitError, "no backup b in namespace velero"},
		{[]string{"restore/of-nothing", "--include-namespaces", "a"}, ExitUsage, "its own filters"},
		{[]string{"restore/of-nothing", "-f", captures + "/restores/r2-resources/restore.yaml"}, ExitUsage, "its own filters"},
		{[]string{"backups"}, ExitUsage, "expected one"},
		{[]string{"backup/a", "backup/b"}, ExitUsage, "expected one"},
		{[]string{"-f", restoreFile("{includedNamespaces: [a]}")}, ExitUsage, "does not name a backup"},
		{[]string{"-f", restoreFile("{scheduleName: s}")}, ExitError, "There is no backup of a schedule s."},
		{[]string{"--from-schedule", "s"}, ExitError, "There is no backup of a schedule s."},
		{[]string{"--from-backup", "b-unready"}, ExitError, "still InProgress"},
		{[]string{"-f", restoreFile("{scheduleName: s}"), "--from-backup", "b-unready"}, ExitError, "still InProgress"},
		{[]string{"--from-backup", "a", "--from-schedule", "s"}, ExitUsage, "give one or the other"},
		{[]string{"backup/a", "--from-backup", "b"}, ExitUsage, "give one or the other"},
		{[]string{"backup/b-unready", "--cacert", "/nowhere.pem"}, ExitError, "nowhere.pem"},
	} {
		stdout, stderr, code := b.estimates(t, t.TempDir(), c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%q: exit code %d (want %d), %q, said %q (want %q)", c.args, code, c.code, stdout, stderr, c.want)
		}
	}
	if s.downloads.Load() > 0 {
		t.Error("something was downloaded")
	}
}

// TestEstimateWithFewRights has a viewer who may not download, and one who may
// but may not list namespaces.
func TestEstimateWithFewRights(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-rights", veleroapi.BackupPhaseCompleted)
	allow := func(user string, verbs map[string][]string) string {
		var rules []rbacv1.PolicyRule
		for resource, can := range verbs {
			rules = append(
				rules,
				rbacv1.PolicyRule{APIGroups: []string{"velero.io", ""}, Resources: []string{resource}, Verbs: can},
			)
		}
		config, err := b.AddUserWithRules(t.Context(), user, "velero", rules...)
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig, err := b.KubeconfigFor(config, user+".kubeconfig")
		if err != nil {
			t.Fatal(err)
		}
		return kubeconfig
	}
	see := []string{"get", "list", "watch"}
	viewer := allow("estimate-viewer", map[string][]string{"backups": see, "restores": see})
	_, stderr, code := b.estimates(t, t.TempDir(), "--kubeconfig", viewer, "backup/b-rights")
	if code != ExitError || !strings.Contains(stderr, "downloadrequests") || !strings.Contains(stderr, "forbidden") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	reader := allow(
		"estimate-reader",
		map[string][]string{"backups": see, "restores": see, "backupstoragelocations": see,
			"downloadrequests": {"get", "list", "watch", "create", "delete"}},
	)
	cache := t.TempDir()
	stdout, stderr, code := b.estimates(t, cache, "--kubeconfig", reader, "backup/b-rights", "-o", "json")
	if code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	assumed := strings.Join(parseEstimate(t, stdout).Assumptions, "\n")
	if !strings.Contains(assumed, "may not list the namespaces") || !strings.Contains(assumed, "counted as made") {
		t.Errorf("assuming %q", assumed)
	}
	stdout, _, _ = b.estimates(
		t,
		cache,
		"--kubeconfig",
		reader,
		"backup/b-rights",
		"-o",
		"json",
		"--existing-namespaces",
		"*",
		"--velero-version",
		"v1.18.3",
	)
	if assumed := parseEstimate(t, stdout).Assumptions; len(assumed) > 0 {
		t.Errorf("with the namespaces given it assumes %q", assumed)
	}
}

// TestEstimateInterrupted leaves in the middle of a download.
func TestEstimateInterrupted(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.hold, s.held = make(chan struct{}), make(chan struct{})
	defer close(s.hold)
	s.stored(t, b, "b-slow", veleroapi.BackupPhaseCompleted)
	cmd := b.command(t, "estimate", "-n", "velero", "backup/b-slow")
	c := startConsole(t, cmd, 80, 24)
	<-s.held
	c.sees(t, "downloading b-slow")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := c.exits(t); code != ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(c.ScreenText(), "Total") {
		t.Errorf("an interrupted estimate was printed:\n%s", c.ScreenText())
	}
	var left veleroapi.DownloadRequestList
	if err := b.client.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d download requests left, %v", len(left.Items), err)
	}
}
