package scene

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// relativeTimePattern matches a signed duration, which is a time relative to now.
var relativeTimePattern = regexp.MustCompile(`^[+-](\d+(\.\d+)?(h|m|s))+$`)

// relativeClock resolves relative times at now.
type relativeClock struct{ now time.Time }

// parseTime resolves a signed duration. ok is false for any other text.
func (c relativeClock) parseTime(text string) (t time.Time, ok bool) {
	if !relativeTimePattern.MatchString(text) {
		return time.Time{}, false
	}
	d, err := time.ParseDuration(text)
	return c.now.Add(d).UTC().Truncate(time.Second), err == nil
}

// resolveTimes replaces every relative time in decoded JSON by RFC 3339, in place. Keys stay as they are.
func (c relativeClock) resolveTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = c.resolveTimes(v)
		}
	case []any:
		for n, v := range value {
			value[n] = c.resolveTimes(v)
		}
	case string:
		if t, ok := c.parseTime(value); ok {
			return t.Format(time.RFC3339)
		}
		return c.fillTimes(value)
	}
	return value
}

// embeddedTimePattern matches a relative time inside a text: <cron -9h>, <hourly -9h>, <weekly -9h>, <minutes -9h>,
// <stamp
// -9h>.
var embeddedTimePattern = regexp.MustCompile(`<(cron|hourly|weekly|minutes|stamp) ([+-](?:\d+[hms])+)>`)

// fillTimes resolves the relative times inside a text: to a daily, hourly or weekly cron schedule at that time, to
// the number in the name of a CronJob's Job, or to the date in the name of a file.
func (c relativeClock) fillTimes(text string) string {
	return embeddedTimePattern.ReplaceAllStringFunc(text, func(found string) string {
		m := embeddedTimePattern.FindStringSubmatch(found)
		t, ok := c.parseTime(m[2])
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

// timePlaceholder stands in a line for the time before the line.
const timePlaceholder = "time=... "

// parseLogs parses lines that begin with their time in brackets. It returns an empty log for an empty list, and nil
// for nil.
func parseLogs(lines []string, c relativeClock) ([]LogLine, error) {
	if lines == nil {
		return nil, nil
	}
	logs := make([]LogLine, 0, len(lines))
	for n, line := range lines {
		relative, text, found := strings.Cut(strings.TrimPrefix(line, "["), "] ")
		t, ok := c.parseTime(relative)
		if !found || !ok || !strings.HasPrefix(line, "[") {
			return nil, fmt.Errorf("line %d of logs: it does not begin with its time in brackets, such as [-40m]", n+1)
		}
		if rest, found := strings.CutPrefix(text, timePlaceholder); found {
			text = fmt.Sprintf("time=%q %s", t.Format(time.RFC3339), rest)
		}
		logs = append(logs, LogLine{Time: t, Text: c.fillTimes(text)})
	}
	return logs, nil
}
