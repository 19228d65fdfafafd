package restorespec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Flags collects what a command's flags say about a restore. Its zero value is ready for use.
type Flags struct {
	draft Draft
	given []FlagSpec // once each, in order
}

// ErrSelectors is the error for both kinds of selector at once, given by flags or beside them.
var ErrSelectors = errors.New("use either --selector or --or-selector, not both")

// AddAll adds all flags of a restore.
func (f *Flags) AddAll(flags *pflag.FlagSet) {
	for _, field := range FlagSpecs() {
		short := ""
		if field.Flag == "selector" {
			short = "l"
		}
		flag := flags.VarPF(&flagValue{f, field}, field.Flag, short, field.Help)
		if field.typeName == "optionalBool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// Draft returns what the flags alone say.
func (f *Flags) Draft() Draft { return f.draft }

// ApplyTo sets the given fields in a Restore; the other fields stay as they are.
func (f *Flags) ApplyTo(r *veleroapi.Restore) error {
	d := Draft{Restore: *r}
	for _, field := range f.given {
		field.Clear(&d)
		if text, given := field.ValueText(&f.draft); given {
			if err := field.Set(&d, text); err != nil {
				return fmt.Errorf("--%s: %w", field.Flag, err)
			}
		}
	}
	selects := slices.ContainsFunc(
		f.given,
		func(field FlagSpec) bool { return field.Flag == "selector" || field.Flag == "or-selector" },
	)
	if selects && d.Restore.Spec.LabelSelector != nil && d.Restore.Spec.OrLabelSelectors != nil {
		return ErrSelectors
	}
	d.DropLoneExcludes(r.Spec)
	*r = d.Restore
	return nil
}

type flagValue struct {
	flags *Flags
	field FlagSpec
}

func (v *flagValue) Type() string { return v.field.typeName }
func (v *flagValue) String() string {
	if v.flags == nil { // pflag also calls String on a zero value
		return ""
	}
	text, _ := v.field.ValueText(&v.flags.draft)
	return text
}
func (v *flagValue) Set(text string) error {
	if !slices.ContainsFunc(v.flags.given, func(before FlagSpec) bool { return before.Flag == v.field.Flag }) {
		v.flags.given = append(v.flags.given, v.field)
	}
	return v.field.read(&v.flags.draft, text)
}

// Parse reads the words after `velero restore create`: at most one name, and flags.
func Parse(words []string) (Draft, error) {
	var f Flags
	flags := pflag.NewFlagSet("velero restore create", pflag.ContinueOnError)
	f.AddAll(flags)
	if err := flags.Parse(words); err != nil {
		return Draft{}, err
	}
	switch flags.NArg() {
	case 0:
	case 1:
		f.draft.Restore.Name = flags.Arg(0)
	default:
		return Draft{}, fmt.Errorf("expected one name, got %q", flags.Args())
	}
	return f.draft, nil
}
