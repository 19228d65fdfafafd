package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cron is when a schedule runs: every so often, or at the minutes of five
// fields in UTC. Of cron's grammar it knows numbers, *, lists, ranges and
// steps, which is all that schedules in practice use, and @every.
type cron struct {
	every  time.Duration
	fields [5][]int
}

func parseCron(expression string) (cron, error) {
	if after, ok := strings.CutPrefix(expression, "@every "); ok {
		every, err := time.ParseDuration(after)
		if err != nil || every < time.Second {
			return cron{}, fmt.Errorf("invalid schedule: %q is no duration", after)
		}
		return cron{every: every}, nil
	}
	var c cron
	words := strings.Fields(expression)
	if len(words) != len(c.fields) {
		return c, fmt.Errorf("invalid schedule: expected exactly 5 fields, found %d: %s", len(words), expression)
	}
	limits := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	for n, word := range words {
		for _, part := range strings.Split(word, ",") {
			values, err := parseCronPart(part, limits[n][0], limits[n][1])
			if err != nil {
				return c, fmt.Errorf("invalid schedule: %w: %s", err, expression)
			}
			c.fields[n] = append(c.fields[n], values...)
		}
	}
	return c, nil
}

func parseCronPart(part string, low, high int) ([]int, error) {
	span, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return nil, fmt.Errorf("bad step %q", stepText)
		}
	}
	first, last := low, high
	if span != "*" {
		from, to, ranged := strings.Cut(span, "-")
		var err error
		if first, err = strconv.Atoi(from); err != nil {
			return nil, fmt.Errorf("bad number %q", from)
		}
		last = first
		if ranged {
			if last, err = strconv.Atoi(to); err != nil {
				return nil, fmt.Errorf("bad number %q", to)
			}
		}
	}
	if first < low || last > high || first > last {
		return nil, fmt.Errorf("%q is out of range", part)
	}
	var values []int
	for v := first; v <= last; v += step {
		values = append(values, v)
	}
	return values, nil
}

// next is the first run after t; zero if there is none within four years.
func (c cron) next(t time.Time) time.Time {
	if c.every > 0 {
		return t.Add(c.every)
	}
	t = t.UTC().Truncate(time.Minute)
	for end := t.AddDate(4, 0, 0); t.Before(end); {
		t = t.Add(time.Minute)
		if !c.day(t) {
			t = t.Truncate(24 * time.Hour).Add(24*time.Hour - time.Minute)
			continue
		}
		if slices.Contains(c.fields[0], t.Minute()) && slices.Contains(c.fields[1], t.Hour()) {
			return t
		}
	}
	return time.Time{}
}

// day reports whether t's date fits. Of day of month and day of week one is
// enough if both are restricted.
func (c cron) day(t time.Time) bool {
	dom, dow := slices.Contains(c.fields[2], t.Day()), slices.Contains(c.fields[4], int(t.Weekday()))
	if len(c.fields[2]) < 31 && len(c.fields[4]) < 7 {
		return slices.Contains(c.fields[3], int(t.Month())) && (dom || dow)
	}
	return slices.Contains(c.fields[3], int(t.Month())) && dom && dow
}
