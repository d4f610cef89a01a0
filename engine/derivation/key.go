package derivation

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// key identifies equal inputs. It walks every field, so that a field that is
// new to the API counts without anybody remembering to add it here; JSON would
// do the same at five times the cost, and a hit is what every idle pass pays.
func (in *Input) key() ([sha256.Size]byte, error) {
	b, err := appendValue(make([]byte, 0, 4096), reflect.ValueOf(in).Elem())
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("hash the input: %w", err)
	}
	return sha256.Sum256(b), nil
}

// appendValue appends a form of v that no other value of its type has.
func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.String:
		return append(appendLength(b, v.Len()), v.String()...), nil
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() { // nil and empty differ: an empty acl list is set
			return append(b, 0), nil
		}
		return appendReferred(append(b, 1), v)
	case reflect.Struct:
		return appendFields(b, v)
	default:
		return nil, fmt.Errorf("a %s has no form to hash", v.Type())
	}
}

func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendFields(b []byte, v reflect.Value) (_ []byte, err error) {
	for i := range v.NumField() {
		if b, err = appendValue(b, v.Field(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendReferred appends what a pointer, slice or map that is not nil holds.
func appendReferred(b []byte, v reflect.Value) (_ []byte, err error) {
	if v.Kind() == reflect.Pointer {
		return appendValue(b, v.Elem())
	}
	b = appendLength(b, v.Len())
	if v.Kind() == reflect.Map {
		return appendMap(b, v)
	}
	for i := range v.Len() {
		if b, err = appendValue(b, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendMap appends a map with string keys in the order of its keys.
func appendMap(b []byte, v reflect.Value) (_ []byte, err error) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	for _, k := range keys {
		if b, err = appendValue(b, k); err != nil {
			return nil, err
		}
		if b, err = appendValue(b, v.MapIndex(k)); err != nil {
			return nil, err
		}
	}
	return b, nil
}
