package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
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
	// More is where more of it is shown, if there is more.
	More Place `json:"-"`
}

// Place is where veltui shows what a field only sums up: the name of a page.
type Place string

const (
	Results    Place = "Results"
	Resources  Place = "Resources"
	Volumes    Place = "Volumes"
	Operations Place = "Operations"
)

// The values of what is not there.
const (
	none   = "none"
	notSet = "not set"
)

// Labelled returns the field as the screen shows it.
func (f Field) Labelled() view.Field {
	text := view.Toned(f.Tone, strings.Join(f.Values, "\n"))
	if f.Unset && f.Tone == view.Plain {
		text.Tone = view.Dim
	}
	if f.Note != "" {
		text.Text += "  (" + f.Note + ")"
	}
	return view.Field{Label: f.Title, Text: text}
}

// Default reports whether the value is Velero's default.
func (f Field) Default() bool {
	return f.Unset && !slices.Contains([]string{none, notSet}, f.Values[0])
}

// Job describes a job as it is at now, in now's time zone. around, which may be nil, has the
// requests to delete a backup and the kinds that could not be listed.
func Job(j assess.Judged, around *assess.Assessment, now time.Time) []Section {
	if around == nil {
		around = &assess.Assessment{}
	}
	d := describer{job: j, now: now, version: versionOf(around.Environment.Server.Version)}
	d.status(around.Environment.Deletions)
	d.progress()
	d.notSeen(around.Snapshot)
	switch object := j.Object.(type) {
	case *velerov1.Backup:
		d.backup(object)
	case *velerov1.Restore:
		d.restore(object)
	}
	d.metadata()
	return filled(d.sections)
}

// versionOf is a server's version, the newest if it is not known.
func versionOf(server string) velero.Version {
	if v, known := velero.ParseVersion(server); known {
		return v
	}
	return velero.Current
}

type describer struct {
	job      assess.Judged
	now      time.Time
	version  velero.Version // of the server
	sections []Section
}

func (d *describer) section(title string) { d.sections = append(d.sections, Section{Title: title}) }

func (d *describer) add(f Field) {
	if len(f.Values) == 0 || len(f.Values) == 1 && f.Values[0] == "" {
		return
	}
	last := &d.sections[len(d.sections)-1]
	last.Fields = append(last.Fields, f)
}

func (d *describer) text(name, title, value string) {
	d.add(Field{Name: name, Title: title, Values: []string{value}})
}

// moment adds a time; nothing if there is none.
func (d *describer) moment(name, title string, at time.Time) {
	if at.IsZero() {
		return
	}
	note := human.Ago(at, d.now)
	if at.After(d.now) {
		note = human.In(at, d.now)
	}
	d.add(
		Field{Name: name, Title: title, Values: []string{Moment(at, d.now)}, Note: note, At: document.Moment{Time: at}},
	)
}

func Moment(at, now time.Time) string { return at.In(now.Location()).Format("2006-01-02 15:04:05 MST") }

// list adds names on one line, or Velero's default for no names.
func (d *describer) list(name, title string, values []string, otherwise string) {
	f := Field{Name: name, Title: title, Values: []string{strings.Join(values, ", ")}}
	if len(values) == 0 {
		f.Values, f.Unset = []string{otherwise}, true
	}
	d.add(f)
}

// option adds a setting, or Velero's default.
func (d *describer) option(name, title, value, otherwise string) {
	d.list(name, title, nonEmpty(value), otherwise)
}

func (d *describer) boolean(name, title string, value *bool, yes, no, otherwise string) {
	switch {
	case value == nil:
		d.option(name, title, "", otherwise)
	case *value:
		d.text(name, title, yes)
	default:
		d.text(name, title, no)
	}
}

func (d *describer) duration(name, title string, value metav1.Duration) {
	d.option(name, title, exact(value.Duration), notSet)
}

// pairs adds a map, a pair a line.
func (d *describer) pairs(name, title string, pairs map[string]string, between string) {
	f := Field{Name: name, Title: title}
	if len(pairs) == 0 {
		f.Values, f.Unset = []string{none}, true
	}
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		f.Values = append(f.Values, key+between+pairs[key])
	}
	d.add(f)
}

// exact writes a duration in full, without parts that are zero: 720h, 1h30m; "" for none.
func exact(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (d *describer) status(deletions []diagnosis.Deletion) {
	j := d.job
	d.section("")
	phase := cmp.Or(j.Phase, velero.PhaseNew)
	if j.Deleting {
		phase += " (being deleted)"
	}
	note := ""
	if j.Phase == "" {
		note = "Velero has not picked it up yet"
	}
	d.add(Field{Name: "phase", Title: "Phase", Values: []string{phase}, Note: note})
	if j.QueuePosition > 0 {
		d.text("queuePosition", "Queue position", fmt.Sprint(j.QueuePosition))
	}
	d.moment("started", "Started", j.Started)
	if j.Started.IsZero() {
		d.moment("created", "Created", j.Created)
	}
	d.moment("completed", "Completed", j.Completed)
	if !j.Started.IsZero() && j.Terminal() {
		d.text("elapsed", "Elapsed", human.Duration(j.Elapsed(d.now)))
	}
	if !j.Terminal() {
		d.text("lastMoved", "Last moved", human.Ago(j.QuietSince(), d.now))
	}
	d.text("timeout", "Timeout", d.timeout())
	d.items()
	d.count("errors", "Errors", j.Errors, view.Bad)
	d.count("warnings", "Warnings", j.Warnings, view.Waiting)
	d.add(Field{Name: "failureReason", Title: "Failed because", Values: nonEmpty(j.FailureReason), Tone: view.Bad})
	d.add(Field{Name: "validationErrors", Title: "Not valid", Values: j.ValidationErrors, Tone: view.Bad})
	malformed := Field{Name: "malformed", Title: "Malformed", Tone: view.Bad}
	for _, m := range j.Malformed {
		malformed.Values = append(malformed.Values, m.String())
	}
	d.add(malformed)
	d.deletions(deletions)
}

// timeout says when Velero itself gives up on the present stage.
func (d *describer) timeout() string {
	deadline := d.job.Deadline
	switch {
	case deadline.At.IsZero():
		return ""
	case deadline.At.Before(d.now):
		return fmt.Sprintf("passed %s (%s)", human.Ago(deadline.At, d.now), deadline.Setting)
	}
	return fmt.Sprintf("Velero gives up in %s (%s)", human.Duration(deadline.At.Sub(d.now)), deadline.Setting)
}

func (d *describer) items() {
	items := d.job.Items
	if !items.Known {
		return
	}
	f := Field{
		Name:   "items",
		Title:  "Items",
		Values: []string{fmt.Sprintf("%d of %d", items.Done, items.Total)},
		More:   Resources,
	}
	switch from := items.RevisedFrom; {
	case items.Estimated:
		f.Note = "veltui's estimate of the total"
	case from > 0 && from != items.Total:
		f.Note = fmt.Sprintf("Velero revised the total from %d", from)
	}
	d.add(f)
}

func (d *describer) count(name, title string, n int, tone view.Tone) {
	if n > 0 {
		d.add(Field{Name: name, Title: title, Values: []string{fmt.Sprint(n)}, Tone: tone, More: Results})
	}
}

// deletions are the requests to delete the backup, with what went wrong.
func (d *describer) deletions(all []diagnosis.Deletion) {
	f := Field{Name: "deletionAttempts", Title: "Deletion"}
	for _, request := range all {
		if d.job.Kind != job.Backup || request.Backup != d.job.Name || request.Created.Before(d.job.Created) {
			continue
		}
		f.Values = append(f.Values, Moment(request.Created, d.now)+": "+cmp.Or(request.Phase, velero.PhaseNew))
		for _, err := range request.Errors {
			f.Values, f.Tone = append(f.Values, "  "+err), view.Bad
		}
	}
	d.add(f)
}

func (d *describer) progress() {
	d.section("progress")
	j := d.job
	counts, phases := map[string]int{}, map[string]map[string]int{}
	for _, v := range j.Volumes {
		kind := string(v.Kind)
		if counts[kind]++; phases[kind] == nil {
			phases[kind] = map[string]int{}
		}
		phases[kind][cmp.Or(v.Phase, velero.VolumeNew)]++
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		d.add(
			Field{
				Name:   "volumes",
				Title:  kind + "s",
				Values: []string{fmt.Sprintf("%d: %s", counts[kind], human.Largest(phases[kind], -1))},
				More:   Volumes,
			},
		)
	}
	if o := j.Operations; o.Attempted > 0 {
		d.add(Field{Name: "itemOperations", Title: "Item operations", More: Operations,
			Values: []string{fmt.Sprintf("%d of %d completed, %d failed", o.Completed, o.Attempted, o.Failed)}})
	}
}

// notSeen names the kinds whose counts are missing because they may not be listed.
func (d *describer) notSeen(snap *watch.Snapshot) {
	kinds := []string{watch.PodVolumeBackups, watch.DataUploads, watch.Deletions}
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
	d.add(f)
}

// hookCounts are the hooks that Velero ran in pods and as init containers.
func (d *describer) hookCounts(status *velerov1.HookStatus) {
	if status == nil {
		return
	}
	d.text("hooksAttempted", "Hooks attempted", fmt.Sprint(status.HooksAttempted))
	f := Field{Name: "hooksFailed", Title: "Hooks failed", Values: []string{fmt.Sprint(status.HooksFailed)}}
	if status.HooksFailed > 0 {
		f.Tone = view.Bad
	}
	d.add(f)
}

func (d *describer) metadata() {
	d.section("metadata")
	d.text("name", "Name", d.job.Name)
	d.text("namespace", "Namespace", d.job.Namespace)
	d.text("uid", "UID", string(d.job.UID))
	if !d.job.Started.IsZero() {
		d.moment("created", "Created", d.job.Created)
	}
	if d.job.Object == nil {
		return
	}
	d.pairs("labels", "Labels", d.job.Object.GetLabels(), "=")
	d.pairs("annotations", "Annotations", d.job.Object.GetAnnotations(), "=")
}

func selector(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}
	return metav1.FormatLabelSelector(s)
}

func (d *describer) selectors(one *metav1.LabelSelector, or []*metav1.LabelSelector) {
	d.option("labelSelector", "Label selector", selector(one), none)
	var any []string
	for _, s := range or {
		any = append(any, selector(s))
	}
	d.option("orLabelSelectors", "Or label selector", strings.Join(any, " or "), none)
}
