package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// sender sees each patch that one side sends. All times are since the kill.
type sender struct {
	mu       sync.Mutex
	killed   time.Time
	attempts []time.Duration // when each was begun
	landings []time.Duration // when an answer said that it was carried out
	returned time.Duration
	err      error
}

func (s *sender) begin(killed time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed, s.attempts, s.landings = killed, nil, nil
}

func (s *sender) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned, s.err = time.Since(s.killed), err
}

func (s *sender) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") {
			return next.RoundTrip(r)
		}
		s.mu.Lock()
		s.attempts = append(s.attempts, time.Since(s.killed))
		s.mu.Unlock()
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusOK {
			s.mu.Lock()
			s.landings = append(s.landings, time.Since(s.killed))
			s.mu.Unlock()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *sender) landedOnce() error {
	if n := len(s.landings); n != 1 {
		return errors.Join(fmt.Errorf("landed %d times", n), s.err)
	}
	return s.err
}

// end says when it landed, as seen from the API server's return, or gave up.
func (s *sender) end(away time.Duration) string {
	if len(s.landings) == 0 {
		return fmt.Sprintf(
			"never: last attempt at %s, gave up at %s",
			seconds(s.attempts[len(s.attempts)-1]),
			seconds(s.returned),
		)
	}
	late := s.landings[0] - away
	if late < 50*time.Millisecond { // or a moment before it called itself ready
		return "at once"
	}
	return seconds(late)
}
