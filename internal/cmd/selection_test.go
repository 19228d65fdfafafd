package cmd

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/job"
)

func TestParseSelection(t *testing.T) {
	for _, c := range []struct {
		args []string
		want selection
		bad  bool
	}{
		{nil, selection{}, false},
		{[]string{"backups"}, selection{kind: job.Backup}, false},
		{[]string{"rst", "a", "b"}, selection{kind: job.Restore, names: []jobRef{{job.Restore, "a"}, {job.Restore, "b"}}}, false},
		{[]string{"restore/a", "bak/b"}, selection{names: []jobRef{{job.Restore, "a"}, {job.Backup, "b"}}}, false},
		{[]string{"Restores.velero.io"}, selection{kind: job.Restore}, false},
		{[]string{"pods"}, selection{}, true},
		{[]string{"restores", "backup/a"}, selection{}, true},
		{[]string{"restore/a", "b"}, selection{}, true},
		{[]string{"restore/"}, selection{}, true},
		{[]string{"/a"}, selection{}, true},
	} {
		got, err := parseSelection(c.args, false)
		var usage exitError
		if c.bad {
			if !errors.As(err, &usage) || usage.code != ExitUsage {
				t.Errorf("%v: %v, want a usage error", c.args, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, %v; want %+v", c.args, got, err, c.want)
		}
	}
}

// Kinds are suggested, jobs are not: nobody has looked whether they exist.
func TestUnknownKindsSuggestWhatExists(t *testing.T) {
	for arg, want := range map[string]string{"crm-old": "expected KIND/NAME, such as backup/NAME or restore/NAME", "resotre/crm-old": "did you mean restore/crm-old?", "restroes": "did you mean restores?", "pods": "expected backups or restores", "all": "leave out the kind", "bsl": "get and describe also know schedules", "schedules.velero.io": "get and describe also know schedules", "pod/x": "expected KIND/NAME, such as"} {
		_, err := parseSelection([]string{arg}, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
