package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
)

// actedLabel is carried by the objects that the plugin acts on.
const actedLabel = "lab.veltui.io/acted"

// The annotations of a Backup or Restore that order something.
const (
	// onlyKey: the plugin leaves objects alone whose label has another value.
	onlyKey = "lab.veltui.io/only"
	// paceKey: each acted item takes this long (a Go duration).
	paceKey = "lab.veltui.io/pace"
	// holdKey: each acted item waits until the gate of this name is open.
	holdKey = "lab.veltui.io/hold"
	// operationKey: each acted item begins an asynchronous operation that
	// takes at least this long (a Go duration).
	operationKey = "lab.veltui.io/operation"
	// operationHoldKey: no operation ends before the gate of this name is open.
	operationHoldKey = "lab.veltui.io/operation-hold"
	// operationErrorKey: every operation ends as failed, with this message.
	operationErrorKey = "lab.veltui.io/operation-error"
)

// gatesVar names the folder that holds the gates. A gate is a file; it is open
// once the file exists.
const gatesVar = "LAB_GATES"

// noSelectorGate is the gate that, open, makes the backup action fail to say
// which resources it applies to.
const noSelectorGate = "no-selector"

// gatePoll is how often a closed gate is looked at.
const gatePoll = 20 * time.Millisecond

// order is what the annotations of a job ask of the plugin.
type order struct {
	only           string
	pace           time.Duration
	hold           string
	operates       bool
	operation      time.Duration
	operationHold  string
	operationError string
}

func parseOrder(annotations map[string]string) (order, error) {
	o := order{
		only:           annotations[onlyKey],
		hold:           annotations[holdKey],
		operationHold:  annotations[operationHoldKey],
		operationError: annotations[operationErrorKey],
	}
	var err error
	if v, ok := annotations[paceKey]; ok {
		if o.pace, err = time.ParseDuration(v); err != nil {
			return order{}, fmt.Errorf("annotation %s: %w", paceKey, err)
		}
	}
	if v, ok := annotations[operationKey]; ok {
		o.operates = true
		if o.operation, err = time.ParseDuration(v); err != nil {
			return order{}, fmt.Errorf("annotation %s: %w", operationKey, err)
		}
	}
	return o, nil
}

// delayItem returns once an item has taken its time.
func (o order) delayItem() error {
	time.Sleep(o.pace)
	for o.hold != "" {
		open, err := gateOpen(o.hold)
		if err != nil {
			return err
		}
		if open {
			return nil
		}
		time.Sleep(gatePoll)
	}
	return nil
}

// begin names a new operation on an item: the identifier carries when it began.
func (o order) begin(item string, now time.Time) string {
	if !o.operates {
		return ""
	}
	return strconv.FormatInt(now.UnixMilli(), 10) + "." + item
}

// progress says how far the operation is at now. It counts milliseconds.
func (o order) progress(id string, now time.Time) (velero.OperationProgress, error) {
	began, item, _ := strings.Cut(id, ".")
	ms, err := strconv.ParseInt(began, 10, 64)
	if err != nil {
		return velero.OperationProgress{}, fmt.Errorf("operation %q: %w", id, err)
	}
	start := time.UnixMilli(ms)
	p := velero.OperationProgress{
		NTotal:         o.operation.Milliseconds(),
		NCompleted:     min(now.Sub(start), o.operation).Milliseconds(),
		OperationUnits: "ms",
		Description:    "moving " + item,
		Started:        start,
		Updated:        now,
	}
	p.Completed = now.Sub(start) >= o.operation
	if p.Completed && o.operationHold != "" {
		if p.Completed, err = gateOpen(o.operationHold); err != nil {
			return velero.OperationProgress{}, err
		}
	}
	if p.Completed {
		p.Err = o.operationError
	}
	return p, nil
}

// gateOpen reports whether a gate is open.
func gateOpen(name string) (bool, error) {
	dir := os.Getenv(gatesVar)
	if dir == "" {
		return false, errors.New(gatesVar + " is not set")
	}
	if name != filepath.Base(name) {
		return false, fmt.Errorf("%q is no name of a gate", name)
	}
	_, err := os.Stat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
