package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// The columns of the table.
const (
	columnVeltui  = "veltui"
	columnBefore  = "veltui before"
	columnKubectl = "kubectl"
	columnVelero  = "velero"
	columnWatch   = "watch -n 2 velero restore get"
	columnK9s     = "k9s"
)

// contender is a program, or a way to call one.
type contender struct {
	column, path string
	// args are those that it is started with on a terminal, in a namespace.
	args func(namespace string) []string
	// readyWords are words on its screen when it shows what it is to show.
	readyWords []string
}

func (b *bench) columnNames() []string {
	columns := []string{columnVeltui, columnKubectl, columnVelero, columnWatch, columnK9s}
	if b.before != "" {
		columns = append([]string{columnBefore}, columns...)
	}
	return columns
}

// listVeltuis are the veltui to measure and, if there is one, that before it.
func (b *bench) listVeltuis() []contender {
	args := func(namespace string) []string { return []string{"--no-artifacts", "-n", namespace} }
	all := []contender{{column: columnVeltui, path: b.veltui, args: args, readyWords: []string{" live "}}}
	if b.before != "" {
		all = append(all, contender{column: columnBefore, path: b.before, args: args, readyWords: []string{" live "}})
	}
	return all
}

// veleroUnderWatch is the velero CLI called again and again: by watch, or by a loop of our
// own where that is not installed.
func (b *bench) veleroUnderWatch() contender {
	c := contender{column: columnWatch, readyWords: []string{"STATUS"}}
	if path, err := exec.LookPath("watch"); err == nil {
		c.path, c.args = path, func(namespace string) []string {
			return []string{"-n", "2", "velero", "restore", "get", "-n", namespace}
		}
		return c
	}
	b.table.addNote(
		"watch is not installed: a loop of a shell that clears the screen, calls velero and sleeps for 2 s stands in for it.",
	)
	c.path, c.args = "/bin/sh", func(namespace string) []string {
		return []string{
			"-c",
			`while :; do printf '\033[H\033[2J'; velero restore get -n "$1"; sleep 2; done`,
			"watch",
			namespace,
		}
	}
	return c
}

// findK9s is the program, if it is installed.
func (b *bench) findK9s() (c contender, ok bool) {
	path, err := exec.LookPath("k9s")
	if err != nil {
		b.table.addNote("k9s is not installed.")
		return c, false
	}
	args := func(namespace string) []string { return []string{"-n", namespace, "-c", "restores.velero.io"} }
	return contender{column: columnK9s, path: path, args: args, readyWords: []string{"drill-"}}, true
}

// noteVersions notes which programs these are.
func (b *bench) noteVersions(ctx context.Context) {
	ask := func(path string, args ...string) string {
		out, err := b.newCommand(ctx, b.Kubeconfig(), path, args...).CombinedOutput()
		if err != nil {
			return fmt.Sprintf("unknown (%v)", err)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return strings.TrimSpace(first)
	}
	words := []string{columnVeltui + ": " + strings.TrimPrefix(ask(b.veltui, "version"), "veltui ")}
	if b.before != "" {
		words = append(words, columnBefore+": "+strings.TrimPrefix(filepath.Base(b.before), "veltui-"))
	}
	words = append(
		words,
		columnKubectl+": "+strings.TrimPrefix(ask(b.kubectl, "version", "--client"), "Client Version: "),
	)
	if out, err := b.newCommand(ctx, b.Kubeconfig(), b.velero, "version", "--client-only").CombinedOutput(); err == nil {
		for line := range strings.Lines(string(out)) {
			if _, version, ok := strings.Cut(line, "Version: "); ok {
				words = append(words, columnVelero+": "+strings.TrimSpace(version))
			}
		}
	}
	if c, ok := b.findK9s(); ok {
		words = append(words, columnK9s+": "+ask(c.path, "version", "--short"))
	}
	b.table.addNote("Versions: %s.", strings.Join(words, ", "))
}
