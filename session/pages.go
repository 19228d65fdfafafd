package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const PageSize = 500

const (
	MaxItems     = 500_000  // of one list: several times what the largest clusters keep of one kind
	maxPages     = 10_000   // for smaller pages too
	smallerPages = 10       // of a page that is too long
	maxToken     = 64 << 10 // of a continue token; the API server's have some hundred bytes
)

// Pages reads a list page by page: read gets the options of each and returns the token of the
// next. An expired list is read once more from its beginning, for which options have no token,
// and a page that is too long in smaller ones. A list without end is an [IncompleteError].
func Pages(ctx context.Context, o metav1.ListOptions, read func(context.Context, metav1.ListOptions) (next string, err error)) error {
	again, items := true, 0
	for range maxPages {
		next, err := read(ctx, o)
		var incomplete *IncompleteError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && again && o.Continue != "":
			again, o.Continue = false, ""
			continue
		case errors.As(err, &incomplete) && incomplete.TooLong && o.Limit >= smallerPages:
			o.Limit /= smallerPages
			continue
		case err != nil || next == "":
			return err
		case next == o.Continue:
			return &IncompleteError{Reason: "incomplete: the API server sends the same page of the list again"}
		case len(next) > maxToken:
			return &IncompleteError{Reason: fmt.Sprintf("incomplete: the API server's token for the next page is longer than %d kB", maxToken>>10)}
		}
		if items += int(cmp.Or(o.Limit, PageSize)); items >= MaxItems {
			break
		}
		o.Continue = next
	}
	return &IncompleteError{Reason: fmt.Sprintf("incomplete: the list has no end; veltui stopped after %d objects", min(items, MaxItems))}
}
