package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
)

// verifiedLines are the items of a group as NAME|STATE|NARROW|tone|outcome|about.
func verifiedLines(g VerifiedGroup) (lines []string) {
	for _, i := range g.Items {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%d|%d|%s",
			i.Name, i.State.Text, i.State.FitWidth(13), i.State.Tone, i.Outcome, i.OriginAndReason()))
	}
	return lines
}

// TestVerificationOfItems describes each state of an item.
func TestVerificationOfItems(t *testing.T) {
	for _, c := range []struct {
		item verify.Item
		want string
	}{
		{verify.Item{State: verify.Failed, Why: "quota"}, fmt.Sprintf("failed|failed|%d|%d|: quota", Bad, OutcomeLost)},
		{verify.Item{State: verify.Missing}, fmt.Sprintf("missing|missing|%d|%d|", Bad, OutcomeLost)},
		{verify.Item{State: verify.Gone}, fmt.Sprintf("gone|gone|%d|%d|", Bad, OutcomeLost)},
		{verify.Item{State: verify.Deleting}, fmt.Sprintf("being deleted|being deleted|%d|%d|", Bad, OutcomeLost)},
		{
			verify.Item{State: verify.Differs, BackupNamespace: "ops"},
			fmt.Sprintf("existed, differs|differs|%d|%d| from ops", Bad, OutcomeLost),
		},
		{verify.Item{State: verify.Unchecked}, fmt.Sprintf("unchecked|unchecked|%d|%d|", Waiting, OutcomeUncertain)},
		{verify.Item{State: verify.CreatedByOthers}, fmt.Sprintf("made again|made again|%d|%d|", Good, OutcomeOther)},
		{verify.Item{State: verify.Transient}, fmt.Sprintf("comes and goes|comes, goes|%d|%d|", Dim, OutcomeOther)},
		{verify.Item{State: verify.Existed}, fmt.Sprintf("existed|existed|%d|%d|", Good, OutcomeExpected)},
		{verify.Item{State: verify.Restored}, fmt.Sprintf("restored|restored|%d|%d|", Good, OutcomeExpected)},
		{verify.Item{State: verify.LeftOut}, fmt.Sprintf("left out|left out|%d|%d|", Dim, OutcomeExpected)},
		{
			verify.Item{State: verify.Restored, Content: verify.Emptied, Fields: []string{"data.a"}},
			fmt.Sprintf("emptied|emptied|%d|%d|: differs in data.a", Bad, OutcomeLost),
		},
		{
			verify.Item{State: verify.Restored, Content: verify.Scaled},
			fmt.Sprintf("scaled|scaled|%d|%d|", Waiting, OutcomeChanged),
		},
		{
			verify.Item{State: verify.Gone, Content: verify.Changed},
			fmt.Sprintf("gone|gone|%d|%d|", Bad, OutcomeLost),
		},
		{
			verify.Item{State: verify.Restored, Content: verify.Same},
			fmt.Sprintf("restored|restored|%d|%d|", Good, OutcomeExpected),
		},
	} {
		c.item.Namespace, c.item.Name = "shop", "web"
		v := NewVerification(&verify.Result{Kinds: []verify.Kind{{Name: "secrets", Items: []verify.Item{c.item}}}})
		if got := verifiedLines(v.Resources[0]); !slices.Equal(got, []string{"shop/web|" + c.want}) {
			t.Errorf("%+v: %q, want %q", c.item, got, c.want)
		}
	}
	for _, state := range verify.States {
		if _, known := itemOutcomes[state]; known == state.IsLost() {
			t.Errorf("%s: an outcome of its own: %t, lost: %t", state, known, state.IsLost())
		}
	}
}

// TestVerificationOfVolumes puts what is lost first, and says of a failed volume what its mover does.
func TestVerificationOfVolumes(t *testing.T) {
	volume := func(claim string, state verify.DataState) verify.VolumeData {
		return verify.VolumeData{Namespace: "shop", Claim: claim, State: state}
	}
	v := NewVerification(&verify.Result{
		Volumes: []verify.VolumeData{
			volume("a", verify.DataEmpty), volume("b", verify.DataFailed), volume("c", verify.DataUnknown),
			volume("d", verify.DataWaiting), volume("e", verify.DataLeftOut), volume("f", verify.DataExisted),
			volume("g", verify.DataKept), volume("h", verify.DataRestored),
		},
		Claims:              []verify.Claim{{Namespace: "shop", Name: "i", Phase: "Pending", Why: "it waits for its volume"}},
		IncompleteTransfers: []verify.IncompleteTransfer{{Name: "r-1", Target: "shop/b", Phase: "Failed", Lost: true}},
	})
	want := []string{
		fmt.Sprintf("shop/b|not moved|not moved|%d|%d|: r-1 is Failed", Bad, OutcomeLost),
		fmt.Sprintf("shop/a|without data|without data|%d|%d|", Bad, OutcomeLost),
		fmt.Sprintf("shop/i|not bound|not bound|%d|%d|: Pending: it waits for its volume", Waiting, OutcomeUncertain),
		fmt.Sprintf("shop/c|not known|not known|%d|%d|", Waiting, OutcomeUncertain),
		fmt.Sprintf("shop/d|waiting|waiting|%d|%d|", Waiting, OutcomeUncertain),
		fmt.Sprintf("shop/e|left out|left out|%d|%d|", Dim, OutcomeOther),
		fmt.Sprintf("shop/b|failed|failed|%d|%d|", Bad, OutcomeExpected),
		fmt.Sprintf("shop/f|existed|existed|%d|%d|", Good, OutcomeExpected),
		fmt.Sprintf("shop/g|kept|kept|%d|%d|", Good, OutcomeExpected),
		fmt.Sprintf("shop/h|restored|restored|%d|%d|", Good, OutcomeExpected),
	}
	if got := verifiedLines(v.Volumes); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v.Volumes.AttentionCount != 5 || !v.Volumes.OpenByDefault || v.Volumes.WantedCount != 8 {
		t.Errorf("%+v", v.Volumes)
	}
	if got := printedCells(v.Volumes.Cells); got != "data of volumes 8 3 2 1 0 " {
		t.Errorf("%q", got)
	}
}

// TestClaimIsNamedOnce: a claim that cannot be bound has no data for the same reason, which one line says.
func TestClaimIsNamedOnce(t *testing.T) {
	const why = "volume pv can never be bound to it: it is not there"
	claim := verify.Claim{Namespace: "shop", Name: "a", Phase: "Pending", Lost: true, Why: why}
	v := NewVerification(&verify.Result{
		Volumes: []verify.VolumeData{{Namespace: "shop", Claim: "a", State: verify.DataEmpty, Why: why}},
		Claims:  []verify.Claim{claim, {Namespace: "shop", Name: "b", Phase: "Pending", Lost: true, Why: why}},
	})
	want := []string{
		fmt.Sprintf("shop/b|not bound|not bound|%d|%d|: Pending: %s", Bad, OutcomeLost, why),
		fmt.Sprintf("shop/a|without data|without data|%d|%d|: %s", Bad, OutcomeLost, why),
	}
	if got := verifiedLines(v.Volumes); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := printedCells(v.Volumes.Cells); got != "data of volumes 1 0 2 0 0 " {
		t.Errorf("%q", got)
	}
}

func printedCells(cells []Cell) string {
	var printed []string
	for _, c := range cells {
		printed = append(printed, c.PrintedText)
	}
	return strings.Join(printed, " ")
}

// TestVerificationCountsResources in the columns of the screen and, for commands, in words.
func TestVerificationCountsResources(t *testing.T) {
	v := NewVerification(&verify.Result{
		CountByState: map[verify.State]int{verify.Gone: 1, verify.LeftOut: 2},
		Kinds: []verify.Kind{
			{
				Name: "secrets",
				CountByState: map[verify.State]int{
					verify.Gone: 1, verify.Restored: 3, verify.Unchecked: 1, verify.Transient: 1, verify.LeftOut: 2,
				},
				CountByContent: map[verify.ContentState]int{verify.Changed: 2, verify.Same: 1},
			},
			{Name: strings.Repeat("x", 60), CountByState: map[verify.State]int{verify.LeftOut: 1}},
		},
		Unchecked: []live.Unchecked{
			{Resource: "pods", Namespace: "shop", Why: "you may not list it"}, {Resource: "nodes", Why: "no answer"},
		},
	})
	for i, want := range []string{
		"secrets 6 3 1 1 1 1 gone, 1 unchecked, 1 comes and goes, 2 changed",
		strings.Repeat("x", 47) + "... 0 0 0 0 0 ",
	} {
		if got := printedCells(v.Resources[i].Cells); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if len(v.Resources[i].Cells) != len(VerificationColumns) || v.Resources[i].OpenByDefault != (i == 0) {
			t.Errorf("%+v", v.Resources[i])
		}
	}
	if want := []string{"pods in shop: you may not list it", "nodes: no answer"}; !slices.Equal(v.Unchecked, want) {
		t.Errorf("%q", v.Unchecked)
	}
	if v.Summary.Tone != Bad || v.LeftOutText != "The restore's filters left out 2 items of the backup." {
		t.Errorf("%+v, %q", v.Summary, v.LeftOutText)
	}
}

// TestVerificationSteps says what is done until an answer is there.
func TestVerificationSteps(t *testing.T) {
	for want, got := range map[string]string{
		"reading what was to come back":        VerificationProgressText(nil),
		"looking for secrets: 3 of 9 lists":    VerificationProgressText(&live.Progress{Done: 3, Total: 9, Resource: "secrets"}),
		"looking at claims and volumes":        VerificationProgressText(&live.Progress{Done: 9, Total: 9}),
		"comparing contents":                   ComparisonProgressText(""),
		"comparing contents (reading: 3.0 MB)": ComparisonProgressText("reading: 3.0 MB"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
