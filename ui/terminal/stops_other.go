//go:build !unix

package terminal

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

func WatchStops(context.Context, func(), func()) {}

type jobControl struct{}

func newJobControl() *jobControl { return &jobControl{} }

func (*jobControl) attachProgram(context.Context, func(tea.Msg)) {}

func (*jobControl) filterMessage(msg tea.Msg) tea.Msg { return msg }
