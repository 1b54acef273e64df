//go:build linux

package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/past/attested"
	"paddock/internal/journal/sign"
)

// Whoever may see a run that has ended gets a statement about it that the public key fits,
// and nobody else does; of what was changed afterwards there is none.
func TestStatement(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	run := s.start("operator", "echo hello")
	path := "/api/v1/runs/" + string(run.ID)
	s.get(path+"?wait_ms=45000", "operator").into(t, http.StatusOK, nil)
	for _, as := range []string{"operator", "admin"} {
		a := s.get(path+"/statement", as).into(t, http.StatusOK, nil)
		public, err := sign.LoadPublic(filepath.Join(s.dir, "state", "journal", "key.pub"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := public.OpenEnvelope(a.body)
		if err != nil {
			t.Fatal(err)
		}
		var said evidence.Statement
		if err := json.Unmarshal(text, &said); err != nil || said.Type != evidence.StatementType || said.Predicate.Run != run.ID || said.Predicate.Principal.ID != "user:operator" || len(said.Subject) != 2 {
			t.Errorf("%v: %s", err, text)
		}
	}
	s.get(path+"/statement", "bob").problem(t, http.StatusNotFound, paddock.NotFound)
	s.get("/api/v1/runs/r00000000000000000000000000/statement", "admin").problem(t, http.StatusNotFound, paddock.NotFound)
	s.get(path+"/statement?key=x", "operator").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	going := s.start("operator", "exec sleep 1000")
	s.get("/api/v1/runs/"+string(going.ID)+"/statement", "operator").problem(t, http.StatusConflict, paddock.Conflict)
	s.do(http.MethodPost, "/api/v1/runs/"+string(going.ID)+"/kill", "operator", "{}").into(t, http.StatusOK, nil)

	files, err := filepath.Glob(filepath.Join(s.dir, "state", "runs", "*", string(run.ID), "stdout"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("hallo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.get(path+"/statement", "operator").problem(t, http.StatusConflict, paddock.Conflict)
}

// elsewhere has one run of another machine.
type elsewhere struct{ run paddock.Run }

func (e elsewhere) Look(context.Context, paddock.Principal, paddock.RunID) (paddock.Run, error) {
	return e.run, nil
}

// What another machine carried out is attested there, and one is told so.
func TestStatementOfAnotherMachine(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: "r00000000000000000000000000", State: paddock.Exited}
	state := ""
	var far func(context.Context, paddock.Principal, paddock.RunID) (sign.Envelope, error)
	s := open(t, func(c *Config) {
		c.More = func(in *entry.Entrance) {
			attested.Routes(in, attested.Config{
				Seen: func(context.Context, gate.Caller) (attested.House, error) { return elsewhere{run}, nil },
				Open: func() (*evidence.Evidence, error) {
					return evidence.Open(paddock.Principal{Kind: paddock.Operator, ID: "server"}, state, time.Now)
				},
				Elsewhere: func(ctx context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error) {
					if far == nil {
						return sign.Envelope{}, attested.Nowhere(id)
					}
					return far(ctx, p, id)
				},
			})
		}
	})
	state = filepath.Join(s.dir, "state")
	p := s.get("/api/v1/runs/"+string(run.ID)+"/statement", "operator").problem(t, http.StatusConflict, paddock.Conflict)
	if want := "On the machine that carried it out: paddock audit export --run " + string(run.ID) + "."; p.Refusal.Hint != want {
		t.Error(p.Refusal.Hint)
	}
	far = func(_ context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error) {
		return sign.Envelope{Payload: p.ID + " " + string(id)}, nil
	}
	var e sign.Envelope
	if s.get("/api/v1/runs/"+string(run.ID)+"/statement", "operator").into(t, http.StatusOK, &e); e.Payload != "user:operator "+string(run.ID) {
		t.Errorf("%+v", e)
	}
}
