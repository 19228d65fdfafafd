package collector

import (
	"context"
	"fmt"
	"io"
)

// Bodies reads the gzip-compressed tarball of a backup from r and visits the bodies
// of the items that are wanted. An item is plural and group, the namespace in the
// backup and the name. A body is valid until visit returns, and nil where it has
// more than limits.Object bytes. Nothing else of the archive is kept. Its errors are
// those of [Read].
func Bodies(ctx context.Context, r io.Reader, limits Limits, wanted func(resource, namespace, name string) bool, visit func(resource, namespace, name string, body []byte)) error {
	limits = limits.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	blocks := startPump(ctx, r, limits)
	archive := tarReader{more: blocks.next, maxName: limits.Name}
	for entries := int64(0); ; entries++ {
		e, err := archive.next()
		switch {
		case err == io.EOF:
			return nil
		case err == nil && entries == limits.Entries:
			err = fmt.Errorf("%w: more than %d entries", ErrLimit, limits.Entries)
		}
		if err == nil {
			err = bodyOf(&archive, e, limits.Object, wanted, visit)
		}
		if err != nil {
			return fmt.Errorf("reading backup archive: %w", entryError(e, err))
		}
	}
}

func bodyOf(archive *tarReader, e entry, most int64, wanted func(resource, namespace, name string) bool, visit func(resource, namespace, name string, body []byte)) error {
	path, err := cleanPath(e.name)
	if err == errOddName {
		return nil
	}
	if err != nil {
		return err
	}
	at, ok := placeOf(path)
	if !ok || e.flag != typeReg || !at.named || len(at.name) == 0 || len(at.resource) == 0 {
		return nil
	}
	resource, namespace, name := string(at.resource), string(at.namespace), string(at.name)
	if !wanted(resource, namespace, name) {
		return nil
	}
	if e.size > most {
		visit(resource, namespace, name, nil)
		return nil
	}
	body, err := archive.body(e)
	if err == nil {
		visit(resource, namespace, name, body)
	}
	return err
}
