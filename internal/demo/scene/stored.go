package scene

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// StoredFiles holds the object store's files for one job.
type StoredFiles struct {
	// Known is true if the scene has a section about the store.
	Known bool
	// Unreachable means that nothing can be fetched.
	Unreachable bool
	// Files holds the files by the kind of the DownloadRequest that asks for them, such as "RestoreLog". If Known and
	// empty, nothing is stored.
	Files map[string]StoredFile
}

// StoredFile is one stored file.
type StoredFile struct {
	// Modified is the object store's Last-Modified.
	Modified time.Time
	// Body is the unpacked content; the store serves it compressed.
	Body string
	// Plain is true for content that the store serves as it is: decompressed on the way, or something else in its place.
	Plain bool
}

func parseStoredFiles(raw json.RawMessage, c relativeClock) (StoredFiles, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return StoredFiles{}, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word != "unreachable" {
			return StoredFiles{}, fmt.Errorf("stored: %q is neither files nor unreachable", word)
		}
		return StoredFiles{Known: true, Unreachable: true}, nil
	}
	var files map[string]struct {
		Modified string `json:"modified"`
		Body     string `json:"body"`
		Plain    bool   `json:"plain"`
	}
	if err := json.Unmarshal(raw, &files); err != nil {
		return StoredFiles{}, fmt.Errorf("stored: %w", err)
	}
	s := StoredFiles{Known: true, Files: make(map[string]StoredFile, len(files))}
	for kind, f := range files {
		modified, ok := c.parseTime(f.Modified)
		if !ok {
			return StoredFiles{}, fmt.Errorf(
				"stored: %s: modified %q is not a time relative to now, such as -40m",
				kind,
				f.Modified,
			)
		}
		if strings.HasPrefix(f.Body, "[") && strings.HasSuffix(kind, "Log") {
			lines, err := parseLogs(strings.Split(strings.TrimSpace(f.Body), "\n"), c)
			if err != nil {
				return StoredFiles{}, fmt.Errorf("stored: %s: %w", kind, err)
			}
			f.Body = ""
			for _, line := range lines {
				f.Body += line.Text + "\n"
			}
		}
		s.Files[kind] = StoredFile{Modified: modified, Body: f.Body, Plain: f.Plain}
	}
	return s, nil
}
