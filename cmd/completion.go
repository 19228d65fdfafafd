package cmd

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
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
	contexts := kubeconfig(func(raw *clientcmdapi.Config, typed string) []string { return afterComma(typed, contextNames(raw)) })
	completeFlag(root, contextFlag, contexts)
	completeFlag(root, "kubecontext", contexts)
	completeFlag(root, "namespace", c.completeValues(c.namespaces))
	completeFlag(root, "cluster", kubeconfig(func(raw *clientcmdapi.Config, _ string) []string { return slices.Sorted(maps.Keys(raw.Clusters)) }))
	completeFlag(root, "user", kubeconfig(func(raw *clientcmdapi.Config, _ string) []string { return slices.Sorted(maps.Keys(raw.AuthInfos)) }))
}

func completeFlag(cmd *cobra.Command, flag string, values completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // it has no such flag
	}
}

// completeFiles leaves the values of flags to the shell, which completes files.
func completeFiles(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := cobra.MarkFlagFilename(flags, name); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// completeRest completes the remaining flags: formats of -o, files, or nothing.
func completeRest(cmd *cobra.Command) {
	register := func(f *pflag.Flag) {
		_, known := cmd.GetFlagCompletionFunc(f.Name)
		if _, file := f.Annotations[cobra.BashCompFilenameExt]; known || file {
			return
		}
		if f.Name == "output" {
			completeFlag(cmd, f.Name, fixed(listed(strings.TrimSuffix(f.Usage, "TEMPLATE"))))
		} else {
			completeFlag(cmd, f.Name, fixed(nil))
		}
	}
	cmd.PersistentFlags().VisitAll(register)
	cmd.Flags().VisitAll(register)
	for _, sub := range cmd.Commands() {
		if sub.ValidArgsFunction == nil && !cmd.HasParent() {
			sub.ValidArgsFunction = fixed(nil)
		}
		completeRest(sub)
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

// listed are the words of a list in a sentence, such as the formats in the usage of -o.
func listed(usage string) (formats []string) {
	usage, _, _ = strings.Cut(usage, " (")
	for word := range strings.FieldsFuncSeq(usage, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word != "or" {
			formats = append(formats, word)
		}
	}
	return formats
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
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, typed) || sanitize.Whole(v) != v })
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

func (c *cli) completeJobs(several bool, of ...job.Kind) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp
		if len(of) == 0 {
			of = []job.Kind{job.Backup, job.Restore}
		}
		word, _, slash := strings.Cut(typed, "/")
		prefix := ""
		switch {
		case len(args) == 0 && !slash:
			words := job.Kind.Word
			if several {
				words = job.Kind.Resource
			}
			return shown(mapSlice(of, words), typed), directive
		case slash && (len(args) == 0 || several && strings.Contains(args[0], "/")):
			prefix = word + "/"
		case len(args) > 0 && !slash && !strings.Contains(args[0], "/") && (several || len(args) == 1):
			word = args[0]
		default:
			return nil, directive
		}
		kinds, err := parseKinds(word)
		kinds = slices.DeleteFunc(kinds, func(kind job.Kind) bool { return !slices.Contains(of, kind) })
		if err != nil || len(kinds) == 0 || c.configure(cmd) != nil {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		var names []string
		for _, kind := range kinds {
			for _, name := range c.jobNames(ctx, kind) {
				if !slices.Contains(args, prefix+name) {
					names = append(names, prefix+name)
				}
			}
		}
		return shown(names, typed), directive
	}
}

// jobNames are the names of the jobs of a kind, or none if they cannot be read at once.
func (c *cli) jobNames(ctx context.Context, kind job.Kind) []string {
	return c.ask(ctx, func(o watch.Options) ([]string, error) {
		return watch.JobNames(ctx, o, resourceOf(kind), completionNames)
	})
}

const pluginScript = "#!/bin/sh\n# kubectl runs this to complete 'kubectl veltui'. Put it in a folder on your\n# PATH as kubectl_complete-veltui and make it executable.\nexec kubectl-veltui __complete \"$@\"\n"

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
func (c *cli) nearName(ctx context.Context, selected selection, jobs []*job.Job) string {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	known, tried := map[job.Kind][]string{}, 0
	for _, n := range selected.names {
		if slices.ContainsFunc(jobs, func(j *job.Job) bool { return nameOf(j) == n }) {
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
