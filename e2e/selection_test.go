//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/e2e/lab"
)

var (
	adds   = regexp.MustCompile(`^Velero adds (\d+) items?: (.*)\.$`)
	leaves = regexp.MustCompile(`^Of what is selected, the restore leaves out (\d+) items?: (.*)\.$`)
)

// TestSelections restores random selections of the full backup: what came back is what was selected and what was
// announced, and the ConfigMap is gone. E2E_SELECTIONS is how many.
func TestSelections(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t), unthrottled...))
	fullBackup(t)
	count := 5
	if n, err := strconv.Atoi(os.Getenv("E2E_SELECTIONS")); err == nil {
		count = n
	}
	const number = 4711
	t.Logf("%d selections, seed %d", count, number)
	random := rand.New(rand.NewPCG(number, 1))
	held := slices.DeleteFunc(
		listedItems(t, unzipped(t, "backups/"+full+"/"+full+"-resource-list.json.gz")),
		func(item string) bool {
			resource, _, _ := strings.Cut(item, " ")
			return slices.Contains(collector.NonRestorable(), resource)
		},
	)
	for n := range count {
		name := fmt.Sprintf("selected-%d", n+1)
		mapping := to(name)
		var pairs, selected, want []string
		for from, into := range mapping {
			pairs = append(pairs, from+":"+into)
		}
		for range 1 + random.IntN(12) {
			selected = append(selected, held[random.IntN(len(held))])
		}
		slices.Sort(selected)
		selected = slices.Compact(selected)
		var lines []string
		for _, item := range selected {
			lines = append(lines, strings.Replace(item, " ", "/", 1))
			want = append(want, mappedItem(item, mapping))
		}
		file := filepath.Join(t.TempDir(), "only")
		must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
		code, printed := runVeltui(
			t,
			"restore",
			"create",
			name,
			"--from-backup",
			full,
			"--namespace-mappings",
			strings.Join(pairs, ","),
			"--only-from",
			file,
			"--preflight",
			"look",
			"--accept-obstacles",
			"--yes",
			"-o",
			"json",
		)
		var d struct {
			Plan    struct{ Will []string }
			Outcome struct{ State, Sent, Message string }
		}
		if err := json.Unmarshal(document(printed), &d); err != nil || code != 0 || d.Outcome.Sent != "landed" {
			if theLab.Version != "v1.18.3" && code == exitRefused &&
				strings.Contains(printed, "cannot restore selected objects") {
				return // it would restore other objects, or none
			}
			t.Fatalf("%s ended with %d, %v:\n%s", name, code, err, printed)
		}
		ended(t, "Restore", name)
		came := restoredItems(t, name)
		added, lost := 0, 0
		for _, will := range d.Plan.Will {
			if m := adds.FindStringSubmatch(will); m != nil {
				added, _ = strconv.Atoi(m[1])
				if added <= 5 {
					for _, item := range regexp.MustCompile(`, | and `).Split(m[2], -1) {
						if is := mappedItem(strings.Replace(item, "/", " ", 1), mapping); !slices.Contains(came, is) {
							t.Errorf("%s: %s was announced and did not come", name, is)
						}
					}
				}
			}
			if m := leaves.FindStringSubmatch(will); m != nil {
				lost, _ = strconv.Atoi(m[1])
			}
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(item string) bool { return slices.Contains(came, item) })
		more := slices.DeleteFunc(slices.Clone(came), func(item string) bool { return slices.Contains(want, item) })
		if len(missing) != lost || len(more) != added {
			t.Errorf(
				"%s: selected %q\nannounced %d more and %d left out\nmissing %q\nmore %q\n%s",
				name,
				selected,
				added,
				lost,
				missing,
				more,
				strings.Join(d.Plan.Will, "\n"),
			)
		}
		var left corev1.ConfigMap
		if err := theLab.Client.Get(
			patient(t),
			client.ObjectKey{Namespace: lab.Namespace, Name: "veltui-" + name},
			&left,
		); !apierrors.IsNotFound(
			err,
		) {
			t.Errorf("%s: the ConfigMap is left: %v", name, err)
		}
		t.Logf("%s: %d selected, %d added, %d left out", name, len(selected), added, lost)
	}
}

// mappedItem is an item as the restore lists it.
func mappedItem(item string, mapping map[string]string) string {
	resource, name, _ := strings.Cut(item, " ")
	if resource == "namespaces" && mapping[name] != "" {
		return resource + " " + mapping[name]
	}
	namespace, rest, found := strings.Cut(name, "/")
	if into := mapping[namespace]; found && into != "" {
		return resource + " " + into + "/" + rest
	}
	return item
}
