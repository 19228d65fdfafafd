package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// Document is what `describe -o json` prints.
type Document struct {
	document.Header
	// Job is the same as in a JobList; of what is no job, one of the others is there.
	Job             *document.Job             `json:"job,omitempty"`
	Schedule        *document.Schedule        `json:"schedule,omitempty"`
	StorageLocation *document.StorageLocation `json:"storageLocation,omitempty"`
	Repository      *document.Repository      `json:"repository,omitempty"`
	Deletion        *document.Deletion        `json:"deletion,omitempty"`
	Sections        []Section                 `json:"sections"`
}

// Section is a group of fields. The first one of a job has no title: it says how the job stands.
type Section struct {
	Title  string  `json:"title"`
	Fields []Field `json:"fields"`
}

// Field is one thing known of a job.
type Field struct {
	// Name is the field's name for machines: the one in the resource, if it is there. It is API.
	Name string `json:"name"`
	// Title is its name for people.
	Title string `json:"title"`
	// Values are what it says, one a line, and never none.
	Values []string `json:"values"`
	// At is the moment that the only value is, if it is one.
	At document.Moment `json:"at,omitzero"`
	// Unset is true where the resource says nothing; the values then are what Velero takes for that.
	Unset bool `json:"unset,omitempty"`
	// Note says in a few words what the values alone do not: how long ago.
	Note string    `json:"-"`
	Tone view.Tone `json:"-"`
	// DetailPage is where more of it is shown, if there is more.
	DetailPage PageName `json:"-"`
}

// PageName is the name of the page that shows the details of a field.
type PageName string

const (
	Results    PageName = "Results"
	Resources  PageName = "Resources"
	Volumes    PageName = "Volumes"
	Operations PageName = "Operations"
)

// The values of fields that are not set.
const (
	none   = "none"
	notSet = "not set"
)

// PageField returns the field as a page shows it.
func (f Field) PageField() view.PageField {
	text := view.Toned(f.Tone, strings.Join(f.Values, "\n"))
	if f.Unset && f.Tone == view.Plain {
		text.Tone = view.Dim
	}
	if f.Note != "" {
		text.Text += "  (" + f.Note + ")"
	}
	return view.PageField{Label: f.Title, Text: text}
}

// IsDefault reports whether the value is Velero's default.
func (f Field) IsDefault() bool {
	return f.Unset && !slices.Contains([]string{none, notSet}, f.Values[0])
}

// Job describes a job at the time now, in the time zone of now. around, which may be nil, has the requests to delete
// a backup and the kinds that could not be listed.
func Job(j assess.JudgedJob, around *assess.Assessment, now time.Time) []Section {
	if around == nil {
		around = &assess.Assessment{}
	}
	d := describer{job: j, now: now, version: versionOrCurrent(around.World.Server.Version)}
	d.describeStatus(around.World.DeletionRequests)
	d.describeProgress()
	d.addUnchecked(around.Snapshot)
	switch object := j.Object.(type) {
	case *veleroapi.Backup:
		d.describeBackup(object)
	case *veleroapi.Restore:
		d.describeRestore(object)
	}
	d.describeMetadata()
	return nonEmptySections(d.sections)
}

// versionOrCurrent returns a server's version, or the newest version if it is unknown.
func versionOrCurrent(server string) velero.Version {
	if v, known := velero.ParseVersion(server); known {
		return v
	}
	return velero.LatestReviewedVersion
}

type describer struct {
	job      assess.JudgedJob
	now      time.Time
	version  velero.Version // of the server
	sections []Section
}

func (d *describer) startSection(title string) {
	d.sections = append(d.sections, Section{Title: title})
}

func (d *describer) addField(f Field) {
	if len(f.Values) == 0 || len(f.Values) == 1 && f.Values[0] == "" {
		return
	}
	last := &d.sections[len(d.sections)-1]
	last.Fields = append(last.Fields, f)
}

func (d *describer) addText(name, title, value string) {
	d.addField(Field{Name: name, Title: title, Values: []string{value}})
}

// addMoment adds a time, or nothing if the time is zero.
func (d *describer) addMoment(name, title string, at time.Time) {
	if at.IsZero() {
		return
	}
	note := human.Ago(at, d.now)
	if at.After(d.now) {
		note = human.Until(at, d.now)
	}
	d.addField(Field{
		Name:   name,
		Title:  title,
		Values: []string{human.Moment(at, d.now)},
		Note:   note,
		At:     document.Moment{Time: at},
	})
}

// addList adds names on one line, or Velero's default if there are none.
func (d *describer) addList(name, title string, values []string, otherwise string) {
	f := Field{Name: name, Title: title, Values: []string{strings.Join(values, ", ")}}
	if len(values) == 0 {
		f.Values, f.Unset = []string{otherwise}, true
	}
	d.addField(f)
}

// addOption adds a setting, or Velero's default if the setting is empty.
func (d *describer) addOption(name, title, value, otherwise string) {
	d.addList(name, title, singleValue(value), otherwise)
}

func (d *describer) addBoolean(name, title string, value *bool, yes, no, otherwise string) {
	switch {
	case value == nil:
		d.addOption(name, title, "", otherwise)
	case *value:
		d.addText(name, title, yes)
	default:
		d.addText(name, title, no)
	}
}

func (d *describer) addDuration(name, title string, value metav1.Duration) {
	d.addOption(name, title, view.ExactDuration(value.Duration), notSet)
}

// addPairs adds a map, with one pair per line.
func (d *describer) addPairs(name, title string, pairs map[string]string, between string) {
	f := Field{Name: name, Title: title}
	if len(pairs) == 0 {
		f.Values, f.Unset = []string{none}, true
	}
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		f.Values = append(f.Values, key+between+pairs[key])
	}
	d.addField(f)
}

func singleValue(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (d *describer) describeStatus(deletions []diagnosis.DeletionRequest) {
	j := d.job
	d.startSection("")
	phase := view.JobPhase(j.Job)
	if j.Deleting {
		phase += " (being deleted)"
	}
	note := ""
	if j.Phase == "" {
		note = "Velero has not picked it up yet"
	}
	d.addField(Field{Name: "phase", Title: "Phase", Values: []string{phase}, Note: note})
	if j.QueuePosition > 0 {
		d.addText("queuePosition", "Queue position", fmt.Sprint(j.QueuePosition))
	}
	d.addMoment("started", "Started", j.Started)
	if j.Started.IsZero() {
		d.addMoment("created", "Created", j.Created)
	}
	d.addMoment("completed", "Completed", j.Completed)
	if !j.Started.IsZero() && j.IsTerminal() {
		d.addText("elapsed", "Elapsed", human.Duration(j.Elapsed(d.now)))
	}
	if !j.IsTerminal() {
		d.addText("lastMoved", "Last moved", human.Ago(j.QuietSince(), d.now))
	}
	d.addText("timeout", "Timeout", d.timeoutText())
	d.addItems()
	d.addCount("errors", "Errors", j.Errors, view.Bad)
	d.addCount("warnings", "Warnings", j.Warnings, view.Waiting)
	d.addField(Field{Name: "failureReason", Title: "Failed because", Values: singleValue(j.FailureReason), Tone: view.Bad})
	d.addField(Field{Name: "validationErrors", Title: "Not valid", Values: j.ValidationErrors, Tone: view.Bad})
	malformed := Field{Name: "malformed", Title: "Malformed", Tone: view.Bad}
	for _, m := range j.MalformedFields {
		malformed.Values = append(malformed.Values, m.String())
	}
	d.addField(malformed)
	d.addDeletions(deletions)
}

// timeoutText returns when Velero itself gives up on the present stage.
func (d *describer) timeoutText() string {
	deadline := d.job.Deadline
	switch {
	case deadline.At.IsZero():
		return ""
	case deadline.At.Before(d.now):
		return fmt.Sprintf("passed %s (%s)", human.Ago(deadline.At, d.now), deadline.Setting)
	}
	return fmt.Sprintf("Velero gives up in %s (%s)", human.Duration(deadline.At.Sub(d.now)), deadline.Setting)
}

func (d *describer) addItems() {
	items := d.job.Items
	if !items.Known {
		return
	}
	f := Field{
		Name:       "items",
		Title:      "Items",
		Values:     []string{fmt.Sprintf("%d of %d", items.Done, items.Total)},
		DetailPage: Resources,
	}
	switch from := items.RevisedFrom; {
	case items.Estimated:
		f.Note = "veltui's estimate of the total"
	case from > 0 && from != items.Total:
		f.Note = fmt.Sprintf("Velero revised the total from %d", from)
	}
	d.addField(f)
}

func (d *describer) addCount(name, title string, n int, tone view.Tone) {
	if n > 0 {
		d.addField(Field{Name: name, Title: title, Values: []string{fmt.Sprint(n)}, Tone: tone, DetailPage: Results})
	}
}

// addDeletions adds the requests to delete the backup, with their errors.
func (d *describer) addDeletions(all []diagnosis.DeletionRequest) {
	f := Field{Name: "deletionAttempts", Title: "Deletion"}
	for _, request := range all {
		if d.job.Kind != job.Backup || request.Backup != d.job.Name || request.Created.Before(d.job.Created) {
			continue
		}
		f.Values = append(f.Values, human.Moment(request.Created, d.now)+": "+cmp.Or(request.Phase, velero.PhaseNew))
		for _, err := range request.Errors {
			f.Values, f.Tone = append(f.Values, "  "+err), view.Bad
		}
	}
	d.addField(f)
}

func (d *describer) describeProgress() {
	d.startSection("progress")
	j := d.job
	for _, count := range view.VolumeCounts(j.Volumes) {
		d.addField(
			Field{Name: "volumes", Title: count.Label, Values: []string{count.Text.Text}, DetailPage: Volumes},
		)
	}
	if o := j.Operations; o.Attempted > 0 {
		d.addField(Field{Name: "itemOperations", Title: view.OperationsTitle, DetailPage: Operations,
			Values: []string{view.NewOperationCounts(o).String()}})
	}
}

// addUnchecked adds the kinds whose counts are missing because the user may not list them.
func (d *describer) addUnchecked(snap *watch.Snapshot) {
	kinds := []string{watch.PodVolumeBackups, watch.DataUploads, watch.DeleteRequests}
	if d.job.Kind == job.Restore {
		kinds = []string{watch.PodVolumeRestores, watch.DataDownloads}
	}
	if snap == nil {
		return
	}
	f := Field{Name: "notSeen", Title: "Not seen", Note: "docs/rbac.md has the role that you need", Tone: view.Waiting}
	for _, s := range snap.Sources {
		if s.State == watch.SourceForbidden && slices.Contains(kinds, s.Resource) {
			f.Values = append(f.Values, "you may not list "+s.Resource+" in namespace "+snap.Namespace)
		}
	}
	d.addField(f)
}

// addHookCounts adds the counts of the hooks that Velero ran in pods and as init containers.
func (d *describer) addHookCounts(status *veleroapi.HookStatus) {
	if status == nil {
		return
	}
	counts := view.NewHookCounts(status)
	d.addText("hooksAttempted", counts.Attempted.Label, counts.Attempted.Text.Text)
	d.addField(Field{
		Name:   "hooksFailed",
		Title:  counts.Failed.Label,
		Values: []string{counts.Failed.Text.Text},
		Tone:   counts.Failed.Tone,
	})
}

func (d *describer) describeMetadata() {
	d.startSection("metadata")
	d.addText("name", "Name", d.job.Name)
	d.addText("namespace", "Namespace", d.job.Namespace)
	d.addText("uid", "UID", string(d.job.UID))
	if !d.job.Started.IsZero() {
		d.addMoment("created", "Created", d.job.Created)
	}
	if d.job.Object == nil {
		return
	}
	d.addPairs("labels", "Labels", d.job.Object.GetLabels(), "=")
	d.addPairs("annotations", "Annotations", d.job.Object.GetAnnotations(), "=")
}

func (d *describer) addSelectors(selector *metav1.LabelSelector, alternatives []*metav1.LabelSelector) {
	d.addOption("labelSelector", "Label selector", view.SelectorText(selector), none)
	var any []string
	for _, s := range alternatives {
		any = append(any, view.SelectorText(s))
	}
	d.addOption("orLabelSelectors", "Or label selector", strings.Join(any, " or "), none)
}
