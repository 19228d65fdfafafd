package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
)

// SaveFile writes a new private file, unless a file with exactly this text exists.
func (c *Cluster) SaveFile(path string, data []byte) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	switch err := safefile.WriteNew(path, data); {
	case errors.Is(err, os.ErrExist):
		if hasContent(path, data) {
			return sanitize.FullLine(path), nil
		}
		return "", fmt.Errorf("%s %w", sanitize.String(path), ErrFileExists)
	case err != nil:
		return "", sanitize.Error(err)
	}
	return sanitize.FullLine(path), nil
}

// hasContent reports whether a file has exactly this content.
func hasContent(path string, data []byte) bool {
	file, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, int64(len(data))+1))
	return err == nil && bytes.Equal(content, data)
}

// ErrFileExists is the reason why a file is not saved; it follows the path.
var ErrFileExists = errors.New("exists already, and veltui does not replace it")
