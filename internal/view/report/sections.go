package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
)

// momentText formats a time, with its age at the time of the report.
func (d Document) momentText(at document.Moment) string {
	return cmp.Or(view.MomentAndAge(at.Time, d.MadeAt.Time), "at an unknown time")
}

// newListSection returns a section of items or, if there are none, of the text none.
func newListSection(title, none string, items []view.Text) view.PageSection {
	s := view.PageSection{Title: title, Items: items}
	if len(items) == 0 {
		s.Lines = []view.Text{view.Phrase(none)}
	}
	return s
}

// aboutSection says what the job is, where it is and since when.
func (d Document) aboutSection() view.PageSection {
	j := d.Job
	version := view.Phrase("%s", view.Quote(d.VeleroVersion))
	if d.VeleroVersion == "" {
		version = view.Phrase("of an unknown version")
	}
	items := []view.Text{view.Phrase(
		"What: a %s by Velero %s in namespace %s%s",
		strings.ToLower(j.Kind), version, view.Quote(d.Namespace),
		view.PrefixedPhrase(", ", view.OriginPhrase(j.BackupName, j.ScheduleName)),
	)}
	if d.Context != "" {
		items = append(items, view.Phrase("Where: kubeconfig context %s", view.Quote(d.Context)))
	}
	if j.ChangedAt.Truncate(time.Second).Equal(j.CompletedAt.Truncate(time.Second)) {
		j.ChangedAt = document.Moment{}
	}
	for _, point := range []struct {
		title string
		at    document.Moment
	}{{"Created", j.CreatedAt}, {"Started", j.StartedAt}, {"Last change", j.ChangedAt}, {"Ended", j.CompletedAt}} {
		if !point.at.IsZero() {
			items = append(items, view.Phrase("%s: %s", point.title, d.momentText(point.at)))
		}
	}
	if d.Verdict.State != "" {
		items = append(items, progressItems(j)...)
	}
	return view.PageSection{
		Title: "About the job and this report",
		Items: append(
			items,
			view.Phrase("UID: %s", view.Quote(j.UID)),
			view.Phrase(
				"This report: made %s by veltui %s",
				human.MomentUTC(d.MadeAt.Time),
				view.Quote(d.VeltuiVersion),
			),
		),
		Lines: []view.Text{view.Phrase(
			"All times are in UTC, and ages are those at the time of this report. veltui writes %s in place of what "+
				"looks like a credential. The report holds names of resources.",
			view.Quote(redactedText),
		)},
	}
}

// progressItems describe the state of an open job as far as the evidence does not include it.
func progressItems(j Job) (items []view.Text) {
	if j.Progress != "" {
		items = append(items, view.Phrase("Progress: %s in stage %s", j.Progress, view.Quote(j.Stage)))
	}
	if j.Errors+j.Warnings > 0 {
		items = append(items, view.Phrase("Counts of the status: %s", view.ResultCounts(j.Errors, j.Warnings).Text))
	}
	for _, f := range view.FailureFields(j.FailureReason, j.ValidationErrors) {
		items = append(items, view.Phrase("%s: %s", f.Label, view.Quote(f.Text.Text)))
	}
	return items
}

func (d Document) pastActionsSection() view.PageSection {
	var items []view.Text
	for _, deed := range d.PastActions {
		by := view.PrefixedPhrase(" by ", view.Phrase("%s", view.Quote(deed.By)))
		reason := view.PrefixedPhrase("; reason: ", view.Phrase("%s", view.Quote(deed.Reason)))
		items = append(
			items,
			view.Phrase("%s%s: %s%s [%s]", d.momentText(deed.At), by, deed.Text, reason, view.Quote(deed.Source)),
		)
	}
	return newListSection(
		"What was done, and by whom",
		"Nobody changed the job with veltui, as far as its annotations and the audit log on the machine of this "+
			"report say. veltui does not see what others did without it.",
		items,
	)
}

func (d Document) messagesSection() view.PageSection {
	s := view.PageSection{Title: "Errors and warnings", Messages: d.Messages.Groups, MaxNames: -1}
	switch {
	case d.Messages.Note != "":
		s.Lines = []view.Text{view.Phrase("%s", d.Messages.Note)}
	case len(d.Messages.Groups) == 0 && d.Messages.Complete:
		s.Lines = []view.Text{view.Phrase(results.NoMessages)}
	}
	if d.Messages.OmittedGroups > 0 {
		command := view.Quote("veltui results " + d.JobRef() + " --all")
		more := human.Count(d.Messages.OmittedGroups, "group")
		s.Footer = []view.Text{view.Phrase("%s more; %s prints all.", more, command)}
	}
	return s
}

func (d Document) timelineSection() view.PageSection {
	s := view.PageSection{Title: "Timeline"}
	for i, e := range d.Timeline {
		if i == maxEvents/4 && d.OmittedEvents > 0 {
			omitted := view.Phrase("(%s between are not in this report)", human.Count(d.OmittedEvents, "event"))
			s.Items = append(s.Items, omitted)
		}
		s.Items = append(s.Items, view.Phrase("%s: %s [%s]", d.momentText(e.At), e.Text, view.Quote(e.Source)))
	}
	for _, note := range d.TimelineNotes {
		s.Lines = append(s.Lines, view.Phrase("%s", note))
	}
	return s
}

// logSection has the log's decisive lines, each once.
func (d Document) logSection() view.PageSection {
	l := d.Log
	if len(l.Lost)+len(l.FirstErrors)+len(l.Last) == 0 {
		return newListSection("The log's decisive lines", "None were found.", nil)
	}
	s := view.PageSection{Title: "The log's decisive lines"}
	if l.From != "" {
		s.Lines = append(s.Lines, view.Phrase("From %s.", l.From))
	}
	listed := map[LogLine]bool{}
	for _, part := range []struct {
		title string
		lines []LogLine
	}{{"Velero gave up writing the status:", l.Lost}, {"The first errors:", l.FirstErrors}, {"The last lines:", l.Last}} {
		list := view.List{Title: part.title}
		for _, line := range part.lines {
			if !listed[line] {
				list.Items = append(list.Items, d.logLineText(line))
			}
		}
		for _, line := range part.lines {
			listed[line] = true
		}
		s.Lists = append(s.Lists, list)
	}
	return s
}

func (d Document) logLineText(line LogLine) view.Text {
	text := view.Text{}
	for _, part := range []view.Text{
		view.Phrase("%s", view.MomentAndAge(line.At.Time, d.MadeAt.Time)),
		view.Phrase("%s", line.Level),
		view.Phrase("%s", view.Quote(line.Text+human.Prefixed(": ", line.Error))),
	} {
		text = joinTexts(text, part)
	}
	if line.Repeated > 0 {
		text = joinTexts(text, view.Phrase("(after %s like it)", human.Count(line.Repeated, "line")))
	}
	return text
}

// joinTexts joins two texts with a space, unless one is empty.
func joinTexts(a, b view.Text) view.Text {
	if a.Text == "" || b.Text == "" {
		return view.Phrase("%s%s", a, b)
	}
	return view.Phrase("%s %s", a, b)
}

func (d Document) volumesSection() view.PageSection {
	s := view.PageSection{Title: "Volumes and operations"}
	add := func(format string, args ...any) { s.Items = append(s.Items, view.Phrase(format, args...)) }
	for _, count := range d.Volumes.Counts {
		add("%s %s", count.Label, count.Text.Text)
	}
	if len(d.Volumes.Counts) == 0 {
		add("%s", d.Volumes.None)
	}
	for _, line := range d.Volumes.Lines {
		add("%s", line.Phrase())
	}
	if d.Volumes.OmittedVolumes > 0 {
		add("%s", human.More(d.Volumes.OmittedVolumes))
	}
	if o := d.Operations; o.Attempted > 0 {
		add("%s: %s", view.OperationsTitle, view.NewOperationCounts(o.Operations).String())
	}
	for _, operation := range d.Operations.Open {
		add("Operation %s", operation)
	}
	return s
}

func (d Document) uncheckedSection() view.PageSection {
	var items []view.Text
	for _, n := range d.Unchecked {
		items = append(items, view.Phrase("%s: %s", human.Capitalize(n.What), n.Why))
	}
	return newListSection("What could not be checked", "Nothing was out of reach.", items)
}
