package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/watch"
)

// The kinds that get and describe know. Other commands only know jobs, which have no list of their own.
var (
	backupKind  = &resource.Kind{Kind: job.Backup, Aliases: []string{"backups", "backup", "bak"}, Resource: watch.Backups}
	restoreKind = &resource.Kind{
		Kind:     job.Restore,
		Aliases:  []string{"restores", "restore", "rst"},
		Resource: watch.Restores,
	}
	jobKinds   = []*resource.Kind{backupKind, restoreKind}
	knownKinds = slices.Concat(jobKinds, resource.Kinds)
)

// findKind returns the kind with an alias, nil if there is none.
func findKind(word string) *resource.Kind {
	word = strings.TrimSuffix(strings.ToLower(word), ".velero.io")
	if i := slices.IndexFunc(knownKinds, func(k *resource.Kind) bool { return slices.Contains(k.Aliases, word) }); i >= 0 {
		return knownKinds[i]
	}
	return nil
}

// Kinds that users ask kubectl for, which are not names of jobs.
var (
	unsupportedVeleroKinds = []string{
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
	nonVeleroKinds = []string{
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
	thingKind *resource.Kind  // nil for jobs
	kind      job.Kind        // empty for both
	names     []jobRef        // empty for all
	labels    labels.Selector // of --selector, nil without it
	stuck     bool            // --stuck, which is known only for judged jobs
}

type jobRef struct {
	kind job.Kind
	name string
}

func jobRefOf(j *job.Job) jobRef { return jobRef{j.Kind, j.Name} }

func (n jobRef) String() string { return n.kind.Noun() + "/" + n.name }

// parseSelection parses KIND [NAME...] or KIND/NAME... of backups and restores; with others, also of one of the other
// kinds.
func parseSelection(args []string, others bool) (s selection, err error) {
	if len(args) == 0 {
		return s, nil
	}
	first, _, inEach := strings.Cut(args[0], "/")
	if k := findKind(first); others && slices.Contains(resource.Kinds, k) {
		s.thingKind = k
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
			return s, usageErrorf("%q: give the kind %s once, either first or in every KIND/NAME", arg, first)
		case !found && inEach:
			return s, usageErrorf("%q: expected KIND/NAME, such as %s/%s", arg, first, arg)
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
			return s, usageErrorf("%q has no name", arg)
		}
		for _, kind := range kinds {
			s.names = append(s.names, jobRef{kind, name})
		}
	}
	return s, nil
}

// requireOneJob makes a command take exactly one KIND/NAME or KIND NAME, of the kinds that it completes, which may
// include kinds other than jobs.
func (c *cli) requireOneJob(
	cmd *cobra.Command, run func(context.Context, selection) error, of ...*resource.Kind,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		selected, err := parseSelection(args, len(of) > len(jobKinds))
		switch {
		case err != nil:
			return err
		case len(selected.names) != 1:
			return usageErrorf("expected one KIND/NAME, such as restore/crm-old")
		}
		return run(cmd.Context(), selected)
	}
	if len(of) == 0 {
		of = jobKinds
	}
	cmd.ValidArgsFunction = c.completeKindAndName(false, of...)
	return cmd
}

func (s selection) parseKinds(text string) (kinds []job.Kind, err error) {
	for word := range strings.SplitSeq(text, ",") {
		kind, err := s.parseKind(word, "")
		if err != nil {
			return nil, err
		}
		kinds = appendUnique(kinds, kind)
	}
	return kinds, nil
}

// parseKind parses the kind of a name; the name is empty for a kind that stands alone.
func (s selection) parseKind(word, name string) (job.Kind, error) {
	k := findKind(word)
	switch word := strings.ToLower(word); {
	case s.thingKind != nil && k != s.thingKind:
		return "", usageErrorf("%q: beside %s, give no other kind", word+"/"+name, s.thingKind.Aliases[0])
	case k != nil && (k == s.thingKind || slices.Contains(jobKinds, k)):
		return k.Kind, nil
	case word == "all" && name == "":
		return "", usageErrorf("unknown kind \"all\": leave out the kind to print backups and restores")
	case name == "" && (k != nil || slices.Contains(unsupportedVeleroKinds, strings.TrimSuffix(word, ".velero.io"))):
		return "", usageErrorf(
			"unknown kind %q: expected backups or restores; get and describe also know schedules, storage, repositories "+
				"and deletions",
			word,
		)
	case name == "" && slices.Contains(nonVeleroKinds, word):
		return "", usageErrorf("unknown kind %q: expected backups or restores", word)
	}
	near := config.NearestName(word, slices.Concat(backupKind.Aliases, restoreKind.Aliases))
	switch {
	case near == "":
		return "", usageErrorf("unknown kind %q: expected KIND/NAME, such as backup/NAME or restore/NAME", word)
	case name != "":
		near += "/" + name
	}
	return "", usageErrorf("unknown kind %q: veltui knows backups and restores; did you mean %s?", word, near)
}

func (s selection) matchesJob(j *job.Job) bool {
	return s.thingKind == nil && (s.kind == "" || j.Kind == s.kind) && s.matchesObject(j.Object, jobRefOf(j))
}

func (s selection) matchesObject(object job.Object, ref jobRef) bool {
	return watch.MatchesSelector(s.labels, object) && (len(s.names) == 0 || slices.Contains(s.names, ref))
}

func (s selection) buildQuery() watch.Query {
	if s.thingKind != nil { // there are few of them, and they are judged together
		return watch.Query{
			Kinds:      []string{s.thingKind.Resource},
			ExtraKinds: slices.Concat(s.thingKind.ExtraKinds, s.thingKind.NeededKinds),
			KindsByJob: s.thingKind.KindsByJob,
		}
	}
	q := watch.Query{Selector: s.labels}
	for _, n := range s.names {
		q.JobNames = appendUnique(q.JobNames, watch.JobName{Resource: kindResource(n.kind), Name: n.name})
	}
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		if len(s.names) == 0 && (s.kind == "" || s.kind == kind) {
			q.Kinds = append(q.Kinds, kindResource(kind))
		}
	}
	return q
}

// optionalKinds returns the kinds that a watch does not always include.
func (s selection) optionalKinds() []string {
	if s.thingKind == nil {
		return nil
	}
	return append(slices.Clip(s.thingKind.ExtraKinds), s.thingKind.Resource)
}

func (s selection) watchedJobs() []watch.JobName {
	q := s.buildQuery()
	for _, kind := range q.Kinds {
		q.JobNames = append(q.JobNames, watch.JobName{Resource: kind})
	}
	return q.JobNames
}

// kindResource returns the resource of a kind as [watch.Source] names it.
func kindResource(kind job.Kind) string {
	return knownKinds[slices.IndexFunc(knownKinds, func(k *resource.Kind) bool { return k.Kind == kind })].Resource
}

func (s selection) kindText() string {
	what := "backups or restores"
	switch {
	case s.thingKind != nil:
		what = s.thingKind.Aliases[0]
	case s.kind != "":
		what = s.kind.Resource()
	}
	if s.stuck {
		what = "stuck " + what
	}
	return what
}

func (s selection) checkFound(found []jobRef, namespace string) error {
	var lost []string
	for _, n := range s.names {
		if !slices.Contains(found, n) {
			lost = append(lost, fmt.Sprintf("%s %q", kindResource(n.kind), n.name))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("not found in namespace %s: %s", namespace, strings.Join(lost, ", "))
}

// checkReady reports whether a snapshot has all that verdicts need. It returns an error if it never will.
func (s selection) checkReady(snap *watch.Snapshot) (bool, error) {
	switch h := snap.Health; {
	case h.State == watch.Unauthorized:
		return false, errors.New(view.CredentialsRejected(h))
	case h.Misdirected:
		return false, fmt.Errorf("there is no such API server: %s", h.Err)
	}
	q := s.buildQuery()
	for _, source := range snap.Sources {
		if source.State == watch.SourceSyncing {
			return false, nil
		}
		if err := unreadableSourceError(source, snap.Namespace, q.IncludesKind(source.Resource)); err != nil {
			return false, err
		}
	}
	return len(snap.Sources) > 0 && snap.Health.State == watch.Live, nil
}
