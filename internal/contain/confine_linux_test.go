package contain

import (
	"os"
	"testing"

	"paddock/internal/contain/machine"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestConfine(t *testing.T) {
	t.Parallel()
	if machine.LandlockABI() < 1 {
		testproc.Skip(t, "there is no Landlock")
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, err := testproc.Command(t, testproc.Build(t, "./testdata/confined"), file.Name()).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
