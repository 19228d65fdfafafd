package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/watch"
)

// kinds are those that get and describe know. Other commands know jobs, which have no list of their own.
var (
	backupKind  = &resource.Kind{Kind: job.Backup, Words: []string{"backups", "backup", "bak"}, Resource: watch.Backups}
	restoreKind = &resource.Kind{
		Kind:     job.Restore,
		Words:    []string{"restores", "restore", "rst"},
		Resource: watch.Restores,
	}
	jobKinds = []*resource.Kind{backupKind, restoreKind}
	kinds    = slices.Concat(jobKinds, resource.Kinds)
)

// kindNamed finds a kind by any of its words, nil if there is none.
func kindNamed(word string) *resource.Kind {
	word = strings.TrimSuffix(strings.ToLower(word), ".velero.io")
	if i := slices.IndexFunc(kinds, func(k *resource.Kind) bool { return slices.Contains(k.Words, word) }); i >= 0 {
		return kinds[i]
	}
	return nil
}

// What people ask kubectl for, and what is no name of a job.
var (
	otherVeleroKinds = []string{
		"datauploads",
		"dataupload",
		"datadownloads",
		"datadownload",
		"podvolumebackups",
		"podvolumebackup",
		"podvolumerestores",
		"podvolumerestore",
		"downloadrequests",
		"downloadrequest",
		"serverstatusrequests",
	}
	otherKinds = []string{
		"pods",
		"pod",
		"po",
		"deployments",
		"deployment",
		"deploy",
		"daemonsets",
		"daemonset",
		"ds",
		"jobs",
		"job",
		"cronjobs",
		"namespaces",
		"namespace",
		"ns",
		"nodes",
		"node",
		"events",
		"event",
		"ev",
		"secrets",
		"secret",
		"configmaps",
		"configmap",
		"cm",
		"services",
		"service",
		"svc",
		"pvc",
		"persistentvolumeclaims",
		"pv",
		"persistentvolumes",
		"volumesnapshots",
		"crds",
		"crd",
	}
)

type selection struct {
	things *resource.Kind  // nil for jobs
	kind   job.Kind        // empty for both
	names  []jobName       // empty for all
	labels labels.Selector // of --selector, nil without
	stuck  bool            // --stuck, which is known of a job only once it is judged
}

type jobName struct {
	kind job.Kind
	name string
}

func nameOf(j *job.Job) jobName { return jobName{j.Kind, j.Name} }

func (n jobName) String() string { return n.kind.Word() + "/" + n.name }

// parseSelection reads KIND [NAME...] or KIND/NAME... of backups and restores; with others, also of one of
// the other kinds.
func parseSelection(args []string, others bool) (s selection, err error) {
	if len(args) == 0 {
		return s, nil
	}
	first, _, inEach := strings.Cut(args[0], "/")
	if k := kindNamed(first); others && slices.Contains(resource.Kinds, k) {
		s.things = k
	}
	var kinds []job.Kind
	if !inEach {
		if kinds, err = s.parseKinds(first); err != nil {
			return s, err
		}
		args = args[1:]
	}
	if len(kinds) == 1 {
		s.kind = kinds[0]
	}
	for _, arg := range args {
		word, name, found := strings.Cut(arg, "/")
		switch {
		case found && !inEach:
			return s, usagef("%q: give the kind %s once, either first or in every KIND/NAME", arg, first)
		case !found && inEach:
			return s, usagef("%q: expected KIND/NAME, such as %s/%s", arg, first, arg)
		case !found:
			name = arg
		default:
			kind, err := s.parseKind(word, name)
			if err != nil {
				return s, err
			}
			kinds = []job.Kind{kind}
		}
		if name == "" {
			return s, usagef("%q has no name", arg)
		}
		for _, kind := range kinds {
			s.names = append(s.names, jobName{kind, name})
		}
	}
	return s, nil
}

// forJob has a command take exactly one KIND/NAME or KIND NAME, of the kinds that it completes; of others than jobs if
// those are among them.
func (c *cli) forJob(
	cmd *cobra.Command, run func(context.Context, selection) error, of ...*resource.Kind,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		selected, err := parseSelection(args, len(of) > len(jobKinds))
		switch {
		case err != nil:
			return err
		case len(selected.names) != 1:
			return usagef("expected one KIND/NAME, such as restore/crm-old")
		}
		return run(cmd.Context(), selected)
	}
	if len(of) == 0 {
		of = jobKinds
	}
	cmd.ValidArgsFunction = c.completeNames(false, of...)
	return cmd
}

func (s selection) parseKinds(text string) (kinds []job.Kind, err error) {
	for word := range strings.SplitSeq(text, ",") {
		kind, err := s.parseKind(word, "")
		if err != nil {
			return nil, err
		}
		kinds = appendNew(kinds, kind)
	}
	return kinds, nil
}

// parseKind reads the kind of a name, which is empty for a kind that stands alone.
func (s selection) parseKind(word, name string) (job.Kind, error) {
	k := kindNamed(word)
	switch word := strings.ToLower(word); {
	case s.things != nil && k != s.things:
		return "", usagef("%q: beside %s, give no other kind", word+"/"+name, s.things.Words[0])
	case k != nil && (k == s.things || slices.Contains(jobKinds, k)):
		return k.Kind, nil
	case word == "all" && name == "":
		return "", usagef("unknown kind \"all\": leave out the kind to print backups and restores")
	case name == "" && (k != nil || slices.Contains(otherVeleroKinds, strings.TrimSuffix(word, ".velero.io"))):
		return "", usagef(
			"unknown kind %q: expected backups or restores; get and describe also know schedules, storage, repositories "+
				"and deletions",
			word,
		)
	case name == "" && slices.Contains(otherKinds, word):
		return "", usagef("unknown kind %q: expected backups or restores", word)
	}
	near := config.Nearest(word, slices.Concat(backupKind.Words, restoreKind.Words))
	switch {
	case near == "":
		return "", usagef("unknown kind %q: expected KIND/NAME, such as backup/NAME or restore/NAME", word)
	case name != "":
		near += "/" + name
	}
	return "", usagef("unknown kind %q: veltui knows backups and restores; did you mean %s?", word, near)
}

func (s selection) matches(j *job.Job) bool {
	return s.things == nil && (s.kind == "" || j.Kind == s.kind) && s.selects(j.Object, nameOf(j))
}

func (s selection) selects(object job.Object, ref jobName) bool {
	return watch.Selects(s.labels, object) && (len(s.names) == 0 || slices.Contains(s.names, ref))
}

func (s selection) query() watch.Query {
	if s.things != nil { // they are few, and are judged beside each other
		return watch.Query{
			Kinds: []string{s.things.Resource},
			Also:  slices.Concat(s.things.Lists, s.things.Needs),
			Then:  s.things.Then,
		}
	}
	q := watch.Query{Selector: s.labels}
	for _, n := range s.names {
		q.Names = appendNew(q.Names, watch.JobName{Resource: resourceOf(n.kind), Name: n.name})
	}
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		if len(s.names) == 0 && (s.kind == "" || s.kind == kind) {
			q.Kinds = append(q.Kinds, resourceOf(kind))
		}
	}
	return q
}

// with are the kinds that a watch does not have anyway.
func (s selection) with() []string {
	if s.things == nil {
		return nil
	}
	return append(slices.Clip(s.things.Lists), s.things.Resource)
}

func (s selection) only() []watch.JobName {
	q := s.query()
	for _, kind := range q.Kinds {
		q.Names = append(q.Names, watch.JobName{Resource: kind})
	}
	return q.Names
}

// resourceOf is the resource of a kind as [watch.Source] names it.
func resourceOf(kind job.Kind) string {
	return kinds[slices.IndexFunc(kinds, func(k *resource.Kind) bool { return k.Kind == kind })].Resource
}

func (s selection) what() string {
	what := "backups or restores"
	switch {
	case s.things != nil:
		what = s.things.Words[0]
	case s.kind != "":
		what = s.kind.Resource()
	}
	if s.stuck {
		what = "stuck " + what
	}
	return what
}

func (s selection) missing(found []jobName, namespace string) error {
	var lost []string
	for _, n := range s.names {
		if !slices.Contains(found, n) {
			lost = append(lost, fmt.Sprintf("%s %q", resourceOf(n.kind), n.name))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("not found in namespace %s: %s", namespace, strings.Join(lost, ", "))
}

// ready reports whether a snapshot holds all that verdicts need, and an error if it never will.
func (s selection) ready(snap *watch.Snapshot) (bool, error) {
	switch h := snap.Health; {
	case h.State == watch.Unauthorized:
		return false, fmt.Errorf("the API server rejects your credentials: %s", h.Err)
	case h.Misdirected:
		return false, fmt.Errorf("there is no such API server: %s", h.Err)
	}
	q := s.query()
	for _, source := range snap.Sources {
		if source.State == watch.SourceSyncing {
			return false, nil
		}
		if err := unreadable(source, snap.Namespace, q.Asks(source.Resource)); err != nil {
			return false, err
		}
	}
	return len(snap.Sources) > 0 && snap.Health.State == watch.Live, nil
}
