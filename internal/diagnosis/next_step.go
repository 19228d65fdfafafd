package diagnosis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/kubectl"
)

// NextStep is what to do about a [Reason]. Only [NewStep] and [NoStep] make one.
type NextStep struct {
	text     string
	commands []Command
	// isNeeded is false if nothing has to be done.
	isNeeded bool
	// oadp is the step where OADP's operator installed Velero, nil if it is the same.
	oadp *NextStep
}

// Command is a line for a shell, of veltui, kubectl or velero, or several with " | " between them. It has a namespace
// of its own if it has -n or -A; otherwise it is about that of the thing. Words in capitals stand for names: see
// [Names].
type Command string

// NewStep returns a step that a person takes with a command. The commands are in the order in which they are best run.
func NewStep(text string, command Command, more ...Command) NextStep {
	return NextStep{text: text, commands: append([]Command{command}, more...), isNeeded: true}
}

// NoStep returns the step of a reason about which nothing has to be done; commands show more.
func NoStep(text string, commands ...Command) NextStep {
	return NextStep{text: text, commands: commands}
}

// OnOADP returns the step with another one for an installation by OADP, whose operator reverts what others change.
func (s NextStep) OnOADP(text string, command Command, more ...Command) NextStep {
	other := NewStep(text, command, more...)
	s.oadp = &other
	return s
}

// Text returns what to do, in sentences.
func (s NextStep) Text() string { return s.text }

// Commands returns the commands, with words in capitals in place of names.
func (s NextStep) Commands() []Command { return s.commands }

// Names are the names that a [Command] needs, by the words that stand for them. An empty one is not known.
type Names struct {
	// Kind, Name and Namespace are those of the thing: KIND, NAME. The kind is a word that veltui's commands take.
	Kind, Name, Namespace string
	// Server and Deployment are the Velero server as kubectl takes it: SERVER, DEPLOYMENT. A server without a Deployment
	// is a pod.
	// ServerPod is the pod that describes why its container does not run, or how it ended: SERVERPOD.
	Server, Deployment, ServerPod string
	// Node, Agent and Pod are a node, its node-agent as kubectl takes it, and a pod that moves a volume: NODE, AGENT, POD.
	Node, Agent, Pod string
	// Restartable is a node-agent that goes on with a volume once it is restarted: RESTARTABLE.
	Restartable string
	// Location, Backup and Schedule are resources that the reason is about: LOCATION, BACKUP, SCHEDULE.
	Location, Backup, Schedule string
	// Memory is a higher memory limit for Container: MEMORY, CONTAINER.
	Memory, Container string
	// IsOADP is true if OADP's operator installed Velero.
	IsOADP bool
	// Access is how commands reach the cluster.
	Access kubectl.ClusterAccess
}

var nameWords = regexp.MustCompile(`\b(KIND|NAME|SERVER|SERVERPOD|DEPLOYMENT|NODE|AGENT|RESTARTABLE|POD|LOCATION|` +
	`BACKUP|SCHEDULE|MEMORY|CONTAINER)\b`)

func (n *Names) nameOf(word string) string {
	switch word {
	case "KIND":
		return n.Kind
	case "NAME":
		return n.Name
	case "SERVER":
		return n.Server
	case "SERVERPOD":
		return n.ServerPod
	case "DEPLOYMENT":
		return n.Deployment
	case "NODE":
		return n.Node
	case "AGENT":
		return n.Agent
	case "RESTARTABLE":
		return n.Restartable
	case "POD":
		return n.Pod
	case "LOCATION":
		return n.Location
	case "BACKUP":
		return n.Backup
	case "SCHEDULE":
		return n.Schedule
	case "MEMORY":
		return n.Memory
	case "CONTAINER":
		return n.Container
	}
	return ""
}

// fillCommand returns the command as a line for a shell; ok is false if it needs a name that is not known.
func (n *Names) fillCommand(c Command) (line string, ok bool) {
	isMissing, lines := false, []string(nil)
	for part := range strings.SplitSeq(string(c), " | ") {
		words, namespace := strings.Fields(part), n.Namespace
		for i, word := range words {
			if word == "-n" || word == "-A" {
				namespace = ""
			}
			words[i] = nameWords.ReplaceAllStringFunc(word, func(name string) string {
				known := n.nameOf(name)
				isMissing = isMissing || known == ""
				return known
			})
		}
		lines = append(lines, n.Access.Command(namespace, words...))
	}
	return strings.Join(lines, " | "), !isMissing
}

// Next is what to do about one thing: the [NextStep] of its reason, with the names filled in. It is zero if nothing has
// to be done.
type Next struct {
	// Text says what to do, in sentences.
	Text string
	// Commands can be run as they stand, the best one first.
	Commands []string
}

// Next returns what to do about a thing with these names. advice is what is known beyond the reason, empty for nothing.
func (r Reason) Next(names Names, advice string) Next {
	step := r.NextStep()
	if names.IsOADP && step.oadp != nil {
		step = *step.oadp
	}
	if advice == "" && !step.isNeeded {
		return Next{}
	}
	next := Next{Text: cmp.Or(advice, step.text)}
	for _, c := range step.commands {
		if line, ok := names.fillCommand(c); ok {
			next.Commands = append(next.Commands, line)
		}
	}
	return next
}

// withCommandsOf returns the step with the commands of another one after its own.
func (n Next) withCommandsOf(other Next) Next {
	n.Commands = slices.Clone(n.Commands)
	for _, c := range other.Commands {
		if !slices.Contains(n.Commands, c) {
			n.Commands = append(n.Commands, c)
		}
	}
	return n
}

// WithoutCommand returns the step without a command, such as veltui results: that is where the step is shown.
func (n Next) WithoutCommand(words string) Next {
	n.Commands = slices.DeleteFunc(slices.Clone(n.Commands), func(c string) bool {
		return strings.Contains(" "+c+" ", " "+words+" ") // what reaches the cluster may stand before it
	})
	return n
}
