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

// The limits of a completion, for which the shell waits.
const (
	completionTimeout  = 1500 * time.Millisecond
	maxCompletionNames = 1000
)

func isCompletionRequest(args []string) bool {
	return slices.Contains(args, cobra.ShellCompRequestCmd) || slices.Contains(args, cobra.ShellCompNoDescRequestCmd)
}

// discardMessages drops messages, which a shell would print into the line being typed.
func (c *stdio) discardMessages() {
	c.streams.ErrOut = io.Discard
	if none, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		c.stderr = none // for messages of credential plugins
	}
}

type completionFunc = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func (c *cli) completeClusterFlags(root *cobra.Command) {
	kubeconfig := func(names func(raw *clientcmdapi.Config, typed string) []string) completionFunc {
		return c.settings.completeValues(func(_ context.Context, typed string) []string {
			raw, err := c.connector.loadKubeconfig()
			if err != nil {
				return nil
			}
			return names(raw, typed)
		})
	}
	contexts := kubeconfig(
		func(raw *clientcmdapi.Config, typed string) []string { return appendToTyped(typed, contextNames(raw)) },
	)
	completeFlag(root, contextFlag, contexts)
	completeFlag(root, "kubecontext", contexts)
	completeFlag(root, "namespace", c.settings.completeValues(c.connector.fetchNamespaces))
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

func completeFlag(cmd *cobra.Command, flag string, values completionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag
	}
}

// completeFiles leaves the values of flags to the shell, which completes file names.
func completeFiles(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	}
}

func completeCommaList(values []string) completionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeFixed(appendToTyped(typed, values))(cmd, args, typed)
	}
}

// appendToTyped returns the typed list with each of the values as its last element.
func appendToTyped(typed string, values []string) []string {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	return mapSlice(values, func(value string) string { return before + value })
}

// choiceFlag is a flag that takes one of several values, the first by default. A value that ends in TEMPLATE accepts
// any text in place of TEMPLATE.
type choiceFlag struct {
	name    string // as the user types it
	value   *string
	choices []string
}

func addChoiceFlag(cmd *cobra.Command, value *string, name, shorthand, usage string, values ...string) {
	*value = values[0]
	cmd.Flags().
		VarP(choiceFlag{cmp.Or(strings.TrimSuffix("-"+shorthand, "-"), "--"+name), value, values}, name, shorthand, usage)
	completeFlag(
		cmd,
		name,
		completeFixed(mapSlice(values, func(v string) string { return strings.TrimSuffix(v, templateSuffix) })),
	)
}

func addOutputFlag(cmd *cobra.Command, value *string, formats ...string) {
	addChoiceFlag(cmd, value, "output", "o", joinWithOr(formats), formats...)
}

const templateSuffix = "TEMPLATE"

func (c choiceFlag) Set(text string) error {
	text = cmp.Or(text, c.choices[0])
	for _, v := range c.choices {
		if start, any := strings.CutSuffix(v, templateSuffix); text == v || any && strings.HasPrefix(text, start) {
			*c.value = text
			return nil
		}
	}
	return usageErrorf("%s %s: expected %s%s", c.name, text, joinWithOr(c.choices), config.SuggestionText(text, c.choices))
}

func (c choiceFlag) String() string { return *c.value }

func (choiceFlag) Type() string { return "string" }

// joinWithOr lists values: "text, json or yaml".
func joinWithOr(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func completeFixed(values []string) completionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		found := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, typed) })
		if len(found) == 1 && strings.HasSuffix(found[0], "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

func (c *settings) completeValues(names func(ctx context.Context, typed string) []string) completionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		if c.resolveSettings(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completableValues(names(ctx, typed), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// completableValues returns the values that begin with the typed text. It drops values that would be sanitized,
// because they cannot be typed.
func completableValues(values []string, typed string) []string {
	return slices.DeleteFunc(
		slices.Clone(values),
		func(v string) bool { return !strings.HasPrefix(v, typed) || sanitize.FullLine(v) != v },
	)
}

func (c *connector) fetchNamespaces(ctx context.Context, _ string) []string {
	return c.fetchNames(ctx, func(o watch.Options) ([]string, error) { return watch.ListNamespaces(ctx, o) })
}

// fetchNames returns the names that read finds, or nothing once the context ends: a credential plugin ignores the
// context, and may wait for a login in a browser. The plugin cannot ask for a password.
func (c *connector) fetchNames(ctx context.Context, read func(watch.Options) ([]string, error)) []string {
	conn, err := c.openConnection()
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

// completeKindAndName completes KIND/NAME and KIND NAME for some kinds.
func (c *cli) completeKindAndName(several bool, of ...*resource.Kind) completionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		word, _, slash := strings.Cut(typed, "/")
		prefix := word + "/"
		switch {
		case len(args) == 0 && !slash:
			form := map[bool]int{false: 1}[several] // the plural is the first alias
			return completableValues(
				mapSlice(of, func(k *resource.Kind) string { return k.Aliases[form] }),
				typed,
			), cobra.ShellCompDirectiveNoFileComp
		case slash && (len(args) == 0 || several && strings.Contains(args[0], "/")):
		case len(args) > 0 && !slash && !strings.Contains(args[0], "/") && (several || len(args) == 1):
			word, prefix = args[0], ""
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.settings.completeValues(func(ctx context.Context, _ string) (names []string) {
			for part := range strings.SplitSeq(word, ",") {
				if k := findKind(part); slices.Contains(of, k) {
					names = append(
						names,
						mapSlice(c.connector.fetchJobNames(ctx, k.Kind), func(name string) string { return prefix + name })...)
				}
			}
			return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) })
		})(cmd, args, typed)
	}
}

// fetchJobNames returns the names of the jobs of a kind, or none if they cannot be read in time.
func (c *connector) fetchJobNames(ctx context.Context, kind job.Kind) []string {
	return c.fetchNames(ctx, func(o watch.Options) ([]string, error) {
		return watch.ListJobNames(ctx, o, kindResource(kind), maxCompletionNames)
	})
}

// completeJobNames completes the names of a kind.
func (c *cli) completeJobNames(kind job.Kind) completionFunc {
	return c.settings.completeValues(
		func(ctx context.Context, _ string) []string { return c.connector.fetchJobNames(ctx, kind) },
	)
}

const completionPluginScript = "#!/bin/sh\n" +
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
			_, err := io.WriteString(c.stdio.streams.Out, completionPluginScript)
			return err
		},
	})
}

// suggestName returns, in brackets, the job that the user probably meant; it is empty if no name is similar or the
// names cannot be read in time.
func (c *connector) suggestName(ctx context.Context, selected selection, found []jobRef) string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
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
			known[n.kind] = completableValues(c.fetchJobNames(ctx, n.kind), "")
		}
		if near := config.SuggestionText(n.name, known[n.kind]); near != "" {
			return near
		}
	}
	return ""
}
