package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/watch"
)

// addSelection adds the flags that say which objects are restored, and no others.
func (f *createRestore) addSelection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(
		&f.only,
		"only",
		nil,
		"Restore this object and no others: RESOURCE/NAMESPACE/NAME, or RESOURCE/NAME (repeatable)",
	)
	flags.StringVar(&f.onlyFrom, "only-from", "", "File with one such object a line ('-' for standard input)")
	flags.StringVar(&f.failedOf, "failed-of", "", "Restore what this restore lost, as it would have")
	completeFiles(cmd, "only-from")
	completeFlag(cmd, "failed-of", f.c.completeJobs(job.Restore))
}

func (f *createRestore) checkSelection(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for _, flag := range []string{"from-backup", "from-schedule", "file"} {
		if f.failedOf != "" && changed(flag) {
			return usagef("--failed-of and --%s: give one or the other", flag)
		}
	}
	return nil
}

// readSelection reads which objects are to be restored, if not all.
func (f *createRestore) readSelection(ctx context.Context) error {
	words := f.only
	if f.onlyFrom != "" {
		text, err := f.readFile(f.onlyFrom)
		if err != nil {
			return err
		}
		words = slices.Concat(words, strings.Split(strings.TrimSpace(string(text)), "\n"))
	}
	for _, word := range words {
		item, err := restorespec.ParseItem(word)
		if err != nil {
			return usagef("--only: %v", err)
		}
		f.askedRestore.only = append(f.askedRestore.only, item)
	}
	if f.failedOf == "" {
		return nil
	}
	selected, err := parseSelection([]string{"restore/" + f.failedOf}, false)
	if err != nil {
		return err
	}
	snap, restore, err := f.c.readJob(ctx, selected, watch.Query{NoVerdict: true, Also: []string{watch.Pods}})
	if err != nil {
		return err
	}
	o, ok := restore.Object.(*velerov1.Restore)
	if !ok || !restore.Terminal() {
		return fmt.Errorf("restore %s has not ended: what it lost is not known", f.failedOf)
	}
	inspected, _, err := f.openStore(snap.Namespace)
	if err != nil {
		return err
	}
	items, err := inspected.Items(ctx, restore, snap.Server)
	if err != nil {
		return err
	}
	again := restorespec.Again(o)
	f.inFile = &again.Restore
	if f.askedRestore.only = append(f.askedRestore.only, cluster.FailedItems(items)...); len(f.askedRestore.only) == 0 {
		return exitError{ExitRefused, fmt.Errorf("restore %s lost nothing that is known", f.failedOf)}
	}
	return nil
}
