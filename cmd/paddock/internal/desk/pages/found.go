package pages

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

// search is what to look for, and how to print it.
type search struct {
	numbers bool
	around  int
}

func (s *search) flags(f *pflag.FlagSet, req *paddock.PageRequest) {
	f.StringVar(&req.Grep, "grep", "", "only lines that match the RE2 expression `EXPR`")
	f.BoolVar(&req.GrepFixed, "fixed", false, "take --grep as it is, not as an expression")
	f.BoolVarP(&req.GrepIgnoreCase, "ignore-case", "i", false, "take upper and lower case for the same")
	f.BoolVar(&req.GrepInvert, "invert", false, "only lines that don't match")
	f.IntVarP(&req.GrepAfter, "after", "A", 0, "also `N` lines after each match, at most 50")
	f.IntVarP(&req.GrepBefore, "before", "B", 0, "also `N` lines before each match, at most 50")
	f.IntVarP(&s.around, "context", "C", 0, "also `N` lines before and after each match")
	f.BoolVarP(&req.GrepCount, "count", "c", false, "print how many lines match, and not the lines")
	f.BoolVarP(&s.numbers, "line-number", "n", false, "begin each line with its number")
}

// settle brings together what was said in several flags.
func (s *search) settle(req *paddock.PageRequest) error {
	if s.around != 0 {
		if req.GrepAfter == 0 {
			req.GrepAfter = s.around
		}
		if req.GrepBefore == 0 {
			req.GrepBefore = s.around
		}
	}
	if req.Grep == "" && s.numbers {
		return desk.Usage("--line-number goes with --grep", "as in --grep EXPR -n; --line N starts at a line")
	}
	return nil
}

// A printer prints the lines that were found.
type printer struct {
	w       io.Writer
	shown   func(line []byte) []byte
	numbers bool
	gaps    bool  // say where lines are left out between
	last    int64 // the line printed last
}

func (p *printer) page(page paddock.Page) error {
	data, err := pageBytes(page)
	if err != nil {
		return err
	}
	for _, l := range page.Lines {
		if l.Length > int64(len(data)) {
			return fmt.Errorf("a page of output at %d has less in it than it says", page.Offset)
		}
		if p.gaps && p.last > 0 && l.Number > p.last+1 {
			if _, err := io.WriteString(p.w, "--\n"); err != nil {
				return err
			}
		}
		p.last = l.Number
		if p.numbers {
			mark := ":"
			if l.Context {
				mark = "-"
			}
			if _, err := fmt.Fprintf(p.w, "%d%s", l.Number, mark); err != nil {
				return err
			}
		}
		if _, err := p.w.Write(p.shown(data[:l.Length])); err != nil {
			return err
		}
		data = data[l.Length:]
	}
	return nil
}
