//go:build linux

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every number that the dashboard asks for is one that a server has, with the labels that
// it is asked by; and its health says that this machine holds what the policy requires.
func TestDashboard(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	defer s.end()
	s.enter()
	var health struct {
		OK     bool
		Build  struct{ Go string }
		Checks []struct {
			Name, Detail string
			OK           bool
		}
	}
	s.ask(http.MethodGet, "/readyz", "", http.StatusOK, &health)
	var checked []string
	for _, c := range health.Checks {
		if checked = append(checked, c.Name); !c.OK {
			t.Errorf("%+v", c)
		}
	}
	if got := strings.Join(checked, " "); got != "policy state accounts executor isolation" || health.Build.Go == "" {
		t.Errorf("%s, %+v", got, health.Build)
	}
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","--forbidden"]}`, http.StatusForbidden, nil) // one of each sort
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(s.cookie)
	a, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // read
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatal(a.Status, err)
	}
	labels := map[string]string{} // by the name of a number
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)(\{[^}]*\})? `).FindAllStringSubmatch(string(metrics), -1) {
		labels[m[1]] += m[2]
	}
	file, err := os.ReadFile("../../deploy/grafana/paddock.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(file, &board); err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{"job": true, "instance": true, "le": true} // or Prometheus's own
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			names := regexp.MustCompile(`[a-z_]+\{`).FindAllString(q.Expr, -1)
			if len(names) != 1 {
				t.Errorf("%s: %s", p.Title, q.Expr)
				continue
			}
			name := strings.TrimSuffix(names[0], "{")
			has, there := labels[name]
			if !there {
				t.Errorf("%s: no server has %s", p.Title, name)
			}
			for _, l := range regexp.MustCompile(`([a-z]+)=~?"|\{\{([a-z]+)\}\}|by \(([a-z, ]+)\)`).FindAllStringSubmatch(q.Expr+q.LegendFormat, -1) {
				for label := range strings.SplitSeq(l[1]+l[2]+l[3], ", ") {
					if !ours[label] && !strings.Contains(has, label+`="`) {
						t.Errorf("%s: %s has no label %s", p.Title, name, label)
					}
				}
			}
		}
	}
	if len(board.Panels) < 10 {
		t.Errorf("%d panels", len(board.Panels))
	}
}
