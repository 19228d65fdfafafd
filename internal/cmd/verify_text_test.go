package cmd

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
)

// TestVerificationIsPrinted with the first of what did not come back, and with --all.
func TestVerificationIsPrinted(t *testing.T) {
	secrets := verify.Kind{Name: "secrets", CountByState: map[verify.State]int{verify.Failed: 7, verify.CreatedByOthers: 1}}
	for _, name := range strings.Split("abcdefg", "") {
		secrets.Items = append(secrets.Items, verify.Item{Namespace: "shop", Name: name, BackupNamespace: "ops", State: verify.Failed})
	}
	secrets.Items = append(secrets.Items, verify.Item{Namespace: "shop", Name: "h", State: verify.CreatedByOthers})
	result := verify.Result{
		Kinds: []verify.Kind{secrets, {
			Name:           "configmaps",
			CountByState:   map[verify.State]int{verify.Restored: 1, verify.LeftOut: 1},
			CountByContent: map[verify.ContentState]int{verify.Changed: 1},
			Items: []verify.Item{
				{Namespace: "shop", Name: "c", State: verify.Restored, Content: verify.Changed, Fields: []string{"data.a"}},
				{Namespace: "shop", Name: "d", State: verify.LeftOut},
			},
		}},
		CountByState:        map[verify.State]int{verify.Failed: 7, verify.CreatedByOthers: 1, verify.Restored: 1, verify.LeftOut: 1},
		IncompleteTransfers: []verify.IncompleteTransfer{{Name: "r-1", Target: "shop/db", Phase: "Failed", Lost: true}},
		Unchecked:           []live.Unchecked{{Resource: "pods", Namespace: "shop", Why: "you may not list it"}},
		Notes:               []string{"The list is not there."},
		InProgress:          true,
	}
	const head = `restore velero/r, phase InProgress: 7 of 9 items are not there yet; the data of 1 volume did not come back
The restore has not ended. These are the results so far.

data of volumes
  not moved        shop/db: r-1 is Failed

secrets
`
	const tail = `
other content
  changed          configmaps shop/c: differs in data.a

RESOURCE     EXPECTED   PRESENT   MISSING   OF THESE
secrets             8         1         7   7 failed, 1 made again
configmaps          1         1         0   1 changed
The restore's filters left out 1 item of the backup.

Unchecked:
  - pods in shop: you may not list it

Notes:
  - The list is not there.
`
	const failed = "  failed           shop/%s from ops\n"
	named := func(names string) (text string) {
		for _, name := range strings.Split(names, "") {
			text += strings.Replace(failed, "%s", name, 1)
		}
		return text
	}
	j := &job.Job{Kind: job.Restore, Namespace: "velero", Name: "r", Phase: "InProgress"}
	for all, want := range map[bool]string{
		false: head + named("abcde") + "  failed           and 2 more (--all)\n" + tail,
		true:  head + named("abcdefg") + "  made again       shop/h\n" + tail,
	} {
		var out strings.Builder
		l := newLinePrinter(&out)
		l.addVerification(assess.JudgedJob{Job: j}, &result, all)
		if out.String() != want || l.Err() != nil {
			t.Errorf("all: %t, %v\ngot:\n%s\nwant:\n%s", all, l.Err(), out.String(), want)
		}
	}
}
