package velero

import "strings"

// FatalLine is what a program of Velero's wrote when it ended by itself.
type FatalLine struct {
	// Text is the line, such as "panic: runtime error: index out of range [3]".
	Text string
	// Function is the function of Velero's or of a plugin that failed, empty if none is named.
	Function string
}

// FindFatalLine returns why a program ended, by the last lines of its log; no text if they do not say. A Go program
// that panics, or that the runtime ends, prints the reason and the stack of the goroutine (Go, runtime/panic.go
// printpanics; runtime/traceback.go). Velero logs with level fatal what ends its server, or prints it.
func FindFatalLine(lines []string) (found FatalLine) {
	stackAt := -1
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			found, stackAt = FatalLine{Text: strings.TrimSpace(line)}, i+1
		case strings.HasPrefix(line, "An error occurred: "), // pkg/cmd/errors.go CheckError
			strings.Contains(line, "level=fatal"), strings.Contains(line, `"level":"fatal"`):
			found, stackAt = FatalLine{Text: strings.TrimSpace(line)}, -1
			if entry, ok := ParseLogLine(line); ok {
				found.Text = entry.Text
				if entry.Error != "" {
					found.Text += ": " + entry.Error
				}
			}
		}
	}
	if stackAt >= 0 {
		found.Function = findFailedFunction(lines[stackAt:])
	}
	return found
}

// findFailedFunction returns the first function of a stack that is not Go's own.
func findFailedFunction(stack []string) string {
	inGoroutine := false
	for _, line := range stack {
		switch {
		case strings.HasPrefix(line, "goroutine "):
			if inGoroutine {
				return ""
			}
			inGoroutine = true
		case !inGoroutine || strings.HasPrefix(line, "\t") || line == "":
		case strings.HasPrefix(line, "panic("), strings.HasPrefix(line, "runtime."), strings.HasPrefix(line, "runtime/"),
			strings.HasPrefix(line, "k8s.io/apimachinery/pkg/util/runtime."), strings.HasPrefix(line, "created by "):
		default:
			function := line
			if at := strings.LastIndex(line, "("); at > 0 {
				function = line[:at]
			}
			return function
		}
	}
	return ""
}
