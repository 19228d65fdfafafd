package ui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// header is the first line of every screen: where we are, whether what is
// shown can be trusted, and how many jobs there are. What matters least gives
// way first: the server, its age, the counts of what goes well.
func (m *Model) header(c draw.Canvas) string {
	place := m.placeText()
	health := m.healthText(c)
	var left, right string
	for _, v := range []struct {
		server, uptime, calm, brand bool
	}{{true, true, true, true}, {true, false, true, true}, {false, false, true, true}, {false, false, false, true}, {}} {
		left, right = " ", strings.Join(slices.DeleteFunc([]string{health, m.countsText(c, v.calm)}, func(s string) bool { return s == "" }), "   ")+" "
		if v.brand {
			left += c.Theme.Accent.Render("veltui") + "  "
		}
		place := place
		if !v.brand {
			place = c.CutMiddle(place, c.Width-lipgloss.Width(left+right)-1)
		}
		left += c.Theme.Strong.Render(place)
		if m.options.ReadOnly {
			left += "  " + c.Theme.Waiting.Render("read-only")
		}
		if server := m.serverText(v.uptime); v.server && server != "" {
			left += "  " + c.Theme.Dim.Render(server)
		}
		if lipgloss.Width(left)+lipgloss.Width(right)+2 <= c.Width {
			break
		}
	}
	return c.Split(left, right)
}

// placeText is the context and the namespace that are looked at.
func (m *Model) placeText() string {
	place := m.options.Context
	if m.assessed != nil && m.assessed.Snapshot.Namespace != "" {
		place += "/" + m.assessed.Snapshot.Namespace
		if n := len(m.assessed.Snapshot.OtherNamespaces); n > 0 {
			place += fmt.Sprintf(" (+%d)", n)
		}
	}
	return place
}

func (m *Model) serverText(uptime bool) string {
	if m.assessed == nil {
		return ""
	}
	s := m.assessed.Snapshot.Server
	switch {
	case !s.Visible:
		return ""
	case !s.Running && s.Waiting != "":
		return "velero " + s.Waiting
	case !s.Running:
		return "velero is not running"
	}
	text := strings.TrimSpace("velero " + s.Version)
	if uptime {
		text += " up " + human.Age(s.StartedAt, m.clusterNow())
	}
	return text
}

func (m *Model) healthText(c draw.Canvas) string {
	if m.assessed == nil {
		return c.Theme.Waiting.Render("connecting")
	}
	h := m.assessed.Snapshot.Health
	switch h.State {
	case watch.Live:
		return c.Theme.Good.Render("live")
	case watch.Stale:
		return c.Theme.Bad.Render("stale " + human.Age(h.Since, m.clusterNow()))
	case watch.Unauthorized:
		return c.Theme.Bad.Render("credentials expired, press r")
	default:
		return c.Theme.Waiting.Render("connecting")
	}
}

// countsText counts the jobs that run and wait, if calm ones are wanted, and
// those in trouble.
func (m *Model) countsText(c draw.Canvas, calm bool) string {
	if m.assessed == nil {
		return ""
	}
	var parts []string
	if n := m.assessed.Running; n > 0 && calm {
		parts = append(parts, c.Theme.Running.Render(fmt.Sprintf("%d running", n)))
	}
	if n := m.assessed.Queued; n > 0 && calm {
		parts = append(parts, c.Theme.Waiting.Render(fmt.Sprintf("%d queued", n)))
	}
	if n := m.assessed.Troubled; n > 0 {
		parts = append(parts, c.Theme.Bad.Render(fmt.Sprintf("%d stuck", n)))
	}
	if len(m.assessed.Snapshot.Active) == 0 && calm && m.assessed.Snapshot.Health.State != watch.Connecting && seesJobs(m.assessed.Snapshot) {
		return c.Theme.Dim.Render("idle")
	}
	return strings.Join(parts, "  ")
}
