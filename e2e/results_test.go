//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
)

// wantResults holds what veltui says of a restore's messages to what Velero
// stored of them: as many, and each of the resources that they name.
func wantResults(t *testing.T, h lab.History, name, namespace string) {
	t.Helper()
	var real map[string]struct {
		Velero, Cluster []string
		Namespaces      map[string][]string
	}
	must(t, json.Unmarshal([]byte(stored(t, name, "results")), &real))
	code, printed := runVeltui(t, "results", "restore/"+name, "-o", "json")
	var d struct {
		Complete bool
		Note     string
		Messages []struct {
			Severity, Scope, Namespace, Text, Example string
			Count                                     int
			Resources                                 []struct{ Kind, Name string }
		}
	}
	if err := json.Unmarshal(
		document(printed),
		&d,
	); err != nil || code != exitPartiallyFailed || !d.Complete ||
		d.Note != "" {
		t.Fatalf("exit code %d, %v, note %q: %.2000s", code, err, d.Note, printed)
	}
	counts := map[string]int{}
	named := map[string]bool{}
	for _, m := range d.Messages {
		counts[m.Severity] += m.Count
		for _, r := range m.Resources {
			named[r.Name] = true
		}
		if len(m.Resources) == 0 || strings.Contains(m.Text, m.Resources[0].Name) && m.Count > 1 {
			t.Errorf("the resource is not taken out of %q", m.Example)
		}
	}
	if counts["error"] != h.StatusNumber("errors") || counts["warning"] != h.StatusNumber("warnings") ||
		counts["error"] != len(real["errors"].Namespaces[namespace]) {
		t.Errorf("veltui counts %v, Velero %d errors and %d warnings", counts, h.StatusNumber("errors"), h.StatusNumber("warnings"))
	}
	for _, message := range real["errors"].Namespaces[namespace] {
		id, _, _ := strings.Cut(strings.TrimPrefix(message, "error restoring "), ": ")
		if item := id[strings.LastIndex(id, "/")+1:]; !named[item] {
			t.Errorf("%s is named nowhere: %s", item, message)
		}
	}
	if n := len(d.Messages); n > 10 {
		t.Errorf("%d entries for messages that differ in the resource only", n)
	}
}

// wantPages opens the pages of a restore on the dashboard: the Results page with
// its groups and a search, and the Resources page with what Velero lists, and
// with items of the backup that it does not list.
func wantPages(t *testing.T, h lab.History, name, namespace string) {
	t.Helper()
	var list map[string][]string
	must(t, json.Unmarshal([]byte(stored(t, name, "resource-list.json")), &list))
	did := map[string]int{}
	last := ""
	for _, items := range list {
		for _, item := range items {
			at := strings.LastIndexByte(item, '(')
			did[strings.Trim(item[at:], "()")]++
			if strings.HasSuffix(item, "(failed)") {
				last = item[strings.IndexByte(item, '/')+1 : at]
			}
		}
	}
	c := openConsole(t)
	c.types(t, "2/"+name+"\r") // the first screen may be full of what other tests left
	c.seesRow(t, name, "PartiallyFailed")
	c.types(t, "\r")
	c.sees(t, "[1 Overview]")
	c.types(t, "e")
	c.sees(
		t,
		fmt.Sprintf("%d errors", h.StatusNumber("errors")),
		fmt.Sprintf("errors, namespace %s (%d)", namespace, h.StatusNumber("errors")),
		"exceeded quota",
		"more",
	)
	c.types(t, "/"+last+"\r")
	c.sees(t, "1 of 1", "configmaps/"+last)
	c.types(t, "\x1b4")
	c.sees(
		t,
		"RESOURCE",
		fmt.Sprintf("%d created", did["created"]),
		fmt.Sprintf("%d failed", did["failed"]),
		"left out",
		"customresourcedefinitions",
	)
	c.types(t, "\r")
	c.sees(t, "failed   "+namespace+"/", "from ops", "exceeded quota")
	c.types(t, "/resource filters exclude\r")
	c.sees(t, "left out", "the restore's resource filters exclude this kind")
	c.types(t, "\x1b\x1b")
	c.quits(t)
}

// wantListOf opens the Resources page of a backup: it names what Velero listed.
func wantListOf(t *testing.T, name string) {
	t.Helper()
	c := openConsole(t)
	c.types(t, "3/"+name+"\r\r")
	c.sees(t, "[1 Overview]")
	c.types(t, "4")
	c.sees(t, "IN THE BACKUP", "items of", "configmaps", "pods")
	c.types(t, "/ops/\r")
	c.sees(t, " /ops/ ", "• ops/")
	c.types(t, "/ops//\r")
	c.sees(t, "ops// is not here")
	c.types(t, "\x1b\x1b")
	c.quits(t)
}
