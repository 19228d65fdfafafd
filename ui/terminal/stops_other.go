//go:build !unix

package terminal

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// stops does nothing where programs are not stopped.
type stops struct{}

func (*stops) watch(context.Context, func(tea.Msg)) {}

func (*stops) filter(_ tea.Model, msg tea.Msg) tea.Msg { return msg }
