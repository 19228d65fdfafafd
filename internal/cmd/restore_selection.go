package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// addItemFlags adds the flags that restrict the restore to certain objects.
func (f *createRestoreCommand) addItemFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(
		&f.onlyArgs,
		"only",
		nil,
		"Restore this object and no others: RESOURCE/NAMESPACE/NAME, or RESOURCE/NAME (repeatable)",
	)
	flags.StringVar(&f.onlyFile, "only-from", "", "File with one such object a line ('-' for standard input)")
	flags.StringVar(&f.failedRestore, "failed-of", "", "Restore what this restore lost, as it would have")
	completeFiles(cmd, "only-from")
	completeFlag(cmd, "failed-of", f.cli.completeJobNames(job.Restore))
}

func (f *createRestoreCommand) checkItemFlags(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for _, flag := range []string{"from-backup", "from-schedule", "file"} {
		if f.failedRestore != "" && changed(flag) {
			return usageErrorf("--failed-of and --%s: give one or the other", flag)
		}
	}
	return nil
}

// resolveItems reads which objects to restore, if not all.
func (f *createRestoreCommand) resolveItems(ctx context.Context) error {
	words := f.onlyArgs
	if f.onlyFile != "" {
		text, err := f.cli.stdio.readFile(f.onlyFile)
		if err == nil {
			text, err = decodeText(text)
		}
		if err != nil {
			return err
		}
		words = slices.Concat(words, strings.Split(strings.TrimSpace(string(text)), "\n"))
	}
	for _, word := range words {
		item, err := restorespec.ParseItem(word)
		if err != nil {
			return usageErrorf("--only: %v", err)
		}
		f.requestedRestore.onlyItems = append(f.requestedRestore.onlyItems, item)
	}
	if f.failedRestore == "" {
		return nil
	}
	selected, err := parseSelection([]string{"restore/" + f.failedRestore}, false)
	if err != nil {
		return err
	}
	query := watch.Query{SkipVerdicts: true, ExtraKinds: []string{watch.Pods}}
	snap, restore, err := f.cli.readJob(ctx, selected, query)
	if err != nil {
		return err
	}
	o, ok := restore.Object.(*veleroapi.Restore)
	if !ok || !restore.IsTerminal() {
		return fmt.Errorf("restore %s has not ended: what it lost is not known", f.failedRestore)
	}
	inspected, _, err := f.openStore(snap.Namespace)
	if err != nil {
		return err
	}
	items, err := inspected.FetchItems(ctx, restore, snap.Server)
	if err != nil {
		return err
	}
	again := restorespec.NewDraftFrom(o)
	f.fileRestore = &again.Restore
	if f.requestedRestore.onlyItems = append(
		f.requestedRestore.onlyItems,
		cluster.FailedItems(items)...); len(
		f.requestedRestore.onlyItems,
	) == 0 {
		return exitError{ExitRefused, fmt.Errorf("restore %s lost nothing that is known", f.failedRestore)}
	}
	return nil
}
