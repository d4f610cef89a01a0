package actions_test

import (
	"reflect"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/actions"
)

func TestRegistry(t *testing.T) {
	for name, fresh := range actions.Registry {
		t.Run(name, func(t *testing.T) {
			action := reflect.TypeOf(fresh()).Elem()
			if got := strings.ToLower(action.Name()[:1]) + action.Name()[1:]; got != name {
				t.Errorf("it makes a %s", action.Name())
			}
			if fresh() == fresh() && action.Size() > 0 {
				t.Error("it makes the same action twice")
			}
			for i := range action.NumField() {
				if f := action.Field(i); !f.IsExported() || f.Tag.Get("expr") == "" {
					t.Errorf("field %s has no expr tag", f.Name)
				}
			}
		})
	}
}

func TestActionsOnNothingDoNothing(t *testing.T) {
	for name, fresh := range actions.Registry {
		if reflect.TypeOf(fresh()).Elem().NumField() == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster())
			w.changesNothing(t, fresh())
			if strings.Contains(fresh().String(), "%!") {
				t.Errorf("it says %q", fresh())
			}
		})
	}
}
