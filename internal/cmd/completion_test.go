package cmd

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// offered is what a shell is offered for a line that is typed.
func offered(t *testing.T, args ...string) []string {
	t.Helper()
	stdout, _, _ := called(t, "veltui", append([]string{"__completeNoDesc"}, args...)...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	return lines[:len(lines)-1] // the last one is cobra's directive
}

// What needs no cluster is completed without one.
func TestCompletionOfWhatThisMachineKnows(t *testing.T) {
	path := manyClusters(t, "prod-east", "prod-west", "lab")
	t.Setenv("KUBECONFIG", path)
	for _, c := range []struct{ typed, want string }{
		{"--context |", "lab prod-east prod-west"},
		{"get --context prod-|", "prod-east prod-west"},
		{"get --context lab,prod-e|", "lab,prod-east"},
		{"get -o js|", "json jsonpath="},
		{"explain -o |", "text json yaml"},
		{"--theme contr|", "contrast contrast-dark contrast-light"},
		{"get --sort-by er|", "errors"},
		{"rbac viewer --with na|", "namespaces"},
		{"rbac viewer --with logs,cr|", "logs,crds logs,create-restores logs,create-backups"},
		{"rbac viewer --user |", ""},
		{"rbac viewer --group |", ""},
		{"logs --level |", "trace debug info warning error"},
		{"logs -o |", "text json"},
		{"wait --for stu|", "stuck"},
		{"--notify |", "none bell osc9 osc777"},
		{"finalize --phase Fi|", "Finalizing FinalizingPartiallyFailed"},
		{"finalize --dry-run=|", "none server"},
		{"estimate --features |", "EnableCSI"},
		{"demo replay --context prod-e|", "prod-east"},
		{"get |", "backups restores schedules storage snapshotlocations repositories deletions"},
		{"explain re|", "restore"},
		{"verify |", "restore"},
		{"verify backup/|", ""},
		{"explain restore a |", ""},
		{"explain pods/|", ""},
		{"version |", ""},
		{"expl|", "explain"},
		{"get --no-h|", "--no-headers"},
		{"get --kubeco|", "--kubeconfig --kubecontext"},
		{"completion |", "bash fish kubectl powershell zsh"},
	} {
		words := strings.Split(strings.TrimSuffix(c.typed, "|"), " ")
		if got := strings.Join(offered(t, words...), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.typed, got, c.want)
		}
	}
}

// Each flag of each command completes values, files if it takes one, or nothing.
// What its help enumerates it completes.
func TestEveryFlagCompletesWhatItTakes(t *testing.T) {
	t.Setenv("KUBECONFIG", manyClusters(t, "lab"))
	file := regexp.MustCompile(`(?i)\bfile\b|^path to|directory|tarball`)
	noFile := []string{"kubeconfig"} // the word is in flags that name what is in it
	words := regexp.MustCompile(
		`(?:^|: )([a-zA-Z0-9=-]+(?:, [a-zA-Z0-9=-]+)+(?: or [a-zA-Z0-9=-]+)?|[a-z]+ or [a-z]+)(?:$| \()`,
	)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		check := func(f *pflag.Flag) {
			if f.NoOptDefVal != "" && f.Name != "dry-run" || f.Name == "help" || f.Hidden {
				return
			}
			name := cmd.CommandPath() + " --" + f.Name
			args := append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name+"=")
			stdout, _, _ := called(t, "veltui", append([]string{"__completeNoDesc"}, args...)...)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			takesFile := file.MatchString(f.Usage) &&
				!slices.ContainsFunc(
					noFile,
					func(w string) bool { return f.Name != w && strings.Contains(f.Usage, "name of the "+w) },
				) &&
				f.Name != "theme"
			if completesFiles := lines[len(lines)-1] == ":0"; completesFiles != takesFile {
				t.Errorf("%s (%s) completes files: %v", name, f.Usage, completesFiles)
			}
			if m := words.FindStringSubmatch(f.Usage); m != nil {
				for _, value := range strings.FieldsFunc(strings.ReplaceAll(m[1], " or ", ", "), func(r rune) bool { return r == ',' || r == ' ' }) {
					if value = strings.TrimSuffix(
						value,
						"TEMPLATE",
					); !slices.Contains(lines, value) &&
						!slices.Contains(lines, "--"+f.Name+"="+value) {
						t.Errorf("%s (%s) does not complete %s: %q", name, f.Usage, value, lines)
					}
				}
			}
		}
		cmd.LocalFlags().VisitAll(check)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(Root())
}

// The scripts that veltui prints complete names of jobs in the shells that are here,
// and as a plugin of kubectl.
func TestCompletionInShells(t *testing.T) {
	b := control(t)
	b.create(t, restore("complete-a", veleroapi.RestoreStatus{}))
	b.create(t, restore("complete-b", veleroapi.RestoreStatus{}))
	b.create(t, &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "complete-c"}})
	bin := t.TempDir()
	for _, name := range []string{"veltui", "kubectl-veltui"} {
		if err := os.Symlink(b.binary, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	shell := func(name string, args ...string) []string {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Logf("there is no %s here", name)
			return nil
		}
		cmd := exec.Command(path, args...)
		cmd.Env = append(b.command(t).Env, "KUBECONFIG="+b.Kubeconfig(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput() // a word on standard error would be one in the line
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		var words []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		return words
	}
	// What bash-completion's own function does, which not every machine has.
	const bash = `_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
compopt() { :; } # there is no line that is edited
source <(veltui completion bash)
COMP_WORDS=($1 "$2"); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMP_LINE="$1 $2"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
__start_veltui
printf '%s\n' "${COMPREPLY[@]}"`
	for _, c := range []struct{ line, word, want string }{
		{"veltui get", "restore/complete-", "restore/complete-a restore/complete-b"},
		{"veltui get restore/complete-a", "restore/complete-", "restore/complete-b"},
		{"veltui explain restore", "complete-", "complete-a complete-b"},
		{"veltui describe", "bak/complete-", "bak/complete-c"},
		{"veltui get -n", "vel", "velero"},
	} {
		if got := shell(
			"bash",
			"-c",
			bash,
			"bash",
			c.line,
			c.word,
		); strings.TrimSpace(
			strings.Join(got, " "),
		) != c.want {
			t.Errorf("bash: %s %s: %q, want %s", c.line, c.word, got, c.want)
		}
	}
	const fish = `veltui completion fish | source; complete -C "veltui get restore/complete-"`
	if got := shell(
		"fish",
		"-c",
		fish,
	); got != nil &&
		strings.Join(got, " ") != "restore/complete-a restore/complete-b" {
		t.Errorf("fish: %q", got)
	}
	shell("zsh", "-c", "autoload -U compinit && compinit -D && source <(veltui completion zsh)")
	shell("pwsh", "-NoProfile", "-Command", "veltui completion powershell | Out-String | Invoke-Expression")

	script := filepath.Join(bin, "kubectl_complete-veltui")
	if err := os.WriteFile(script, []byte(completionPluginScript), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := shell(
		script,
		"explain",
		"restore/complete-",
	); !slices.Equal(
		got,
		[]string{"restore/complete-a", "restore/complete-b", ":4"},
	) {
		t.Errorf("kubectl: %q", got)
	}

	_, stderr, code := b.run(t, "explain", "restore/complete-bb")
	if code != ExitError || !strings.Contains(stderr, `restores.velero.io "complete-bb" (did you mean complete-b?)`) {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// A cluster that does not answer costs a moment, and not a word.
func TestCompletionIsSilent(t *testing.T) {
	b := control(t)
	hung, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hung.Close() }()
	plugin := filepath.Join(t.TempDir(), "waits-for-a-browser")
	if err := os.WriteFile(
		plugin,
		[]byte(
			"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://"+hung.Addr().
				String()+
				"'}}]\n"+
				"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['600'], interactiveMode: Never}}}]\n",
		),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--kubeconfig", plugin, "get", "restore/"},
		{"--server", "https://" + hung.Addr().String(), "get", "restore/"},
		{"--server", "https://127.0.0.1:1", "get", "restore/"},
		{"--kubeconfig", "/nowhere", "explain", "restore", ""},
		{"--config", "/nowhere", "explain", "restore", ""},
	} {
		stdout, stderr, _ := b.run(t, append([]string{"__complete"}, args...)...)
		if stdout != ":4\n" || stderr != "" {
			t.Errorf("%q: %q, %q", args, stdout, stderr)
		}
	}
}
