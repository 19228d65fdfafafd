package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// TestWhatIsCreated: what the flags and a file say is what is created, or a usage error; no cluster is asked.
func TestWhatIsCreated(t *testing.T) {
	b := control(t)
	file := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(
		file,
		[]byte(
			"apiVersion: velero.io/v1\nkind: Restore\nmetadata: {namespace: elsewhere}\nspec: {backupName: b, labelSelector: {matchLabels: {a: b}}}\n",
		),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	restore, backup := []string{
		"restore",
		"create",
		"--dry-run=client",
		"--from-backup=b",
	}, []string{
		"backup",
		"create",
		"--from-schedule=s",
		"--yes",
	}
	for _, c := range []struct {
		command, args []string
		code          int
		says          string // ! before what it does not
	}{
		{restore, []string{""}, ExitUsage, "at most 253 characters"},
		{restore, []string{"Shop"}, ExitUsage, `"Shop": a name has only lower-case letters`},
		{restore, []string{strings.Repeat("a", 254)}, ExitUsage, "at most 253 characters"},
		{restore, []string{"a", "b"}, ExitUsage, "expected at most one name"},
		{restore, []string{"shop.2", "-w"}, ExitOK, "name: shop.2"},
		{restore, []string{"-n", "velero"}, ExitOK, "namespace: velero"},
		{restore, []string{"-f", file}, ExitOK, "namespace: elsewhere"},
		{restore, []string{"-f", file, "-n", "elsewhere"}, ExitOK, "namespace: elsewhere"},
		{restore, []string{"-f", file, "-n", "velero"}, ExitUsage, "is for namespace elsewhere, not velero"},
		{restore, []string{"-f", file, "--or-selector", "c=d"}, ExitUsage, "either --selector or --or-selector"},
		{restore, []string{"--status-exclude-resources", "pods"}, ExitOK, "!restoreStatus"},
		{backup, []string{""}, ExitUsage, "at most 253 characters"},
		{backup, []string{"a_b"}, ExitUsage, `"a_b": a name has only lower-case letters`},
		{backup, []string{"a", "b"}, ExitUsage, "expected at most one name"},
	} {
		stdout, stderr, code := b.run(t, slices.Concat(c.command, c.args)...)
		without, not := strings.CutPrefix(c.says, "!")
		if code != c.code || strings.Contains(stdout+stderr, without) == not {
			t.Errorf("%q: exit code %d, said %q and %q", c.args, code, stdout, stderr)
		}
	}
}

// TestCreateAndWait prints one document, with what came of waiting in it.
func TestCreateAndWait(t *testing.T) {
	b := control(t)
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "waited-for"},
			Spec:       veleroapi.ScheduleSpec{Schedule: "@daily"},
		},
	)
	for output, name := range map[string]string{"json": "waited-json", "yaml": "waited-yaml"} {
		backup := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name}}
		t.Cleanup(func() { _ = b.client.Delete(context.Background(), backup) })
		go func() {
			for range time.Tick(50 * time.Millisecond) {
				if b.client.Get(t.Context(), client.ObjectKeyFromObject(backup), backup) == nil ||
					t.Context().Err() != nil {
					break
				}
			}
			backup.Status.Phase = veleroapi.BackupPhasePartiallyFailed
			_ = b.client.Update(t.Context(), backup)
		}()
		stdout, stderr, code := b.run(
			t,
			"backup",
			"create",
			name,
			"-n",
			"velero",
			"--from-schedule",
			"waited-for",
			"--yes",
			"-w",
			"-o",
			output,
		)
		if output == "yaml" {
			if strings.Count(stdout, "apiVersion: ") != 1 ||
				!holdsAll(stdout, "kind: Change", "wait:", "exitCode: 3") ||
				code != ExitPartiallyFailed {
				t.Errorf("exit code %d:\n%s\n%s", code, stdout, stderr)
			}
			continue
		}
		var d document.Change
		if err := json.Unmarshal(
			[]byte(stdout),
			&d,
		); err != nil || code != ExitPartiallyFailed || d.Kind != "Change" || d.Object.Kind != "backup" || d.Wait == nil || d.Wait.ExitCode != code ||
			d.Wait.Job == nil {
			t.Errorf("%v, exit code %d:\n%s\n%s", err, code, stdout, stderr)
		}
	}
}

// TestRestoreUnseen: what the look before could not see keeps --yes from starting a restore, as an obstacle does.
func TestRestoreUnseen(t *testing.T) {
	b := control(t)
	b.create(
		t,
		&veleroapi.BackupStorageLocation{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "unseen"},
			Spec: veleroapi.BackupStorageLocationSpec{
				Provider: "aws",
				StorageType: veleroapi.StorageType{
					ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"},
				},
			},
			Status: veleroapi.BackupStorageLocationStatus{Phase: veleroapi.BackupStorageLocationPhaseAvailable},
		},
	)
	b.create(
		t,
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "unseen"},
			Spec:       veleroapi.BackupSpec{StorageLocation: "unseen"},
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted},
		},
	)
	config, err := b.AddUserWithRules(
		t.Context(),
		"unseeing",
		"velero",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"*"},
			Verbs:     []string{"get", "list", "watch"},
		},
		rbacv1.PolicyRule{APIGroups: []string{"velero.io"}, Resources: []string{"restores"}, Verbs: []string{"create"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, "unseeing.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"restore",
		"create",
		"unseen-back",
		"-n",
		"velero",
		"--kubeconfig",
		kubeconfig,
		"--from-backup",
		"unseen",
		"--yes",
		"--observe",
		"1s",
	}
	for _, accept := range []string{"--accept-obstacles", "--accept-unchecked"} {
		if _, stderr, code := b.run(t, append(args, accept, "--dry-run=server")...); code != ExitOK {
			t.Errorf("%s: exit code %d: %s", accept, code, stderr)
		}
	}
	if stdout, _, code := b.run(
		t,
		args...); code != ExitRefused ||
		!holdsAll(stdout, "refused: veltui could not look at what is in the backup", "--accept-unchecked starts") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
	stdout, stderr, code := b.run(t, append(args, "-o", "json")...)
	var d document.Change
	if err := json.Unmarshal(
		[]byte(stdout),
		&d,
	); err != nil || code != ExitRefused || d.Outcome.State != "refused" || !strings.Contains(d.Outcome.Message, "could not look at") ||
		d.Preflight == nil {
		t.Errorf("%v, exit code %d:\n%s\n%s", err, code, stdout, stderr)
	}
	if err := b.client.Get(
		t.Context(),
		client.ObjectKey{Namespace: "velero", Name: "unseen-back"},
		&veleroapi.Restore{},
	); client.IgnoreNotFound(err) != nil ||
		err == nil {
		t.Errorf("it exists: %v", err)
	}
}

// TestCreateAfterALostAnswer: a second run without a name makes no second backup where the first may have made one.
func TestCreateAfterALostAnswer(t *testing.T) {
	t.Parallel()
	b := control(t)
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "lost"},
			Spec:       veleroapi.ScheduleSpec{Schedule: "@daily"},
		},
	)
	var losing atomic.Bool
	losing.Store(true)
	kubeconfig := b.proxied(t, 0, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/backups") || r.URL.Query().Has("dryRun") ||
			!losing.Load() {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	state := t.TempDir()
	run := func(args ...string) (d document.Change, code int, said string) {
		t.Helper()
		cmd := b.command(
			t,
			append(
				[]string{
					"backup",
					"create",
					"-n",
					"velero",
					"--kubeconfig",
					kubeconfig,
					"--from-schedule",
					"lost",
					"--yes",
					"--timeout",
					"3s",
					"--observe",
					"1s",
					"-o",
					"json",
				},
				args...)...)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		code = exitOf(cmd.Run())
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatalf("%v: %s\n%s", err, out.String(), errs.String())
		}
		return d, code, errs.String()
	}
	first, code, said := run()
	if first.Outcome.Sent != "in doubt" {
		t.Fatalf("exit code %d, %+v\n%s", code, first.Outcome, said)
	}
	losing.Store(false)
	if d, code, said := run(); code != ExitRefused ||
		!holdsAll(d.Outcome.Message, "an earlier attempt has created backup "+first.Object.Name+", or may have") ||
		!strings.Contains(d.Plan.Advice, "Give that NAME") {
		t.Errorf("exit code %d, %+v\n%s", code, d.Outcome, said)
	}
	made := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: first.Object.Name}}
	defer func() { _ = b.client.Delete(t.Context(), made) }()
	if d, code, said := run(first.Object.Name); d.Outcome.Sent != "landed" {
		t.Errorf("by its name: exit code %d, %+v\n%s", code, d.Outcome, said)
	}
	var all veleroapi.BackupList
	if err := b.client.List(
		t.Context(),
		&all,
		client.MatchingLabels{veleroapi.ScheduleNameLabel: "lost"},
	); err != nil ||
		len(all.Items) != 1 {
		t.Errorf("%v, %d backups", err, len(all.Items))
	}
}

// TestSelectionFromItsFile: -f reads what --dry-run=client prints of selected objects, and nothing else of two documents.
func TestSelectionFromItsFile(t *testing.T) {
	b := control(t)
	create := []string{"restore", "create", "--dry-run=client"}
	printed, stderr, code := b.run(
		t,
		slices.Concat(
			create,
			[]string{
				"r",
				"--from-backup=b",
				"--namespace-mappings",
				"shop:shop-2",
				"--only",
				"secrets/shop/db",
				"--only",
				"roles.rbac.authorization.k8s.io/shop/a:b c*",
			},
		)...)
	if code != ExitOK || !holdsAll(printed, "kind: ConfigMap", "kind: Restore", "name: veltui-r") {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, printed)
	}
	policy, restore, _ := strings.Cut(printed, "---\n")
	const wrong = "the ConfigMap is not that of the Restore's selection: name the objects with --only-from FILE"
	for name, c := range map[string]struct {
		file string
		args []string
		code int
		says string // empty for what was printed first
	}{
		"as it is":                {printed, nil, ExitOK, ""},
		"without the ConfigMap":   {restore, nil, ExitOK, ""},
		"the other way round":     {restore + "---\n" + policy, nil, ExitOK, ""},
		"another name":            {printed, []string{"r2"}, ExitOK, "name: veltui-r2"},
		"one object more":         {printed, []string{"--only", "pods/shop/p"}, ExitOK, `"pods"`},
		"another filter":          {printed, []string{"--include-resources", "pods"}, ExitUsage, "--include-resources: objects that are selected one by one have no other filter"},
		"a ConfigMap of another":  {strings.Replace(printed, "name: veltui-r", "name: other", 1), nil, ExitError, wrong},
		"a changed ConfigMap":     {strings.Replace(printed, `"db"`, `"other"`, 1), nil, ExitError, wrong},
		"a selection not told":    {strings.Replace(printed, "selection.veltui.io/items", "note", 1), nil, ExitError, wrong},
		"two ConfigMaps":          {policy + "---\n" + printed, nil, ExitError, "contains the ConfigMap of its selection more than once"},
		"a ConfigMap alone":       {policy, nil, ExitError, "contains no Restore"},
		"a Secret":                {strings.Replace(printed, "kind: ConfigMap", "kind: Secret", 1), nil, ExitError, `expected a Restore, found kind "Secret"`},
		"a Restore of no objects": {policy + "---\napiVersion: velero.io/v1\nkind: Restore\nmetadata: {name: r}\nspec: {backupName: b}\n", nil, ExitError, wrong},
	} {
		file := filepath.Join(t.TempDir(), "r.yaml")
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := b.run(t, slices.Concat(create, []string{"-f", file}, c.args)...)
		if code != c.code || c.says == "" && stdout != printed || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit code %d, said %s\n%s", name, code, stderr, stdout)
		}
	}
}
