//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// typedRestore is a restore as a person types it into the form: what goes into
// which field.
type typedRestore struct {
	name   string
	fields map[string]string
}

var typedRestores = []typedRestore{
	{"one", map[string]string{"include-namespaces": "orders", "namespace-mappings": "orders:orders-form-one"}},
	{
		"two",
		map[string]string{
			"include-namespaces": "orders, stock",
			"namespace-mappings": "orders:orders-form-two, stock:stock-form-two",
		},
	},
	{
		"kinds",
		map[string]string{
			"include-namespaces": "orders",
			"include-resources":  "cm,secrets,deployments.apps",
			"namespace-mappings": "orders:orders-form-kinds",
		},
	},
	{
		"without",
		map[string]string{
			"include-namespaces": "stock",
			"exclude-resources":  "cm,pods",
			"namespace-mappings": "stock:stock-form-without",
		},
	},
	{
		"selector",
		map[string]string{
			"include-namespaces": "orders",
			"selector":           "app in (web,db),team notin (red)",
			"namespace-mappings": "orders:orders-form-selector",
		},
	},
	{
		"or",
		map[string]string{
			"include-namespaces": "orders",
			"or-selector":        "state=ended or app=db",
			"namespace-mappings": "orders:orders-form-or",
		},
	},
	{
		"cluster",
		map[string]string{
			"include-namespaces":        "orders",
			"include-cluster-resources": "true",
			"selector":                  "app=web",
			"namespace-mappings":        "orders:orders-form-cluster",
		},
	},
	{
		"no-cluster",
		map[string]string{
			"include-namespaces":        "orders",
			"include-cluster-resources": "false",
			"include-resources":         "pvc,pv,po",
			"namespace-mappings":        "orders:orders-form-local",
		},
	},
	{
		"volumes-off",
		map[string]string{
			"include-namespaces": "orders",
			"include-resources":  "pvc,pv",
			"restore-volumes":    "false",
			"namespace-mappings": "orders:orders-form-off",
		},
	},
	{
		"update",
		map[string]string{
			"include-namespaces":       "orders",
			"include-resources":        "cm,svc",
			"existing-resource-policy": "update",
		},
	},
	{
		"globs",
		map[string]string{
			"exclude-namespaces": "s*,arch*",
			"include-resources":  "cm,limits",
			"namespace-mappings": "orders:orders-form-globs",
		},
	},
	{
		"many",
		map[string]string{
			"include-namespaces":       "stock",
			"namespace-mappings":       "stock:stock-form-many",
			"include-resources":        "cm,svc",
			"status-include-resources": "*",
			"preserve-nodeports":       "true",
			"item-operation-timeout":   "90m",
			"parallel-files-download":  "2",
			"write-sparse-files":       "true",
			"labels":                   "made=by-hand",
			"annotations":              `"note=a, b"`,
		},
	},
	{
		"nothing",
		map[string]string{
			"include-namespaces": "orders",
			"include-resources":  "configmaps",
			"selector":           "app=nobody",
			"namespace-mappings": "orders:orders-form-none",
		},
	},
}

// TestPreviewIsWhatVeleroRestores types restores into the form, and has Velero do
// what it ends in. The counts beside the form must be those that Velero ends with,
// by resource and namespace, and Velero's own command must make of the form's
// command the Restore that the form saves.
func TestPreviewIsWhatVeleroRestores(t *testing.T) {
	wantVelerosFlags(t)
	must(t, theLab.EnsureVelero(patient(t), unthrottled...))
	yes := true
	wantEnd(
		t,
		backup(
			t,
			"typed",
			veleroapi.BackupSpec{IncludedNamespaces: []string{seed.OrdersNamespace, seed.StockNamespace}, IncludeClusterResources: &yes},
			nil,
		),
		"Completed",
	)
	dir := t.TempDir()
	c := startConsoleIn(t, dir, 200, 60)
	c.sees(t, "live", "typed")
	for i, r := range typedRestores {
		t.Run(r.name, func(t *testing.T) {
			name := "form-" + r.name
			maps.DeleteFunc(r.fields, func(flag, _ string) bool { // what the command of this version lacks
				f, _ := restorespec.FindFlag(flag)
				return !f.HasFlag(serverVersion(t))
			})
			c.types(t, ":preview typed\r")
			c.sees(t, "Restore from typed", "Name", "Annotations")
			c.fill(t, name, r.fields)
			preview := c.preview(t, name)
			if i == 0 { // the first has the live cluster looked at to its end
				c.awaits(
					t,
					"what stands in the way",
					func() bool { return !strings.Contains(c.ScreenText(), ", checking") },
				)
				if strings.Contains(strings.Replace(c.ScreenText(), "Unchecked: admission", "", 1), "Unchecked") {
					t.Errorf("not all was looked at:\n%s", c.ScreenText())
				}
			}
			file := filepath.Join(dir, name+".yaml")
			c.types(t, "\x13") // ctrl+s
			c.sees(t, "Save as: ", name+".yaml")
			c.types(t, "\x15"+file+"\r") // ctrl+u
			c.sees(t, "Saved to")
			data, err := os.ReadFile(file)
			must(t, err)
			var saved veleroapi.Restore
			must(t, yaml.UnmarshalStrict(data, &saved))
			draft := restorespec.Draft{Restore: saved}
			words, unsaid := draft.CommandWords()
			if len(unsaid) > 0 {
				t.Errorf("the command cannot say %q", unsaid)
			}
			wantVelerosOwn(t, words, saved)
			names := foreseen(t, "typed", saved.Spec)
			switch i % 3 { // it is the same, whoever creates it
			case 0:
				_, err = theLab.VeleroCLI(patient(t), words...)
				must(t, err)
			case 1:
				if code, printed := runVeltui(
					t,
					"restore",
					"create",
					"-f",
					file,
					"--yes",
					"--accept-obstacles",
					"--reason",
					"end-to-end test",
				); code != 0 {
					t.Fatalf("veltui restore create ended with %d:\n%s", code, printed)
				}
			default:
				c.starts(t, name)
			}
			if onPage := strings.Contains(c.ScreenText(), "1 Overview"); onPage {
				c.types(t, "\x1b")
			} else {
				c.leavesForm(t)
			}
			c.sees(t, "[1 Active]")
			h := ended(t, "Restore", name)
			if phase := h.LastState().Phase; phase != "Completed" && phase != "PartiallyFailed" {
				t.Fatalf("it ended as %s", phase)
			}
			truth := map[string]int{}
			if h.LastState().Progress != nil && h.LastState().Progress.Total > 0 {
				truth = restoredCounts(t, name)
				if restored := restoredItems(t, name); !slices.Equal(names, restored) {
					t.Errorf("veltui names\n%q\nVelero restored\n%q", names, restored)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(merged(preview, truth))) {
				if preview[key] != truth[key] {
					t.Errorf("%s: the form said %d, Velero restored %d", key, preview[key], truth[key])
				}
			}
		})
	}
	c.types(t, ":preview typed\r")
	c.sees(t, "Restore from typed")
	c.fill(t, "form-one", map[string]string{"include-namespaces": "orders"})
	c.sees(t, "There is a restore form-one already")
	c.leavesForm(t)
	c.sees(t, "[1 Active]")
	c.quits(t)
}

// foreseen are the items that veltui's index of a backup says a restore restores now,
// as restoredItems writes them.
func foreseen(t *testing.T, backup string, spec veleroapi.RestoreSpec) []string {
	t.Helper()
	file, err := os.Open(theLab.ObjectPath("backups/" + backup + "/" + backup + ".tar.gz"))
	must(t, err)
	defer func() { _ = file.Close() }()
	index, err := collector.Read(patient(t), file, collector.Limits{})
	must(t, err)
	reader, err := live.New(live.Options{Config: theLab.RESTConfig(), Clock: time.Now})
	must(t, err)
	served, err := reader.FetchServedKinds(patient(t))
	must(t, err)
	var there corev1.NamespaceList
	must(t, theLab.Client.List(patient(t), &there))
	question := collector.RestoreInput{Restore: spec, ExistingNamespaces: collector.TargetNamespaces{IsComplete: true}}
	for _, n := range there.Items {
		question.ExistingNamespaces.Names = append(question.ExistingNamespaces.Names, n.Name)
	}
	fates, err := index.DetermineFates(patient(t), question, collector.LiveDiscovery(served.ResourceLists))
	must(t, err)
	var all []string
	must(t, fates.EachItem(func(i collector.Item) {
		switch {
		case i.Fate != collector.ToRestore:
		case i.Resource == live.Namespaces:
			all = append(all, i.Resource+" "+i.TargetNamespace)
		case i.Namespace != "":
			all = append(all, i.Resource+" "+i.TargetNamespace+"/"+i.Name)
		default:
			all = append(all, i.Resource+" "+i.Name)
		}
	}))
	slices.Sort(all)
	return all
}

// wantVelerosFlags checks that veltui knows which flags this version's command has.
func wantVelerosFlags(t *testing.T) {
	t.Helper()
	help, err := theLab.VeleroCLI(patient(t), "restore", "create", "--help")
	must(t, err)
	for _, f := range restorespec.FlagSpecs() {
		if has := strings.Contains(help, " --"+f.Flag+" "); has != f.HasFlag(serverVersion(t)) {
			t.Errorf("--%s: Velero's command has it: %v, veltui says %v", f.Flag, has, !has)
		}
	}
}

// starts starts the restore that stands in the form, and opens its page.
func (c *console) starts(t *testing.T, name string) {
	t.Helper()
	c.awaits(t, "what stands in the way", func() bool { return !strings.Contains(c.ScreenText(), ", checking") })
	c.types(t, "\x0f") // ctrl+o
	c.sees(t, "The API server was not asked", "again starts without it")
	c.types(t, "\x0f")
	c.sees(t, "Start restore "+lab.Namespace+"/"+name, "preflight found", "enter type the ")
	c.types(t, "\r")
	c.sees(t, " and press enter:")
	want := regexp.MustCompile(`Type (\S+) and press enter:`).FindStringSubmatch(c.ScreenText())
	if len(want) == 0 || strings.Contains(want[1], "/") && !strings.HasSuffix(want[1], "/"+name) {
		t.Fatalf("it asks for another name:\n%s", c.ScreenText())
	}
	c.typesKeys(t, want[1]+"\r")
	c.sees(t, "Done.", "Velero has taken it up", "enter open it")
	c.types(t, "\r")
	c.sees(t, name, "1 Overview")
}

// leavesForm drops what was typed. Two keys in one packet would be another one.
func (c *console) leavesForm(t *testing.T) {
	t.Helper()
	c.types(t, "\x1b")
	c.sees(t, "esc again")
	c.types(t, "\x1b")
}

// fill types into the fields of the form, from the name down.
func (c *console) fill(t *testing.T, name string, fields map[string]string) {
	t.Helper()
	const down, up, clear = "\x1b[B", "\x1b[A", "\x15"
	all := restorespec.FlagSpecs()
	start := slices.IndexFunc(all, func(f restorespec.FlagSpec) bool { return f.Flag == "include-namespaces" })
	var keys strings.Builder
	keys.WriteString(strings.Repeat(up, start+1) + clear + name)
	for _, f := range all {
		keys.WriteString(down)
		if text, wanted := fields[f.Flag]; wanted {
			keys.WriteString(clear + text)
		}
	}
	c.types(t, keys.String()+down)
	c.sees(t, "name: "+name, "▸ Command")
}

// preview waits for the answer about what was typed, and reads its table.
func (c *console) preview(t *testing.T, name string) map[string]int {
	t.Helper()
	var screen string
	c.awaits(t, "the preview of "+name, func() bool {
		screen = c.ScreenText()
		return strings.Contains(screen, "name: "+name) && !strings.Contains(screen, "orking it out") &&
			(strings.Contains(screen, "Total") || strings.Contains(screen, "nothing would be restored"))
	})
	counts := map[string]int{}
	table := false
	for line := range strings.Lines(screen) {
		_, beside, _ := strings.Cut(line, "│")
		words := strings.Fields(beside)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "RESOURCE":
			table = true
			continue
		case words[0] == "Total":
			return counts
		case !table:
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(words[1], ",", ""))
		must(t, err)
		counts[words[0]] = n
		for i := 2; i+1 < len(words); i += 2 {
			n, err := strconv.Atoi(strings.ReplaceAll(words[i+1], ",", ""))
			must(t, err)
			counts[words[0]+" in "+words[i]] = n
		}
	}
	return counts
}

// wantVelerosOwn has Velero's own command print, and not create, the Restore of a
// command, and compares it with the one that the form saved.
func wantVelerosOwn(t *testing.T, words []string, saved veleroapi.Restore) {
	t.Helper()
	out, err := theLab.VeleroCLI(patient(t), append(slices.Clone(words), "-o", "yaml")...)
	must(t, err)
	var theirs veleroapi.Restore
	must(t, yaml.Unmarshal([]byte(out), &theirs))
	if slices.Equal(theirs.Spec.IncludedNamespaces, []string{"*"}) && saved.Spec.IncludedNamespaces == nil {
		theirs.Spec.IncludedNamespaces = nil // its default, which is the same
	}
	fields := func(r veleroapi.Restore) map[string]any {
		d := restorespec.Draft{Restore: r}
		data, err := d.YAML("")
		must(t, err)
		j, err := yaml.YAMLToJSON(data)
		must(t, err)
		var all map[string]any
		must(t, json.Unmarshal(j, &all))
		return all
	}
	if ours, velero := fields(saved), fields(theirs); !reflect.DeepEqual(ours, velero) {
		t.Errorf("of %q\nvelero makes %v\nthe form saved %v", words, velero, ours)
	}
}
