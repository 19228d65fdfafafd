package session

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestDrippingAnswer: an answer that keeps coming ends as a whole, but not that of a watch.
func TestDrippingAnswer(t *testing.T) {
	const bytes = 100
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range bytes {
			if r.Context().Err() != nil {
				return
			}
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	defer s.Close()
	read := func(ctx context.Context) (int, error) {
		c, err := HTTPClient(
			&rest.Config{Host: s.URL},
			TransportOptions{SilenceTimeout: time.Minute, TotalTimeout: 200 * time.Millisecond},
		)
		if err != nil {
			return 0, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			return 0, err
		}
		answer, err := c.Do(r)
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return len(text), err
	}
	var slow SlowAnswerError
	if n, err := read(t.Context()); !errors.As(err, &slow) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := read(WithStreaming(t.Context())); err != nil || n != bytes {
		t.Errorf("a stream: %d bytes, %v", n, err)
	}
}
