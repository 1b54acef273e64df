package problem_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/store"
)

// A database that is away for a moment is no fault of ours, and says when to ask again.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	problem.Of(fmt.Errorf("users: %w: dial tcp 10.0.0.1:5432", store.ErrAway)).Write(w)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" || strings.Contains(w.Body.String(), "10.0.0.1") || !strings.Contains(w.Body.String(), "Idempotency-Key") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}
