package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// of is an index of files with these names, as git writes it but for ids and sums.
func of(names ...string) File {
	all := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(names)))
	for _, name := range names {
		entry := append(make([]byte, entryLen), name...)
		binary.BigEndian.PutUint32(entry[modeAt:], 0o100644)
		binary.BigEndian.PutUint16(entry[entryLen-2:], uint16(min(len(name), longest)))
		all = append(append(all, entry...), make([]byte, 8-len(entry)%8)...)
	}
	return append(all, make([]byte, sumLen)...)
}

// Whatever an index holds, each name that is told is in it, each of its entries is in a directory that is
// told, and nothing is looked at that isn't below.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(of("a", "b/c", "b/d/e", "z")), "b")
	f.Add([]byte(of()), "")
	f.Add([]byte(of("/", "a//b", "../x", "./y", "a/")), "a")
	f.Add([]byte(of(strings.Repeat("a/", 500)+"b")), "")
	f.Add(append(bytes.TrimSuffix(of("a"), make([]byte, sumLen)), append([]byte("TREE\x00\x00\x00\x02ab"), make([]byte, sumLen)...)...), "")
	base := f.TempDir()
	dir, err := os.OpenRoot(base)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = dir.Close() })
	for _, name := range []string{"a", "b/c"} {
		if err := os.MkdirAll(base+"/"+name, 0o755); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		all := File(text)
		dirs, told := all.Directories(name)
		if !told {
			return
		}
		within := map[string]bool{}
		for _, d := range dirs {
			if within[d] {
				t.Errorf("%q twice", d)
			}
			within[d] = true
			if d != "." && !bytes.Contains(text, []byte(d)) {
				t.Errorf("%q is in no name", d)
			}
		}
		all.entries(func(_, file []byte) bool {
			at := bytes.LastIndexByte(file, '/')
			if in := within[string(file[:max(at, 0)])] || at == 0 && within["/"] || at < 0 && within["."]; under(file, name) && !in {
				t.Errorf("%q is in none of %q", file, dirs)
			}
			return true
		})
		all.Commits()
		all.Unmoved(context.Background(), dir)
	})
}
