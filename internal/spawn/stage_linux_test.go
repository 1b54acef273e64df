package spawn

import (
	"errors"
	"os"
	"testing"
)

// Whoever kills a supervisor kills that one, or nobody: once it is reaped its id may be
// another's.
func TestAReapedStageIsNotKilled(t *testing.T) {
	t.Parallel()
	s, err := StartStage("/bin/true", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Conn().Close()
	if err := s.Kill(); err != nil {
		t.Errorf("its child has an id of its own until it is reaped: %v", err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if err := s.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a reaped one is killed: %v", err)
	}
	if err := s.Wait(); err == nil {
		t.Error("it was waited for twice")
	}
}
