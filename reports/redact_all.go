package reports

import (
	"encoding/json"
	"reflect"
	"strings"
)

// ownWords are the texts of a run that only the harness writes, in words of its own
// that others rely on: a secret that is such a word is none there.
var ownWords = map[string]bool{
	"Tool.Name":              true,
	"Tool.Version":           true,
	"Tool.Go":                true,
	"Target.Role":            true,
	"Cell.Role":              true,
	"Cell.Revision":          true,
	"Cell.Transport":         true,
	"Cell.Pages":             true,
	"Result.ID":              true,
	"Result.Kind":            true,
	"Result.Page":            true,
	"Result.Group":           true,
	"Result.Text":            true,
	"Result.Verdict":         true,
	"Result.Follows":         true,
	"Excuse.Was":             true,
	"Deviation.Requirement":  true,
	"Deviation.Check":        true,
	"Deviation.Role":         true,
	"Deviation.Revisions":    true,
	"Deviation.Transports":   true,
	"Deviation.Until":        true,
	"Outdated.Why":           true,
	"Requirement.ID":         true,
	"Requirement.Level":      true,
	"Requirement.Says":       true,
	"Requirement.At":         true,
	"Requirement.Link":       true,
	"Step.From":              true,
	"Step.To":                true,
	"Step.Kind":              true,
	"Selftest.Pages":         true,
	"SelftestCell.Role":      true,
	"SelftestCell.Revision":  true,
	"SelftestCell.Transport": true,
	"Effect.Verdict":         true,
	"Effect.Was":             true,
	"Effect.Kind":            true,
	"Effect.Allowed":         true,
	"Trial.Kind":             true,
	"Proof.Kind":             true,
	"Event.Connection":       true,
	"Event.From":             true,
	"Event.Kind":             true, // of a transcript
	"Header.Format":          true,
	"Header.Role":            true,
	"Header.Revision":        true,
	"Header.Transport":       true,
	"Harness.Name":           true,
	"Harness.Version":        true,
}

// RedactAll returns a copy of a value, such as a *[Run], in which every text is
// redacted, also in bytes, raw JSON and the keys of maps. It is the door through which
// everything leaves that a target may have said.
func RedactAll[T any](r *Redactor, value T) T {
	if r == nil {
		return value
	}
	return r.copyOf(reflect.ValueOf(value)).Interface().(T) //nolint:forcetypeassert // a copy has the type of the original
}

var rawJSON = reflect.TypeFor[json.RawMessage]()

func (r *Redactor) copyOf(value reflect.Value) reflect.Value {
	redacted := reflect.New(value.Type()).Elem()
	switch value.Kind() {
	case reflect.String:
		redacted.SetString(r.Redact(value.String()))
	case reflect.Struct:
		redacted.Set(value) // with what is not exported
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if field.IsExported() && !ownWords[value.Type().Name()+"."+field.Name] {
				redacted.Field(i).Set(r.copyOf(value.Field(i)))
			}
		}
	case reflect.Pointer:
		if value.IsNil() {
			return value
		}
		redacted.Set(reflect.New(value.Type().Elem()))
		redacted.Elem().Set(r.copyOf(value.Elem()))
	case reflect.Interface:
		if value.IsNil() {
			return value
		}
		redacted.Set(r.copyOf(value.Elem()))
	case reflect.Slice:
		return r.copyOfSlice(value)
	case reflect.Array:
		for i := range value.Len() {
			redacted.Index(i).Set(r.copyOf(value.Index(i)))
		}
	case reflect.Map:
		return r.copyOfMap(value)
	default:
		return value
	}
	return redacted
}

func (r *Redactor) copyOfSlice(value reflect.Value) reflect.Value {
	if value.IsNil() {
		return value
	}
	if value.Type().Elem().Kind() == reflect.Uint8 {
		redacted := []byte(r.Redact(string(value.Bytes())))
		if value.Type() == rawJSON && !json.Valid(redacted) {
			redacted = []byte(`"` + Redacted + `"`) // a number was one, or a name
		}
		return reflect.ValueOf(redacted).Convert(value.Type())
	}
	redacted := reflect.MakeSlice(value.Type(), value.Len(), value.Len())
	for i := range value.Len() {
		redacted.Index(i).Set(r.copyOf(value.Index(i)))
	}
	return redacted
}

// copyOfMap redacts keys and values, and values by their keys: some headers are known
// for a secret by their names alone.
func (r *Redactor) copyOfMap(value reflect.Value) reflect.Value {
	if value.IsNil() {
		return value
	}
	redacted := reflect.MakeMapWithSize(value.Type(), value.Len())
	for _, key := range value.MapKeys() {
		hidden := r.copyOf(value.MapIndex(key))
		if key.Kind() == reflect.String {
			r.hideBehind(key.String(), hidden)
		}
		redacted.SetMapIndex(r.copyOf(key), hidden)
	}
	return redacted
}

// hideBehind hides the texts of a list that stand behind a name.
func (r *Redactor) hideBehind(name string, texts reflect.Value) {
	if texts.Kind() != reflect.Slice || texts.Type().Elem().Kind() != reflect.String {
		return
	}
	for i := range texts.Len() {
		if text, whole := strings.CutPrefix(r.Redact(name+": "+texts.Index(i).String()), name+": "); whole {
			texts.Index(i).SetString(text)
		}
	}
}
