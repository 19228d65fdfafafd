package testbed

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// SharedControlPlane is one control plane for all tests of a package, started by the first
// that needs it. They must not run in parallel where they stop its servers.
type SharedControlPlane struct {
	start sync.Once
	plane *ControlPlane
	err   error
	names atomic.Int32
}

// RunTests runs the tests, stops the control plane and returns the exit code:
//
//	func TestMain(m *testing.M) { os.Exit(shared.RunTests(m)) }
func (s *SharedControlPlane) RunTests(m *testing.M) int {
	code := m.Run()
	if s.plane == nil {
		return code
	}
	if err := s.plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
		return 1
	}
	return code
}

// ControlPlane returns the control plane, or fails the test if it cannot be had.
func (s *SharedControlPlane) ControlPlane(t testing.TB) *ControlPlane {
	t.Helper()
	s.start.Do(func() { s.plane, s.err = Start(context.Background(), Options{}) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.plane
}

// Name returns prefix with a number that no other caller got: without a
// controller manager what is in a namespace outlives it, so that each test
// needs names of its own, also when it runs again.
func (s *SharedControlPlane) Name(prefix string) string {
	return fmt.Sprintf("%s-%d", prefix, s.names.Add(1))
}
