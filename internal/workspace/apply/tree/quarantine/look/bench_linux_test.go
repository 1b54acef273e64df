package look

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"paddock/internal/testproc"
	"paddock/internal/workspace/apply/tree"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// BenchmarkLook is one look at 50,000 files in 5,000 directories, and at ten files.
func BenchmarkLook(b *testing.B) {
	for _, dirs := range []int{1, 5000} {
		b.Run(fmt.Sprint(dirs, " directories"), func(b *testing.B) {
			root := b.TempDir()
			for i := range dirs {
				dir := filepath.Join(root, fmt.Sprint(i%50), fmt.Sprint(i))
				if err := os.MkdirAll(dir, 0o700); err != nil {
					b.Fatal(err)
				}
				for j := range 10 {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", j, ".js")), nil, 0o600); err != nil {
						b.Fatal(err)
					}
				}
			}
			r, err := tree.Open(root)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			e := Eye{Entries: 1 << 20, Over: func() bool { return false }, Judge: func(at uint8, name string, _ bool) (bool, uint8, bool) { return name == ".envrc", at, false }}
			for b.Loop() {
				if seen := e.Look(r, nil); len(seen.Gaps) > 0 || seen.Looked < dirs*11 {
					b.Fatal(seen.Gaps, seen.Looked)
				}
			}
		})
	}
}
