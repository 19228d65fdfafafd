package restorespec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Flags collects what a command's flags say of a restore. Its zero value is ready.
type Flags struct {
	said  Draft
	given []Field // once each, in order
}

// ErrSelectors is returned where both kinds of selector were given, by flags or beside them.
var ErrSelectors = errors.New("use either --selector or --or-selector, not both")

// AddAll adds all flags of a restore.
func (f *Flags) AddAll(flags *pflag.FlagSet) {
	for _, field := range Fields() {
		short := ""
		if field.Flag == "selector" {
			short = "l"
		}
		flag := flags.VarPF(&flagValue{f, field}, field.Flag, short, field.Help)
		if field.kind == "optionalBool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// Draft is what the flags say on their own.
func (f *Flags) Draft() Draft { return f.said }

// Apply puts what was given into a Restore; what was not stays as it is there.
func (f *Flags) Apply(r *velerov1.Restore) error {
	d := Draft{Restore: *r}
	for _, field := range f.given {
		field.Clear(&d)
		if text, given := field.Text(&f.said); given {
			if err := field.Set(&d, text); err != nil {
				return fmt.Errorf("--%s: %w", field.Flag, err)
			}
		}
	}
	selects := slices.ContainsFunc(
		f.given,
		func(field Field) bool { return field.Flag == "selector" || field.Flag == "or-selector" },
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
	field Field
}

func (v *flagValue) Type() string { return v.field.kind }
func (v *flagValue) String() string {
	if v.flags == nil { // pflag asks a zero value, too
		return ""
	}
	text, _ := v.field.Text(&v.flags.said)
	return text
}
func (v *flagValue) Set(text string) error {
	if !slices.ContainsFunc(v.flags.given, func(before Field) bool { return before.Flag == v.field.Flag }) {
		v.flags.given = append(v.flags.given, v.field)
	}
	return v.field.read(&v.flags.said, text)
}

// Parse reads the words behind `velero restore create`: at most one name, and flags.
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
		f.said.Restore.Name = flags.Arg(0)
	default:
		return Draft{}, fmt.Errorf("expected one name, got %q", flags.Args())
	}
	return f.said, nil
}
