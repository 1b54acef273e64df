// Package terminals is the record of a run's terminal: of which size it was, and who typed,
// from when on and from which byte of the output on. With the times of the output's frames
// it is what a replay needs.
//
// # Limits
//
// What was typed isn't in it. An offset is where the output was when the change was made:
// what the program had printed and nobody had read yet comes after it.
package terminals

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
)

// Name is that of the record in a run's directory.
const Name = "terminal.jsonl"

// A Note is one line: a size from here on, or who types from here on.
type Note struct {
	At     time.Time             `json:"at"`
	Offset int64                 `json:"offset"`
	Size   *paddock.TerminalSize `json:"size,omitempty"`
	Writer string                `json:"writer,omitempty"`
}

// Read returns the record of the run in dir; nil where it has no terminal. A last line that
// was being written is left out.
func Read(dir string) ([]Note, error) {
	f, err := os.Open(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var notes []Note
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, and a line without one
			return notes, nil
		}
		var n Note
		if err := json.Unmarshal(line, &n); err != nil {
			return notes, fmt.Errorf("%s: line %d: %w", Name, len(notes)+1, err)
		}
		notes = append(notes, n)
	}
}
