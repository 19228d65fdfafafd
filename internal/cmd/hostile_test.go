package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// hostileTo is a kubeconfig that leads to the API server by way of one that
// poisons its answers.
func (b *bed) hostileTo(t *testing.T, h testbed.Hostility) string {
	t.Helper()
	server, err := b.StartHostileProxy(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	path, err := b.KubeconfigFor(server.RESTConfig(), "hostile-"+strings.ReplaceAll(t.Name(), "/", "-"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// prey are resources with text in every field that veltui shows.
func (b *bed) prey(t *testing.T) {
	t.Helper()
	now := metav1.Now()
	b.create(t, inProgress("prey", time.Hour))
	failed := restore(
		"prey-failed",
		veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhasePartiallyFailed,
			StartTimestamp:      &now,
			CompletionTimestamp: &now,
			FailureReason:       "why",
			ValidationErrors:    []string{"one", "two"},
		},
	)
	failed.Annotations = map[string]string{"note": "text"}
	failed.Spec.NamespaceMapping = map[string]string{"a": "b"}
	failed.Spec.IncludedNamespaces, failed.Spec.ExcludedResources = []string{"shop"}, []string{"pods"}
	b.create(t, failed)
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "prey-backup"},
		Spec: veleroapi.BackupSpec{
			StorageLocation:    "default",
			IncludedNamespaces: []string{"shop"},
			OrderedResources:   map[string]string{"pods": "a"},
		},
		Status: veleroapi.BackupStatus{
			Phase:          veleroapi.BackupPhaseWaitingForPluginOperations,
			StartTimestamp: &now,
			FormatVersion:  "1.1.0",
		},
	}
	b.create(t, backup)
	b.create(t, &veleroapi.DataUpload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "velero",
			Name:      "prey-upload",
			Labels: map[string]string{
				veleroapi.BackupUIDLabel:  string(backup.UID),
				veleroapi.BackupNameLabel: "prey-backup",
			},
		},
		Spec: veleroapi.DataUploadSpec{
			SourcePVC:             "data",
			SourceNamespace:       "shop",
			BackupStorageLocation: "default",
			DataMover:             "velero",
		},
		Status: veleroapi.DataUploadStatus{
			Phase:   veleroapi.DataUploadPhaseInProgress,
			Node:    "node-1",
			Message: "moving",
		},
	})
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "prey-schedule"},
			Spec:       veleroapi.ScheduleSpec{Schedule: "0 1 * * *"},
			Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled},
		},
	)
	b.create(
		t,
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "velero",
				Name:      "prey-run",
				Labels:    map[string]string{veleroapi.ScheduleNameLabel: "prey-schedule"},
			},
			Spec: veleroapi.BackupSpec{
				StorageLocation: "default",
			},
			Status: veleroapi.BackupStatus{
				Phase:          veleroapi.BackupPhaseFailed,
				StartTimestamp: &now,
				FailureReason:  "why",
			},
		},
	)
	b.create(t, &veleroapi.BackupRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "prey-repository"},
		Spec: veleroapi.BackupRepositorySpec{
			VolumeNamespace:       "shop",
			BackupStorageLocation: "default",
			RepositoryType:        "kopia",
			RepositoryConfig:      map[string]string{"a": "b"},
		},
		Status: veleroapi.BackupRepositoryStatus{
			Phase:   veleroapi.BackupRepositoryPhaseNotReady,
			Message: "why",
			RecentMaintenance: []veleroapi.BackupRepositoryMaintenanceStatus{
				{Result: veleroapi.BackupRepositoryMaintenanceFailed, StartTimestamp: &now, Message: "why"},
			},
		},
	})
	b.create(
		t,
		&veleroapi.DeleteBackupRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "prey-deletion"},
			Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: "prey-run"},
			Status: veleroapi.DeleteBackupRequestStatus{
				Phase:  veleroapi.DeleteBackupRequestPhaseProcessed,
				Errors: []string{"one", "two"},
			},
		},
	)
	b.veleroPod(t, now.Add(-2*time.Hour))
}

// hostilities are the ways in which the server is hostile.
func hostilities() map[string]testbed.Hostility {
	refusing := func(code int) testbed.Hostility {
		return testbed.Hostility{Refuse: func(*http.Request) int { return code }}
	}
	return map[string]testbed.Hostility{
		"texts":      {},
		"names":      {PoisonNames: true},
		"everything": {PoisonNames: true, PoisonEverything: true},
		"unauthorized": refusing(
			401,
		),
		"forbidden":    refusing(403),
		"invalid":      refusing(422),
		"failing":      refusing(500),
		"broken proxy": refusing(-502),
		"refusing patches": {Refuse: func(r *http.Request) int {
			if r.Method == http.MethodPatch {
				return 422
			}
			return 0
		}},
		"forbidding writes and pods": {Refuse: func(r *http.Request) int {
			if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/pods") {
				return 403
			}
			return 0
		}},
	}
}

var (
	// quickCommands are run against every hostility, and allCommands against
	// those that answer.
	quickCommands = [][]string{
		{
			"get",
		},
		{"get", "-o", "json"},
		{"check"},
		{"explain", "restore/prey"},
		{"explain", "backup/prey-backup", "-o", "json"},
		{
			"finalize",
			"restore/prey",
			"--dry-run",
		},
		{"finalize", "restore/prey", "--yes", "-o", "json", "--timeout", "2s", "--observe", "1s", "--phase", "Failed"},
		{
			"estimate",
			"backup/prey-backup",
		},
		{"results", "restore/prey"},
		{"logs", "restore/prey"},
		{"describe", "restore/prey-failed"},
		{"describe", "backup/prey-backup", "-o", "json"},
	}
	moreCommands = [][]string{
		{
			"check",
			"-o",
			"json",
		},
		{"check", "--nagios"},
		{"get", "-o", "wide"},
		{"get", "-o", "yaml"},
		{"get", "-o", "name"},
		{"get", "-o", "jsonpath={.items[*]}"},
		{"get", "restore/prey"},
		{
			"explain",
			"restore/prey-failed",
		},
		{"explain", "backup/prey-backup"},
		{"explain", "restore/prey", "-o", "yaml"},
		{"explain", "restore/prey", "--artifacts"},
		{
			"finalize",
			"backup/prey-backup",
			"--cancel-volumes",
			"--dry-run",
		},
		{"finalize", "backup/prey-backup", "--wake", "--dry-run", "-o", "yaml"},
		{
			"estimate",
			"restore/prey",
			"-o",
			"json",
		},
		{"results", "restore/prey", "-o", "json"},
		{"logs", "restore/prey", "-o", "json"},
		{"etcd"},
		{"version"},
		{"completion", "bash"},
		{"completion", "zsh"},
		{"get", "--help"},
	}
)

// jobCommands are all commands about a job, in each of their formats.
func jobCommands(restore string) (commands [][]string) {
	everyCommand(Root(), func(cmd *cobra.Command) {
		f := cmd.Flags().Lookup("output")
		if f == nil || !strings.Contains(cmd.Use, "/NAME") {
			return
		}
		args := append(strings.Fields(cmd.CommandPath())[1:], argsOf(cmd, restore)...)
		if cmd.Flags().Lookup("timeout") != nil {
			args = append(args, "--timeout", "2s")
		}
		for _, format := range f.Value.(choiceFlag).choices {
			commands = append(commands, append(slices.Clone(args), "-o", format))
		}
	})
	return commands
}

func TestHostileServerAndEveryCommand(t *testing.T) {
	b := control(t)
	b.prey(t)
	for name, h := range hostilities() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits for answers that do not come
			kubeconfig := b.hostileTo(t, h)
			commands, timeout := quickCommands, "3s"
			if name == "invalid" || name == "failing" || name == "broken proxy" {
				timeout = "1s" // all of it is waited each time
			}
			if name == "texts" || name == "names" {
				commands = slices.Concat(quickCommands, moreCommands)
			}
			if name == "texts" {
				commands = slices.Concat(commands, jobCommands("prey"))
			}
			for _, args := range commands {
				cmd := through(kubeconfig, b.command(t, append(args, "-n", "velero", "--request-timeout", timeout)...))
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				where := fmt.Sprintf("%s, %q", name, args)
				if exitOf(err) < 0 || strings.Contains(stderr.String(), "goroutine ") {
					t.Errorf("%s: %v\n%s", where, err, stderr.String())
				}
				checkPlain(t, where, stdout.String())
				checkPlain(t, where+" (messages)", stderr.String())
				checkMachine(t, where, args, stdout.Bytes())
			}
		})
	}
}

// checkMachine holds machine output to its format, and what a reader decodes
// from it to the same as what a terminal is shown.
func checkMachine(t *testing.T, where string, args []string, stdout []byte) {
	t.Helper()
	var document any
	var err error
	switch {
	case len(stdout) == 0:
		return
	case slices.Contains(args, "json"):
		err = json.Unmarshal(stdout, &document)
	case slices.Contains(args, "yaml"):
		err = yaml.Unmarshal(stdout, &document)
	}
	if err != nil {
		t.Errorf("%s: %v in\n%.2000q", where, err, stdout)
	}
	eachText(document, func(text string) { checkPlain(t, where+" (decoded)", text) })
}

func eachText(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			eachText(e, f)
		}
	case map[string]any:
		for k, e := range v {
			f(k)
			eachText(e, f)
		}
	}
}

// checkPlain holds text to what cannot steer, hide or shift anything on any
// terminal. It shares nothing with package sanitize.
func checkPlain(t *testing.T, where, text string) {
	t.Helper()
	if why := unsafeText(text, "\n\t"); why != "" {
		t.Errorf("%s: %s", where, why)
	}
}

func unsafeText(text, allowed string) string {
	if !utf8.ValidString(text) {
		return fmt.Sprintf("not UTF-8: %.300q", text)
	}
	marks := 0
	for i, r := range text {
		bad := false
		switch {
		case strings.ContainsRune(allowed, r):
		case r < 0x20, r >= 0x7f && r < 0xa0, !unicode.IsGraphic(r),
			unicode.In(r, unicode.Mc, unicode.Variation_Selector, unicode.Regional_Indicator, unicode.Other_Default_Ignorable_Code_Point),
			r >= 0x1100 && r <= 0x11ff, r == 0xff9e, r == 0x0e33, r >= 0x1f3fb && r <= 0x1f3ff:
			bad = true
		case unicode.In(r, unicode.Mn, unicode.Me):
			marks++
			bad = marks > 4
		default:
			marks = 0
		}
		if bad {
			return fmt.Sprintf("%U reaches the output: %.300q", r, text[max(0, i-40):])
		}
	}
	for line := range strings.Lines(text) {
		if clusters, runes := ansi.StringWidth(line), ansi.StringWidthWc(line); clusters != runes {
			return fmt.Sprintf("%d or %d cells: %.300q", clusters, runes, line)
		}
	}
	return ""
}

// get -w runs until it is told to stop.
func TestHostileServerAndAFollower(t *testing.T) {
	b := control(t)
	b.prey(t)
	for _, format := range []string{"table", "json"} {
		kubeconfig := b.hostileTo(t, testbed.Hostility{PoisonNames: format == "table"})
		c := startConsole(t, through(kubeconfig, b.command(t, "get", "-w", "-o", format, "-n", "velero")), 200, 50)
		c.sees(t, "prey")
		b.create(t, restore("prey-new-"+format, veleroapi.RestoreStatus{FailureReason: "x"}))
		c.sees(t, "prey-new")
		c.types(t, "\x03")
		c.exits(t)
		checkTerminal(t, "get -w -o "+format, c.OutputText())
	}
}

// The question and its evidence are drawn on a terminal.
func TestHostileServerAndTheQuestion(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("asked-prey", time.Hour))
	kubeconfig := b.hostileTo(t, testbed.Hostility{})
	c := startConsole(
		t,
		through(kubeconfig, b.command(t, "finalize", "restore/asked-prey", "--phase", "Failed", "-n", "velero")),
		200,
		100,
	)
	if code := c.answers(t, "no\n"); code != ExitError {
		t.Errorf("exit code %d", code)
	}
	checkTerminal(t, "finalize", c.OutputText())
}

// Every screen, with every key that opens one.
func TestHostileServerAndEveryScreen(t *testing.T) {
	b := control(t)
	b.prey(t)
	for name, h := range hostilities() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits until nothing more is drawn
			kubeconfig := b.hostileTo(t, h)
			cmd := through(kubeconfig, b.command(t, "-n", "velero"))
			c := startConsole(t, cmd, 100, 30)
			c.sees(t, "veltui", "quit")
			answers := h.Refuse == nil && !h.PoisonEverything || strings.HasPrefix(name, "refusing") ||
				strings.HasPrefix(name, "forbidding")
			if answers {
				c.sees(t, "prey", "live")
			}
			for i, keys := range []string{
				"\r", "1", "2", "3", "4", "5", "6", "7", "8", "e", "l", "v", "\x1b", // a job and its pages
				"f", "w", "d", "w", "\r", "x", "\x1b", "\x1b", // finalize
				"m", "j", "m", "f", "\x1b", "\x1b",
				"4", "\r", "/prey\r", "n", "\x1b", "\x1b", "5", "\r", "\x1b", "G", "\r", "G", "\x1b", // what is no job, and its pages
				"6", "\r", "G", "\x1b", "7", "\r", "\x1b",
				"2", "3", "4", "1", "/prey\r", "\x1b", "s", "?", "\x1b", "r",
				"\r", "8", "G", "\x1b", "\x0c",
			} {
				c.types(t, keys)
				c.settles(t)
				if answers && i == 5 {
					c.sees(t, "[5 ")
				}
			}
			if answers && !strings.Contains(c.OutputText(), "Finalize restore") {
				t.Errorf("the dialog never came:\n%s", c.ScreenText())
			}
			c.types(t, "\x03")
			c.settles(t)
			_, _ = c.TTY().WriteString("\x03") // the first may have joined an escape before it
			c.exits(t)
			checkTerminal(t, name, c.OutputText())
		})
	}
}

// settles waits until nothing was drawn for a moment.
func (c *console) settles(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for drawn, quiet := len(c.OutputText()), 0; quiet < 4; {
		if time.Now().After(deadline) {
			t.Fatalf("the screen does not settle:\n%s", c.ScreenText())
		}
		time.Sleep(30 * time.Millisecond)
		if now := len(c.OutputText()); now != drawn {
			drawn, quiet = now, 0
			continue
		}
		quiet++
	}
}

// Text of the kubeconfig, of flags and of files is cleaned too, and so is what a
// credential plugin says.
func TestHostileTextFromThisMachine(t *testing.T) {
	b := control(t)
	poison := "x\x1b]52;c;aGk=\x07\u009b31m\u202e\x1b[2J"
	plugin := filepath.Join(t.TempDir(), "plugin")
	config := b.RESTConfig()
	credential, err := json.Marshal(
		map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1",
			"kind":       "ExecCredential",
			"status": map[string]any{
				"clientCertificateData": string(config.CertData),
				"clientKeyData":         string(config.KeyData),
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '" + strings.NewReplacer("\x1b", `\033`, "\x07", `\007`).
		Replace(poison) +
		"please wait\\n' >&2\ncat <<'EOF'\n" + string(
		credential,
	) + "\nEOF\n"
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	name := fmt.Sprintf("%q", poison)
	name = strings.NewReplacer(`\u009b`, `\x9B`, `\u202e`, `\u202E`).Replace(name)
	ca, _ := json.Marshal(config.CAData)
	text := "apiVersion: v1\nkind: Config\ncurrent-context: " + name +
		"\ncontexts: [{name: " + name + ", context: {cluster: " + name + ", user: " + name + ", namespace: velero}}]\nclusters: [{name: " + name +
		", cluster: {server: " + config.Host + ", certificate-authority-data: " + string(ca) + "}}]\nusers: [{name: " + name +
		", user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: " + plugin + "}}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.create(t, inProgress("local-prey", time.Hour))
	for _, args := range [][]string{
		{"get"}, {"explain", "restore/local-prey"}, {"finalize", "restore/local-prey", "--dry-run"}, {"get", "--context", poison + "no"}, {"get", poison}, {"get", "restore/" + poison},
		{"explain", "restore/" + poison}, {"get", "--" + poison}, {poison}, {"get", "-o", poison}, {"get", "-n", poison}, {"estimate", "--tarball", "/" + poison},
		{"estimate", "backup/x", "-f", poison}, {"get", "--kubeconfig", poison}, {"finalize", "restore/local-prey", "--phase", poison, "--reason", poison, "--dry-run", "-o", "json"},
		{"finalize", "restore/local-prey", "--dry-run=" + poison}, {"get", "--server", "https://" + poison}, {"get", "--request-timeout", poison}, {"--theme", poison},
	} {
		cmd := through(kubeconfig, b.command(t, args...))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		checkPlain(t, fmt.Sprintf("%q", args), stdout.String())
		checkPlain(t, fmt.Sprintf("%q (messages)", args), stderr.String())
		if len(args) == 1 && args[0] == "get" &&
			(!strings.Contains(stderr.String(), "please wait") || !strings.Contains(stdout.String(), "local-prey")) {
			t.Errorf("the plugin says %q, get prints %q", stderr.String(), stdout.String())
		}
	}
	c := startConsole(t, through(kubeconfig, b.command(t)), 100, 30)
	c.sees(t, "live", "local-prey")
	c.types(t, "q")
	c.exits(t)
	checkTerminal(t, "the dashboard", c.OutputText())
}
