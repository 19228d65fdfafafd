package repo

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/cmd"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/ui/keys"
)

// `make docs` sets it.
var update = flag.Bool("update", false, "write the generated parts of the documents anew")

// inDoc holds a part of a document, between two comments that name it, to what the
// code says.
func inDoc(t *testing.T, path, name, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": written by make docs -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no place for %s", path, name)
	case old == want:
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		wants := strings.Split(want, "\n")
		at := 0
		for line := range strings.SplitSeq(old, "\n") {
			if at == len(wants)-1 || line != wants[at] {
				break
			}
			at++
		}
		t.Errorf(
			"%s is not what the code says: run make docs. The first line that differs is to be\n%s",
			path,
			wants[at],
		)
	}
}

// docs/commands.md is what cobra knows.
func TestDocsOfCommands(t *testing.T) {
	root := cmd.Root()
	var b strings.Builder
	commandsDoc{&b, map[string]string{}}.describe(root)
	b.WriteString("\n`veltui options` lists the flags that every command takes; most are kubectl's.\n\n")
	inDoc(t, "docs/commands.md", "commands", b.String())
	inDoc(t, "docs/commands.md", "exit codes", "\n```text\n"+cmd.ExitCodesHelp+"\n```\n\n")
}

// commandsDoc writes a section for each command. A flag with the same meaning in
// several commands has one row, below the first: rows are the first commands by row.
type commandsDoc struct {
	*strings.Builder
	rows map[string]string
}

func (d commandsDoc) describe(c *cobra.Command) {
	fmt.Fprintf(d, "\n## %s\n\n", c.CommandPath())
	fmt.Fprintf(d, "%s.\n\n", strings.TrimSuffix(c.Short, "."))
	fmt.Fprintf(d, "Usage: `%s`\n", c.UseLine())
	if c.Example != "" { // help has them all
		examples := strings.Split(unindented(c.Example), "\n\n")
		fmt.Fprintf(d, "\n```sh\n%s\n```\n", strings.Join(examples[:min(2, len(examples))], "\n\n"))
	}
	d.flags(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			d.describe(sub)
		}
	}
}

func (d commandsDoc) flags(c *cobra.Command) {
	var own strings.Builder
	above := map[string][]string{}
	ownFlags(c).VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		row := fmt.Sprintf("| %s | %s |\n", name, strings.ReplaceAll(f.Usage, "|", `\|`))
		if f.Shorthand != "" {
			row = "| `-" + f.Shorthand + "`, " + row[2:]
		}
		if first := d.rows[row]; first != "" {
			above[first] = append(above[first], name)
			return
		}
		d.rows[row] = c.CommandPath()
		own.WriteString(row)
	})
	if own.Len() > 0 {
		fmt.Fprintf(d, "\n| flag | does |\n|---|---|\n%s", own.String())
	}
	for _, first := range slices.Sorted(maps.Keys(above)) {
		fmt.Fprintf(d, "\nAs for `%s`: %s.\n", first, strings.Join(above[first], ", "))
	}
}

func unindented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// ownFlags are a command's flags without those that all commands take.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	cmd.InheritedFlags() // merges them into Flags
	own, all := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError), cmd.Root().PersistentFlags()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if all.Lookup(f.Name) != f {
			own.AddFlag(f)
		}
	})
	return own
}

// docs/keys.md is the key map and the commands behind `:`.
func TestDocsOfKeys(t *testing.T) {
	const everywhere = keys.Dashboard | keys.JobPages | keys.LogsPage | keys.OtherPages | keys.HelpScreen | keys.Dialog
	var b strings.Builder
	all := slices.Concat(keys.Actions, keys.FixedActions)
	section := func(title string, here func(keys.ScreenSet) bool) {
		fmt.Fprintf(&b, "\n## %s\n\n| key | does | name in the configuration |\n|---|---|---|\n", title)
		for _, a := range all {
			if !here(a.Screens) {
				continue
			}
			name := ""
			if a.Name != "" {
				name = "`" + a.Name + "`"
			}
			names := strings.NewReplacer("pgdown", "pgdn", "0` `1` `2` `3` `4` `5` `6` `7` `8` `9", "1..9` `0").
				Replace(strings.Join(a.Keys, "` `"))
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", names, a.Description, name)
		}
	}
	section("Everywhere", func(at keys.ScreenSet) bool { return at&everywhere == everywhere })
	for _, s := range []struct {
		title string
		at    keys.ScreenSet
	}{
		{"On the dashboard", keys.Dashboard}, {"On a job's pages", keys.JobPages}, {"On a job's Logs page, besides", keys.LogsPage},
		{"On a job's Volumes page, besides", keys.VolumesPage},
		{"On the page of a schedule, location, repository, deletion or etcd backup", keys.OtherPages}, {"In the finalize dialog", keys.Dialog}, {"In help", keys.HelpScreen}, {"In the form of a restore", keys.RestoreForm},
	} {
		section(s.title, func(at keys.ScreenSet) bool {
			besides := s.at&(keys.LogsPage|keys.VolumesPage) != 0 && at&keys.JobPages != 0
			return at&everywhere != everywhere && at&s.at != 0 && !besides || s.at == keys.RestoreForm && at&s.at != 0
		})
	}
	b.WriteString("\n## Commands\n\n| command | does |\n|---|---|\n")
	for _, c := range ui.CommandBindings() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(c.Label, "|", `\|`), c.Description)
	}
	b.WriteString("\n")
	inDoc(t, "docs/keys.md", "keys", b.String())
}

// docs/dev/velero.md has the table of waits.
func TestDocsOfWaits(t *testing.T) {
	var b strings.Builder
	b.WriteString(
		"\n| waits for | a job that is | since, before | worker (how many) | limit | counted from | Velero writes | shown by | a restart | source |\n|---|---|---|---|---|---|---|---|---|---|\n",
	)
	for _, w := range velero.WaitTable() {
		steps := make([]string, len(w.Steps))
		for i, s := range w.Steps {
			steps[i] = string(s)
		}
		versions := ""
		if w.Since != (velero.Version{}) {
			versions = w.Since.String()
		}
		if w.Before != (velero.Version{}) {
			versions += ", before " + w.Before.String()
		}
		limit, from := "none", ""
		if w.Limit.Setting != "" {
			limit, from = w.Limit.Setting, string(w.LimitStart)
			if w.Limit.Effect != "" {
				limit += ", then " + w.Limit.Effect
			}
		}
		file, function, _ := strings.Cut(w.Source, " ")
		fmt.Fprintf(
			&b,
			"| %s | %s: %s | %s | %s (%s) | %s | %s | %s | %s | %s | `%s` `%s` |\n",
			w.Target,
			w.JobKind,
			strings.Join(steps, ", "),
			strings.TrimPrefix(versions, ", "),
			w.Worker,
			w.WorkerCount,
			limit,
			from,
			cmp.Or(w.Writes, "nothing"),
			cmp.Or(w.Evidence, "nothing"),
			w.RestartEffect,
			file,
			strings.ReplaceAll(function, ", ", "`, `"),
		)
	}
	b.WriteString(
		"\nA job goes on from one step to another and writes nothing, so that each of these can be its step:\n\n| a job that is | may be | since, before | source |\n|---|---|---|---|\n",
	)
	for _, next := range velero.SilentTransitions() {
		versions, to := "", string(next.To)
		if next.Since != (velero.Version{}) {
			versions = next.Since.String()
		}
		if next.Before != (velero.Version{}) {
			versions += ", before " + next.Before.String()
		}
		if next.NeedsVolumesEnded {
			to += ", once all pod volumes have ended"
		}
		file, function, _ := strings.Cut(next.Source, " ")
		fmt.Fprintf(
			&b,
			"| %s: %s | %s | %s | `%s` `%s` |\n",
			next.JobKind,
			next.From,
			to,
			strings.TrimPrefix(versions, ", "),
			file,
			function,
		)
	}
	b.WriteString("\n")
	inDoc(t, "docs/dev/velero.md", "waits", b.String())
}

// docs/dev/velero.md has the table of owners.
func TestDocsOfOwners(t *testing.T) {
	var b strings.Builder
	b.WriteString(
		"\n| who | does | a volume that is | of | since, before | limit | counted from | source |\n|---|---|---|---|---|---|---|---|\n",
	)
	for _, o := range velero.OwnerTable() {
		kinds := make([]string, len(o.Kinds))
		for i, k := range o.Kinds {
			kinds[i] = string(k)
		}
		phases, versions := strings.Join(o.Phases, ", "), ""
		if o.OnlyOnCancel {
			phases += "; cancelled"
		}
		if o.Since != (velero.Version{}) {
			versions = o.Since.String()
		}
		if o.Before != (velero.Version{}) {
			versions += ", before " + o.Before.String()
		}
		file, function, _ := strings.Cut(o.Source, " ")
		fmt.Fprintf(
			&b,
			"| %s | %s | %s | %s | %s | %s | %s | `%s` `%s` |\n",
			o.Actor,
			o.Work,
			phases,
			strings.Join(kinds, ", "),
			strings.TrimPrefix(versions, ", "),
			cmp.Or(o.Setting, "none"),
			o.LimitStart,
			file,
			strings.ReplaceAll(function, ", ", "`, `"),
		)
	}
	b.WriteString("\n")
	inDoc(t, "docs/dev/velero.md", "owners", b.String())
}

// docs/reasons.md has each reason, with the meaning that its comment in the code
// gives, and the next step that it is made with.
func TestDocsOfReasons(t *testing.T) {
	const path = "docs/reasons.md"
	for _, source := range []struct{ name, file, what string }{
		{"reasons", "internal/diagnosis/reason.go", "the job"}, {"etcd-reasons", "internal/etcd/reason.go", "the EtcdBackup or schedule"},
		{"attention-reasons", "internal/assess/finding_reason.go", "what it is about"},
	} {
		inDoc(t, path, source.name, reasonTables(t, source.file, source.what))
	}
}

// reasonTables makes a table of each group of reasons in a file, under the group's comment.
func reasonTables(t *testing.T, file, what string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR || group.Doc == nil || !madeByNewReason(group) {
			continue
		}
		title, more, _ := strings.Cut(strings.Join(strings.Fields(group.Doc.Text()), " ")+" ", ". ")
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		if more = strings.TrimSpace(more); more != "" {
			b.WriteString(more + "\n\n")
		}
		fmt.Fprintf(&b, "| reason | %s | what to do |\n|---|---|---|\n", what)
		for _, s := range group.Specs {
			spec := s.(*ast.ValueSpec)
			name := spec.Names[0].Name
			_, means, _ := strings.Cut(strings.Join(strings.Fields(spec.Doc.Text()), " "), ": ")
			made := readReason(t, spec)
			means = cmp.Or(made.meaning, means)
			if means = strings.TrimSuffix(means, "."); means == "" {
				t.Errorf("%s: the comment on %s does not say what it means", file, name)
			}
			if made.word != name {
				t.Errorf("%s: the reason %s is the word %q", file, name, made.word)
			}
			text := stepText(t, name, made.step)
			if len(made.onOADP) > 0 {
				text += " With OADP: " + stepText(t, name, made.onOADP)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, means, text)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// madeByNewReason reports whether a group of variables is one of reasons.
func madeByNewReason(group *ast.GenDecl) bool {
	spec, ok := group.Specs[0].(*ast.ValueSpec)
	return ok && len(spec.Values) == 1 &&
		(calledName(spec.Values[0]) == "NewReason" || calledName(spec.Values[0]) == "NewCause")
}

func calledName(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// writtenReason is what a reason is made with; step and onOADP are a text and its commands.
type writtenReason struct {
	word, meaning string
	step, onOADP  []string
}

// readReason reads NewReason(WORD, STEP) and NewCause(WORD, MEANING, STEP), where STEP is NewStep(TEXT, COMMAND...) or
// NoStep, perhaps with another one behind OnOADP.
func readReason(t *testing.T, spec *ast.ValueSpec) (r writtenReason) {
	t.Helper()
	made, ok := spec.Values[0].(*ast.CallExpr)
	if !ok || calledName(made) != "NewReason" && calledName(made) != "NewCause" {
		t.Fatalf("%s is not made by NewReason or NewCause", spec.Names[0].Name)
	}
	last := len(made.Args) - 1
	r.word = literal(t, made.Args[0])
	if last == 2 {
		r.meaning = literal(t, made.Args[1])
	}
	step, ok := made.Args[last].(*ast.CallExpr)
	if ok && calledName(step) == "OnOADP" {
		r.onOADP = literals(t, step.Args)
		step, ok = step.Fun.(*ast.SelectorExpr).X.(*ast.CallExpr)
	}
	if !ok || calledName(step) != "NewStep" && calledName(step) != "NoStep" {
		t.Fatalf("the next step of %s is not written with it", r.word)
	}
	if r.step = literals(t, step.Args); r.step[0] == "" {
		t.Errorf("%s: nothing says what to do", r.word)
	}
	return r
}

func literals(t *testing.T, args []ast.Expr) (texts []string) {
	t.Helper()
	for _, arg := range args {
		texts = append(texts, literal(t, arg))
	}
	return texts
}

// stepText returns a step for a cell of a table, and checks its commands.
func stepText(t *testing.T, reason string, step []string) string {
	t.Helper()
	text := step[0]
	commands := make([]string, len(step)-1)
	for i, command := range step[1:] {
		checkCommand(t, reason, command)
		words := strings.Fields(command)
		for k, word := range words {
			if word != "|" {
				words[k] = kubectl.Quote(word)
			}
		}
		commands[i] = "`" + strings.ReplaceAll(strings.Join(words, " "), "|", `\|`) + "`"
	}
	return strings.TrimSpace(text + " " + strings.Join(commands, ", "))
}

// literal returns the text of a string that is written out, in one piece or several.
func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return literal(t, e.X) + literal(t, e.Y)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	t.Fatalf("%T is no text", e)
	return ""
}

// checkCommand checks that veltui has the command and the flags that a reason advises, and that other programs are
// those of which veltui knows how to reach the cluster.
func checkCommand(t *testing.T, reason, command string) {
	t.Helper()
	for part := range strings.SplitSeq(command, " | ") {
		words := strings.Fields(part)
		switch words[0] {
		case "kubectl", "velero":
			continue
		case "veltui":
		default:
			t.Errorf("%s: nobody knows %s", reason, words[0])
			continue
		}
		found, rest, err := cmd.Root().Find(words[1:])
		if err == nil {
			err = found.ParseFlags(rest)
		}
		if err != nil || !found.Runnable() {
			t.Errorf("%s: veltui has no %q: %v", reason, part, err)
		}
	}
}
