package hook

import (
	"reflect"
	"testing"

	"paddock"
)

// A field that is added and not copied would be the hook's to change.
func TestCopySharesNothing(t *testing.T) {
	t.Parallel()
	var asked Request
	fill(reflect.ValueOf(&asked).Elem())
	asked.Grant.Environment = nil // no hook is shown values
	got := copyOf(asked.Request, &asked.Grant)
	if !reflect.DeepEqual(got, asked) {
		t.Errorf("%+v is no copy of %+v", got, asked)
	}
	apart(t, "", reflect.ValueOf(asked), reflect.ValueOf(got))
	if empty := copyOf(paddock.Request{}, &paddock.Grant{}); !reflect.DeepEqual(empty, Request{}) {
		t.Errorf("of nothing: %+v", empty)
	}
}

// fill gives everything that can be shared something to share.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	}
}

func apart(t *testing.T, name string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			apart(t, name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.Pointer() != 0 && a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", name)
		}
		if a.Kind() == reflect.Pointer && !a.IsNil() {
			apart(t, name, a.Elem(), b.Elem())
		} else if a.Kind() == reflect.Slice && a.Len() > 0 {
			apart(t, name, a.Index(0), b.Index(0))
		}
	}
}
