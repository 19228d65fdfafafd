package repo

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the root of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "entering the root of the repository:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
