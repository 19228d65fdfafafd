package document

import "github.com/veltui/veltui/assess/coverage"

// Coverage is what `coverage -o json` prints.
type Coverage struct {
	Header
	coverage.Result
}

// NewCoverage returns the coverage of a cluster.
func NewCoverage(r coverage.Result) Coverage { return Coverage{NewHeader("Coverage"), r} }

// Prediction is what `coverage --next -o json` prints.
type Prediction struct {
	Header
	coverage.Prediction
}

// NewPrediction returns what the next backup of a schedule takes.
func NewPrediction(p coverage.Prediction) Prediction { return Prediction{NewHeader("Prediction"), p} }
