package cmd

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/veltui/veltui/ui"
)

// TestBrokenClusterAnswersEveryQuestionWithTheReason calls every method of the dashboard's backend: none panics, and
// whatever can carry an error or a text carries the reason, made harmless.
func TestBrokenClusterAnswersEveryQuestionWithTheReason(t *testing.T) {
	broken := newBrokenCluster(errors.New("no\x1b[2J context"))
	backend := reflect.TypeFor[ui.Backend]()
	silent := map[string]bool{"Retry": true, "WriteFailure": true, "ReadEtcdLog": true, "LoadRates": true, "LearnRates": true}
	for i := range backend.NumMethod() {
		name := backend.Method(i).Name
		method := reflect.ValueOf(ui.Backend(broken)).MethodByName(name)
		var arguments []reflect.Value
		for n := range method.Type().NumIn() {
			in := method.Type().In(n)
			if in == reflect.TypeFor[context.Context]() {
				arguments = append(arguments, reflect.ValueOf(t.Context()))
				continue
			}
			arguments = append(arguments, reflect.Zero(in))
		}
		said := ""
		for _, answer := range method.Call(arguments) {
			switch value := answer.Interface().(type) {
			case error:
				said += value.Error()
			default:
				said += strings.ReplaceAll(reflect.ValueOf(value).String(), "<", "")
				if reflect.ValueOf(value).Kind() == reflect.Struct {
					said += textsOf(reflect.ValueOf(value))
				}
			}
		}
		switch {
		case strings.ContainsRune(said, '\x1b'):
			t.Errorf("%s: %q is not safe to draw", name, said)
		case !silent[name] && !strings.Contains(said, " context"):
			t.Errorf("%s does not say why: %q", name, said)
		}
	}
}

// textsOf joins the exported strings, and lists of strings, of a struct.
func textsOf(value reflect.Value) (texts string) {
	for i := range value.NumField() {
		if !value.Type().Field(i).IsExported() {
			continue
		}
		switch field := value.Field(i).Interface().(type) {
		case string:
			texts += field
		case []string:
			texts += strings.Join(field, " ")
		}
	}
	return texts
}
