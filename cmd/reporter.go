package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/ui/jobview"
)

// reporter makes reports for the dashboard, as `veltui report` makes them.
type reporter struct {
	cli   *cli
	flags reportFlags
}

var _ jobview.Reporter = (*reporter)(nil)

// Report makes the document about a job, as Markdown.
func (r *reporter) Report(ctx context.Context, assessed *assess.Assessment, judged assess.Judged) (string, error) {
	quiet := *r.cli
	quiet.streams.ErrOut = io.Discard // the screen is the dashboard's
	document, err := quiet.reportOn(ctx, assessed, judged, r.flags)
	if err != nil {
		return "", inspect.Clean(err)
	}
	return document.Markdown(), nil
}

// Save writes a report to a new file in the working directory or, where veltui may not
// write there, in its state folder.
func (r *reporter) Save(name, text string) (string, error) {
	path, err := filepath.Abs(name)
	if err == nil {
		err = safefile.WriteNew(path, []byte(text))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		dir, elsewhere := r.cli.stateDir()
		if elsewhere == nil {
			elsewhere = os.MkdirAll(dir, 0o700)
		}
		if elsewhere == nil {
			path = filepath.Join(dir, name)
			elsewhere = safefile.WriteNew(path, []byte(text))
		}
		if elsewhere != nil {
			elsewhere = fmt.Errorf("%w; %w", err, elsewhere)
		}
		err = elsewhere
	}
	if err != nil {
		return "", inspect.Clean(err)
	}
	return sanitize.Whole(path), nil
}
