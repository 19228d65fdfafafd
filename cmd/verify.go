package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/target"
	"github.com/veltui/veltui/verify"
	"github.com/veltui/veltui/watch"
)

type verifyFlags struct {
	output string
	all    bool
	caFile string
}

func newVerify(c *cli) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify restore/NAME",
		Short: "Print what of a restore is in the cluster, and what is not",
		Long: `Print what a restore was to bring back, and whether it is in the cluster now: what
failed, what Velero does not list, what was deleted since, and what existed before
and differs from the backup. What did not come back is printed first.

veltui reads what Velero stored of the restore and of its backup; for this you need
the right to create downloadrequests.velero.io. Then it lists the metadata of the
kinds and namespaces that the restore concerns. What you may not list is named, and
never counts as lost. 'veltui rbac artifacts --with checks' prints the right to list all
kinds.

Exit codes: 0 if everything came back, 6 if something did not, 1 if veltui could not
look at everything.`,
		Example: `  veltui verify restore/shop-restore-2

  # With the names of all items that did not come back
  veltui verify restore/shop-restore-2 --all

  # The Secrets that did not come back
  veltui verify restore/shop-restore-2 -o json |
    jq -r '.resources[] | select(.resource == "secrets") | .items[] | select(.lost) | .name'

  # In a script, once the restore has ended
  veltui verify restore/shop-restore-2 > verify.txt || mail -s 'restore incomplete' on-call < verify.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := parseOne(args)
			if err != nil {
				return err
			}
			if selected.kinds[0] != job.Restore {
				return usagef("%s: only a restore can be verified: give restore/NAME", args[0])
			}
			if err := checkTextOutput(f.output); err != nil {
				return err
			}
			return c.verify(cmd.Context(), selected, f)
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().BoolVar(&f.all, "all", false, "Name all items that did not come back, and those that are there in another way")
	cmd.Flags().StringVar(&f.caFile, "cacert", "", "PEM file with the CA certificates of the object store")
	return cmd
}

func (c *cli) verify(ctx context.Context, selected selection, f verifyFlags) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	snap, _, err := c.readJob(ctx, cancel, selected, watch.Query{Volumes: true, Also: []string{watch.Deletions, watch.Pods}})
	if err != nil {
		return err
	}
	assessed, err := c.assess(ctx, snap, selected)
	if err != nil {
		return err
	}
	judged := assessed.Of(pick(snap.Jobs, selected)[0])
	conn, err := c.connect()
	if err != nil {
		return err
	}
	log := slog.Default() // readJob has sent it to the log file
	v := &verifier{cli: c, log: log, items: &itemReader{
		stored:  &artifactReader{cli: c, caFile: f.caFile, log: log},
		backups: &backupReader{cli: c, caFile: f.caFile, indexes: c.openIndexes(conn.config, log), log: log},
	}}
	progress, done := c.tellVerifying()
	result, verifyErr := v.Verify(ctx, judged.Job, assessed, progress)
	done()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(verifyErr, verify.ErrNotStarted):
		return exitError{ExitRefused, fmt.Errorf("restore %s, phase %s: %w", judged.Name, dash(judged.Phase), verifyErr)}
	case verifyErr != nil && result.Count == nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	}
	r := verified{Judged: judged, Result: result}
	if f.output == "text" {
		err = r.print(c.streams.Out, f.all)
	} else {
		p := documentPrinter{w: c.streams.Out, yaml: f.output == "yaml"}
		err = p.document(r.document(assessed.Volumes(judged.Job)))
	}
	switch {
	case err != nil:
		return printError{err}
	case verifyErr != nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	case result.Lost() > 0:
		return exitError{ExitRefused, nil}
	case !result.LookedAtAll():
		return exitError{ExitError, nil}
	}
	return nil
}

// tellVerifying shows on a terminal how far verifying is, until done is called.
func (c *cli) tellVerifying() (progress func(target.Progress), done func()) {
	var at atomic.Pointer[target.Progress]
	m := &meter{quit: make(chan struct{}), over: make(chan struct{}), text: func() string {
		if p := at.Load(); p != nil {
			return fmt.Sprintf("looking for %s: %d of %d lists", p.Resource, p.Done, p.Total)
		}
		return "reading what was to come back"
	}}
	c.draw(m, meterDelay)
	return func(p target.Progress) { at.Store(&p) }, m.stop
}

// verified is what the command found out about a restore.
type verified struct {
	assess.Judged
	verify.Result
}

// titles are the states as people read them.
var stateTitles = map[verify.State]string{
	verify.Failed:      "failed",
	verify.Missing:     "missing",
	verify.Gone:        "gone",
	verify.Deleting:    "being deleted",
	verify.Differs:     "existed, differs",
	verify.NotLookedAt: "not looked at",
	verify.MadeAnew:    "made again",
	verify.Passing:     "comes and goes",
	verify.Existed:     "existed",
	verify.Restored:    "restored",
	verify.LeftOut:     "left out",
}

// namedItems is how many items of a kind and state are named as text; --all names all.
const namedItems = 5

func (r verified) print(w io.Writer, all bool) error {
	l := lines{w: w}
	l.add("restore %s/%s, phase %s: %s", r.Namespace, r.Name, dash(r.Phase), r.Summary())
	if r.SoFar {
		l.add("It has not ended: this is how it is so far.")
	}
	for _, k := range r.Kinds {
		r.findings(&l, k, all)
	}
	for _, c := range r.Claims {
		l.add("\nclaim %s/%s is %s: %s", c.Namespace, c.Name, dash(c.Phase), c.Why)
	}
	for _, d := range r.Data {
		text := fmt.Sprintf("\ndata of %s: %s is %s, %s", d.Target, d.Name, d.Phase, human.BytesOf(d.Done, d.Total))
		if d.Message != "" {
			text += ": " + d.Message
		}
		l.add("%s", text)
	}
	r.counts(&l)
	if r.Bound > 0 || r.Moved > 0 {
		l.add("\n%s bound; the data of %s restored, %s.", human.Count(r.Bound, "claim"), human.Count(r.Moved, "volume"), human.Bytes(r.Bytes))
	}
	var unseen []string
	for _, not := range r.NotSeen {
		where := not.Resource
		if not.Namespace != "" {
			where += " in " + not.Namespace
		}
		unseen = append(unseen, where+": "+not.Why)
	}
	if n := len(unseen) - maxUnseen; n > 0 && !all {
		unseen = append(unseen[:maxUnseen], fmt.Sprintf("and %d more (--all)", n))
	}
	l.list("not looked at, and so not known:", unseen)
	l.list("notes:", r.Notes)
	return l.err
}

// maxUnseen is how many places that were not looked at are named as text.
const maxUnseen = 20

// findings names the items of a kind that did not come back; with all also those that
// are there in another way.
func (r verified) findings(l *lines, k verify.Kind, all bool) {
	titled := false
	named := map[verify.State]int{}
	for _, i := range k.Items {
		if !i.State.Lost() && (!all || i.State == verify.Restored || i.State == verify.LeftOut || i.State == verify.Existed) {
			continue
		}
		if !titled {
			titled = true
			l.add("\n%s", k.Name)
		}
		named[i.State]++
		switch n := named[i.State]; {
		case !all && n == namedItems+1:
			l.add("  %-16s and %d more (--all)", stateTitles[i.State], k.Count[i.State]-namedItems)
		case all || n <= namedItems:
			l.add("  %-16s %s", stateTitles[i.State], itemWords(i))
		}
	}
}

func itemWords(i verify.Item) string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + name
	}
	if i.From != "" {
		name += " (from " + i.From + ")"
	}
	if i.Why != "" {
		name += ": " + i.Why
	}
	return name
}

// counts prints how the items of each kind stand.
func (r verified) counts(l *lines) {
	width := len("RESOURCE")
	for _, k := range r.Kinds {
		width = max(width, min(len(k.Name), maxResource))
	}
	if len(r.Kinds) > 0 {
		l.add("\n%-*s  %6s  %6s  %8s  %s", width, "RESOURCE", "WANTED", "THERE", "NOT BACK", "OF THESE")
	}
	for _, k := range r.Kinds {
		wanted := k.Wanted()
		if wanted == 0 {
			continue
		}
		var of []string
		for _, state := range verify.States {
			if n := k.Count[state]; n > 0 && state != verify.Restored && state != verify.LeftOut {
				of = append(of, fmt.Sprintf("%d %s", n, stateTitles[state]))
			}
		}
		l.add("%s", strings.TrimRight(fmt.Sprintf("%-*s  %6d  %6d  %8d  %s", width, human.Shorten(k.Name, maxResource), wanted, k.There(), k.Lost(), strings.Join(of, ", ")), " "))
	}
	if n := r.Count[verify.LeftOut]; n > 0 {
		l.add("The restore's filters left out %s of the backup.", human.Count(n, "item"))
	}
}

// maxResource is how wide a resource may be in the table.
const maxResource = 50

// verifyDocument is what `verify -o json` prints.
type verifyDocument struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Job is the same as in a JobList.
	Job jobItem `json:"job"`
	// SoFar is true of a restore that has not ended.
	SoFar bool `json:"soFar"`
	// Wanted is how many items were to come back, and LostItems how many of them did
	// not. LostClaims are claims that cannot be bound, and LostVolumes volumes that did
	// not get their data: their claims and pods may be there.
	Wanted      int `json:"wanted"`
	LostItems   int `json:"lostItems"`
	LostClaims  int `json:"lostClaims"`
	LostVolumes int `json:"lostVolumes"`
	// Counts are the items by state.
	Counts    map[verify.State]int  `json:"counts"`
	Resources []verifiedKindJSON    `json:"resources"`
	Claims    verifiedClaimsJSON    `json:"claims"`
	Data      verifiedDataJSON      `json:"data"`
	NotSeen   []verifiedNotSeenJSON `json:"notSeen"`
	Notes     []string              `json:"notes"`
	LookedAt  *moment               `json:"lookedAt"`
	// Requests and Bytes are what looking cost.
	Requests int   `json:"requests"`
	Bytes    int64 `json:"bytes"`
}

type verifiedKindJSON struct {
	Resource string               `json:"resource"`
	Counts   map[verify.State]int `json:"counts"`
	// Items are all but those that the restore left out.
	Items []verifiedItemJSON `json:"items"`
}

type verifiedItemJSON struct {
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	From      string       `json:"from,omitempty"`
	State     verify.State `json:"state"`
	Lost      bool         `json:"lost,omitempty"`
	Why       string       `json:"why,omitempty"`
}

type verifiedClaimsJSON struct {
	Bound int `json:"bound"`
	// NotBound are the others, also those that can never be bound.
	NotBound []verifiedClaimJSON `json:"notBound"`
}

type verifiedClaimJSON struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"`
	Class     string `json:"class,omitempty"`
	Lost      bool   `json:"lost,omitempty"`
	Why       string `json:"why"`
}

type verifiedDataJSON struct {
	Completed int   `json:"completed"`
	Bytes     int64 `json:"bytes"`
	// NotCompleted are the others, also those that failed.
	NotCompleted []verifiedVolumeJSON `json:"notCompleted"`
}

type verifiedVolumeJSON struct {
	Name       string `json:"name"`
	Target     string `json:"target"`
	Phase      string `json:"phase"`
	BytesDone  int64  `json:"bytesDone"`
	BytesTotal int64  `json:"bytesTotal,omitempty"`
	Lost       bool   `json:"lost,omitempty"`
	Message    string `json:"message,omitempty"`
}

type verifiedNotSeenJSON struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Why       string `json:"why"`
}

func (r verified) document(volumes []assess.Volume) verifyDocument {
	d := verifyDocument{
		APIVersion: apiVersion, Kind: "Verification", Job: itemOf(r.Judged, volumes), SoFar: r.SoFar,
		Wanted: r.Wanted(), LostItems: r.LostItems(), LostClaims: r.LostClaims(), LostVolumes: r.LostVolumes(), Counts: r.Count, Resources: []verifiedKindJSON{},
		Claims: verifiedClaimsJSON{Bound: r.Bound, NotBound: []verifiedClaimJSON{}},
		Data:   verifiedDataJSON{Completed: r.Moved, Bytes: r.Bytes, NotCompleted: []verifiedVolumeJSON{}}, NotSeen: []verifiedNotSeenJSON{},
		Notes: append([]string{}, r.Notes...), LookedAt: stamp(r.At.Round(time.Second)), Requests: r.Cost.Requests, Bytes: r.Cost.Bytes,
	}
	for _, k := range r.Kinds {
		kind := verifiedKindJSON{Resource: k.Name, Counts: k.Count, Items: []verifiedItemJSON{}}
		for _, i := range k.Items {
			if i.State != verify.LeftOut {
				kind.Items = append(kind.Items, verifiedItemJSON{i.Namespace, i.Name, i.From, i.State, i.State.Lost(), i.Why})
			}
		}
		d.Resources = append(d.Resources, kind)
	}
	for _, c := range r.Claims {
		d.Claims.NotBound = append(d.Claims.NotBound, verifiedClaimJSON{c.Namespace, c.Name, c.Phase, c.Class, c.Lost, c.Why})
	}
	for _, v := range r.Result.Data {
		d.Data.NotCompleted = append(d.Data.NotCompleted, verifiedVolumeJSON{v.Name, v.Target, v.Phase, v.Done, v.Total, v.Lost, v.Message})
	}
	for _, not := range r.NotSeen {
		d.NotSeen = append(d.NotSeen, verifiedNotSeenJSON(not))
	}
	return d
}
