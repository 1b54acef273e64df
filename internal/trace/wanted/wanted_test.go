package wanted_test

import (
	"testing"

	"paddock/internal/trace"
	"paddock/internal/trace/wanted"
)

func take(said map[string]string) (s wanted.Settings, wrong []string) {
	s = wanted.Take(func(key string) string { return said[key] }, func(key, _ string) { wrong = append(wrong, key) })
	return s, wrong
}

func TestTake(t *testing.T) {
	t.Parallel()
	if s, wrong := take(nil); s != (wanted.Settings{}) || wrong != nil {
		t.Errorf("nothing: %+v %v", s, wrong)
	}
	s, wrong := take(map[string]string{"endpoint": "https://c.example:4318/v1/traces", "sample": "0.25", "incoming": "parent"})
	if wrong != nil || s.Sample != 0.25 || s.Incoming != trace.Parent {
		t.Errorf("%+v %v", s, wrong)
	}
	if s, wrong = take(map[string]string{"endpoint": wanted.Environment}); wrong != nil || s.Sample != 1 || s.Incoming != trace.Link {
		t.Errorf("%+v %v", s, wrong)
	}
	for _, sample := range []string{"0", "-1", "NaN", "Inf", "1.1", "x"} {
		if _, wrong := take(map[string]string{"endpoint": "https://c.example/", "sample": sample}); len(wrong) != 1 {
			t.Errorf("sample %s: %v", sample, wrong)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for place, good := range map[string]bool{
		"https://c.example/v1/traces": true, "http://127.0.0.1:4318/v1/traces": true, "http://[::1]:4318/v1/traces": true,
		"http://127.0.0.1/v1/traces": false, "http://localhost:4318/": false, "http://10.0.0.1:4318/": false, "ftp://c.example/": false, "": false, "c.example": false, "https://c.example/?key=x": false, "https://a:b@c.example/": false, "https://c.example/\x00": false,
	} {
		if why := wanted.Place(place); (why == "") != good {
			t.Errorf("%s: %q", place, why)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c.example:4318/", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}
	get := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	if at, head := wanted.FromEnvironment(get); at != "https://c.example:4318/v1/traces" || head != "a=b" {
		t.Errorf("%q %q", at, head)
	}
	env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = "https://t.example/x"
	if at, _ := wanted.FromEnvironment(get); at != "https://t.example/x" {
		t.Errorf("%q", at)
	}
}
