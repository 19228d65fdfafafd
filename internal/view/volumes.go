package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// volumePhases explains the phases of a volume's resource (docs/dev/velero.md#volumes), with the word for the state
// of a volume in that phase.
var volumePhases = map[string]struct{ state, meaning string }{
	"":                      {"queued", "no node-agent has looked at it yet"},
	velero.VolumeNew:        {"queued", "it waits for its turn to be prepared"},
	velero.VolumeAccepted:   {"preparing", "a node-agent prepares it: the snapshot, a claim and the pod that moves it"},
	velero.VolumePrepared:   {"waiting", "it is ready, and waits for a slot on its node"},
	velero.VolumeInProgress: {"moving", "its bytes are moved"},
	velero.VolumeCanceling:  {"cancelling", "a cancel was requested, and its pod ends"},
	velero.VolumeCanceled:   {"cancelled", "it was cancelled before all of it was moved"},
	velero.VolumeCompleted:  {"done", "all of it was moved"},
	velero.VolumeFailed:     {"failed", "it could not be moved"},
}

// VolumePhase returns the phase of a volume's resource, with its meaning.
func VolumePhase(phase string) string {
	return cmp.Or(phase, none) + human.Prefixed(": ", volumePhases[phase].meaning)
}

// VolumeState returns the state of a volume in a word.
func VolumeState(r *assess.VolumeRecord) MarkedState {
	switch r.State() {
	case assess.VolumeDone:
		return markState(MarkDone, Good, "done")
	case assess.VolumeSkipped:
		return markState(MarkSkipped, Dim, "skipped")
	case assess.VolumeUnreported:
		return markState(MarkUnknown, Dim, "unknown")
	case assess.VolumeFailed:
		word := "failed"
		if r.Volume != nil && r.Volume.Phase == velero.VolumeCanceled ||
			r.Volume == nil && r.Info.Phase == velero.VolumeCanceled {
			word = "cancelled"
		}
		return markState(MarkFailed, Bad, word)
	}
	word := cmp.Or(volumePhases[r.Volume.Phase].state, r.Volume.Phase)
	switch {
	case r.Volume.Verdict.Stuck:
		return markState(MarkAttention, Bad, word)
	case r.Volume.Phase == velero.VolumeInProgress:
		return markState(MarkNow, Running, word)
	}
	return markState(MarkAhead, Waiting, word)
}

// VolumeRow is a volume in the list of its job's volumes.
type VolumeRow struct {
	*assess.VolumeRecord
	Job *job.Job
	Now time.Time // by the cluster's clock
}

// The columns of the volumes of a running job, and of an ended job. Only the screen shows them.
var (
	movingVolumeColumns = []Column{
		{Name: "volume", CutMiddle: true, Screen: ScreenColumn{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60}},
		{Name: "state", Screen: ScreenColumn{Title: "STATE", Width: 10}},
		{
			Name: VolumeProgress, Priority: 1,
			Screen: ScreenColumn{Title: "PROGRESS", Width: 14, Grow: 1, Limit: 30},
		},
		{Name: "done", Screen: ScreenColumn{Title: "DONE", Width: 10, Right: true}},
		{Name: "rate", Priority: 3, Screen: ScreenColumn{Title: "RATE", Width: 8, Right: true}},
		{Name: "eta", Priority: 2, Screen: ScreenColumn{Title: "ETA", Width: 6, Right: true}},
		{Name: "node", Priority: 4, Screen: ScreenColumn{Title: "NODE", Width: 12, Grow: 1, Limit: 30}},
		{Name: "method", Priority: 5, Screen: ScreenColumn{Title: "HOW", Width: 24, Grow: 1, Limit: 36}},
		{Name: "changed", Priority: 6, Screen: ScreenColumn{Title: "CHANGED", Width: 8, Right: true}},
		{Name: "pod", Priority: 7, Screen: ScreenColumn{Title: "POD", Width: 24, Grow: 1, Limit: 60}},
	}
	endedVolumeColumns = []Column{
		{Name: "volume", CutMiddle: true, Screen: ScreenColumn{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60}},
		{Name: "state", Screen: ScreenColumn{Title: "STATE", Width: 9}},
		{Name: "method", Priority: 1, Screen: ScreenColumn{Title: "HOW", Width: 24, Grow: 1, Limit: 44}},
		{Name: "size", Screen: ScreenColumn{Title: "SIZE", Width: 9, Right: true}},
		{Name: "took", Priority: 2, Screen: ScreenColumn{Title: "TOOK", Width: 7, Right: true}},
		{Name: "new", Priority: 4, Screen: ScreenColumn{Title: "NEW", Width: 7, Right: true}},
		{Name: "node", Priority: 3, Screen: ScreenColumn{Title: "NODE", Width: 12, Grow: 1, Limit: 30}},
		{Name: "pod", Priority: 5, Screen: ScreenColumn{Title: "POD", Width: 24, Grow: 1, Limit: 60}},
	}
)

// VolumeProgress is the name of the column for which the screen draws a bar. The cell sorts by the fraction done.
const VolumeProgress = "progress"

// VolumeColumns returns the columns of a job's volumes.
func VolumeColumns(j *job.Job) []Column {
	if j.IsTerminal() {
		return endedVolumeColumns
	}
	return movingVolumeColumns
}

// Cells returns the cells of the row, under the columns of its job.
func (r VolumeRow) Cells() []Cell {
	columns := VolumeColumns(r.Job)
	cells := make([]Cell, len(columns))
	for i, c := range columns {
		cells[i] = r.newCell(c.Name)
	}
	return cells
}

func (r VolumeRow) newCell(column string) Cell {
	done, total := r.MovedBytes()
	switch column {
	case "volume":
		return TextCell(Plain, r.Name())
	case "state":
		return StateCell(VolumeState(r.VolumeRecord).Text)
	case "method":
		if r.Job.IsTerminal() {
			return TextCell(Plain, r.MethodText())
		}
		return TextCell(Dim, r.MethodText())
	case "node":
		return TextCell(Dim, r.Node())
	case "pod":
		return TextCell(Dim, r.Pod())
	case "new":
		return bytesCell(Dim, r.IncrementalBytes())
	case "took":
		if began, ended := r.Times(); !began.IsZero() && ended.After(began) {
			return TextCell(Dim, human.Duration(ended.Sub(began)))
		}
	case "done":
		if r.Volume != nil {
			return TextCell(Plain, human.BytesProgress(done, total))
		}
		return bytesCell(Plain, total)
	case "size":
		if r.Volume != nil && r.State() == assess.VolumeFailed {
			return TextCell(Plain, human.BytesProgress(done, total))
		}
		return bytesCell(Plain, total)
	}
	if r.Volume == nil {
		return Cell{}
	}
	return movedCell(r.Volume, column, r.Now)
}

// movedCell returns a cell that only a volume whose bytes are moved has.
func movedCell(v *assess.JudgedVolume, column string, now time.Time) Cell {
	switch column {
	case VolumeProgress:
		if fraction, known := v.Fraction(); known {
			percent := human.Percent(fraction)
			return Cell{Text: Text{Text: percent}, PrintedText: percent, SortKey: fraction}
		}
	case "rate":
		return TextCell(Plain, v.Rate.String())
	case "eta":
		return TextCell(Plain, v.ETA.String())
	case "changed":
		return AgeCell(Dim, v.LastChanged, now, "")
	}
	return Cell{}
}

func bytesCell(tone Tone, n int64) Cell {
	if n <= 0 {
		return Cell{}
	}
	return TextCell(tone, human.Bytes(n))
}

// Notes say why a volume is skipped, what it waits for, or why it failed.
func (r VolumeRow) Notes() []Text {
	notes := []Text{Toned(Dim, r.SkippedReason())}
	if v := r.Volume; v != nil {
		cause := Dim
		if v.Verdict.Stuck {
			cause = Bad
		}
		notes = append(
			notes,
			Toned(Bad, human.Prefixed(v.Name+" is malformed: ", volumeDefect(v))),
			Toned(cause, v.Verdict.Cause),
			Toned(VolumeState(r.VolumeRecord).Tone, v.Message),
		)
	}
	return slices.DeleteFunc(notes, func(t Text) bool { return t.Text == "" })
}

// volumeDefect returns the field that Velero cannot read, empty for none.
func volumeDefect(v *assess.JudgedVolume) string {
	if v.MalformedField == (decode.MalformedField{}) {
		return ""
	}
	return v.MalformedField.String()
}

// Fields are all that is known of the volume.
func (r VolumeRow) Fields() []PageField {
	claim, method := r.Claim(), "Saved by"
	if claim == "" && r.Info != nil {
		claim = "none: the pod's volume has no claim"
	}
	if r.Job.Kind == job.Restore {
		method = "Restored by"
	}
	done, total := r.MovedBytes()
	fields := plainFields("Claim", claim, "Pod", r.Pod(), "Not saved", r.SkippedReason(), method, r.MethodText())
	if v := r.Volume; v != nil {
		fields = append(fields, movedFields(v, r.Now)...)
	} else {
		done = 0
	}
	fields = append(fields, plainFields(
		"Node", r.Node(), "Done", exactBytes(done), "Size", exactBytes(total), "New", exactBytes(r.IncrementalBytes()),
		"Snapshot", r.SnapshotHandle(), "Operation", r.OperationID(),
	)...)
	fields = append(fields, storedFields(r.VolumeRecord)...)
	if v := r.Volume; v != nil {
		fields = append(fields, plainFields(
			"Created", MomentWithAge(v.Created, r.Now), "Accepted", MomentWithAge(v.Accepted, r.Now),
		)...)
	}
	began, ended := r.Times()
	return append(fields, plainFields(
		"Started", MomentWithAge(began, r.Now), "Completed", MomentWithAge(ended, r.Now),
	)...)
}

// movedFields are what the resource that moves a volume says.
func movedFields(v *assess.JudgedVolume, now time.Time) []PageField {
	return plainFields(
		"Resource", v.Ref().String(), "Phase", VolumePhase(v.Phase), "Malformed", volumeDefect(v),
		"Cause", v.Verdict.Cause, "Message", v.Message, "Rate", v.Rate.String(), "Time left", v.ETA.String(),
		"Uploader", v.Uploader, "Data mover", v.DataMover,
		"Cancel", textIf(v.CancelRequested, "requested (spec.cancel)"), "Last change", MomentWithAge(v.LastChanged, now),
	)
}

// storedFields are what the stored volume info says.
func storedFields(r *assess.VolumeRecord) []PageField {
	i := r.Info
	if i == nil {
		return nil
	}
	return plainFields(
		"Volume", i.PersistentVolume, "Result", i.Result, "CSI driver", i.CSIDriver,
		"Data mover", i.DataMover, "Uploader", i.Uploader, "Content", i.SnapshotContent,
		"CSI snapshot", textIf(i.DataMoved, i.LocalSnapshotHandle),
		"Snapshot size", textIf(i.DataMoved && i.LocalSnapshotSize != i.Size, exactBytes(i.LocalSnapshotSize)),
		"Kept", textIf(i.LocalSnapshotPreserved, "the snapshot stays in the cluster"), "Retained", i.RetainedSnapshot,
		"Volume type", i.VolumeType, "Zone", i.Zone, "IOPS", textIf(i.IOPS != "0", i.IOPS),
	)
}

// exactBytes formats a size in a readable unit and in bytes; it is empty for 0, which means unknown.
func exactBytes(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1024:
		return human.Count(n, "byte")
	}
	return fmt.Sprintf("%s (%s)", human.Bytes(n), human.Count(n, "byte"))
}

// VolumeLine describes a volume in one line, in parts.
type VolumeLine struct {
	Resource string // the kind and name
	Target   string // the claim, or the pod's volume
	State    string
	Node     string
	Details  []string // how far it is, its rate and the time left
	Cause    string   // what it waits for
	Message  string   // the node-agent's
}

// NewVolumeLine describes a volume in one line. Of a volume that has not ended it has the phase, too.
func NewVolumeLine(v *assess.JudgedVolume) VolumeLine {
	l := VolumeLine{
		Resource: string(v.Kind) + " " + v.Name,
		Target:   v.Target,
		State:    VolumeState(&assess.VolumeRecord{Volume: v}).Text.Text,
		Node:     v.Node,
		Cause:    v.Verdict.Cause,
		Message:  v.Message,
	}
	if !v.HasEnded() {
		l.State += human.InParens(cmp.Or(v.Phase, velero.VolumeNew))
	}
	if v.Total > 0 {
		l.Details = append(l.Details, human.BytesProgress(v.Done, v.Total))
	}
	if v.Rate.Known {
		l.Details = append(l.Details, v.Rate.String())
	}
	if v.ETA.Known {
		l.Details = append(l.Details, v.ETA.String()+" left")
	}
	return l
}

// String returns the line.
func (l VolumeLine) String() string { return l.Phrase().Text }

// Phrase returns the line with its names as quotes.
func (l VolumeLine) Phrase() Text {
	line := Phrase("%s of %s: %s", Quote(l.Resource), Quote(l.Target), l.State)
	if l.Node != "" {
		line = Phrase("%s on node %s", line, Quote(l.Node))
	}
	for _, more := range append(slices.Clone(l.Details), l.Cause, l.Message) {
		if more != "" {
			line = Phrase("%s, %s", line, more)
		}
	}
	return line
}

// VolumeCounts returns, by kind, how many volumes are in each phase.
func VolumeCounts(volumes []job.Volume) []PageField {
	counts, phases := map[string]int{}, map[string]map[string]int{}
	for i := range volumes {
		kind := string(volumes[i].Kind)
		if counts[kind]++; phases[kind] == nil {
			phases[kind] = map[string]int{}
		}
		phases[kind][cmp.Or(volumes[i].Phase, velero.VolumeNew)]++
	}
	var fields []PageField
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fields = append(fields, PageField{
			Label: kind + "s",
			Text:  Toned(Plain, fmt.Sprintf("%d: %s", counts[kind], human.TopCounts(phases[kind], -1))),
		})
	}
	return fields
}

// VolumeHoldup says which of several volumes holds their job up, empty if none does. The row of the volume says why.
func VolumeHoldup(volumes []assess.JudgedVolume) string {
	last := assess.FindBlockingVolume(volumes)
	if last == nil {
		return ""
	}
	text := "Held up by " + last.DisplayName()
	if last.ETA.Known {
		text += ", " + last.ETA.String() + " left"
	}
	return text
}

// NoVolumes says that a job has no volumes. infoKnown is true if the stored volume info has none either.
func NoVolumes(j *job.Job, infoKnown bool) string {
	switch {
	case infoKnown && j.Kind == job.Backup:
		return "The backup holds no volume, and skipped none."
	case infoKnown:
		return "The restore restored no volume."
	}
	return "No volume data is moved for this job" + soFar(j) + "."
}

// soFar follows what is said of a count that may still grow; it is empty for an ended job.
func soFar(j *job.Job) string {
	if j.IsTerminal() {
		return ""
	}
	return " so far"
}

const none = "none"

// plainFields returns fields without a tone, from labels with their texts. It leaves out empty texts.
func plainFields(labelsAndTexts ...string) []PageField {
	var fields []PageField
	for pair := range slices.Chunk(labelsAndTexts, 2) {
		if strings.TrimSpace(pair[1]) != "" {
			fields = append(fields, PageField{Label: pair[0], Text: Toned(Plain, pair[1])})
		}
	}
	return fields
}

// textIf returns the text if holds is true, else an empty one.
func textIf(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}
