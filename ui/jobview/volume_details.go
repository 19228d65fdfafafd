package jobview

import (
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/ui/draw"
)

// volumePhases explain the phases of a volume's resource (docs/dev/velero.md#volumes). Those of a volume that has
// not ended have a word for its row.
var volumePhases = map[string]struct{ word, meaning string }{
	"":               {"queued", "none: no node-agent has looked at it yet"},
	velero.VolumeNew: {"queued", ": it waits for its turn to be prepared"},
	velero.VolumeAccepted: {
		"preparing",
		": a node-agent prepares it: the snapshot, a claim and the pod that moves it",
	},
	velero.VolumePrepared:   {"waiting", ": it is ready, and waits for a slot on its node"},
	velero.VolumeInProgress: {"moving", ": its bytes are moved"},
	velero.VolumeCanceling:  {"cancelling", ": a cancel was requested, and its pod ends"},
	velero.VolumeCanceled:   {"", ": it was cancelled before all of it was moved"},
	velero.VolumeCompleted:  {"", ": all of it was moved"},
	velero.VolumeFailed:     {"", ": it could not be moved"},
}

func volumePhase(phase string) string { return phase + volumePhases[phase].meaning }

// belowRow says what a volume waits for, or why it failed or was skipped.
func belowRow(c draw.Canvas, r *assess.VolumeRecord) []string {
	lines, v := below(c, c.Theme.Dim, r.SkippedReason()), r.Moved
	if v == nil {
		return lines
	}
	_, _, style := volumeState(c, r)
	cause := c.Theme.Dim
	if v.Verdict.Stuck {
		cause = c.Theme.Bad
	}
	return slices.Concat(lines,
		below(c, c.Theme.Bad, when(v.Malformed != (decode.Malformed{}), v.Name+" is malformed: "+v.Malformed.String())),
		below(c, cause, v.Verdict.Cause),
		below(c, style, v.Message))
}

// recordTimes are when moving the data, or the snapshot, began and ended; zero if unknown.
func recordTimes(r *assess.VolumeRecord) (began, ended time.Time) {
	if v := r.Moved; v != nil {
		return v.Started, v.Completed
	}
	return r.Info.Started, r.Info.Completed
}

// details are all that is known of one volume, below its row.
func (p *volumesPage) details(c draw.Canvas, s *Screen, key string, r *assess.VolumeRecord) []string {
	claim, label := r.Claim(), "Saved by"
	if claim == "" && r.Info != nil {
		claim = "none: the pod's volume has no claim"
	}
	if s.job.Kind == job.Restore {
		label = "Restored by"
	}
	all := fields{{"Claim", claim}, {"Pod", r.Pod()}, {"Not saved", r.SkippedReason()}, {label, r.How()}}
	v := r.Moved
	if v != nil {
		all = append(all, fields{
			{"Resource", v.Ref().String()},
			{"Phase", volumePhase(v.Phase)},
			{"Malformed", when(v.Malformed != (decode.Malformed{}), v.Malformed.String())},
			{"Cause", v.Verdict.Cause}, {"Message", v.Message},
			{"Rate", v.Rate.String()}, {"Time left", v.ETA.String()},
			{"Uploader", v.Uploader}, {"Data mover", v.DataMover},
			{"Cancel", when(v.CancelAsked, "requested (spec.cancel)")},
			{"Last change", moment(c, v.Changed)},
		}...)
	}
	done, total := r.Bytes()
	all = append(all, fields{
		{"Node", r.Node()},
		{"Done", when(v != nil, exactBytes(done))}, {"Size", exactBytes(total)}, {"New", exactBytes(r.Incremental())},
		{"Snapshot", r.Handle()}, {"Operation", r.Operation()},
	}...)
	if i := r.Info; i != nil {
		all = append(all, fields{
			{"Volume", i.PersistentVolume}, {"Result", i.Result},
			{"CSI driver", i.CSIDriver}, {"Data mover", i.DataMover}, {"Uploader", i.Uploader}, {"Content", i.Content},
			{"CSI snapshot", when(i.DataMoved, i.LocalHandle)},
			{"Its size", when(i.DataMoved && i.LocalSize != i.Size, exactBytes(i.LocalSize))},
			{"Kept", when(i.Preserved, "the snapshot stays in the cluster")},
			{"Retained", i.Retained}, {"Volume type", i.VolumeType}, {"Zone", i.Zone},
			{"IOPS", when(i.IOPS != "0", i.IOPS)},
		}...)
	}
	if v != nil {
		all = append(all, fields{{"Created", moment(c, v.Created)}, {"Accepted", moment(c, v.Accepted)}}...)
	}
	began, ended := recordTimes(r)
	all = append(all, fields{{"Started", moment(c, began)}, {"Completed", moment(c, ended)}}...)
	return all.details(c, p.object(detailWidth(c), s, key, r)...)
}

// when is a text if something holds, else empty.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// exactBytes formats a size for people and in bytes; empty for 0, which is unknown.
func exactBytes(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1024:
		return human.Count(n, "byte")
	}
	return fmt.Sprintf("%s (%s)", human.Bytes(n), human.Count(n, "byte"))
}

// object is the spec of the volume's resource, or why it is not shown.
func (p *volumesPage) object(c draw.Canvas, s *Screen, key string, r *assess.VolumeRecord) []string {
	a := p.objects[key]
	switch {
	case r.Moved == nil || s.sources.Unavailable(cluster.Objects) != "" || a == nil:
		return nil
	case a.Known:
		lines := []string{"", c.Theme.Strong.Render("Spec of " + r.Moved.Name)}
		for _, line := range a.Value.Section("spec") {
			lines = append(lines, yamlLine(c, line))
		}
		return lines
	case a.Err != nil:
		return append([]string{""}, c.Para(c.Theme.Waiting, "Its spec is not known: "+a.Err.Error(), 3)...)
	}
	return []string{"", c.Theme.Dim.Render("Reading its spec...")}
}

// soFar qualifies what may still come; to an ended job nothing comes.
func soFar(j *job.Job) string {
	if j.Terminal() {
		return ""
	}
	return " so far"
}
