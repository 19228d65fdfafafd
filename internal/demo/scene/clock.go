package scene

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// signed is a duration with a sign, which is a time relative to now.
var signed = regexp.MustCompile(`^[+-](\d+(\.\d+)?(h|m|s))+$`)

// clock turns relative times into those that they are at now.
type clock struct{ now time.Time }

// time reads a signed duration. ok is false for any other text.
func (c clock) time(text string) (t time.Time, ok bool) {
	if !signed.MatchString(text) {
		return time.Time{}, false
	}
	d, err := time.ParseDuration(text)
	return c.now.Add(d).UTC().Truncate(time.Second), err == nil
}

// resolve writes every relative time in decoded JSON as RFC 3339, in place.
// Keys stay as they are.
func (c clock) resolve(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = c.resolve(v)
		}
	case []any:
		for n, v := range value {
			value[n] = c.resolve(v)
		}
	case string:
		if t, ok := c.time(value); ok {
			return t.Format(time.RFC3339)
		}
		return c.fill(value)
	}
	return value
}

// written is a form of a relative time inside a text: <cron -9h>, <hourly -9h>,
// <weekly -9h>, <minutes -9h>, <stamp -9h>.
var written = regexp.MustCompile(`<(cron|hourly|weekly|minutes|stamp) ([+-](?:\d+[hms])+)>`)

// fill writes the relative times inside a text: as the cron schedule that has it
// every day, hour or week, as the number in the name of a CronJob's Job, and as the
// date in the name of a file.
func (c clock) fill(text string) string {
	return written.ReplaceAllStringFunc(text, func(found string) string {
		m := written.FindStringSubmatch(found)
		t, ok := c.time(m[2])
		switch {
		case !ok:
			return found
		case m[1] == "cron":
			return fmt.Sprintf("%d %d * * *", t.Minute(), t.Hour())
		case m[1] == "hourly":
			return fmt.Sprintf("%d * * * *", t.Minute())
		case m[1] == "weekly":
			return fmt.Sprintf("%d %d * * %d", t.Minute(), t.Hour(), t.Weekday())
		case m[1] == "minutes":
			return fmt.Sprint(t.Unix() / 60)
		}
		return t.Format("2006-01-02_150405")
	})
}

// writtenTime is what stands in a line for the time in front of it.
const writtenTime = "time=... "

// readLogs reads lines that begin with their time in brackets. No lines give an
// empty log where lines is not nil.
func readLogs(lines []string, c clock) ([]Line, error) {
	if lines == nil {
		return nil, nil
	}
	logs := make([]Line, 0, len(lines))
	for n, line := range lines {
		relative, text, found := strings.Cut(strings.TrimPrefix(line, "["), "] ")
		t, ok := c.time(relative)
		if !found || !ok || !strings.HasPrefix(line, "[") {
			return nil, fmt.Errorf("line %d of logs: it does not begin with its time in brackets, such as [-40m]", n+1)
		}
		if rest, found := strings.CutPrefix(text, writtenTime); found {
			text = fmt.Sprintf("time=%q %s", t.Format(time.RFC3339), rest)
		}
		logs = append(logs, Line{Time: t, Text: c.fill(text)})
	}
	return logs, nil
}
