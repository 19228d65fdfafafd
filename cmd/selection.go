package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

var kindWords = map[string]job.Kind{
	"backup": job.Backup, "backups": job.Backup, "backups.velero.io": job.Backup, "backup.velero.io": job.Backup, "bak": job.Backup,
	"restore": job.Restore, "restores": job.Restore, "restores.velero.io": job.Restore, "restore.velero.io": job.Restore, "rst": job.Restore,
}

// What people ask kubectl for, and what is no name of a job.
var (
	otherVeleroKinds = []string{"schedule", "schedules", "backupstoragelocation", "backupstoragelocations", "bsl", "volumesnapshotlocation", "volumesnapshotlocations", "vsl",
		"backuprepository", "backuprepositories", "datauploads", "dataupload", "datadownloads", "datadownload", "podvolumebackups", "podvolumebackup", "podvolumerestores", "podvolumerestore",
		"deletebackuprequests", "deletebackuprequest", "downloadrequests", "downloadrequest", "serverstatusrequests"}
	otherKinds = []string{"pods", "pod", "po", "deployments", "deployment", "deploy", "daemonsets", "daemonset", "ds", "jobs", "job", "cronjobs", "namespaces", "namespace", "ns", "nodes", "node",
		"events", "event", "ev", "secrets", "secret", "configmaps", "configmap", "cm", "services", "service", "svc", "pvc", "persistentvolumeclaims", "pv", "persistentvolumes", "volumesnapshots", "crds", "crd"}
)

type selection struct {
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

func parseSelection(args []string) (selection, error) {
	var s selection
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		kinds, err := parseKinds(args[0])
		if err != nil {
			return s, err
		}
		args = args[1:]
		if len(kinds) > 1 {
			for _, name := range args {
				if name == "" || strings.Contains(name, "/") {
					return s, usagef("%q: give the kinds once, either first or as KIND/NAME", name)
				}
				for _, kind := range kinds {
					s.names = append(s.names, jobName{kind, name})
				}
			}
			return s, nil
		}
		s.kind = kinds[0]
	}
	for _, arg := range args {
		kind, name := s.kind, arg
		if word, rest, found := strings.Cut(arg, "/"); found {
			if s.kind != "" {
				return s, usagef("%q: give the kind once, either first or in every KIND/NAME", arg)
			}
			var err error
			if kind, err = parseKind(word, rest); err != nil {
				return s, err
			}
			name = rest
		} else if s.kind == "" {
			return s, usagef("%q: expected KIND/NAME, such as restore/%s", arg, arg)
		}
		if name == "" {
			return s, usagef("%q has no name", arg)
		}
		s.names = append(s.names, jobName{kind, name})
	}
	return s, nil
}

// forJob has a command take exactly one KIND/NAME or KIND NAME, of the kinds that it completes.
func (c *cli) forJob(cmd *cobra.Command, run func(context.Context, selection) error, kinds ...job.Kind) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		selected, err := parseSelection(args)
		switch {
		case err != nil:
			return err
		case len(selected.names) != 1:
			return usagef("expected one KIND/NAME, such as restore/crm-old")
		}
		return run(cmd.Context(), selected)
	}
	cmd.ValidArgsFunction = c.completeJobs(false, kinds...)
	return cmd
}

func parseKinds(text string) (kinds []job.Kind, err error) {
	for word := range strings.SplitSeq(text, ",") {
		kind, err := parseKind(word, "")
		if err != nil {
			return nil, err
		}
		kinds = appendNew(kinds, kind)
	}
	return kinds, nil
}

// parseKind reads the kind of a name, which is empty for a kind that stands alone.
func parseKind(word, name string) (job.Kind, error) {
	if kind, ok := kindWords[strings.ToLower(word)]; ok {
		return kind, nil
	}
	switch word := strings.ToLower(word); {
	case word == "all" && name == "":
		return "", usagef("unknown kind \"all\": leave out the kind to print backups and restores")
	case name == "" && slices.Contains(otherVeleroKinds, strings.TrimSuffix(word, ".velero.io")):
		return "", usagef("unknown kind %q: expected backups or restores; the dashboard also shows schedules, volumes and storage", word)
	case name == "" && slices.Contains(otherKinds, word):
		return "", usagef("unknown kind %q: expected backups or restores", word)
	}
	near, _, found := strings.Cut(strings.TrimPrefix(config.Suggestion(word, slices.Sorted(maps.Keys(kindWords))), " (did you mean "), "?")
	switch {
	case !found && name == "":
		near = "restore/" + word
	case !found:
		near = "restore/" + name
	case name != "":
		near += "/" + name
	}
	return "", usagef("unknown kind %q: veltui knows backups and restores; did you mean %s?", word, near)
}

func (s selection) matches(j *job.Job) bool {
	return (s.kind == "" || j.Kind == s.kind) && watch.Selects(s.labels, j) && (len(s.names) == 0 || slices.Contains(s.names, nameOf(j)))
}

func (s selection) query() watch.Query {
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

func (s selection) only() []watch.JobName {
	q := s.query()
	for _, kind := range q.Kinds {
		q.Names = append(q.Names, watch.JobName{Resource: kind})
	}
	return q.Names
}

// resourceOf is the resource of a kind as [watch.Source] names it.
func resourceOf(kind job.Kind) string { return kind.Resource() + ".velero.io" }

func (s selection) what() string {
	what := "backups or restores"
	if s.kind != "" {
		what = s.kind.Resource()
	}
	if s.stuck {
		what = "stuck " + what
	}
	return what
}

func (s selection) missing(jobs []*job.Job, namespace string) error {
	var lost []string
	for _, n := range s.names {
		if !slices.ContainsFunc(jobs, func(j *job.Job) bool { return nameOf(j) == n }) {
			lost = append(lost, fmt.Sprintf("%ss.velero.io %q", n.kind.Word(), n.name))
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
