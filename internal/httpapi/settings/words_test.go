package settings

import (
	"maps"
	"net/netip"
	"reflect"
	"testing"
)

// A setting that is added and left out here would be changed without a word.
func TestWordsSayEverySetting(t *testing.T) {
	t.Parallel()
	var visit func(v reflect.Value, name string, s *Settings)
	visit = func(v reflect.Value, name string, s *Settings) {
		for i := range v.NumField() {
			f, name := v.Field(i), name+v.Type().Field(i).Name
			before := (*s).Words()
			switch f.Kind() {
			case reflect.Struct:
				visit(f, name+".", s)
				continue
			case reflect.String:
				f.SetString("x")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int, reflect.Int64:
				f.SetInt(7)
			case reflect.Float64:
				f.SetFloat(0.5)
			case reflect.Slice:
				one := reflect.MakeSlice(f.Type(), 1, 1)
				if f.Type() == reflect.TypeFor[[]netip.Prefix]() {
					one.Index(0).Set(reflect.ValueOf(netip.MustParsePrefix("10.0.0.0/8")))
				} else if f.Type().Elem().Kind() == reflect.String {
					one.Index(0).SetString("x")
				}
				f.Set(one)
			default:
				t.Errorf("%s is a %s, of which the test knows nothing", name, f.Kind())
			}
			if maps.Equal(before, s.Words()) {
				t.Errorf("%s isn't told", name)
			}
		}
	}
	s := &Settings{}
	visit(reflect.ValueOf(s).Elem(), "", s)
	p := &Provider{}
	of := func() string { return Settings{Providers: []Provider{*p}}.Words()["providers."+p.Name] }
	p.Name = "n"
	for i := range reflect.TypeFor[Provider]().NumField() {
		f, before := reflect.ValueOf(p).Elem().Field(i), of()
		switch {
		case reflect.TypeFor[Provider]().Field(i).Name == "Name":
			continue
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		default:
			f.Set(reflect.ValueOf([]string{"x"}))
		}
		if of() == before {
			t.Errorf("%s of a provider isn't told", reflect.TypeFor[Provider]().Field(i).Name)
		}
	}
}
