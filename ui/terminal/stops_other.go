//go:build !unix

package terminal

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

func WatchStops(context.Context, func(), func()) {}

type stops struct{}

func newStops() *stops { return &stops{} }

func (*stops) attach(context.Context, func(tea.Msg)) {}

func (*stops) filter(msg tea.Msg) tea.Msg { return msg }
