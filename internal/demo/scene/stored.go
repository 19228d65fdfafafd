package scene

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Stored is what the object store holds for one job.
type Stored struct {
	// Known is whether the scene says anything about the store.
	Known bool
	// Unreachable: nobody can fetch anything.
	Unreachable bool
	// Files are by the kind of the DownloadRequest that asks for them, such as
	// "RestoreLog". None of them, where Known: nothing is stored.
	Files map[string]File
}

// File is one stored file.
type File struct {
	// Modified is what the object store says in Last-Modified.
	Modified time.Time
	// Body is the unpacked content; the store serves it compressed.
	Body string
}

func readStored(raw json.RawMessage, c clock) (Stored, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return Stored{}, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word != "unreachable" {
			return Stored{}, fmt.Errorf("stored: %q is neither files nor unreachable", word)
		}
		return Stored{Known: true, Unreachable: true}, nil
	}
	var files map[string]struct {
		Modified string `json:"modified"`
		Body     string `json:"body"`
	}
	if err := json.Unmarshal(raw, &files); err != nil {
		return Stored{}, fmt.Errorf("stored: %w", err)
	}
	s := Stored{Known: true, Files: make(map[string]File, len(files))}
	for kind, f := range files {
		modified, ok := c.time(f.Modified)
		if !ok {
			return Stored{}, fmt.Errorf(
				"stored: %s: modified %q is not a time relative to now, such as -40m",
				kind,
				f.Modified,
			)
		}
		if strings.HasPrefix(f.Body, "[") && strings.HasSuffix(kind, "Log") {
			lines, err := readLogs(strings.Split(strings.TrimSpace(f.Body), "\n"), c)
			if err != nil {
				return Stored{}, fmt.Errorf("stored: %s: %w", kind, err)
			}
			f.Body = ""
			for _, line := range lines {
				f.Body += line.Text + "\n"
			}
		}
		s.Files[kind] = File{Modified: modified, Body: f.Body}
	}
	return s, nil
}
