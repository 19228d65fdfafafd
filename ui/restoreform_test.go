package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// previewer answers as told, and keeps what it was asked and what was saved.
type previewer struct {
	answer cluster.Preview
	check  cluster.CheckResult
	asked  []restorespec.Draft
	ended  []error // why each question was given up; nil if it was not
	// checked and dropped are the same of looks at the cluster.
	checked []restorespec.Draft
	dropped []error
	// compared and cancelled are the same of comparisons, which end as told.
	compared    []restorespec.Draft
	cancelled   []error
	differs     cluster.CheckResult
	withSecrets []bool // of each dry run
	whyNot      error
	saved       map[string]string
}

func (p *previewer) PreviewRestore(ctx context.Context, d restorespec.Draft, _ *assess.Assessment) cluster.Preview {
	p.asked, p.ended = append(p.asked, d), append(p.ended, ctx.Err())
	return p.answer
}

func (p *previewer) CheckRestore(
	ctx context.Context,
	d restorespec.Draft,
	_ cluster.Preview,
	_ *assess.Assessment,
) cluster.CheckResult {
	p.checked, p.dropped = append(p.checked, d), append(p.dropped, ctx.Err())
	return p.check
}

func (p *previewer) CompareRestore(
	ctx context.Context,
	d restorespec.Draft,
	_ cluster.Preview,
	_ *assess.Assessment,
	far func(string),
) (cluster.CheckResult, error) {
	p.compared, p.cancelled = append(p.compared, d), append(p.cancelled, ctx.Err())
	far("12 of 40 MiB")
	return p.differs, p.whyNot
}

func (p *previewer) DryRunRestore(
	ctx context.Context,
	d restorespec.Draft,
	_ cluster.Preview,
	_ *assess.Assessment,
	secrets bool,
	far func(string),
) (cluster.CheckResult, error) {
	p.compared, p.cancelled, p.withSecrets = append(
		p.compared,
		d,
	), append(
		p.cancelled,
		ctx.Err(),
	), append(
		p.withSecrets,
		secrets,
	)
	far("12 of 1402")
	return p.differs, p.whyNot
}

func (p *previewer) SaveFile(name string, data []byte) (string, error) {
	if before, there := p.saved[name]; there && before != string(data) {
		return "", fmt.Errorf("/home/jane/%s %w", name, cluster.ErrFileExists)
	}
	p.saved[name] = string(data)
	return "/home/jane/" + name, nil
}

func shopPreview() cluster.Preview {
	counts := func(name string, n int, namespaces map[string]int) collector.ResourceCount {
		return collector.ResourceCount{Resource: name, Items: n, Namespaces: namespaces}
	}
	return cluster.Preview{
		Backup:   "nightly-shop",
		Duration: forecast.TimeEstimate{Likely: 42 * time.Second, Low: 31 * time.Second, High: 65 * time.Second},
		Estimate: collector.Estimate{Total: 1402, Resources: []collector.ResourceCount{
			counts(
				"namespaces",
				2,
				nil,
			),
			counts("persistentvolumeclaims", 40, map[string]int{"shop": 30, "billing": 10}),
			counts(
				"secrets",
				318,
				map[string]int{"shop": 300, "billing": 18},
			),
			counts("configmaps", 962, map[string]int{"shop": 900, "billing": 62}),
			counts("widgets.example.com", 80, map[string]int{"shop": 80}),
		}},
		Namespaces: []string{
			"billing",
			"shop",
			"shop-old",
		},
		Resources: []string{"configmaps", "secrets"},
		Labels:    []string{"app=db", "app=web"},
		Notes:     []string{"The time is for the items; data of volumes comes on top."},
	}
}

// form is the form of a restore of the only backup, with its first answer.
func form(t testing.TB, width, height int, p *previewer, change ...func(*Options)) *Model {
	t.Helper()
	p.saved = map[string]string{}
	change = append(change, func(o *Options) { fake(o).previewer = p })
	m := screen(
		t,
		snapshotOf(ended("nightly-shop", veleroapi.BackupPhaseCompleted, 402, time.Minute, 20*time.Minute, 0, 0)),
		width,
		height,
		change...)
	answered(m, press(t, m, keyOf(m, "preview")))
	return m
}

func keyOf(m *Model, action string) string { return m.options.Keys.FirstKey(action) }

// answered runs commands, and what follows from them, to their end.
func answered(m *Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			answered(m, c)
		}
	case keys.SaveAsMsg:
		m.Update(msg)
		_, next := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		answered(m, next)
	case fetch.Message:
		_, next := m.Update(msg)
		answered(m, next)
	}
}

func typeIn(t testing.TB, m *Model, text string) {
	t.Helper()
	var last tea.Cmd
	for _, r := range text {
		_, last = m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	answered(m, last)
}

func TestFormFrames(t *testing.T) {
	obstacles := cluster.CheckResult{Unchecked: []string{"events: you may not list them."}, Findings: []preflight.Finding{
		{
			Severity: preflight.Obstacle,
			Resource: "widgets.example.com",
			Sentence: "The cluster does not serve widgets.example.com (80 items).",
			Remedy:   "Install its CRD first.",
		},
		{Severity: preflight.Doubt, Resource: "secrets", Sentence: "14 secrets exist already: Velero skips them."},
	}}
	for name, c := range map[string]struct {
		answer cluster.Preview
		check  cluster.CheckResult
		types  string
		keys   []string
		change []func(*Options)
	}{
		"form":         {answer: shopPreview(), types: "shop, bil"},
		"form-found":   {answer: shopPreview(), check: obstacles},
		"form-zoomed":  {answer: shopPreview(), check: obstacles, keys: []string{"ctrl+p"}},
		"form-both":    {answer: shopPreview(), keys: []string{"up", "up"}, types: "nightly"},
		"form-wrong":   {answer: shopPreview(), keys: []string{"down", "down"}, types: "shop"},
		"form-unknown": {answer: cluster.Preview{ItemsUnchecked: "with --no-artifacts veltui does not read backups"}},
		"form-unread":  {answer: cluster.Preview{Backup: "nightly-shop", ItemsUnchecked: "backup nightly-shop is still InProgress; its contents are known once it has ended"}, check: cluster.CheckResult{Findings: []preflight.Finding{{Severity: preflight.Obstacle, Sentence: "Backup nightly-shop is still InProgress.", Remedy: "Wait until it has ended."}}, Unchecked: []string{"the cluster, because the items are not known"}}},
		"form-refused": {answer: cluster.Preview{Backup: "nightly-shop", RefusalReasons: []string{"The storage location default of backup nightly-shop is Unavailable."}}},
		"form-ascii":   {answer: shopPreview(), check: obstacles, change: []func(*Options){func(o *Options) { o.ASCII, o.NoColor = true, true }}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}} {
			if size[0] != 80 && size[0] != 120 && name != "form" {
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				m := form(t, size[0], size[1], &previewer{answer: c.answer, check: c.check}, c.change...)
				press(t, m, c.keys...)
				typeIn(t, m, c.types)
				frame := checkFrame(t, m)
				if i := strings.IndexFunc(
					ansi.Strip(frame),
					func(r rune) bool { return r > 126 },
				); name == "form-ascii" &&
					i >= 0 {
					t.Errorf("an ASCII frame holds %q", frame[i:])
				}
				golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), plain(frame))
			})
		}
	}
}

// Letters go into the fields, whatever they do elsewhere, and what was typed is
// what is asked about.
func TestFormTakesLetters(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	const all = "qRf?:yrhjk/xmes"
	typeIn(t, m, all)
	if got := p.asked[len(p.asked)-1].Restore.Spec.IncludedNamespaces; onTop(m) != "form" || m.isHelpOpen() ||
		m.commandLine.IsTyping() ||
		len(got) != 1 ||
		got[0] != all {
		t.Errorf("%s, namespaces %q", onTop(m), got)
	}
	press(t, m, "ctrl+u")
	m.Update(tea.PasteMsg{Content: "shop,\n billing\n"})
	answered(m, press(t, m, "backspace"))
	if got := p.asked[len(p.asked)-1].Restore.Spec.IncludedNamespaces; strings.Join(got, "|") != "shop|billin" {
		t.Errorf("pasted: %q", got)
	}
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "The backup has no namespace billin.") {
		t.Errorf("the wrong name is not doubted:\n%s", frame)
	}
	press(t, m, "f1")
	if !m.isHelpOpen() {
		t.Error("f1 opens no help")
	}
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "save YAML") ||
		strings.Contains(frame, "mark to finalize") {
		t.Errorf("help:\n%s", frame)
	}
}

func TestFormCompletes(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	typeIn(t, m, "bi")
	press(t, m, "tab")
	typeIn(t, m, ",sh")
	press(t, m, "tab") // shop and shop-old
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "shop  shop-old") ||
		strings.Contains(frame, "tab shop") {
		t.Errorf("tab goes on here:\n%s", frame)
	}
	press(t, m, "tab") // shop is whole: on
	press(t, m, "tab")
	typeIn(t, m, "bill")
	answered(m, press(t, m, "tab"))
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "billing,shop ") ||
		!strings.Contains(frame, `"billing:": `) && !strings.Contains(frame, "Namespace map   billing:") {
		t.Errorf("not completed:\n%s", frame)
	}
}

// The form ends in a command and a file, and what is wrong is in neither.
func TestFormCopiesAndSaves(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	typeIn(t, m, "shop")
	answered(m, press(t, m, "ctrl+s"))
	const name = "nightly-shop-20261120120000"
	want := "apiVersion: velero.io/v1\nkind: Restore\nmetadata:\n  name: " + name + "\n  namespace: velero\nspec:\n  backupName: nightly-shop\n  includedNamespaces:\n  - shop\n"
	if got := p.saved[restorespec.DefaultName("nightly-shop", noon)+".yaml"]; !strings.HasPrefix(got, want[:40]) ||
		!strings.HasSuffix(got, want[len(want)-40:]) {
		t.Errorf("saved %q, want %q", p.saved, want)
	}
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "Saved to") {
		t.Errorf("not said:\n%s", frame)
	}
	answered(m, press(t, m, "ctrl+s"))
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "Saved to") {
		t.Errorf("the same once more is not where it was saved:\n%s", frame)
	}
	typeIn(t, m, "-2")
	answered(m, press(t, m, "ctrl+s"))
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "exists already") {
		t.Errorf("replaced:\n%s", frame)
	}
	press(t, m, "backspace", "backspace")
	if cmd := press(t, m, "ctrl+y"); cmd == nil {
		t.Error("nothing is copied")
	}
	press(t, m, "down", "down")
	typeIn(t, m, "nonsense")
	press(t, m, "ctrl+y")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "correct Namespace map first") {
		t.Errorf("copied what is wrong:\n%s", frame)
	}
	press(t, m, "esc")
	if onTop(m) != "form" {
		t.Error("one esc loses what was typed")
	}
	press(t, m, "esc")
	if said := m.exitMessages(); onTop(m) != "dashboard" || len(said) != 1 ||
		!strings.Contains(said[0], "--include-namespaces=shop --kubecontext prod-east -n velero") {
		t.Errorf("%s, said %q", onTop(m), said)
	}
}

// One key gives the preview the whole screen, and one gives it back.
func TestFormZoomsThePreview(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 80, 24, p)
	typeIn(t, m, "shop")
	before := ansi.Strip(checkFrame(t, m))
	if strings.Contains(before, "widgets.example.com") {
		t.Fatalf("all of it is shown already:\n%s", before)
	}
	press(t, m, "ctrl+p")
	zoomed := ansi.Strip(checkFrame(t, m))
	if !strings.Contains(zoomed, "widgets.example.com") || !strings.Contains(zoomed, "--from-backup=nightly-shop") ||
		strings.Contains(zoomed, "Namespaces      shop") {
		t.Errorf("zoomed:\n%s", zoomed)
	}
	press(t, m, "down", "z")
	if frame := ansi.Strip(checkFrame(t, m)); strings.Contains(frame, "RESOURCE ") || strings.Contains(frame, "shopz") {
		t.Errorf("a line down:\n%s", frame)
	}
	if cmd := press(t, m, "y"); cmd == nil {
		t.Error("y does not copy the command")
	}
	press(t, m, "q")
	if frame := ansi.Strip(checkFrame(t, m)); onTop(m) != "form" || !strings.Contains(frame, "▸ Namespaces      shop") {
		t.Errorf("q, as in a pager, %s:\n%s", onTop(m), frame)
	}
	press(t, m, "ctrl+p", "esc")
	if frame := ansi.Strip(checkFrame(t, m)); onTop(m) != "form" || !strings.Contains(frame, "▸ Namespaces      shop") {
		t.Errorf("esc, %s:\n%s", onTop(m), frame)
	}
	press(t, m, "ctrl+p")
	checkFrame(t, m)
	m.Update(tea.PasteMsg{Content: "x"})
	press(t, m, "ctrl+p")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "▸ Namespaces      shop ") {
		t.Errorf("pasted into a field that is not shown:\n%s", frame)
	}
}

// A backup that changes while the form is open is asked about again.
func TestFormHearsOfItsBackup(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	asked := len(p.asked)
	answered(m, findScreen[*restoreFormScreen](m).FetchMissing())
	if len(p.asked) != asked {
		t.Fatal("asked again for nothing")
	}
	p.answer = cluster.Preview{
		RefusalReasons: []string{"There is no backup nightly-shop."},
		ItemsUnchecked: "there is no backup to look into",
	}
	findScreen[*restoreFormScreen](
		m,
	).SetAssessment(m.currentCluster.estimates.AssessSnapshot(snapshotOf(ended("another", veleroapi.BackupPhaseCompleted, 402, time.Minute, 20*time.Minute, 0, 0)), noon))
	answered(m, findScreen[*restoreFormScreen](m).FetchMissing())
	if frame := ansi.Strip(
		checkFrame(t, m),
	); len(p.asked) == asked ||
		!strings.Contains(frame, "There is no backup nightly-shop.") {
		t.Errorf("the backup is gone:\n%s", frame)
	}
}

// A restore whose name is taken is not checked. Once the name is free, the form checks it, and claims nothing before.
func TestFormChecksWhatIsNoLongerRefused(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	page := findScreen[*restoreFormScreen](m)
	backup := ended("nightly-shop", veleroapi.BackupPhaseCompleted, 402, time.Minute, 20*time.Minute, 0, 0)
	assess := func(jobs ...*job.Job) {
		page.SetAssessment(m.currentCluster.estimates.AssessSnapshot(snapshotOf(jobs...), noon))
		answered(m, page.FetchMissing())
	}
	taken := restoreJob("takenx", "nightly-shop", time.Hour, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}, 0)
	assess(backup, taken)
	press(t, m, "up", "up", "up", "up")
	press(t, m, "ctrl+u")
	typeIn(t, m, "takenx")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "There is a restore takenx already") {
		t.Fatalf("the name is not taken:\n%s", frame)
	}
	checked := len(p.checked)
	assess(backup)
	if len(p.checked) != checked+1 || p.checked[checked].Restore.Name != "takenx" {
		t.Errorf("%d checks, then %d", checked, len(p.checked))
	}
}

// What the spec alone shows is said where no backup can be read, too, and at the field.
func TestFormRefusesWithoutTheBackup(t *testing.T) {
	m := form(
		t,
		120,
		40,
		&previewer{answer: cluster.Preview{ItemsUnchecked: "with --no-artifacts veltui does not read backups"}},
	)
	typeIn(t, m, "shop")
	press(t, m, "down")
	typeIn(t, m, "shop")
	frame := ansi.Strip(checkFrame(t, m))
	if !strings.Contains(frame, "Both included and excluded: namespaces shop.") || !strings.Contains(frame, "refused") {
		t.Errorf("both included and excluded:\n%s", frame)
	}
	press(t, m, "backspace", "backspace", "backspace", "backspace", "down", "down", "down", "down")
	typeIn(t, m, "app=web")
	press(t, m, "down")
	typeIn(t, m, "app=db")
	frame = ansi.Strip(checkFrame(t, m))
	if !strings.Contains(frame, "✗ Selector        app=web") || !strings.Contains(frame, "not both") {
		t.Errorf("both kinds of selectors:\n%s", frame)
	}
}

// Names that were pasted on lines of their own are a list, and what a terminal would
// act on is not drawn.
func TestFormTakesWhatIsPasted(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	for _, pasted := range []string{"shop\r\nbilling\n\n  shop-old \n", "shop\rbilling\r\r  shop-old \r"} {
		press(t, m, "ctrl+u")
		m.Update(tea.PasteMsg{Content: pasted})
		answered(m, press(t, m, "end"))
		typeIn(t, m, ",x")
		if got := p.asked[len(p.asked)-1].Restore.Spec.IncludedNamespaces; strings.Join(
			got,
			"|",
		) != "shop|billing|shop-old|x" {
			t.Errorf("%q: %q", pasted, got)
		}
	}
	press(t, m, "ctrl+u", "down", "down", "down", "down", "down")
	m.Update(tea.PasteMsg{Content: "app in (web,\ndb)"})
	typeIn(t, m, " ")
	if got := p.asked[len(p.asked)-1].Restore.Spec.LabelSelector; got == nil || len(got.MatchExpressions) != 1 {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"\x1b]0;owned\x07", "\x1b[2J", "a\u202eb", strings.Repeat("長", 300), strings.Repeat("x", 5000), "e\u0301\u0302", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦"} {
		for _, at := range []string{"ctrl+u", "down", "ctrl+u", "up"} {
			press(t, m, at)
			m.Update(tea.PasteMsg{Content: bad})
			frame := checkFrame(t, m)
			if strings.Contains(frame, "\x1b]0;") || strings.Contains(frame, "\x1b[2J") ||
				strings.Contains(frame, "\u202e") {
				t.Errorf("%q is drawn", bad)
			}
			press(t, m, "ctrl+p")
			checkFrame(t, m)
			press(t, m, "ctrl+p")
		}
	}
}

// However narrow it is, the two halves of the title stand apart.
func TestFormTitleKeepsApart(t *testing.T) {
	doubts := cluster.CheckResult{
		Findings: []preflight.Finding{
			{Severity: preflight.Obstacle, Sentence: "One."},
			{Severity: preflight.Doubt, Sentence: "Two."},
		},
	}
	for _, answer := range []cluster.Preview{shopPreview(), {ItemsUnchecked: "the backup is still Queued"}} {
		for _, check := range []cluster.CheckResult{{}, doubts} {
			m := form(t, 200, 60, &previewer{answer: answer, check: check})
			for width := 40; width <= 100; width++ {
				m.Update(tea.WindowSizeMsg{Width: width, Height: 12})
				title := strings.TrimSpace(strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[1])
				left, right, apart := strings.Cut(title, "  ")
				if !apart || !strings.HasPrefix(strings.TrimPrefix(left, "Restore from "), "nigh") ||
					strings.TrimSpace(right) == "" ||
					strings.Contains(right, "…") {
					t.Errorf("%d wide: %q", width, title)
				}
			}
		}
	}
}

// Like an earlier restore: as it was, under a new name.
func TestFormAgain(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	old := restoreJob(
		"old",
		"nightly-shop",
		time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted},
		time.Minute,
	)
	old.Object.(*veleroapi.Restore).Spec.IncludedNamespaces = []string{"shop"}
	m := screen(t, snapshotOf(old), 120, 40, func(o *Options) { fake(o).previewer = p })
	answered(m, press(t, m, "2", "enter", "R"))
	got := p.asked[0].Restore
	if got.Spec.BackupName != "nightly-shop" || len(got.Spec.IncludedNamespaces) != 1 || got.Name == "old" ||
		!strings.HasPrefix(got.Name, "nightly-shop-") {
		t.Errorf("%+v", got)
	}
	press(t, m, "esc")
	if onTop(m) != "job" {
		t.Errorf("esc goes to %s", onTop(m))
	}
}

// A form in a read-only dashboard works, also where nothing is known of backups.
func TestFormReadOnlyAndKeysOfOnesOwn(t *testing.T) {
	p := &previewer{
		answer: cluster.Preview{
			ItemsUnchecked: "read-only: to download a backup, veltui would have to create a DownloadRequest in the cluster",
		},
	}
	m := form(t, 80, 24, p, func(o *Options) {
		o.ReadOnly = true
		o.Keys = keys.Overrides{"preview": {"p"}, "save-restore": {"f2"}, "copy-restore": {"ctrl+x"}, "form-help": {"f3"}}
	})
	frame := ansi.Strip(checkFrame(t, m))
	for _, want := range []string{"read-only: to download", "f2 save YAML", "ctrl+x copy command", "f3 help", "velero restore create"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
}

// One key compares what exists, once. Another restore marks that as outdated, another
// name does not.
func TestFormCompares(t *testing.T) {
	found := func(text string) []preflight.Finding {
		return []preflight.Finding{{Severity: preflight.Doubt, Resource: "secrets", Sentence: text}}
	}
	p := &previewer{
		answer:  shopPreview(),
		check:   cluster.CheckResult{ComparableObjects: 1240, Findings: found("1,240 secrets exist.")},
		differs: cluster.CheckResult{Findings: found("7 secrets differ.")},
	}
	m := form(t, 120, 40, p)
	says := framesSay(t, m)
	says("before", "ctrl+t compare", "1,240 secrets exist.")
	cmd := press(t, m, "ctrl+t")
	says("at first", "comparing 1,240 objects", "1,240 secrets exist.")
	press(t, m, "ctrl+t")
	for _, c := range cmd().(tea.BatchMsg) {
		msg := c()
		if strings.HasSuffix(fmt.Sprintf("%T", msg), "compared") {
			says("while it runs", "comparing 1,240 objects: 12 of 40 MiB")
		}
		m.Update(msg)
	}
	says("compared", "7 secrets differ.", "!1,240 secrets", "Compared what exists", "ctrl+t compare again", "1 doubt")
	m.Update(tea.MouseClickMsg{X: 5, Y: 4, Button: tea.MouseLeft}) // the name
	typeIn(t, m, "-2")
	says("another name", "7 secrets differ.", "!another restore")
	if len(p.compared) != 1 {
		t.Fatalf("compared %d times", len(p.compared))
	}
	press(t, m, "down", "down", "down", "down", "down")
	typeIn(t, m, "shop")
	says(
		"another restore",
		"!7 secrets",
		"1,240 secrets exist.",
		"The comparison was of another restore.",
		"ctrl+t compare again",
	)
	// A comparison that is cancelled by esc, by what is typed, and by leaving.
	for _, end := range []string{"esc", "x", "esc esc esc"} {
		cmd := press(t, m, "ctrl+t")
		says(end, "comparing 1,240 objects")
		typed := press(t, m, strings.Fields(end)...)
		for _, c := range cmd().(tea.BatchMsg) {
			m.Update(c())
		}
		if n := len(p.cancelled); p.cancelled[n-1] == nil {
			t.Errorf("%s does not cancel", end)
		}
		if end != "esc esc esc" {
			says(end, "!comparing", "!7 secrets", "1,240 secrets exist.")
			answered(m, typed)
		}
	}
	if onTop(m) != "dashboard" {
		t.Errorf("esc goes to %s", onTop(m))
	}
}

// TestFormDryRuns: one key asks the API server, Secrets are a choice of their own, and esc cancels.
func TestFormDryRuns(t *testing.T) {
	p := &previewer{
		answer: shopPreview(),
		differs: cluster.CheckResult{
			Findings: []preflight.Finding{
				{
					Severity: preflight.Obstacle,
					Reason:   preflight.Rejected,
					Sentence: "The API server rejects 3 pods: no.",
				},
			},
			Unchecked: []string{"the dry run of 318 secrets: only with --dry-run-secrets"},
			DryRun: &preflight.DryRun{
				User:       "velero",
				ItemCount:  1402,
				SentCount:  1084,
				Rejected:   make([]preflight.Rejection, 3),
				CannotTell: []preflight.ItemGroup{{Resource: "secrets", Count: 318, Names: []string{"shop/s"}}},
			},
		},
	}
	m := form(t, 120, 40, p)
	says := framesSay(t, m)
	says("before", "ctrl+r dry run", "!ctrl+g")
	cmd := press(t, m, "ctrl+r")
	says("at first", "dry run", "!comparing")
	for _, c := range cmd().(tea.BatchMsg) {
		m.Update(c())
	}
	says(
		"then",
		"The API server rejects 3 pods",
		"318 secrets",
		"1,084 of 1,402",
		"3 rejected",
		"ctrl+g dry run with Secrets",
		"1 obstacle",
	)
	answered(m, press(t, m, "ctrl+g"))
	if len(p.withSecrets) != 2 || p.withSecrets[0] || !p.withSecrets[1] {
		t.Errorf("with Secrets: %v", p.withSecrets)
	}
	cmd = press(t, m, "ctrl+r")
	press(t, m, "esc")
	for _, c := range cmd().(tea.BatchMsg) {
		m.Update(c())
	}
	if says("cancelled", "The dry run is cancelled.", "!3 pods"); p.cancelled[len(p.cancelled)-1] == nil {
		t.Error("esc does not cancel")
	}
}

// TestFormOffersADryRun: no object is sent unless its key is pressed. Before a restore is created the form says once what a
// dry run would cost; the key again goes without.
func TestFormOffersADryRun(t *testing.T) {
	start := func(p *previewer) *Model {
		return form(t, 200, 60, p, func(o *Options) {
			unhurried(o) // a dialog listens after a while
			fake(o).finalizer = &fakeFinalizer{t: t}
			fake(o).propose = func(action.Kind, *unstructured.Unstructured, action.Request) (action.Plan, error) {
				return action.Plan{}, errors.New("later")
			}
		})
	}
	opened := func(m *Model) bool { return onTop(m) == "dialog" }
	ran := cluster.CheckResult{DryRun: &preflight.DryRun{User: "velero", ItemCount: 1402, SentCount: 1084, AcceptedCount: 1084}}

	p := &previewer{answer: shopPreview(), differs: ran}
	p.answer.Estimate.Total = 12_000
	m := start(p)
	says := framesSay(t, m)
	answered(m, press(t, m, "ctrl+o"))
	if says(
		"at first",
		"A dry run of 12,000 objects takes about 4m",
		"example.com",
		"ctrl+r runs it",
		"starts without it.",
	); opened(m) ||
		len(p.withSecrets) > 0 {
		t.Errorf("%s is on top; asked %v", onTop(m), p.withSecrets)
	}
	typeIn(t, m, "shop")
	answered(m, press(t, m, "ctrl+o"))
	if says("of another restore", "A dry run of 12,000 objects"); opened(m) || len(p.withSecrets) > 0 {
		t.Error("the answer was about another restore")
	}
	if answered(m, press(t, m, "ctrl+o")); !opened(m) || len(p.withSecrets) > 0 {
		t.Errorf("%s is on top; asked %v", onTop(m), p.withSecrets)
	}

	p = &previewer{answer: shopPreview(), differs: ran}
	m = start(p)
	says = framesSay(t, m)
	answered(m, press(t, m, "ctrl+r"))
	says("asked", "1,084 accepted", "nothing stored")
	if answered(m, press(t, m, "ctrl+o")); !opened(m) || len(p.withSecrets) != 1 {
		t.Errorf("after the dry run %s is on top; asked %v", onTop(m), p.withSecrets)
	}

	p = &previewer{
		answer: shopPreview(),
		differs: cluster.CheckResult{DryRun: &preflight.DryRun{User: "velero", ItemCount: 1402, StoredObjects: []preflight.StoredObject{
			{
				Resource:  "configmaps",
				Namespace: "shop",
				Name:      "probe",
				Why:       "it has a resourceVersion",
				Command:   "kubectl -n shop delete configmaps probe",
			},
		}}},
	}
	m = start(p)
	says = framesSay(t, m)
	answered(m, press(t, m, "ctrl+r"))
	says(
		"carried out",
		"A dry run was carried out and stored configmaps shop/probe",
		"kubectl -n shop delete configmaps probe",
		"!nothing stored",
	)
	answered(m, press(t, m, "ctrl+o"))
	says("then", "Not started: A dry run was carried out")
	answered(m, press(t, m, "ctrl+r"))
	if says("again", "No dry run: A dry run was carried out"); opened(m) || len(p.withSecrets) != 1 {
		t.Errorf("%s is on top; asked %v", onTop(m), p.withSecrets)
	}

	p = &previewer{answer: shopPreview()}
	p.answer.ItemsUnchecked = "the object store is away"
	m = start(p)
	if answered(m, press(t, m, "ctrl+o")); !opened(m) || len(p.withSecrets) > 0 {
		t.Errorf("%s is on top; asked %v", onTop(m), p.withSecrets)
	}
}

// Where there is nothing to compare there is no key for it, and where it must not be
// compared, or fails, the form says why.
func TestFormSaysWhyItDoesNotCompare(t *testing.T) {
	for name, c := range map[string]struct {
		p    previewer
		says string
	}{
		"nothing exists": {previewer{answer: shopPreview()}, ""},
		"no artifacts":   {previewer{answer: cluster.Preview{ItemsUnchecked: "with --no-artifacts veltui does not read backups"}}, "with --no-artifacts"},
		"read-only":      {previewer{answer: shopPreview(), check: cluster.CheckResult{ComparableObjects: 1, CompareUnavailable: "read-only: it would download"}}, "read-only: it would download"},
		"an error":       {previewer{answer: shopPreview(), check: cluster.CheckResult{ComparableObjects: 1}, whyNot: errors.New("the cluster is away")}, "Not compared: the cluster is away."},
	} {
		m := form(t, 120, 40, &c.p)
		frame := ansi.Strip(checkFrame(t, m))
		if offered := strings.Contains(frame, "ctrl+t compare"); offered != (c.p.whyNot != nil) {
			t.Errorf("%s: offered: %t\n%s", name, offered, frame)
		}
		answered(m, press(t, m, "ctrl+t"))
		if frame = ansi.Strip(
			checkFrame(t, m),
		); !strings.Contains(frame, c.says) ||
			(len(c.p.compared) > 0) != (c.p.whyNot != nil) {
			t.Errorf("%s: compared %d times\n%s", name, len(c.p.compared), frame)
		}
	}
}

// Late answers are dropped, a resize at any moment fits, and a click goes to a field.
func TestFormWhileItMoves(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 40, p)
	asked := len(p.asked)
	var late []tea.Cmd
	for _, r := range "shop" {
		_, cmd := m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		late = append(late, cmd)
	}
	for _, cmd := range late {
		answered(m, cmd)
	}
	if got := len(p.asked) - asked; got != 1 {
		t.Errorf("asked %d times for four letters", got)
	}
	for width := 1; width < 210; width += 13 {
		for height := 1; height < 62; height += 7 {
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			press(t, m, "pgdown", "down", "tab")
			checkFrame(t, m)
		}
	}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	checkFrame(t, m)
	m.Update(tea.MouseClickMsg{X: 5, Y: 4, Button: tea.MouseLeft})
	typeIn(t, m, "X")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "a name has only lower-case letters") {
		t.Errorf("the click did not go to the name:\n%s", frame)
	}
	show(m, snapshotOf([]*job.Job{}...))
	checkFrame(t, m)
}

// The first look into a backup takes long: what is typed meanwhile neither ends it
// nor begins another.
func TestFormTypingWhileTheBackupIsRead(t *testing.T) {
	p := &previewer{answer: shopPreview(), saved: map[string]string{}}
	m := screen(
		t,
		snapshotOf(ended("nightly-shop", veleroapi.BackupPhaseCompleted, 402, time.Minute, 20*time.Minute, 0, 0)),
		120,
		40,
		func(o *Options) { fake(o).previewer = p },
	)
	// begun are the looks that a key leads to once nothing is typed for a while.
	var begun []tea.Cmd
	var begin func(tea.Cmd)
	begin = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				begin(c)
			}
		case fetch.Message:
			if _, next := m.Update(msg); next != nil {
				begun = append(begun, next)
			}
		}
	}
	begin(press(t, m, keyOf(m, "preview")))
	for _, letter := range "shop" {
		begin(press(t, m, string(letter)))
	}
	if len(begun) != 1 {
		t.Fatalf("%d looks into the backup", len(begun))
	}
	answered(m, begun[0])
	if len(p.asked) != 2 || p.ended[0] != nil || p.ended[1] != nil ||
		strings.Join(p.asked[1].Restore.Spec.IncludedNamespaces, "|") != "shop" {
		t.Errorf("asked %+v, ended %v", p.asked, p.ended)
	}
	// Another backup is another look.
	begun = nil
	begin(press(t, m, "up", "up", "up", "-"))
	begin(press(t, m, "2"))
	if len(begun) != 2 {
		t.Fatalf("%d looks into two other backups", len(begun))
	}
	answered(m, begun[0])
	answered(m, begun[1])
	if len(p.asked) != 4 || p.ended[2] == nil || p.ended[3] != nil {
		t.Errorf("asked %+v, ended %v", p.asked, p.ended)
	}
}

// A look at a slow cluster takes longer than a person waits between two words: what is
// typed meanwhile neither ends it nor begins another, and what it found stays on the
// screen until the next one ends.
func TestFormTypingWhileTheClusterIsChecked(t *testing.T) {
	p := &previewer{
		answer: shopPreview(),
		check: cluster.CheckResult{
			Findings: []preflight.Finding{{Severity: preflight.Doubt, Sentence: "14 secrets exist already."}},
		},
		saved: map[string]string{},
	}
	m := screen(
		t,
		snapshotOf(ended("nightly-shop", veleroapi.BackupPhaseCompleted, 402, time.Minute, 20*time.Minute, 0, 0)),
		120,
		40,
		func(o *Options) { fake(o).previewer = p },
	)
	// looks are those that have begun and not ended; previews end at once.
	var looks []tea.Cmd
	var run func(tea.Cmd)
	run = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				run(c)
			}
		case fetch.Message:
			_, next := m.Update(msg)
			if strings.Contains(fmt.Sprintf("%T", msg), "Preview]") && next != nil {
				looks = append(looks, next)
				return
			}
			run(next)
		}
	}
	run(press(t, m, keyOf(m, "preview")))
	for _, letter := range "shop" {
		run(press(t, m, string(letter)))
	}
	if len(looks) != 1 || len(p.asked) < 2 {
		t.Fatalf("%d looks at the cluster, %d previews", len(looks), len(p.asked))
	}
	run(looks[0])
	if len(p.checked) != 2 || p.dropped[0] != nil || p.dropped[1] != nil ||
		strings.Join(p.checked[1].Restore.Spec.IncludedNamespaces, "|") != "shop" {
		t.Fatalf("looked for %+v, given up: %v", p.checked, p.dropped)
	}
	press(t, m, "x")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "14 secrets exist already.") {
		t.Errorf("what was found is gone with the next letter:\n%s", frame)
	}
}

// What would be refused is copied and saved all the same, but not without a word;
// a click ends what esc asked.
func TestFormSaysWhatIsRefused(t *testing.T) {
	const why = "The backup nightly-shop is being deleted."
	m := form(t, 120, 40, &previewer{answer: cluster.Preview{Backup: "nightly-shop", RefusalReasons: []string{why}}})
	for _, key := range []string{"ctrl+y", "ctrl+s"} {
		answered(m, press(t, m, key))
		frame := strings.Join(strings.Fields(strings.ReplaceAll(ansi.Strip(checkFrame(t, m)), "│", " ")), " ")
		if !strings.Contains(frame, "Velero would refuse it:") {
			t.Errorf("%s does not say it:\n%s", key, frame)
		}
	}
	typeIn(t, m, "shop")
	press(t, m, "esc")
	m.Update(tea.MouseClickMsg{X: 5, Y: 3, Button: tea.MouseLeft})
	if frame := ansi.Strip(checkFrame(t, m)); strings.Contains(frame, "esc again to discard") {
		t.Errorf("after a click:\n%s", frame)
	}
}

// What the command of the server's version lacks, and its server ignores, is said
// beside the command.
func TestFormOnAnOlderVelero(t *testing.T) {
	old := restoreJob(
		"old",
		"nightly-shop",
		time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted},
		time.Minute,
	)
	old.Object.(*veleroapi.Restore).Spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "p"}
	for version, says := range map[string][2]string{
		"v1.15.2": {"The command of Velero v1.15.2 lacks --resource-policies-configmap and --annotations. Its server ignores --resource-policies-configmap.", ""},
		"v1.16.0": {"The command of Velero v1.16.0 lacks --resource-policies-configmap.", "lacks --annotations"},
		"v1.18.3": {"Command", "The command of Velero"},
		"":        {"Command", "The command of Velero"},
	} {
		snap := snapshotOf(old)
		snap.Server.Version = version
		m := screen(t, snap, 120, 60, func(o *Options) { fake(o).previewer = &previewer{answer: shopPreview()} })
		answered(m, press(t, m, "2", "enter", "R"))
		for _, f := range slices.Backward(restorespec.FlagSpecs()) { // from the namespaces to the annotations, the last
			if f.Flag == "include-namespaces" {
				break
			}
			press(t, m, "down")
		}
		typeIn(t, m, "a=b")
		var beside []string
		for line := range strings.Lines(ansi.Strip(checkFrame(t, m))) {
			_, right, _ := strings.Cut(line, "│")
			beside = append(beside, strings.Fields(right)...)
		}
		frame := strings.Join(beside, " ")
		if !strings.Contains(frame, says[0]) || says[1] != "" && strings.Contains(frame, says[1]) {
			t.Errorf("%q: want %q, and not %q:\n%s", version, says[0], says[1], frame)
		}
	}
}

// What Velero's flags take and then goes wrong is wrong in the form.
func TestFormWantsBothNamesOfAMapping(t *testing.T) {
	m := form(t, 120, 40, &previewer{answer: shopPreview()})
	press(t, m, "down", "down")
	typeIn(t, m, "bill")
	answered(m, press(t, m, "tab"))
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, `"billing:": expected src:dst`) ||
		strings.Contains(frame, "--namespace-mappings") {
		t.Errorf("a mapping to no name:\n%s", frame)
	}
	typeIn(t, m, "new")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); strings.Contains(frame, "expected src:dst") ||
		!strings.Contains(frame, "Command") {
		t.Errorf("a whole mapping:\n%s", frame)
	}
}

// Without includes, the form makes no restoreStatus of its excludes, and says so.
func TestFormLeavesOutLoneExcludes(t *testing.T) {
	p := &previewer{answer: shopPreview()}
	m := form(t, 120, 60, p)
	to := func(flag string) int {
		return slices.IndexFunc(restorespec.FlagSpecs(), func(f restorespec.FlagSpec) bool { return f.Flag == flag })
	}
	for range to("status-exclude-resources") - to("include-namespaces") {
		press(t, m, "down")
	}
	typeIn(t, m, "pods")
	framesSay(t, m)("excludes alone", "It has no effect without the field above.")
	answered(m, press(t, m, "ctrl+s"))
	if got := p.saved[restorespec.DefaultName("nightly-shop", noon)+".yaml"]; got == "" ||
		strings.Contains(got, "restoreStatus") {
		t.Errorf("saved %q", got)
	}
	press(t, m, "up")
	typeIn(t, m, "*")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); strings.Contains(frame, "no effect without") ||
		!strings.Contains(frame, "--status-exclude-resources=pods") {
		t.Errorf("with includes:\n%s", frame)
	}
}

// Terminals send other keys for backspace, and alt with a letter moves the cursor:
// it is not esc.
func TestFormTakesKeysThatEdit(t *testing.T) {
	m := form(t, 120, 40, &previewer{answer: shopPreview()})
	press(t, m, "alt+b", "alt+f")
	if onTop(m) != "form" {
		t.Fatalf("alt closes the form: %s is on top", onTop(m))
	}
	typeIn(t, m, "shop xx yy")
	press(t, m, "ctrl+h", "ctrl+h", "alt+backspace", "home", "ctrl+d")
	typeIn(t, m, "S")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "Namespaces      Shop") || strings.Contains(frame, "yy") ||
		strings.Contains(frame, "xx") {
		t.Errorf("not edited:\n%s", frame)
	}
}

// The name that a form opens with is one that the API server takes.
func TestNamesOfRestores(t *testing.T) {
	for _, c := range [][2]string{
		{"nightly", "nightly-20261120120000"}, {"", ""}, {strings.Repeat("a", 253), strings.Repeat("a", 238) + "-20261120120000"},
		{strings.Repeat("a", 237) + "." + strings.Repeat("b", 10), strings.Repeat("a", 237) + "-20261120120000"},
	} {
		if got := restorespec.DefaultName(c[0], time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// framesSay returns a check of the present frame: it holds what is wanted, and not what has a ! before it.
func framesSay(t *testing.T, m *Model) func(when string, wants ...string) {
	return func(when string, wants ...string) {
		t.Helper()
		frame := ansi.Strip(checkFrame(t, m))
		for _, want := range wants {
			without, not := strings.CutPrefix(want, "!")
			if strings.Contains(frame, without) == not {
				t.Errorf("%s: %q in\n%s", when, want, frame)
			}
		}
	}
}
