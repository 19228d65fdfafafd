package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPages(t *testing.T) {
	failure := errors.New("broken")
	expired := apierrors.NewResourceExpired("expired")
	type page struct {
		next string
		err  error
	}
	for name, c := range map[string]struct {
		pages []page
		// asked are the tokens and limits of the requests.
		asked []string
		err   error
	}{
		"one page":                {[]page{{"", nil}}, []string{" 500"}, nil},
		"several pages":           {[]page{{"a", nil}, {"b", nil}, {"", nil}}, []string{" 500", "a 500", "b 500"}, nil},
		"a list that expires":     {[]page{{"a", nil}, {"", expired}, {"b", nil}, {"", nil}}, []string{" 500", "a 500", " 500", "b 500"}, nil},
		"one that expires again":  {[]page{{"a", nil}, {"", expired}, {"b", nil}, {"", expired}}, []string{" 500", "a 500", " 500", "b 500"}, expired},
		"one that was never good": {[]page{{"", expired}}, []string{" 500"}, expired},
		"a failure":               {[]page{{"a", nil}, {"", failure}}, []string{" 500", "a 500"}, failure},
		"long pages":              {[]page{{"", tooLongError(1)}, {"a", nil}, {"", tooLongError(1)}, {"", nil}}, []string{" 500", " 50", "a 50", "a 5"}, nil},
	} {
		var asked []string
		err := ReadPages(
			t.Context(),
			metav1.ListOptions{Limit: PageSize},
			func(_ context.Context, o metav1.ListOptions) (string, error) {
				asked = append(asked, fmt.Sprint(o.Continue, " ", o.Limit))
				p := c.pages[len(asked)-1]
				return p.next, p.err
			},
		)
		if !errors.Is(err, c.err) || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: %v, asked for %q", name, err, asked)
		}
	}
}

// TestPagesWithoutEnd are no whole list, and end all the same.
func TestPagesWithoutEnd(t *testing.T) {
	for name, next := range map[string]func(n int) string{
		"the same page":       func(int) string { return "a" },
		"two pages in turn":   func(n int) string { return fmt.Sprint(n % 2) },
		"always another page": func(n int) string { return fmt.Sprint(n) },
		"a long token":        func(int) string { return strings.Repeat("a", 1<<20) },
	} {
		for _, limit := range []int64{0, 5, PageSize} {
			n := 0
			err := ReadPages(
				t.Context(),
				metav1.ListOptions{Limit: limit},
				func(context.Context, metav1.ListOptions) (string, error) {
					n++
					return next(n), nil
				},
			)
			if !IsIncomplete(err) || n > maxPages {
				t.Errorf("%s by %d: %v after %d pages", name, limit, err, n)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	err := ReadPages(ctx, metav1.ListOptions{}, func(context.Context, metav1.ListOptions) (string, error) {
		cancel(cause)
		return "", context.Canceled
	})
	if !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}
