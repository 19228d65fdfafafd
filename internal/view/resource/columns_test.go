package resource

import (
	"slices"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/view"
)

// Every row has a cell for each column, and a name stands for one column.
func TestCellsFitTheirColumns(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	namespace := coverage.Namespace{Item: coverage.Item{Name: "shop"}}
	for name, c := range map[string]struct {
		columns []view.Column
		cells   []view.Cell
	}{
		"coverage":       {CoverageColumns, CoverageCells(namespace.Item, namespace, now)},
		"etcd backups":   {EtcdBackupColumns, EtcdBackupCells(etcd.JudgedBackup{Backup: &etcd.Backup{}}, now)},
		"etcd schedules": {EtcdScheduleColumns, EtcdScheduleCells(etcd.JudgedSchedule{Schedule: &etcd.Schedule{}}, now)},
	} {
		var names []string
		for _, column := range c.columns {
			if slices.Contains(names, column.Name) {
				t.Errorf("%s: two columns are named %s", name, column.Name)
			}
			names = append(names, column.Name)
		}
		if len(c.cells) != len(c.columns) {
			t.Errorf("%s: %d cells for %d columns", name, len(c.cells), len(c.columns))
		}
		if shown := view.ScreenTexts(c.columns, c.cells); len(shown) != len(view.ScreenColumns(c.columns)) {
			t.Errorf("%s: the screen has %d texts", name, len(shown))
		}
	}
}

func TestCoverageCells(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	item := coverage.Item{
		Kind: "claim", Namespace: "shop", Name: "data", State: coverage.Unprotected, Sentence: "No schedule takes it.",
		NextRunAt: now.Add(3 * time.Hour),
	}
	got := map[string]string{}
	for i, cell := range CoverageCells(item, coverage.Namespace{}, now) {
		got[CoverageColumns[i].Name] = cell.PrintedText
	}
	for name, want := range map[string]string{
		"namespace": "shop", "kind": "claim", "name": "data", "state": "! unprotected", "next": "3h",
		"why": "No schedule takes it",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
