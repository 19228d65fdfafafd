package cmd

import (
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/watch"
)

// The limits of a completion: the shell waits for it.
const (
	completionPatience = 1500 * time.Millisecond
	completionNames    = 1000
)

func completes(args []string) bool {
	return slices.Contains(args, cobra.ShellCompRequestCmd) || slices.Contains(args, cobra.ShellCompNoDescRequestCmd)
}

// silence drops messages, which a shell would print into the line being typed.
func (c *stdio) silence() {
	c.streams.ErrOut = io.Discard
	if none, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		c.stderr = none // for what credential plugins say
	}
}

type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func (c *cli) completeClusterFlags(root *cobra.Command) {
	kubeconfig := func(names func(raw *clientcmdapi.Config, typed string) []string) completion {
		return c.completeValues(func(_ context.Context, typed string) []string {
			raw, err := c.kubeconfig()
			if err != nil {
				return nil
			}
			return names(raw, typed)
		})
	}
	contexts := kubeconfig(
		func(raw *clientcmdapi.Config, typed string) []string { return afterComma(typed, contextNames(raw)) },
	)
	completeFlag(root, contextFlag, contexts)
	completeFlag(root, "kubecontext", contexts)
	completeFlag(root, "namespace", c.completeValues(c.namespaces))
	completeFlag(
		root,
		"cluster",
		kubeconfig(func(raw *clientcmdapi.Config, _ string) []string { return slices.Sorted(maps.Keys(raw.Clusters)) }),
	)
	completeFlag(
		root,
		"user",
		kubeconfig(
			func(raw *clientcmdapi.Config, _ string) []string { return slices.Sorted(maps.Keys(raw.AuthInfos)) },
		),
	)
}

func completeFlag(cmd *cobra.Command, flag string, values completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // it has no such flag
	}
}

// completeFiles leaves the values of flags to the shell, which completes files.
func completeFiles(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	}
}

func several(values []string) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return fixed(afterComma(typed, values))(cmd, args, typed)
	}
}

// afterComma are values as the last of a list that is typed.
func afterComma(typed string, values []string) []string {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	return mapSlice(values, func(value string) string { return before + value })
}

// choice is a flag that takes one of some values, the first by default. One that ends in TEMPLATE
// takes any text in its place.
type choice struct {
	name   string // as it is typed
	value  *string
	values []string
}

func addChoice(cmd *cobra.Command, value *string, name, shorthand, usage string, values ...string) {
	*value = values[0]
	cmd.Flags().
		VarP(choice{cmp.Or(strings.TrimSuffix("-"+shorthand, "-"), "--"+name), value, values}, name, shorthand, usage)
	completeFlag(cmd, name, fixed(mapSlice(values, func(v string) string { return strings.TrimSuffix(v, template) })))
}

func addOutput(cmd *cobra.Command, value *string, formats ...string) {
	addChoice(cmd, value, "output", "o", oneOf(formats), formats...)
}

const template = "TEMPLATE"

func (c choice) Set(text string) error {
	text = cmp.Or(text, c.values[0])
	for _, v := range c.values {
		if start, any := strings.CutSuffix(v, template); text == v || any && strings.HasPrefix(text, start) {
			*c.value = text
			return nil
		}
	}
	return usagef("%s %s: expected %s%s", c.name, text, oneOf(c.values), config.Suggestion(text, c.values))
}

func (c choice) String() string { return *c.value }

func (choice) Type() string { return "string" }

// oneOf lists values: "text, json or yaml".
func oneOf(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func fixed(values []string) completion {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		found := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, typed) })
		if len(found) == 1 && strings.HasSuffix(found[0], "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

func (c *cli) completeValues(names func(ctx context.Context, typed string) []string) completion {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		if c.configure(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return shown(names(ctx, typed), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// shown are the values with the typed beginning. One that would be printed otherwise cannot be typed.
func shown(values []string, typed string) []string {
	return slices.DeleteFunc(
		slices.Clone(values),
		func(v string) bool { return !strings.HasPrefix(v, typed) || sanitize.Whole(v) != v },
	)
}

func (c *cli) namespaces(ctx context.Context, _ string) []string {
	return c.ask(ctx, func(o watch.Options) ([]string, error) { return watch.Namespaces(ctx, o) })
}

// ask returns what the cluster answers, or nothing once the context ends: a credential plugin
// ignores it, and may wait for a login in a browser. It cannot ask for a password.
func (c *cli) ask(ctx context.Context, read func(watch.Options) ([]string, error)) []string {
	conn, err := c.connect()
	if err != nil {
		return nil
	}
	if conn.Config.ExecProvider != nil {
		conn.Config.ExecProvider.StdinUnavailable = true
	}
	o := c.watchOptions(conn)
	o.Session = nil
	found := make(chan []string, 1)
	go func() {
		names, _ := read(o)
		found <- names
	}()
	select {
	case names := <-found:
		return names
	case <-ctx.Done():
		return nil
	}
}

// completeNames completes KIND/NAME and KIND NAME of some kinds.
func (c *cli) completeNames(several bool, of ...*resource.Kind) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		word, _, slash := strings.Cut(typed, "/")
		prefix := word + "/"
		switch {
		case len(args) == 0 && !slash:
			form := map[bool]int{false: 1}[several] // the plural comes first
			return shown(
				mapSlice(of, func(k *resource.Kind) string { return k.Words[form] }),
				typed,
			), cobra.ShellCompDirectiveNoFileComp
		case slash && (len(args) == 0 || several && strings.Contains(args[0], "/")):
		case len(args) > 0 && !slash && !strings.Contains(args[0], "/") && (several || len(args) == 1):
			word, prefix = args[0], ""
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completeValues(func(ctx context.Context, _ string) (names []string) {
			for part := range strings.SplitSeq(word, ",") {
				if k := kindNamed(part); slices.Contains(of, k) {
					names = append(
						names,
						mapSlice(c.jobNames(ctx, k.Kind), func(name string) string { return prefix + name })...)
				}
			}
			return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) })
		})(cmd, args, typed)
	}
}

// jobNames are the names of the jobs of a kind, or none if they cannot be read at once.
func (c *cli) jobNames(ctx context.Context, kind job.Kind) []string {
	return c.ask(ctx, func(o watch.Options) ([]string, error) {
		return watch.JobNames(ctx, o, resourceOf(kind), completionNames)
	})
}

// completeJobs completes with the names of a kind.
func (c *cli) completeJobs(kind job.Kind) completion {
	return c.completeValues(func(ctx context.Context, _ string) []string { return c.jobNames(ctx, kind) })
}

const pluginScript = "#!/bin/sh\n" +
	"# kubectl runs this to complete 'kubectl veltui'. Put it in a folder on your\n" +
	"# PATH as kubectl_complete-veltui and make it executable.\n" +
	"exec kubectl-veltui __complete \"$@\"\n"

func addCompletionScripts(c *cli, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, _ := root.Find([]string{"completion"})
	cmd.Short = "Print the completion script for a shell, or for kubectl"
	cmd.Example = `  # In this shell
  source <(veltui completion bash)

  # In every fish, zsh or PowerShell: see the help of each
  veltui completion fish --help`
	cmd.AddCommand(&cobra.Command{
		Use:   "kubectl",
		Short: "Print the script by which kubectl completes 'kubectl veltui'",
		Long: `Print the script by which kubectl completes 'kubectl veltui'.

veltui is a plugin of kubectl if it is called kubectl-veltui in a folder of PATH.
The script goes into such a folder too, as kubectl_complete-veltui. kubectl's own
completion must be loaded in your shell.`,
		Example: `  # Install the plugin and its completion
  ln -s "$(command -v veltui)" ~/.local/bin/kubectl-veltui
  veltui completion kubectl > ~/.local/bin/kubectl_complete-veltui
  chmod +x ~/.local/bin/kubectl_complete-veltui`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(c.streams.Out, pluginScript)
			return err
		},
	})
}

// nearName suggests, in brackets, the job that was probably meant; empty if none is near, or known at once.
func (c *cli) nearName(ctx context.Context, selected selection, found []jobName) string {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	known, tried := map[job.Kind][]string{}, 0
	for _, n := range selected.names {
		if slices.Contains(found, n) {
			continue
		}
		if tried++; tried > maxNamesInError {
			break
		}
		if _, read := known[n.kind]; !read {
			known[n.kind] = shown(c.jobNames(ctx, n.kind), "")
		}
		if near := config.Suggestion(n.name, known[n.kind]); near != "" {
			return near
		}
	}
	return ""
}
