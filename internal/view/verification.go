package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
)

// Verification describes what came back of a restore.
type Verification struct {
	Summary   Text          // a clause about the state of the restore
	Volumes   VerifiedGroup // the data of volumes; without items there are none
	Resources []VerifiedGroup
	// BoundText counts the bound claims and the volumes that have their data, LeftOutText the items that the restore's
	// filters left out. Both may be empty.
	BoundText, LeftOutText string
	Unchecked              []string // what could not be checked, and why
	Notes                  []string
}

// VerifiedGroup holds the items of a resource, or the volumes.
type VerifiedGroup struct {
	Name        string
	WantedCount int            // the number of items that should come back
	Cells       []Cell         // those of VerificationColumns
	Items       []VerifiedItem // those that need attention come first
	// AttentionCount is the number of items that need attention. OpenByDefault is true if the items should be shown at
	// once.
	AttentionCount int
	OpenByDefault  bool
}

// VerifiedItem is an item of a restore, a volume or a claim.
type VerifiedItem struct {
	State           Text
	Outcome         VerifiedOutcome
	Name            string
	BackupNamespace string // its namespace in the backup, if different, with its name if that is
	Reason          string // the reason for its state, empty if the state says everything
}

// OriginAndReason returns the item's origin and the reason for its state, to follow its name.
func (i VerifiedItem) OriginAndReason() string {
	return human.Prefixed(" from ", i.BackupNamespace) + human.Prefixed(": ", i.Reason)
}

// VerifiedOutcome is the importance of an item's state.
type VerifiedOutcome int

// The outcomes.
const (
	OutcomeLost      VerifiedOutcome = iota // the item did not come back
	OutcomeUncertain                        // the item's state is unknown, or not final
	OutcomeChanged                          // the item exists with different content
	OutcomeOther                            // the item came back in another way, or was not to come back
	OutcomeExpected                         // the item is as the restore should have made it
)

// VerificationColumns are the columns of the groups of a verification. For some counts that have a column on the
// screen, commands print the last column instead.
var VerificationColumns = []Column{
	{Name: "resource", Screen: ScreenColumn{Title: "RESOURCE", Width: 22, Grow: 1, Limit: 60}},
	{Name: "expected", Right: true, Screen: ScreenColumn{Title: "EXPECTED", Width: 8, Right: true}},
	{Name: "present", Right: true, Screen: ScreenColumn{Title: "PRESENT", Width: 7, Right: true}},
	{Name: "missing", Right: true, Screen: ScreenColumn{Title: "MISSING", Width: 7, Right: true}},
	{
		Name: "unknown", Priority: 1, ScreenOnly: true,
		Screen: ScreenColumn{Title: "UNKNOWN", Width: 8, Right: true},
	},
	{
		Name: "transient", Priority: 2, ScreenOnly: true,
		Screen: ScreenColumn{Title: "TRANSIENT", Width: 9, Right: true},
	},
	{Name: "of these"},
}

// NewVerification describes a verification.
func NewVerification(r *verify.Result) Verification {
	v := Verification{
		Summary:   VerificationSummary(r),
		Volumes:   newVolumesGroup(r),
		BoundText: r.VolumeSummary(),
		Notes:     r.Notes,
	}
	for n := range r.Kinds {
		v.Resources = append(v.Resources, newResourceGroup(&r.Kinds[n]))
	}
	if n := r.CountByState[verify.LeftOut]; n > 0 {
		v.LeftOutText = "The restore's filters left out " + human.Count(n, "item") + " of the backup."
	}
	for _, not := range r.Unchecked {
		v.Unchecked = append(v.Unchecked, not.Resource+human.Prefixed(" in ", not.Namespace)+": "+not.Why)
	}
	return v
}

// VerificationSummary returns the state of a verified restore, as a clause.
func VerificationSummary(r *verify.Result) Text {
	tone := Good
	switch {
	case r.CountLost() > 0:
		tone = Bad
	case !r.IsSettled() || r.CountChanged() > 0:
		tone = Waiting
	}
	return Toned(tone, r.Summary())
}

// VerificationProgressText returns what a verification does now; progress is nil before it searches the cluster.
func VerificationProgressText(progress *live.Progress) string {
	switch {
	case progress == nil:
		return "reading what was to come back"
	case progress.Done == progress.Total:
		return "looking at claims and volumes"
	}
	return SearchProgressText(*progress)
}

// SearchProgressText returns what a search of the cluster looks for now.
func SearchProgressText(p live.Progress) string {
	return fmt.Sprintf("looking for %s: %d of %d lists", p.Resource, p.Done, p.Total)
}

// ComparisonProgressText returns the progress of a comparison of contents.
func ComparisonProgressText(progress string) string {
	return "comparing contents" + human.InParens(progress)
}

// maxResourceLength is the longest name of a resource that commands print uncut.
const maxResourceLength = 50

// verifiedCounts are the counts in the columns of a verification.
type verifiedCounts struct{ expected, present, missing, unknown, transient int }

func (n verifiedCounts) buildCells(name string, these []string) []Cell {
	tone := Plain
	switch {
	case n.missing > 0:
		tone = Bad
	case n.expected == 0:
		tone = Dim
	}
	cells := []Cell{{Text: Toned(tone, name), PrintedText: human.Shorten(name, maxResourceLength), SortKey: name}}
	for i, count := range []int{n.expected, n.present, n.missing, n.unknown, n.transient} {
		cells = append(cells, NumberCell([]Tone{Plain, Plain, Bad, Waiting, Plain}[i], count, NonZeroText(count)))
	}
	return append(cells, TextCell(Plain, strings.Join(these, ", ")))
}

// itemOutcomes are the outcomes of the states other than losses.
var itemOutcomes = map[verify.State]VerifiedOutcome{
	verify.Unchecked:       OutcomeUncertain,
	verify.CreatedByOthers: OutcomeOther,
	verify.Transient:       OutcomeOther,
	verify.Existed:         OutcomeExpected,
	verify.Restored:        OutcomeExpected,
	verify.LeftOut:         OutcomeExpected,
}

// itemTones are the tones of some states other than losses; all others are OK.
var itemTones = map[verify.State]Tone{verify.Unchecked: Waiting, verify.LeftOut: Dim, verify.Transient: Dim}

// narrowStates are shorter words for states.
var narrowStates = map[verify.State]string{verify.Differs: "differs", verify.Transient: "comes, goes"}

func newResourceGroup(k *verify.Kind) VerifiedGroup {
	g := VerifiedGroup{
		Name:          k.Name,
		WantedCount:   k.CountWanted(),
		Items:         make([]VerifiedItem, len(k.Items)),
		OpenByDefault: k.CountLost()+k.CountDiffering() > 0,
	}
	var these []string
	for _, state := range verify.States {
		if n := k.CountByState[state]; n > 0 && state != verify.Restored && state != verify.LeftOut {
			these = append(these, fmt.Sprintf("%d %s", n, state.Label()))
		}
	}
	for _, content := range verify.ContentStates {
		if n := k.CountByContent[content]; n > 0 {
			these = append(these, fmt.Sprintf("%d %s", n, content.Label()))
		}
	}
	g.Cells = verifiedCounts{
		g.WantedCount, k.CountPresent(), k.CountLost(), k.CountByState[verify.Unchecked], k.CountByState[verify.Transient],
	}.buildCells(k.Name, these)
	for i := range k.Items {
		g.Items[i] = newVerifiedItem(&k.Items[i])
	}
	g.countAttention()
	return g
}

// backupPlace returns where the backup has an item, empty if that is where it came back.
func backupPlace(i *verify.Item) string {
	if i.BackupName == "" {
		return i.BackupNamespace
	}
	return human.Namespaced(cmp.Or(i.BackupNamespace, i.Namespace), i.BackupName)
}

func newVerifiedItem(i *verify.Item) VerifiedItem {
	item := VerifiedItem{
		State:           Toned(Good, i.State.Label()),
		Outcome:         itemOutcomes[i.State], // OutcomeLost for all other states
		Name:            human.Namespaced(i.Namespace, i.Name),
		BackupNamespace: backupPlace(i),
		Reason:          i.Reason(),
	}
	if tone, known := itemTones[i.State]; known {
		item.State.Tone = tone
	}
	if narrow, known := narrowStates[i.State]; known {
		item.State.Narrow = []string{narrow}
	}
	switch {
	case i.State.IsLost():
		item.State.Tone = Bad
	case !slices.Contains(verify.ContentStates, i.Content):
	case i.Content.IsLost():
		item.State, item.Outcome = Toned(Bad, i.Content.Label()), OutcomeLost
	default:
		item.State, item.Outcome = Toned(Waiting, i.Content.Label()), OutcomeChanged
	}
	return item
}

// dataTones and dataOutcomes are for the states of a volume's data; all others are OK and OutcomeExpected.
var (
	dataTones = map[verify.DataState]Tone{
		verify.DataEmpty:   Bad,
		verify.DataUnknown: Waiting,
		verify.DataWaiting: Waiting,
		verify.DataLeftOut: Dim,
	}
	dataOutcomes = map[verify.DataState]VerifiedOutcome{
		verify.DataEmpty:   OutcomeLost,
		verify.DataUnknown: OutcomeUncertain,
		verify.DataWaiting: OutcomeUncertain,
		verify.DataLeftOut: OutcomeOther,
	}
)

func newVolumesGroup(r *verify.Result) VerifiedGroup {
	g := VerifiedGroup{Name: "data of volumes"}
	if len(r.Volumes)+len(r.Claims)+len(r.IncompleteTransfers) == 0 {
		return g
	}
	unsettled := func(lost bool, state, name, reason string) {
		item := VerifiedItem{State: Toned(Waiting, state), Outcome: OutcomeUncertain, Name: name, Reason: reason}
		if lost {
			item.State.Tone, item.Outcome = Bad, OutcomeLost
		}
		g.Items = append(g.Items, item)
	}
	for _, d := range r.IncompleteTransfers {
		unsettled(d.Lost, "not moved", d.Target, d.Summary())
	}
	data := map[string]verify.VolumeData{} // by claim
	for _, v := range r.Volumes {
		data[v.String()] = v
	}
	g.WantedCount = len(r.Volumes)
	count := verifiedCounts{expected: g.WantedCount, missing: r.CountLostVolumes()}
	for _, c := range r.Claims {
		name := c.Namespace + "/" + c.Name
		if data[name].Why != c.Why { // one line says it
			unsettled(c.Lost, "not bound", name, strings.TrimPrefix(c.Phase+": "+c.Why, ": "))
		}
		if c.Lost && data[name].State != verify.DataEmpty { // which is counted
			count.missing++
		}
	}
	for _, v := range r.Volumes {
		item := VerifiedItem{State: Toned(Good, v.State.Label()), Outcome: OutcomeExpected, Name: v.String(), Reason: v.Why}
		if tone, known := dataTones[v.State]; known {
			item.State.Tone, item.Outcome = tone, dataOutcomes[v.State]
		}
		switch {
		case v.State == verify.DataFailed: // its mover, which is among r.Data, needs the look
			item.State.Tone = Bad
		case v.State == verify.DataUnknown:
			count.unknown++
		case item.Outcome == OutcomeExpected:
			count.present++
		}
		g.Items = append(g.Items, item)
	}
	slices.SortStableFunc(g.Items, func(a, b VerifiedItem) int { return cmp.Compare(a.Outcome, b.Outcome) })
	g.Cells = count.buildCells(g.Name, nil)
	g.countAttention()
	g.OpenByDefault = g.AttentionCount > 0
	return g
}

// countAttention counts the items that need attention, which come first.
func (g *VerifiedGroup) countAttention() {
	g.AttentionCount = len(g.Items)
	if n := slices.IndexFunc(g.Items, func(i VerifiedItem) bool { return i.Outcome >= OutcomeOther }); n >= 0 {
		g.AttentionCount = n
	}
}
