package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// keyLimit is how long a key's frame is waited for.
const keyLimit = 5 * time.Second

// The updates while keys are pressed: 50 objects, ten times a second each.
const (
	keyRestores = 10
	keyUploads  = 40
	keyPace     = 100 * time.Millisecond
)

// measureKeyPresses measures from writing a key to the terminal until the bytes of the
// frame that shows what it did have come: the selection is one row further.
func (b *bench) measureKeyPresses(ctx context.Context) error {
	for _, at := range []struct {
		words, namespace, target string
		busy                     bool
		runs                     int
	}{
		{"small cluster", smallNamespace, "", false, 1},
		{"small cluster, 500 updates/s", smallNamespace, "at most 50 (p99)", true, min(b.runs, 3)},
		{"large cluster, 500 updates/s", largeNamespace, "at most 50 (p99)", true, min(b.runs, 2)},
	} {
		pace := keyPace
		if !at.busy {
			pace = time.Hour
		}
		m, err := b.startRestores(ctx, at.namespace, 0, keyRestores, pace)
		if err == nil {
			err = m.startUploads(ctx, at.namespace, keyUploads, pace)
		}
		for range at.runs {
			for _, c := range b.listVeltuis() {
				if err != nil || ctx.Err() != nil {
					break
				}
				if failure := b.pressKeys(ctx, c, at.namespace, "key to frame, "+at.words, at.target); failure != nil {
					b.table.addNote("key to frame, %s, %s: %s", at.words, c.column, firstLine(failure))
				}
			}
		}
		if m != nil {
			if at.busy {
				b.table.addNote("%s: %.0f updates/s were written (%d failed).", at.words, m.updatesPerSecond(), m.failed.Load())
			}
			m.stopAndDelete()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at.words, err)
		}
	}
	return ctx.Err()
}

// pressKeys presses keys on one dashboard.
func (b *bench) pressKeys(ctx context.Context, c contender, namespace, name, target string) error {
	t, err := openTerminal(b.newCommand(ctx, b.Kubeconfig(), c.path, c.args(namespace)...), 80, 24)
	if err != nil {
		return err
	}
	defer t.stopProgram()
	if _, err := t.waitForWords(ctx, " live ", "moving-0"); err != nil {
		return err
	}
	if err := sleepContext(ctx, 5*time.Second); err != nil {
		return err
	}
	var took sample
	down := true
	for range b.keys {
		if err := sleepContext(ctx, 60*time.Millisecond+rand.N(100*time.Millisecond)); err != nil {
			return err
		}
		key, from := "k", t.selectionRow()
		if down {
			key = "j"
		}
		down = !down
		began := time.Now()
		if _, err := t.TTY().WriteString(key); err != nil {
			return err
		}
		at, err := t.waitUntil(
			ctx,
			"the selection to move",
			keyLimit,
			func() bool { row := t.selectionRow(); return row >= 0 && row != from },
		)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			took = append(took, float64(keyLimit.Milliseconds()))
			continue
		}
		took = append(took, max(0, float64(at.Sub(began).Microseconds())/1e3))
	}
	b.table.findRow(name+", p50 ms", "", "%.0f").addValues(c.column, took.percentile(50))
	b.table.findRow(name+", p99 ms", target, "%.0f").addValues(c.column, took.percentile(99))
	return nil
}
